"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.axes import permuted
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import dummy, ravel
from funcgrad.ops import shaping as ops
from funcgrad.ops.elementwise import where
from funcgrad.ops.reductions import sum


def _below(m: Value, k: int) -> Any:
    """Where the k-th diagonal of the last two axes is, and below; a vector stands for a row that repeats."""
    shape = shape_of(m)
    if not shape:
        raise TypeError("tril and triu take vectors and matrices, got a 0-d value.")
    rows, columns = (shape[-1:] + shape)[-2:]
    return np.tri(rows, columns, k, dtype=bool)


@implements(np.tril)
def tril(m: Any, k: Any = 0) -> Value:
    m = array(m)
    return where(_below(m, k), m, dtype_of(m).type(0))


@implements(np.triu)
def triu(m: Any, k: Any = 0) -> Value:
    m = array(m)
    return where(_below(m, k - 1), dtype_of(m).type(0), m)


@implements(np.diag)
def diag(v: Any, k: Any = 0) -> Value:
    v, k = array(v), int(k)
    shape = shape_of(v)
    if len(shape) == 1:
        n = shape[0] + abs(k)
        return ops.embed_diagonal(v, offset=k, shape=(n, n))
    if len(shape) == 2:
        return ops.diagonal(v, offset=k)
    raise ValueError("Input must be 1- or 2-d.")


@implements(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Value:
    return diag(ravel(array(v)), k)


@implements(np.diagonal)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Value:
    a = array(a)
    n = len(shape_of(a))
    if n < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    i, j = normalize_axis_index(axis1, n, "axis1"), normalize_axis_index(axis2, n, "axis2")
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    return ops.diagonal(permuted(a, [k for k in range(n) if k not in (i, j)] + [i, j]), offset=int(offset))


@implements(np.trace)
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: None = None) -> Value:
    d = diagonal(a, offset, axis1, axis2)
    return sum(d if dtype is None else ops.cast(d, np.dtype(dtype)), axis=(-1,))


# ---- where they are, in an array of the same shape


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    return np.diag_indices_from(dummy(shape_of(array(arr))))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Any, ...]:
    return np.tril_indices_from(dummy(shape_of(array(arr))), k)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Any, ...]:
    return np.triu_indices_from(dummy(shape_of(array(arr))), k)
