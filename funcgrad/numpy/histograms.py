"""Histograms: differentiable in the weights and in the edges of the bins; the counts themselves are constant."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy import reductions
from funcgrad.numpy.bridge import array
from funcgrad.numpy.calculus import diff
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.creation import linspace
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.indexing import flat
from funcgrad.numpy.shaping import atleast_2d
from funcgrad.ops import histograms as ops
from funcgrad.ops.contraction import swap
from funcgrad.ops.indexing import Slot, scatter_add
from funcgrad.ops.shaping import astype, cast, reshape


def _added(weights: Value, places: Any, size: int) -> Value:
    return scatter_add(weights, places, index=(Slot(0),), shape=(size,))


# ---- by positions


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Value:
    x = array(x)
    counts = ops.counted(x, minlength=int(operator.index(minlength)))
    if weights is None or not shape_of(x)[0]:
        return counts
    weights = operand(array(weights))
    if not np.can_cast(dtype_of(weights), np.float64, "safe") or shape_of(weights) != shape_of(x):
        return np.bincount(np.asarray(x), np.zeros(shape_of(weights), dtype_of(weights)))  # raises NumPy's sentence
    return _added(cast(weights, np.dtype(np.float64)), np.asarray(x, np.intp), shape_of(counts)[0])


# ---- edges


def _given_edges(bins: Value, name: str) -> Value:
    if len(shape_of(bins)) != 1:
        raise ValueError(f"`{name}` must be 1d, when an array")
    if reductions.any(bins[:-1] > bins[1:]):
        raise ValueError(f"`{name}` must increase monotonically, when an array")
    return bins


def _edges(a: Value, bins: Any, limits: Any, weights: Value | None = None) -> Value:
    """The edges of the bins: NumPy's own, and where the limits are traced, as equal steps between them."""
    if not isinstance(bins, str):
        bins = array(bins)
        if shape_of(bins):
            return _given_edges(bins, "bins")
        bins = operator.index(bins)
    rest = [*([] if limits is None else map(array, limits)), *([] if weights is None else [weights])]
    found = ops.edges_of(a, *rest, bins=bins, limited=limits is not None)
    low, high = _ends(a, limits)
    if not isinstance(low, Traced) and not isinstance(high, Traced):
        return found
    return linspace(low, high, shape_of(found)[0], dtype=dtype_of(found))


def _ends(a: Value, limits: Any) -> tuple[Value, Value]:
    """The first and the last edge."""
    if limits is None and not shape_of(a)[0]:
        return 0.0, 1.0
    low, high = (reductions.min(a), reductions.max(a)) if limits is None else map(array, limits)
    return (low - 0.5, high + 0.5) if low == high else (low, high)


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Value:
    a, w = _data(a, weights)
    return _edges(a, bins, range, w)


# ---- counts


def _widths(edges: Value) -> Value:
    return cast(diff(edges), np.dtype(float))


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple[Value, Value]:
    a, w = _data(a, weights)
    edges = _edges(a, bins, range, w)
    size = shape_of(edges)[0] - 1
    if w is None:
        w = np.ones(shape_of(a), np.intp)
    wide = np.result_type(dtype_of(w), np.float64)
    n = _added(cast(w, wide) if dtype_of(w).kind in "fc" else w, ops.bins_of(a, edges), size + 1)[:-1]
    n = cast(n, dtype_of(w))
    return (n / _widths(edges) / reductions.sum(n) if density else n), edges


def _data(a: Any, weights: Any) -> tuple[Value, Value | None]:
    a, w = operand(array(a)), None if weights is None else operand(array(weights))
    if w is not None and shape_of(w) != shape_of(a):
        raise ValueError("weights should have the same shape as a.")
    if dtype_of(a).kind == "b":
        a = astype(a, dtype=np.dtype(np.uint8))
    return flat(a), None if w is None else flat(w)


# ---- several axes


_EDGES = type(np.histogramdd(np.zeros((1, 1)))[1])
"""A list or a tuple, as NumPy's version has it."""


def _axis_edges(a: Value, bins: Any, limits: Any, name: str) -> Value:
    """As `_edges`, but in the dtype of the limits rather than of the data."""
    bins = array(bins)
    if shape_of(bins):
        return _given_edges(bins, name)
    if bins < 1:
        raise ValueError(f"`{name}` must be positive, when an integer")
    found = _edges(a, bins, limits)
    return linspace(*_ends(a, limits), shape_of(found)[0])


@implements(np.histogramdd)
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple[Value, Any]:
    x = array(sample)
    if not isinstance(sample, (Traced, np.ndarray)) or len(shape_of(x)) != 2:
        x = swap(atleast_2d(x))
    count, axes = shape_of(x)
    per_axis = list(bins) if isinstance(bins, Sequence) or shape_of(array(bins)) else [bins] * axes
    limits = [None] * axes if range is None else list(range)
    if len(per_axis) != axes:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if len(limits) != axes:
        raise ValueError("range argument must have one entry per dimension")
    columns = [x[:, i] for i in np.arange(axes).tolist()]
    edges = _EDGES([_axis_edges(c, b, r, f"bins[{i}]") for i, (c, b, r) in enumerate(zip(columns, per_axis, limits, strict=True))])
    sizes = tuple([shape_of(e)[0] for e in edges])  # one more than there are bins: what is in none
    w = np.ones(count) if weights is None else cast(operand(array(weights)), np.dtype(np.float64))
    where = tuple([ops.bins_of(c, e) for c, e in zip(columns, edges, strict=True)])
    slots = tuple([Slot(k) for k in np.arange(axes).tolist()])
    n = scatter_add(w, *where, index=slots, shape=sizes)[(slice(None, -1),) * axes]
    if density:
        total = reductions.sum(n)
        for i, e in enumerate(edges):
            n = n / reshape(diff(e), shape=(sizes[i] - 1,) + (1,) * (axes - 1 - i))
        n = n / total
    return n, edges


@implements(np.histogram2d)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple[Value, Value, Value]:
    x, y = array(x), array(y)
    if shape_of(x)[0] != shape_of(y)[0]:
        raise ValueError("x and y must have the same length.")
    both = [bins, bins] if isinstance(bins, Iterable) and len(bins) not in (1, 2) else bins  # type: ignore[arg-type]
    n, edges = histogramdd([x, y], both, range, density, weights)
    return n, edges[0], edges[1]
