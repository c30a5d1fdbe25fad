"""Python functions applied to parts of an array: piecewise, along one axis, over several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.axes import permuted
from funcgrad.numpy.bridge import array
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import expand_dims
from funcgrad.ops.indexing import Slot, getitem, nonzero, put
from funcgrad.ops.shaping import broadcast_to, cast, reshape, stack


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Value:
    """The functions see the elements of their piece alone; where pieces overlap, the last one counts."""
    x = operand(array(x))
    conditions = _conditions(x, condlist, len(funclist))
    y: Value = np.zeros(shape_of(x), dtype_of(x))
    for condition, function in zip(conditions, funclist, strict=True):
        mask = broadcast_to(condition, shape=shape_of(x))
        where = nonzero(mask) if shape_of(x) else (mask,)
        slots = tuple([Slot(k) for k in range(len(where))])
        values = getitem(x, *where, index=slots)
        if callable(function):
            if not shape_of(values)[0]:
                continue
            new = function(values, *args, **kw)
        else:
            new = function
        new = broadcast_to(cast(operand(array(new)), dtype_of(x)), shape=shape_of(values))
        y = put(y, new, *where, index=slots)
    return y if shape_of(x) else broadcast_to(y, shape=())  # NumPy gives a 0-d array


def _is_array(condition: Any) -> bool:
    return isinstance(condition, (list, np.ndarray)) or (isinstance(condition, Traced) and bool(shape_of(condition)))


def _conditions(x: Value, condlist: Any, functions: int) -> list[Any]:
    """One mask per function; the last may be what no other holds."""
    if np.isscalar(condlist) or (isinstance(condlist, Traced) and not shape_of(condlist)) or (shape_of(x) and not _is_array(condlist[0])):
        condlist = [condlist]
    found = [c != 0 for c in map(array, condlist)]
    if len(found) == functions - 1:
        some = found[0]
        for c in found[1:]:
            some = some | c
        return [*found, ~some]
    if len(found) != functions:
        raise ValueError(f"with {len(found)} condition(s), either {len(found)} or {len(found) + 1} functions are expected")
    return found


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Value:
    """One call per row; the first result says which shape and dtype all have."""
    arr = operand(array(arr))
    n = len(shape_of(arr))
    axis = normalize_axis_index(axis, n)
    rows = permuted(arr, [*[i for i in range(n) if i != axis], axis])
    around = shape_of(rows)[:-1]
    if 0 in around:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [operand(array(func1d(rows[(*i, ...)], *args, **kwargs))) for i in np.ndindex(*around)]
    inner, dtype = shape_of(results[0]), dtype_of(results[0])
    made = [broadcast_to(cast(r, dtype), shape=inner) if shape_of(r) != inner else cast(r, dtype) for r in results]
    whole = reshape(stack(*made, axis=-1 - len(inner)), shape=around + inner)
    first, last = range(len(around)), range(len(around), len(around) + len(inner))
    return permuted(whole, [*first[:axis], *last, *first[axis:]])


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Value:
    value = operand(array(a))
    n = len(shape_of(value))
    for axis in [axes] if np.ndim(axes) == 0 else axes:
        axis = n + axis if axis < 0 else axis
        result = func(value, axis)
        if len(shape_of(result)) != n:
            result = expand_dims(result, axis)
            if len(shape_of(result)) != n:
                raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value
