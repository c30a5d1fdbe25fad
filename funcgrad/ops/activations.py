"""Sigmoids and softmaxes: one primitive each, so that values and slopes keep their digits far out and at infinity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Value, shape_of
from funcgrad.ops import reductions
from funcgrad.ops.elementwise import exp, maximum, minimum
from funcgrad.ops.kinds import Differentiable, Elementwise, differentiable, elementwise
from funcgrad.ops.reductions import Axes, keep

# ---- sigmoids


def _sigmoid(x: Any) -> Any:
    """1 / (1 + e^-x), written with exponentials that do not overflow. (To choose between two would take longer.)"""
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))


# 1 - σ(x) is σ(-x), which keeps its digits where σ(x) rounds to 1.
sigmoid: Elementwise = elementwise(_sigmoid, lambda t, out, x: t * (out * sigmoid(-x)), name="sigmoid")

softplus = elementwise(lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))), lambda t, x: t * sigmoid(x), name="softplus")
"""log(1 + e^x)."""


exp_minus_one = elementwise(lambda x: np.expm1(x), lambda t, x: t * exp(x), name="exp_minus_one")
"""As `np.expm1`, with a slope that keeps its digits where the value rounds to -1."""


# ---- x times a distribution function, which is 0 or 1 to the last bit, with no slope, outside of ±far


def _times(x: Any, share: Any) -> Any:
    """`x * share`, and 0 at -inf."""
    return np.where(share == 0, 0, x) * share


def _near(x: Value, far: float) -> Value:
    """`x`, but finite: for the slope, which is the same further out."""
    return minimum(maximum(x, -far), far)


def _silu_slope(t: Value, x: Value) -> Value:
    z = _near(x, 800.0)
    return t * (sigmoid(z) * (1 + z * sigmoid(-z)))


silu = elementwise(lambda x: _times(x, _sigmoid(x)), _silu_slope, name="silu")

_ERFC = np.frompyfunc(math.erfc, 1, 1)


def _normal_cdf(x: Any) -> Any:
    """Φ(x) = erfc(-x/√2) / 2. NumPy has no erfc; that of Python's `math` takes one element at a time."""
    x = np.asarray(x)
    return np.asarray(0.5 * _ERFC(x.astype(float) * -math.sqrt(0.5))).astype(x.dtype)[()]


def _density(x: Value) -> Value:
    return exp(x * x * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))


normal_cdf = elementwise(_normal_cdf, lambda t, x: t * _density(x), name="normal_cdf")


def _gelu_slope(t: Value, x: Value) -> Value:
    z = _near(x, 40.0)
    return t * (normal_cdf(z) + z * _density(z))


gelu = elementwise(lambda x: _times(x, _normal_cdf(x)), _gelu_slope, name="gelu")

_C, _D = math.sqrt(8.0 / math.pi), math.sqrt(8.0 / math.pi) * 0.044715
_FAR = 22.0


def _gelu_tanh(x: Any) -> Any:
    z = np.clip(x, -_FAR, _FAR)
    return _times(x, _sigmoid(z * (_C + _D * (z * z))))


def _gelu_tanh_slope(t: Value, x: Value) -> Value:
    z = _near(x, _FAR)
    u = z * (_C + _D * (z * z))
    return t * (sigmoid(u) * (1 + z * sigmoid(-u) * (_C + 3 * _D * (z * z))))


gelu_tanh = elementwise(_gelu_tanh, _gelu_tanh_slope, name="gelu_tanh")
"""With Φ(x) ≈ σ(√(8/π) (x + 0.044715 x³)), which is the form by tanh with twice the argument."""


# ---- softmax


def _exponents(x: Any, axis: Axes) -> tuple[Any, Any, Any, Any]:
    """`x` less its maximum, that maximum, how often it is met, and the sum of the exponentials of all others.

    Infinite maxima are limits: those that reach +inf share equally, and nobody reaches -inf.
    """
    top = np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)
    ties = x == top
    with np.errstate(over="ignore"):
        d = x - np.where(np.isinf(top), 0, top)
    if np.isinf(top).any():
        d = np.where(top == np.inf, np.where(ties, 0, -np.inf), d).astype(x.dtype)
    met = np.add.reduce(ties, axis=axis, keepdims=True).astype(x.dtype)
    rest = np.add.reduce(np.where(ties, 0, np.exp(d)), axis=axis, keepdims=True)
    return d, top, met, rest


def _softmax(x: Any, *, axis: Axes) -> Any:
    d, _, met, rest = _exponents(x, axis)
    return np.exp(d) / (met + rest)


def _log_sum(met: Any, rest: Any) -> Any:
    """log(met + rest), where the rest may be as small as it likes."""
    with np.errstate(divide="ignore", invalid="ignore"):  # no elements, and nan
        return np.where(met > 0, np.log(met) + np.log1p(rest / met), np.log(met + rest))


def _log_softmax(x: Any, *, axis: Axes) -> Any:
    d, _, met, rest = _exponents(x, axis)
    return d - _log_sum(met, rest)


def _log_total(x: Any, *, axis: Axes) -> Any:
    _, top, met, rest = _exponents(x, axis)
    return np.squeeze(top + _log_sum(met, rest), axis)[()]


def _summed(x: Value, axis: Axes) -> Value:
    return keep(reductions.sum(x, axis=axis), shape_of(x), axis)


def _softmax_map(t: Value, out: Value, axis: Axes) -> Value:
    """Of softmax: symmetric, so that it is its own transpose."""
    scaled = t * out
    return scaled - out * _summed(scaled, axis)


softmax: Differentiable = differentiable(
    "softmax",
    _softmax,
    lambda out, args, tangents, *, axis: _softmax_map(tangents[0], out, axis),
    lambda ct, out, args, wanted, *, axis: (_softmax_map(ct, out, axis),),
)

log_softmax = differentiable(
    "log_softmax",
    _log_softmax,
    lambda out, args, tangents, *, axis: tangents[0] - _summed(exp(out) * tangents[0], axis),
    lambda ct, out, args, wanted, *, axis: (ct - exp(out) * _summed(ct, axis),),
)

log_total = differentiable(
    "log_total",
    _log_total,
    lambda out, args, tangents, *, axis: reductions.sum(softmax(args[0], axis=axis) * tangents[0], axis=axis),
    lambda ct, out, args, wanted, *, axis: (keep(ct, shape_of(args[0]), axis) * softmax(args[0], axis=axis),),
)
"""The logarithm of the sum of the exponentials."""
