"""Sums, products, extrema, statistics: NumPy's reductions with all their keywords."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.ops import reductions as ops


def axes_of(x: Value, axis: Any) -> tuple[int, ...]:
    """The axes as a sorted tuple of negative ints; None means all. Raises NumPy's AxisError."""
    n = len(shape_of(x))
    if axis is None:
        return tuple(range(-n, 0))
    return tuple(sorted(i - n for i in np.lib.array_utils.normalize_axis_tuple(axis, n)))


@implements(np.sum)
def sum(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = False, initial: Any = 0, where: Any = True) -> Value:
    a = array(a)
    axis = axes_of(a, axis)
    return ops.sum(a, axis=axis)
