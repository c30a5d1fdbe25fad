"""Roots of polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops.kinds import constant, differentiable
from funcgrad.ops.shaping import unstack


def horner(p: Any, x: Value, start: Value) -> Value:
    """The polynomial with these coefficients, highest power first."""
    y = start
    for c in p:
        y = y * x + c
    return y


# ---- p(r) = 0, so dp(r) + p'(r) dr = 0


def _coefficients(p: Value) -> tuple[Value, ...]:
    return unstack(p, axis=-1)  # type: ignore[no-any-return]


def _roots_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    n = shape_of(args[0])[0]
    zero = np.zeros(shape_of(out), dtype_of(out))
    slope = horner(_coefficients(args[0][:-1] * np.arange(n - 1, 0, -1)), out, zero)
    return -horner(_coefficients(tangents[0]), out, zero) / slope


roots = differentiable("roots", lambda p: np.roots(p), _roots_tangent)
"""In NumPy's order. At a double root the slope is infinite."""

closed_under_conjugation = constant(lambda x: bool(np.all(np.sort(x) == np.sort(np.conjugate(x)))), name="closed_under_conjugation")
