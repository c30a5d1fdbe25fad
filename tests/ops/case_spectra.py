"""Cases of eigenvalues, singular values, orthogonal factors, least squares and what is made of them.

Vectors are met in ways that do not depend on their signs and phases, where LAPACK may choose others for float32 or another layout.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops import coincidence
from tests.ops.case_linalg import LAPACK, SUMS, positive, regular
from tests.ops.kit import NUMPY, arr, case

L = np.linalg


def hermitian(x: Any) -> Any:
    return x + np.conj(np.swapaxes(x, -1, -2))


def weights(x: Any) -> Any:
    """Numbers that differ, of the shape of `x`."""
    return np.arange(1.0, 1.0 + np.size(x), dtype=x.real.dtype).reshape(np.shape(x)) / np.size(x)


def turned(v: Any) -> Any:
    """What is left of vectors in columns when their signs and phases are taken away."""
    return weights(v) * np.abs(v + 0) ** 2 + np.real(v * np.conj(v[..., :1, :]))


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


# ---- Hermitian matrices

for _a in [(3, 3), (2, 3, 3), (1, 1), (0, 0), (0, 2, 2)]:
    case(L.eigvalsh, lambda x: L.eigvalsh(hermitian(x)), arr(*_a), complex=True)
    case(L.eigh, lambda x: L.eigh(hermitian(x)).eigenvalues, arr(*_a), complex=True)
for _a in [(3, 3), (2, 3, 3), (1, 1)]:
    case(L.eigh, lambda x: turned(L.eigh(hermitian(x))[1]), arr(*_a), complex=True)
for _uplo in "LUlu":
    case(L.eigvalsh, lambda x, uplo=_uplo: L.eigvalsh(hermitian(x), UPLO=uplo), arr(3, 3), complex=True)
    case(L.eigh, lambda x, uplo=_uplo: turned(L.eigh(hermitian(x), uplo)[1]) + L.eigh(hermitian(x), uplo)[0], arr(3, 3))


def matrix_exponential(x: Any) -> Any:
    w, v = L.eigh(hermitian(x))
    return (v * np.exp(w / 4)[..., None, :]) @ adjoint(v)


for _a in [(3, 3), (2, 3, 3)]:
    case(L.eigh, matrix_exponential, arr(*_a), name=f"eigh-exponential-{_a}", complex=True, tol=1e-13, why=SUMS)
case(L.eigh, lambda x: L.eigh(hermitian(x))[1] @ np.ones(3), arr(3, 3), name="eigh-vectors")

case(
    (L.eigh, coincidence.unless_zero),  # which is met where values are equal: see test_equal_values.py
    lambda x: (lambda v: v @ adjoint(v))(L.eigh(x)[1][:, :2]),
    np.diag([1.0, 1.0, 2.0]),
    name="eigh-equal",
    values_only=True,
)

# ---- general matrices

for _a in [(3, 3), (2, 3, 3), (1, 1), (0, 0)]:
    case(L.eigvals, L.eigvals, regular(*_a), complex=True)
    case(L.eig, lambda x: L.eig(x)[0], regular(*_a), complex=True)
case(L.eigvals, lambda x: L.eigvals(x @ x.T), regular(3, 3), name="eigvals-real")
case(L.eigvals, L.eigvals, np.array([[0.5, -2.0], [1.0, 0.3]]), name="eigvals-a-pair")
for _a in [(3, 3), (2, 3, 3), (1, 1)]:
    case(L.eig, lambda x: turned(L.eig(x).eigenvectors), regular(*_a), complex=True)
case(L.eig, L.eig, regular(3, 3), name="eig-both", float32=False, complex=True)
case(L.eig, lambda x: L.eig(hermitian(x)), regular(3, 3), name="eig-real", float32=False)

# ---- singular values

for _a in [(3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1), (1, 3)]:
    case(L.svd, lambda x: L.svd(x, compute_uv=False), arr(*_a), complex=True)
    case(L.svdvals, L.svdvals, arr(*_a), complex=True)
    case(L.svd, lambda x: L.svd(x)[1], arr(*_a), complex=True)
for _a in [(3, 3), (4, 2), (2, 4), (2, 3, 2)]:
    case(L.svd, lambda x: turned(L.svd(x, full_matrices=False).U), arr(*_a), complex=True)
    case(L.svd, lambda x: turned(adjoint(L.svd(x, full_matrices=False).Vh)), arr(*_a), complex=True)


def recomposed(x: Any, full: bool) -> Any:
    u, s, vh = L.svd(x, full)
    k = s.shape[-1]
    return (u[..., :k] * np.exp(s / 4)[..., None, :]) @ vh[..., :k, :]


def null_spaces(x: Any) -> Any:
    u, s, vh = L.svd(x)
    k = s.shape[-1]
    left, right = u[..., k:], adjoint(vh)[..., k:]
    return left @ adjoint(left), right @ adjoint(right)


for _a in [(3, 3), (4, 2), (2, 4), (2, 2, 3)]:
    for _full in (False, True):
        case(L.svd, lambda x, full=_full: recomposed(x, full), arr(*_a), complex=True, tol=1e-13, why=SUMS)
    case(L.svd, null_spaces, arr(*_a), name=f"svd-null-spaces-{_a}", complex=True, tol=1e-13, why=SUMS)
for _a in [(0, 0), (0, 3), (3, 0), (0, 2, 3)]:
    case(L.svd, lambda x: L.svd(x, full_matrices=False), np.zeros(_a))
    case(L.svdvals, L.svdvals, np.zeros(_a))
case(L.svd, lambda x: L.svd(hermitian(x), compute_uv=False, hermitian=True), arr(2, 3, 3), complex=True)
case(L.svd, lambda x: L.svd(hermitian(x), hermitian=True)[1], arr(3, 3), complex=True)
case(L.svd, lambda x: turned(adjoint(L.svd(hermitian(x), hermitian=True).Vh)), arr(3, 3), complex=True)

# ---- orthogonal factors, whose signs LAPACK does not choose

for _a in [(3, 3), (4, 2), (2, 4), (2, 3, 2), (2, 2, 3), (1, 1), (3, 1), (1, 3)]:
    case(L.qr, L.qr, arr(*_a), complex=True)
    case(L.qr, lambda x: L.qr(x, mode="r"), arr(*_a), complex=True)
    case(L.qr, lambda x: L.qr(x, "complete").R, arr(*_a), complex=True)
    case(L.qr, lambda x: L.qr(x, "complete").Q[..., : x.shape[-1]], arr(*_a), complex=True)


def complement(x: Any) -> Any:
    q = L.qr(x, "complete").Q[..., x.shape[-1] :]
    return q @ adjoint(q)


for _a in [(4, 2), (2, 3, 2)]:
    case(L.qr, complement, arr(*_a), name=f"qr-complement-{_a}", complex=True, tol=1e-13, why=SUMS)
for _a in [(0, 0), (0, 2), (2, 0), (0, 3, 2)]:
    case(L.qr, L.qr, np.zeros(_a))

# ---- least squares

for _a, _b in [((4, 2), (4,)), ((4, 2), (4, 3)), ((3, 3), (3,)), ((2, 4), (2,)), ((2, 4), (2, 2)), ((4, 2), (4, 0)), ((1, 1), (1,))]:
    case(L.lstsq, lambda a, b: L.lstsq(a, b)[0], arr(*_a), arr(*_b, seed=1), complex=True)
    case(L.lstsq, lambda a, b: L.lstsq(a, b, rcond=1e-9)[1], arr(*_a), arr(*_b, seed=1), complex=True)
    case(L.lstsq, lambda a, b: L.lstsq(a, b, rcond=-1)[2:], arr(*_a), arr(*_b, seed=1), complex=True, tol=1e-13, why=LAPACK)
case(L.lstsq, lambda x, y, b: L.lstsq(x @ y, b, 1e-9)[:2], arr(4, 2), arr(2, 3, seed=1), arr(4), name="lstsq-rank-2-of-3", float32=False)
case(L.lstsq, lambda b: L.lstsq([[1, 2], [3, 4], [5, 7]], b)[:2], arr(3), name="lstsq-of-b")
case(L.lstsq, lambda a: L.lstsq(a, [1, 2, 4])[:2], arr(3, 2), name="lstsq-of-a")

case(L.lstsq, lambda a: L.lstsq(a, np.array([1, 2, 4], np.int8)), arr(3, 2), name="lstsq-of-small-integers", tol=1e-13, why=LAPACK)
case(L.lstsq, lambda b: L.lstsq(np.array([[1, 2], [3, 4], [5, 7]], np.float32), b), arr(3), name="lstsq-mixed", tol=1e-13, why=LAPACK)

# ---- norms and condition numbers

for _ord in ["nuc", 2, -2]:
    for _a in [(3, 3), (4, 2), (2, 3)]:
        case(L.norm, lambda x, p=_ord: L.norm(x, p), arr(*_a), complex=True, tol=1e-14, why=SUMS)
    case(L.norm, lambda x, p=_ord: L.norm(x, p, axis=(0, 2), keepdims=True), arr(2, 3, 2), tol=1e-14, why=SUMS)
    case(L.norm, lambda x, p=_ord: L.norm(x, p, axis=(-1, 0)), arr(2, 3, 2), tol=1e-14, why=SUMS)
    case(L.matrix_norm, lambda x, p=_ord: L.matrix_norm(x, ord=p, keepdims=True), arr(2, 3, 4), tol=1e-14, why=SUMS)
case(L.norm, lambda x: L.norm(x, "nuc"), np.ones((2, 3)), name="norm-nuc-rank-1", smooth=False, values_only=True, tol=1e-14, why=SUMS)
for _p in [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"]:
    _real = NUMPY >= (2, 4) or _p in (None, 2, -2)  # older ones give a complex number
    case(L.cond, lambda x, p=_p: L.cond(x + np.eye(3), p), arr(3, 3), complex=_real, tol=1e-13, why=LAPACK)
    case(L.cond, lambda x, p=_p: L.cond(x + np.eye(2), p), arr(2, 2, 2), tol=1e-13, why=LAPACK)
case(L.cond, lambda x: L.cond(x + 1), arr(4, 2), complex=True)
for _p in [None, 1, "fro"]:
    case(L.cond, lambda x, p=_p: L.cond(x, p), np.ones((2, 2)), name=f"cond-{_p}-singular", values_only=True, tol=1e-13, why=LAPACK)
    case(L.cond, lambda x, p=_p: L.cond(x, p), np.zeros((2, 2)), name=f"cond-{_p}-zero", values_only=True)
case(L.cond, lambda x: L.cond(positive(x)), arr(2, 2), name="cond-positive")
