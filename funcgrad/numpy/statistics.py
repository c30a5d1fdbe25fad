"""Means and spreads, also of what a mask leaves over."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy import reductions
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.reductions import UNSET, axes_of, kept, mask_of
from funcgrad.ops import reductions as ops
from funcgrad.ops.elementwise import imag, multiply, real, root, square, where
from funcgrad.ops.shaping import broadcast_to, cast, reshape, transpose

Axes = tuple[int, ...]

# ---- what a mask leaves over; None keeps everything


def _counts(mask: Any, shape: tuple[int, ...], axes: Axes) -> Any:
    return ops.count(shape, axes) if mask is None else ops.sum(broadcast_to(mask, shape=shape), axis=axes)


def _masked(a: Value, mask: Any) -> Value:
    return a if mask is None else where(mask, a, 0)


def _per(total: Value, count: Any) -> Value:
    return cast(total / count, dtype_of(total))


def masked_mean(a: Value, mask: Any, axes: Axes) -> Value:
    return _per(ops.sum(_masked(a, mask), axis=axes), _counts(mask, shape_of(a), axes))


def masked_var(
    a: Value, mask: Any, axes: Axes, ddof: Any, centre: Any, otherwise: float, dtype: Any = None, in_place: bool = False
) -> Value:  # fmt: skip
    """The squared distances from `centre` (by default the mean) per degree of freedom, or per `otherwise` if there is none.

    As in NumPy only the sums are in `dtype`; `in_place` says that the distances have the dtype of `a`.
    """
    shape, a = shape_of(a), _masked(a, mask)
    count = _counts(mask, shape, axes)
    if centre is UNSET or centre is None:
        centre = ops.keep(_per(ops.sum(in_dtype(a, dtype), axis=axes), count), shape, axes)
    apart = _masked(in_dtype(a - array(centre), dtype_of(a) if in_place else None), mask)
    squares = square(real(apart)) + square(imag(apart)) if dtype_of(apart).kind == "c" else square(apart)
    freedom = count - ddof
    return _per(ops.sum(in_dtype(squares, dtype), axis=axes), where(freedom > 0, freedom, otherwise))


def ddof_of(ddof: Any, correction: Any) -> Any:
    if correction is UNSET:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def in_dtype(a: Any, dtype: Any) -> Value:
    return array(a) if dtype is None else cast(array(a), np.dtype(dtype))


def of_numbers(a: Any, dtype: Any) -> Value:
    """Whole numbers and bools are averaged as doubles, if no dtype is asked for."""
    a = array(a)
    return cast(a, np.dtype(np.float64)) if dtype is None and dtype_of(a).kind in "biu" else a


# ---- NumPy's functions


@implements(np.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = UNSET, *, where: Any = True) -> Value:
    a = of_numbers(in_dtype(a, dtype), dtype)
    axes = axes_of(a, axis)
    mask = mask_of(where, a)
    if mask is None and (dtype is None or dtype_of(a) != np.float16):  # without `dtype` NumPy sums float16 in float32
        return kept(ops.mean(a, axis=axes), a, axes, keepdims)
    wide = cast(a, np.dtype(np.float32)) if dtype is None and dtype_of(a) == np.float16 else a
    return kept(cast(masked_mean(wide, mask, axes), dtype_of(a)), a, axes, keepdims)


@implements(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: Any = UNSET,
    *, where: Any = True, mean: Any = UNSET, correction: Any = UNSET,
) -> Value:  # fmt: skip
    a, ddof = of_numbers(a, dtype), ddof_of(ddof, correction)
    axes = axes_of(a, axis)
    mask = mask_of(where, a)
    own_dtype = dtype is None or (np.dtype(dtype) == dtype_of(a) and dtype_of(a).kind == "f")
    plain = mask is None and (mean is UNSET or mean is None) and own_dtype
    found = ops.var(a, axis=axes, ddof=ddof) if plain else masked_var(a, mask, axes, ddof, mean, 0.0, dtype)
    return kept(found, a, axes, keepdims)


@implements(np.std)
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: Any = UNSET,
    *, where: Any = True, mean: Any = UNSET, correction: Any = UNSET,
) -> Value:  # fmt: skip
    return root(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))


# ---- weighted means


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = UNSET) -> Any:
    a = array(a)
    axes = axes_of(a, axis)
    if weights is None:
        out = kept(ops.mean(a, axis=axes), a, axes, keepdims)
        scale = dtype_of(out).type(ops.count(shape_of(a), axes))
    else:
        w = _weights(array(weights), a, axis)
        dtype = np.result_type(dtype_of(a), dtype_of(w), *(["f8"] if dtype_of(a).kind in "biu" else []))
        w = cast(w, dtype)
        scale = kept(ops.sum(w, axis=axes_of(w, axis)), w, axes, keepdims)
        if reductions.any(scale == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        out = kept(ops.sum(multiply(cast(a, dtype), w), axis=axes), a, axes, keepdims) / scale
    if not returned:
        return out
    shape = shape_of(out)
    if shape_of(scale) != shape:
        scale = broadcast_to(scale, shape=shape) if isinstance(scale, Traced) else np.broadcast_to(scale, shape).copy()
    return out, scale


def _weights(w: Value, a: Value, axis: Any) -> Value:
    """The weights with an axis for each of `a`: those of the shape of the averaged axes alone are lined up with them."""
    shape = shape_of(a)
    if shape_of(w) == shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    n = len(shape)
    axes = np.lib.array_utils.normalize_axis_tuple(axis, n, argname="axis")
    if shape_of(w) != tuple([shape[i] for i in axes]):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    w = transpose(w, axes=tuple([int(k) - len(axes) for k in np.argsort(axes)]))
    return reshape(w, shape=tuple([size if i in axes else 1 for i, size in enumerate(shape)]))
