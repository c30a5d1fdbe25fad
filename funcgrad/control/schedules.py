"""What a loop remembers for its pull."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from funcgrad.control.bodies import positive
from funcgrad.control.stepping import backwards
from funcgrad.core import Value, shape_of
from funcgrad.ops.elementwise import logical_and
from funcgrad.ops.kinds import BY_UFUNC
from funcgrad.ops.shaping import concatenate
from funcgrad.program.parts import Var, record
from funcgrad.transforms.calls import apply
from funcgrad.transforms.derive import Run, derived

if TYPE_CHECKING:
    from funcgrad.control.layout import Mask
    from funcgrad.control.reverse import Reverse
    from funcgrad.control.while_call import WhileCall
    from funcgrad.transforms.walk import Product

Found = tuple[list[Value], list[Value]]


class Schedule:
    """`forward` runs the loop and says what it keeps.

    `back` pulls cotangents of (carry, sums) and of the ys to those of (carry, sums) and of the xs.
    """

    def forward(self, work: Reverse, values: list[Value]) -> tuple[list[Value], Any]:
        raise NotImplementedError

    def forward_while(self, loop: WhileCall, mask: Mask, wanted: Mask, values: list[Value]) -> tuple[Value, list[Value], Any]:
        """The same of a loop whose steps are not known; their number comes first."""
        raise NotImplementedError

    def back(self, work: Reverse, values: list[Value], state: Any, cts: list[Value], ys: list[Value], product: Product | None) -> Found:
        raise NotImplementedError


def first_carry(work: Reverse, values: list[Value]) -> list[Value]:
    return values[work.loop.consts : work.loop.consts + work.loop.carry]


@record
@attrs.frozen
class Everything(Schedule):
    """All that the pulls of the steps take, in stacks."""

    def forward(self, work: Reverse, values: list[Value]) -> tuple[list[Value], Any]:
        outs = work.remembered(values, first_carry(work, values), 0, work.loop.length)
        n = len(work.wanted)
        return outs[:n], outs[n:]

    def forward_while(self, loop: WhileCall, mask: Mask, wanted: Mask, values: list[Value]) -> tuple[Value, list[Value], Any]:
        back = backwards(loop.body, loop.body_consts, loop.carry, mask, wanted, None)
        n, c, k = loop.carry, loop.first, len(wanted)
        leaving = attrs.evolve(loop, body=back.forward, body_consts=loop.body_consts + len(back.constants), counts=True)
        carry, count, rows = counted(leaving, [*values[:c], *back.constants, *values[c:]], n)
        return count, [*carry, *rows[: k - n]], rows[k - n :]

    def back(self, work: Reverse, values: list[Value], state: Any, cts: list[Value], ys: list[Value], product: Product | None) -> Found:
        n = work.loop.length
        if product is not None:  # other things cross where zeros are strong
            state = work.remembered(values, first_carry(work, values), 0, n, product)[len(work.wanted) :]
        return work.pulled(values, state, cts, ys, 0, n, product)


def counted(loop: WhileCall, values: list[Value], n: int) -> tuple[list[Value], Value, list[Value]]:
    """The last carry, the number of steps, and the stacks."""
    outs = apply(loop, values)[0]
    return outs[:n], outs[n], outs[n + 1 :]


@functools.lru_cache(512)
def up_to(loop: WhileCall, steps: int) -> WhileCall:
    """The loop with at most so many steps, counted behind its carry."""
    a, c, n = loop.cond_consts, loop.body_consts, loop.carry
    count = Var(0, (), np.dtype(np.int64))

    def cond(run: Run, inputs: list[Any]) -> Any:
        return [logical_and(run(loop.cond, inputs[:-1])[0], BY_UFUNC[np.less](inputs[-1], steps))]

    def body(run: Run, inputs: list[Any]) -> Any:
        outs = run(loop.body, inputs[:-1])
        return [*outs[:n], BY_UFUNC[np.add](inputs[-1], 1), *outs[n:]]

    asked, step = derived(cond, [*loop.cond.inputs, count]), derived(body, [*loop.body.inputs, count])
    return attrs.evolve(loop, cond=asked.program, body=step.program, cond_consts=a, body_consts=c, counts=True)


EVERYTHING = Everything()


def again(
    work: Reverse, values: list[Value], carry: list[Value], lo: int, hi: int, cts: list[Value], ys: list[Value], product: Product | None
) -> Found:
    """The pull of a few steps that run once more, from the carry they began with."""
    stacks = work.remembered(values, carry, lo, hi, product)[len(work.wanted) :]
    return work.pulled(values, stacks, cts, ys, lo, hi, product)


@record
@attrs.frozen
class Every(Schedule):
    """The carry every `steps` steps; the steps in between run once more."""

    steps: int

    def forward(self, work: Reverse, values: list[Value]) -> tuple[list[Value], Any]:
        n, carry = work.loop.length, first_carry(work, values)
        kept, parts = [], []
        for lo in range(0, n, self.steps):
            kept.append(carry)
            carry, ys = work.ahead(values, carry, lo, min(lo + self.steps, n))
            parts.append(ys)
        if not parts:
            carry, ys = work.ahead(values, carry, 0, 0)
            return [*carry, *ys], []
        return [*carry, *map(work.joined, zip(*parts, strict=True))], kept

    def forward_while(self, loop: WhileCall, mask: Mask, wanted: Mask, values: list[Value]) -> tuple[Value, list[Value], Any]:
        n, c = loop.carry, loop.first
        part = up_to(loop, self.steps)
        carry, total = values[c:], 0
        kept: list[Any] = []
        parts: list[list[Value]] = []
        while True:
            found, count, rows = counted(part, [*values[:c], *carry, np.int64(0)], n + 1)
            taken = int(count)
            total += taken
            if taken or not parts:
                kept.append(carry)
                parts.append(rows)
            carry = found[:n]
            if taken < self.steps:
                break
        stacks = [
            column[0] if len(column) == 1 else concatenate(*column, axis=-len(shape_of(column[0]))) for column in zip(*parts, strict=True)
        ]
        return total, [*carry, *stacks], kept if total else []

    def back(self, work: Reverse, values: list[Value], state: Any, cts: list[Value], ys: list[Value], product: Product | None) -> Found:
        n, parts = work.loop.length, []
        for k in reversed(range(len(state))):
            lo = k * self.steps
            cts, rows = again(work, values, state[k], lo, min(lo + self.steps, n), cts, ys, product)
            parts += [rows] if rows else []
        return cts, _joined(work, parts, values, state, cts, ys, product)


def _positive(_: Any, attribute: Any, value: Any) -> None:
    positive("Binomial", attribute.name, value)


@record
@attrs.frozen
class Binomial(Schedule):
    """Never more than `snapshots` carries at a time, each `steps` steps apart at least; the loop is run again from them, recursively.

    Source: Griewank and Walther, Algorithm 799 (revolve), 2000: the splits that need the fewest runs.
    """

    snapshots: int = attrs.field(validator=_positive)
    steps: int = attrs.field(default=1, validator=_positive)

    def forward(self, work: Reverse, values: list[Value]) -> tuple[list[Value], Any]:
        carry, ys = work.ahead(values, first_carry(work, values), 0, work.loop.length)
        return [*carry, *ys], None

    def forward_while(self, loop: WhileCall, mask: Mask, wanted: Mask, values: list[Value]) -> tuple[Value, list[Value], Any]:
        carry, count, rows = counted(attrs.evolve(loop, counts=True), values, loop.carry)
        return count, [*carry, *rows], None

    def back(self, work: Reverse, values: list[Value], state: Any, cts: list[Value], ys: list[Value], product: Product | None) -> Found:
        n, parts = work.loop.length, []
        # Segments still to be pulled, the last of them first: where each begins, and the carry there.
        kept = [(0, first_carry(work, values))]
        hi = n
        while hi:
            lo, carry = kept[-1]
            blocks = -(-(hi - lo) // self.steps)
            free = self.snapshots - len(kept)
            if blocks > 1 and free > 0:
                mid = lo + self.steps * _split(blocks, free + 1)
                kept.append((mid, work.carry_ahead(values, carry, lo, mid)))
                continue
            start = lo + self.steps * (blocks - 1)
            at = carry if start == lo else work.carry_ahead(values, carry, lo, start)
            cts, rows = again(work, values, at, start, hi, cts, ys, product)
            parts += [rows] if rows else []
            hi = start
            if start == lo:
                kept.pop()
        return cts, _joined(work, parts, values, state, cts, ys, product)


def _split(blocks: int, snapshots: int) -> int:
    """How many of the blocks to run before the next snapshot is taken: `snapshots` are free, the first block's among them."""
    runs = 1
    while math.comb(snapshots + runs, snapshots) < blocks:
        runs += 1
    # With the snapshot, C(s - 1 + r, s - 1) blocks behind it take r runs; the others are done in one run less.
    return max(1, min(blocks - 1, blocks - math.comb(snapshots - 1 + runs, snapshots - 1)))


def _joined(work: Reverse, parts: Sequence[list[Value]], values: Any, state: Any, cts: Any, ys: Any, product: Any) -> list[Value]:
    """The cotangents of the xs, of parts that came last first."""
    if not parts:
        return again(work, values, first_carry(work, values), 0, 0, cts, ys, product)[1]
    return [work.joined(column) for column in zip(*reversed(parts), strict=True)]
