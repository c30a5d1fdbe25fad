"""Eigenvalues and eigenvectors of general matrices.

With A = V Λ V⁻¹ and P = V⁻¹ dA V (Giles 3.1): dλᵢ = Pᵢᵢ and dV = V (F ∘ P), where Fᵢⱼ = 1 / (λⱼ - λᵢ), but that each column stays
as LAPACK leaves it: of length 1, and its largest component real. Where eigenvalues are equal F is 0 (see `coincidence`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops.coincidence import apart, gaps, inverse, refuse, refuse_together, unknown
from funcgrad.ops.contraction import column, matmul, row, swap
from funcgrad.ops.eigen import conj, on_diagonal
from funcgrad.ops.elementwise import imag, real
from funcgrad.ops.kinds import constant, differentiable
from funcgrad.ops.linalg import solve
from funcgrad.ops.reductions import sum
from funcgrad.ops.shaping import cast, dense, diagonal

Pair = tuple[Value, Value]


def _real_component(v: Any) -> Any:
    if not v.size:
        return v.real
    size = np.abs(v) * (v.imag == 0)
    at = np.argmax(np.where(np.any(size > 0, axis=-2, keepdims=True), size, np.abs(v)), axis=-2)[..., None, :]
    out = np.zeros(v.shape, v.real.dtype)
    np.put_along_axis(out, at, 1, -2)
    return out


real_component = constant(_real_component, name="real_component")
"""1 at the component of each column that LAPACK made real, elsewhere 0."""


def _turns(v: Value) -> Value:
    """How far a column turns with the imaginary part of each component."""
    return inverse(real(v), real_component(v))


# ---- both


def _kept(v: Value, dv: Value) -> Value:
    """dV less what would change the length and the phase of a column."""
    if dtype_of(v).kind != "c":
        return dv - v * row(sum(v * dv, axis=(-2,)))
    rate = sum(real(conj(v) * dv), axis=(-2,)) + 1j * sum(_turns(v) * imag(dv), axis=(-2,))
    return dv - v * row(cast(rate, dtype_of(v)))


def _kept_back(v: Value, ct: Value) -> Value:
    """The transpose of that."""
    rate = row(sum(v * ct, axis=(-2,)))
    if dtype_of(v).kind != "c":
        return ct - rate * v
    return cast(ct - real(rate) * conj(v) - 1j * imag(rate) * _turns(v), dtype_of(v))


def _eig_tangent(out: Pair, args: tuple[Value], tangents: tuple[Value]) -> Pair:
    w, v = out
    p, known = solve(v, matmul(tangents[0], v)), apart(w)
    return diagonal(p, offset=0), _kept(v, matmul(v, inverse(gaps(w), known) * p + unknown(p, known, p, name="eig")))


def _eig_back(ct: tuple[Value | None, Value | None], out: Pair, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    (w, v), (ct_w, ct_v) = out, ct
    turned = swap(v)
    if ct_v is None:
        assert ct_w is not None
        return (solve(turned, column(dense(ct_w, shape_of(w))) * turned),)
    known = apart(w)
    c = matmul(turned, _kept_back(v, dense(ct_v, shape_of(v))))
    inner = inverse(gaps(w), known) * c + refuse(c, known, c, name="eig")
    if ct_w is not None:
        ct_w = dense(ct_w, shape_of(w))
        vectors = matmul(turned, dense(ct_v, shape_of(v)))
        inner = inner + on_diagonal(ct_w) + refuse_together(ct_w, vectors, known, name="eig")
    return (solve(turned, matmul(inner, turned)),)


eig = differentiable("eig", lambda a: tuple(np.linalg.eig(a)), _eig_tangent, _eig_back)
