"""Programs derived from programs: their tangents, their pulls, and the same in many lanes.

Each is recorded while the program is evaluated under an interpreter that stands on the recording: **so nothing here knows any primitive**.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad.borrow import HELD
from funcgrad.core import Label, Traced, Value, shape_of
from funcgrad.ops import reductions
from funcgrad.ops.elementwise import logical_not
from funcgrad.ops.kinds import BY_UFUNC, Constant
from funcgrad.ops.shaping import cast, dense
from funcgrad.program.evaluate import evaluate
from funcgrad.program.examples import example
from funcgrad.program.parts import stays
from funcgrad.program.program import GUARD, Atom, Equation, Program, Var, renumbered, variables
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.batching import spread
from funcgrad.transforms.forward import Forward, ForwardTracer
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.nodes import zero
from funcgrad.transforms.record import Recorder, RecordTracer, recorded_by
from funcgrad.transforms.walk import Product, walk

DOUBLE = np.dtype(np.float64)
LABEL = Label("a program", "derived", "", 0)
Mask = tuple[bool, ...]
Run = Callable[[Program, Sequence[Value]], list[Value]]


def moves(x: Atom) -> bool:
    """Whether it may have a derivative."""
    return x.dtype.kind in "fc"


@functools.lru_cache(512)
def depends(program: Program, mask: Mask) -> Mask:
    """Which outputs have a derivative in one of the inputs of `mask`."""
    moved = {v.number for v, yes in zip(program.inputs, mask, strict=True) if yes}
    for e in program.equations:
        if type(e.primitive) is not Constant and any(v.number in moved for v in variables(e.inputs)):
            moved.update(v.number for v in e.outputs if moves(v))
    return tuple([type(x) is Var and x.number in moved for x in program.outputs])


def require(x: Value, kind: str, answer: Any) -> None:
    """A guard of the program stays a guard of what is derived, whatever values it is recorded on. Lanes have to agree in it."""
    if isinstance(x, RecordTracer):
        x._main.guard(x, kind, answer)
    elif isinstance(x, BatchTracer):
        lanes = x._main.value_of(x)
        same = logical_not(lanes) if kind == "bool" and not answer else lanes if kind == "bool" else BY_UFUNC[np.equal](lanes, answer)
        require(reductions.all(same, axis=tuple(range(-len(shape_of(lanes)), 0))), "bool", True)
    elif isinstance(x, Traced):
        require(x._value, kind, answer)
    else:
        GUARD.impl(x, kind=kind, answer=answer)


# ---- tangents


@functools.lru_cache(512)
def pushed(program: Program, mask: Mask, wanted: Mask) -> Derived:
    """(inputs, tangents of those of `mask`) to (outputs, tangents of those that are `wanted`)."""

    def fun(run: Run, inputs: list[Any]) -> Any:
        n = len(program.inputs)
        tangents = iter(inputs[n:])
        m = Forward(LABEL)
        given = [m.trace(x, next(tangents)) if yes else x for x, yes in zip(inputs[:n], mask, strict=True)]
        made = run(program, given)
        m.close()
        mine = [type(y) is ForwardTracer and y._main is m for y in made]
        outs = [y._value if my else y for y, my in zip(made, mine, strict=True)]
        moved = [full(y._tangent if my else zero(y), v) for y, my, v, yes in zip(made, mine, program.outputs, wanted, strict=True) if yes]
        return outs, moved

    moving = [v for v, yes in zip(program.inputs, mask, strict=True) if yes]
    return derived(fun, [*program.inputs, *moving])


def full(x: Value, like: Any) -> Value:
    """A tangent or cotangent with all the elements and the dtype of what it belongs to."""
    if type(x) is np.float64 and like.dtype is DOUBLE and not like.shape:
        return x
    if type(x) is np.ndarray and x.dtype is like.dtype and x.shape == like.shape:
        return x
    return cast(dense(x, like.shape), like.dtype)


@attrs.frozen(eq=False)
class Derived:
    """A program, and the constant arrays that its last inputs stand for: rules make them of shapes alone."""

    program: Program
    constants: tuple[Any, ...]


def derived(fun: Callable[[Run, list[Any]], Any], like: Sequence[Any]) -> Derived:
    """What `fun` does to values of these shapes and dtypes.

    It is given a `run` that evaluates programs, and tells the recording which line each equation comes from.
    """
    m = Recorder(LABEL, folds=True)

    def visit(e: Equation) -> None:
        m.line = e.line

    def run(program: Program, values: Sequence[Value]) -> list[Value]:
        return evaluate(program, values, visit, require)

    recording = recorded_by(m, functools.partial(fun, run), list(map(example, like)))
    return Derived(recording.program, recording.operands)


# ---- pulls


@attrs.frozen(eq=False)
class Pair:
    """A program cut in two: `forward` gives the outputs and what crosses the cut, `pull` takes that and cotangents.

    `crossing` are the places of what crosses among (inputs, constants, what `forward` gives behind its outputs). `forward` takes
    the constants behind its inputs.
    """

    forward: Program
    pull: Program
    crossing: tuple[int, ...]
    constants: tuple[Any, ...]


@functools.lru_cache(512)
def paired(program: Program, mask: Mask, wanted: Mask, product: Product | None = None, still: int = 0) -> Pair:
    """The pull of cotangents of the outputs that are `wanted` to those of the inputs of `mask`.

    With `product`, zero cotangents are as strong as the walk with it makes them. What depends on the first `still` inputs alone
    does not cross: the pull makes it again.
    """
    n = len(program.inputs)
    asked = [v for v, yes in zip(program.outputs, wanted, strict=True) if yes]

    def fun(run: Run, inputs: list[Any]) -> Any:
        m = Linearize(LABEL)
        m.borrows = HELD
        given = [m.leaf(x) if yes else x for x, yes in zip(inputs[:n], mask, strict=True)]
        made = run(program, given)
        m.close()
        outs = [y._value if type(y) is LinTracer and y._main is m else y for y in made]
        cts = iter(inputs[n:])
        pairs = [(y, next(cts)) for y, yes in zip(made, wanted, strict=True) if yes]
        seeds = [(y._node, ct) for y, ct in pairs if type(y) is LinTracer and y._main is m]
        found = walk(seeds, product) if seeds else {}
        leaves = [(t, v) for t, v, yes in zip(given, program.inputs, mask, strict=True) if yes]
        return outs, [full(zero(t) if (g := found.get(t._node[0])) is None else g, v) for t, v in leaves]

    made = derived(fun, [*program.inputs, *asked])
    joint = made.program
    ends = n + len(asked)
    cts, constants = joint.inputs[n:ends], joint.inputs[ends:]
    return _cut(joint, [*joint.inputs[:n], *constants], cts, len(program.outputs), made.constants, [*joint.inputs[:still], *constants])


def _cut(joint: Program, given: Sequence[Var], cts: Sequence[Var], outs: int, constants: tuple[Any, ...], still: Sequence[Var]) -> Pair:
    """**Law:** what depends on a cotangent, and what serves that alone, belongs to the pull; other guards stay in the forward half."""
    late = {v.number for v in cts}
    needed = {v.number for v in variables(joint.outputs[:outs])}
    early: list[Equation] = []
    for e in joint.equations:
        if any(v.number in late for v in variables(e.inputs)):
            late.update(v.number for v in e.outputs)
    for e in reversed(joint.equations):
        is_late = any(v.number in late for v in (*e.outputs, *variables(e.inputs)))
        if not is_late and (stays(e) or any(v.number in needed for v in e.outputs)):
            needed.update(v.number for v in variables(e.inputs))
            early.append(e)
    early.reverse()
    at_hand = {v.number: v for v in given}
    at_hand.update((v.number, v) for e in early for v in e.outputs)
    kept = set(map(id, early))
    rest = [e for e in joint.equations if id(e) not in kept]
    rest = _with_cheap(rest, early, joint.outputs[outs:], still)
    made = {v.number for e in rest for v in e.outputs}
    crossing = {v.number: v for e in rest for v in variables(e.inputs) if v.number in at_hand and v.number not in made}
    crossing.update((v.number, v) for v in variables(joint.outputs[outs:]) if v.number in at_hand and v.number not in made)
    places = {v.number: k for k, v in enumerate(given)}
    extra = [v for v in crossing.values() if v.number not in places]
    places.update((v.number, len(given) + k) for k, v in enumerate(extra))
    forward = renumbered(given, early, [*joint.outputs[:outs], *extra])
    pull = renumbered([*crossing.values(), *cts], rest, joint.outputs[outs:])
    return Pair(forward, pull, tuple([places[i] for i in crossing]), constants)


VIEWS = {"reshape", "transpose", "slice", "broadcast_to", "window", "getitem", "fill"}
"""What costs less to do again than to keep."""


def _with_cheap(rest: list[Equation], early: list[Equation], outputs: Sequence[Atom], still: Sequence[Var]) -> list[Equation]:
    """What the pull reads of views of one value, and of what stays the same in all steps, it makes again."""
    known = {v.number for v in still}
    for e in early:
        if e.outputs and all(v.number in known for v in variables(e.inputs)):
            known.update(v.number for v in e.outputs)
    wanted = {v.number for e in rest for v in variables(e.inputs)} | {v.number for v in variables(outputs)}
    again = []
    for e in reversed(early):
        cheap = e.primitive.name in VIEWS or all(v.number in known for v in e.outputs)
        if e.outputs and cheap and any(v.number in wanted for v in e.outputs):
            wanted.update(v.number for v in variables(e.inputs))
            again.append(e)
    return [*reversed(again), *rest]


# ---- lanes


@functools.lru_cache(512)
def batched(program: Program, mask: Mask, size: int, wanted: Mask) -> tuple[Derived, Mask]:
    """The program in `size` lanes, where the inputs of `mask` have them along their first axis, and which outputs have them.

    The outputs that are `wanted` have them in any case.
    """
    found: list[Mask] = []

    def fun(run: Run, inputs: list[Any]) -> Any:
        m = Batch(LABEL, size)
        made = run(program, [m.trace(x) if yes else x for x, yes in zip(inputs, mask, strict=True)])
        mine = [type(y) is BatchTracer and y._main is m for y in made]
        outs = [m.value_of(y) if my else y for y, my in zip(made, mine, strict=True)]
        m.close()
        found.append(tuple([my or yes for my, yes in zip(mine, wanted, strict=True)]))
        return [y if my or not yes else spread(y, size) for y, my, yes in zip(outs, mine, wanted, strict=True)]

    like = [Var(v.number, (size, *v.shape), v.dtype) if yes else v for v, yes in zip(program.inputs, mask, strict=True)]
    made = derived(fun, like)
    return made, found[-1]
