"""A program: what a function computed, as data.

Variables are numbered in the order they are made: first the inputs, then the outputs of each equation. So two programs that compute
the same in the same order are equal, whoever recorded them, and a program's hash has no address in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import pytree
from funcgrad.core import Primitive, Traced, dtype_of, shape_of
from funcgrad.ops.kinds import Constant

Shape = tuple[int, ...]
DType = np.dtype[Any]


@attrs.frozen
class Var:
    """A variable: its number, shape and dtype, and nothing else."""

    number: int
    shape: Shape
    dtype: DType

    def __str__(self) -> str:
        return f"{letters(self.number)}:{self.dtype}[{','.join(map(str, self.shape))}]"


@attrs.frozen(eq=False)
class Literal:
    """A typed scalar. Two are equal where their bits are: -0.0 is not 0.0, and nan is nan."""

    value: np.generic

    shape: Shape = ()

    @property
    def dtype(self) -> DType:
        return self.value.dtype

    def __eq__(self, other: object) -> bool:
        return type(other) is Literal and self._bits == other._bits

    def __hash__(self) -> int:
        return hash(self._bits)

    @property
    def _bits(self) -> tuple[str, bytes]:
        return self.value.dtype.str, self.value.tobytes()

    def __str__(self) -> str:
        return f"{self.value}:{self.dtype}"


Atom = Var | Literal
"""What an equation reads, and what a program gives back."""


@attrs.frozen
class Line:
    """Where in the user's code an equation comes from."""

    filename: str
    number: int
    function: str

    def __str__(self) -> str:
        return f"{self.filename.rpartition('/')[2]}:{self.number} in {self.function}"


@attrs.frozen
class Equation:
    """`outputs = primitive(*inputs, **params)`; pure, and nothing in place. `params` are sorted pairs, hashable, without arrays."""

    primitive: Primitive
    inputs: tuple[Atom, ...]
    outputs: tuple[Var, ...]
    params: tuple[tuple[str, Any], ...] = ()
    line: Line | None = attrs.field(default=None, eq=False)

    def __getitem__(self, name: str) -> Any:
        """A param by name."""
        return dict(self.params)[name]


@attrs.frozen
class Signature:
    """The trees that a program takes and gives, and the name of the function it was recorded from."""

    name: str
    in_def: pytree.TreeDef
    out_def: pytree.TreeDef


def contents(captures: tuple[Any, ...]) -> tuple[Any, ...]:
    """What tells captured values apart: their bits; a tracer is itself alone."""
    return tuple([id(x) if isinstance(x, Traced) else (x.dtype.str, x.shape, x.tobytes()) for x in captures])


@attrs.frozen(cache_hash=True)
class Program:
    """`outputs` as a function of `inputs`, the last of which are the values that the function captured.

    A program that an equation holds has no captures of its own: they are operands of the equation.
    """

    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]
    captures: tuple[Any, ...] = attrs.field(default=(), eq=contents, hash=False)
    signature: Signature | None = attrs.field(default=None, hash=False)

    @property
    def size(self) -> int:
        """How many variables there are."""
        return len(self.inputs) + sum([len(e.outputs) for e in self.equations])


def sorted_params(params: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(params.items()))


def letters(number: int) -> str:
    """a, b, …, z, aa, ab, …"""
    text = ""
    number += 1
    while number:
        number, k = divmod(number - 1, 26)
        text = chr(97 + k) + text
    return text


def literal(value: Any) -> Literal:
    """A scalar with the dtype that it has when it stands alone."""
    return Literal(value if isinstance(value, np.generic) else np.asarray(value).dtype.type(value))


def spec_like(x: Any) -> tuple[Shape, DType]:
    return shape_of(x), dtype_of(x)


# ---- making programs


class Builder:
    """Writes a program, one equation after the other; every variable gets the next number."""

    def __init__(self) -> None:
        self.inputs: list[Var] = []
        self.equations: list[Equation] = []
        self.count = 0

    def var(self, shape: Shape, dtype: DType) -> Var:
        made = Var(self.count, shape, dtype)
        self.count += 1
        return made

    def input(self, shape: Shape, dtype: DType) -> Var:
        made = self.var(shape, dtype)
        self.inputs.append(made)
        return made

    def write(
        self, primitive: Primitive, inputs: Iterable[Atom], specs: Iterable[tuple[Shape, DType]], params: Any = (), line: Line | None = None
    ) -> tuple[Var, ...]:
        outputs = tuple([self.var(shape, dtype) for shape, dtype in specs])
        self.equations.append(Equation(primitive, tuple(inputs), outputs, params, line))
        return outputs


def renumbered(inputs: Sequence[Var], equations: Iterable[Equation], outputs: Sequence[Atom]) -> Program:
    """The program of these equations, whose variables may have any numbers; they may only be unique."""
    made = Builder()
    new: dict[int, Var] = {v.number: made.input(v.shape, v.dtype) for v in inputs}

    def renamed(x: Atom) -> Atom:
        return new[x.number] if type(x) is Var else x

    for e in equations:
        outs = made.write(e.primitive, map(renamed, e.inputs), [(v.shape, v.dtype) for v in e.outputs], e.params, e.line)
        new.update(zip([v.number for v in e.outputs], outs, strict=True))
    return Program(tuple(made.inputs), tuple(made.equations), tuple(map(renamed, outputs)))


def variables(atoms: Iterable[Atom]) -> Iterator[Var]:
    return (x for x in atoms if type(x) is Var)


def without_dead_code(program: Program) -> Program:
    """Without the equations that lead to no output. Guards stay: they are what the rest depends on."""
    wanted = {v.number for v in variables(program.outputs)}
    kept = []
    for e in reversed(program.equations):
        if not e.outputs or any(v.number in wanted for v in e.outputs):
            wanted.update(v.number for v in variables(e.inputs))
            kept.append(e)
    return renumbered(program.inputs, reversed(kept), program.outputs)


# ---- guards


def _guard(x: Any, *, kind: str, answer: Any) -> tuple[()]:
    if KINDS[kind](x) != answer:
        raise Miss(kind, answer)
    return ()


class Miss(Exception):
    """A program met a value that answers a look otherwise than when it was recorded."""


KINDS: dict[str, Any] = {"bool": bool, "int": int, "float": float, "complex": complex, "index": int}

GUARD = Primitive("guard", _guard)
"""Checks what a value answered to a look when the program was recorded. It has no outputs."""

# ---- constant arrays

FILL = Constant("fill", lambda x, *, shape: np.broadcast_to(x, shape))
"""An array of this shape whose elements are all the scalar."""
