"""Our own functions as text that depends on NumPy alone: their source, and that of what they name, without annotations.

A global name, or one that a function closes over, is replaced by what it means in the text: a NumPy name, a number, or the name of
another function that is written out. So no import of ours is left.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Primitive, dtype_of, shape_of
from funcgrad.ops import special
from funcgrad.program.standalone.places import OURS, NotText, Place, bound, found, loads, module_of, root_of
from funcgrad.program.standalone.spelling import WIDTH, spelled

SAME: dict[Any, str] = {shape_of: "np.shape", dtype_of: "np.result_type"}
"""What these of ours are for values that nobody traces."""

Edit = tuple[int, int, str]


class Helpers:
    """The functions and constants that a text needs, in an order in which they can be run."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.modules: set[str] = set()
        self.needs_scipy = False
        self.taken: set[str] = set()
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []  # so that ids stay theirs

    @property
    def imports(self) -> list[str]:
        """Of the standard library."""
        return [f"import {name}" for name in sorted(self.modules)]

    def name(self, x: Any, wanted: str, home: str = "") -> str:
        """The text that means `x`; what has no name elsewhere is written out under one like `wanted`, as module `home` has it."""
        if isinstance(x, Primitive):
            return self.name(x.impl, x.name)
        public = self._public(x)
        if public is not None:
            return public
        if id(x) not in self.names:
            free = "_" + wanted.lstrip("_")
            while free in self.names.values() or free in self.taken:
                free += "_"
            self.names[id(x)] = free
            self.kept.append(x)
            is_function = isinstance(inspect.unwrap(x) if callable(x) else x, types.FunctionType)
            self.texts.append(self._function(x, free) if is_function else self._assignment(wanted, home, free))
        return self.names[id(x)]

    def _public(self, x: Any) -> str | None:
        """Where a reader finds it already."""
        if isinstance(x, types.ModuleType):
            if x is np:
                return "np"
            if x.__name__.partition(".")[0] not in sys.stdlib_module_names:
                raise NotText(x)
            self.modules.add(x.__name__)
            return x.__name__
        if isinstance(x, type) and issubclass(x, errors.FuncgradError):
            return next(cls.__name__ for cls in x.__mro__ if cls.__module__ == "builtins")
        if callable(x):
            if x.__hash__ is not None and x in SAME:
                return SAME[x]
            return numpy_name(x) or self._of_scipy(x) or self._standard(x)
        return spelled(x)

    def _of_scipy(self, x: Any) -> str | None:
        """A ufunc of `scipy.special`."""
        path = special.path_of(x)
        self.needs_scipy |= path is not None
        return path

    def _standard(self, x: Any) -> str | None:
        """A function of the standard library."""
        module, name = str(getattr(x, "__module__", None)).lstrip("_"), str(getattr(x, "__name__", None))
        if getattr(builtins, name, None) is x:
            return name
        if module.partition(".")[0] in sys.stdlib_module_names and getattr(sys.modules.get(module), name, None) is x:
            self.modules.add(module)
            return f"{module}.{name}"
        return None

    def inlined(self, f: Callable[..., Any], args: Sequence[str], params: dict[str, str]) -> str | None:
        """A call of a short lambda as its body; None of anything else."""
        if not isinstance(f, types.FunctionType) or f.__name__ != "<lambda>":
            return None
        node = found(f).node
        taken = [a.arg for a in node.args.args]
        if node.args.vararg is not None or len(taken) != len(args) or node.args.defaults:
            return None
        given = {**dict(zip(taken, args, strict=True)), **params}
        uses = [n.id for n in ast.walk(node.body) if isinstance(n, ast.Name)]
        if any(uses.count(name) > 1 and not text.isidentifier() for name, text in given.items()):
            return None
        text = ast.unparse(_replaced(node.body, given, dict(self._names(*_scope(f), node.body))))
        return text if len(text) <= WIDTH else None

    # ---- functions

    def _function(self, f: Any, name: str) -> str:
        """The source of a function, as one of this name."""
        plain = inspect.unwrap(f)
        place = found(plain)
        node, source = place.node, place.source
        edits = [*_without_annotations(node, place)]
        for read, text in self._names(*_scope(plain), node, plain.__module__):
            edits.append((place.start(read), place.end(read), text))
        if isinstance(node, ast.Lambda):
            args, body = place.args_of_lambda(), (place.start(node.body), place.end(node.body))
            text = _edited(source, *body, edits)
            inner = f"return {text}" if "\n" not in text else f"return (\n        {text}\n    )"
            return f"def {name}({_edited(source, *args, edits).strip()}):\n    {inner}\n"
        first = place.start(node.decorator_list[0]) - 1 if node.decorator_list else place.start(node)
        at = source.index(b"def ", place.start(node)) + 4
        edits.append((at, at + len(node.name.encode()), name))
        text = _edited(source, first, place.end(node), edits)
        return textwrap.dedent(" " * node.col_offset + text) + "\n"

    def _assignment(self, name: str, home: str, free: str) -> str:
        """What a module has under a name, as the module itself says it."""
        for node in module_of(home).body if home else ():
            if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
                original = next(a.name for a in node.names if (a.asname or a.name) == name)
                return self._assignment(original, str(node.module), free)
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
            value = getattr(node, "value", None)
            if isinstance(target, ast.Name) and target.id == name and value is not None:
                names = dict(self._names(vars(sys.modules[home]), set(bound(value)), value, home))
                return f"{free} = {ast.unparse(_replaced(value, {}, names))}"
        raise NotText(name)

    def _names(self, outside: dict[str, Any], own: set[str], node: ast.AST, home: str = "") -> Iterator[tuple[ast.expr, str]]:
        """The names in `node` that mean something `outside`, and their texts."""
        for at in loads(node):
            root = root_of(at)
            if not isinstance(root, ast.Name) or root.id in own or root.id not in outside:
                continue
            value, whole = outside[root.id], at
            for step in _chain(at):  # `indexing.put.impl`, one step after the other
                if not (isinstance(value, Primitive) or _is_ours(value)):
                    whole = step.value
                    break
                value = getattr(value, step.attr)
            text = self.name(value, _last(whole), home)
            if text != ast.unparse(whole):
                yield whole, text


def _scope(f: types.FunctionType) -> tuple[dict[str, Any], set[str]]:
    """What a function sees outside of it, and the names that are its own."""
    cells = {k: c.cell_contents for k, c in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True)}
    return {**f.__globals__, **cells}, set(bound(found(f).node))


def _is_ours(x: Any) -> bool:
    return isinstance(x, types.ModuleType) and x.__name__.startswith(OURS)


def _chain(at: ast.expr) -> list[ast.Attribute]:
    """`a.b.c` as its steps, the innermost first."""
    steps: list[ast.Attribute] = []
    while isinstance(at, ast.Attribute):
        steps.append(at)
        at = at.value
    return steps[::-1]


def _last(at: ast.expr) -> str:
    return at.attr if isinstance(at, ast.Attribute) else at.id if isinstance(at, ast.Name) else "x"


def numpy_name(x: Any) -> str | None:
    """`np.exp`, `np.linalg.solve`."""
    name = str(getattr(x, "__name__", None))
    for module, prefix in ((np, "np"), (np.linalg, "np.linalg"), (np.fft, "np.fft")):
        if getattr(module, name, None) is x:
            return f"{prefix}.{name}"
    return None


# ---- changing source


def _without_annotations(node: Any, place: Place) -> Iterator[Edit]:
    for n in ast.walk(node):
        if isinstance(n, ast.arg) and n.annotation is not None:
            yield place.start(n) + len(n.arg.encode()), place.end(n.annotation), ""
        elif isinstance(n, ast.AnnAssign):
            yield place.end(n.target), place.end(n.annotation), ""
        elif isinstance(n, ast.FunctionDef) and n.returns is not None:
            yield place.source.rindex(b" ->", 0, place.start(n.returns)), place.end(n.returns), ""


def _edited(source: bytes, start: int, end: int, edits: Sequence[Edit]) -> str:
    out, at = [], start
    for a, b, text in sorted(edits):
        if at <= a and b <= end:
            out += [source[at:a], text.encode()]
            at = b
    return b"".join([*out, source[at:end]]).decode()


def _replaced(node: Any, given: dict[str, str], names: dict[ast.expr, str]) -> Any:
    """A copy in which names are the expressions that they stand for."""
    if isinstance(node, list):
        return [_replaced(n, given, names) for n in node]
    if not isinstance(node, ast.AST):
        return node
    text = names.get(node) or (given.get(node.id) if isinstance(node, ast.Name) else None)  # type: ignore[call-overload]
    if text is not None:
        return ast.parse(text, mode="eval").body
    return type(node)(**{field: _replaced(value, given, names) for field, value in ast.iter_fields(node)})
