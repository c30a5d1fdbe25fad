"""QR factors.

With A = Q R, C = Qᴴ dA R⁻¹ and Ω = Qᴴ dQ, which is anti-Hermitian: C = Ω + dR R⁻¹, where dR R⁻¹ is upper triangular with a real
diagonal. So Ω is the strict lower triangle of C less its adjoint, and the imaginary diagonal; dR = Qᴴ dA - Ω R. What of dQ is outside
of the span of Q is (1 - Q Qᴴ) dA R⁻¹. Of a wide A, R and C are those of its square part.
(S. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions with application in optimum experimental design, 2010.)
"""

from __future__ import annotations

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops.coincidence import refuse_mixing
from funcgrad.ops.contraction import matmul, swap
from funcgrad.ops.eigen import conj
from funcgrad.ops.elementwise import imag
from funcgrad.ops.kinds import differentiable, total
from funcgrad.ops.linalg import adjoint, resolve
from funcgrad.ops.shaping import cast, concatenate, dense, embed, window

Pair = tuple[Value, Value]


def _part(x: Value, axis: int, start: int, stop: int) -> Value:
    return x if (start, stop) == (0, shape_of(x)[axis]) else window(x, axis=axis, start=start, stop=stop)


def _over(x: Value, r: Value) -> Value:
    """x R⁻¹."""
    return swap(resolve(swap(r), swap(x)))


def _rotation(c: Value) -> Value:
    """Ω of C."""
    n, real_type = shape_of(c)[-1], np.finfo(dtype_of(c)).dtype
    lower = c * np.tri(n, k=-1, dtype=real_type)
    omega = lower - adjoint(lower)
    return omega + cast(1j * (imag(c) * np.eye(n, dtype=real_type)), dtype_of(c)) if dtype_of(c).kind == "c" else omega


def _rotation_back(ct: Value) -> Value:
    """The transpose of that: of ct - ctᴴ the strict lower triangle, and i times the imaginary diagonal."""
    n, real_type = shape_of(ct)[-1], np.finfo(dtype_of(ct)).dtype
    lower = (ct - adjoint(ct)) * np.tri(n, k=-1, dtype=real_type)
    return lower + cast(1j * (imag(ct) * np.eye(n, dtype=real_type)), dtype_of(ct)) if dtype_of(ct).kind == "c" else lower


def _upper(x: Value) -> Value:
    rows, columns = shape_of(x)[-2:]
    return x * (1 - np.tri(rows, columns, k=-1, dtype=np.finfo(dtype_of(x)).dtype))


def _qr_tangent(out: Pair, args: tuple[Value], tangents: tuple[Value], *, mode: str) -> Pair:
    (whole, r), da = out, tangents[0]
    m, n = shape_of(da)[-2:]
    k = min(m, n)
    q, square = _part(whole, -1, 0, k), _part(_part(r, -2, 0, k), -1, 0, k)
    turned = matmul(adjoint(q), da)
    over = _over(_part(da, -1, 0, k), square)
    c = matmul(adjoint(q), over)
    omega = _rotation(c)
    dr = _upper(turned - matmul(omega, _part(r, -2, 0, k)))
    dq = matmul(q, omega)
    if m > k:
        outside = over - matmul(q, c)
        dq = dq + outside
        if shape_of(whole)[-1] > k:
            dq = concatenate(dq, -matmul(q, matmul(adjoint(outside), _part(whole, -1, k, m))), axis=-1)
            dr = embed(dr, axis=-2, start=0, size=m)
    return dq, dr


def _qr_back(ct: tuple[Value | None, Value | None], out: Pair, args: tuple[Value], wanted: tuple[bool], *, mode: str) -> tuple[Value]:
    whole, r = out
    m, n = shape_of(args[0])[-2:]
    k = min(m, n)
    q, upper = _part(whole, -1, 0, k), _part(r, -2, 0, k)
    square = _part(upper, -1, 0, k)
    of_omega, of_over, of_a = [], [], []
    if ct[1] is not None:
        ct_r = _upper(_part(dense(ct[1], shape_of(r)), -2, 0, k))
        of_omega.append(-matmul(ct_r, swap(upper)))
        of_a.append(matmul(conj(q), ct_r))
    if ct[0] is not None:
        ct_q = dense(ct[0], shape_of(whole))
        mine = _part(ct_q, -1, 0, k)
        c = matmul(swap(q), mine)
        of_omega.append(c)
        if m > k:
            of_over.append(_outside_back(whole, q, mine - matmul(conj(q), c), ct_q))
    of_over.append(matmul(conj(q), _rotation_back(total(of_omega))))
    first = swap(resolve(square, swap(total(of_over))))
    of_a.append(embed(first, axis=-1, start=0, size=n) if n > k else first)
    return (total(of_a),)


def _outside_back(whole: Value, q: Value, outside: Value, ct: Value) -> Value:
    """The cotangent of what is outside of the span of Q; the columns of a complete Q that have no row in R are LAPACK's choice."""
    m, k = shape_of(whole)[-2], shape_of(q)[-1]
    if shape_of(whole)[-1] == k:
        return outside
    rest, other = _part(whole, -1, k, m), _part(ct, -1, k, m)
    other = other + matmul(conj(rest), refuse_mixing(rest, other, name="qr"))
    return outside - matmul(conj(rest), matmul(adjoint(other), conj(q)))


qr = differentiable("qr", lambda a, *, mode: tuple(np.linalg.qr(a, mode)), _qr_tangent, _qr_back)
"""`mode` is NumPy's, "reduced" or "complete"."""
