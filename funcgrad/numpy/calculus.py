"""Differences, slopes and areas of sampled functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.indexing import along, flat, negative_axis
from funcgrad.numpy.reductions import axes_of
from funcgrad.ops.kinds import constant
from funcgrad.ops.reductions import sum as sum_over
from funcgrad.ops.shaping import broadcast_to, cast, concatenate, reshape


def part(x: Value, axis: int, start: int | None, stop: int | None) -> Value:
    """The elements from `start` to `stop` along one axis."""
    return x[along(x, axis, slice(start, stop))]


def joined(parts: list[Value], axis: int) -> Value:
    """`concatenate`, with the parts brought to their common dtype."""
    dtype = np.result_type(*map(dtype_of, parts))
    return concatenate(*[cast(p, dtype) for p in parts], axis=axis)


# ---- differences


def step(x: Value, axis: int) -> Value:
    """What each element exceeds the one before it by; for bools, whether it differs."""
    late, early = part(x, axis, 1, None), part(x, axis, None, -1)
    return late != early if dtype_of(x).kind == "b" else late - early


@implements(np.diff)
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Value:
    a = array(a)
    if n == 0:
        return a
    if n < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    if not shape_of(a):
        raise ValueError("diff requires input that is at least one dimensional")
    axis = negative_axis(a, axis)
    parts = [a if e is a else _end(e, a, axis) for e in (prepend, a, append) if e is not np._NoValue]
    if len(parts) > 1:
        a = joined(parts, axis)
    for _ in range(n):
        a = step(a, axis)
    return a


def _end(e: Any, a: Value, axis: int) -> Value:
    e = array(e)
    shape = list(shape_of(a))
    shape[axis] = 1
    return e if shape_of(e) else broadcast_to(e, shape=tuple(shape))


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Value:
    ary = flat(array(ary))
    parts = [step(ary, -1)]
    for name, end, at in (("to_begin", to_begin, 0), ("to_end", to_end, 2)):
        if end is not None:
            end = array(end)
            if not np.can_cast(dtype_of(end), dtype_of(ary), "same_kind"):
                raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
            parts.insert(at, cast(flat(end), dtype_of(ary)))
    return parts[0] if len(parts) == 1 else concatenate(*parts, axis=-1)


def _unwrap_correction(p: Any, *, axis: int, discont: Any, period: Any) -> Any:
    """What NumPy's `unwrap` adds, a sum of whole periods."""
    dd = np.diff(p, axis=axis)
    high = period / 2
    folded = np.mod(dd + high, period) - high
    folded = np.where((folded == -high) & (dd > 0), high, folded)
    return np.where(np.abs(dd) < (high if discont is None else discont), 0, folded - dd).cumsum(axis)


unwrap_correction = constant(_unwrap_correction, name="unwrap_correction")


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> Value:
    for name, value in (("discont", discont), ("period", period)):
        if isinstance(value, Traced):
            raise errors.ArgumentTypeError("np.unwrap", f"{name} is traced, and has no derivative here. Use `fg.stop_gradient({name})`.")
    p = array(p)
    axis = negative_axis(p, axis)
    correction = unwrap_correction(p, axis=axis, discont=discont, period=period)
    return joined([part(p, axis, None, 1), part(p, axis, 1, None) + correction], axis)


# ---- slopes


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    f = array(f)
    n = len(shape_of(f))
    axes = tuple(range(n)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, n)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    spacings = _spacings(f, axes, varargs)
    dtype = dtype_of(f) if dtype_of(f).kind in "fc" else np.dtype(np.float64)
    if dtype_of(f).kind in "iu":
        f = cast(f, dtype)
    slopes = tuple([_slope(f, i - n, h, edge_order, dtype) for i, h in zip(axes, spacings, strict=True)])
    return slopes[0] if len(slopes) == 1 else slopes


def _spacings(f: Value, axes: tuple[int, ...], varargs: tuple[Any, ...]) -> list[Value]:
    """Per axis a number, or the steps between coordinates."""
    given = [array(v) for v in varargs]
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and not shape_of(given[0]):
        return given * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    return [_steps(x, shape_of(f)[i]) if shape_of(x) else x for i, x in zip(axes, given, strict=True)]


def _steps(x: Value, size: int) -> Value:
    if len(shape_of(x)) != 1:
        raise ValueError("distances must be either scalars or 1d")
    if shape_of(x)[0] != size:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    h = step(cast(x, np.dtype(np.float64)) if dtype_of(x).kind in "iu" else x, -1)
    # Equal steps are one number to NumPy. Traced ones are not: each has a derivative of its own.
    return h if isinstance(h, Traced) or not (h == h[0]).all() else h[0]


def _slope(f: Value, axis: int, h: Value, edge_order: int, dtype: np.dtype[Any]) -> Value:
    """Central differences inside, one-sided ones of `edge_order` at the two ends (NumPy's formulas, in its order)."""
    if shape_of(f)[axis] < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required.")
    before, here, after = part(f, axis, None, -2), part(f, axis, 1, -1), part(f, axis, 2, None)
    if not shape_of(h):
        inside = (after - before) / (2.0 * h)
        first, last = h, h
    else:
        left, right = (reshape(e, shape=(-1,) + (1,) * (-axis - 1)) for e in (h[:-1], h[1:]))
        a = -right / (left * (left + right))
        b = (right - left) / (left * right)
        c = left / (right * (left + right))
        inside = a * before + b * here + c * after
        first, last = h[0], h[-1]
    if edge_order == 1:
        start = (part(f, axis, 1, 2) - part(f, axis, 0, 1)) / first
        end = (part(f, axis, -1, None) - part(f, axis, -2, -1)) / last
    else:
        start, end = _edges(f, axis, h)
    return concatenate(*[cast(p, dtype) for p in (start, inside, end)], axis=axis)


def _edges(f: Value, axis: int, h: Value) -> tuple[Value, Value]:
    """One-sided differences of second order, over three elements each."""
    if not shape_of(h):
        at_start = (-1.5 / h, 2.0 / h, -0.5 / h)
        at_end = (0.5 / h, -2.0 / h, 1.5 / h)
    else:
        p, q = h[0], h[1]
        at_start = (-(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q)))
        p, q = h[-2], h[-1]
        at_end = (q / (p * (p + q)), -(q + p) / (p * q), (2.0 * q + p) / (q * (p + q)))
    first = [part(f, axis, k, k + 1) for k in range(3)]
    last = [part(f, axis, k, k + 1 or None) for k in (-3, -2, -1)]
    return tuple(a * x + b * y + c * z for (a, b, c), (x, y, z) in ((at_start, first), (at_end, last)))


# ---- areas


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Value:
    y = array(y)
    where = negative_axis(y, axis)
    if x is not None:
        x = array(x)
        if len(shape_of(x)) == 1:
            dx = step(x, -1)
            dx = reshape(dx, shape=(shape_of(dx)[0],) + (1,) * (-where - 1))
        else:
            dx = step(x, negative_axis(x, axis))
    areas = array(dx) * (part(y, where, 1, None) + part(y, where, None, -1)) / 2.0
    return sum_over(areas, axis=axes_of(areas, axis))
