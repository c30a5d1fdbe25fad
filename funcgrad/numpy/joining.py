"""Joining arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import atleast_1d, atleast_2d, atleast_3d, negative_axis, ravel, with_rank
from funcgrad.numpy.splitting import unstack
from funcgrad.ops import shaping as ops
from funcgrad.ops.shaping import astype


def _parts(arrays: Any, dtype: Any, casting: Any) -> list[Value]:
    """The operands; where a dtype is asked for, in that dtype."""
    if type(arrays) is list or type(arrays) is tuple:
        parts = [array(a) if type(a) is list or type(a) is tuple else a for a in arrays]
    else:
        parts = list(unstack(arrays))
    return parts if dtype is None and casting == "same_kind" else _casted(parts, dtype, casting)


def _casted(parts: list[Value], dtype: Any, casting: Any) -> list[Value]:
    # NumPy says on empty arrays whether it allows that, and what the dtype will be.
    dtype = np.concatenate([np.empty(0, dtype_of(p)) for p in parts], dtype=dtype, casting=casting).dtype
    return [p if dtype_of(p) == dtype else astype(p, dtype=dtype) for p in parts]


@implements(np.concatenate)
def concatenate(arrays: Any, /, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: Any = "same_kind") -> Value:
    parts = _parts(arrays, dtype, casting)
    if axis is None:
        return ops.concatenate(*[ravel(p) for p in parts], axis=-1)
    n = len(shape_of(parts[0]))
    if n == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    return ops.concatenate(*parts, axis=-n if axis == 0 else negative_axis(axis, n))


@implements(np.stack)
def stack(arrays: Any, axis: Any = 0, out: None = None, *, dtype: Any = None, casting: Any = "same_kind") -> Value:
    parts = _parts(arrays, dtype, casting)
    n = len(shape_of(parts[0])) + 1
    return ops.stack(*parts, axis=-n if axis == 0 else negative_axis(axis, n))


def _joined(parts: list[Value], axis: int) -> Value:
    return ops.concatenate(*parts, axis=axis - len(shape_of(parts[0])))


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Value:
    return _joined([atleast_2d(p) for p in _parts(tup, dtype, casting)], 0)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Value:
    parts = [atleast_1d(p) for p in _parts(tup, dtype, casting)]
    return _joined(parts, 0 if len(shape_of(parts[0])) == 1 else 1)


@implements(np.dstack)
def dstack(tup: Any) -> Value:
    return _joined([atleast_3d(p) for p in _parts(tup, None, "same_kind")], 2)


def _column(a: Value) -> Value:
    shape = shape_of(a)
    return a if len(shape) >= 2 else ops.reshape(a, shape=(math.prod(shape), 1))


@implements(np.column_stack)
def column_stack(tup: Any) -> Value:
    return _joined([_column(p) for p in _parts(tup, None, "same_kind")], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Value:
    return concatenate([array(arr), array(values)], axis)


# ---- nested lists of blocks


@implements(np.block)
def block(arrays: Any) -> Value:
    depth = _depth(arrays)
    ndim = max(depth, _largest(arrays))
    return _assembled(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    """How deep the lists nest, which must be the same everywhere."""
    if isinstance(arrays, tuple):
        raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks: np.block does not take tuples for arrays.")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    depths = set(map(_depth, arrays))
    if len(depths) > 1:
        raise ValueError(f"List depths are mismatched: found {sorted(depths)} in one list of blocks.")
    return depths.pop() + 1


def _largest(arrays: Any) -> int:
    return max(map(_largest, arrays)) if isinstance(arrays, list) else len(shape_of(arrays))


def _assembled(arrays: Any, depth: int, ndim: int) -> Value:
    if depth:
        return ops.concatenate(*[_assembled(a, depth - 1, ndim) for a in arrays], axis=-depth)
    return with_rank(arrays, ndim)
