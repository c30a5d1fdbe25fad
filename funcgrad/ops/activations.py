"""Sigmoids and softmaxes: one primitive each, so that values and slopes keep their digits far out and at infinity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Value, shape_of
from funcgrad.ops.elementwise import meet
from funcgrad.ops.kinds import NEG, Elementwise, constant, differentiable, elementwise
from funcgrad.ops.reductions import Axes, keep
from funcgrad.ops.reductions import sum as total

__all__ = ["half_square", "log_softmax", "log_total", "meet", "normal_cdf", "sigmoid", "softmax", "softplus"]


# ---- sigmoids


def _sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x), written with the exponential that does not overflow."""
    e = np.exp(-np.abs(x))
    return np.where(np.less(x, 0), e, 1) / (1 + e)


# 1 - σ(x) is σ(-x), which keeps its digits where σ(x) rounds to 1.
sigmoid: Elementwise = elementwise(_sigmoid, lambda t, out, x: t * (out * sigmoid(-x)), name="sigmoid")

softplus = elementwise(lambda x: np.logaddexp(x, np.zeros((), np.asarray(x).dtype)), lambda t, x: t * sigmoid(x), name="softplus")
"""log(1 + e^x)."""


# ---- the normal distribution

_ERFC = np.frompyfunc(math.erfc, 1, 1)


def _normal_cdf(x: Any) -> Any:
    """Φ(x) = erfc(-x/√2) / 2; NumPy has no erfc, so that of Python's `math`, element by element."""
    x = np.asarray(x)
    return (0.5 * _ERFC(x.astype(float) * -math.sqrt(0.5))).astype(x.dtype)[()] if x.ndim else x.dtype.type(0.5 * math.erfc(-x * math.sqrt(0.5)))


_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)

normal_cdf = elementwise(_normal_cdf, lambda t, x: t * (np.exp(half_square(x)) * _DENSITY), name="normal_cdf")

half_square: Elementwise = elementwise(lambda x: x * x * -0.5, NEG, name="half_square")
