"""The generalised ufuncs: matmul, vecdot, matvec, vecmat, with NumPy's `axes=`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core import Value, shape_of
from funcgrad.numpy.contraction import conj, operand, without
from funcgrad.numpy.dispatch import UFUNCS, implements
from funcgrad.ops import contraction as ops
from funcgrad.ops.shaping import transpose


def _with_axes(product: Callable[[Value, Value], Value], cores: tuple[int, int, int]) -> Callable[..., Value]:
    """A product over the last axes with NumPy's `axes=`; `cores` counts the core axes of the operands and of the output."""

    def function(x: Any, y: Any, /, axes: Sequence[Any] | None = None, axis: int | None = None, keepdims: bool = False) -> Value:
        x, y = operand(x), operand(y)
        if axes is None and axis is None and not keepdims:
            return product(x, y)
        if (axis is not None or keepdims) and cores != (1, 1, 0):
            raise TypeError("axis and keepdims are for products of two vectors, as np.vecdot")
        given = [a if isinstance(a, tuple) else (a,) for a in (axes or [-1 if axis is None else axis] * 2)]
        if len(given) == 2:
            given.append(given[0] if keepdims else ())
        if [len(a) for a in given] != [cores[0], cores[1], cores[2] + keepdims]:
            raise ValueError(f"axes must be three tuples, of {cores[0]}, {cores[1]} and {cores[2] + keepdims} axes, got {axes}")
        out = product(_to_end(x, given[0]), _to_end(y, given[1]))
        return _from_end(ops.column(out) if keepdims else out, given[2])

    return function


def _to_end(x: Value, axes: tuple[int, ...]) -> Value:
    n = len(shape_of(x))
    last = [normalize_axis_index(a, n) - n for a in axes]
    order = (*[i for i in range(-n, 0) if i not in last], *last)
    return x if order == tuple(range(-n, 0)) else transpose(x, axes=order)


def _from_end(x: Value, axes: tuple[int, ...]) -> Value:
    n = len(shape_of(x))
    places = [normalize_axis_index(a, n) for a in axes]
    rest, last = iter(range(-n, -len(places))), dict(zip(places, range(-len(places), 0), strict=True))
    order = tuple([last[i] if i in last else next(rest) for i in range(n)])
    return x if order == tuple(range(-n, 0)) else transpose(x, axes=order)


def _matvec(x: Value, y: Value) -> Value:
    return without(ops.matmul(x, ops.column(y)), -1)


def _vecmat(x: Value, y: Value) -> Value:
    return without(ops.matmul(ops.row(conj(x)), y), -2)


matmul = _with_axes(ops.matmul, (2, 2, 2))
vecdot = _with_axes(lambda x, y: ops.vecdot(conj(x), y), (1, 1, 0))
UFUNCS[np.matmul], UFUNCS[np.vecdot] = matmul, vecdot
for _name, _product, _cores in (("matvec", _matvec, (2, 1, 1)), ("vecmat", _vecmat, (1, 2, 1))):
    if hasattr(np, _name):  # since NumPy 2.2
        UFUNCS[getattr(np, _name)] = _with_axes(_product, _cores)


@implements(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Value:
    return ops.matmul(operand(x1), operand(x2))


@implements(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    return vecdot(x1, x2, axis=None if axis == -1 else axis)
