"""Linear algebra: solve and inverses of matrices and stacks of them (determinants and Cholesky factors have their own files).

Derivations: M. Giles, An extended collection of matrix derivative results (2008). Nothing is conjugated in a transpose.
"""

from __future__ import annotations

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.contraction import column, fit, matmul, row, swap
from funcgrad.ops.elementwise import conjugate
from funcgrad.ops.kinds import differentiable, semilinear
from funcgrad.ops.shaping import cast
from funcgrad.ops.triangular import solved

# ---- x = A⁻¹ b (Giles 2.3.1): A dx + dA x = db


def _solve_back(ct: Value, a: Value, b: Spec) -> Value:
    """A⁻ᵀ ct."""
    return cast(fit(resolve(swap(a), ct), b.shape), b.dtype)


def _solve_tangent(out: Value, args: tuple[Value, Value], tangents: tuple[Value, Value]) -> Value:
    return -resolve(args[0], matmul(tangents[0], out))


def _solve_together(ct: Value, out: Value, args: tuple[Value, Value], wanted: tuple[bool, bool]) -> tuple[Value | None, Value | None]:
    """With c = A⁻ᵀ ct, -c xᵀ and c."""
    a, b = args
    c = resolve(swap(a), ct)
    of_b = fit(c, shape_of(b)) if wanted[1] else None
    if not wanted[0]:
        return None, of_b
    if len(shape_of(out)) == 1:
        return column(-c) * row(out), of_b
    return fit(-matmul(c, swap(out)), shape_of(a)), of_b


solve = semilinear("solve", lambda a, b: np.linalg.solve(a, b), _solve_back, _solve_tangent, _solve_together)
"""`b` has one axis only where `a` is one matrix."""

resolve = semilinear("resolve", lambda a, b: solved(a, b), _solve_back, _solve_tangent, _solve_together)
"""The same in derivatives, where triangles are seen."""

# ---- C = A⁻¹ (Giles 2.2.3): dC = -C dA C


def _inv_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    return -matmul(matmul(out, tangents[0]), out)


def _inv_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    turned = swap(out)
    return (-matmul(matmul(turned, ct), turned),)


inv = differentiable("inv", lambda a: np.linalg.inv(a), _inv_tangent, _inv_back)

# ---- parts


def adjoint(x: Value) -> Value:
    """xᴴ."""
    return swap(conjugate(x)) if dtype_of(x).kind == "c" else swap(x)


def symmetric_part(x: Value) -> Value:
    """(x + xᴴ) / 2."""
    return (x + adjoint(x)) / 2


def anti(x: Value) -> Value:
    """(x - xᴴ) / 2."""
    return (x - adjoint(x)) / 2


# ---- P = A⁺ where the rank does not change (G. Golub and V. Pereyra, The differentiation of pseudo-inverses, 1973, eq. 4.12):
# dP = -P dA P + P Pᴴ dAᴴ (1 - A P) + (1 - P A) dAᴴ Pᴴ P


def _pinv_tangent(out: Value, args: tuple[Value, ...], tangents: tuple[Value, ...], *, hermitian: bool) -> Value | None:
    if tangents[0] is None:
        return None
    a, da = (symmetric_part(x) if hermitian else x for x in (args[0], tangents[0]))
    other, turned = adjoint(out), adjoint(da)
    left, right = matmul(matmul(out, other), turned), matmul(turned, matmul(other, out))
    return left + right - matmul(matmul(out, da) + matmul(left, a), out) - matmul(out, matmul(a, right))


pinv = differentiable("pinv", lambda a, tol, *, hermitian: np.linalg.pinv(a, tol, hermitian), _pinv_tangent)
"""`tol`, relative to the largest singular value, is what counts as zero; it has no derivative."""
