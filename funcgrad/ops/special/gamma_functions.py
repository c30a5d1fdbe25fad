"""Gamma and beta functions, complete and incomplete, and zeta. Sources: DLMF chapters 5, 8 and 25."""

from __future__ import annotations

import math
from typing import Any

from funcgrad import errors
from funcgrad.core import Value, dtype_of
from funcgrad.ops.elementwise import cos, exp, power, real, rint, scale, sin, square, where
from funcgrad.ops.special.family import S, beside, fixed, special

# ---- complete


def _psi_slope(t: Value, x: Value) -> Value:
    """ζ(2, x), which SciPy has of real numbers alone; to the left of 0, where it would sum over all poles, by reflection."""
    if dtype_of(x).kind == "c":
        raise errors.MissingPartialError("scipy.special.psi of complex numbers", "z")
    left = x < 0.0
    sine = sin((x - rint(x)) * math.pi)
    mirrored = math.pi**2 / square(where(left, sine, 1.0)) - S._zeta(2.0, where(left, 1.0 - x, 1.0))
    return t * where(left, mirrored, S._zeta(2.0, where(left, 1.0, x)))


def _rgamma_slope(x: Value, out: Value) -> Value:
    """-ψ(x) / Γ(x) to the right of 1/2. To the left, where ψ has poles, that of sin(πx) Γ(1 - x) / π."""
    left = (real(x) if dtype_of(x).kind == "c" else x) < 0.5
    a, b = where(left, x, 0.0), where(left, 1.0, x)
    mirrored = S.gamma(1.0 - a) * (cos(math.pi * a) - sin(math.pi * a) * (S.psi(1.0 - a) * (1.0 / math.pi)))
    return where(left, mirrored, -(S.psi(b) * out))


special("gamma", lambda t, out, x: t * (out * S.psi(x)), source="DLMF 5.2.2")
special("gammaln", lambda t, x: t * S.psi(x), source="DLMF 5.2.2")
special("loggamma", lambda t, x: t * S.psi(x), source="DLMF 5.2.2")
special("rgamma", lambda t, x, out: t * _rgamma_slope(x, out), source="DLMF 5.2.2, 5.5.3")
special("gammasgn", None, source="constant between poles")
special("psi", _psi_slope, source="DLMF 5.15.1, 5.15.6, 25.11.12")
special("_zeta", fixed("zeta", "x"), lambda t, x, y: t * (-x * S._zeta(x + 1.0, y)), source="DLMF 25.11.17")
special("beta", lambda t, out, x, y: t * (out * (S.psi(x) - S.psi(x + y))), lambda t, out, x, y: t * (out * (S.psi(y) - S.psi(x + y))),
        source="DLMF 5.12.1, 5.2.2")  # fmt: skip
special("betaln", lambda t, x, y: t * (S.psi(x) - S.psi(x + y)), lambda t, x, y: t * (S.psi(y) - S.psi(x + y)),
        source="DLMF 5.12.1, 5.2.2")  # fmt: skip

# ---- incomplete: the slope in the argument is a density; none is known in the shapes


def _gamma_density(a: Any, x: Value) -> Value:
    """x^(a-1) e^-x / Γ(a): from logarithms, but at 0, where those of its slopes would be infinite."""
    a = beside(a, x)
    edge = x == 0.0
    at, inside = where(edge, x, 0.0), where(edge, 1.0, x)
    return where(edge, scale(power(at, a - 1.0), exp(-at - S.gammaln(a))), exp(S.xlogy(a - 1.0, inside) - inside - S.gammaln(a)))


def _beta_density(a: Any, b: Any, x: Value) -> Value:
    """x^(a-1) (1-x)^(b-1) / B(a, b): from logarithms, but at 0 and 1, where those of its slopes would be infinite."""
    a, b = beside(a, x), beside(b, x)
    edge = x * (1.0 - x) == 0.0
    at, inside = where(edge, x, 0.0), where(edge, 0.5, x)
    on = scale(power(at, a - 1.0) * power(1.0 - at, b - 1.0), exp(-S.betaln(a, b)))
    return where(edge, on, exp(S.xlogy(a - 1.0, inside) + S.xlog1py(b - 1.0, -inside) - S.betaln(a, b)))


special("gammainc", fixed("gammainc", "a"), lambda t, x, y: t * _gamma_density(x, y), source="DLMF 8.2.4, 8.8.13")
special("gammaincc", fixed("gammaincc", "a"), lambda t, x, y: t * -_gamma_density(x, y), source="DLMF 8.2.4, 8.8.13")
special("gammaincinv", fixed("gammaincinv", "a"), lambda t, x, out: t / _gamma_density(x, out), source="the inverse of gammainc")
special("gammainccinv", fixed("gammainccinv", "a"), lambda t, x, out: -t / _gamma_density(x, out), source="the inverse of gammaincc")
special("betainc", fixed("betainc", "a"), fixed("betainc", "b"), lambda t, x, y, z: t * _beta_density(x, y, z), source="DLMF 8.17.2")
special("betaincc", fixed("betaincc", "a"), fixed("betaincc", "b"), lambda t, x, y, z: t * -_beta_density(x, y, z), source="DLMF 8.17.4")
special("betaincinv", fixed("betaincinv", "a"), fixed("betaincinv", "b"), lambda t, x, y, out: t / _beta_density(x, y, out),
        source="the inverse of betainc")  # fmt: skip
