"""Sums of arrays, as `np.add.reduce` gives them, bit for bit; along a short last axis in less time.

NumPy takes a call of its inner loop for every row there. Term by term it is one for every block of rows, in the same order: NumPy
adds up to seven terms one after the other, eight in pairs (pairwise_sum in numpy/_core/src/umath/loops_utils.h.src), and then to 0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_ndarray = np.ndarray

MANY = 1024
"""Elements; up to here a reduction is as quick."""

BLOCK = 1 << 16
"""Elements that stay in the cache from one term to the next."""


def summed(x: Any, axis: tuple[int, ...]) -> Any:
    """`np.add.reduce(x, axis)` for negative axes."""
    if type(x) is _ndarray and x.size > MANY and axis == (-1,) and x.ndim > 1 and _is_quicker(x):
        return _in_blocks(x)
    return np.add.reduce(x, axis=axis)


def _is_quicker(x: _ndarray[Any, Any]) -> bool:
    n = x.shape[-1]
    return x.dtype.char in "fd" and (n < 8 or (n == 8 and x.flags.c_contiguous))


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
    if len(t) == 8:
        out = ((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7]))
    else:
        out = t[0] + t[1] if len(t) > 1 else +t[0]
        for term in t[2:]:
            out += term
    out += 0.0
    return out
