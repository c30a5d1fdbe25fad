"""Programs of small arrays as programs of single numbers.

**Law:** the same numbers, bit for bit. What works element by element does so on each; what moves elements moves them; up to seven terms
along an axis are added in NumPy's order, one after the other, and then to 0.0. All else has no such program: products of matrices add in
the order of BLAS, and functions such as `sin` may have one loop for many numbers and another for one.

A number costs a Python operation, and an array a call of NumPy: for a few elements that is several times as much.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive
from funcgrad.ops import elementwise as ops
from funcgrad.program.parts import FILL, Atom, DType, Equation, Literal, Shape, Var
from funcgrad.program.passes import simplified
from funcgrad.program.program import Builder, Program
from funcgrad.program.vocabulary import PAD, bound, box

SMALL = 4
"""Elements that an array may have."""

FLOAT = np.dtype(np.float64)
ZERO = Literal(np.float64(0.0))
IN_ORDER = 7
"""Terms that NumPy adds one after the other (see `ops.summing`)."""

MOVES = frozenset("slice reshape transpose stack concatenate split unstack broadcast_to reverse".split())
ALIKE = frozenset("add subtract multiply negative positive divide sqrt absolute square".split())
"""Whose value no loop computes otherwise than any other."""

Grid = np.ndarray[Any, Any]
"""An array of numbers' atoms, or one of them."""


@functools.lru_cache(512)
def in_numbers(program: Program) -> Program | None:
    """The program of the elements of all inputs, one after the other, to those of all outputs. None where there is none."""
    if not all(fits(x.shape, x.dtype) for x in atoms_of(program)):
        return None
    apart = Apart()
    for v in program.inputs:
        apart.grids[v.number] = _grid([apart.to.input((), FLOAT) for _ in range(math.prod(v.shape))], v.shape)
    for e in program.equations:
        made = apart.equation(e)
        if made is None:
            return None
        apart.grids.update(zip([v.number for v in e.outputs], made, strict=True))
    outputs = [x for y in program.outputs for x in apart.grid(y).flat]
    return simplified(Program(tuple(apart.to.inputs), tuple(apart.to.equations), tuple(outputs)))


def atoms_of(program: Program) -> Iterator[Atom]:
    """All that it reads, makes and gives."""
    yield from itertools.chain(program.inputs, program.outputs, *[(*e.inputs, *e.outputs) for e in program.equations])


def fits(shape: Shape, dtype: DType) -> bool:
    return dtype == FLOAT and math.prod(shape) <= SMALL


def _grid(atoms: Sequence[Atom], shape: Shape) -> Grid:
    made = np.empty(len(atoms), object)
    made[:] = atoms
    return made.reshape(shape)


class Apart:
    """A program of numbers that is being written, and the numbers that stand for each array."""

    def __init__(self) -> None:
        self.to = Builder()
        self.grids: dict[int, Grid] = {}
        self.no_minus_zero: set[int] = set()
        self.line: Any = None

    def grid(self, x: Atom) -> Grid:
        return self.grids[x.number] if isinstance(x, Var) else _grid([x], ())

    def equation(self, e: Equation) -> list[Grid] | None:
        """The numbers of the results."""
        name, self.line = e.primitive.name, e.line
        operands = list(map(self.grid, e.inputs))
        if name in ALIKE:
            rows = zip(*[x.flat for x in np.broadcast_arrays(*operands)], strict=True)
            return [_grid([self.number(e.primitive, row) for row in rows], e.outputs[0].shape)]
        if name in MOVES:
            return moved(e, operands)
        rule = RULES.get(name)
        return rule(self, e, *operands) if rule is not None else None

    def number(self, prim: Primitive, row: Sequence[Atom]) -> Atom:
        """One number of others. A sum is -0.0 only where all its terms are, so that 0.0 changes no other."""
        if prim is ops.add:
            for x, y in (row, row[::-1]):
                if y == ZERO and self.is_no_minus_zero(x):
                    return x
        (made,) = self.to.write(prim, row, [((), FLOAT)], (), self.line)
        if prim is ops.square or (prim is ops.add and any(map(self.is_no_minus_zero, row))):
            self.no_minus_zero.add(made.number)
        return made

    def is_no_minus_zero(self, x: Atom) -> bool:
        if isinstance(x, Literal):
            return bool(x.value != 0) or not np.signbit(x.value)
        return x.number in self.no_minus_zero

    def total(self, terms: Sequence[Atom]) -> Atom:
        return self.number(ops.add, (functools.reduce(lambda x, y: self.number(ops.add, (x, y)), terms), ZERO))


def moved(e: Equation, operands: Sequence[Grid]) -> list[Grid]:
    """Where NumPy takes each element."""
    atoms = [x for operand in operands for x in operand.flat]
    places, start = [], 0
    for operand in operands:
        places.append(np.arange(start, start + operand.size).reshape(operand.shape)[()])
        start += operand.size
    prim, args, params = bound(e, places)
    out = prim.impl(*args, **params)
    outs = out if isinstance(out, tuple) else (out,)
    return [_grid([atoms[i] for i in np.ravel(y)], v.shape) for y, v in zip(outs, e.outputs, strict=True)]


def _pad(to: Apart, e: Equation, x: Grid) -> list[Grid]:
    out = _grid([ZERO] * math.prod(e["shape"]), e["shape"])
    out[box(e["starts"], e["stops"], e["steps"])] = x
    return [out]


def _sum(to: Apart, e: Equation, x: Grid) -> list[Grid] | None:
    """Along one axis: several are added in the order in which the array lies."""
    axis = e["axis"]
    if len(axis) != 1 or not 1 <= x.shape[axis[0]] <= IN_ORDER:
        return None
    columns = np.moveaxis(x, axis[0], -1)
    return [_grid([to.total(list(columns[i])) for i in np.ndindex(columns.shape[:-1])], columns.shape[:-1])]


RULES: dict[str, Callable[..., list[Grid] | None]] = {
    FILL.name: lambda to, e, x: [_grid([x[()]] * math.prod(e["shape"]), e["shape"])],
    PAD.name: _pad,
    "sum": _sum,
}
