"""`checkpoint`: recompute instead of remember."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import attrs

from funcgrad import errors, pytree
from funcgrad.borrow import HELD
from funcgrad.core import Label, Traced, Value, bind, shape_of, spec_of, tick
from funcgrad.numpy.bridge import bare
from funcgrad.ops.kinds import Linear
from funcgrad.ops.shaping import dense
from funcgrad.program.evaluate import evaluate
from funcgrad.program.program import Program, contents
from funcgrad.transforms import doors
from funcgrad.transforms.alike import Alike
from funcgrad.transforms.arguments import dress, label_of
from funcgrad.transforms.batch import Batch
from funcgrad.transforms.batching import lane_of
from funcgrad.transforms.calls import Call, Outputs, apply, check_floor, newest
from funcgrad.transforms.derivatives import pull_back
from funcgrad.transforms.forward import Forward, ForwardTracer, tangent_of
from funcgrad.transforms.lanes import Lanes, rows_of
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.nodes import ids_of, pull_part, zero
from funcgrad.transforms.record import in_one_lane, record
from funcgrad.transforms.replay import Policy, Record, RecordTracer, lowest
from funcgrad.transforms.rule_results import is_moving
from funcgrad.transforms.walk import Cotangents, Node, accumulate, two

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Function = Callable[[Sequence[Value]], list[Value]]


@attrs.frozen(eq=False)
class Recomputed(Call):
    """A function of flat values whose derivatives keep its operands, and run it again.

    Its tangents and its pull are such functions as well, so that on every floor operands alone are kept.
    """

    function: Function
    label: Label
    first: list[list[Value]] = attrs.field(factory=list, eq=False)
    """The results that are known from the run that was written down; given out once, and not kept."""

    @property
    def key(self) -> Any:
        """Functions that are data can be compared."""
        return (self.name, self.function) if attrs.has(type(self.function)) and self.function == self.function else None

    def recorded(self, values: Sequence[Value]) -> Recomputed:
        function: Any = self.function
        self.first[:] = [list(map(in_one_lane, outs)) for outs in self.first]  # as a recording is made on ground values
        if isinstance(function, Spread) and function.lanes.size:  # so is what is spread, in the first lane
            rows = [lane_of(x, 0) if yes else x for x, yes in zip(values, function.mapped, strict=True)]
            inner = attrs.evolve(self, function=function.function, first=[]).recorded(rows)
            return attrs.evolve(self, function=attrs.evolve(function, function=inner.function))
        if isinstance(function, (Pushed, Pulled)):  # what is pushed or pulled is recorded, and stays what is recomputed
            inner = function.call.recorded(values[: function.n])
            return attrs.evolve(self, function=attrs.evolve(function, call=inner))
        if attrs.has(type(function)):
            return self
        recording = record(self.label, self.function, values)
        return attrs.evolve(self, function=Evaluated(recording.program, recording.operands)) if recording.is_straight else self

    def run(self, values: Sequence[Value]) -> Outputs:
        outs = self.first.pop() if self.first else self.function(values)
        return outs, pytree.structure(outs)

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        self.first.clear()
        moving = [k for k, t in enumerate(tangents) if t is not None]
        pushed = Recomputed(self.name, Pushed(self, tuple(moving), len(values)), self.label)
        outs, _ = apply(pushed, [*values, *[tangents[k] for k in moving]])
        check_floor(self.name, m, outs)
        n = len(outs) // 2
        return outs[:n], list(outs[n:]), pytree.structure(outs[:n])

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        values = m.kept(values, parents)
        outs, treedef = apply(self, values)
        node = (tick(), _pull, *two([p for p in parents if p is not None]), self, values, ids_of(parents), m.order)
        n = len(outs)
        return [m.trace(y, (tick(), pull_part, node, None, k, n)) if is_moving(y) else y for k, y in enumerate(outs)], treedef

    def in_lanes(self, m: Batch, mapped: list[bool]) -> Recomputed:
        known = [[lowest(rows_of(m, y)) for y in outs] for outs in self.first]
        self.first.clear()
        lanes = Lanes(m, self.name)
        return Recomputed(self.name, Spread(lanes, self.function, tuple(mapped)), self.label, known)


@attrs.frozen
class Evaluated:
    """A function that is a program, with the arrays that it met outside."""

    program: Program
    operands: tuple[Any, ...] = attrs.field(eq=contents, hash=False)

    def __call__(self, values: Sequence[Value]) -> list[Value]:
        return evaluate(self.program, [*values, *self.operands])


@attrs.frozen
class Spread:
    """A function in all lanes."""

    lanes: Lanes = attrs.field(hash=False)
    function: Function
    mapped: tuple[bool, ...]

    def __call__(self, values: Sequence[Value]) -> list[Value]:
        return self.lanes.run(self.function, values, self.mapped)  # type: ignore[no-any-return]


@attrs.frozen
class Pushed:
    """Results and their tangents; the tangents of the operands at `moving` come last."""

    call: Recomputed = attrs.field(eq=lambda call: call.key or Alike(call), hash=False)
    moving: tuple[int, ...]
    n: int

    def __call__(self, values: Sequence[Value]) -> list[Value]:
        m = Forward(self.call.label)
        inputs = list(values[: self.n])
        for k, t in zip(self.moving, values[self.n :], strict=True):
            inputs[k] = m.trace(inputs[k], t)
        made = self.call.function(inputs)
        m.close()
        mine = [type(y) is ForwardTracer and y._main is m for y in made]
        outs = [y._value if my else y for y, my in zip(made, mine, strict=True)]
        return outs + [tangent_of(y) if my else zero(y) for y, my in zip(made, mine, strict=True)]


def _pull(node: Node, cts: Any, acc: Cotangents) -> None:
    call, values, ids, order = node[4:]
    came = [k for k, c in enumerate(cts) if c is not None]
    wanted = [k for k, i in enumerate(ids) if i is not None]
    operands = [*values, *[cts[k] for k in came]]
    pulled = Pulled(call, tuple(wanted), tuple(came), len(values))
    found = pulled(operands) if newest(operands) is None else apply(Recomputed(call.name, pulled, call.label), operands)[0]
    for k, g in zip(wanted, found, strict=True):
        if isinstance(g, Traced) and g._main.order == order:
            raise errors.ClosedOverTracerError(call.name, str(g._main.label), g._main.label.place)
        accumulate(acc, ids[k], g)


@attrs.frozen
class Pulled:
    """The cotangents of the operands at `wanted`; those of the results at `came` come last."""

    call: Recomputed = attrs.field(eq=lambda call: call.key or Alike(call), hash=False)
    wanted: tuple[int, ...]
    came: tuple[int, ...]
    n: int

    def __call__(self, operands: Sequence[Value]) -> list[Value]:
        m = Linearize(self.call.label)
        m.borrows = HELD
        inputs = list(operands[: self.n])
        leaves = []
        for k in self.wanted:
            leaf = inputs[k] = m.leaf(inputs[k])
            leaves.append(leaf)
        outs = self.call.function(inputs)
        m.close()
        seeds = []
        for k, ct in zip(self.came, operands[self.n :], strict=True):
            y = outs[k]
            if type(y) is LinTracer and y._main is m:
                seeds.append((y._node, dense(ct, y._shape)))
        found = pull_back(seeds, [leaf._node[0] for leaf in leaves])
        return [zero(spec_of(x._value)) if g is None else dense(g, x._shape) for g, x in zip(found, leaves, strict=True)]


# ---- what is kept

NAMED = Linear("checkpoint_name", lambda x, *, name: x.view() if shape_of(x) else x, lambda ct, x, *, name: ct)
"""The identity, under a name. A view, since a result must not be the caller's own array."""


def checkpoint_name(x: T, name: str) -> T:
    """`x` (any pytree), under a name by which a policy may keep it: see `checkpoint`.

    >>> checkpoint_name(2.0, "hidden")
    2.0
    """
    named: T = pytree.map(lambda leaf: bind(NAMED, (value,), {"name": name}) if isinstance(value := bare(leaf), Traced) else leaf, x)
    return named


class checkpoint_policies:
    """What `checkpoint` keeps: a policy is a function `policy(primitive, name)` that says whether to keep an operation's result."""

    @staticmethod
    def nothing(primitive: str, name: str) -> bool:
        """Keep the arguments alone."""
        return False

    @staticmethod
    def everything(primitive: str, name: str) -> bool:
        """Keep all results: nothing is recomputed."""
        return True

    @staticmethod
    def products(primitive: str, name: str) -> bool:
        """Keep the results of matrix products, which are dear, and recompute the rest."""
        return primitive in ("matmul", "dot", "einsum", "vecdot")

    @staticmethod
    def names(*kept: str) -> Policy:
        """Keep what was given one of these names by `checkpoint_name`."""
        return lambda primitive, name: name in kept


def _policy(policy: Any) -> Policy:
    found = getattr(checkpoint_policies, policy, None) if policy in ("nothing", "everything", "products") else policy
    if policy is None:
        return checkpoint_policies.nothing
    if not callable(found):
        rule = f"policy must be 'nothing', 'everything', 'products', or a function, got {policy!r}."
        rule += " Use `fg.checkpoint_policies.names('…')` for names."
        raise errors.ArgumentTypeError("checkpoint", rule)
    return found  # type: ignore[no-any-return]


# ---- the face


@overload
def checkpoint(fun: F, *, policy: str | Policy | None = None) -> F: ...
@overload
def checkpoint(fun: None = None, *, policy: str | Policy | None = None) -> Callable[[F], F]: ...
def checkpoint(fun: Any = None, *, policy: Any = None) -> Any:
    """`fun`, whose derivative keeps its arguments and what `policy` names, and recomputes the rest when it is pulled.

    `fun` runs once. Its operations are written down without their results, and run again for the derivative; random numbers and
    branches are therefore the same both times. Traced values that `fun` closes over are differentiated as arguments are.

    Args:
        fun: takes and gives pytrees. Without it, `checkpoint(policy=…)` is a decorator.
        policy: one of `checkpoint_policies`, its name, or a function `policy(primitive, name)`. By default nothing is kept.

    >>> from funcgrad import grad
    >>> grad(checkpoint(lambda x: x**3))(2.0)
    12.0
    """
    if fun is None:
        return functools.partial(checkpoint, policy=policy)
    label = label_of("checkpoint", fun)
    keep = _policy(policy)
    if keep is checkpoint_policies.everything:
        return fun

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = pytree.flatten((args, kwargs))
        values = list(map(bare, leaves))
        if not any(isinstance(x, Traced) for x in values):
            return fun(*args, **kwargs)
        m = Record(label, None if keep is checkpoint_policies.nothing else keep)
        try:
            inputs = [m.operand(x) if isinstance(x, Traced) else leaf for x, leaf in zip(values, leaves, strict=True)]
            given, named = treedef.unflatten(inputs)
            outs, out_def = pytree.flatten(fun(*given, **named))
            outs = [_checked(m, x) for x in outs]
        except BaseException:
            m.borrows.release()
            raise
        finally:
            m.close()
        mine = [x for x in outs if type(x) is RecordTracer and x._main is m]
        line, operands = m.line([x._at for x in mine])
        call = Recomputed(label.function, line.run, label, [[x._value for x in mine]])
        del m
        made = iter(apply(call, operands)[0])
        return out_def.unflatten([next(made) if type(x) is RecordTracer else x for x in outs])

    return dress(checkpointed, fun)


def _checked(m: Record, x: Any) -> Any:
    """**Law:** what comes out is the record's own, or of an older interpreter."""
    value = bare(x)
    if not isinstance(value, Traced):
        return x
    return value if value._main is m else doors.older(m, value)
