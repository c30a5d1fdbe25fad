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
from funcgrad.ops.kinds import constant, linear
from funcgrad.ops.shaping import reshape, sum_to

Index = Any


@attrs.frozen
class Slot:
    """The place of the k-th array operand in an index."""

    k: int


def fill(index: Index, arrays: Sequence[Any]) -> Index:
    """The NumPy index, with the arrays in their slots."""
    if not arrays:
        return index
    return tuple(arrays[i.k] if type(i) is Slot else i for i in index)


def split(index: Index) -> tuple[Index, tuple[Any, ...]]:
    """Take the arrays (lists, masks) out of an index; without any, the index stays as it is."""
    if not isinstance(index, tuple):
        index = (index,)
    arrays: list[Any] = []
    parts: list[Any] = []
    for i in index:
        if i is None or i is Ellipsis or isinstance(i, (int, slice, np.integer)) and not isinstance(i, (bool, np.bool)):
            parts.append(i)
        else:
            parts.append(Slot(len(arrays)))
            arrays.append(np.asarray(i, dtype=np.intp) if isinstance(i, list) and not i else np.asarray(i) if isinstance(i, (list, bool)) else i)
    return tuple(parts), tuple(arrays)


def _scatter_add(ct: Any, *arrays: Any, index: Index, shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, np.result_type(ct))
    where_to = fill(index, arrays)
    if arrays:
        np.add.at(out, where_to, ct)
    else:
        out[where_to] += ct
    return out


getitem = linear(
    "getitem",
    lambda x, *arrays, index: x[fill(index, arrays)],
    lambda ct, x, *arrays, index: scatter_add(ct, *arrays, index=index, shape=x.shape),
)

scatter_add = linear(
    "scatter_add",
    _scatter_add,
    lambda ct, x, *arrays, index, shape: getitem(ct, *arrays, index=index),
)
"""Zeros of `shape`, with the operand added where `index` points, once for each time."""


def _put(x: Any, v: Any, *arrays: Any, index: Index) -> Any:
    out = np.array(x)
    out[fill(index, arrays)] = v
    return out


def _winners(*arrays: Any, index: Index, shape: tuple[int, ...]) -> Any:
    """Which of the written elements stay: of several written to one place, the last."""
    at = fill(index, arrays)
    places = np.arange(np.prod(shape, dtype=int)).reshape(shape)[at]
    order = np.arange(places.size).reshape(places.shape)
    last = np.zeros(shape, int)
    last[at] = order
    return last[at] == order


winners = constant(_winners, name="winners")


def _put_back(ct: Value, x: Spec, v: Spec, *arrays: Any, index: Index) -> tuple[Value, Value]:
    there = getitem(ct, *arrays, index=index)
    if arrays:
        there = where(winners(*arrays, index=index, shape=x.shape), there, 0)
    return put(ct, 0, *arrays, index=index), _fit(there, v.shape)


def _fit(ct: Value, shape: tuple[int, ...]) -> Value:
    """The cotangent of a value that was assigned, which NumPy lets have extra leading ones."""
    extra = len(shape) - len(shape_of(ct))
    return sum_to(ct, shape=shape) if extra <= 0 else reshape(sum_to(ct, shape=shape[extra:]), shape=shape)


put = linear("put", _put, _put_back, operands=2)
"""`x` with `v` written where `index` points."""
