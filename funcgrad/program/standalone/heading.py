"""The head of a program's text: the user's names for what goes in, and the user's structure of what comes out."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import pytree
from funcgrad.program.parts import Leaf, Literal, Static, Var, letters
from funcgrad.program.program import Program
from funcgrad.program.standalone.spelling import Text, spelled, typed

USED = frozenset("np scipy math operator functools itertools int float complex bool abs len range reversed slice type sum max min".split())
"""Names that the text itself uses."""

_CONTAINERS = (tuple, list, dict, type(None))


class Heading:
    """The function's name, its parameters, what the variables of the inputs are called, and its result."""

    def __init__(self, program: Program) -> None:
        self.program, self.signature = program, program.signature
        self.function = _identifier(self.signature.name.replace("<lambda>", "f") if self.signature else "program")
        given = program.inputs[: len(program.inputs) - len(program.captures)]
        self.captured = [f"captured_{k}" for k in range(len(program.captures))]
        self.positional: list[str] = []
        self.named: list[str] = []
        self.taken_apart: list[tuple[str, str]] = []
        self.is_flat = self.signature is None or not self._take_apart(self.signature)
        if self.is_flat:
            words = self.signature.words if self.signature else [letters(v.number) for v in given]
            self.positional = _apart([_identifier(w) for w in words])
            self.named, self.taken_apart, self.names = [], [], [*self.positional, *self.captured]

    def _take_apart(self, signature: Any) -> bool:
        """Whether the parameters can be the user's own, and the leaves be reached by expressions."""
        args, kwargs = signature.in_def.children
        self.positional = [signature.arguments[k] if k < len(signature.arguments) else f"argument_{k}" for k in range(len(args.children))]
        self.named = [str(k) for k in kwargs.node[1]]
        top = [*self.positional, *self.named]
        if len({*top}) != len(top) or not all(map(_is_name, top)):
            return False
        names = []
        for word in signature.words:
            word = re.sub(r"^argument (\d+)", r"argument_\1", word)
            if word in top:
                names.append(word)
            elif _is_path(word):
                names.append(_identifier(word))
                self.taken_apart.append((names[-1], word))
            else:
                return False
        if len({*names, *top}) != len({*top}) + len(self.taken_apart):
            return False
        self.names = [*names, *self.captured]
        return True

    # ---- text

    def caption(self, needs_scipy: bool) -> str:
        """The docstring of the module."""
        words = f"`{self.function}` as it was recorded: the same numbers, for arguments of these shapes and dtypes."
        needed = "\n\nIt needs SciPy, for the functions of `scipy.special`." if needs_scipy else ""
        return f'"""{words}{needed}\n\nWritten by funcgrad.\n"""'

    def constants(self) -> list[str]:
        """Small captured arrays."""
        return [f"{name.upper()} = {text}" for name, text in zip(self.captured, self._texts(), strict=True) if text]

    def _texts(self) -> list[str | None]:
        return [spelled(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else None for x in self.program.captures]

    def line(self, foreign: Sequence[str]) -> str:
        keywords = [*self.named, *[f"{n}={n.upper()}" if t else n for n, t in zip(self.captured, self._texts(), strict=True)], *foreign]
        return f"def {self.function}({', '.join([*self.positional, *['*'] * bool(keywords), *keywords])}):"

    def docstring(self, foreign: Sequence[str]) -> list[str]:
        """What goes in."""
        words = dict(self.taken_apart)
        rows = [f"    {words.get(name, name)}: {_kind(v)}" for name, v in zip(self.names, self.program.inputs, strict=True)]
        rows += [f"    {name}: a function that the program calls" for name in foreign]
        return ['    """', *rows, '    """'] if rows else []

    def entries(self) -> list[str]:
        """The leaves of the arguments, by name."""
        return [f"    {name} = {word}" for name, word in self.taken_apart]

    def result(self, values: Sequence[Text | Literal]) -> str:
        """The outputs as the function gives them; in a tuple, where its tree cannot be written down."""
        if self.signature is not None and _is_plain(self.signature.out_def):
            rest = iter(values)
            leaves = [_leaf(rest, known) for known in self.signature.outs]
            if None not in leaves:
                return _tree(self.signature.out_def, iter(leaves))
        texts = [str(typed(x.value) if isinstance(x, Literal) else x) for x in values]
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _leaf(values: Iterator[Text | Literal], known: Leaf) -> str | None:
    if type(known) is Static:
        return spelled(known.value)
    x = next(values)
    if isinstance(x, Literal):
        return spelled(known(x.value) if isinstance(known, type) else x.value)
    return f"{known.__name__}({x})" if isinstance(known, type) else str(x)


def _is_plain(tree: pytree.TreeDef) -> bool:
    return tree is pytree.LEAF or (tree.node[0] in _CONTAINERS and all(map(_is_plain, tree.children)))


def _tree(tree: pytree.TreeDef, leaves: Any) -> str:
    """Leaves come in the order of the tree's children, and are shown in that of its keys."""
    if tree is pytree.LEAF:
        return str(next(leaves))
    parts = [_tree(child, leaves) for child in tree.children]
    cls, keys, _, _ = tree.node
    if cls is dict:
        by_key = dict(zip(tree._keys, parts, strict=True))
        return "{" + ", ".join([f"{key!r}: {by_key[key]}" for key in keys]) + "}"
    if cls is type(None):
        return "None"
    inner = ", ".join(parts)
    return f"[{inner}]" if cls is list else f"({inner}{',' * (len(parts) == 1)})"


def _kind(v: Var) -> str:
    return f"{v.dtype}{list(v.shape) if v.shape else ''}"


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text) and text not in USED


def _identifier(word: str) -> str:
    """A word like `params['w'][0]` as one name."""
    text = re.sub(r"\W+", "_", word).strip("_") or "function"
    text = f"x_{text}" if text[0].isdigit() else text
    return text if _is_name(text) else text + "_"


def _apart(names: Sequence[str]) -> list[str]:
    """No two of them equal."""
    made: list[str] = []
    for name in names:
        while name in made:
            name += "_"
        made.append(name)
    return made


def _is_path(word: str) -> bool:
    """Whether it reaches a leaf by names, attributes and keys."""
    try:
        at: Any = ast.parse(word, mode="eval").body
    except SyntaxError:
        return False
    while isinstance(at, (ast.Attribute, ast.Subscript)):
        if isinstance(at, ast.Subscript) and not isinstance(at.slice, (ast.Constant, ast.Tuple, ast.UnaryOp)):
            return False
        at = at.value
    return isinstance(at, ast.Name)
