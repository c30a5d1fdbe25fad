"""Determinants. They are polynomials, whose derivatives exist for singular matrices too.

With A = U S Vᴴ, each derivative of |A| is |U| |Vᴴ| times one of the nearly diagonal S, in products of singular values that leave
some out, so nothing is divided by one that may be zero. Where A is well conditioned the inverse gives the same, faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of
from funcgrad.ops.contraction import column, matmul, swap
from funcgrad.ops.elementwise import imag, real
from funcgrad.ops.kinds import differentiable, semilinear
from funcgrad.ops.linalg import inv
from funcgrad.ops.reductions import sum
from funcgrad.ops.shaping import cast

Matrix = Any


def trace_of_product(x: Value, y: Value) -> Value:
    """tr(x y)."""
    return sum(swap(x) * y, axis=(-2, -1))


def _number(x: Value) -> Value:
    """A number per matrix, as a factor of matrices."""
    return column(column(x))


def _well_conditioned_inverse(a: Matrix) -> Matrix | None:
    """The inverse, unless it would lose more than a quarter of the digits in some matrix of the stack."""
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    condition = np.linalg.norm(a, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))
    return None if np.any(condition > np.finfo(a.dtype).eps ** -0.25) else inverse


def _svd(a: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """U, S, Vᴴ and the determinant of the rotations, as a stack of 1×1 matrices."""
    u, s, vh = np.linalg.svd(a)
    return u, s, vh, (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def _products_of_others(s: Matrix) -> Matrix:
    """For each element along the last axis, the product of all others."""
    before, after = np.ones_like(s), np.ones_like(s)
    np.cumprod(s[..., :-1], axis=-1, out=before[..., 1:])
    np.cumprod(s[..., :0:-1], axis=-1, out=after[..., -2::-1])
    return before * after


def _products_without_two(s: Matrix) -> Matrix:
    """At i, j the product of all elements but the i-th and the j-th; 0 on the diagonal."""
    eye = np.eye(s.shape[-1], dtype=bool)
    return np.where(eye, 0, _products_of_others(np.where(eye, 1, s[..., None, :])))


def _transposed(x: Matrix) -> Matrix:
    return np.swapaxes(x, -1, -2)


# ---- (Giles 2.2.4) d|A| = tr(adj(A) dA): the adjugate exists where A⁻¹ does not


def _det_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    return trace_of_product(swap(cofactors(args[0])), tangents[0])


def _det_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    return (_number(ct) * cofactors(args[0]),)


det = differentiable("det", lambda a: np.linalg.det(a), _det_tangent, _det_back)


# ---- first derivative


def _cofactors(a: Matrix) -> Matrix:
    if not a.size:
        return np.zeros_like(a)
    inverse = _well_conditioned_inverse(a)
    if inverse is not None:
        return np.linalg.det(a)[..., None, None] * _transposed(inverse)
    u, s, vh, rotations = _svd(a)
    return np.conj(u * _products_of_others(s)[..., None, :] @ vh) * rotations


def _cofactors_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    return second_cofactors(args[0], tangents[0])


def _cofactors_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    """A second derivative is symmetric."""
    return (second_cofactors(args[0], ct),)


cofactors = differentiable("cofactors", _cofactors, _cofactors_tangent, _cofactors_back)
"""The derivative of |A| by each element of A."""

# ---- second derivative. On S, with P the products without two, that of the cofactors along M is
# -P_ij M_ji beside the diagonal and Σ_k P_ik M_kk on it.


def _second_cofactors(a: Matrix, b: Matrix) -> Matrix:
    if not a.size:
        return np.zeros_like(b)
    inverse = _well_conditioned_inverse(a)
    if inverse is not None:
        product = inverse @ b
        rate = np.trace(product, axis1=-2, axis2=-1)[..., None, None]
        return np.linalg.det(a)[..., None, None] * _transposed(rate * inverse - product @ inverse)
    u, s, vh, rotations = _svd(a)
    others = _products_without_two(s)
    m = np.conj(_transposed(u)) @ b @ np.conj(_transposed(vh))
    made = -others * _transposed(m)
    diagonal = np.arange(s.shape[-1])
    made[..., diagonal, diagonal] = (others @ np.diagonal(m, 0, -2, -1)[..., None])[..., 0]
    return np.conj(u) @ made @ np.conj(vh) * rotations


def _second_back(ct: Value, a: Value, b: Spec) -> Value:
    return cast(second_cofactors(a, ct), b.dtype)


# With X = A⁻¹ the second derivative is |A| (tr(X B) X - X B X)ᵀ, and dX = -X dA X. The third needs an invertible matrix.


def _second_tangent(out: Value, args: tuple[Value, Value], tangents: tuple[Value, Value]) -> Value:
    a, b = args
    x = inv(a)
    xb, xa = matmul(x, b), matmul(x, tangents[0])
    turned = matmul(matmul(xb, xa) + matmul(xa, xb), x) - _number(trace_of_product(xb, xa)) * x
    turned = turned - _number(trace_of_product(x, b)) * matmul(xa, x)
    return _number(trace_of_product(x, tangents[0])) * out + _number(det(a)) * swap(turned)


second_cofactors = semilinear("second_cofactors", _second_cofactors, _second_back, _second_tangent)
"""The derivative of the cofactors of A along B."""

# ---- |A| = s exp(l): dl + ds / s = tr(A⁻¹ dA), of which dl is the real part and ds / s the imaginary one


def _slogdet_tangent(out: tuple[Value, Value], args: tuple[Value], tangents: tuple[Value]) -> tuple[Value | None, Value]:
    rate = trace_of_product(inv(args[0]), tangents[0])
    if dtype_of(out[0]).kind != "c":
        return None, rate
    return out[0] * (1j * imag(rate)), real(rate)


slogdet = differentiable("slogdet", lambda a: tuple(np.linalg.slogdet(a)), _slogdet_tangent)
"""The sign and the logarithm of the absolute value of a determinant."""
