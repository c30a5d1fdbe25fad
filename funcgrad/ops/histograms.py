"""Counting in bins: which bin each element falls into has zero derivative, and what is added up there is linear."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.kinds import constant


def _bins_of(x: Any, edges: Any) -> Any:
    """The bin of each element, and the number of bins for those in none. Bins are half-open, but the last has both its edges."""
    edges = np.asarray(edges)
    last = len(edges) - 2
    i = np.searchsorted(edges, x, "right") - 1
    i = np.where(x == edges[-1], last, i)
    return np.where((i < 0) | (i > last) | (x != x), last + 1, i)


bins_of = constant(_bins_of, name="bins_of")


def _edges_of(x: Any, *rest: Any, bins: int | str, limited: bool) -> Any:
    """NumPy's edges of equal bins; `rest` is the two limits, if `limited`, and the weights, if any."""
    limits, weights = (rest[:2], rest[2:]) if limited else (None, rest)
    return np.histogram_bin_edges(x, bins, limits, *weights)


edges_of = constant(_edges_of, name="edges_of")
counted = constant(lambda x, *, minlength: np.bincount(x, None, minlength), name="counted")
