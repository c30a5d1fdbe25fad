"""`scan` as an operation: what each interpreter makes of a loop over the first axis of arrays, whose body is a program.

Operands are `consts…, carry…, xs…`, results `carry…, ys…`. Its tangents, its pull and the same in many lanes are such loops again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import pytree
from funcgrad.control.layout import Mask, arranged, chosen, places, tangent_of
from funcgrad.control.reverse import Reverse
from funcgrad.control.schedules import EVERYTHING, Schedule
from funcgrad.core import Value
from funcgrad.ops.kinds import Structured
from funcgrad.ops.shaping import moved
from funcgrad.program.loops import scan_code
from funcgrad.program.parts import alone
from funcgrad.program.program import Program
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.batching import spread
from funcgrad.transforms.calls import Call, Outputs, apply
from funcgrad.transforms.derive import batched, depends, pushed
from funcgrad.transforms.forward import Forward
from funcgrad.transforms.linearize import Linearize
from funcgrad.transforms.walk import Node


@attrs.frozen
class ScanCall(Call):
    """A loop of `length` steps; `reverse` takes them, and gives the ys, from the last to the first."""

    body: Program
    consts: int
    carry: int
    length: int
    reverse: bool = False
    keeps: Schedule = EVERYTHING
    """What reverse mode remembers."""
    unroll: int = 1

    @property
    def key(self) -> Any:
        return self

    @property
    def equation(self) -> tuple[Structured, dict[str, Any]]:
        return SCAN, {k: getattr(self, k) for k in ("body", "consts", "carry", "length", "reverse", "keeps", "unroll")}

    @property
    def carried(self) -> slice:
        """The places of the carry among the operands."""
        return slice(self.consts, self.consts + self.carry)

    def run(self, values: Sequence[Value]) -> Outputs:
        outs = list(scan_code(self.body, self.consts, self.carry, self.reverse, self.unroll)(self.length, *values))
        given = set(map(id, values))
        outs = [y.copy("K") if id(y) in given and isinstance(y, np.ndarray) else y for y in outs]
        return outs, pytree.structure(outs)

    def settled(self, mask: Sequence[bool]) -> tuple[Mask, Mask]:
        """Which inputs of the body have a derivative, once those have it that are carried into; and which outputs."""
        now = list(mask)
        while True:
            outs = depends(self.body, tuple(now))
            after = [a or b for a, b in zip(now[self.carried], outs, strict=False)]
            if after == now[self.carried]:
                return tuple(now), outs
            now[self.carried] = after

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        mask, outs = self.settled([t is not None for t in tangents])
        wanted = (*mask[self.carried], *outs[self.carry :])
        made = pushed(self.body, mask, wanted)
        n, y = len(values), len(outs)
        c, k = self.consts, self.consts + self.carry
        behind = {i: n + j for j, i in enumerate(places(mask))}  # where the tangent of input i stands
        constants = range(n + len(behind), len(made.program.inputs))
        first = [*range(c), *[behind[i] for i in range(c) if mask[i]], *constants]
        second = [*range(c, k), *[behind[i] for i in range(c, k) if mask[i]]]
        third = [*range(k, n), *[behind[i] for i in range(k, n) if mask[i]]]
        ahead = {i: y + j for j, i in enumerate(places(wanted))}
        ends = [*range(self.carry), *[ahead[i] for i in range(self.carry) if wanted[i]]]
        rows = [*range(self.carry, y), *[ahead[i] for i in range(self.carry, y) if wanted[i]]]
        body = arranged(made.program, [*first, *second, *third], [*ends, *rows])
        moves = [tangent_of(t, v) if yes else None for t, v, yes in zip(tangents, values, mask, strict=True)]
        both = dict(enumerate([*values, *chosen(moves, mask), *made.constants]))
        loop = attrs.evolve(self, body=body, consts=len(first), carry=len(second))
        found = apply(loop, [both[i] for i in (*first, *second, *third)])[0]
        by_place = dict(zip([*ends, *rows], found, strict=True))
        results = [by_place[i] for i in range(y)]
        return results, [by_place[ahead[i]] if i in ahead else None for i in range(y)], pytree.structure(results)

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        mask, outs = self.settled([p is not None for p in parents])
        wanted = (*mask[self.carried], *outs[self.carry :])
        values = m.kept(values, parents)
        made = Reverse(self, mask, wanted).grow(m, values, parents)
        return made, pytree.structure(made)

    def many(self, m: Batch, operands: Sequence[Value]) -> Outputs:
        mapped = [type(x) is BatchTracer and x._main is m for x in operands]
        values = [m.value_of(x) if yes else x for x, yes in zip(operands, mapped, strict=True)]
        made, inputs, outs = in_all_lanes(self, mapped, m.size)
        k = self.consts + self.carry
        given = []
        for i, (x, was, now) in enumerate(zip(values, mapped, inputs, strict=True)):
            if now and not was:
                x = spread(x, m.size)
            given.append(moved(x, 0, 1) if now and i >= k else x)
        n, c = len(values), self.consts
        body = arranged(made.program, [*range(c), *range(n, len(made.program.inputs)), *range(c, n)], range(len(outs)))
        loop = attrs.evolve(self, body=body, consts=c + len(made.constants))
        found = apply(loop, [*given[:c], *made.constants, *given[c:]])[0]
        results = [
            m.trace(y if i < self.carry else moved(y, 1, 0)) if yes else y for i, (y, yes) in enumerate(zip(found, outs, strict=True))
        ]
        return results, pytree.structure(results)


def in_all_lanes(call: ScanCall, mapped: Sequence[bool], size: int) -> Any:
    """The body in many lanes, which of its inputs have them, and which of its outputs: a carry has them where it is given one."""
    now = list(mapped)
    while True:
        wanted = (*now[call.carried], *(False,) * (len(call.body.outputs) - call.carry))
        made, outs = batched(call.body, tuple(now), size, wanted)
        after = list(outs[: call.carry])
        if after == now[call.carried]:
            return made, now, outs
        now[call.carried] = after


SCAN = alone(
    Structured(
        "scan",
        lambda *args, **params: tuple(ScanCall("scan", **params).run(args)[0]),
        lambda args, params: tuple(apply(ScanCall("scan", **params), args)[0]),
    )
)
