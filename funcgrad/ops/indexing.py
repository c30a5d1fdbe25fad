"""Reading and replacing elements by an index, and the transposes.

Index arrays are operands, never params: `index` is the index with `Slot(k)` where the k-th array stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad.core import Spec, Value, shape_of
from funcgrad.ops.elementwise import where
from funcgrad.ops.kinds import Linear, constant, differentiable, linear, total

Index = Any


@attrs.frozen
class Slot:
    """The place of the k-th array operand in an index."""

    k: int


def fill(index: Index, arrays: Sequence[Any]) -> Index:
    """The NumPy index, with the arrays in their slots."""
    if not arrays:
        return index
    return tuple([arrays[i.k] if type(i) is Slot else i for i in index])


def number(x: Any) -> Any:
    """A 0-d array as the scalar it holds."""
    return x if x.ndim else x[()]


def scalar(x: Value) -> Value:
    """As `number`, of a value that may be traced."""
    return x if shape_of(x) else getitem(x, index=())


# ---- reading, and adding up where it was read


def _names_each_once(arrays: Sequence[Any]) -> bool:
    """Whether an index with these arrays cannot name an element twice: one mask, or single positions."""
    return (len(arrays) == 1 and np.asarray(arrays[0]).dtype.kind == "b") or all(np.ndim(a) == 0 for a in arrays)


def places_of(shape: tuple[int, ...], at: Index) -> Any:
    """The positions, counted in C order, that an index names."""
    return np.arange(np.prod(shape, dtype=np.intp)).reshape(shape)[at]


def _scatter_add(ct: Any, *arrays: Any, index: Index, shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, ct.dtype)
    at = fill(index, arrays)
    if not arrays or _names_each_once(arrays):
        out[at] = ct
    elif len(shape) == 1:
        np.add.at(out, at, ct)
    else:  # on one axis `np.add.at` is five times as fast as on several
        np.add.at(out.reshape(-1), places_of(shape, at).reshape(-1), ct.reshape(-1))
    return number(out)


getitem = linear(
    "getitem",
    lambda x, *arrays, index: x[fill(index, arrays)],
    lambda ct, x, *arrays, index: scatter_add(ct, *arrays, index=index, shape=x.shape),
)

scatter_add: Linear = linear(
    "scatter_add",
    _scatter_add,
    lambda ct, x, *arrays, index, shape: getitem(ct, *arrays, index=index),
)
"""Zeros of `shape`, with the operand added where `index` points, once for each time."""


# ---- reading along one axis


def _gather_add(ct: Any, i: Any, *, axis: int, shape: tuple[int, ...], once: bool) -> Any:
    out = np.zeros(shape, ct.dtype)
    if once:
        np.put_along_axis(out, i, ct, axis)
        return out
    # The C-order positions that `take_along_axis` reads.
    places = np.take_along_axis(np.arange(out.size).reshape(shape), i, axis)
    np.add.at(out.reshape(-1), places.reshape(-1), ct.reshape(-1))
    return out


gather = linear(
    "gather",
    lambda x, i, *, axis, once: np.take_along_axis(x, i, axis),
    lambda ct, x, i, *, axis, once: gather_add(ct, i, axis=axis, shape=x.shape, once=once),
)
"""`np.take_along_axis`; `once` promises that no element is read twice."""

gather_add: Linear = linear("gather_add", _gather_add, lambda ct, x, i, *, axis, shape, once: gather(ct, i, axis=axis, once=once))
"""The transpose of `gather`."""


# ---- changed copies: `v` has the shape and dtype of what it meets


def _put(x: Any, v: Any, *arrays: Any, index: Index) -> Any:
    out = np.array(x)
    out[fill(index, arrays)] = v
    return number(out)


def _winners(*arrays: Any, index: Index, shape: tuple[int, ...]) -> Any:
    """Which of the written elements stay: of several written to one place, the last."""
    at = fill(index, arrays)
    last = np.zeros(shape, np.intp)
    order = np.arange(last[at].size).reshape(np.shape(last[at]))
    last[at] = order
    return last[at] == order


winners = constant(_winners, name="winners")


def _put_back(ct: Value, x: Spec, v: Spec, *arrays: Any, index: Index) -> tuple[Value, Value]:
    there = getitem(ct, *arrays, index=index)
    if arrays:
        there = where(winners(*arrays, index=index, shape=x.shape), there, 0)
    return put(ct, np.zeros(v.shape, x.dtype), *arrays, index=index), there


put = linear("put", _put, _put_back, operands=2)
"""`x` with `v` written where `index` points; written twice, the last stays."""


def _ufunc_at(ufunc: np.ufunc, x: Any, v: Any, arrays: Sequence[Any], index: Index) -> Any:
    out = np.array(x)
    at = fill(index, arrays)
    if not arrays or _names_each_once(arrays):
        out[at] = ufunc(out[at], v)
    else:
        ufunc.at(out, at, v)
    return number(out)


add_at = linear(
    "add_at",
    lambda x, v, *arrays, index: _ufunc_at(np.add, x, v, arrays, index),
    lambda ct, x, v, *arrays, index: (ct, getitem(ct, *arrays, index=index)),
    operands=2,
)
"""`x` with `v` added where `index` points, once for each time."""


def _shares_at(x: Any, v: Any, out: Any, *arrays: Any, index: Index) -> Any:
    """The shares of `x` and of `v` in an extremum of both, ties shared equally."""
    at = fill(index, arrays)
    mine, theirs = (x == out) | (x != x), (v == out[at]) | (v != v)
    count = mine.astype(np.float64)
    np.add.at(count, at, theirs)
    count = np.maximum(count, 1.0)
    return (mine / count).astype(out.dtype), (theirs / count[at]).astype(out.dtype)


shares_at = constant(_shares_at, name="shares_at")


def _extremum_at_tangent(out: Value, args: tuple[Value, ...], tangents: tuple[Value, ...], *, index: Index) -> Value:
    share_x, share_v = shares_at(args[0], args[1], out, *args[2:], index=index)
    dx, dv = tangents[:2]
    added = None if dv is None else scatter_add(dv * share_v, *args[2:], index=index, shape=share_x.shape)
    return total([None if dx is None else dx * share_x, added])


max_at = differentiable("max_at", lambda x, v, *arrays, index: _ufunc_at(np.maximum, x, v, arrays, index), _extremum_at_tangent)
min_at = differentiable("min_at", lambda x, v, *arrays, index: _ufunc_at(np.minimum, x, v, arrays, index), _extremum_at_tangent)


# ---- what does not depend on the values smoothly

nonzero = constant(lambda x: np.nonzero(x), name="nonzero")


def _occurrences(*arrays: Any, index: Index, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The places an index names, in its order, and for each the how-manieth time it is named."""
    places = np.asarray(places_of(shape, fill(index, arrays))).reshape(-1)
    order = np.argsort(places, stable=True)
    ordered = places[order]
    starts = np.searchsorted(ordered, ordered)
    times = np.empty_like(order)
    times[order] = np.arange(order.size) - starts
    return places, times


occurrences = constant(_occurrences, name="occurrences")
