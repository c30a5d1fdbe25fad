"""Loops backwards: the steps' pulls, from the last to the first, as a loop of their own; and what is remembered for it.

The pull of one step takes what crosses from it (see `derive.Pair`): the carry it began with, its x, and what it computed on the way.
A schedule says whether all of this is kept, or made again from the carry at a few steps.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from funcgrad.control.layout import Mask, arranged, chosen, full, places
from funcgrad.control.schedules import Everything
from funcgrad.control.stepping import Back, backwards
from funcgrad.core import Value, shape_of, spec_of, tick
from funcgrad.ops.indexing import getitem
from funcgrad.ops.shaping import concatenate
from funcgrad.program.passes.dead import without_dead_code
from funcgrad.program.program import Program
from funcgrad.transforms.calls import apply
from funcgrad.transforms.linearize import Linearize
from funcgrad.transforms.nodes import ids_of, pull_part, zero
from funcgrad.transforms.walk import STRICTLY, Cotangents, Node, Product, accumulate, two

if TYPE_CHECKING:
    from funcgrad.control.scan_call import ScanCall


@attrs.frozen
class Reverse:
    """The pull of a loop of cotangents of the results that are `wanted` to those of the operands of `mask`."""

    loop: ScanCall
    mask: Mask
    wanted: Mask

    @property
    def sums(self) -> int:
        """How many constants have a cotangent, which is a sum over the steps."""
        return sum(self.mask[: self.loop.consts])

    def step(self, product: Product | None) -> Back:
        return backwards(self.loop.body, self.loop.consts, self.loop.carry, self.mask, self.wanted, product)

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> list[Value]:
        """The results, as tracers over one node."""
        outs, state = self.loop.keeps.forward(self, values)
        return self.over(m, values, parents, outs, state)

    def over(self, m: Linearize, values: list[Value], parents: list[Node | None], outs: Sequence[Value], state: Any) -> list[Value]:
        like = [spec_of(y) for y in outs]
        node = (tick(), _pull, *two([p for p in parents if p is not None]), self, values, ids_of(parents), like, state)
        n = len(outs)
        return [
            m.trace(y, (tick(), pull_part, node, None, k, n)) if yes else y
            for k, (y, yes) in enumerate(zip(outs, self.wanted, strict=True))
        ]

    # ---- steps `lo` to `hi`, counted in the order in which the loop takes them

    def rows(self, xs: Sequence[Value], lo: int, hi: int) -> list[Value]:
        """The part of these arrays that the steps take."""
        n = self.loop.length
        if (lo, hi) == (0, n):
            return list(xs)
        at = slice(n - hi, n - lo) if self.loop.reverse else slice(lo, hi)
        return [x[at] if type(x) is np.ndarray else getitem(x, index=(at,)) for x in xs]

    def joined(self, parts: Sequence[Value]) -> Value:
        """Rows again, of parts in the order of the steps."""
        parts = parts[::-1] if self.loop.reverse else parts
        return parts[0] if len(parts) == 1 else concatenate(*parts, axis=-len(shape_of(parts[0])))

    def part(self, lo: int, hi: int, body: Program, consts: int) -> ScanCall:
        return attrs.evolve(self.loop, body=body, consts=consts, length=hi - lo, keeps=Everything())

    def ahead(self, values: Sequence[Value], carry: Sequence[Value], lo: int, hi: int) -> tuple[list[Value], list[Value]]:
        """The carry at step `hi`, and the ys on the way."""
        c, k = self.loop.consts, self.loop.consts + self.loop.carry
        outs = apply(self.part(lo, hi, self.loop.body, c), [*values[:c], *carry, *self.rows(values[k:], lo, hi)])[0]
        return outs[: self.loop.carry], outs[self.loop.carry :]

    def carry_ahead(self, values: Sequence[Value], carry: Sequence[Value], lo: int, hi: int) -> list[Value]:
        """The carry at step `hi` alone."""
        c, k = self.loop.consts, self.loop.consts + self.loop.carry
        body = without_ys(self.loop.body, self.loop.carry)
        return apply(self.part(lo, hi, body, c), [*values[:c], *carry, *self.rows(values[k:], lo, hi)])[0]

    def remembered(self, values: Sequence[Value], carry: Sequence[Value], lo: int, hi: int, product: Product | None = None) -> list[Value]:
        """As `ahead`, with the stacks of what crosses behind."""
        back = self.step(product)
        c, k = self.loop.consts, self.loop.consts + self.loop.carry
        operands = [*values[:c], *back.constants, *carry, *self.rows(values[k:], lo, hi)]
        return apply(self.part(lo, hi, back.forward, c + len(back.constants)), operands)[0]

    def pulled(
        self,
        values: Sequence[Value],
        stacks: Sequence[Value],
        cts: Sequence[Value],
        ys: Sequence[Value],
        lo: int,
        hi: int,
        product: Product | None,
    ) -> tuple[list[Value], list[Value]]:
        """From cotangents of (carry at `hi`, sums) and of the ys, those of (carry at `lo`, sums) and of the xs."""
        back = self.step(product)
        fixed = [*values, *back.constants]
        columns = [*stacks, *self.rows([values[i] for i in back.rows], lo, hi), *self.rows(ys, lo, hi)]
        body = attrs.evolve(self.part(lo, hi, back.pull, len(back.fixed)), carry=len(cts), reverse=not self.loop.reverse)
        found = apply(body, [*[fixed[i] for i in back.fixed], *cts, *columns])[0]
        return found[: len(cts)], found[len(cts) :]


@functools.lru_cache(512)
def without_ys(body: Program, carry: int) -> Program:
    return without_dead_code(arranged(body, range(len(body.inputs)), range(carry)))


# ---- the node


def _pull(node: Node, cts: Any, acc: Cotangents) -> None:
    _pull_by(node, cts, acc, None)


def _pull_by(node: Node, cts: Any, acc: Cotangents, product: Product | None) -> None:
    work, values, ids, like, state = node[4:]
    loop = work.loop
    ends = [full(ct, x) for ct, x, yes in zip(cts[: loop.carry], like, work.wanted, strict=False) if yes]
    columns = list(zip(cts[loop.carry :], like[loop.carry :], work.wanted[loop.carry :], strict=True))
    ys = [zero(x) if ct is None else full(ct, x) for ct, x, yes in columns if yes]
    c, k = loop.consts, loop.consts + loop.carry
    sums = [full(None, x) for x in chosen(values[:c], work.mask[:c])]
    found, rows = loop.keeps.back(work, values, state, [*ends, *sums], ys, product)
    n = len(ends)
    order = [*places(work.mask[:c]), *places(work.mask[c:k], c), *places(work.mask[k:], k)]
    for i, g in zip(order, [*found[n:], *found[:n], *rows], strict=True):
        if ids[i] is not None:
            accumulate(acc, ids[i], g)


STRICTLY[_pull] = _pull_by
