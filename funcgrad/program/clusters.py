"""Which statements run together, tile by tile: maps of large arrays, their slices, and sums of what is padded.

A cluster ends at what is no map, such as a sum. What does not depend on it is written before, and what does, behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs
import numpy as np

from funcgrad.program.extents import is_compact
from funcgrad.program.maps import MANY, is_cheap, is_dense, is_map, is_slice, start_along, tile_axis
from funcgrad.program.merging import Buffer, Item, Statement, inputs_of, outputs_of
from funcgrad.program.program import Atom, Equation, Shape, Var, variables

FEWEST = 2
"""Statements whose results are large; a single one is as quick on the whole array, unless threads share it."""

NEAR = 256
"""How much longer one array of a cluster may be than another: slices of a few elements less."""


@attrs.frozen(eq=False)
class Cluster:
    """Statements that run together along an axis, the arrays of theirs that others read, and what they ask of arrays."""

    statements: tuple[Statement, ...]
    axis: int
    outputs: tuple[Var, ...]
    answers: tuple[Var, ...]

    @property
    def is_shared(self) -> bool:
        """Whether there is work for several threads."""
        return is_shared(self.statements)

    @property
    def inputs(self) -> list[Var]:
        made = {v.number for s in self.statements for v in outputs_of(s)}
        return [v for s in self.statements for v in variables(inputs_of(s)) if v.number not in made]


Line = Statement | Cluster


def reads(s: Line) -> Iterable[Var]:
    return s.inputs if isinstance(s, Cluster) else variables(inputs_of(s))


def makes(s: Line) -> Sequence[Var]:
    return (*s.outputs, *s.answers) if isinstance(s, Cluster) else outputs_of(s)


def is_shared(statements: Sequence[Statement]) -> bool:
    return sum(math.prod(outputs_of(s)[0].shape) for s in statements if not is_cheap(s)) >= MANY


class Growing:
    """A cluster that may still grow, and what waits for its end."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.inside: dict[int, Var] = {}
        self.answers: list[Var] = []
        self.waiting: list[Statement] = []
        self.late: set[int] = set()
        self.axis: int | None = None
        self.like: Shape = ()

    def takes(self, s: Statement) -> Statement | None:
        """The statement as it stands in the cluster; None where it cannot."""
        if isinstance(s, Item):
            return None
        if isinstance(s, Buffer):
            return s if self.fits(s.output) and self.takes_parts(s) else None
        if s.primitive.name == "has_nan":
            return s if isinstance(s.inputs[0], Var) and s.inputs[0].number in self.inside else None
        if len(s.outputs) != 1 or not self.fits(s.outputs[0]):
            return None
        if s.primitive.name == "slice":
            x = s.inputs[0]
            return s if isinstance(x, Var) and x.number in self.inside and self.is_near(s, self.axis_of(s.outputs[0])) else None
        if s.primitive.name == "pad":
            buffer = Buffer(None, ((s, s.inputs[0], ()),), s.outputs[0])
            return buffer if self.takes_parts(buffer) else None
        return s if is_map(s) else None

    def axis_of(self, v: Var) -> int:
        axis = tile_axis(v.shape) if self.axis is None else self.axis
        assert axis is not None
        return axis

    def fits(self, v: Var) -> bool:
        """Whether an array is about as long as the others."""
        axis = tile_axis(v.shape)
        if axis is None or self.axis is None:
            return axis is not None
        return axis == self.axis and len(v.shape) == len(self.like) and abs(v.shape[axis] - self.like[axis]) <= NEAR

    def takes_parts(self, s: Buffer) -> bool:
        axis = self.axis_of(s.output)
        for e, x, dropped in s.parts:
            if dropped or not self.is_near(e, axis) or not self.is_beside(x, s.output, axis):
                return False
        return s.base is None or self.is_beside(s.base, s.output, axis)

    def is_near(self, e: Equation, axis: int) -> bool:
        return is_dense(e, axis) and start_along(e, axis) <= NEAR

    def is_beside(self, x: Atom, v: Var, axis: int) -> bool:
        return len(x.shape) == len(v.shape) and abs(x.shape[axis] - v.shape[axis]) <= NEAR

    def add(self, s: Statement) -> None:
        if isinstance(s, Equation) and s.primitive.name == "has_nan":
            self.answers += s.outputs
            self.late.update(v.number for v in s.outputs)
        else:
            (v,) = outputs_of(s)
            if self.axis is None:
                self.axis, self.like = tile_axis(v.shape), v.shape
            self.inside[v.number] = v
        self.statements.append(s)

    def wait(self, s: Statement) -> None:
        self.waiting.append(s)
        self.late.update(v.number for v in outputs_of(s))


def clustered(lines: Sequence[Statement], kept: set[int]) -> list[Line]:
    """The statements, with clusters where there is large work."""
    if not any(tile_axis(v.shape) is not None for s in lines for v in outputs_of(s)):
        return list(lines)
    readers: dict[int, list[Statement]] = {}
    for s in lines:
        for v in variables(inputs_of(s)):
            readers.setdefault(v.number, []).append(s)
    out: list[Line] = []
    now = Growing()

    def close() -> None:
        out.extend(closed(now, readers, kept))

    for s in lines:
        numbers = [v.number for v in variables(inputs_of(s))]
        if not now.late.isdisjoint(numbers):
            if Growing().takes(s) is None:
                now.wait(s)
                continue
            close()
            now = Growing()
        taken = now.takes(s)
        if taken is not None:
            now.add(taken)
        elif any(i in now.inside for i in numbers):
            now.wait(s)
        else:
            out.append(s)
    close()
    return out


def closed(now: Growing, readers: dict[int, list[Statement]], kept: set[int]) -> list[Line]:
    """A cluster that has ended, the slices that others read as well, and what has waited."""
    full = max([_size(s) for s in now.statements], default=0)
    count = sum(not is_slice(s) and 2 * _size(s) > full for s in now.statements)
    if not count or (count < FEWEST and not is_shared(now.statements)):
        return [*now.statements, *now.waiting]
    mine = {v.number for s in now.statements for v in outputs_of(s)}
    used = {i for i in now.inside if i in kept or any(v.number not in mine for s in readers.get(i, ()) for v in _made(s))}
    again = []
    for s in reversed(now.statements):
        if is_slice(s) and outputs_of(s)[0].number in used:
            used.discard(outputs_of(s)[0].number)
            used.update(v.number for v in variables(inputs_of(s)))
            again.append(s)
    outputs = tuple([v for i, v in now.inside.items() if i in used])
    cluster = Cluster(_needed(now.statements, used), now.axis or 0, outputs, tuple(now.answers))
    if not is_compact(cluster):
        return [*now.statements, *now.waiting]
    return [cluster, *reversed(again), *now.waiting]


def _needed(statements: Sequence[Statement], used: set[int]) -> tuple[Statement, ...]:
    """Without slices that are read outside alone."""
    read = set(used)
    kept = []
    for s in reversed(statements):
        if not is_slice(s) or outputs_of(s)[0].number in read:
            read.update(v.number for v in variables(inputs_of(s)))
            kept.append(s)
    return tuple(kept[::-1])


def _size(s: Statement) -> int:
    return max([math.prod(v.shape) for v in outputs_of(s)], default=0)


def _made(s: Statement) -> Sequence[Var]:
    """What a statement defines; of a guard, a stand-in that nobody defines."""
    return outputs_of(s) or (Var(-1, (), np.dtype(bool)),)
