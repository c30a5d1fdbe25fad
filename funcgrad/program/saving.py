"""Programs as bytes: JSON with primitives by name, dtypes by name and numbers by their bits. There is no code in it.

Variables are their numbers: inputs first, then the outputs of each equation. `loading` is the way back.
"""

from __future__ import annotations

import base64
import functools
import json
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced
from funcgrad.program.parts import RECORDS, Atom, Equation, Leaf, Line, Literal, Static, Var, known

if TYPE_CHECKING:
    from funcgrad.program.calls import Signature
    from funcgrad.program.program import Program

FORMAT, VERSION = "funcgrad program", 1
DTYPES = {np.dtype(c).name: np.dtype(c) for c in "?bBhHiIqQlLefdgFDG"}
PYTHON: dict[str, type] = {t.__name__: t for t in (bool, int, float, complex)}
FACTORIES: dict[str, Any] = {"None": None} | {t.__name__: t for t in (bool, int, float, complex, str, bytes, tuple, list, dict, set)}
"""What a defaultdict may make."""
DICTS = {dict: "dict", OrderedDict: "OrderedDict", defaultdict: "defaultdict"}


@functools.cache
def numpy_tuples() -> dict[str, type]:
    """NumPy's own tuple classes, which have no public names."""
    x, sets = np.eye(1), (np.unique_all, np.unique_counts, np.unique_inverse)
    made = [f(x) for f in (np.linalg.qr, np.linalg.svd, np.linalg.eig, np.linalg.eigh, np.linalg.slogdet, *sets)]
    return {type(y).__name__: type(y) for y in made}


def to_bytes(program: Program) -> bytes:
    writer = Writer(program.signature.name if program.signature else "")
    text = json.dumps({"format": FORMAT, "version": VERSION, "program": writer.program(program)}, separators=(",", ":"))
    return text.encode("ascii")


@attrs.frozen
class Writer:
    """Makes plain data; what cannot be, it refuses by name."""

    name: str

    def refuse(self, what: str) -> NoReturn:
        raise errors.NotDataError(self.name, what)

    def program(self, p: Program) -> dict[str, Any]:
        numbers = {v.number: k for k, v in enumerate([*p.inputs, *[v for e in p.equations for v in e.outputs]])}
        return {
            "inputs": [spec(v) for v in p.inputs],
            "equations": [self.equation(e, numbers) for e in p.equations],
            "outputs": [atom(x, numbers) for x in p.outputs],
            "captures": list(map(self.capture, p.captures)),
            "signature": self.signature(p.signature) if p.signature else None,
        }

    def equation(self, e: Equation, numbers: dict[int, int]) -> dict[str, Any]:
        if known(e.primitive.name) is not e.primitive:
            self.refuse(f"{e.primitive.name}{f' ({e.line})' if e.line else ''} was made at run time")
        made: dict[str, Any] = {"op": e.primitive.name, "in": [atom(x, numbers) for x in e.inputs], "out": [spec(v) for v in e.outputs]}
        if e.params:
            made["params"] = {name: self.value(x, f"{e.primitive.name}'s {name}") for name, x in e.params}
        if e.line:
            made["line"] = line(e.line)
        return made

    def capture(self, x: Any) -> Any:
        if isinstance(x, Traced):
            self.refuse(f"it has captured a traced value of {x._main.label}")
        x = np.asarray(x)
        return [x.dtype.name, list(x.shape), packed(x)]

    def signature(self, s: Signature) -> dict[str, Any]:
        ends = {"in": self.tree(s.in_def), "out": self.tree(s.out_def)}
        ins = [self.leaf(x, s.word(path)) for x, path in zip(s.ins, s.in_def.paths, strict=True)]
        outs = [self.leaf(x, f"the output{path}") for x, path in zip(s.outs, s.out_def.paths, strict=True)]
        return {"name": s.name, "arguments": list(s.arguments), **ends, "ins": ins, "outs": outs}

    def leaf(self, x: Leaf, word: str) -> Any:
        if type(x) is Static:
            return {"static": self.value(x.value, word)}
        return None if x is None else x.__name__  # type: ignore[union-attr]

    def tree(self, treedef: pytree.TreeDef) -> Any:
        """Containers by name; a leaf is "*"."""
        if treedef is pytree.LEAF:
            return "*"
        cls, keys, children, static = treedef.node
        inner = list(map(self.tree, children))
        if cls is NoneType:
            return None
        if cls is list or cls is tuple or numpy_tuples().get(cls.__name__) is cls:
            return {cls.__name__: inner}
        if cls not in DICTS:
            self.refuse(f"{cls.__name__} is no container of Python's or NumPy's own")
        made: dict[str, Any] = {DICTS[cls]: [[self.value(k, "a key"), x] for k, x in zip(keys, inner, strict=True)]}
        if cls is defaultdict:
            name = next((name for name, f in FACTORIES.items() if f is static[0]), None)
            made["makes"] = name or self.refuse(f"a defaultdict makes {static[0]!r}")
        return made

    def value(self, x: Any, word: str) -> Any:
        """A param or a static leaf."""
        kind = type(x)
        if kind in (NoneType, bool, int, str):
            return x
        if kind in VALUES:
            return {kind.__name__: VALUES[kind](x)}
        if kind is tuple or kind is list:
            return {kind.__name__: [self.value(i, word) for i in x]}
        if isinstance(x, np.dtype) and x.name in DTYPES:
            return {"dtype": x.name}
        if isinstance(x, np.generic) and x.dtype.name in DTYPES:
            return {"number": number(x)}
        if hasattr(x, "equations"):
            return {"program": self.program(x)}
        if RECORDS.get(kind.__name__) is kind:
            return {"record": kind.__name__, "fields": {f.name: self.value(getattr(x, f.name), word) for f in attrs.fields(kind)}}
        return self.refuse(f"{word} is {x!r}")


VALUES: dict[type, Any] = {
    float: repr,
    complex: lambda x: [repr(x.real), repr(x.imag)],
    bytes: lambda x: base64.b64encode(x).decode("ascii"),
}


def spec(v: Var) -> list[Any]:
    return [v.dtype.name, list(v.shape)]


def atom(x: Atom, numbers: dict[int, int]) -> Any:
    return number(x.value) if type(x) is Literal else numbers[x.number]  # type: ignore[union-attr]


def number(x: np.generic) -> list[str]:
    return [x.dtype.name, packed(np.asarray(x))]


def packed(x: np.ndarray[Any, Any]) -> str:
    """The elements in C order, the least byte first."""
    return base64.b64encode(x.astype(x.dtype.newbyteorder("<"), copy=False).tobytes()).decode("ascii")


def line(x: Line) -> Sequence[Any]:
    """Without the folders, which are the user's own affair."""
    return [x.place.rpartition(":")[0], x.number, x.function]
