"""Functions whose derivatives are a family of their own: `n` counts the derivatives. Each member is right everywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Value
from funcgrad.ops.kinds import Differentiable, differentiable


def _near(y: Any, n: int) -> Any:
    """∫₀¹ tⁿ cos(y t + n π/2) dt by Gauss and Legendre, exact to rounding for |y| ≤ n + 2."""
    nodes, weights = np.polynomial.legendre.leggauss(24 + n)
    out = np.zeros_like(y)
    for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
        out += w * t**n * (np.cos(y * t), -np.sin(y * t), -np.cos(y * t), np.sin(y * t))[n % 4]
    return out


def _sinc(x: Any, *, n: int) -> Any:
    """The n-th derivative of `np.sinc`.

    With s(y) = sin(y)/y = ∫₀¹ cos(y t) dt: far from 0 by y s⁽ⁿ⁾ = sin⁽ⁿ⁾(y) - n s⁽ⁿ⁻¹⁾, whose errors stay small for
    |y| > n; near 0, where they would not, by the integral.
    """
    if n == 0:
        return np.sinc(x)
    dtype = np.result_type(x)
    y = math.pi * np.asarray(x, np.result_type(dtype, np.float64))
    near = np.abs(y) <= n + 2
    far = np.where(near, 1.0, y)
    sin, cos = np.sin(far), np.cos(far)
    out = sin / far
    for k in range(1, n + 1):
        out = ((cos, -sin, -cos, sin)[(k - 1) % 4] - k * out) / far
    out = np.where(near, 0, out)
    out[near] = _near(y[near], n)
    return (math.pi**n * out).astype(dtype)[()]


sinc: Differentiable = differentiable(
    "sinc",
    _sinc,
    lambda out, args, tangents, *, n: tangents[0] * sinc(args[0], n=n + 1),
    lambda ct, out, args, wanted, *, n: (ct * sinc(args[0], n=n + 1),),
)


def _bessel_i(x: Any, *, n: int) -> Any:
    """I_n(x) = (1/π) ∫₀^π exp(x cos θ) cos(n θ) dθ; the trapezoidal rule on a period converges geometrically."""
    if n == 0:
        return np.i0(x)
    dtype = np.result_type(x)
    x = np.asarray(x, np.float64)
    count = 2 * n + 40 + math.ceil(math.sqrt(80 * np.max(np.abs(x), initial=0.0)))
    out = np.zeros_like(x)
    wave = np.sinh if n % 2 else np.cosh
    for k in range(count):
        theta = 2 * math.pi * (k + 0.5) / count
        out += wave(x * math.cos(theta)) * (math.cos(n * theta) / count)
    return out.astype(dtype)[()]


def _bessel_i_slope(x: Value, n: int) -> Value:
    """I_n' = (I_{n-1} + I_{n+1}) / 2, and I_0' = I_1."""
    return bessel_i(x, n=1) if n == 0 else (bessel_i(x, n=n - 1) + bessel_i(x, n=n + 1)) / 2


bessel_i: Differentiable = differentiable(
    "bessel_i",
    _bessel_i,
    lambda out, args, tangents, *, n: tangents[0] * _bessel_i_slope(args[0], n),
    lambda ct, out, args, wanted, *, n: (ct * _bessel_i_slope(args[0], n),),
)
