"""New arrays of old ones: copies, constants of the same shape, other dtypes, and spaced numbers."""

from __future__ import annotations

import math
import warnings
from operator import index
from typing import Any

import numpy as np

from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.axes import moveaxis
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import broadcast_arrays, expand_dims, sizes, with_rank
from funcgrad.ops import shaping as ops
from funcgrad.ops.elementwise import floor, log10, power, sign, where

# ---- of the same shape


def _like(a: Any, dtype: Any, shape: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    a = array(a)
    return shape_of(a) if shape is None else sizes(shape), dtype_of(a) if dtype is None else np.dtype(dtype)


@implements(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None) -> Value:
    return np.zeros(*_like(a, dtype, shape))


@implements(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None) -> Value:
    return np.ones(*_like(a, dtype, shape))


@implements(np.empty_like)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None
) -> Value:
    return np.empty(*_like(prototype, dtype, shape))


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None
) -> Value:
    shape, dtype = _like(a, dtype, shape)
    return ops.broadcast_to(ops.cast(array(fill_value), dtype), shape=shape)


@implements(np.copy)
def copy(a: Any, order: Any = "K", subok: Any = False) -> Value:
    a = array(a)  # a traced value cannot be written to, so that it is its own copy
    return a if shape_of(a) else ops.broadcast_to(a, shape=())


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Value:
    """`x` in another dtype; where that holds no fractions, a constant."""
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        return np.array(x, dtype)
    if dtype_of(x).kind == "c" and dtype.kind in "fiu":
        warnings.warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning, stacklevel=5)
    return ops.cast(x, dtype)


# ---- spaced numbers


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    num, start, stop = index(num), array(start), array(stop)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    between = num - 1 if endpoint else num
    inexact = np.result_type(_weak(start), _weak(stop), 0.0)
    delta = ops.cast(stop, inexact) - ops.cast(start, inexact)
    y = np.arange(0, num, dtype=inexact).reshape((-1,) + (1,) * len(shape_of(delta)))
    step = delta / between if between > 0 else np.nan
    y = (y * step if between > 0 else y * delta) + start
    if endpoint and num > 1:
        last = (np.arange(num) == num - 1).reshape((-1,) + (1,) * len(shape_of(delta)))
        y = where(last, ops.cast(stop, inexact), y)
    y = moveaxis(y, 0, axis) if axis != 0 else y
    dtype = inexact if dtype is None else np.dtype(dtype)
    y = ops.cast(floor(y) if dtype.kind in "iu" else y, dtype)
    return (y, step) if retstep else y


def _weak(x: Value) -> Any:
    """What promotion should see of a value: Python numbers stay weak."""
    return x._dtype if isinstance(x, Traced) else x if isinstance(x, (int, float, complex)) else dtype_of(x)


@implements(np.logspace)
def logspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0) -> Value:
    start, stop, base = array(start), array(stop), array(base)
    if shape_of(base):
        n = len(np.broadcast_shapes(shape_of(start), shape_of(stop), shape_of(base)))
        start, stop, base = [with_rank(x, n) for x in (start, stop, base)]
        base = expand_dims(base, axis)
    y = power(base, linspace(start, stop, num=num, endpoint=endpoint, axis=axis))
    return y if dtype is None else ops.cast(y, np.dtype(dtype))


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0) -> Value:
    start, stop = array(start), array(stop)
    if np.any(start == 0) or np.any(stop == 0):
        raise ValueError("Geometric sequence cannot include zero")
    inexact = np.result_type(_weak(start), _weak(stop), float(num), np.dtype(dtype))
    start, stop = ops.cast(start, inexact), ops.cast(stop, inexact)
    turn = sign(start)
    first, last = start / turn, stop / turn
    y = logspace(log10(first), log10(last), num=num, endpoint=endpoint, base=10.0, dtype=inexact)
    at = np.arange(num).reshape((-1,) + (1,) * (len(shape_of(y)) - 1))
    if num > 0:
        y = where(at == 0, first, y)
        y = where(at == num - 1, last, y) if num > 1 and endpoint else y
    y = y * turn
    return ops.cast(moveaxis(y, 0, axis) if axis != 0 else y, inexact if dtype is None else np.dtype(dtype))


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[0], places[1] = 1, 0
    xs = [array(x) for x in xi]
    shapes = [(1,) * i + (math.prod(shape_of(x)),) + (1,) * (n - i - 1) for x, i in zip(xs, places, strict=True)]
    axes = [ops.reshape(x, shape=shape) for x, shape in zip(xs, shapes, strict=True)]
    out = axes if sparse else broadcast_arrays(*axes)
    return tuple(out) if copy else out
