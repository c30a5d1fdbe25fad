"""Sorting, searching, sets. Equal elements keep their order, as in a stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.indexing import along, flat, negative_axis
from funcgrad.ops import ordering as ops
from funcgrad.ops.indexing import Slot, gather, getitem
from funcgrad.ops.shaping import cast


def _on_axis(a: Any, axis: Any) -> tuple[Value, int]:
    """The array and the axis from the end; None means all elements."""
    a = array(a)
    return (flat(a), -1) if axis is None else (a, negative_axis(a, axis))


def _on_loose_axis(a: Any, axis: Any) -> tuple[Value, int]:
    """As `_on_axis`, but 0-d values have an axis 0, as for NumPy's methods that give positions."""
    a = array(a)
    return _on_axis(a if shape_of(a) else flat(a), axis)


def _check_order(kind: Any, order: Any, stable: Any = None) -> None:
    """NumPy's own errors for its keywords that say how to sort."""
    if kind is not None or order is not None or stable is not None:
        np.sort(np.zeros(1), kind=kind, order=order, stable=stable)


# ---- sorting


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Value:
    _check_order(kind, order, stable)
    a, axis = _on_axis(a, axis)
    return gather(a, ops.argsort(a, axis=axis, kind=None, stable=True), axis=axis, once=True)


@implements(np.sort_complex)
def sort_complex(a: Any) -> Value:
    a = sort(a)
    dtype = dtype_of(a)
    return a if dtype.kind == "c" else cast(a, np.dtype("F" if dtype.char in "bhBH" else "G" if dtype.char == "g" else "D"))


@implements(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    _check_order(kind, order, stable)
    a, axis = _on_loose_axis(a, axis)
    return ops.argsort(a, axis=axis, kind=kind, stable=stable)


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Any:
    keys = [array(k) for k in keys] if isinstance(keys, (list, tuple)) else [keys[i] for i in range(shape_of(keys)[0])]
    return ops.lexsort(*keys, axis=negative_axis(keys[0], axis) if keys and shape_of(keys[0]) else axis)


def _kth(kth: Any) -> Any:
    """The positions as params: an int, or a tuple of ints."""
    kth = np.asarray(kth)
    np.partition(np.zeros(0), np.zeros(0, kth.dtype))  # NumPy's own error where they are no ints
    return int(kth) if kth.ndim == 0 else tuple(kth.tolist())


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Value:
    _check_order(None, order)
    a, axis = _on_axis(a, axis)
    return gather(a, ops.partition_order(a, axis=axis, kth=_kth(kth), kind=kind), axis=axis, once=True)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    _check_order(None, order)
    a, axis = _on_loose_axis(a, axis)
    return ops.argpartition(a, axis=axis, kth=_kth(kth), kind=kind)


# ---- searching


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    return ops.searchsorted(array(a), array(v), *([] if sorter is None else [array(sorter)]), side=side)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    return ops.digitize(array(x), array(bins), right=bool(right))


# ---- sets


def _unique(ar: Any, axis: Any, equal_nan: bool) -> tuple[Value, tuple[Any, Any, Any]]:
    """The distinct elements, each read where it stands first, and the three index arrays NumPy can add."""
    ar = array(ar)
    axis = None if axis is None else negative_axis(ar, axis)
    found = ops.unique_places(ar, axis=axis, equal_nan=equal_nan)
    values = getitem(flat(ar), found[0], index=(Slot(0),)) if axis is None else getitem(ar, found[0], index=along(ar, axis, Slot(0)))
    return values, found


@implements(np.unique)
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any:
    values, found = _unique(ar, axis, equal_nan)
    more = [f for f, wanted in zip(found, (return_index, return_inverse, return_counts), strict=True) if wanted]
    return (values, *more) if more else values


@implements(np.unique_all)
def unique_all(x: Any) -> Any:
    values, (indices, inverse, counts) = _unique(x, None, False)
    return np.unique_all(np.zeros(0))._replace(values=values, indices=indices, inverse_indices=inverse, counts=counts)


@implements(np.unique_counts)
def unique_counts(x: Any) -> Any:
    values, (_, _, counts) = _unique(x, None, False)
    return np.unique_counts(np.zeros(0))._replace(values=values, counts=counts)


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    values, (_, inverse, _) = _unique(x, None, False)
    return np.unique_inverse(np.zeros(0))._replace(values=values, inverse_indices=inverse)


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    return _unique(x, None, False)[0]
