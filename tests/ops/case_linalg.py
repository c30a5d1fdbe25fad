"""Cases of linear algebra: solving, inverses, determinants, Cholesky factors, powers, chains, norms."""

import numpy as np

from tests.ops.kit import NUMPY, arr, case

L = np.linalg
LAPACK = "another LAPACK routine"
SUMS = "another order of summation"


def regular(*shape: int, seed: int = 0) -> np.ndarray:
    """Well-conditioned matrices."""
    return arr(*shape, seed=seed) + 3 * np.eye(shape[-1])


def positive(x: np.ndarray) -> np.ndarray:
    """A positive definite matrix made of any."""
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(x.shape[-1], dtype=x.real.dtype)


# ---- solve and inv

for _a, _b in [
    ((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 2)), ((3, 3), (2, 3, 2)), ((2, 1, 3, 3), (4, 3, 2)), ((1, 1), (1,)),
    ((0, 0), (0,)),
]:  # fmt: skip
    case(L.solve, L.solve, regular(*_a), arr(*_b, seed=1), complex=True)
case(L.solve, L.solve, regular(2, 3, 3), arr(3, seed=1), complex=True, tol=1e-13, why=LAPACK)
case(L.solve, lambda b: L.solve([[2, 1], [1, 3]], b), arr(2))
case(L.solve, lambda a: L.solve(a, [1, 2]), regular(2, 2))
for _a, _b in [((40, 40), (40,)), ((40, 40), (40, 2)), ((2, 35, 35), (2, 35, 1)), ((35, 35), (2, 35, 1))]:
    for _part in (np.tril, np.triu):  # derivatives by substitution
        f = lambda a, b, part=_part: L.solve(part(a) / 9 + 3 * np.eye(a.shape[-1]), b)
        case(L.solve, f, arr(*_a), arr(*_b, seed=1), complex=True, name=f"solve-{_part.__name__}-{_a}-{_b}")
for _a in [(3, 3), (2, 3, 3), (1, 1), (0, 2, 2)]:
    case(L.inv, L.inv, regular(*_a), complex=True)
case(L.tensorsolve, L.tensorsolve, regular(6, 6).reshape(2, 3, 2, 3), arr(2, 3, seed=1), tol=1e-13, why=LAPACK)
_a = regular(6, 6).reshape(3, 2, 6).transpose(0, 2, 1)
case(L.tensorsolve, lambda a, b: L.tensorsolve(a, b, axes=(0,)), _a, arr(6, seed=1), tol=1e-13, why=LAPACK)
case(L.tensorinv, L.tensorinv, regular(6, 6).reshape(2, 3, 3, 2))
case(L.tensorinv, lambda a: L.tensorinv(a, ind=1), regular(6, 6).reshape(6, 2, 3))

case(L.pinv, L.pinv, arr(4, 2), complex=True)
case(L.pinv, L.pinv, arr(2, 2, 3), complex=True)
case(L.pinv, L.pinv, arr(3, 3), complex=True)
case(L.pinv, lambda x, y: L.pinv(x @ y, rcond=1e-9), arr(4, 2), arr(2, 3, seed=1), name="pinv-rank-2", float32=False, complex=True)
case(L.pinv, lambda x: L.pinv(x, rtol=None) + L.pinv(x, rtol=1e-9), arr(2, 3))
case(L.pinv, lambda x: L.pinv([[1.0, 2.0], [3.0, 4.0]], rcond=1e-9 * x) + 0 * x, arr(), name="pinv-traced-tolerance", smooth=False)
case(L.pinv, lambda x: L.pinv(positive(x), hermitian=True), arr(2, 3, 3), complex=True)
case(L.pinv, lambda x: L.pinv(x @ x.T, 1e-9, True), arr(3, 2), name="pinv-hermitian-rank-2", float32=False)

# ---- determinants, of singular matrices too

for _a in [(3, 3), (2, 4, 4), (1, 1), (0, 0), (0, 2, 2)]:
    case(L.det, L.det, regular(*_a), complex=True)
case(L.det, L.det, np.ones((3, 3)), name="det-rank-1", float32=False, complex=True)
case(L.det, L.det, np.zeros((2, 2)), name="det-rank-0")
case(L.det, L.det, np.outer(arr(4), arr(4, seed=1)) + np.diag([0.0, 0.0, 0.0, 1.0]), name="det-rank-2-of-4", float32=False)
case(L.det, L.det, np.stack([np.eye(3), np.arange(9.0).reshape(3, 3), np.diag([1e-9, 1.0, 1e-9])]), name="det-mixed-stack", float32=False)
for _a in [(3, 3), (2, 3, 3), (1, 1)]:
    case(L.slogdet, lambda a: L.slogdet(a).logabsdet, regular(*_a), complex=True)
    case(L.slogdet, lambda a: tuple(L.slogdet(-a)), regular(*_a))
case(L.slogdet, lambda a: L.slogdet(a)[0] * np.exp(L.slogdet(a)[1]), regular(3, 3), complex=True)

# ---- Cholesky factors

for _a in [(3, 3), (2, 3, 3), (1, 1), (0, 0), (40, 40), (2, 35, 35)]:  # of more than 32 rows, the pull is by blocks
    case(L.cholesky, lambda x: L.cholesky(positive(x)), arr(*_a), complex=True)
for _a in [(3, 3), (2, 3, 3), (1, 1)]:
    case(L.cholesky, lambda x: L.cholesky(positive(x), upper=True), arr(*_a), complex=True, tol=1e-13, why=LAPACK)
case(L.matrix_rank, lambda x: x * L.matrix_rank(x), arr(3, 2))
case(L.matrix_rank, lambda x: 0 * x + L.matrix_rank(x @ x.T, hermitian=True, rtol=1e-9), arr(3, 2), smooth=False)

# ---- powers and chains

for _n in [0, 1, 2, 3, 5, 8, -1, -2, -3]:
    case(L.matrix_power, lambda a, n=_n: L.matrix_power(a, n) + 0 * a, regular(3, 3), complex=True)
case(L.matrix_power, lambda a: L.matrix_power(a, 5), regular(2, 2, 2))
case(L.multi_dot, lambda *xs: L.multi_dot(xs), arr(2, 3), arr(3, 4, seed=1), arr(4, 5, seed=2), complex=True)
case(L.multi_dot, lambda *xs: L.multi_dot(xs), arr(3), arr(3, 4, seed=1), arr(4, 5, seed=2), arr(5, seed=3), tol=1e-13, why=SUMS)
case(L.multi_dot, lambda x, y: L.multi_dot([x, y, x, y, x]), arr(2, 3), arr(3, 2, seed=1), tol=1e-13, why=SUMS)
case(L.multi_dot, lambda x, y: L.multi_dot([x, y]), arr(2, 3), arr(3, seed=1))
case(L.multi_dot, lambda x, y: L.multi_dot([x, y, x]), arr(3), arr(3, 3, seed=1), tol=1e-13, why=SUMS)

# ---- NumPy 2's names

case(L.diagonal, lambda x: L.diagonal(x, offset=1), arr(2, 3, 4))
case(L.trace, lambda x: L.trace(x, offset=-1), arr(2, 3, 4))
case(L.trace, lambda x: L.trace(x, dtype="f8"), arr(3, 4), float32=False)
case(L.matrix_transpose, L.matrix_transpose, arr(2, 3, 4))

# ---- norms of vectors

for _ord in [None, 1, 2, 3, 2.5, 0.5, -1, np.inf, -np.inf]:
    case(L.norm, lambda x, p=_ord: L.norm(x, p), arr(4), complex=True, tol=1e-14, why=SUMS)
    case(L.norm, lambda x, p=_ord: L.norm(x, p, axis=1, keepdims=True), arr(2, 3), tol=1e-14, why=SUMS)
    case(L.norm, lambda x, p=_ord: L.norm(x, ord=p, axis=(0,)), arr(2, 3, 2), tol=1e-14, why=SUMS)
case(L.norm, lambda x: x * L.norm(x, 0), arr(4), complex=True)
case(L.norm, L.norm, np.array([0.0, 3.0, 4.0]), name="norm-one-zero")
case(L.norm, L.norm, np.zeros(0), name="norm-empty")
case(L.norm, lambda x: L.norm(x, 1), np.zeros(0), name="norm-empty-1")
if NUMPY >= (2, 3):  # the first for which the largest of no elements is 0
    case(L.norm, lambda x: L.norm(x, np.inf) + L.norm(x, 1), np.zeros(0), name="norm-empty-inf")
case(L.norm, lambda x: L.norm(x, 4), np.array([0.0, 3.0, 4.0]), name="norm-4-one-zero", tol=1e-14, why=SUMS)
case(L.norm, lambda x: L.norm(x) ** 2, np.array([1e-3, 0.0, 0.0]), name="norm-squared")
for _ord in [0.5, 1.5, 2.5]:  # at 0 the slopes of an element are 0, of every order
    case(L.norm, lambda x, p=_ord: L.norm(np.where([True, False, True], x, 0.0), p), arr(3), name=f"norm-{_ord}-zero", tol=1e-14, why=SUMS)
case(L.norm, lambda x: L.norm(x, keepdims=True), arr(2, 3, 4))
case(L.norm, L.norm, arr())
for _ord in [1, 2, 3, np.inf]:
    case(L.vector_norm, lambda x, p=_ord: L.vector_norm(x, ord=p), arr(2, 3, 2), complex=True, tol=1e-14, why=SUMS)
    case(L.vector_norm, lambda x, p=_ord: L.vector_norm(x, ord=p, axis=(0, -1), keepdims=True), arr(2, 3, 2), tol=1e-14, why=SUMS)
    case(L.vector_norm, lambda x, p=_ord: L.vector_norm(x, ord=p, axis=1), arr(2, 3, 2), tol=1e-14, why=SUMS)

# ---- norms of matrices

for _ord in [None, "fro", 1, -1, np.inf, -np.inf]:
    case(L.norm, lambda x, p=_ord: L.norm(x, p), arr(3, 4) ** 3, complex=True, tol=1e-14, why=SUMS)
    case(L.norm, lambda x, p=_ord: L.norm(x, p, axis=(0, 2), keepdims=True), arr(2, 3, 2) ** 3, tol=1e-14, why=SUMS)
    case(L.norm, lambda x, p=_ord: L.norm(x, p, axis=(-1, 0)), arr(2, 3, 2) ** 3, tol=1e-14, why=SUMS)
case(L.matrix_norm, L.matrix_norm, arr(2, 3, 4), complex=True)
case(L.matrix_norm, lambda x: L.matrix_norm(x, ord=1, keepdims=True), arr(2, 3, 4), tol=1e-14, why=SUMS)
