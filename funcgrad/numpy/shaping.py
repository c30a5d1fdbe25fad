"""The same elements in another shape: reshape, ravel, expand_dims, squeeze, broadcasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from operator import index
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad import errors
from funcgrad.core import Value, ground, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.ops import shaping as ops

Shape = tuple[int, ...]
_INT = {int}


def negative_axis(axis: Any, ndim: int) -> int:
    """The axis counted from the end; raises NumPy's AxisError."""
    return normalize_axis_index(axis, ndim) - ndim


def sizes(shape: Any) -> Shape:
    """A shape as NumPy's functions take it: one integer, or several."""
    if type(shape) is tuple and _INT.issuperset(map(type, shape)):
        return shape
    if not isinstance(shape, Iterable):
        shape = (shape,)
    return tuple([index(n) for n in shape])


def dummy(shape: Shape) -> Any:
    """An array of this shape at no memory: what NumPy says of it, it says of the traced value."""
    return np.broadcast_to(0.0, shape)


# ---- reshape, ravel


@implements(np.reshape)
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: Any = None) -> Value:
    a = array(a)
    old, new = shape_of(a), sizes(shape)
    if order != "C":
        order = _order(order, "CFA")
    if new and min(new) < 0:
        new = _known(old, new)
    if order == "F" or (order == "A" and _is_fortran(a)):
        return reverse_axes(reshape(reverse_axes(a), new[::-1]))
    return a if old == new else ops.reshape(a, shape=new)


def _known(old: Shape, new: Shape) -> Shape:
    """`new` with the size that was left open."""
    rest, size = -math.prod(new), math.prod(old)
    if rest > 0 and size % rest == 0 and new.count(-1) == 1 and min(new) == -1:
        return tuple([size // rest if n < 0 else n for n in new])
    return dummy(old).reshape(new).shape  # type: ignore[no-any-return]


def _order(order: Any, permitted: str) -> str:
    upper = "C" if order is None else str(order).upper()
    if not upper or upper not in permitted:
        dummy(()).reshape((), order=order)  # raises NumPy's sentence
    return upper


def _in_memory(a: Value) -> Any:
    """The bare array. Of a value mapped by `vmap` nobody knows how one lane would lie in memory."""
    bottom = np.asarray(ground(a))
    if bottom.ndim > len(shape_of(a)) > 1:
        raise errors.LaneLayoutError()
    return bottom


def _is_fortran(a: Value) -> bool:
    """Whether the bare array lies in memory with its first axis fastest; NumPy's results depend on that where asked."""
    flags = _in_memory(a).flags
    return flags.f_contiguous and not flags.c_contiguous


def reverse_axes(a: Value) -> Value:
    """`a.T`."""
    n = len(shape_of(a))
    return a if n < 2 else ops.transpose(a, axes=(-1, -2) if n == 2 else tuple(range(-1, -n - 1, -1)))


@implements(np.ravel)
def ravel(a: Any, order: Any = "C") -> Value:
    a = array(a)
    shape = shape_of(a)
    if order != "C":
        order = _order(order, "CFAK")
        if order == "F" or (order == "A" and _is_fortran(a)):
            a = reverse_axes(a)
        elif order == "K":
            a = _as_in_memory(a)
    return a if len(shape) == 1 else ops.reshape(a, shape=(math.prod(shape),))


def _as_in_memory(a: Value) -> Value:
    """The axes in the order of their strides, largest first."""
    n = len(shape_of(a))
    strides = _in_memory(a).strides[-n:] if n else ()
    axes = tuple(sorted(range(-n, 0), key=lambda i: -abs(strides[i])))
    return a if axes == tuple(range(-n, 0)) else ops.transpose(a, axes=axes)


# ---- axes of length one


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Value:
    a = array(a)
    shape = shape_of(a)
    if type(axis) is int:
        at = normalize_axis_index(axis, len(shape) + 1)
        return ops.reshape(a, shape=(*shape[:at], 1, *shape[at:]))
    axis = axis if isinstance(axis, (tuple, list)) else (axis,)
    n = len(shape) + len(axis)
    ones, rest = normalize_axis_tuple(axis, n), iter(shape)
    return ops.reshape(a, shape=tuple([1 if i in ones else next(rest) for i in range(n)]))


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Value:
    a = array(a)
    shape = shape_of(a)
    new = tuple([n for n in shape if n != 1]) if axis is None else dummy(shape).squeeze(axis).shape
    return a if new == shape else ops.reshape(a, shape=new)


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    return _each(arys, lambda shape: shape or (1,))


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    return _each(arys, lambda shape: shape if len(shape) >= 2 else (1, *(shape or (1,))))


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    return _each(arys, lambda shape: shape if len(shape) >= 3 else (*shape, 1) if len(shape) == 2 else (1, *(shape or (1,)), 1))


def _each(arys: tuple[Any, ...], at_least: Callable[[Shape], Shape]) -> Any:
    out = [_shaped(array(a), at_least) for a in arys]
    return out[0] if len(out) == 1 else tuple(out)


def _shaped(a: Value, at_least: Callable[[Shape], Shape]) -> Value:
    old = shape_of(a)
    new = at_least(old)
    return a if new == old else ops.reshape(a, shape=new)


def with_rank(a: Value, ndim: int) -> Value:
    """Ones in front, until there are `ndim` axes."""
    shape = shape_of(a)
    return a if len(shape) >= ndim else ops.reshape(a, shape=(1,) * (ndim - len(shape)) + shape)


# ---- broadcasting


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: Any = False) -> Value:
    x, shape = _array(array), sizes(shape)
    return x if shape and shape_of(x) == shape else ops.broadcast_to(x, shape=shape)


_array = array


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: Any = False) -> tuple[Value, ...]:
    xs = list(map(array, args))
    shape = np.broadcast_shapes(*map(shape_of, xs))
    return tuple([broadcast_to(x, shape) for x in xs])
