"""`while_loop` as an operation, with a program for the condition and one for the body.

Operands are `cond consts…, body consts…, carry…`, results `carry…`. With `counts`, the number of steps and the stacks of what the body
gives behind the carry follow: reverse mode needs them, and then goes back as `scan` does.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import pytree
from funcgrad.control.layout import Mask, arranged, places, tangent_of, with_idle
from funcgrad.control.reverse import Reverse
from funcgrad.control.scan_call import ScanCall
from funcgrad.control.schedules import EVERYTHING, Schedule
from funcgrad.core import Value, floors, shape_of
from funcgrad.ops import reductions
from funcgrad.ops.elementwise import logical_and, where
from funcgrad.ops.kinds import Structured
from funcgrad.ops.shaping import moved, reshape
from funcgrad.program.evaluate import evaluate
from funcgrad.program.loops import while_code
from funcgrad.program.parts import alone
from funcgrad.program.program import Program
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.batching import spread
from funcgrad.transforms.calls import Call, Outputs, apply
from funcgrad.transforms.checkpoint import Recomputed
from funcgrad.transforms.derive import Derived, Run, batched, depends, derived, pushed
from funcgrad.transforms.forward import Forward
from funcgrad.transforms.linearize import Linearize
from funcgrad.transforms.record import RecordTracer
from funcgrad.transforms.walk import Node


@attrs.frozen
class WhileCall(Call):
    """A loop for as long as `cond` says so."""

    cond: Program
    body: Program
    cond_consts: int
    body_consts: int
    counts: bool = False
    keeps: Schedule = EVERYTHING
    """What reverse mode remembers."""
    selects: bool = False
    """Whether the body hands its carry on, unchanged, where `cond` does not hold: in lanes that are finished."""

    @property
    def key(self) -> Any:
        return self

    @property
    def equation(self) -> tuple[Structured, dict[str, Any]]:
        return WHILE, {k: getattr(self, k) for k in ("cond", "body", "cond_consts", "body_consts", "counts", "keeps", "selects")}

    @property
    def first(self) -> int:
        """The place of the carry among the operands."""
        return self.cond_consts + self.body_consts

    @property
    def carry(self) -> int:
        return len(self.body.inputs) - self.body_consts

    def run(self, values: Sequence[Value]) -> Outputs:
        found = while_code(self.cond, self.body, self.cond_consts, self.body_consts)(*values)
        n = self.carry
        given = set(map(id, values))
        outs = [y.copy("K") if id(y) in given and isinstance(y, np.ndarray) else y for y in found[:n]]
        if self.counts:
            outs.append(np.int64(found[n]))
            outs += [_column(rows, v) for rows, v in zip(found[n + 1 :], self.body.outputs[n:], strict=True)]
        return outs, pytree.structure(outs)

    def settled(self, mask: Sequence[bool]) -> Mask:
        """Which inputs of the body have a derivative, once those have it that are carried into."""
        now = list(mask[self.cond_consts :])
        c = self.body_consts
        while True:
            after = [a or b for a, b in zip(now[c:], depends(self.body, tuple(now)), strict=False)]
            if after == now[c:]:
                return tuple(now)
            now[c:] = after

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        mask = self.settled([t is not None for t in tangents])
        c, n, y = self.body_consts, len(self.body.inputs), len(self.body.outputs)
        wanted = (*mask[c:], *depends(self.body, mask)[self.carry :])
        made = pushed(self.body, mask, wanted)
        behind = {i: n + j for j, i in enumerate(places(mask))}
        fixed = [*range(c), *[behind[i] for i in range(c) if mask[i]], *range(n + len(behind), len(made.program.inputs))]
        carried = [*range(c, n), *[behind[i] for i in range(c, n) if mask[i]]]
        ahead = {i: y + j for j, i in enumerate(places(wanted))}
        ends = [*range(self.carry), *[ahead[i] for i in range(self.carry) if wanted[i]]]
        rows = [*range(self.carry, y), *[ahead[i] for i in range(self.carry, y) if wanted[i]]]
        body = arranged(made.program, [*fixed, *carried], [*ends, *rows])
        cond = with_idle(self.cond, body.inputs[len(fixed) + self.carry :])
        own, moves = values[self.cond_consts :], tangents[self.cond_consts :]
        both = dict(enumerate([*own, *[tangent_of(t, v) for t, v, yes in zip(moves, own, mask, strict=True) if yes], *made.constants]))
        loop = attrs.evolve(self, cond=cond, body=body, body_consts=len(fixed))
        found = apply(loop, [*values[: self.cond_consts], *[both[i] for i in (*fixed, *carried)]])[0]
        order = [*ends, *([-1] if self.counts else []), *rows]
        by_place = dict(zip(order, found, strict=True))
        shown = [*range(self.carry), *([-1] if self.counts else []), *range(self.carry, y)]
        results = [by_place[i] for i in shown]
        return results, [by_place[ahead[i]] if i in ahead else None for i in shown], pytree.structure(results)

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        if has_below(RecordTracer, values):
            # How many steps there are, no program may know: its pull runs the loop once more.
            return Recomputed(self.name, Whole(self), m.label).grow(m, values, parents)
        if not self.selects and has_below(BatchTracer, values):
            a = self.cond_consts
            return selecting(self).grow(m, [*values[:a], *values], [*[None] * a, *parents])
        mask = self.settled([p is not None for p in parents])
        wanted = (*mask[self.body_consts :], *depends(self.body, mask)[self.carry :])
        values = m.kept(values, parents)
        count, outs, state = self.keeps.forward_while(self, mask, wanted, values)
        loop = ScanCall("scan", self.body, self.body_consts, self.carry, int(count), keeps=self.keeps)
        made = Reverse(loop, mask, wanted).over(m, values[self.cond_consts :], parents[self.cond_consts :], outs, state)
        if self.counts:
            made.insert(self.carry, count)
        return made, pytree.structure(made)

    def many(self, m: Batch, operands: Sequence[Value]) -> Outputs:
        mapped = [type(x) is BatchTracer and x._main is m for x in operands]
        values = [m.value_of(x) if yes else x for x, yes in zip(operands, mapped, strict=True)]
        lanes = in_all_lanes(self, tuple(mapped), m.size)
        a, c = self.cond_consts, self.first
        carry = [spread(x, m.size) if now and not was else x for x, was, now in zip(values[c:], mapped[c:], lanes.carry, strict=True)]
        fixed = [*values[:a], *lanes.asked.constants, *values[a:c], *lanes.step.constants]
        if lanes.apart:
            fixed += lanes.constants
            carry.insert(0, evaluate(lanes.asked.program, [*values[:a], *carry, *lanes.asked.constants])[0])
        found = apply(attrs.evolve(self, **lanes.loop), [*fixed, *carry])[0][lanes.apart :]
        rows = self.carry + self.counts
        results = [
            m.trace(moved(y, 1, 0) if k >= rows else y) if yes else y for k, (y, yes) in enumerate(zip(found, lanes.outs, strict=True))
        ]
        return results, pytree.structure(results)


@attrs.frozen
class Whole:
    """The loop as a function of its operands."""

    call: WhileCall

    def __call__(self, values: Sequence[Value]) -> list[Value]:
        return apply(self.call, values)[0]


def has_below(kind: type, values: Sequence[Value]) -> bool:
    """Whether a value stands on a tracer of this kind."""
    return any(isinstance(t, kind) for x in values for t in floors(x))


@functools.lru_cache(512)
def selecting(call: WhileCall) -> WhileCall:
    """The loop whose body also asks: it takes what the condition takes before its own constants.

    Backwards, a lane goes through as many steps as the lane with the most; those that it did not take change nothing.
    """
    a, n = call.cond_consts, call.carry

    def fun(run: Run, inputs: list[Any]) -> Any:
        carry = inputs[len(inputs) - n :]
        new = run(call.body, inputs[a:])
        going = run(call.cond, [*inputs[:a], *carry])[0]
        return [*[where(going, y, x) for x, y in zip(carry, new, strict=False)], *new[n:]]

    body = derived(fun, [*call.cond.inputs[:a], *call.body.inputs])
    return attrs.evolve(call, body=body.program, body_consts=a + call.body_consts, selects=True)


def _column(rows: list[Any], v: Any) -> Any:
    """What was collected, along a new first axis."""
    return np.array(rows, v.dtype) if rows else np.zeros((0, *v.shape), v.dtype)


@attrs.frozen(eq=False)
class InLanes:
    """The loop in many lanes: which parts of the carry and of the results have them.

    Where the lanes end at different steps (`apart`), the carry begins with a mask of those that go on; the others keep their values.
    """

    asked: Derived
    step: Derived
    apart: bool
    loop: dict[str, Any]
    carry: Mask
    outs: Mask
    constants: tuple[Any, ...] = ()


@functools.lru_cache(512)
def in_all_lanes(call: WhileCall, mapped: Mask, size: int) -> InLanes:
    a, c, n = call.cond_consts, call.body_consts, call.carry
    now = list(mapped[a:])
    while True:
        step, outs = batched(call.body, tuple(now), size, (*now[c:], *(False,) * (len(call.body.outputs) - n)))
        asked, (apart,) = batched(call.cond, (*mapped[:a], *now[c:]), size, (False,))
        after = [True] * n if apart else list(outs[:n])
        if after == now[c:]:
            break
        now[c:] = after
    shown = (*now[c:], *((False,) if call.counts else ()), *outs[n:])
    if apart:
        made = _selecting(asked, step, a, c, n)
        loop = {"cond": _any(made.program, n), "body": made.program, "cond_consts": 0, "body_consts": len(made.program.inputs) - n - 1}
        loop["body"] = arranged(made.program, _constants_first(made, n), range(len(made.program.outputs)))
        return InLanes(asked, step, True, loop, tuple(now[c:]), shown, made.constants)
    total = len(asked.program.inputs)
    cond = arranged(asked.program, [*range(a), *range(a + n, total), *range(a, a + n)], [0])
    total = len(step.program.inputs)
    body = arranged(step.program, [*range(c), *range(c + n, total), *range(c, c + n)], range(len(outs)))
    loop = {"cond": cond, "body": body, "cond_consts": a + len(asked.constants), "body_consts": c + len(step.constants)}
    return InLanes(asked, step, False, loop, tuple(now[c:]), shown)


def _constants_first(made: Derived, n: int) -> list[int]:
    """The carry, of a mask and `n` values, behind the constants that were found last."""
    total, k = len(made.program.inputs), len(made.constants)
    start = total - k - n - 1
    return [*range(start), *range(total - k, total), *range(start, total - k)]


def _selecting(asked: Derived, step: Derived, a: int, c: int, n: int) -> Derived:
    """(cond consts, body consts, mask, carry) to (mask, carry, stacks): one step of the lanes that go on."""
    asked_inputs, step_inputs = asked.program.inputs, step.program.inputs
    fixed = [*asked_inputs[:a], *asked_inputs[a + n :], *step_inputs[:c], *step_inputs[c + n :]]
    size = asked.program.outputs[0].shape

    def fun(run: Run, inputs: list[Any]) -> Any:
        k = len(asked_inputs) - n
        for_cond, for_body = inputs[:k], inputs[k : len(fixed)]
        on, *carry = inputs[len(fixed) :]
        new = run(step.program, [*for_body[:c], *carry, *for_body[c:]])
        kept = [where(reshape(on, shape=size + (1,) * (len(shape_of(x)) - 1)), y, x) for x, y in zip(carry, new, strict=False)]
        going = run(asked.program, [*for_cond[:a], *kept, *for_cond[a:]])[0]
        return [logical_and(on, going), *kept, *new[n:]]

    return derived(fun, [*fixed, asked.program.outputs[0], *step_inputs[c : c + n]])


def _any(body: Program, n: int) -> Program:
    """Whether a lane goes on: (mask, carry) to a bool."""

    def fun(run: Run, inputs: list[Any]) -> Any:
        return [reductions.any(inputs[0], axis=(-1,))]

    return derived(fun, body.outputs[: n + 1]).program


WHILE = alone(
    Structured(
        "while",
        lambda *args, **params: tuple(WhileCall("while_loop", **params).run(args)[0]),
        lambda args, params: tuple(apply(WhileCall("while_loop", **params), args)[0]),
    )
)
