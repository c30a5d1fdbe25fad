"""`cond` and `switch` as an operation: one of several programs of the same operands runs.

Operands are `which, others…`. Where lanes differ in `which`, all branches run in all lanes and the results are chosen.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import pytree
from funcgrad.control.layout import Mask, chosen, full, places
from funcgrad.core import Traced, Value, shape_of, spec_of, tick
from funcgrad.ops.elementwise import where
from funcgrad.ops.kinds import BY_UFUNC, Structured
from funcgrad.ops.shaping import reshape
from funcgrad.program.evaluate import evaluate
from funcgrad.program.parts import alone
from funcgrad.program.program import Program, Var, compiled, renumbered
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.calls import Call, Outputs, apply
from funcgrad.transforms.derive import Pair, Run, batched, depends, derived, paired, pushed
from funcgrad.transforms.forward import Forward
from funcgrad.transforms.linearize import Linearize
from funcgrad.transforms.nodes import ids_of, pull_part
from funcgrad.transforms.walk import STRICTLY, Cotangents, Node, Product, accumulate, two


@attrs.frozen
class CondCall(Call):
    """One of the branches, by its number."""

    branches: tuple[Program, ...]

    @property
    def key(self) -> Any:
        return self

    @property
    def equation(self) -> tuple[Structured, dict[str, Any]]:
        return COND, {"branches": self.branches}

    def chosen(self, which: Value) -> Program:
        return self.branches[int(which)]

    def run(self, values: Sequence[Value]) -> Outputs:
        outs = list(compiled(self.chosen(values[0]))(*values[1:]))
        given = set(map(id, values))
        outs = [y.copy("K") if id(y) in given and isinstance(y, np.ndarray) else y for y in outs]
        return outs, pytree.structure(outs)

    def apply(self, values: Sequence[Value]) -> list[Value]:
        """The results: where `which` is known, those of that branch alone."""
        which = values[0]
        if isinstance(which, Traced):
            return apply(self, values)[0]
        return evaluate(self.chosen(which), values[1:]) if any(isinstance(x, Traced) for x in values) else self.run(values)[0]

    def moving(self, mask: Mask) -> Mask:
        """Which results have a derivative, in any branch."""
        return tuple(map(any, zip(*[depends(p, mask) for p in self.branches], strict=True)))

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        mask = tuple([t is not None for t in tangents[1:]])
        wanted = self.moving(mask)
        made = [pushed(p, mask, wanted) for p in self.branches]
        outs = CondCall(self.name, _of_one_kind(made)).apply(
            [*values, *chosen(tangents[1:], mask), *[c for d in made for c in d.constants]]
        )
        moves = iter(outs[len(wanted) :])
        return outs[: len(wanted)], [next(moves) if yes else None for yes in wanted], pytree.structure(outs[: len(wanted)])

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        mask = tuple([p is not None for p in parents[1:]])
        work = Back(self.branches, mask, self.moving(mask))
        values = m.kept(values, parents)
        outs, state = work.forward(values, None)
        node = (
            tick(),
            _pull,
            *two([p for p in parents if p is not None]),
            work,
            values,
            ids_of(parents[1:]),
            list(map(spec_of, outs)),
            state,
        )
        n = len(outs)
        made = [
            m.trace(y, (tick(), pull_part, node, None, k, n)) if yes else y
            for k, (y, yes) in enumerate(zip(outs, work.wanted, strict=True))
        ]
        return made, pytree.structure(made)

    def many(self, m: Batch, operands: Sequence[Value]) -> Outputs:
        mapped = [type(x) is BatchTracer and x._main is m for x in operands]
        which, *values = [m.value_of(x) if yes else x for x, yes in zip(operands, mapped, strict=True)]
        mask = tuple(mapped[1:])
        apart = mapped[0] and not _agree(which)
        if mapped[0] and not apart:
            which = which[0]
        wanted = _in_lanes(self.branches, mask, m.size, apart)
        made = [batched(p, mask, m.size, wanted)[0] for p in self.branches]
        if not apart:
            outs = CondCall(self.name, _of_one_kind(made)).apply([which, *values, *[c for d in made for c in d.constants]])
        else:
            parts = [evaluate(d.program, [*values, *d.constants]) for d in made]
            outs = [
                functools.reduce(lambda a, kb: _select(which, kb[0], kb[1], a), enumerate(column[1:], 1), column[0])
                for column in zip(*parts, strict=True)
            ]
        results = [m.trace(y) if yes else y for y, yes in zip(outs, wanted, strict=True)]
        return results, pytree.structure(results)


def _agree(which: Value) -> bool:
    """Whether all lanes are known to take one branch."""
    return not isinstance(which, Traced) and bool(which.size) and bool((which == which[0]).all())


def _select(which: Value, k: int, mine: Value, others: Value) -> Value:
    """What the k-th branch gave, in the lanes that took it."""
    takes = BY_UFUNC[np.equal](which, k)
    return where(reshape(takes, shape=shape_of(which) + (1,) * (len(shape_of(mine)) - 1)), mine, others)


def _in_lanes(branches: Sequence[Program], mask: Mask, size: int, apart: bool) -> Mask:
    n = len(branches[0].outputs)
    found = [batched(p, mask, size, (False,) * n)[1] for p in branches]
    return tuple([apart or any(column) for column in zip(*found, strict=True)])


def _of_one_kind(made: Sequence[Any]) -> tuple[Program, ...]:
    """The programs with the constants of all of them as their last inputs."""
    parts = []
    for k, d in enumerate(made):
        n = len(d.program.inputs) - len(d.constants)
        before = [v for e in made[:k] for v in e.program.inputs[len(e.program.inputs) - len(e.constants) :]]
        behind = [v for e in made[k + 1 :] for v in e.program.inputs[len(e.program.inputs) - len(e.constants) :]]
        fresh = iter(range(d.program.size, d.program.size + len(before) + len(behind)))
        first, last = ([Var(next(fresh), v.shape, v.dtype) for v in vs] for vs in (before, behind))
        inputs = [*d.program.inputs[:n], *first, *d.program.inputs[n:], *last]
        parts.append(renumbered(inputs, d.program.equations, d.program.outputs))
    return tuple(parts)


# ---- backwards


@attrs.frozen
class Back:
    """The pull of the branch that ran: what crosses from it to its pull stands at places of its own among what all branches leave."""

    branches: tuple[Program, ...]
    mask: Mask
    wanted: Mask

    def pairs(self, product: Product | None) -> list[Pair]:
        return [paired(p, self.mask, self.wanted, product) for p in self.branches]

    def forward(self, values: Sequence[Value], product: Product | None) -> tuple[list[Value], list[Value]]:
        made = _both(self, product)
        outs = CondCall("cond", made.forward).apply([*values, *made.constants, *made.of_forward])
        n = len(self.wanted)
        return outs[:n], outs[n:]

    def back(self, values: Sequence[Value], state: Sequence[Value], cts: Sequence[Value], product: Product | None) -> list[Value]:
        made = _both(self, product)
        return CondCall("cond", made.pull).apply([*values, *made.constants, *state, *cts, *made.of_pull])


@attrs.frozen(eq=False)
class Both:
    forward: tuple[Program, ...]
    pull: tuple[Program, ...]
    constants: tuple[Any, ...]
    of_forward: tuple[Any, ...]
    of_pull: tuple[Any, ...]


@functools.lru_cache(512)
def _both(work: Back, product: Product | None) -> Both:
    """Every branch leaves zeros at the places of the others."""
    pairs = work.pairs(product)
    n, m = len(work.mask), len(work.wanted)
    constants = [c for p in pairs for c in p.constants]
    extras = [p.forward.outputs[m:] for p in pairs]
    forward, pull = [], []
    for k, pair in enumerate(pairs):
        start = sum([len(p.constants) for p in pairs[:k]])
        own = range(n + start, n + start + len(pair.constants))
        left = sum([len(e) for e in extras[:k]])

        def leave(run: Run, inputs: list[Any], k: int = k, pair: Pair = pair, own: range = own) -> Any:
            outs = run(pair.forward, [*inputs[:n], *[inputs[i] for i in own]])
            return [*outs[:m], *[x for j, e in enumerate(extras) for x in (outs[m:] if j == k else [full(None, v) for v in e])]]

        def back(run: Run, inputs: list[Any], pair: Pair = pair, own: range = own, left: int = left) -> Any:
            state = inputs[n + len(constants) :]
            at_hand = [*inputs[:n], *[inputs[i] for i in own], *state[left:]]
            cts = state[sum(map(len, extras)) :]
            return run(pair.pull, [*[at_hand[i] for i in pair.crossing], *cts])

        inputs = [*work.branches[0].inputs, *constants]
        forward.append(derived(leave, inputs))
        cts = [v for v, yes in zip(work.branches[0].outputs, work.wanted, strict=True) if yes]
        pull.append(derived(back, [*inputs, *[v for e in extras for v in e], *cts]))
    of_forward, of_pull = (tuple([c for d in made for c in d.constants]) for made in (forward, pull))
    return Both(_of_one_kind(forward), _of_one_kind(pull), tuple(constants), of_forward, of_pull)


def _pull(node: Node, cts: Any, acc: Cotangents) -> None:
    _pull_by(node, cts, acc, None)


def _pull_by(node: Node, cts: Any, acc: Cotangents, product: Product | None) -> None:
    work, values, ids, like, state = node[4:]
    given = [full(ct, x) for ct, x, yes in zip(cts, like, work.wanted, strict=True) if yes]
    if product is not None:  # other things cross where zeros are strong
        state = work.forward(values, product)[1]
    for k, g in zip(places(work.mask), work.back(values, state, given, product), strict=True):
        if ids[k] is not None:
            accumulate(acc, ids[k], g)


STRICTLY[_pull] = _pull_by

COND = alone(
    Structured(
        "cond",
        lambda *args, **params: tuple(CondCall("cond", **params).run(args)[0]),
        lambda args, params: tuple(CondCall("cond", **params).apply(args)),
    )
)
