"""The Cholesky factor A = L Lᴴ, and its derivative, in which only triangles are divided by.

Derivation: I. Murray, Differentiation of the Cholesky decomposition (2016). LAPACK reads one triangle of A; the derivative is that of
a function of the symmetric part, (A + Aᴴ) / 2. With Φ, which takes the lower triangle and halves the diagonal,

    dL = L Φ(L⁻¹ dA L⁻ᴴ)  (eq. 8)  and  S = L⁻ᵀ Φ(Lᵀ G) L⁻*  (eq. 10)

pulls the cotangent G of L back: its symmetric part. For L = [[a, 0], [b, c]] and G = [[f, ·], [g, h]] the blocks of S are found one
after the other (section 3.3 there), with 5/6 n³ multiplications, most of them in products, where eq. 10 takes 5 n³ by full matrices:

    C = S(c, h),  B = (g - 2 C b) a⁻¹,  A = S(a, f - Bᴴ b),  S = [[A, Bᴴ / 2], [B / 2, C]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.contraction import fit, matmul, swap
from funcgrad.ops.kinds import differentiable, semilinear
from funcgrad.ops.linalg import adjoint, resolve, symmetric_part
from funcgrad.ops.shaping import cast
from funcgrad.ops.triangular import LEAF


def _lower_half(x: Value) -> Value:
    """Φ."""
    n, real_type = shape_of(x)[-1], np.finfo(dtype_of(x)).dtype
    return x * (np.tri(n, dtype=real_type) - np.eye(n, dtype=real_type) / 2)


def _moved(out: Value, da: Value) -> Value:
    """dL. What Φ gets is Hermitian, so that it does not matter that both sides of it are divided by Lᴴ from the right."""
    half = resolve(out, symmetric_part(da))
    return matmul(out, _lower_half(resolve(out, adjoint(half))))


# ---- S, by blocks


def _pulled(l: Any, g: Any) -> Any:
    """S. Nothing is read above the diagonal of either."""
    if l.dtype.kind == "c":  # as the gradient of a real function, which has Lᴴ where the transpose has Lᵀ
        return _pulled_real(l, g.conj()).conj()
    return _pulled_real(l, g)


def _pulled_real(l: Any, g: Any) -> Any:
    n = l.shape[-1]
    inverses = [np.linalg.inv(l[..., i : i + LEAF, i : i + LEAF]) for i in range(0, max(n, 1), LEAF)]
    out = np.empty(np.broadcast(l, g).shape, np.result_type(l, g))
    _fill(out, l, g, inverses)
    return out


def _fill(out: Any, l: Any, g: Any, inverses: list[Any]) -> None:
    """Writes S; the inverses are those of the blocks on the diagonal of L."""
    k = len(inverses) // 2
    if not k:
        n, inverse = l.shape[-1], inverses[0]
        middle = np.tril(_turned(l) @ g)
        middle[..., range(n), range(n)] /= 2
        s = _turned(inverse) @ middle @ inverse
        np.divide(s + _turned(s), 2, out=out)
        return
    m = k * LEAF
    a, b, c, last = l[..., :m, :m], l[..., m:, :m], l[..., m:, m:], out[..., m:, m:]
    _fill(last, c, g[..., m:, m:], inverses[k:])
    beside = last @ b
    beside *= -2
    beside += g[..., m:, :m]
    beside = _over(beside, a, inverses[:k])
    turned = _turned(beside)
    _fill(out[..., :m, :m], a, g[..., :m, :m] - turned @ b, inverses[:k])
    np.divide(turned, 2, out=out[..., :m, m:])
    np.divide(beside, 2, out=out[..., m:, :m])


def _over(x: Any, l: Any, inverses: list[Any]) -> Any:
    """x L⁻¹."""
    k = len(inverses) // 2
    if not k:
        return x @ inverses[0]
    m = k * LEAF
    last = _over(x[..., m:], l[..., m:, m:], inverses[k:])
    return np.concatenate((_over(x[..., :m] - last @ l[..., m:, :m], l[..., :m, :m], inverses[:k]), last), axis=-1)


def _turned(x: Any) -> Any:
    return x.swapaxes(-1, -2).conj() if x.dtype.kind == "c" else x.swapaxes(-1, -2)


def _pull_back(ct: Value, factor: Value, g: Spec) -> Value:
    return cast(fit(_moved(factor, ct), g.shape), g.dtype)


def _pull_tangent(out: Value, args: tuple[Value, Value], tangents: tuple[Value, Value]) -> Value:
    """With Y = L⁻ᵀ dLᵀ, that of G where L moves the factors: S(Y G) - Y S - (Y S)ᴴ."""
    y = resolve(swap(args[0]), swap(tangents[0]))
    ys = matmul(y, out)
    return cholesky_pull(args[0], matmul(y, args[1])) - (ys + adjoint(ys))


cholesky_pull = semilinear("cholesky_pull", lambda l, g: _pulled(l, g), _pull_back, _pull_tangent)
"""S(L, G), for the factor L of which no more is read than the lower triangle."""


def _cholesky_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    return _moved(out, tangents[0])


def _cholesky_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    return (cholesky_pull(out, ct),)


cholesky = differentiable("cholesky", lambda a: np.linalg.cholesky(a), _cholesky_tangent, _cholesky_back)
"""The lower factor; its upper triangle is exactly zero."""
