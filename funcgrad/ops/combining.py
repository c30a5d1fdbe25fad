"""Weighted sums of many operands of one shape: one node, however many there are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of
from funcgrad.ops.kinds import Constant, Linear, constant, linear
from funcgrad.ops.shaping import cast

Weights = tuple[float, ...]

_float64 = np.float64
_DOUBLE = np.dtype(float)
_SMALL = 2048
"""From this many elements on, one operand after the other is quicker than all in one array, and wakes no threads of BLAS."""


def _combination(*xs: Any, weights: Weights) -> Any:
    first = xs[0]
    if type(first) is not np.ndarray:
        return np.result_type(first).type(sum([x * w for x, w in zip(xs, weights, strict=True)]))
    if first.size < _SMALL:
        rows = np.array(xs)
        factors = np.array(weights) if rows.dtype is _DOUBLE else np.array(weights, rows.real.dtype)
        return factors.dot(rows) if rows.ndim == 2 else factors.dot(rows.reshape(len(xs), first.size)).reshape(first.shape)
    out = first * weights[0]
    for x, w in zip(xs[1:], weights[1:], strict=True):
        if w:
            out += x * w
    return out


def _combination_back(ct: Value, *xs: Spec, weights: Weights) -> tuple[Value | None, ...]:
    dtype = dtype_of(ct)
    parts = [None if not w else ct if w == 1 else ct * w for w in weights]
    return tuple([part if part is None or x.dtype is dtype else cast(part, x.dtype) for part, x in zip(parts, xs, strict=True)])


combination: Linear = linear("combination", _combination, _combination_back, operands=None)
"""Σ wᵢ xᵢ, where all xᵢ have one shape and dtype, and the weights are real numbers."""


def _misfit(x: Any, y: Any, *parts: Any, weights: Weights, rtol: float, atol: float, rank: int) -> Any:
    with np.errstate(all="ignore"):  # what is not finite comes out as nan
        error = abs(_combination(*parts, weights=weights)) / (atol + rtol * np.maximum(abs(x), abs(y)))
        if not rank:
            return error
        if error.ndim == 1:
            return _float64(math.sqrt(error.dot(error) / max(error.size, 1)))
        return np.sqrt(np.add.reduce(error * error, tuple(range(-rank, 0))) / max(math.prod(error.shape[error.ndim - rank :]), 1))


misfit: Constant = constant(_misfit, name="misfit")
"""The root mean square, over the last `rank` axes, of Σ wᵢ partsᵢ in units of what the tolerances allow beside `x` and `y`."""
