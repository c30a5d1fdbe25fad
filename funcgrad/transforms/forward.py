"""Forward mode: values travel with their tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core import Interpreter, Label, Primitive, Value, bind, dtype_of, shape_of, tick
from funcgrad.ops.kinds import Bilinear, Constant, Differentiable, Elementwise, Linear, Semilinear, Structured, total
from funcgrad.ops.shaping import cast, dense
from funcgrad.tensor import Tracer
from funcgrad.transforms import fused
from funcgrad.transforms.composite import tangents_of
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.linearize import without_derivative
from funcgrad.transforms.nodes import zero


class ForwardTracer(Tracer):
    """A value and its tangent, of the same dtype. A tangent may be smaller, by broadcasting, than its primal: see `tangent_of`."""

    __slots__ = ("_tangent",)
    _tangent: Value


def tangent_of(x: ForwardTracer) -> Value:
    """The tangent with all its elements."""
    return dense(x._tangent, x._shape)


class Forward(Interpreter):
    """Computes values and tangents, both one floor down. Elementwise rules take a small tangent as it is, all others a whole one."""

    __slots__ = ()

    def __init__(self, label: Label) -> None:
        self.order = tick()
        self.label = label
        self.new = ForwardTracer
        self.closed = self.tensors = False

    def trace(self, value: Value, tangent: Value) -> ForwardTracer:
        t = self.new()
        t._main, t._value, t._tangent, t._shape, t._dtype = self, value, tangent, shape_of(value), dtype_of(value)
        return t  # type: ignore[no-any-return]

    def process(self, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
        if type(prim) is Structured:
            return prim.apply(args, params)
        values, tangents = [], []
        by_element = type(prim) is Elementwise
        for a in args:
            if type(a) is ForwardTracer and a._main is self:
                values.append(a._value)
                tangents.append(a._tangent if by_element else tangent_of(a))
            else:
                values.append(a)
                tangents.append(None)
        out = bind(prim, values, params)
        if type(prim) is Constant:
            return out
        token = hush()
        try:
            made = PUSH[type(prim)](prim, out, values, tangents, params)
        finally:
            speak(token)
        if type(out) is tuple:
            return tuple([self.pair(prim, o, t) for o, t in zip(out, made, strict=True)])
        return self.pair(prim, out, made[0])

    def parts(self, x: Any) -> tuple[Value, ...]:
        return x._value, x._tangent

    def pair(self, prim: Primitive, out: Value, tangent: Value | None) -> Value:
        """The tracer of `out`, or `out` itself where no derivative can pass."""
        dtype = dtype_of(out)
        if tangent is None or dtype.kind not in "fc":
            return without_derivative(prim, out)
        return self.trace(out, cast(tangent, dtype))


def _push_elementwise(prim: Any, out: Value, values: list[Value], tangents: list[Any], params: Any) -> tuple[Any, ...]:
    terms = []
    for rule, t in zip(prim.rules, tangents, strict=True):
        if t is not None and rule is not None:
            terms.append(rule.apply(t, *[out if k < 0 else values[k] for k in rule.keeps]))
    return (total(terms),)


def _push_linear(prim: Any, out: Value, values: list[Value], tangents: list[Any], params: Any) -> tuple[Any, ...]:
    n = len(values) if prim.operands is None else prim.operands
    if all(t is None for t in tangents[:n]):
        return (None,)
    moved = [zero(v) if t is None else t for v, t in zip(values[:n], tangents[:n], strict=True)]
    return (bind(prim, [*moved, *values[n:]], params),)


def _push_bilinear(prim: Any, out: Value, values: list[Value], tangents: list[Any], params: Any) -> tuple[Any, ...]:
    (x, y), (dx, dy) = values, tangents
    terms = [None if dx is None else bind(prim, [dx, y], params), None if dy is None else bind(prim, [x, dy], params)]
    return (total(terms),)


def _push_composite(prim: Any, out: Any, values: list[Value], tangents: list[Any], params: Any) -> tuple[Any, ...]:
    return tangents_of(prim, out, values, tangents, params)


PUSH: dict[type, Callable[..., tuple[Any, ...]]] = {
    Elementwise: _push_elementwise,
    Linear: _push_linear,
    Bilinear: _push_bilinear,
    Semilinear: _push_composite,
    Differentiable: _push_composite,
}


# ---- the fused path


class _Push(fused.Template):
    """A tracer's own part is its tangent. Rules may meet infinities on the way; the user gets no warning from them."""

    def both(self, prim: Elementwise) -> str:
        terms = [fused.applied(r, f"rule_{k}", f"{'xy'[k]}._tangent") for k, r in enumerate(prim.rules) if r is not None]
        return _quietly(" + ".join(terms))

    def one(self, prim: Elementwise, k: int) -> str:
        rule = prim.rules[k]
        assert rule is not None
        return _quietly(fused.applied(rule, f"rule_{k}", "xy"[k] + "._tangent"))


def _quietly(tangent: str) -> str:
    return f"t = m.new()\ntoken = hush()\ntry:\n    t._tangent = {tangent}\nfinally:\n    speak(token)"


def _as_it_is(m: Forward, y: Value) -> Value:
    """Forward mode uses an operand at once and keeps nothing."""
    return y


TABLE = fused.Table(ForwardTracer, _Push(), _as_it_is)
fused.install(ForwardTracer, TABLE)
