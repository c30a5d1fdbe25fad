"""Eigenvalues and eigenvectors of Hermitian matrices.

With A = V Λ Vᴴ and M = Vᴴ dA V (Giles 3.1): dλᵢ = Mᵢᵢ and dV = V (F ∘ M), where Fᵢⱼ = 1 / (λⱼ - λᵢ).
LAPACK reads one triangle of A; the derivative is that of a function of the symmetric part, (A + Aᴴ) / 2.
Where eigenvalues are equal F is 0, which is right for a loss that does not depend on the choice of their vectors (see `coincidence`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.coincidence import apart, gaps, inverse, refuse, refuse_choice, refuse_together, unknown, unknown_rotation
from funcgrad.ops.contraction import fit, matmul, row, swap
from funcgrad.ops.elementwise import conjugate, real
from funcgrad.ops.kinds import differentiable, semilinear
from funcgrad.ops.linalg import adjoint, symmetric_part
from funcgrad.ops.shaping import cast, dense, diagonal, embed_diagonal


def conj(x: Value) -> Value:
    return conjugate(x) if dtype_of(x).kind == "c" else x


def real_diagonal(x: Value) -> Value:
    d = diagonal(x, offset=0)
    return real(d) if dtype_of(d).kind == "c" else d


def on_diagonal(d: Value) -> Value:
    n = shape_of(d)[-1]
    return embed_diagonal(d, offset=0, shape=(n, n))


def _in_basis(v: Value, da: Value) -> Value:
    """M."""
    return matmul(matmul(adjoint(v), symmetric_part(da)), v)


def _back_from_basis(v: Value, ct: Value) -> Value:
    """The cotangent of A, of that of M."""
    return symmetric_part(matmul(matmul(conj(v), ct), swap(v)))


# ---- both


def _eigh_tangent(out: tuple[Value, Value], args: tuple[Value], tangents: tuple[Value], *, uplo: str) -> tuple[Value, Value]:
    w, v = out
    m, known = _in_basis(v, tangents[0]), apart(w)
    return real_diagonal(m), matmul(v, inverse(gaps(w), known) * m + unknown_rotation(m, known, m, name="eigh"))


def _eigh_back(
    ct: tuple[Value | None, Value | None], out: tuple[Value, Value], args: tuple[Value], wanted: tuple[bool], *, uplo: str
) -> tuple[Value]:
    (w, v), (ct_w, ct_v) = out, ct
    if ct_v is None:
        assert ct_w is not None
        return (_rebuilt(v, dense(ct_w, shape_of(w))),)
    known = apart(w)
    c = matmul(swap(v), dense(ct_v, shape_of(v)))
    inner = inverse(gaps(w), known) * c + refuse_choice(c, known, name="eigh")
    if ct_w is not None:
        ct_w = dense(ct_w, shape_of(w))
        inner = inner + on_diagonal(ct_w) + refuse_together(ct_w, c, known, name="eigh")
    return (_back_from_basis(v, inner),)


eigh = differentiable("eigh", lambda a, *, uplo: tuple(np.linalg.eigh(a, uplo)), _eigh_tangent, _eigh_back)

# ---- eigenvalues alone


def _eigvalsh_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, uplo: str) -> Value:
    return real_diagonal(_in_basis(eigh(args[0], uplo=uplo)[1], tangents[0]))


def _eigvalsh_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool], *, uplo: str) -> tuple[Value]:
    return (rebuilt(args[0], ct, uplo=uplo),)


eigvalsh = differentiable("eigvalsh", lambda a, *, uplo: np.linalg.eigvalsh(a, uplo), _eigvalsh_tangent, _eigvalsh_back)

# ---- what reverse mode of the eigenvalues gives, a primitive so that its own derivative sees when d and V depend on A together:
# with Z = (dⱼ - dᵢ) Fᵢⱼ Mᵢⱼ, the tangent of V d Vᴴ is V Z Vᴴ


def _rebuilt(v: Value, d: Value) -> Value:
    return matmul(conj(v) * row(d), swap(v))


def _rebuilt_back(ct: Value, a: Value, d: Spec, *, uplo: str) -> Value:
    v = eigh(a, uplo=uplo)[1]
    return cast(fit(real_diagonal(matmul(matmul(adjoint(v), ct), v)), d.shape), d.dtype)


def _rebuilt_tangent(out: Value, args: tuple[Value, Value], tangents: tuple[Value, Value | None], *, uplo: str) -> Value:
    w, v = eigh(args[0], uplo=uplo)
    m, known, steps = _in_basis(v, tangents[0]), apart(w), gaps(args[1])
    z = steps * inverse(gaps(w), known) * m
    z = z + unknown(m if tangents[1] is not None else steps * m, known, m, name="eigvalsh", together=True)
    return conj(matmul(matmul(v, z), adjoint(v)))


def _rebuilt_together(
    ct: Value, out: Value, args: tuple[Value, Value], wanted: tuple[bool, bool], *, uplo: str
) -> tuple[Value | None, Value | None]:
    a, d = args
    w, v = eigh(a, uplo=uplo)
    known, steps = apart(w), gaps(d)
    q = matmul(matmul(adjoint(v), ct), v)
    both = symmetric_part(q)
    of_d = fit(real_diagonal(q), shape_of(d)) if wanted[1] else None
    if not wanted[0]:
        return None, of_d
    inner = steps * inverse(gaps(w), known) * conj(q)
    inner = inner + refuse(both if wanted[1] else steps * both, known, q, name="eigvalsh", together=True)
    return fit(_back_from_basis(v, inner), shape_of(a)), of_d


rebuilt = semilinear(
    "rebuilt", lambda a, d, *, uplo: _plain_rebuilt(np.linalg.eigh(a, uplo)[1], d), _rebuilt_back, _rebuilt_tangent, _rebuilt_together
)
"""(V d Vᴴ)ᵀ with the eigenvectors of `a`."""


def _plain_rebuilt(v: Any, d: Any) -> Any:
    return np.matmul(np.conj(v) * d[..., None, :], np.swapaxes(v, -1, -2))
