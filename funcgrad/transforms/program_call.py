"""A closed program as an operation: what each interpreter makes of it are programs again, derived from it and kept.

So a compiled function is compiled under every transformation as well. A guard that is missed raises `Missed`, for whoever chose
the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import pytree
from funcgrad.core import Value, spec_of, tick
from funcgrad.ops.kinds import Structured
from funcgrad.ops.shaping import cast, dense
from funcgrad.program.codegen import compiled
from funcgrad.program.evaluate import evaluate
from funcgrad.program.program import Program
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.calls import Call, Outputs, apply, newest
from funcgrad.transforms.derive import Mask, batched, depends, paired, pushed
from funcgrad.transforms.forward import Forward
from funcgrad.transforms.linearize import Linearize
from funcgrad.transforms.nodes import ids_of, pull_part
from funcgrad.transforms.record import Recorder
from funcgrad.transforms.walk import STRICTLY, Cotangents, Node, Product, accumulate, two


@attrs.frozen
class ProgramCall(Call):
    """The program of its operands."""

    program: Program

    @property
    def key(self) -> Any:
        return self

    @property
    def equation(self) -> tuple[Structured, dict[str, Any]]:
        return CALL, {"program": self.program}

    def run(self, values: Sequence[Value]) -> Outputs:
        outs = list(compiled(self.program)(*values))
        return outs, pytree.structure(outs)

    def apply(self, values: Sequence[Value]) -> list[Value]:
        """The results. A recording has the program's own equations."""
        if isinstance(newest(values), Recorder):
            return evaluate(self.program, values)
        return apply(self, values)[0]

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        mask = tuple([t is not None for t in tangents])
        wanted = depends(self.program, mask)
        made = pushed(self.program, mask, wanted)
        moving = [cast(dense(t, v.shape), v.dtype) for t, v in zip(tangents, self.program.inputs, strict=True) if t is not None]
        outs = ProgramCall(self.name, made.program).apply([*values, *moving, *made.constants])
        n = len(wanted)
        moves = iter(outs[n:])
        return outs[:n], [next(moves) if yes else None for yes in wanted], pytree.structure(outs[:n])

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        mask = tuple([p is not None for p in parents])
        work = Back(self.name, self.program, mask, depends(self.program, mask))
        values = m.kept(values, parents)
        outs, state = work.forward(values, None)
        like = list(map(spec_of, outs))
        node = (tick(), _pull, *two([p for p in parents if p is not None]), work, values, ids_of(parents), like, state)
        n = len(outs)
        made = [
            m.trace(y, (tick(), pull_part, node, None, k, n)) if yes else y
            for k, (y, yes) in enumerate(zip(outs, work.wanted, strict=True))
        ]
        return made, pytree.structure(made)

    def many(self, m: Batch, operands: Sequence[Value]) -> Outputs:
        mapped = tuple([type(x) is BatchTracer and x._main is m for x in operands])
        values = [m.value_of(x) if yes else x for x, yes in zip(operands, mapped, strict=True)]
        made, outs_mapped = batched(self.program, mapped, m.size, (False,) * len(self.program.outputs))
        outs = ProgramCall(self.name, made.program).apply([*values, *made.constants])
        results = [m.trace(y) if yes else y for y, yes in zip(outs, outs_mapped, strict=True)]
        return results, pytree.structure(results)


@attrs.frozen
class Back:
    """The pull of a program's call: two programs, and what crosses from the first to the second."""

    name: str
    program: Program
    mask: Mask
    wanted: Mask

    def forward(self, values: Sequence[Value], product: Product | None) -> tuple[list[Value], list[Value]]:
        """The outputs, and what crosses."""
        pair = paired(self.program, self.mask, self.wanted, product)
        at_hand = [*values, *pair.constants]
        outs = ProgramCall(self.name, pair.forward).apply(at_hand)
        n = len(self.wanted)
        at_hand += outs[n:]
        return outs[:n], [at_hand[i] for i in pair.crossing]

    def back(self, state: Sequence[Value], cts: Sequence[Value], product: Product | None) -> list[Value]:
        pair = paired(self.program, self.mask, self.wanted, product)
        return ProgramCall(self.name, pair.pull).apply([*state, *cts])


def _pull(node: Node, cts: Any, acc: Cotangents) -> None:
    _pull_by(node, cts, acc, None)


def _pull_by(node: Node, cts: Any, acc: Cotangents, product: Product | None) -> None:
    work, values, ids, like, state = node[4:]
    given = [
        np.zeros(x.shape, x.dtype)[()] if ct is None else cast(dense(ct, x.shape), x.dtype)
        for ct, x, yes in zip(cts, like, work.wanted, strict=True)
        if yes
    ]
    if product is not None:  # other things cross where zeros are strong
        state = work.forward(values, product)[1]
    found = work.back(state, given, product)
    for i, g in zip([i for i, yes in zip(ids, work.mask, strict=True) if yes], found, strict=True):
        if i is not None:
            accumulate(acc, i, g)


STRICTLY[_pull] = _pull_by

CALL = Structured(
    "call",
    lambda *args, program: compiled(program)(*args),
    lambda args, params: tuple(ProgramCall("call", **params).apply(args)),
)
