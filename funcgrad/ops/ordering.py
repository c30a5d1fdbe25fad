"""Order statistics: which element stands where. Sorting is reading by the permutation of a stable sort.

An order statistic (median, quantile…) is NumPy's value; its derivative reads, at the place NumPy interpolated at, the
tangents of the two neighbours. That place is found by asking NumPy for the same statistic of the elements' ranks, which
holds for every method, with weights, and where nans are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, shape_of
from funcgrad.ops.indexing import gather, getitem
from funcgrad.ops.kinds import constant, differentiable


def stable_argsort(x: Any, axis: int = -1) -> Any:
    return np.argsort(x, axis=axis, stable=True)


argsort = constant(lambda x, *, axis, kind, stable: np.argsort(x, axis=axis, kind=kind, stable=stable), name="argsort")
argpartition = constant(lambda x, *, axis, kth, kind: np.argpartition(x, kth, axis=axis, kind=kind), name="argpartition")
lexsort = constant(lambda *keys, axis: np.lexsort(keys, axis), name="lexsort")
digitize = constant(lambda x, bins, *, right: np.digitize(x, bins, right), name="digitize")
unique_places = constant(
    lambda x, *, axis, equal_nan: tuple(np.unique(x, True, True, True, axis=axis, equal_nan=equal_nan)[1:]), name="unique_places"
)
"""Where each distinct element stands first, which of them each element is, and how often each stands."""

searchsorted = constant(lambda a, v, *sorter, side: np.searchsorted(a, v, side, *sorter), name="searchsorted")


def _partition_order(x: Any, *, axis: int, kth: Any, kind: str) -> Any:
    """The places from which NumPy's partition took its elements; of equal ones, in their order."""
    order = np.empty(x.shape, np.intp)
    np.put_along_axis(order, stable_argsort(np.partition(x, kth, axis=axis, kind=kind), axis), stable_argsort(x, axis), axis)  # type: ignore[call-overload]
    return order


partition_order = constant(_partition_order, name="partition_order")


# ---- order statistics of the last axis; the levels `q`, 0-d or 1-D, come last


def _statistic(x: Any, *rest: Any, of: str, **keywords: Any) -> Any:
    """`np.<of>` of the last axis; `rest` is the level and the weights, where there are any."""
    level, weights = rest[:1], rest[1:]
    if weights:
        keywords["weights"] = weights[0]
    out = getattr(np, of)(x, *level, axis=-1, **keywords)
    return np.moveaxis(out, 0, -1) if level and np.ndim(level[0]) else out


def _neighbours(x: Any, *rest: Any, of: str, **keywords: Any) -> tuple[Any, Any, Any]:
    """Where the two elements stand that a statistic lies between, and how far it is from the first to the second."""
    n = x.shape[-1]
    order = stable_argsort(x)
    ranks = np.empty(x.shape)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(n, dtype=float), x.shape), -1)
    ranks[np.isnan(x)] = np.nan
    place = np.asarray(_statistic(ranks, *rest, of=of, **keywords), dtype=float)
    if not (rest and np.ndim(rest[0])):
        place = place[..., None]
    place = np.where(np.isnan(place), n - 1, place)  # a nan is the last of all
    low = np.floor(place).astype(np.intp)
    high = low + (place > low)
    return np.take_along_axis(order, low, -1), np.take_along_axis(order, high, -1), (place - low).astype(x.dtype)


neighbours = constant(_neighbours, name="neighbours")


def _statistic_tangent(out: Value, args: tuple[Value, ...], tangents: tuple[Value, ...], **params: Any) -> Value:
    x, dx = args[0], tangents[0]
    if shape_of(x)[-1] == 0:
        return None
    low, high, way = neighbours(*args, **params)
    made = gather(dx, low, axis=-1, once=False) * (1 - way) + gather(dx, high, axis=-1, once=False) * way
    rest = len(shape_of(out))
    if len(shape_of(made)) == rest:
        return made
    before = (...,) if len(args) == 3 else (slice(None),) * rest  # with weights NumPy gives 0-d arrays, without them scalars
    return getitem(made, index=(*before, 0))


statistic = differentiable("statistic", _statistic, _statistic_tangent)
"""Differentiable in `x`; the level and the weights are fixed."""
