"""Where a function of ours is written, and which names its source reads."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

OURS = "funcgrad"


class NotText(Exception):
    """A value has no text that depends on NumPy alone."""


class Place:
    """A function's node, and the bytes of its file."""

    def __init__(self, node: Any, source: bytes, lines: Sequence[int]) -> None:
        self.node, self.source, self.lines = node, source, lines

    def start(self, node: Any) -> int:
        return int(self.lines[node.lineno - 1] + node.col_offset)

    def end(self, node: Any) -> int:
        return int(self.lines[node.end_lineno - 1] + node.end_col_offset)

    def args_of_lambda(self) -> tuple[int, int]:
        """What stands between `lambda` and the colon."""
        args, start = self.node.args, self.start(self.node) + len("lambda")
        last = [self.end(x) for x in ast.walk(args) if hasattr(x, "lineno")]
        return start, self.source.index(b":", max(last, default=start))


@functools.lru_cache(64)
def module_of(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[name]))


@functools.lru_cache(64)
def _tree(name: str) -> tuple[list[Any], bytes, list[int]]:
    text = inspect.getsource(sys.modules[name])
    lines = [0]
    for line in text.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    return [n for n in ast.walk(module_of(name)) if isinstance(n, (ast.FunctionDef, ast.Lambda))], text.encode(), lines


@functools.lru_cache(1024)
def found(f: types.FunctionType) -> Place:
    """Where a function of ours is written: that in whose body the code's positions are."""
    if not f.__module__.startswith(OURS):
        raise NotText(f)
    nodes, source, lines = _tree(f.__module__)
    positions = set(f.__code__.co_positions())
    alike = []
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            if node.name == f.__code__.co_name and first == f.__code__.co_firstlineno:
                return Place(node, source, lines)
        elif f.__code__.co_name == "<lambda>" and node.lineno == f.__code__.co_firstlineno and _takes(node, f):
            body = node.body
            if (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in positions:
                return Place(node, source, lines)
            alike.append(node)
    if len(alike) == 1:  # a conditional expression has no position of its own
        return Place(alike[0], source, lines)
    raise NotText(f)


def _takes(node: ast.Lambda, f: types.FunctionType) -> bool:
    return [a.arg for a in (*node.args.args, *node.args.kwonlyargs)] == list(
        f.__code__.co_varnames[: f.__code__.co_argcount + f.__code__.co_kwonlyargcount]
    )


def bound(node: Any) -> Iterator[str]:
    """Names that are a function's own, or those of one within it."""
    for n in ast.walk(node):
        if isinstance(n, ast.arg):
            yield n.arg
        elif isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            yield n.id
        elif isinstance(n, ast.FunctionDef) and n is not node:
            yield n.name


def loads(node: ast.AST) -> Iterator[ast.expr]:
    """The names that are read, with the attributes that are read of them; not those in annotations."""
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(root_of(node), ast.Name):
        if isinstance(root_of(node).ctx, ast.Load):  # type: ignore[attr-defined]
            yield node
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from loads(child)


def root_of(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node
