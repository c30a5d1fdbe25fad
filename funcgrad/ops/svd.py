"""Singular values and vectors.

With A = U S Vᴴ, M = Uᴴ dA V, and X = Uᴴ dU, Y = Vᴴ dV, which are anti-Hermitian: M = X S + dS - S Y. So with H and K the Hermitian
and the anti-Hermitian part of M, X + Y = 2 F⁻ ∘ H and X - Y = 2 F⁺ ∘ K, where F⁻ᵢⱼ = 1 / (sⱼ - sᵢ) and F⁺ᵢⱼ = 1 / (sᵢ + sⱼ), and dsᵢ = Hᵢᵢ.
What of dU is outside of the span of U is (1 - U Uᴴ) dA V / S. (Giles 3.2; Z. Wan and S. Zhang, Automatic differentiation for complex
valued SVD, 2019. The phases, which are free, turn half in U and half in V.)

Where singular values are equal F⁻ is 0, where they are 0 so are F⁺ and 1 / S (see `coincidence`). A singular value that is 0 goes on
as its vectors go, into what would be a negative one: so U S Vᴴ of a real square A has a derivative where one of them is 0.
"""

from __future__ import annotations

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops.coincidence import (
    apart,
    gaps,
    inverse,
    one_positive,
    positive_values,
    refuse,
    refuse_choice,
    refuse_mixing,
    refuse_together,
    unknown,
    unknown_rotation,
)
from funcgrad.ops.contraction import column, matmul, row, swap
from funcgrad.ops.eigen import conj, on_diagonal, real_diagonal
from funcgrad.ops.kinds import differentiable, total
from funcgrad.ops.linalg import adjoint, anti, symmetric_part
from funcgrad.ops.shaping import concatenate, dense, window

Factors = tuple[Value, Value, Value]


def _columns(x: Value, start: int, stop: int) -> Value:
    return x if (start, stop) == (0, shape_of(x)[-1]) else window(x, axis=-1, start=start, stop=stop)


# ---- forward mode


def _svd_tangent(out: Factors, args: tuple[Value], tangents: tuple[Value], *, full: bool) -> Factors:
    (u, s, vh), da = out, tangents[0]
    k, v = shape_of(s)[-1], adjoint(vh)
    left, right = matmul(da, _columns(v, 0, k)), matmul(adjoint(da), _columns(u, 0, k))
    m = matmul(adjoint(_columns(u, 0, k)), left)
    h, a, differ, some = symmetric_part(m), anti(m), apart(s), one_positive(s)
    mean = inverse(gaps(s), differ) * h + unknown_rotation(h, differ, m, name="svd")
    half = inverse(row(s) + column(s), some) * a + unknown_rotation(a, some, m, name="svd")
    du, dv = _side(u, s, mean + half, m, left), _side(v, s, mean - half, adjoint(m), right)
    return du, real_diagonal(m), adjoint(dv)


def _side(whole: Value, s: Value, x: Value, m: Value, moved: Value) -> Value:
    """dU of X, where `moved` is dA V. The columns of a full U that have no singular value move only as the others make them."""
    n, k = shape_of(whole)[-2], shape_of(s)[-1]
    u = _columns(whole, 0, k)
    du = matmul(u, x)
    if n == k:
        return du
    known, outside = row(positive_values(s)), moved - matmul(u, m)
    outside = outside * inverse(row(s), known) + unknown(outside, known, moved, name="svd")
    if shape_of(whole)[-1] == k:
        return du + outside
    return concatenate(du + outside, -matmul(u, matmul(adjoint(outside), _columns(whole, k, n))), axis=-1)


# ---- reverse mode


def _svd_back(
    ct: tuple[Value | None, Value | None, Value | None], out: Factors, args: tuple[Value], wanted: tuple[bool], *, full: bool
) -> tuple[Value]:
    u, s, vh = out
    k, v = shape_of(s)[-1], adjoint(vh)
    ct_v = None if ct[2] is None else adjoint(dense(ct[2], shape_of(vh)))
    (cu, of_left), (cv, of_right) = _side_back(u, s, ct[0]), _side_back(v, s, ct_v)
    inner = [] if cu is None and cv is None else [_of_m(s, cu, cv)]
    if ct[1] is not None:
        ct_s = dense(ct[1], shape_of(s))
        square = shape_of(u)[-2] == shape_of(v)[-2] and dtype_of(u).kind != "c"
        alone = apart(s) if square else apart(s) * (1 - np.eye(k, dtype=dtype_of(s)) * (1 - row(positive_values(s))))
        inner += [refuse_together(ct_s, c, alone, name="svd") for c in (cu, cv) if c is not None]
        inner.append(on_diagonal(ct_s))
    u, v = _columns(u, 0, k), _columns(v, 0, k)
    terms = [
        matmul(matmul(conj(u), total(inner)), swap(v)),
        None if of_left is None else matmul(of_left, swap(v)),
        None if of_right is None else adjoint(matmul(of_right, swap(u))),
    ]
    return (total(terms),)


def _side_back(whole: Value, s: Value, ct: Value | None) -> tuple[Value | None, Value | None]:
    """The cotangent of X, and that of dA V by what is outside of the span of U."""
    if ct is None:
        return None, None
    ct = dense(ct, shape_of(whole))
    n, k = shape_of(whole)[-2], shape_of(s)[-1]
    u, mine, known = _columns(whole, 0, k), _columns(ct, 0, k), row(positive_values(s))
    c = matmul(swap(u), mine)
    if n == k:
        return c, None
    outside = mine - matmul(conj(u), c)
    if shape_of(whole)[-1] > k:
        rest, other = _columns(whole, k, n), _columns(ct, k, n)
        other = other + matmul(conj(rest), refuse_mixing(rest, other, name="svd"))
        outside = outside - matmul(conj(rest), matmul(adjoint(other), conj(u)))
    return c, outside * inverse(row(s), known) + refuse(outside, known, ct, name="svd")


def _of_m(s: Value, cu: Value | None, cv: Value | None) -> Value:
    """The cotangent of M, of those of X and Y."""
    both = total((cu, cv))
    apart_from = total((cu, None if cv is None else -cv))
    differ, some = apart(s), one_positive(s)
    mean = both * inverse(gaps(s), differ) + refuse_choice(both, differ, name="svd")
    half = apart_from * inverse(row(s) + column(s), some) + refuse(anti(apart_from), some, both, name="svd")
    return symmetric_part(mean) + anti(half)


svd = differentiable("svd", lambda a, *, full: tuple(np.linalg.svd(a, full)), _svd_tangent, _svd_back)
"""U, S and Vᴴ; `full` as NumPy's `full_matrices`."""
