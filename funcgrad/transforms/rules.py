"""What a function with custom rules means under each interpreter, and the checks of what its rules give.

Rules are ordinary programs of the floor below, so they are differentiated themselves where that floor has an interpreter.
A jvp rule serves reverse mode as well: it is linearized at zero tangents whose nodes are those of the primals,
so that its linear part becomes part of the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows, is_constant
from funcgrad.core import Interpreter, Traced, Value, dtype_of, spec_of, tick
from funcgrad.ops.kinds import total
from funcgrad.ops.shaping import dense
from funcgrad.transforms.arguments import argument_name, kind_of
from funcgrad.transforms.batch import Batch
from funcgrad.transforms.calls import Call, Outputs, apply, check_floor, face, newest, taken_tree
from funcgrad.transforms.closures import closed_over, replaced
from funcgrad.transforms.forward import Forward, ForwardTracer
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.lane_rules import LaneRules
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.nodes import ids_of, pull_part, zero
from funcgrad.transforms.rule_results import (
    batched_output,
    cotangents,
    fitting,
    is_moving,
    pair,
    places,
    same_output,
    tangents_of,
    zero_beside,
)
from funcgrad.transforms.walk import Cotangents, Node, accumulate, two


@attrs.frozen(eq=False)
class Rules:
    """The function, and the rules it has; a rule of either mode may be missing."""

    name: str
    f: Callable[..., Any]
    jvp: Callable[..., Any] | None = None
    jvps: tuple[Callable[..., Any] | None, ...] | None = None
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    batch: Callable[..., Any] | None = None

    @property
    def has_forward(self) -> bool:
        return self.jvp is not None or self.jvps is not None

    def tell(self, rule: str, what: str) -> errors.RuleResultError:
        return errors.RuleResultError(self.name, rule, what)


@attrs.frozen(eq=False, slots=False)
class RuleCall(Call):
    """A call of a function with custom rules. `static` are the arguments that are not differentiated, by position.

    `spread` are the batch interpreters in all of whose lanes it is already.
    """

    rules: Rules
    static: dict[int, Any]
    in_def: pytree.TreeDef
    spread: tuple[Batch, ...] = attrs.field(default=(), eq=False)

    def arguments(self, moving: Sequence[Any]) -> list[Any]:
        """All arguments in their order."""
        rest = iter(moving)
        return [self.static[k] if k in self.static else next(rest) for k in range(len(moving) + len(self.static))]

    @property
    def first(self) -> list[Any]:
        """The arguments that are not differentiated, as most rules get them."""
        return [self.static[k] for k in sorted(self.static)]

    def faces(self, values: Sequence[Value]) -> Any:
        return self.in_def.unflatten(list(map(face, values)))

    def argument(self, n: int) -> str:
        """What the signature calls the n-th differentiated argument."""
        moving = [k for k in range(len(self.in_def.children) + len(self.static)) if k not in self.static]
        return argument_name(self.rules.f, moving[n])

    def path(self, k: int) -> str:
        """The k-th differentiated leaf in the user's words."""
        head, _, rest = self.in_def.paths[k][1:].partition("]")
        return self.argument(int(head)) + rest

    def run(self, values: Sequence[Value]) -> Outputs:
        return taken_tree(self.rules.f(*self.arguments(self.faces(values))))

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        closed = self.closed_over_of(m)
        outs, moved, treedef = _push(_below(self, closed), m, values, tangents)
        if closed:
            moved = [
                total((t, y._tangent if type(y) is ForwardTracer and y._main is m else None))
                for t, y in zip(moved, _through(self, values, outs, treedef), strict=True)
            ]
        return outs, moved, treedef

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        closed = self.closed_over_of(m)
        outs, treedef = _grow(_below(self, closed), m, values, parents)
        if closed:
            outs = [_joined(m, y, of_closed) for y, of_closed in zip(outs, _through(self, values, outs, treedef), strict=True)]
        return outs, treedef

    def in_lanes(self, m: Batch, mapped: list[bool]) -> RuleCall:
        """The custom function whose body and rules are those of this one, in all lanes."""
        return attrs.evolve(self, rules=LaneRules.of(self, m, mapped).rules(), spread=(*self.spread, m))

    def closed_over(self) -> list[Traced]:
        return self._closed_over

    @functools.cached_property
    def _closed_over(self) -> list[Traced]:
        return [x for x in closed_over(self) if not x._main.closed and x._main not in self.spread]

    @property
    def has_batch(self) -> bool:
        return self.rules.batch is not None

    def batched(self, size: int, mapped: list[bool], values: list[Value]) -> tuple[list[Value], list[bool], pytree.TreeDef]:
        assert self.rules.batch is not None
        marks = iter(self.in_def.unflatten(mapped))
        given = tuple([False if k in self.static else next(marks) for k in range(len(self.in_def.children) + len(self.static))])
        return batched_output(self.rules, self.rules.batch(size, given, *self.arguments(self.faces(values))), size)


@attrs.frozen(eq=False, slots=False)
class BatchCall(RuleCall):
    """A call of a function whose only rule is for lanes: its derivative is that of its code, and in lanes that of the rule's code."""

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        outs, treedef = self.run([v if t is None else m.trace(v, t) for v, t in zip(values, tangents, strict=True)])
        mine = [type(y) is ForwardTracer and y._main is m for y in outs]
        pairs = [(y._value, y._tangent) if my else (y, None) for y, my in zip(outs, mine, strict=True)]
        return [y for y, _ in pairs], [t for _, t in pairs], treedef

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        return self.run([v if p is None else m.trace(v, p) for v, p in zip(values, parents, strict=True)])


# ---- what is closed over: the rule speaks of the arguments, and the function's own code of all else


def _below(call: RuleCall, closed: list[Any]) -> RuleCall:
    """The call that closes over values one floor down instead."""
    return replaced(call, closed, [x._value for x in closed]) if closed else call


def _through(call: RuleCall, values: list[Value], outs: list[Value], treedef: pytree.TreeDef) -> list[Value]:
    """What the function makes of what it closes over, with its arguments held."""
    token = hush()
    try:
        own = call.run(values)
    finally:
        speak(token)
    same_output(call.rules, "rule", outs, treedef, own)
    return own[0]


def _joined(m: Linearize, y: Value, of_closed: Value) -> Value:
    """A result by rule, whose derivative by what is closed over is that of another."""
    if type(of_closed) is not LinTracer or of_closed._main is not m:
        return y
    if type(y) is not LinTracer or y._main is not m:
        return m.trace(y, of_closed._node)
    return m.trace(y._value, (tick(), _pull_sum, y._node, of_closed._node))


def _pull_sum(node: Node, ct: Value, acc: Cotangents) -> None:
    accumulate(acc, node[2][0], ct)
    accumulate(acc, node[3][0], ct)


# ---- by the jvp rule


def _push(
    call: RuleCall, m: Forward, values: list[Value], tangents: list[Value | None]
) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
    if all(t is None for t in tangents):
        outs, treedef = apply(call, values)
        return outs, [None] * len(outs), treedef
    if not call.rules.has_forward:
        instead = "It has one for reverse mode: give it one with `defjvp`, or use `grad`, `vjp` or a Jacobian."
        if call.rules.fwd is None:
            instead = "Give it one with `defjvp`."
        raise errors.NoRuleError(call.rules.name, str(m.label), instead)
    outs, moved, treedef = _by_jvp(call, m, values, tangents)
    check_floor(call.name, m, [*outs, *moved])
    return outs, [t if dtype_of(y).kind in "fc" else None for y, t in zip(outs, moved, strict=True)] if outs else [], treedef


def _grow(call: RuleCall, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
    if not any(parents):
        return apply(call, values)
    if call.rules.fwd is not None:
        return _grow_by_vjp(call, m, values, parents)
    if call.rules.has_forward:
        return _grow_by_jvp(call, m, values, parents)
    raise errors.NoRuleError(call.rules.name, str(m.label), "Give it one with `defjvp` or `defvjp`.")


def _by_jvp(call: RuleCall, m: Interpreter, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value], Any]:
    """Outputs and the tangents that the rule gives, of their shapes and dtypes; beside what has no derivative, None."""
    rules = call.rules
    moves = [zero_beside(v) if t is None else t for v, t in zip(values, tangents, strict=True)]
    token = hush()
    try:
        if rules.jvps is not None:
            out, tangent = _by_argument(call, rules.jvps, values, tangents, moves)
        else:
            assert rules.jvp is not None
            out, tangent = pair(rules, "jvp rule", rules.jvp(*call.first, call.faces(values), call.faces(moves)), "output, its tangent")
        outs, treedef = taken_tree(out)
        parts = tangents_of(rules, "jvp rule", treedef, tangent)
        moved = [
            fitting(rules, "jvp rule", "tangent", place, t, y) if t is not None and is_moving(y) else None
            for place, t, y in zip(places(treedef), parts, outs, strict=True)
        ]
    finally:
        speak(token)
    if newest(values) is not None:  # on a floor with an interpreter, the value's own derivative is by rule as well
        check_floor(call.name, m, outs)
        own = apply(call, values)
        same_output(rules, "jvp rule", outs, treedef, own)
        outs, treedef = own
    return outs, moved, treedef


def _by_argument(
    call: RuleCall, jvps: tuple[Any, ...], values: list[Value], tangents: list[Value | None], moves: list[Value]
) -> tuple[Any, Any]:
    """`defjvps`: the sum of each argument's part, of the arguments that move at all."""
    primals, moved = call.faces(values), call.faces(moves)
    if len(jvps) != len(primals):
        raise call.rules.tell("jvp rules", f"there are {len(jvps)} for {len(primals)} arguments.")
    outs, treedef = apply(call, values)
    out = treedef.unflatten(list(map(face, outs)))
    sums: list[Value | None] = [None] * len(outs)
    active = iter([t is not None for t in tangents])
    for rule, child, t in zip(jvps, call.in_def.children, moved, strict=True):
        moving = [next(active) for _ in range(child.num_leaves)]
        if rule is not None and any(moving):
            parts = tangents_of(call.rules, "jvp rules", treedef, rule(t, out, *primals))
            sums = [total(pair) for pair in zip(sums, parts, strict=True)]
    return out, treedef.unflatten(sums)


def _grow_by_jvp(call: RuleCall, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
    """Zero tangents over the primals' own nodes: what the rule makes of them has the nodes of the outputs."""
    rule = Linearize(m.label)
    rule.borrows = m.borrows = m.borrows or Borrows()
    tangents = [None if p is None else rule.trace(zero(v), p) for v, p in zip(values, parents, strict=True)]
    try:
        outs, moved, treedef = _by_jvp(call, rule, values, tangents)
        check_floor(call.name, m, outs)
        check_floor(call.name, m, [t._value if isinstance(t, Traced) and t._main is rule else t for t in moved])
    finally:
        rule.close()
    linear = [type(t) is LinTracer and t._main is rule for t in moved]
    return [m.trace(y, t._node) if yes else y for y, t, yes in zip(outs, moved, linear, strict=True)], treedef


# ---- by the vjp rules


def _grow_by_vjp(call: RuleCall, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
    rules = call.rules
    assert rules.fwd is not None
    values = m.kept(values, parents)
    got = rules.fwd(*call.arguments(call.faces(values)))
    out, residuals = pair(rules, "fwd rule", got, "output, residuals")
    outs, treedef = taken_tree(out)
    leaves, res_def = pytree.flatten(residuals)
    check_floor(call.name, m, [*outs, *leaves])
    kept = res_def.unflatten([m.hold(x) if type(x) is np.ndarray and not is_constant(x) else x for x in leaves])
    if rules.has_forward and newest(values) is not None:
        own = apply(call, values)
        same_output(rules, "fwd rule", outs, treedef, own)
        outs, treedef = own
    specs = [spec_of(y) if kind_of(y) else None for y in outs]
    wanted = [spec_of(v) if is_moving(v) else None for v in values]
    node = (tick(), _pull, *two([p for p in parents if p is not None]), call, kept, ids_of(parents), wanted, specs, treedef, m.order)
    n = len(outs)
    return [m.trace(y, (tick(), pull_part, node, None, k, n)) if is_moving(y) else y for k, y in enumerate(outs)], treedef


def _pull(node: Node, cts: Any, acc: Cotangents) -> None:
    call, residuals, ids, wanted, specs, treedef, order = node[4:]
    full = [None if s is None else zero(s) if c is None else dense(c, s.shape) for c, s in zip(cts, specs, strict=True)]
    ct = treedef.unflatten(list(map(face, full)))
    found = cotangents(call, call.rules.bwd(*call.first, residuals, ct))
    for k, (i, g, spec) in enumerate(zip(ids, found, wanted, strict=True)):
        if g is None or spec is None:
            continue
        g = fitting(call.rules, "bwd rule", "cotangent", call.path(k), g, spec)
        if isinstance(g, Traced) and (g._main.order == order or g._main.closed):
            its = g._main.label
            raise errors.ClosedOverTracerError(call.rules.name, str(its), its.place)
        if i is not None:
            accumulate(acc, i, g)
