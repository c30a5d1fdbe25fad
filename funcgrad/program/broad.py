"""Arithmetic beside a short last axis, with an operand that is spread along the axis before it: in longer rows.

NumPy takes a call of its inner loop for every row there. What is spread is written out a few times, and as many rows of the other operand
are one. **Law:** each element is computed of the same two.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from funcgrad.program.program import Equation, Shape

OPERATIONS = frozenset("add subtract multiply divide".split())

FEWEST = 1 << 12
"""Elements; with fewer, it is as quick to let NumPy do it."""

SHORT = 24
"""So long a row is short no more."""

WIDE = 256
"""About so long rows are made."""


def is_broad(e: Equation) -> bool:
    """Whether this is such arithmetic."""
    shape = e.outputs[0].shape
    if e.primitive.name not in OPERATIONS or len(shape) < 2 or not 1 < shape[-1] < SHORT or shape[-2] == 1 or math.prod(shape) < FEWEST:
        return False
    x, y = [x.shape for x in e.inputs]
    return _is_spread(x, y, shape) or _is_spread(y, x, shape)


def _is_spread(x: Shape, y: Shape, shape: Shape) -> bool:
    return len(y) > 1 and x[-2:] == shape[-2:] and y[-2:] == (1, shape[-1])


def broad(ufunc: Any, x: Any, y: Any, out: Any = None) -> Any:
    """`ufunc(x, y, out)`. All have their axes in C order, or it is left to NumPy."""
    if not (x.flags.c_contiguous and y.flags.c_contiguous and (out is None or out.flags.c_contiguous)):
        return ufunc(x, y, out=out)
    n, m = max(x.shape[-2], y.shape[-2]), x.shape[-1]
    times = _times(n, m)
    made = ufunc(_wide(x, n, times), _wide(y, n, times), out=None if out is None else _rows(out, times))
    return out if out is not None else made.reshape(*made.shape[:-2], n, m)


def _wide(x: Any, n: int, times: int) -> Any:
    """In rows that are so many times longer; what is one row stands as often in it."""
    if x.shape[-2] == n:
        return _rows(x, times)
    wide = np.empty((*x.shape[:-1], times, x.shape[-1]), x.dtype)
    wide[...] = x[..., None, :]
    return wide.reshape(*x.shape[:-1], -1)


def _rows(x: Any, times: int) -> Any:
    *before, n, m = x.shape
    return x.reshape(*before, n // times, times * m)


@functools.lru_cache(256)
def _times(n: int, m: int) -> int:
    """What divides `n`, and makes rows about as long as they should be."""
    return max(k for k in range(1, WIDE // m + 1) if n % k == 0)
