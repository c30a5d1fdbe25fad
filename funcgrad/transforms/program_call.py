"""A closed program as an operation: what each interpreter makes of it are programs again, derived from it and kept.

So a compiled function is compiled under every transformation as well. A guard that is missed raises `Missed`, for whoever chose
the program.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import attrs

from funcgrad import pytree
from funcgrad.borrow import HELD
from funcgrad.core import Spec, Value, tick
from funcgrad.ops.kinds import Structured
from funcgrad.program.evaluate import evaluate
from funcgrad.program.parts import OTHERWISE
from funcgrad.program.program import Program, compiled
from funcgrad.program.sharing import at_most, limit
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.calls import Call, Outputs, apply, newest
from funcgrad.transforms.derive import LABEL, Mask, Pair, batched, depends, full, paired, pushed
from funcgrad.transforms.forward import Forward
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.nodes import pull_part, zero
from funcgrad.transforms.record import Recorder
from funcgrad.transforms.walk import STRICTLY, Cotangents, Node, Product, accumulate, two, walk


@attrs.frozen
class ProgramCall(Call):
    """The program of its operands."""

    program: Program
    is_derived: bool = False
    """Whether derivatives are in it: of them there are no warnings."""

    @property
    def key(self) -> Any:
        return self

    @property
    def equation(self) -> tuple[Structured, dict[str, Any]]:
        return CALL, {"program": self.program}

    def run(self, values: Sequence[Value]) -> Outputs:
        outs = self.at_ground(values)
        return outs, pytree.structure(outs)

    def at_ground(self, values: Sequence[Value]) -> list[Value]:
        if not self.is_derived:
            return list(compiled(self.program)(*values))
        token = hush()
        try:
            return list(compiled(self.program)(*values))
        finally:
            speak(token)

    def apply(self, values: Sequence[Value]) -> list[Value]:
        """The results. A recording has the program's own equations."""
        main = newest(values)
        if main is None:
            return self.at_ground(values)
        if type(main) is Linearize and not main.closed:
            parents = [x._node if type(x) is LinTracer and x._main is main else None for x in values]
            return self.grown(main, [x if p is None else x._value for x, p in zip(values, parents, strict=True)], parents)
        return evaluate(self.program, values) if isinstance(main, Recorder) else apply(self, values)[0]

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        mask = tuple([t is not None for t in tangents])
        wanted = depends(self.program, mask)
        made = pushed(self.program, mask, wanted)
        moving = [full(t, v) for t, v in zip(tangents, self.program.inputs, strict=True) if t is not None]
        outs = ProgramCall(self.name, made.program, True).apply([*values, *moving, *made.constants])
        n = len(wanted)
        moves = iter(outs[n:])
        return outs[:n], [next(moves) if yes else None for yes in wanted], pytree.structure(outs[:n])

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        made = self.grown(m, values, parents)
        return made, pytree.structure(made)

    def grown(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> list[Value]:
        work = back_of(self.name, self.program, tuple([p is not None for p in parents]), limit())
        values = m.kept(values, parents)
        outs, state = work.forward(values, None)
        kept = [p for p in parents if p is not None]
        if len(outs) == 1:
            if not work.wanted[0]:
                return outs
            return [m.trace(outs[0], (tick(), _pull_one, *two(kept), work, values, kept, state))]
        node = (tick(), _pull, *two(kept), work, values, kept, state)
        n = len(outs)
        return [
            m.trace(y, (tick(), pull_part, node, None, k, n)) if yes else y
            for k, (y, yes) in enumerate(zip(outs, work.wanted, strict=True))
        ]

    def many(self, m: Batch, operands: Sequence[Value]) -> Outputs:
        mapped = tuple([type(x) is BatchTracer and x._main is m for x in operands])
        values = [m.value_of(x) if yes else x for x, yes in zip(operands, mapped, strict=True)]
        made, outs_mapped = batched(self.program, mapped, m.size, (False,) * len(self.program.outputs))
        outs = ProgramCall(self.name, made.program, self.is_derived).apply([*values, *made.constants])
        results = [m.trace(y) if yes else y for y, yes in zip(outs, outs_mapped, strict=True)]
        return results, pytree.structure(results)


@attrs.frozen(eq=False)
class Halves:
    """The two halves of a program cut in two, as calls."""

    pair: Pair
    forward: ProgramCall
    pull: ProgramCall


@functools.lru_cache(512)
def halves(name: str, program: Program, mask: Mask, wanted: Mask, product: Product | None) -> Halves:
    pair = paired(program, mask, wanted, product)
    return Halves(pair, ProgramCall(name, pair.forward, True), ProgramCall(name, pair.pull, True))


@attrs.frozen(eq=False)
class Back:
    """The pull of a program's call: two programs, and what crosses from the first to the second."""

    name: str
    program: Program
    mask: Mask
    wanted: Mask
    asked: tuple[Any, ...]
    """The outputs that are wanted."""
    plain: Halves
    """Where zeros are not strong."""
    threads: int | None
    """How many may share the work: as many as in the call, which is over when it is pulled back."""

    def halves(self, product: Product | None) -> Halves:
        return self.plain if product is None else halves(self.name, self.program, self.mask, self.wanted, product)

    def forward(self, values: Sequence[Value], product: Product | None) -> tuple[list[Value], list[Value]]:
        """The outputs, and what crosses."""
        both = self.halves(product)
        at_hand = [*values, *both.pair.constants]
        outs = both.forward.apply(at_hand)
        n = len(self.wanted)
        at_hand += outs[n:]
        return outs[:n], [at_hand[i] for i in both.pair.crossing]

    def back(self, values: Sequence[Value], state: Sequence[Value], cts: Sequence[Value], product: Product | None) -> list[Value]:
        if self.threads is None:
            return self.pulled(values, state, cts, product)
        with at_most(self.threads):
            return self.pulled(values, state, cts, product)

    def pulled(self, values: Sequence[Value], state: Sequence[Value], cts: Sequence[Value], product: Product | None) -> list[Value]:
        try:
            if product is not None:  # other things cross where zeros are strong
                state = self.forward(values, product)[1]
            return self.halves(product).pull.apply([*state, *cts])
        except OTHERWISE:
            return self.by_equations(values, cts, product)

    def by_equations(self, values: Sequence[Value], cts: Sequence[Value], product: Product | None) -> list[Value]:
        """The same by one equation after the other: where cotangents decide what is done."""
        m = Linearize(LABEL)
        m.borrows = HELD
        given = [m.leaf(x) if yes else x for x, yes in zip(values, self.mask, strict=True)]
        made = evaluate(self.program, given)
        m.close()
        pairs = zip([y for y, yes in zip(made, self.wanted, strict=True) if yes], cts, strict=True)
        seeds = [(y._node, ct) for y, ct in pairs if type(y) is LinTracer and y._main is m]
        found = walk(seeds, product) if seeds else {}
        leaves = [t for t, yes in zip(given, self.mask, strict=True) if yes]
        return [full(zero(t) if (g := found.get(t._node[0])) is None else g, t) for t in leaves]


@functools.lru_cache(512)
def back_of(name: str, program: Program, mask: Mask, threads: int | None = None) -> Back:
    wanted = depends(program, mask)
    asked = tuple([v for v, yes in zip(program.outputs, wanted, strict=True) if yes])
    return Back(name, program, mask, wanted, asked, halves(name, program, mask, wanted, None), threads)


def _pull(node: Node, cts: Any, acc: Cotangents) -> None:
    _pull_by(node, cts, acc, None)


def _pull_by(node: Node, cts: Any, acc: Cotangents, product: Product | None) -> None:
    work, values, parents, state = node[4:]
    asked = [ct for ct, yes in zip(cts, work.wanted, strict=True) if yes]
    given = [zero(Spec(v.shape, v.dtype)) if ct is None else full(ct, v) for ct, v in zip(asked, work.asked, strict=True)]
    for p, g in zip(parents, work.back(values, state, given, product), strict=True):
        accumulate(acc, p[0], g)


def _pull_one(node: Node, ct: Any, acc: Cotangents) -> None:
    work, values, parents, state = node[4:]
    for p, g in zip(parents, work.back(values, state, (full(ct, work.asked[0]),), None), strict=True):
        accumulate(acc, p[0], g)


def _pull_one_by(node: Node, ct: Any, acc: Cotangents, product: Product | None) -> None:
    _pull_by(node, (ct,), acc, product)


STRICTLY[_pull_one] = _pull_one_by
STRICTLY[_pull] = _pull_by

CALL = Structured(
    "call",
    lambda *args, program: compiled(program)(*args),
    lambda args, params: tuple(ProgramCall("call", **params).apply(args)),
)
