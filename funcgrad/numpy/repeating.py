"""Elements repeated, left out and put in between: gathers by constant indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Traced, Value, dtype_of, ground, shape_of
from funcgrad.numpy.axes import moveaxis
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import Shape, broadcast_to, negative_axis, ravel, sizes, with_rank
from funcgrad.ops import shaping as ops
from funcgrad.ops.indexing import Slot, getitem
from funcgrad.ops.kinds import constant


def gathered(a: Value, at: Any, axis: int) -> Value:
    """`a` at constant positions along an axis counted from the end."""
    return getitem(a, at, index=(Ellipsis, Slot(0)) + (slice(None),) * (-axis - 1))


def _flat_or_along(a: Value, axis: Any) -> tuple[Value, int]:
    return (ravel(a), -1) if axis is None else (a, negative_axis(axis, len(shape_of(a))))


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Value:
    a = array(a)
    a, axis = _flat_or_along(a if shape_of(a) else ravel(a), axis)
    shape = shape_of(a)
    at, n = len(shape) + axis, shape[axis]
    if type(repeats) is int and repeats >= 0:
        before, after = shape[:at], shape[at + 1 :]
        wide = ops.broadcast_to(ops.reshape(a, shape=(*before, n, 1, *after)), shape=(*before, n, repeats, *after))
        return ops.reshape(wide, shape=(*before, n * repeats, *after))
    return gathered(a, np.repeat(np.arange(n), repeats), axis)


@implements(np.tile)
def tile(A: Any, reps: Any) -> Value:
    a, reps = array(A), sizes(reps)
    n = max(len(reps), len(shape_of(a)))
    reps = (1,) * (n - len(reps)) + reps
    shape = (1,) * (n - len(shape_of(a))) + shape_of(a)
    if all(r == 1 for r in reps):
        return broadcast_to(a, shape)
    single = tuple([s for size in shape for s in (1, size)])
    copies = tuple([s for r, size in zip(reps, shape, strict=True) for s in (r, size)])
    wide = ops.broadcast_to(ops.reshape(a, shape=single), shape=copies)
    return ops.reshape(wide, shape=tuple([r * size for r, size in zip(reps, shape, strict=True)]))


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Value:
    a, shape = ravel(array(a)), sizes(new_shape)
    if min(shape, default=0) < 0:
        raise ValueError("all elements of `new_shape` must be non-negative")
    n, size = shape_of(a)[0], math.prod(shape)
    if n == 0 or size == 0:
        return np.zeros(shape, dtype_of(a))
    return ops.reshape(a if size == n else gathered(a, np.arange(size) % n, -1), shape=shape)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Value:
    arr, axis = _flat_or_along(array(arr), axis)
    return gathered(arr, np.delete(np.arange(shape_of(arr)[axis]), _constant(obj)), axis)


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: Any = "fb", axis: Any = None) -> Value:
    a = array(filt)
    np.trim_zeros(np.zeros(0), trim)  # raises NumPy's sentence about `trim`
    along = axis if axis is None or isinstance(axis, int) else tuple(axis)
    front, back = trimmed(a != 0, front="f" in trim.lower(), back="b" in trim.lower(), axis=along)
    n = len(shape_of(a))
    return getitem(a, index=tuple([slice(int(front[i]), int(back[i])) for i in range(n)]))


def _trimmed(holds: Any, *, front: bool, back: bool, axis: Any) -> tuple[Any, Any]:
    along = {} if axis is None else {"axis": axis}
    shape = np.array(holds.shape)
    start = shape - np.trim_zeros(holds, "f", **along).shape if front else 0 * shape
    return start, np.array(np.trim_zeros(holds, "b", **along).shape) if back else shape


trimmed = constant(_trimmed, name="trimmed")
"""Where what `np.trim_zeros` leaves begins and ends, along each axis."""


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Value:
    arr, axis = _flat_or_along(array(arr), axis)
    obj, values, shape = _constant(obj), array(values), shape_of(arr)
    values = ops.cast(values, dtype_of(arr))
    n, new = shape[axis], _inserted(shape[axis], obj)
    if new is None or new == 1:
        values = with_rank(values, len(shape))
        if new is None:
            values = moveaxis(values, 0, axis)
        new = shape_of(values)[axis]
    rows = tuple([new if i == axis else shape[i] for i in range(-len(shape), 0)])
    joined = ops.concatenate(arr, _assigned(values, rows), axis=axis)
    return gathered(joined, np.insert(np.arange(n), obj, n + np.arange(new)), axis)


def _inserted(n: int, obj: Any) -> int | None:
    """How many positions are named; None where it is one integer, before which any number of values may go."""
    if not isinstance(obj, slice) and np.ndim(obj) == 0:
        return None
    return len(np.insert(np.arange(n), obj, 0)) - n


def _assigned(values: Value, shape: Shape) -> Value:
    """`values` as `x[...] = values` would broadcast them, which forgives leading ones."""
    extra = len(shape_of(values)) - len(shape)
    if extra > 0:
        values = ops.reshape(values, shape=shape_of(values)[extra:])
    return ops.broadcast_to(values, shape=shape)


def _constant(obj: Any) -> Any:
    """Positions, which are integers: a traced one has none to give."""
    if isinstance(obj, Traced):
        raise IndexError(f"positions must be integers or booleans, got a traced {dtype_of(ground(obj))}.")
    return obj
