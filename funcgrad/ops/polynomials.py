"""Roots of polynomials, and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops.contraction import dot, swap
from funcgrad.ops.elementwise import conjugate
from funcgrad.ops.kinds import constant, differentiable
from funcgrad.ops.linalg import pinv
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


# ---- the x of least |A x - b|, that is x = P b with P the pseudoinverse, whose derivative is in `ops.linalg`


def _adjoint(x: Value) -> Value:
    return swap(conjugate(x) if dtype_of(x).kind == "c" else x)


def _lstsq_tangent(out: Value, args: tuple[Value, ...], tangents: tuple[Value, ...], *, rcond: float) -> Value:
    """dx = P (db - dA x) + P Pᴴ dAᴴ (b - A x) + (1 - P A) dAᴴ Pᴴ x."""
    a, b = args
    da, db = tangents
    p = pinv(a, rcond, hermitian=False)
    if da is None:
        return dot(p, db)
    left, right = dot(_adjoint(da), b - dot(a, out)), dot(_adjoint(da), dot(_adjoint(p), out))
    moved = dot(da, out)
    return dot(p, (-moved if db is None else db - moved) + dot(_adjoint(p), left)) + right - dot(p, dot(a, right))


lstsq = differentiable("lstsq", lambda a, b, *, rcond: np.linalg.lstsq(a, b, rcond)[0], _lstsq_tangent)
rank = constant(lambda a, *, rcond: int(np.linalg.lstsq(a, np.zeros(a.shape[0], a.dtype), rcond)[2]), name="rank")
