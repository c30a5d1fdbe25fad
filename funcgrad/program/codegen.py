"""Programs as generated NumPy code: a straight line of calls, without anything in between.

`compiled(program)` is a function of ground values; `source(program)` shows its text.
"""

from __future__ import annotations

import functools
import itertools
import linecache
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.ops.kinds import Structured
from funcgrad.program.parts import FILL, GUARD, Atom, Equation, Literal, Var, letters, variables

if TYPE_CHECKING:
    from funcgrad.program.program import Program

BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
BINARY |= {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
UNARY = {"negative": "-"}
"""What is quicker as an operator: NumPy's scalars have short ways for these, and the same values."""

LARGE = 1 << 12
"""Elements; a variable with so many is deleted after its last use."""

_serial = itertools.count()


class Source:
    """Lines of code and the objects that they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.space: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.count = 0
        self.indent = 1

    def add(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def constant(self, value: Any, stem: str = "k") -> str:
        """A name for an object."""
        for name, known in self.space.items():
            if known is value:
                return name
        name = f"{stem}_{len(self.space)}"
        self.space[name] = value
        return name

    def named(self, variables: Iterable[Var]) -> list[str]:
        """New names for variables."""
        out = []
        for v in variables:
            self.names[v.number] = name = f"{letters(self.count)}_"
            self.count += 1
            out.append(name)
        return out

    def atom(self, x: Atom, beside_scalars: bool = False) -> str:
        """An operand. Beside arrays, a 0-d array is the quickest form of a number."""
        if isinstance(x, Literal):
            if beside_scalars or x.dtype.kind not in "fciub":
                return self.constant(x.value)
            return self.constant(_array(x))
        return self.names[x.number]

    def write(self, equations: Sequence[Equation], kept: Iterable[Var]) -> None:
        """The equations, one line each."""
        last: dict[int, int] = {}
        for k, e in enumerate(equations):
            last.update((v.number, k) for v in variables(e.inputs))
        ours = {v.number for e in equations for v in e.outputs} - {v.number for v in kept}
        for k, e in enumerate(equations):
            if e.primitive is GUARD:
                self.add(
                    f"if {e['kind'].replace('index', 'int')}({self.atom(e.inputs[0], True)}) != {self.constant(e['answer'])}: raise miss"
                )
                self.space.setdefault("miss", Missed(e))
                continue
            text = self.expression(e)
            made = self.named(e.outputs)
            several = type(e.primitive) is Structured or len(made) != 1
            self.add(f"{', '.join(made)}{',' if several and len(made) == 1 else ''} = {text}" if made else text)
            dead = {v.number: v for v in variables(e.inputs) if last[v.number] == k and v.number in ours}
            large = [self.names[i] for i, v in dead.items() if _size(v) >= LARGE]
            if large:
                self.add(f"del {', '.join(large)}")

    def expression(self, e: Equation) -> str:
        name = e.primitive.name
        scalars = all(not x.shape for x in e.inputs)
        args = [self.atom(x, scalars) for x in e.inputs]
        if name in BINARY:
            return f"{args[0]} {BINARY[name]} {args[1]}"
        if name in UNARY:
            return f"{UNARY[name]}{args[0]}"
        if e.primitive is FILL:
            return self.constant(FILL.impl(*[x.value for x in e.inputs if isinstance(x, Literal)], **dict(e.params)))
        write = WRITERS.get(name)
        text = write(self, e, args) if write is not None else None
        return text if text is not None else self.call(e.primitive.impl, [self.atom(x, True) for x in e.inputs], e.params)

    def call(self, function: Callable[..., Any], args: Sequence[str], params: Iterable[tuple[str, Any]] = ()) -> str:
        named = [f"{key}={self.value(value)}" for key, value in params]
        return f"{self.constant(function, 'f')}({', '.join([*args, *named])})"

    def value(self, x: Any) -> str:
        """A param, readable where it can be."""
        plain = type(x) in (int, bool, str, type(None)) or (type(x) is tuple and all(type(i) is int for i in x))
        return repr(x) if plain else self.constant(x)

    def compile(self, head: str) -> Callable[..., Any]:
        """The function with this head and these lines."""
        text = "\n".join([head, *self.lines]) + "\n"
        filename = f"<funcgrad program {next(_serial)}>"
        exec(compile(text, filename, "exec"), self.space)
        function: Callable[..., Any] = self.space["program"]
        function.__dict__["source"] = text
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        return function


class Missed(Exception):
    """A guard met another answer."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        super().__init__(str(equation.line))


def _array(x: Literal) -> Any:
    array = np.array(x.value)
    array.flags.writeable = False
    return array


def _size(v: Var) -> int:
    return int(np.prod(v.shape, dtype=np.intp))


# ---- what is written in a shorter way

WRITERS: dict[str, Callable[[Source, Equation, list[str]], str | None]] = {}
"""By name: the text of an equation, or None where its `impl` is called."""


def _astype(to: Source, e: Equation, args: list[str]) -> str:
    x = e.inputs[0]
    dtype = e["dtype"]
    return f"{args[0]}.astype({to.constant(dtype)})" if x.shape else f"{to.constant(dtype.type)}({args[0]})"


def _getitem(to: Source, e: Equation, args: list[str]) -> str | None:
    text = _index(e["index"]) if len(args) == 1 else None
    return None if text is None else f"{args[0]}[{text}]"


def _index(index: Any) -> str | None:
    parts = []
    for i in index if type(index) is tuple else (index,):
        if type(i) is int:
            parts.append(str(i))
        elif type(i) is slice and all(type(b) in (int, type(None)) for b in (i.start, i.stop, i.step)):
            bounds = ["" if b is None else str(b) for b in (i.start, i.stop)]
            parts.append(":".join(bounds) + ("" if i.step in (None, 1) else f":{i.step}"))
        elif i is Ellipsis:
            parts.append("...")
        elif i is None:
            parts.append("None")
        else:
            return None
    return ", ".join(parts) + ("," if len(parts) == 1 and type(index) is tuple else "") if parts else None


def _sum(to: Source, e: Equation, args: list[str]) -> str:
    return f"{to.constant(np.add.reduce, 'f')}({args[0]}, {e['axis']!r})"


def _reshape(to: Source, e: Equation, args: list[str]) -> str | None:
    return f"{args[0]}.reshape({e['shape']!r})" if e.inputs[0].shape else None


def _transpose(to: Source, e: Equation, args: list[str]) -> str:
    return f"{args[0]}.T" if e["axes"] == (-1, -2) else f"{args[0]}.transpose({e['axes']!r})"


def _stack(to: Source, e: Equation, args: list[str]) -> str | None:
    """A few scalars are written one by one, which takes half as long."""
    if e.inputs[0].shape or len(args) > 16:
        return None
    return f"{to.constant(_pack(len(args), e.outputs[0].dtype), 'f')}({', '.join([to.atom(x, True) for x in e.inputs])})"


@functools.lru_cache(256)
def _pack(n: int, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """A function that makes an array of `n` scalars."""
    names = [f"x{i}" for i in range(n)]
    space = {"empty": np.empty, "dtype": dtype}
    exec(
        f"def pack({', '.join(names)}):\n    out = empty({n}, dtype)\n    "
        + "; ".join(f"out[{i}] = x{i}" for i in range(n))
        + "\n    return out",
        space,
    )
    made: Callable[..., Any] = space["pack"]  # type: ignore[assignment]
    return made


def _ufunc(to: Source, e: Equation, args: list[str]) -> str | None:
    return to.call(e.primitive.impl, args)


for _name, _writer in {
    "astype": _astype, "getitem": _getitem, "sum": _sum, "reshape": _reshape, "transpose": _transpose, "stack": _stack,
}.items():  # fmt: skip
    WRITERS[_name] = _writer


# ---- functions


@functools.lru_cache(1024)
def compiled(program: Program) -> Callable[..., tuple[Any, ...]]:
    """The program as a function of ground values: it takes its inputs and gives a tuple of its outputs."""
    to = Source()
    given = to.named(program.inputs)
    to.write(program.equations, variables(program.outputs))
    outs = [to.atom(x, True) for x in program.outputs]
    to.add(f"return ({', '.join(outs)}{',' if len(outs) == 1 else ''})")
    return to.compile(f"def program({', '.join(given)}):")


def source(program: Program) -> str:
    """The text of the generated function."""
    text: str = compiled(program).__dict__["source"]
    return text
