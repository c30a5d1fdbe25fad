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
from funcgrad.core import Interpreter, Spec, Traced, Value, dtype_of, shape_of, spec_of, tick
from funcgrad.ops.kinds import total
from funcgrad.ops.shaping import cast, dense
from funcgrad.pytree.prefix import leaves_or_none
from funcgrad.transforms.arguments import argument_name, describe, kind_of
from funcgrad.transforms.batch import Batch
from funcgrad.transforms.calls import Call, Outputs, apply, check_floor, face, newest, taken, taken_tree
from funcgrad.transforms.forward import Forward
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.lanes import Lanes, Marks, total_of_lanes
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.nodes import ids_of, pull_part, zero
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

    @property
    def has_forward(self) -> bool:
        return self.jvp is not None or self.jvps is not None

    def tell(self, rule: str, what: str) -> errors.RuleResultError:
        return errors.RuleResultError(self.name, rule, what)


@attrs.frozen(eq=False)
class RuleCall(Call):
    """A call of a function with custom rules. `static` are the arguments that are not differentiated, by position."""

    rules: Rules
    static: dict[int, Any]
    in_def: pytree.TreeDef

    def arguments(self, moving: Sequence[Any]) -> list[Any]:
        """All arguments in their order."""
        rest = iter(moving)
        return [self.static[k] if k in self.static else next(rest) for k in range(len(moving) + len(self.static))]

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
        if not self.rules.has_forward:
            instead = "It has one for reverse mode: give it one with `defjvp`, or use `grad`, `vjp` or a Jacobian."
            if self.rules.fwd is None:
                instead = "Give it one with `defjvp`."
            raise errors.NoRuleError(self.rules.name, str(m.label), instead)
        outs, moved, treedef = _by_jvp(self, m, values, tangents)
        check_floor(self.name, m, [*outs, *moved])
        return outs, [t if dtype_of(y).kind in "fc" else None for y, t in zip(outs, moved, strict=True)] if outs else [], treedef

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        if self.rules.fwd is not None:
            return _grow_by_vjp(self, m, values, parents)
        if self.rules.has_forward:
            return _grow_by_jvp(self, m, values, parents)
        raise errors.NoRuleError(self.rules.name, str(m.label), "Give it one with `defjvp` or `defvjp`.")

    def in_lanes(self, m: Batch, mapped: list[bool]) -> RuleCall:
        """The custom function whose body and rules are those of this one, in all lanes."""
        return attrs.evolve(self, rules=_LaneRules(self, Lanes(m, self.name), mapped).rules())


# ---- what is no number, or has no derivative


def is_moving(y: Any) -> bool:
    return kind_of(y) in ("f", "c")


def zero_beside(x: Value) -> Any:
    """The tangent or cotangent of a value, where it is zero: of its shape and dtype; None for what is no number."""
    if not kind_of(x):
        return None
    return zero(x) if is_moving(x) or shape_of(x) else 0


def _fitting(rules: Rules, rule: str, what: str, place: str, t: Any, x: Value | Spec) -> Value:
    """A tangent or cotangent for `x`, of its shape and dtype."""
    shape, dtype = (x.shape, x.dtype) if type(x) is Spec else (shape_of(x), dtype_of(x))
    t = taken(t)
    if kind_of(t) == "" or shape_of(t) != shape:
        raise rules.tell(rule, f"the {what} of {place} must have shape {list(shape)}, got {describe(t)}.")
    if dtype_of(t).kind == "c" and dtype.kind != "c":
        raise rules.tell(rule, f"the {what} of {place} is complex, but its primal is {dtype}. Take its real part.")
    return cast(t, dtype)


def _pair(rules: Rules, rule: str, got: Any, what: str) -> tuple[Any, Any]:
    if type(got) not in (tuple, list) or len(got) != 2:
        raise rules.tell(rule, f"it must return a pair ({what}), got {_counted(got)}.")
    return got[0], got[1]


def _counted(got: Any) -> str:
    return f"a {type(got).__name__} of length {len(got)}" if isinstance(got, (tuple, list)) else describe(got)


# ---- by the jvp rule


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
            static = [call.static[k] for k in sorted(call.static)]
            out, tangent = _pair(rules, "jvp rule", rules.jvp(*static, call.faces(values), call.faces(moves)), "output, its tangent")
        outs, treedef = taken_tree(out)
        try:
            parts = leaves_or_none("jvp rule", treedef, tangent)
        except errors.TreeMismatchError:
            got = pytree.structure(tangent)
            raise rules.tell("jvp rule", f"the tangent must have the structure of the output: got {got}, expected {treedef}.") from None
        where = [f"the output{path}" for path in treedef.paths]
        moved = [
            _fitting(rules, "jvp rule", "tangent", place, t, y) if t is not None and is_moving(y) else None
            for place, t, y in zip(where, parts, outs, strict=True)
        ]
    finally:
        speak(token)
    if newest(values) is not None:  # on a floor with an interpreter, the value's own derivative is by rule as well
        check_floor(call.name, m, outs)
        outs, treedef = apply(call, values)
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
            parts = leaves_or_none("jvp rules", treedef, rule(t, out, *primals))
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
    out, residuals = _pair(rules, "fwd rule", got, "output, residuals")
    outs, treedef = taken_tree(out)
    leaves, res_def = pytree.flatten(residuals)
    check_floor(call.name, m, [*outs, *leaves])
    kept = res_def.unflatten([m.hold(x) if type(x) is np.ndarray and not is_constant(x) else x for x in leaves])
    if rules.has_forward and newest(values) is not None:
        outs, treedef = apply(call, values)
    specs = [spec_of(y) if kind_of(y) else None for y in outs]
    wanted = [spec_of(v) if is_moving(v) else None for v in values]
    node = (tick(), _pull, *two([p for p in parents if p is not None]), call, kept, ids_of(parents), wanted, specs, treedef, m.order)
    n = len(outs)
    return [m.trace(y, (tick(), pull_part, node, None, k, n)) if is_moving(y) else y for k, y in enumerate(outs)], treedef


def _pull(node: Node, cts: Any, acc: Cotangents) -> None:
    call, residuals, ids, wanted, specs, treedef, order = node[4:]
    full = [None if s is None else zero(s) if c is None else dense(c, s.shape) for c, s in zip(cts, specs, strict=True)]
    ct = treedef.unflatten(list(map(face, full)))
    static = [call.static[k] for k in sorted(call.static)]
    found = _cotangents(call, call.rules.bwd(*static, residuals, ct))
    for k, (i, g, spec) in enumerate(zip(ids, found, wanted, strict=True)):
        if g is None or spec is None:
            continue
        g = _fitting(call.rules, "bwd rule", "cotangent", call.path(k), g, spec)
        if isinstance(g, Traced) and (g._main.order == order or g._main.closed):
            its = g._main.label
            raise errors.ClosedOverTracerError(call.rules.name, str(its), its.place)
        if i is not None:
            accumulate(acc, i, g)


def _cotangents(call: RuleCall, got: Any) -> list[Any]:
    """What the bwd rule gave, a leaf for each leaf of the arguments; None stands for zeros."""
    n = len(call.in_def.children)
    if type(got) not in (tuple, list) or len(got) != n:
        many = "argument" if n == 1 else "arguments"
        raise call.rules.tell("bwd rule", f"it must return a tuple of length {n}, a cotangent for each of {n} {many}, got {_counted(got)}.")
    found: list[Any] = []
    for k, (child, g) in enumerate(zip(call.in_def.children, got, strict=True)):
        try:
            found += leaves_or_none("bwd rule", child, g)
        except errors.TreeMismatchError:
            got_def = pytree.structure(g)
            what = f"the cotangent of {call.argument(k)} must have the structure of the argument: got {got_def}, expected {child}."
            raise call.rules.tell("bwd rule", what) from None
    return found


# ---- in many lanes at once


@attrs.frozen(eq=False)
class _LaneRules:
    """The body and the rules of a call, in all lanes. Trees of arguments have a batch axis where `mapped` says so."""

    call: RuleCall
    lanes: Lanes
    mapped: list[bool]

    def rules(self) -> Rules:
        own = self.call.rules
        jvps = own.jvps and tuple([r and functools.partial(self.part, r, k) for k, r in enumerate(own.jvps)])
        body = functools.update_wrapper(lambda *args: self.body(*args), own.f, updated=())  # errors name its parameters
        return Rules(own.name, body, own.jvp and self.jvp, jvps, own.fwd and self.fwd, own.bwd and self.bwd)

    def moving(self, args: Sequence[Any]) -> list[Any]:
        """The leaves of the arguments that are differentiated."""
        return pytree.leaves(tuple([x for k, x in enumerate(args) if k not in self.call.static]))

    def given(self, leaves: Sequence[Any]) -> list[Any]:
        return self.call.arguments(self.call.in_def.unflatten(leaves))

    def body(self, *args: Any) -> Any:
        return self.lanes.run(lambda leaves: self.call.rules.f(*self.given(leaves)), self.moving(args), self.mapped)

    def jvp(self, *args: Any) -> Any:
        *static, primals, tangents = args
        in_def, rule = self.call.in_def, self.call.rules.jvp
        assert rule is not None
        n = len(self.mapped)
        moves = leaves_or_none("jvp rule", in_def, tangents)
        fun = lambda leaves: rule(*static, in_def.unflatten(leaves[:n]), in_def.unflatten(leaves[n:]))
        return self.lanes.run(fun, [*pytree.leaves(primals), *moves], self.mapped * 2)

    def part(self, rule: Callable[..., Any], k: int, tangent: Any, out: Any, *primals: Any) -> Any:
        """What the k-th of several jvp rules gives."""
        children = self.call.in_def.children
        start = sum([child.num_leaves for child in children[:k]])
        child = children[k]
        n = child.num_leaves
        outs, out_def = pytree.flatten(out)
        numbers = [bool(kind_of(y)) for y in outs]
        end = n + len(outs)
        fun = lambda leaves: rule(child.unflatten(leaves[:n]), out_def.unflatten(leaves[n:end]), *self.call.in_def.unflatten(leaves[end:]))
        leaves = [*leaves_or_none("jvp rule", child, tangent), *outs, *pytree.leaves(primals)]
        return self.lanes.run(fun, leaves, [*self.mapped[start : start + n], *numbers, *self.mapped])

    def fwd(self, *args: Any) -> Any:
        """The residuals go with the marks of those that have a batch axis."""
        rule = self.call.rules.fwd
        assert rule is not None
        fun = lambda leaves: _pair(self.call.rules, "fwd rule", rule(*self.given(leaves)), "output, residuals")
        return self.lanes.run_marked(fun, self.moving(args), self.mapped)

    def bwd(self, *args: Any) -> Any:
        """A cotangent of what all lanes share is the sum over the lanes."""
        *static, (leaves, marks), ct = args
        assert isinstance(marks, Marks)
        cts, ct_def = pytree.flatten(ct)
        n, rule = len(leaves), self.call.rules.bwd
        assert rule is not None
        fun = lambda given: _cotangents(self.call, rule(*static, marks.treedef.unflatten(given[:n]), ct_def.unflatten(given[n:])))
        found = self.lanes.run(fun, [*leaves, *cts], [*marks.mapped, *[bool(kind_of(c)) for c in cts]])
        sums = [g if g is None or yes else total_of_lanes(g) for g, yes in zip(found, self.mapped, strict=True)]
        return self.call.in_def.unflatten(sums)
