"""Reading by an index, by positions and by masks."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad.core import Traced, Value, shape_of
from funcgrad.numpy.bridge import array, has_traced
from funcgrad.numpy.dispatch import implements
from funcgrad.ops import indexing as ops
from funcgrad.ops.indexing import Index, Slot, gather, getitem
from funcgrad.ops.kinds import constant
from funcgrad.ops.shaping import reshape


def split(index: Index) -> tuple[Index, tuple[Any, ...]]:
    """An index as a tuple with slots, and the arrays (lists, masks) that belong in them."""
    parts: list[Any] = []
    arrays: list[Any] = []
    for i in index if isinstance(index, tuple) else (index,):
        kind = type(i)
        if kind is int or kind is slice or i is None or i is Ellipsis:
            parts.append(i)
        elif not isinstance(i, (np.ndarray, bool, np.bool, Traced)) and hasattr(i, "__index__"):
            parts.append(operator.index(i))
        else:
            parts.append(Slot(len(arrays)))
            arrays.append(_index_array(i))
    return tuple(parts), tuple(arrays)


def _index_array(i: Any) -> Any:
    """The array that NumPy makes of one part of an index; an empty list is one of ints."""
    made = i if isinstance(i, np.ndarray) else array(i)
    if isinstance(made, Traced):
        if made._dtype.kind not in "biu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return made
    made = np.asarray(made)
    return made.astype(np.intp) if made.size == 0 and isinstance(i, list) else made


def index_of(x: Value, index: Any) -> Value:
    """`x[index]`, for every index NumPy takes."""
    if type(index) is int or type(index) is slice:
        return getitem(x, index=(index,))
    parts, arrays = split(index)
    return getitem(x, *arrays, index=parts)


def flat(x: Value) -> Value:
    """The elements of `x` in C order."""
    shape = shape_of(x)
    return x if len(shape) == 1 else reshape(x, shape=(int(np.prod(shape, dtype=int)),))


def negative_axis(x: Value, axis: Any) -> int:
    """One axis counted from the end. Raises NumPy's AxisError."""
    n = len(shape_of(x))
    return int(np.lib.array_utils.normalize_axis_index(operator.index(axis), n)) - n


def along(x: Value, axis: int, what: Any) -> Index:
    """An index that applies `what` to one axis, counted from the end."""
    return (slice(None),) * (len(shape_of(x)) + axis) + (what,)


# ---- by positions


def _positions(i: Any, *, size: int, mode: str) -> Any:
    """Positions as NumPy's `take` understands them; in the mode "raise" the reading itself raises."""
    i = np.asarray(i).astype(np.intp, casting="safe")
    return np.clip(i, 0, size - 1) if mode == "clip" else i % size if mode == "wrap" and size else i


positions = constant(_positions, name="positions")


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: None = None, mode: Any = "raise") -> Value:
    a = array(a)
    if axis is None or not shape_of(a):
        a, axis = flat(a), -1 if axis is None else axis
    if mode not in ("raise", "wrap", "clip"):
        np.take(np.zeros(1), 0, mode=mode)  # raises
    axis = negative_axis(a, axis)
    # NumPy makes ints of what stands in lists, also of empty ones, and refuses arrays of floats.
    i = np.asarray(indices, np.intp) if isinstance(indices, (list, tuple)) and not has_traced(indices) else array(indices)
    i = positions(i, size=shape_of(a)[axis], mode=mode)
    return getitem(a, i, index=along(a, axis, Slot(0)))


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Value:
    arr, indices = array(arr), array(indices)
    if axis is None:
        if len(shape_of(indices)) != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr, axis = flat(arr), -1
    return gather(arr, indices, axis=negative_axis(arr, axis), once=False)


# ---- by masks


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: None = None) -> Value:
    condition = array(condition)
    if len(shape_of(condition)) != 1:
        raise ValueError("condition must be a 1-d array")
    return take(a, ops.nonzero(condition)[0], axis)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Value:
    return take(arr, ops.nonzero(flat(array(condition)))[0])


@implements(np.nonzero)
def nonzero(a: Any) -> Any:
    return ops.nonzero(array(a))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return ops.nonzero(flat(array(a)))[0]


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    return argwhere_of(array(a))


argwhere_of = constant(np.argwhere)
