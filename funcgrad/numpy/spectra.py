"""Eigenvalues, singular values and orthogonal factors of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Value
from funcgrad.numpy.contraction import conj, operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.indexing import take_along_axis
from funcgrad.numpy.ordering import argsort, sort
from funcgrad.ops import eig as general
from funcgrad.ops import eigen, orthogonal
from funcgrad.ops import eigvals as general_values
from funcgrad.ops import svd as factors
from funcgrad.ops.contraction import row, swap
from funcgrad.ops.elementwise import absolute, sign
from funcgrad.ops.singular import svdvals as singular_values

_EigResult: Any = type(np.linalg.eig(np.eye(1)))
_EighResult: Any = type(np.linalg.eigh(np.eye(1)))
_SVDResult: Any = type(np.linalg.svd(np.eye(1)))
_QRResult: Any = type(np.linalg.qr(np.eye(1)))


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: Any = "L") -> Any:
    return _EighResult(*eigen.eigh(operand(a), uplo=UPLO))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: Any = "L") -> Value:
    return eigen.eigvalsh(operand(a), uplo=UPLO)


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    return _EigResult(*general.eig(operand(a)))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Value:
    return general_values.eigvals(operand(a))


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    a = operand(a)
    if hermitian:
        return _hermitian_svd(a) if compute_uv else sort(absolute(eigen.eigvalsh(a, uplo="L")))[..., ::-1]
    return _SVDResult(*factors.svd(a, full=bool(full_matrices))) if compute_uv else singular_values(a)


def _hermitian_svd(a: Value) -> Any:
    """By eigenvalues, as NumPy does it: their signs go into Vᴴ."""
    w, v = eigen.eigh(a, uplo="L")
    order = argsort(absolute(w))[..., ::-1]
    u, signs = take_along_axis(v, row(order), -1), take_along_axis(sign(w), order, -1)
    return _SVDResult(u, take_along_axis(absolute(w), order, -1), swap(conj(u * row(signs))))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Value:
    return singular_values(operand(x))


@implements(np.linalg.qr)
def qr(a: Any, mode: Any = "reduced") -> Any:
    a = operand(a)
    if mode not in ("reduced", "complete", "r"):
        np.linalg.qr(np.eye(1), mode)  # what NumPy says of old names, and of those that are none
        if mode not in ("f", "full"):
            raise errors.MissingRuleError(f"np.linalg.qr(mode={mode!r})", 'Use mode "reduced", "complete" or "r".')
        mode = "reduced"
    q, r = orthogonal.qr(a, mode="complete" if mode == "complete" else "reduced")
    return r if mode == "r" else _QRResult(q, r)
