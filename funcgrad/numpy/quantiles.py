"""Medians and quantiles: the axes are moved to the end and made one, which the primitive takes away."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array, has_traced
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.nans import nanmean
from funcgrad.numpy.shaping import broadcast_to
from funcgrad.ops import ordering as ops
from funcgrad.ops.shaping import reshape, transpose


def _merged(x: Value, rest: tuple[int, ...], axes: tuple[int, ...]) -> Value:
    """`x` with `axes` moved to the end and made one."""
    shape, order = shape_of(x), rest + axes
    if order != tuple(range(len(shape))):
        x = transpose(x, axes=tuple(i - len(shape) for i in order))
    if len(axes) == 1:
        return x
    return reshape(x, shape=(*[shape[i] for i in rest], int(np.prod([shape[i] for i in axes], dtype=int))))


def _full_weights(w: Any, shape: tuple[int, ...], axis: Any, axes: tuple[int, ...]) -> Any:
    """Weights of the shape of what they weigh."""
    if w.shape == shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    given = np.lib.array_utils.normalize_axis_tuple(axis, len(shape))
    if w.shape != tuple(shape[i] for i in given):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    w = w.transpose(np.argsort(given))
    return np.broadcast_to(w.reshape([n if i in axes else 1 for i, n in enumerate(shape)]), shape)


def _statistic(of: str, a: Any, axis: Any, keepdims: Any, *operands: Any, q_shape: tuple[int, ...] = (), **keywords: Any) -> Value:
    """`np.<of>` of `a`; `operands` are the level and the weights. Levels come last and are moved to the front."""
    a = array(a)
    shape = shape_of(a)
    axes = tuple(range(len(shape))) if axis is None else tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, len(shape))))
    rest = tuple(i for i in range(len(shape)) if i not in axes)
    if len(operands) == 2:
        operands = (operands[0], _merged(_full_weights(operands[1], shape, axis, axes), rest, axes))
    out = ops.statistic(_merged(a, rest, axes), *operands, of=of, **keywords)
    if q_shape:
        out = transpose(out, axes=(-1, *range(-len(rest) - 1, -1)))
    if keepdims and keepdims is not np._NoValue:
        rest_shape = tuple(1 if i in axes else n for i, n in enumerate(shape))
    else:
        rest_shape = tuple(shape[i] for i in rest)
    if keepdims and not shape:
        return broadcast_to(out, q_shape)  # NumPy gives a 0-d array
    return out if shape_of(out) == q_shape + rest_shape else reshape(out, shape=q_shape + rest_shape)


@implements(np.median)
def median(a: Any, axis: Any = None, out: None = None, overwrite_input: Any = False, keepdims: Any = False) -> Value:
    return _statistic("median", a, axis, keepdims)


@implements(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: None = None, overwrite_input: Any = False, keepdims: Any = False) -> Value:
    return _statistic("nanmedian", a, axis, keepdims)


def _at_levels(
    of: str,
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Value:
    for name, value in (("q", q), ("weights", weights)):
        if has_traced(value):
            raise errors.ArgumentTypeError(f"np.{of}", f"{name} is traced, and has no derivative here. Use `fg.stop_gradient({name})`.")
    if weights is not None and method != "inverted_cdf":
        np.quantile(np.zeros(1), 0.0, method=method, weights=np.ones(1))  # raises
    a = array(a)
    if dtype_of(a).kind == "c":
        raise TypeError("a must be an array of real numbers")
    if of.startswith("nan") and 0 in shape_of(a):
        return nanmean(a, axis, keepdims=keepdims)  # as NumPy does, which forgets how many levels were asked for
    shape = np.shape(q)
    if len(shape) > 2:
        raise ValueError("q must be a scalar or 1d")
    if not isinstance(q, (int, float, np.generic)):  # Python's are weak: they do not widen float32; until NumPy 2.3, NumPy's neither
        q = np.asarray(q).reshape(-1) if shape else np.asarray(q)
    operands = (q,) if weights is None else (q, np.asarray(weights))
    return _statistic(of, a, axis, keepdims, *operands, q_shape=shape, method=method)


for _function in (np.quantile, np.percentile, np.nanquantile, np.nanpercentile):
    implements(_function)(functools.partial(_at_levels, _function.__name__))
