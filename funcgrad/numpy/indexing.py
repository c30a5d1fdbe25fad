"""Reading by an index, and the functional updates of `x.at`."""

from __future__ import annotations

from typing import Any

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops.elementwise import maximum, minimum, multiply
from funcgrad.ops.indexing import getitem, put, scatter_add, split
from funcgrad.ops.shaping import cast


def index_of(x: Value, index: Any) -> Value:
    """`x[index]`, for every index NumPy takes."""
    parts, arrays = split(index)
    return getitem(x, *arrays, index=parts)


def updated(how: str, x: Value, index: Any, v: Value) -> Value:
    """A copy of `x`, in its dtype, in which `v` has been put at `index`."""
    parts, arrays = split(index)
    v = cast(v, dtype_of(x))
    if how == "set":
        return put(x, v, *arrays, index=parts)
    there = getitem(x, *arrays, index=parts)
    if how == "add":
        from funcgrad.ops.shaping import broadcast_to

        return x + scatter_add(broadcast_to(v, shape=shape_of(there)), *arrays, index=parts, shape=shape_of(x))
    combine = {"multiply": multiply, "min": minimum, "max": maximum}[how]
    return put(x, combine(there, v), *arrays, index=parts)
