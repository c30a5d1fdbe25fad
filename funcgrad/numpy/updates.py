"""The functional updates of `x.at`: changed copies, in the dtype of `x`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bounds import checked_mode, clipped, filled, inside
from funcgrad.numpy.bridge import array
from funcgrad.numpy.indexing import flat, index_of, split
from funcgrad.ops.indexing import Index, Slot, add_at, getitem, max_at, min_at, occurrences, places_of, put
from funcgrad.ops.indexing import fill as filled_in
from funcgrad.ops.shaping import broadcast_to, cast, reshape

DIRECT: dict[str, Callable[..., Value]] = {"set": put, "add": add_at, "max": max_at, "min": min_at}
"""Updates that are a primitive."""

OPERATORS: dict[str, Callable[[Value, Value], Value]] = {"multiply": operator.mul, "divide": operator.truediv, "power": operator.pow}
"""Updates that are made once more for each time the index names an element."""


def updated(how: str, x: Value, index: Index, v: Any, mode: str | None = None) -> Value:
    """A copy of `x` in which `v` has been put at `index`, once for each time the index names an element.

    With `how` "apply", `v` is a function of what is there.
    """
    mode = checked_mode(mode, f"x.at[…].{how}")
    v = v if how == "apply" else array(v)
    if mode in ("drop", "fill"):
        return _dropped(how, x, index, v)
    parts, arrays = split(index if mode == "raise" else clipped(x, index))
    shape = shape_of(getitem(x, *arrays, index=parts))
    return _put(how, x, parts, arrays, v if how == "apply" else fitted(how, v, x, shape))


def _put(how: str, x: Value, parts: Index, arrays: tuple[Any, ...], v: Any) -> Value:
    if how == "subtract":
        how, v = "add", -v
    if how in DIRECT:
        return DIRECT[how](x, v, *arrays, index=parts)
    if arrays:
        return _in_rounds(how, x, v, *occurrences(*arrays, index=parts, shape=shape_of(x)))
    return put(x, _moved(how, x, getitem(x, index=parts), v), index=parts)


def _moved(how: str, x: Value, there: Value, v: Any) -> Value:
    """What comes in the place of what is there."""
    new = array(v(there)) if how == "apply" else OPERATORS[how](there, v)
    return fitted(how, new, x, shape_of(there))


def _in_rounds(how: str, x: Value, v: Any, places: Any, times: Any) -> Value:
    """One round for the first time each place is named, one for the second…: right at zeros, where a quotient is not."""
    out, v = flat(x), v if how == "apply" else flat(v)
    for k in range(int(times.max(initial=-1)) + 1):
        now = np.flatnonzero(times == k)
        at = places[now]
        there = getitem(out, at, index=(Slot(0),))
        new = _moved(how, x, there, v if how == "apply" else getitem(v, now, index=(Slot(0),)))
        out = put(out, new, at, index=(Slot(0),))
    return reshape(out, shape=shape_of(x))


def _dropped(how: str, x: Value, index: Index, v: Any) -> Value:
    """The update where the index points inside, on the elements in C order."""
    mask, parts, arrays = inside(x, index)
    shape = np.shape(mask)
    if how != "apply":
        v = getitem(flat(fitted(how, v, x, shape)), np.flatnonzero(mask), index=(Slot(0),))
    if not np.any(mask):
        return x
    places = np.asarray(places_of(shape_of(x), filled_in(parts, arrays)))[mask]
    return reshape(_put(how, flat(x), (Slot(0),), (places.reshape(-1),), v), shape=shape_of(x))


def read(x: Value, index: Index, mode: str | None = None, fill_value: Any = None) -> Value:
    """`x[index]`, or what `mode` makes of it where that is outside."""
    mode = checked_mode(mode, "x.at[…].get")
    if mode in ("drop", "fill"):
        return filled(x, index, fill_value)
    return index_of(x, index if mode == "raise" else clipped(x, index))


def fitted(how: str, v: Value, x: Value, shape: tuple[int, ...]) -> Value:
    """`v` in the dtype of `x` and of the shape it goes to; extra leading ones are dropped, as in NumPy's assignment."""
    v = in_dtype(f"x.at[…].{how}", v, dtype_of(x), "Use `x.astype({})` first.")
    mine = shape_of(v)
    extra = len(mine) - len(shape)
    if extra > 0 and mine[:extra] == (1,) * extra:
        v = reshape(v, shape=mine[extra:])
    return v if shape_of(v) == shape else broadcast_to(v, shape=shape)


def in_dtype(verb: str, v: Value, dtype: np.dtype[Any], instead: str) -> Value:
    """`v` in the dtype of what it is written into; what would lose more than digits is refused."""
    found = np.result_type(dtype, v if type(v) in (int, float, complex) else dtype_of(v))
    if not np.can_cast(found, dtype, "same_kind"):
        what = f"a value of {dtype_of(v)} does not fit into {dtype}, the dtype it is written to."
        raise errors.ArgumentTypeError(verb, f"{what} {instead.format(found)}")
    return cast(v, dtype)
