"""Cases of products: dot, matmul and their kin, tensordot, einsum, kron, cross."""

import warnings
from typing import Any

import numpy as np

from tests.ops.kit import arr, case

BLAS = "another order of summation"

# ---- dot, inner, vdot, outer

for _a, _b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 0), (0, 3)), ((0,), (0,)), ((), (3,))]:
    case(np.dot, np.dot, arr(*_a), arr(*_b, seed=1), complex=True)
case(np.dot, np.dot, arr(2, 3), arr(), complex=True, tol=1e-15, why="NumPy takes BLAS, which may fuse, for a number too")
for _a, _b in [((2, 4, 3), (3,)), ((3,), (2, 3, 4)), ((2, 4, 3), (5, 3, 2)), ((2, 1, 3), (3, 2))]:
    case(np.dot, np.dot, arr(*_a), arr(*_b, seed=1), complex=True, tol=1e-13, why=BLAS)
case(np.dot, lambda x: np.dot(x, [1, 2, 3]) + np.dot(2.0, x), arr(3))
case(np.dot, lambda x: np.dot(np.dot(x.T, x), x.T), arr(3, 2), tol=1e-13, why=BLAS)
for _a, _b in [((3,), (3,)), ((2, 3), (4, 3)), ((2, 5, 3), (3,)), ((), (3,)), ((2, 0), (3, 0))]:
    case(np.inner, np.inner, arr(*_a), arr(*_b, seed=1), complex=True, tol=1e-13, why=BLAS)
for _a, _b in [((3,), (3,)), ((2, 3), (3, 2)), ((0,), (0,)), ((), ())]:
    case(np.vdot, np.vdot, arr(*_a), arr(*_b, seed=1), complex=True)
for _a, _b in [((3,), (2,)), ((2, 2), (3,)), ((), (3,)), ((0,), (3,))]:
    case(np.outer, np.outer, arr(*_a), arr(*_b, seed=1), complex=True)
case(np.outer, lambda x: np.outer(x, 2.0), arr(3))
case(np.linalg.outer, np.linalg.outer, arr(3), arr(2, seed=1), complex=True)

# ---- matmul and the other generalised ufuncs

for _a, _b in [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 0), (0, 3)), ((0, 2, 3), (3, 2)), ((2, 1, 3, 4), (5, 4, 2)),
    ((4,), (5, 4, 2)), ((5, 2, 4), (4,)), ((5, 2, 4), (4, 3)), ((2, 4), (5, 4, 3)), ((1, 2, 3), (4, 3, 2)), ((2, 2, 2), (2, 2, 2)),
]:  # fmt: skip
    case(np.matmul, np.matmul, arr(*_a), arr(*_b, seed=1), complex=True)
case(np.matmul, lambda x, y: np.matmul(x, y, axes=[(0, 1), (1, 0), (0, 2)]), arr(2, 3, 4), arr(2, 3, 4, seed=1), tol=1e-13, why=BLAS)
case(np.matmul, lambda x: np.matmul(x, [[1, 2], [3, 4]]) @ x, arr(2, 2))
case(np.linalg.matmul, np.linalg.matmul, arr(2, 3), arr(3, 2, seed=1), complex=True)
for _a, _b in [((3,), (3,)), ((4, 3), (3,)), ((2, 1, 3), (4, 3)), ((2, 0), (2, 0))]:
    case(np.vecdot, np.vecdot, arr(*_a), arr(*_b, seed=1), complex=True)
case(np.vecdot, lambda x, y: np.vecdot(x, y, axis=0), arr(3, 4), arr(3, 4, seed=1), complex=True, tol=1e-13, why=BLAS)
case(np.vecdot, lambda x, y: np.vecdot(x, y, axis=0, keepdims=True), arr(3, 4), arr(3, 4, seed=1), tol=1e-13, why=BLAS)
case(np.vecdot, lambda x, y: np.vecdot(x, y, axes=[0, 1, ()]), arr(3, 4), arr(4, 3, seed=1), tol=1e-13, why=BLAS)
case(np.linalg.vecdot, lambda x, y: np.linalg.vecdot(x, y, axis=0), arr(3, 4), arr(3, 4, seed=1), complex=True, tol=1e-13, why=BLAS)
case(np.linalg.vecdot, np.linalg.vecdot, arr(2, 3), arr(3, seed=1))
if hasattr(np, "matvec"):  # since NumPy 2.2
    case(np.matvec, np.matvec, arr(5, 2, 3), arr(3, seed=1), complex=True, tol=1e-13, why=BLAS)
    case(np.matvec, lambda x, y: np.matvec(x, y, axes=[(0, 2), 0, 1]), arr(2, 5, 3), arr(3, 5, seed=1), tol=1e-13, why=BLAS)
    case(np.vecmat, np.vecmat, arr(3), arr(5, 3, 2, seed=1), complex=True, tol=1e-13, why=BLAS)
    case(np.vecmat, np.vecmat, arr(2, 3), arr(2, 3, 4, seed=1), tol=1e-13, why=BLAS)

# ---- tensordot

for _a, _b, _axes in [
    ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (4,), 0), ((2, 3), (3, 4), 1), ((2, 3, 4), (4, 3, 2), ([1, 0], [1, 2])), ((2, 3), (4, 2), (0, 1)),
    ((2, 3), (3, 2), ([-1], [-2])), ((3, 2, 4), (4, 2, 3), ([0, 2, 1], [2, 0, 1])), ((2, 3), (2, 3), ([0, 1], [0, 1])),
    ((), (3,), 0), ((2, 0), (0, 3), 1),
]:  # fmt: skip
    case(np.tensordot, lambda x, y, axes=_axes: np.tensordot(x, y, axes), arr(*_a), arr(*_b, seed=1), complex=True, tol=1e-13, why=BLAS)
case(np.linalg.tensordot, lambda x, y: np.linalg.tensordot(x, y, axes=1), arr(2, 3), arr(3, 4, seed=1), tol=1e-13, why=BLAS)

# ---- einsum

EINSUMS = [
    ("ij,jk->ik", "23 34"), ("ij,kj", "23 43"), ("ij,jk->ki", "23 34"), ("i,i", "3 3"), ("i,i->i", "3 3"), ("i,j->ji", "3 2"),
    ("bij,bjk->bik", "234 245"), ("ijb,jkb->kib", "342 452"), ("ij,ij->i", "23 23"), ("ij,ji->", "23 32"),
    ("ij,ik->ijk", "23 24"), ("abcd,bd->ca", "2345 35"), ("abc,bcd->ad", "234 345"), ("ii", "33"), ("ii->i", "33"),
    ("iij->j", "332"), ("iji->j", "323"), ("iii->i", "333"), ("nd,nn->d", "32 33"), ("i...,i->...", "222 2"),
    ("i...,i...", "23 2"), ("...ij,...jk->...ik", "2134 542"), ("b...,...->...", "23 231"), ("...", "23"), ("ij->", "23"),
    ("ij->ji", "23"), ("ij->ij", "23"), ("ba", "23"), ("Ba", "23"), ("ij,k->", "23 4"), (" i j , j k ->  i k", "23 32"),
    ("i,i", "1 3"), ("ij,jk->ik", "23 14"), ("i,ij->j", "2 13"), ("i,ij,j", "2 23 3"), ("i,i,i->", "3 3 3"),
    ("ij,jk,kl,lm->im", "23 34 45 52"), ("i,j,k->kij", "2 3 4"), ("ij,,jk->ki", "23  34"), (",ij->ji", " 23"), ("->", ""),
    ("ij,jk", "20 03"), ("ij,jk->", "03 32"), ("bi,bij,bj->b", "23 234 24"), ("ij,ij,ij->ij", "23 23 23"),
    ("ijj,jk->ik", "233 32"),
]  # fmt: skip
"""Subscripts, and the sizes of each operand's axes."""

for _subscripts, _sizes in EINSUMS:
    _args = [arr(*map(int, sizes), seed=k) for k, sizes in enumerate(_sizes.split(" "))]
    case(np.einsum, lambda *xs, s=_subscripts: np.einsum(s, *xs), *_args, complex=True, tol=1e-12, why=BLAS)
for _optimize in [True, "optimal", ("greedy", 100), ["einsum_path", (0, 1), (0, 1)]]:
    _args = [arr(2, 3), arr(3, 4, seed=1), arr(4, 2, seed=2)]
    case(np.einsum, lambda x, y, z, how=_optimize: np.einsum("ij,jk,kl->li", x, y, z, optimize=how), *_args, tol=1e-12, why=BLAS)
case(np.einsum, lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), arr(2, 3), arr(3, 4, seed=1), tol=1e-12, why=BLAS)
case(np.einsum, lambda x, y: np.einsum(x, [30, 1], y, [1, 2]), arr(2, 3), arr(3, 4, seed=1), tol=1e-12, why=BLAS)
case(np.einsum, lambda x, y: np.einsum(x, [..., 1], y, [1, ...]), arr(2, 3), arr(3, 2, seed=1), tol=1e-12, why=BLAS)
case(np.einsum, lambda x: np.einsum("ij,j->i", x, [1, 2, 3]), arr(2, 3), tol=1e-12, why=BLAS)
case(np.einsum, lambda x: np.einsum("ij,jk->ik", x, x.T, dtype="f8", order="F", casting="same_kind"), arr(2, 3), tol=1e-12, why=BLAS)

# ---- kron and cross

for _a, _b in [((2,), (3,)), ((2, 3), (4,)), ((3,), (2, 1, 2)), ((), (2, 2)), ((2,), ()), ((0,), (2,))]:
    case(np.kron, np.kron, arr(*_a), arr(*_b, seed=1), complex=True)
for _a, _b in [((3,), (3,)), ((4, 3), (3,)), ((2, 1, 3), (4, 3)), ((0, 3), (3,))]:
    case(np.cross, np.cross, arr(*_a), arr(*_b, seed=1), complex=True)
case(np.cross, lambda x, y: np.cross(x, y, axis=0), arr(3, 2), arr(3, 2, seed=1))
case(np.cross, lambda x, y: np.cross(x, y, axisa=0, axisb=1, axisc=0), arr(3, 2), arr(2, 3, seed=1))
case(np.linalg.cross, np.linalg.cross, arr(2, 3), arr(2, 3, seed=1))
case(np.linalg.cross, lambda x, y: np.linalg.cross(x, y, axis=0), arr(3, 2), arr(3, 2, seed=1))


def cross_in_plane(x: Any, y: Any) -> Any:
    """NumPy deprecates this, and it still works."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return np.cross(x, y)


for _a, _b in [((2,), (2,)), ((4, 2), (2,)), ((2,), (3,)), ((4, 3), (2,))]:
    case(np.cross, cross_in_plane, arr(*_a), arr(*_b, seed=1), complex=True)
