"""Sums of products over shared axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, shape_of
from funcgrad.ops.kinds import bilinear
from funcgrad.ops.shaping import reshape, sum_to, transpose


def swap(x: Value) -> Value:
    """The last two axes exchanged."""
    n = len(shape_of(x))
    return transpose(x, axes=(*range(-n, -2), -1, -2))


def _column(x: Value) -> Value:
    return reshape(x, shape=(*shape_of(x), 1))


def _row(x: Value) -> Value:
    shape = shape_of(x)
    return reshape(x, shape=(*shape[:-1], 1, shape[-1]))


def _matmul_left(ct: Value, x: Spec, y: Value) -> Value:
    """ct yᵀ, with 1-D operands made into a row or a column first, and stacks that broadcast summed."""
    if len(shape_of(y)) == 1:
        if len(x.shape) == 1:
            return ct * y
        return _column(ct) * y if len(x.shape) == 2 else sum_to(_column(ct) * y, shape=x.shape)
    if len(x.shape) == 1:
        product = matmul(y, _column(ct))
        return sum_to(reshape(product, shape=shape_of(product)[:-1]), shape=x.shape)
    return sum_to(matmul(ct, swap(y)), shape=x.shape)


def _matmul_right(ct: Value, x: Value, y: Spec) -> Value:
    """xᵀ ct, likewise."""
    if len(shape_of(x)) == 1:
        if len(y.shape) == 1:
            return ct * x
        return sum_to(_column(x) * _row(ct), shape=y.shape)
    if len(y.shape) == 1:
        product = matmul(swap(x), _column(ct))
        return sum_to(reshape(product, shape=shape_of(product)[:-1]), shape=y.shape)
    return sum_to(matmul(swap(x), ct), shape=y.shape)


matmul = bilinear("matmul", lambda x, y: np.matmul(x, y), _matmul_left, _matmul_right)

Axes = tuple[int, ...]


def _dot_general(x: Any, y: Any, *, contract: tuple[Axes, Axes]) -> Any:
    return np.tensordot(x, y, contract)[()]


def _free(ndim: int, contracted: Axes) -> Axes:
    return tuple(i for i in range(-ndim, 0) if i not in contracted)


def _tensordot_left(ct: Value, x: Spec, y: Value, *, contract: tuple[Axes, Axes]) -> Value:
    """Contract `ct` with the free axes of `y`, then put the axes of `x` in their order."""
    mine, theirs = contract
    free_y = _free(len(shape_of(y)), theirs)
    out = tensordot(ct, y, contract=(tuple(range(-len(free_y), 0)), free_y))
    order = sorted(range(len(theirs)), key=lambda k: theirs[k])
    came = _free(len(x.shape), mine) + tuple(mine[k] for k in order)
    return transpose(out, axes=tuple(came.index(a) - len(came) for a in range(-len(came), 0)))


def _tensordot_right(ct: Value, x: Value, y: Spec, *, contract: tuple[Axes, Axes]) -> Value:
    mine, theirs = contract
    free_x = _free(len(shape_of(x)), mine)
    n = len(shape_of(ct))
    out = tensordot(x, ct, contract=(free_x, tuple(range(-n, len(free_x) - n))))
    order = sorted(range(len(mine)), key=lambda k: mine[k])
    came = tuple(theirs[k] for k in order) + _free(len(y.shape), theirs)
    return transpose(out, axes=tuple(came.index(a) - len(came) for a in range(-len(came), 0)))


tensordot = bilinear("tensordot", _dot_general, _tensordot_left, _tensordot_right)
"""Sums over pairs of axes (`contract`, counted from the end); the free axes of `x` come first."""
