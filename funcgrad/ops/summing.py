"""Sums of arrays, as `np.add.reduce` gives them, bit for bit; beside a short last axis in less time.

NumPy takes a call of its inner loop for every row there. Two ways around it add the same terms in the same order.

*Along the last axis*, term by term it is one call for every block of rows: NumPy adds up to seven terms one after the other, eight in
pairs, what is left behind them one after the other (pairwise_sum in numpy/_core/src/umath/loops_utils.h.src), and all that to 0.0.

*Along the axis before it*, NumPy adds row after row. Where the axes before these two come behind the summed one, rows are longer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_ndarray = np.ndarray

MANY = 1024
"""Elements; up to here a reduction is as quick."""

BLOCK = 1 << 16
"""Elements that stay in the cache from one term to the next."""

SHORT = 16
"""So long a row is short no more."""


def is_beside_short(shape: tuple[int, ...], axis: Any) -> bool:
    """Whether an array is large, and is summed along a short last axis or the one before it."""
    if math.prod(shape) <= MANY or len(shape) < 2 or shape[-1] >= SHORT:
        return False
    return axis == (-1,) or (axis == (-2,) and shape[-1] > 1 and math.prod(shape[:-2]) >= 4)


def summed(x: Any, axis: tuple[int, ...]) -> Any:
    """`np.add.reduce(x, axis)` for negative axes."""
    if type(x) is _ndarray and x.size > MANY and is_beside_short(x.shape, axis) and x.dtype.char in "fd":
        if x.flags.c_contiguous:
            return _in_blocks(x) if axis == (-1,) else _row_by_row(x)
        if axis == (-1,) and x.shape[-1] < 8:
            return _in_blocks(x)
    return np.add.reduce(x, axis=axis)


# ---- along the last axis


def _in_blocks(x: _ndarray[Any, Any]) -> Any:
    if x.size <= BLOCK:
        return by_term(x)
    rows = x.reshape(-1, x.shape[-1]) if x.flags.c_contiguous else x
    out = np.empty(rows.shape[:-1], x.dtype)
    step = BLOCK * len(rows) // x.size or 1
    for i in range(0, len(rows), step):
        out[i : i + step] = by_term(rows[i : i + step])
    return out.reshape(x.shape[:-1])


def by_term(x: _ndarray[Any, Any]) -> Any:
    """A sum along a last axis of up to eight terms."""
    t = [x[..., k] for k in range(x.shape[-1])]
    if len(t) >= 8:
        out = _pairs(t)
        rest = t[8:]
    else:
        out = t[0] + t[1] if len(t) > 1 else +t[0]
        rest = t[2:]
    for term in rest:
        out += term
    out += 0.0
    return out


def _pairs(t: list[Any]) -> Any:
    out = t[0] + t[1]
    out += t[2] + t[3]
    other = t[4] + t[5]
    other += t[6] + t[7]
    out += other
    return out


# ---- along the axis before it


def _row_by_row(x: _ndarray[Any, Any]) -> Any:
    """Block after block, each behind the sum so far."""
    *before, n, m = x.shape
    y = x.reshape(-1, n, m).swapaxes(0, 1)
    width = y.shape[1] * m
    step = BLOCK // width or 1
    rows = np.empty((min(step, n) + 1, *y.shape[1:]), x.dtype)
    out: Any = 0
    for i in range(0, n, step):
        part = y[i : i + step]
        rows[0], rows[1 : len(part) + 1] = out, part
        out = np.add.reduce(rows[: len(part) + 1], axis=0)
    return out.reshape(*before, m)
