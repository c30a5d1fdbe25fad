"""Exponential, Fresnel and elliptic integrals, the dilogarithm, and hypergeometric functions. Sources: DLMF chapters 6 to 8, 13, 15, 19, 25.

Where a quotient would be 0/0, near 0, its power series takes its place: a hypergeometric function, whose slopes are hypergeometric again.
"""

from __future__ import annotations

import math

from funcgrad.core import Value, dtype_of
from funcgrad.ops.elementwise import absolute, cos, exp, log, maximum, sin, where
from funcgrad.ops.special.family import S, fixed, parts, special

# ---- exponential integrals


def _expn_slope(n: Value, x: Value) -> Value:
    """-E(n-1, x); and E(0, x) is e^-x / x."""
    first = n == 0
    at = where(first, x, 1.0)
    return where(first, -(exp(-at) * (1.0 + at)) / (at * at), -S.expn(maximum(n - 1, 0), x))


special("exp1", lambda t, x: t * -(exp(-x) / x), source="DLMF 6.2.1")
special("expi", lambda t, x: t * (exp(x) / x), source="DLMF 6.2.5")
special("expn", fixed("expn", "n"), lambda t, x, y: t * _expn_slope(x, y), source="DLMF 8.19.13")

# ---- Fresnel integrals

parts("fresnel", lambda t, x: t * sin(x * x * (math.pi / 2.0)), lambda t, x: t * cos(x * x * (math.pi / 2.0)), source="DLMF 7.2.7, 7.2.8")

# ---- hypergeometric functions, in their argument

special("hyp0f1", fixed("hyp0f1", "v"), lambda t, x, y: t * (S.hyp0f1(x + 1.0, y) / x), source="DLMF 16.3.1")
special("hyp1f1", fixed("hyp1f1", "a"), fixed("hyp1f1", "b"), lambda t, x, y, z: t * (S.hyp1f1(x + 1.0, y + 1.0, z) * (x / y)),
        source="DLMF 13.3.15")  # fmt: skip
special(
    "hyp2f1",
    fixed("hyp2f1", "a"),
    fixed("hyp2f1", "b"),
    fixed("hyp2f1", "c"),
    lambda t, x, y, z, w: t * (S.hyp2f1(x + 1.0, y + 1.0, z + 1.0, w) * (x * y / z)),
    source="DLMF 15.5.1",
)

# ---- the dilogarithm


def _spence_slope(x: Value) -> Value:
    """log(x) / (1 - x), and near 1 the series: -2F1(1, 1; 2; 1 - x), DLMF 15.4.1."""
    if dtype_of(x).kind == "c":
        return log(x) / (1.0 - x)
    near = absolute(x - 1.0) < 0.5
    inside, outside = where(near, x, 1.0), where(near, 2.0, x)
    return where(near, -S.hyp2f1(1.0, 1.0, 2.0, 1.0 - inside), log(outside) / (1.0 - outside))


special("spence", lambda t, x: t * _spence_slope(x), source="DLMF 25.12.2")

# ---- complete elliptic integrals of the parameter m


def _ellipk_slope(m: Value, out: Value) -> Value:
    """(E - (1 - m) K) / 2m(1 - m), and near 0 the series: π/8 2F1(3/2, 3/2; 2; m), DLMF 19.5.1."""
    near = absolute(m) < 0.5
    inside, outside = where(near, m, 0.0), where(near, -1.0, m)
    quotient = (S.ellipe(outside) - (1.0 - outside) * out) / (2.0 * outside * (1.0 - outside))
    return where(near, S.hyp2f1(1.5, 1.5, 2.0, inside) * (math.pi / 8.0), quotient)


def _ellipkm1_slope(p: Value, out: Value) -> Value:
    """The same at m = 1 - p, which keeps the digits of a small p."""
    near = absolute(p - 1.0) < 0.5
    inside, outside = where(near, p, 1.0), where(near, 2.0, p)
    quotient = (p * out - S.ellipe(1.0 - outside)) / (2.0 * outside * (1.0 - outside))
    return where(near, S.hyp2f1(1.5, 1.5, 2.0, 1.0 - inside) * (-math.pi / 8.0), quotient)


def _ellipe_slope(m: Value, out: Value) -> Value:
    """(E - K) / 2m, and near 0 the series: -π/8 2F1(1/2, 3/2; 2; m), DLMF 19.5.2."""
    near = absolute(m) < 0.5
    inside, outside = where(near, m, 0.0), where(near, -1.0, m)
    return where(near, S.hyp2f1(0.5, 1.5, 2.0, inside) * (-math.pi / 8.0), (out - S.ellipk(outside)) / (2.0 * outside))


special("ellipk", lambda t, x, out: t * _ellipk_slope(x, out), source="DLMF 19.4.1")
special("ellipkm1", lambda t, x, out: t * _ellipkm1_slope(x, out), source="DLMF 19.4.1")
special("ellipe", lambda t, x, out: t * _ellipe_slope(x, out), source="DLMF 19.4.2")
