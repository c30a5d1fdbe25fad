"""Linear algebra: solve, inverse and Cholesky factors of matrices and stacks of them (determinants have their own file).

Derivations: M. Giles, An extended collection of matrix derivative results (2008); I. Murray, Differentiation of the
Cholesky decomposition (2016). Nothing is conjugated in a transpose.
"""

from __future__ import annotations

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.contraction import column, fit, matmul, row, swap
from funcgrad.ops.elementwise import conjugate
from funcgrad.ops.kinds import differentiable, semilinear
from funcgrad.ops.shaping import cast

# ---- x = A⁻¹ b (Giles 2.3.1): A dx + dA x = db


def _solve_back(ct: Value, a: Value, b: Spec) -> Value:
    """A⁻ᵀ ct."""
    return cast(fit(solve(swap(a), ct), b.shape), b.dtype)


def _solve_tangent(out: Value, args: tuple[Value, Value], tangents: tuple[Value, Value]) -> Value:
    return -solve(args[0], matmul(tangents[0], out))


def _solve_together(ct: Value, out: Value, args: tuple[Value, Value], wanted: tuple[bool, bool]) -> tuple[Value | None, Value | None]:
    """With c = A⁻ᵀ ct, -c xᵀ and c."""
    a, b = args
    c = solve(swap(a), ct)
    turned = row(out) if len(shape_of(out)) == 1 else swap(out)
    of_a = fit(-matmul(column(c) if len(shape_of(c)) == 1 else c, turned), shape_of(a)) if wanted[0] else None
    return of_a, fit(c, shape_of(b)) if wanted[1] else None


solve = semilinear("solve", lambda a, b: np.linalg.solve(a, b), _solve_back, _solve_tangent, _solve_together)
"""`b` has one axis only where `a` is one matrix."""

# ---- C = A⁻¹ (Giles 2.2.3): dC = -C dA C


def _inv_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    return -matmul(matmul(out, tangents[0]), out)


def _inv_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    turned = swap(out)
    return (-matmul(matmul(turned, ct), turned),)


inv = differentiable("inv", lambda a: np.linalg.inv(a), _inv_tangent, _inv_back)

# ---- A = L Lᴴ (Murray eq. 8): dL = L Φ(L⁻¹ dA L⁻ᴴ), where Φ takes the lower triangle and halves the diagonal.
# LAPACK reads one triangle of A; the derivative is that of a function of the symmetric part, (A + Aᴴ) / 2.


def _lower_half(x: Value) -> Value:
    n, real_type = shape_of(x)[-1], np.finfo(dtype_of(x)).dtype
    return x * (np.tri(n, dtype=real_type) - np.eye(n, dtype=real_type) / 2)


def adjoint(x: Value) -> Value:
    """xᴴ."""
    return swap(conjugate(x)) if dtype_of(x).kind == "c" else swap(x)


def symmetric_part(x: Value) -> Value:
    """(x + xᴴ) / 2."""
    return (x + adjoint(x)) / 2


def anti(x: Value) -> Value:
    """(x - xᴴ) / 2."""
    return (x - adjoint(x)) / 2


def _cholesky_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    inverse = inv(out)
    return matmul(out, _lower_half(matmul(matmul(inverse, symmetric_part(tangents[0])), adjoint(inverse))))


def _cholesky_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    """(Murray eq. 10) L⁻ᵀ Φ(Lᵀ ct) L⁻¹, with the conjugates that a transpose of the tangent leaves."""
    inverse = inv(out)
    middle = _lower_half(matmul(swap(out), ct))
    right = conjugate(inverse) if dtype_of(inverse).kind == "c" else inverse
    return (symmetric_part(matmul(matmul(swap(inverse), middle), right)),)


cholesky = differentiable("cholesky", lambda a: np.linalg.cholesky(a), _cholesky_tangent, _cholesky_back)
"""The lower factor; its upper triangle is exactly zero."""

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
