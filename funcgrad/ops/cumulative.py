"""Primitives that run along one axis, a negative int: cumulative sums and products, and the recurrence behind their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of, spec_of
from funcgrad.ops.elementwise import ratio
from funcgrad.ops.kinds import Linear, constant, differentiable, linear, semilinear
from funcgrad.ops.shaping import embed, window

reverse: Linear = linear("reverse", lambda x, *, axis: np.flip(x, axis), lambda ct, x, *, axis: reverse(ct, axis=axis))

cumsum: Linear = linear(
    "cumsum",
    lambda x, *, axis: np.add.accumulate(x, axis=axis),
    lambda ct, x, *, axis: reverse(cumsum(reverse(ct, axis=axis), axis=axis), axis=axis),
)


def shift(x: Value, *, axis: int) -> Value:
    """Each element moved one place on; 0 comes in, the last falls out."""
    n = shape_of(x)[axis]
    return embed(window(x, axis=axis, start=0, stop=n - 1), axis=axis, start=1, size=n) if n else x


def begin(n: int, axis: int, dtype: np.dtype[Any]) -> Any:
    """1 at the first of `n` places along `axis`, 0 at the others."""
    return (np.arange(n) == 0).astype(dtype).reshape((n,) + (1,) * (-axis - 1))


# ---- y_k = a_k y_(k-1) + b_k: linear in b, and products alone, so that zeros and higher derivatives need no care


def _recurrence(a: Any, b: Any, *, axis: int) -> Any:
    """By doubling: after each round, `(a, b)` at k is the composition of the maps of a window that ends at k."""
    dtype = np.result_type(a, b)
    a, b = (np.array(np.moveaxis(v, axis, -1), dtype) for v in np.broadcast_arrays(a, b))
    step, n = 1, b.shape[-1]
    while step < n:
        b[..., step:] = b[..., step:] + a[..., step:] * b[..., :-step]
        a[..., step:] = a[..., step:] * a[..., :-step]
        step *= 2
    return np.moveaxis(b, -1, axis)


def _recurrence_back(ct: Value, a: Value, b: Spec, *, axis: int) -> Value:
    """z_k = ct_k + a_(k+1) z_(k+1), a recurrence from the other end."""
    return reverse(recurrence(shift(reverse(a, axis=axis), axis=axis), reverse(ct, axis=axis), axis=axis), axis=axis)


def _recurrence_tangent(out: Value, args: tuple[Value, Value], tangents: tuple[Value, Value], *, axis: int) -> Value:
    """dy_k = a_k dy_(k-1) + da_k y_(k-1)."""
    return recurrence(args[0], tangents[0] * shift(out, axis=axis), axis=axis)


def _recurrence_together(ct: Value, out: Value, args: tuple[Value, Value], wanted: Any, *, axis: int) -> tuple[Value, Value]:
    z = _recurrence_back(ct, args[0], spec_of(args[1]), axis=axis)
    return z * shift(out, axis=axis), z


recurrence = semilinear("recurrence", _recurrence, _recurrence_back, _recurrence_tangent, _recurrence_together)


# ---- cumulative products and extrema


def before(out: Value, *, axis: int) -> Value:
    """Of cumulative products, those without the element itself."""
    return shift(out, axis=axis) + begin(shape_of(out)[axis], axis, dtype_of(out))


def _cumprod_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, axis: int) -> Value:
    """p_k = x_k p_(k-1), so dp_k = x_k dp_(k-1) + p_(k-1) dx_k."""
    return recurrence(args[0], before(out, axis=axis) * tangents[0], axis=axis)


cumprod = differentiable("cumprod", lambda x, *, axis: np.multiply.accumulate(x, axis=axis), _cumprod_tangent)


def _holders(x: Any, out: Any) -> Any:
    """1 where an element equals the running extremum, 0 elsewhere."""
    return ((x == out) | (x != x)).astype(x.dtype)


def _lasts(out: Any, *, axis: int) -> Any:
    """1 where the running extremum is the one before, 0 where a new one begins."""
    out = np.moveaxis(out, axis, -1)
    now, before = out[..., 1:], out[..., :-1]
    same = np.zeros(out.shape, out.dtype)
    same[..., 1:] = (now == before) | ((now != now) & (before != before))
    return np.moveaxis(same, -1, axis)


holders = constant(_holders, name="holders")
lasts = constant(_lasts, name="lasts")


def _cumextremum_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, axis: int) -> Value:
    """The mean of the tangents of all elements so far that equal the extremum: ties share equally."""
    mine, same = holders(args[0], out), lasts(out, axis=axis)
    return ratio(recurrence(same, mine * tangents[0], axis=axis), recurrence(same, mine, axis=axis))


cummax = differentiable("cummax", lambda x, *, axis: np.maximum.accumulate(x, axis=axis), _cumextremum_tangent)
cummin = differentiable("cummin", lambda x, *, axis: np.minimum.accumulate(x, axis=axis), _cumextremum_tangent)
