"""Products of vectors, matrices and stacks of them. Transposes do not conjugate."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, shape_of
from funcgrad.ops.einsum import einsum, tensordot
from funcgrad.ops.kinds import Bilinear, bilinear
from funcgrad.ops.shaping import reshape, sum_to, transpose

__all__ = ["column", "cross", "dot", "einsum", "fit", "matmul", "row", "swap", "tensordot", "vecdot"]

_SWAP = {n: (*range(-n, -2), -1, -2) for n in range(2, 65)}


def swap(x: Value) -> Value:
    """The last two axes exchanged."""
    return transpose(x, axes=_SWAP[len(shape_of(x))])


def column(x: Value) -> Value:
    """With a last axis of length 1."""
    return reshape(x, shape=(*shape_of(x), 1))


def row(x: Value) -> Value:
    """With a last but one axis of length 1."""
    shape = shape_of(x)
    return reshape(x, shape=(*shape[:-1], 1, *shape[-1:]))


def fit(x: Value, shape: tuple[int, ...]) -> Value:
    """Undo a broadcast from `shape`, where there was one."""
    return x if shape_of(x) == shape else sum_to(x, shape=shape)


# ---- vectors and matrices


def _dot_left(ct: Value, x: Spec, y: Value) -> Value:
    """ct yᵀ."""
    if len(shape_of(y)) == 1:
        return ct * y if len(x.shape) == 1 else column(ct) * y
    return dot(y, ct) if len(x.shape) == 1 else dot(ct, swap(y))


def _dot_right(ct: Value, x: Value, y: Spec) -> Value:
    """xᵀ ct."""
    if len(shape_of(x)) == 1:
        return ct * x if len(y.shape) == 1 else column(x) * ct
    return dot(ct, x) if len(y.shape) == 1 else dot(swap(x), ct)


dot = bilinear("dot", lambda x, y: np.dot(x, y), _dot_left, _dot_right)
"""`np.dot` of operands with one axis or two."""


# ---- stacks, which broadcast


def _others(x: tuple[int, ...], *kept: int) -> tuple[int, ...]:
    return tuple(i for i in range(-len(x), 0) if i not in kept)


def _matmul_left(ct: Value, x: Spec, y: Value) -> Value:
    """ct yᵀ; where one vector or matrix met a stack, the sum over the stack is part of the product."""
    n, theirs = len(x.shape), shape_of(y)
    if n <= 2 and len(theirs) <= 2:
        return _dot_left(ct, x, y)
    if len(theirs) == 1:
        return column(ct) * y
    if n == 1:
        return tensordot(y, ct, contract=(_others(theirs, -2), _others(shape_of(ct))))
    if n == 2:
        return tensordot(ct, y, contract=(_others(shape_of(ct), -2), _others(theirs, -2)))
    return fit(matmul(ct, swap(y)), x.shape)


def _matmul_right(ct: Value, x: Value, y: Spec) -> Value:
    """xᵀ ct, likewise."""
    mine, m = shape_of(x), len(y.shape)
    if len(mine) <= 2 and m <= 2:
        return _dot_right(ct, x, y)
    if len(mine) == 1:
        return column(x) * row(ct)
    if m == 1:
        return tensordot(ct, x, contract=(_others(shape_of(ct)), _others(mine, -1)))
    if m == 2:
        return tensordot(x, ct, contract=(_others(mine, -1), _others(shape_of(ct), -1)))
    return fit(matmul(swap(x), ct), y.shape)


matmul = bilinear("matmul", lambda x, y: np.matmul(x, y), _matmul_left, _matmul_right)


# ---- stacks of vectors


def _vecdot(x: Any, y: Any) -> Any:
    return np.vecdot(np.conjugate(x) if np.iscomplexobj(x) else x, y)


vecdot = bilinear("vecdot", _vecdot, lambda ct, x, y: fit(column(ct) * y, x.shape), lambda ct, x, y: fit(column(ct) * x, y.shape))
"""The sum of products along the last axis. Nothing is conjugated."""

cross: Bilinear = bilinear(
    "cross",
    lambda x, y: np.cross(x, y),
    lambda ct, x, y: fit(cross(y, ct), x.shape),
    lambda ct, x, y: fit(cross(ct, x), y.shape),
)
"""The cross product of vectors of three elements along the last axis."""
