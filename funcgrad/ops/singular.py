"""Singular values alone. In the letters of `svd`: dS is the real diagonal of M, and 0 at singular values that are 0: of all
subgradients the one of least norm, as for an absolute value.

What reverse mode gives is W = U d Vᴴ, a primitive so that its own derivative sees when d and U, V depend on A together. With
P = F⁻ ∘ H and Q = F⁺ ∘ K, the tangent of W is U ((dⱼ - dᵢ) Pᵢⱼ + (dᵢ + dⱼ) Qᵢⱼ) Vᴴ and what is outside of the spans of U and V.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, shape_of
from funcgrad.ops.coincidence import apart, gaps, inverse, one_positive, positive_values, refuse, unknown
from funcgrad.ops.contraction import column, fit, matmul, row, swap
from funcgrad.ops.eigen import conj, real_diagonal
from funcgrad.ops.kinds import differentiable, semilinear, total
from funcgrad.ops.linalg import adjoint, anti, symmetric_part
from funcgrad.ops.shaping import cast
from funcgrad.ops.svd import svd

SAID: dict[str, Any] = {"name": "svdvals", "together": True}


def _svdvals_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    u, s, vh = svd(args[0], full=False)
    return real_diagonal(matmul(matmul(adjoint(u), tangents[0]), adjoint(vh))) * positive_values(s)


def _svdvals_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    return (recomposed(args[0], ct * positive_values(out)),)


svdvals = differentiable("svdvals", lambda a: np.linalg.svd(a, compute_uv=False), _svdvals_tangent, _svdvals_back)

# ---- W, conjugated, of A and d


def _recomposed(a: Any, d: Any) -> Any:
    u, _, vh = np.linalg.svd(a, False)
    return np.conj(np.matmul(u * d[..., None, :], vh))


def _recomposed_back(ct: Value, a: Value, d: Spec) -> Value:
    u, _, vh = svd(a, full=False)
    return cast(fit(real_diagonal(matmul(matmul(adjoint(u), ct), adjoint(vh))), d.shape), d.dtype)


def _sums(d: Value) -> Value:
    return row(d) + column(d)


def _outside(u: Value, x: Value) -> Value | None:
    """(1 - U Uᴴ) x, None where U spans all."""
    n, k = shape_of(u)[-2:]
    return None if n == k else x - matmul(u, matmul(adjoint(u), x))


def _recomposed_tangent(out: Value, args: tuple[Value, Value], tangents: tuple[Value, Value | None]) -> Value:
    (a, d), da = args, tangents[0]
    u, s, vh = svd(a, full=False)
    v, moving = adjoint(vh), tangents[1] is not None
    differ, some, known = apart(s), one_positive(s), row(positive_values(s))
    m = matmul(matmul(adjoint(u), da), v)
    h, k = symmetric_part(m), anti(m)
    z = gaps(d) * inverse(gaps(s), differ) * h + _sums(d) * inverse(_sums(s), some) * k
    z = z + unknown(h if moving else gaps(d) * h, differ, m, **SAID) + unknown(m if moving else _sums(d) * k, some, m, **SAID)
    terms = [matmul(matmul(u, z), vh)]
    for side, moved, other in ((u, matmul(da, v), v), (v, matmul(adjoint(da), u), u)):
        outside = _outside(side, moved)
        if outside is not None:
            turned = outside * (row(d) * inverse(row(s), known)) + unknown(outside if moving else outside * row(d), known, moved, **SAID)
            term = matmul(turned, adjoint(other))
            terms.append(term if side is u else adjoint(term))
    return conj(total(terms))


def _recomposed_together(ct: Value, out: Value, args: tuple[Value, Value], wanted: tuple[bool, bool]) -> tuple[Value | None, Value | None]:
    a, d = args
    u, s, vh = svd(a, full=False)
    v, e = adjoint(vh), conj(ct)
    q = matmul(matmul(swap(u), e), conj(v))
    of_d = fit(real_diagonal(q), shape_of(d)) if wanted[1] else None
    if not wanted[0]:
        return None, of_d
    differ, some, known = apart(s), one_positive(s), row(positive_values(s))
    mean = gaps(d) * inverse(gaps(s), differ) * q + refuse(q if wanted[1] else gaps(d) * q, differ, q, **SAID)
    half = _sums(d) * inverse(_sums(s), some) * q
    of_m = symmetric_part(mean) + anti(half + refuse(anti(_sums(d) * q), some, q, **SAID))
    if wanted[1]:
        of_m = of_m + refuse(q, some, q, **SAID)
    terms = [matmul(matmul(conj(u), of_m), swap(v))]
    for side, moved, other in ((u, matmul(e, conj(v)), v), (v, matmul(adjoint(e), conj(u)), u)):
        outside = _outside(conj(side), moved)
        if outside is not None:
            turned = outside * (row(d) * inverse(row(s), known)) + refuse(outside if wanted[1] else outside * row(d), known, moved, **SAID)
            term = matmul(turned, swap(other))
            terms.append(term if side is u else adjoint(term))
    return fit(total(terms), shape_of(a)), of_d


recomposed = semilinear("recomposed", _recomposed, _recomposed_back, _recomposed_tangent, _recomposed_together)
