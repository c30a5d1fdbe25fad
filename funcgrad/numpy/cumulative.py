"""Cumulative sums, products and extrema."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import METHODS, implements
from funcgrad.numpy.reductions import axes_of, loose_axes
from funcgrad.ops import cumulative as ops
from funcgrad.ops.shaping import cast, embed, reshape


def _along(op: Callable[..., Value], a: Any, axis: Any, dtype: Any) -> Value:
    """`op` along one axis; None, and a 0-d value, mean the elements in C order."""
    a = array(a)
    if axis is None or not shape_of(a):
        a = reshape(a, shape=(math.prod(shape_of(a)),))
    if dtype is not None:
        a = cast(a, np.dtype(dtype))
    return op(a, axis=-1 if axis is None else axes_of(a, operator.index(axis))[0])


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Value:
    return _along(ops.cumsum, a, axis, dtype)


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Value:
    return _along(ops.cumprod, a, axis, dtype)


# ---- the Array API's names


def _strictly_along(op: Callable[..., Value], x: Any, axis: Any, dtype: Any) -> Value:
    x = array(x)
    if axis is None and len(shape_of(x)) > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    return _along(op, x, axis, dtype)


def _begun(out: Value, axis: Any) -> Value:
    """With a zero in front."""
    axis = axes_of(out, 0 if axis is None else axis)[0]
    return embed(out, axis=axis, start=1, size=shape_of(out)[axis] + 1)


@implements(*[f for f in [getattr(np, "cumulative_sum", None)] if f])  # from NumPy 2.1 on
def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, out: None = None, include_initial: bool = False) -> Value:
    found = _strictly_along(ops.cumsum, x, axis, dtype)
    return _begun(found, axis) if include_initial else found


@implements(*[f for f in [getattr(np, "cumulative_prod", None)] if f])
def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, out: None = None, include_initial: bool = False) -> Value:
    found = _strictly_along(ops.cumprod, x, axis, dtype)
    if not include_initial:
        return found
    at = axes_of(found, 0 if axis is None else axis)[0]
    return _begun(found, axis) + ops.begin(shape_of(found)[at] + 1, at, dtype_of(found))


# ---- ufunc.accumulate

_ACCUMULATE: dict[np.ufunc, Callable[..., Value]] = {
    np.add: ops.cumsum,
    np.multiply: ops.cumprod,
    np.maximum: ops.cummax,
    np.minimum: ops.cummin,
}


def _method(ufunc: np.ufunc) -> Callable[..., Value]:
    def accumulate(a: Any, axis: Any = 0, dtype: Any = None) -> Value:
        a = array(a)
        if not loose_axes(a, axis):
            raise TypeError("cannot accumulate on a scalar")
        return _along(_ACCUMULATE[ufunc], a, axis, dtype)

    return accumulate


for _ufunc in _ACCUMULATE:
    METHODS[_ufunc, "accumulate"] = _method(_ufunc)
