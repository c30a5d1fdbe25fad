"""Axes exchanged, reversed and rolled."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.core import Value, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import dummy, negative_axis, reverse_axes
from funcgrad.ops import shaping as ops
from funcgrad.ops.cumulative import reverse
from funcgrad.ops.indexing import scalar


def permuted(a: Value, axes: Any) -> Value:
    """`a` with its axes in this order; `axes` are non-negative."""
    n = len(shape_of(a))
    negative = tuple([i - n for i in axes])
    return a if negative == tuple(range(-n, 0)) else ops.transpose(a, axes=negative)


@implements(np.transpose)
def transpose(a: Any, axes: Any = None) -> Value:
    a = array(a)
    if axes is None:
        return reverse_axes(a)
    n = len(shape_of(a))
    if not isinstance(axes, Iterable):
        axes = (axes,)
    if len(axes) != n:
        raise ValueError("axes don't match array")
    try:
        return permuted(a, normalize_axis_tuple(axes, n))
    except ValueError:
        return dummy(shape_of(a)).transpose(axes)  # raises NumPy's sentence


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Value:
    x = array(x)
    n = len(shape_of(x))
    if n < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {n}")
    return ops.transpose(x, axes=(*range(-n, -2), -1, -2))


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Value:
    a = array(a)
    n = len(shape_of(a))
    order = list(range(n))
    i, j = normalize_axis_index(axis1, n, "axis1"), normalize_axis_index(axis2, n, "axis2")
    order[i], order[j] = j, i
    return permuted(a, order)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Value:
    a = array(a)
    n = len(shape_of(a))
    source = normalize_axis_tuple(source, n, "source")
    destination = normalize_axis_tuple(destination, n, "destination")
    if len(source) != len(destination):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(n) if i not in source]
    for to, i in sorted(zip(destination, source, strict=True)):
        order.insert(to, i)
    return permuted(a, order)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Value:
    a = array(a)
    n = len(shape_of(a))
    axis = normalize_axis_index(axis, n)
    if not -n <= start <= n:
        np.rollaxis(dummy(shape_of(a)), axis, start)  # raises NumPy's sentence
    if start < 0:
        start += n
    order = [i for i in range(n) if i != axis]
    order.insert(start - 1 if axis < start else start, axis)
    return permuted(a, order)


# ---- reversed and rolled


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Value:
    m = array(m)
    n = len(shape_of(m))
    for i in range(n) if axis is None else normalize_axis_tuple(axis, n):
        m = reverse(m, axis=i - n)
    return scalar(m)


@implements(np.fliplr)
def fliplr(m: Any) -> Value:
    m = array(m)
    if len(shape_of(m)) < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@implements(np.flipud)
def flipud(m: Any) -> Value:
    m = array(m)
    if not shape_of(m):
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


@implements(np.rot90)
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Value:
    m, axes = array(m), tuple(axes)
    n = len(shape_of(m))
    if len(axes) != 2 or not all(-n <= i < n for i in axes) or (axes[0] - axes[1]) % n == 0:
        np.rot90(dummy(shape_of(m)), 1, axes)  # raises NumPy's sentence
    k %= 4
    if k == 0:
        return m
    if k == 2:
        return flip(flip(m, axes[0]), axes[1])
    return swapaxes(flip(m, axes[1]), *axes) if k == 1 else flip(swapaxes(m, *axes), axes[1])


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Value:
    a = array(a)
    shape = shape_of(a)
    if axis is None:
        return ops.reshape(roll(ops.reshape(a, shape=(math.prod(shape),)), shift, 0), shape=shape)
    if type(axis) is int and type(shift) is int:
        return _rolled(a, negative_axis(axis, len(shape)), shift)
    shifts, axes = np.broadcast_arrays(shift, normalize_axis_tuple(axis, len(shape), allow_duplicate=True))
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, i in zip(shifts.tolist(), axes.tolist(), strict=True):
        a = _rolled(a, i - len(shape), by)
    return a


def _rolled(a: Value, axis: int, shift: int) -> Value:
    n = shape_of(a)[axis]
    return ops.roll(a, axis=axis, shift=shift % n) if n and shift % n else a
