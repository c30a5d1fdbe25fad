"""Linear interpolation between sampled points."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.calculus import joined
from funcgrad.numpy.dispatch import implements
from funcgrad.ops.elementwise import where
from funcgrad.ops.indexing import Slot, getitem, scalar
from funcgrad.ops.kinds import constant
from funcgrad.ops.ordering import argsort
from funcgrad.ops.shaping import cast


def _double(x: Any, dtype: Any = np.float64) -> Value:
    """`x` in double precision, refused where NumPy refuses."""
    x = array(x)
    if not np.can_cast(dtype_of(x), dtype, "safe"):
        raise TypeError(f"Cannot cast array data from {dtype_of(x)!r} to {np.dtype(dtype)!r} according to the rule 'safe'")
    return cast(x, np.dtype(dtype))


def _segments(x: Any, xp: Any) -> tuple[Any, Any]:
    """The segment of each `x`, and the end of it to measure from: at the last point that one, so that its value is exact."""
    low = np.clip(np.searchsorted(xp, x, "right") - 1, 0, len(xp) - 2)
    return low, np.where(x == xp[-1], low + 1, low)


segments = constant(_segments, name="segments")


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Value:
    """At a point of `xp` the slope is that of the segment to the right; outside it is 0."""
    x, xp, fp = _double(x), _double(xp), array(fp)
    fp = _double(fp, np.complex128 if dtype_of(fp).kind == "c" else np.float64)
    if len(shape_of(xp)) != 1 or len(shape_of(fp)) != 1:
        raise ValueError("Data points must be 1-D sequences")
    if shape_of(xp) != shape_of(fp):
        raise ValueError("fp and xp are not of the same length.")
    if not shape_of(xp)[0]:
        raise ValueError("array of sample points is empty")
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    out = _between(x, xp, fp)
    out = where(x < xp[0], fp[0] if left is None else _double(left, dtype_of(fp)), out)
    return scalar(where(x > xp[-1], fp[-1] if right is None else _double(right, dtype_of(fp)), out))


def _between(x: Value, xp: Value, fp: Value) -> Value:
    if shape_of(xp)[0] == 1:
        return where(x == x, fp[0], x)
    low, near = segments(x, xp)
    next_x, next_f, low_x, low_f = (_at(v, i) for i in (low + 1, low) for v in (xp, fp))
    width = next_x - low_x
    slope = (next_f - low_f) / where(width == 0, 1.0, width)
    return slope * (x - _at(xp, near)) + _at(fp, near)


def _at(x: Value, i: Value) -> Value:
    """`x[i]`, where the positions may be traced although `x` is not."""
    return getitem(x, i, index=(Slot(0),))


def _periodic(x: Value, xp: Value, fp: Value, period: Any) -> tuple[Value, Value, Value]:
    """Everything moved into one period, with a point of the neighbouring ones on either side."""
    if period == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(array(period))
    x, xp = x % period, xp % period
    order = argsort(xp, axis=-1, kind=None, stable=None)
    xp, fp = _at(xp, order), _at(fp, order)
    return x, joined([xp[-1:] - period, xp, xp[:1] + period], -1), joined([fp[-1:], fp, fp[:1]], -1)
