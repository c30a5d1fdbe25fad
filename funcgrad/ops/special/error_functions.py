"""The error function and its kin, and the normal distribution. Sources: DLMF chapter 7.

`erfcx` and `dawsn` decay like 1/x, so that far out their slopes are the difference of nearly equal numbers: from ±12 on these come from
the asymptotic series, of which thirteen terms are enough there.
"""

from __future__ import annotations

import math

from funcgrad.core import Value, dtype_of
from funcgrad.ops.elementwise import absolute, exp, maximum, minimum, square, where
from funcgrad.ops.special.family import S, special

_ROOT_PI = math.sqrt(math.pi)
_SLOPE = 2.0 / _ROOT_PI
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)
_FAR = 12.0
_TERMS = [float(math.prod(range(1, 2 * n + 2, 2))) for n in range(13)]
"""(2n + 1)!!, the coefficients of the asymptotic series of the slopes in 1 / 2x²."""


def _bell(x: Value) -> Value:
    """2/√π e^(-x²), the slope of `erf`."""
    return exp(-(x * x)) * _SLOPE


def _density(x: Value) -> Value:
    """e^(-x²/2) / √2π."""
    return exp(x * x * -0.5) * _DENSITY


def _series(u: Value) -> Value:
    out: Value = _TERMS[-1]
    for c in _TERMS[-2::-1]:
        out = out * u + c
    return out


def _half_inverse_square(x: Value) -> Value:
    """1 / 2x² of what is far, and of ±12 elsewhere."""
    return 0.5 / square(maximum(absolute(x), _FAR))


def _erfcx_slope(x: Value, out: Value) -> Value:
    near = 2.0 * x * out - _SLOPE
    if dtype_of(x).kind == "c":
        return near
    s = _half_inverse_square(x)
    return where(x > _FAR, s * _series(-s) * -_SLOPE, near)


def _dawsn_slope(x: Value, out: Value) -> Value:
    near = 1.0 - 2.0 * x * out
    if dtype_of(x).kind == "c":
        return near
    s = _half_inverse_square(x)
    return where(absolute(x) > _FAR, -(s * _series(s)), near)


special("erf", lambda t, x: t * _bell(x), source="DLMF 7.2.1")
special("erfc", lambda t, x: t * -_bell(x), source="DLMF 7.2.2")
special("erfcx", lambda t, x, out: t * _erfcx_slope(x, out), source="DLMF 7.10.1, 7.12.1")
special("erfi", lambda t, x: t * (exp(x * x) * _SLOPE), source="DLMF 7.2.1, of ix")
special("dawsn", lambda t, x, out: t * _dawsn_slope(x, out), source="DLMF 7.2.5, 7.12.1")
special("erfinv", lambda t, out: t * (exp(out * out) * (_ROOT_PI / 2.0)), source="DLMF 7.17.1")
special("erfcinv", lambda t, out: t * (exp(out * out) * (-_ROOT_PI / 2.0)), source="DLMF 7.17.1")
special("ndtr", lambda t, x: t * _density(x), source="DLMF 7.20.1")
special("ndtri", lambda t, out: t * (exp(out * out * 0.5) / _DENSITY), source="DLMF 7.20.1")


def _hazard(x: Value) -> Value:
    """φ(x) / Φ(x), which is √(2/π) / erfcx(-x/√2): so it keeps its digits where both are 0."""
    if dtype_of(x).kind == "c":
        return math.sqrt(2.0 / math.pi) / S.erfcx(x * -math.sqrt(0.5))
    below = math.sqrt(2.0 / math.pi) / S.erfcx(minimum(x, 0.0) * -math.sqrt(0.5))
    return where(x < 0.0, below, _density(x) / S.ndtr(x))


special("log_ndtr", lambda t, x: t * _hazard(x), source="DLMF 7.20.1, 7.2.3")
special("ndtri_exp", lambda t, out: t / _hazard(out), source="the inverse of log_ndtr")
