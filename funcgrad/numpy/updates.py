"""The functional updates of `x.at`: changed copies, in the dtype of `x`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.indexing import flat, split
from funcgrad.ops.indexing import Slot, add_at, getitem, max_at, min_at, occurrences, put
from funcgrad.ops.shaping import broadcast_to, cast, reshape

DIRECT = {"set": put, "add": add_at, "max": max_at, "min": min_at}


def updated(how: str, x: Value, index: Any, v: Any) -> Value:
    """A copy of `x` in which `v` has been put at `index`, once for each time the index names an element."""
    parts, arrays = split(index)
    there = getitem(x, *arrays, index=parts)
    v = fitted(how, array(v), x, shape_of(there))
    if how in DIRECT:
        return DIRECT[how](x, v, *arrays, index=parts)
    if not arrays:
        return put(x, there * v, index=parts)
    return _multiplied(x, v, *occurrences(*arrays, index=parts, shape=shape_of(x)))


def _multiplied(x: Value, v: Value, places: Any, times: Any) -> Value:
    """One round for the first time each place is named, one for the second…: right at zeros, where a quotient is not."""
    out, v = flat(x), flat(v)
    for k in range(int(times.max(initial=-1)) + 1):
        now = np.flatnonzero(times == k)
        at = (places[now],)
        out = put(out, getitem(out, *at, index=(Slot(0),)) * getitem(v, now, index=(Slot(0),)), *at, index=(Slot(0),))
    return reshape(out, shape=shape_of(x))


def fitted(how: str, v: Value, x: Value, shape: tuple[int, ...]) -> Value:
    """`v` in the dtype of `x` and of the shape it goes to; extra leading ones are dropped, as in NumPy's assignment."""
    dtype = dtype_of(x)
    found = np.result_type(dtype, v if type(v) in (int, float, complex) else dtype_of(v))
    if not np.can_cast(found, dtype, "same_kind"):
        raise errors.ArgumentTypeError(
            f"x.at[…].{how}", f"a value of {dtype_of(v)} does not fit into {dtype}, the dtype of x. Use `x.astype({found})` first."
        )
    v = cast(v, dtype)
    mine = shape_of(v)
    extra = len(mine) - len(shape)
    if extra > 0 and mine[:extra] == (1,) * extra:
        v = reshape(v, shape=mine[extra:])
    return v if shape_of(v) == shape else broadcast_to(v, shape=shape)
