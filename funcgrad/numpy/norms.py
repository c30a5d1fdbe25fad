"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.dispatch import implements
from funcgrad.ops import norms as ops
from funcgrad.ops.elementwise import absolute
from funcgrad.ops.reductions import Axes, max, min, sum
from funcgrad.ops.shaping import reshape, transpose
from funcgrad.ops.singular import svdvals


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Value:
    x = inexact(x)
    shape = shape_of(x)
    n = len(shape)
    axes = tuple(range(-n, 0))
    if axis is None and (ord is None or (n == 2 and ord in ("f", "fro")) or (n == 1 and ord == 2)):
        out = ops.norm(x, axis=axes)
    else:
        out, axes = _of_axes(x, ord, axes if axis is None else axis if isinstance(axis, tuple) else _one_axis(axis))
    return _kept(out, shape, axes) if keepdims else out


def inexact(x: Any) -> Value:
    """`x`, of which whole numbers and bools are float64."""
    x = operand(x)
    return x if dtype_of(x).kind in "fc" else x.astype(np.float64)


def _one_axis(axis: Any) -> Axes:
    try:
        return (int(axis),)
    except Exception as e:
        raise TypeError("'axis' must be None, an integer or a tuple of integers") from e


def _kept(x: Value, shape: tuple[int, ...], axes: Axes) -> Value:
    """With ones in the place of the axes that went away."""
    return reshape(x, shape=tuple([1 if i - len(shape) in axes else n for i, n in enumerate(shape)]))


def _of_axes(x: Value, ord: Any, axis: Axes) -> tuple[Value, Axes]:
    """The norm of the vectors along one axis, or of the matrices along two; and the axes, counted from the end."""
    n = len(shape_of(x))
    if len(axis) == 1 and isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if len(axis) not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    axes = tuple([normalize_axis_index(a, n) - n for a in axis])
    if len(axes) == 1:
        return _vectors(x, ord, axes), axes
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    return _matrices(x, ord, *axes), axes


def _vectors(x: Value, ord: Any, axes: Axes) -> Value:
    """The norm of vectors whose elements lie along several axes."""
    if ord is None or ord == 2:
        return ops.norm(x, axis=axes)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == np.inf:
        return _largest(absolute(x), axes)
    if ord == -np.inf:
        return min(absolute(x), axis=axes)
    if ord == 0:
        return sum((x != 0).astype(np.zeros((), dtype_of(x)).real.dtype), axis=axes)
    if ord == 1:
        return sum(absolute(x), axis=axes)
    return ops.flat_power(sum(ops.flat_power(absolute(x), ord), axis=axes), 1 / ord)


def _largest(x: Value, axes: Axes) -> Value:
    """The largest of non-negative numbers, 0 where there are none."""
    if any(shape_of(x)[i] == 0 for i in axes):
        return np.max(np.zeros(shape_of(x), dtype_of(x)), axes, initial=0)
    return max(x, axis=axes)


def _matrices(x: Value, ord: Any, row: int, column: int) -> Value:
    """The norm of matrices whose rows are counted along one axis, whose columns along another."""
    if ord is None or ord in ("fro", "f"):
        return ops.norm(x, axis=tuple(sorted((row, column))))
    if ord in ("nuc", 2, -2):
        return _spectral(transpose(x, axes=_to_the_end(len(shape_of(x)), row, column)), ord)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    if abs(ord) == np.inf:
        row, column = column, row
    sums = sum(absolute(x), axis=(row,))
    left = (column + 1 if row > column else column,)
    return _largest(sums, left) if ord > 0 else min(sums, axis=left)


def _to_the_end(n: int, *last: int) -> Axes:
    return (*[i for i in range(-n, 0) if i not in last], *last)


def _spectral(x: Value, ord: Any) -> Value:
    """The norms that are made of singular values."""
    if 0 in shape_of(x):
        return np.linalg.norm(np.zeros(shape_of(x), dtype_of(x)), ord, (-2, -1))
    s = svdvals(x)
    return sum(s, axis=(-1,)) if ord == "nuc" else max(s, axis=(-1,)) if ord == 2 else min(s, axis=(-1,))


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Value:
    x = inexact(x)
    shape = shape_of(x)
    n = len(shape)
    axes = tuple(range(-n, 0)) if axis is None else tuple(sorted(i - n for i in normalize_axis_tuple(axis, n)))
    out = _vectors(x, ord, axes)
    return _kept(out, shape, axes) if keepdims else out


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Value:
    return norm(x, ord, (-2, -1), keepdims)
