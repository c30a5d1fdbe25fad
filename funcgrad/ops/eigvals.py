"""Eigenvalues alone of general matrices, in whatever order LAPACK gives them. The letters are those of `eig`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, shape_of
from funcgrad.ops.coincidence import apart, gaps, inverse, refuse, unknown
from funcgrad.ops.contraction import fit, matmul, row, swap
from funcgrad.ops.eig import eig
from funcgrad.ops.kinds import constant, differentiable, semilinear
from funcgrad.ops.linalg import solve
from funcgrad.ops.reductions import sum
from funcgrad.ops.shaping import cast, diagonal


def _one_order(w: Any, other: Any) -> Any:
    n = w.shape[-1]
    out = np.zeros((*w.shape, n), w.real.dtype)
    count = w.size // max(n, 1)
    for made, mine, theirs in zip(out.reshape(count, n, n), w.reshape(count, n), other.reshape(count, n), strict=True):
        far = np.abs(mine[:, None] - theirs)
        for _ in range(n):
            i, j = np.unravel_index(np.argmin(far), far.shape)
            made[i, j], far[i, :], far[:, j] = 1, np.inf, np.inf
    return out


one_order = constant(_one_order, name="one_order")
"""The permutation matrix that brings the second eigenvalues into the order of the first."""


def _eigvals_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    w, v = eig(args[0])
    rates = diagonal(solve(v, matmul(tangents[0], v)), offset=0)
    return _permuted(one_order(out, w), rates)


def _permuted(p: Value, x: Value) -> Value:
    return sum(p * row(x), axis=(-1,))


def _eigvals_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool]) -> tuple[Value]:
    w = eig(args[0])[0]
    return (regained(args[0], _permuted(swap(one_order(out, w)), ct)),)


eigvals = differentiable("eigvals", lambda a: np.linalg.eigvals(a), _eigvals_tangent, _eigvals_back)

# ---- what reverse mode of those gives: see `eigen.rebuilt`. With Z = (dⱼ - dᵢ) Fᵢⱼ Pᵢⱼ, the tangent of V d V⁻¹ is V Z V⁻¹


def _regained(a: Any, d: Any) -> Any:
    turned = np.swapaxes(np.linalg.eig(a)[1], -1, -2)
    return np.linalg.solve(turned, d[..., :, None] * turned)


def _inner(v: Value, ct: Value) -> Value:
    """The cotangent of Z."""
    return swap(solve(v, matmul(ct, v)))


def _regained_back(ct: Value, a: Value, d: Spec) -> Value:
    return cast(fit(diagonal(_inner(eig(a)[1], ct), offset=0), d.shape), d.dtype)


def _regained_tangent(out: Value, args: tuple[Value, Value], tangents: tuple[Value, Value | None]) -> Value:
    w, v = eig(args[0])
    p, known, steps = solve(v, matmul(tangents[0], v)), apart(w), gaps(args[1])
    z = steps * inverse(gaps(w), known) * p
    z = z + unknown(p if tangents[1] is not None else steps * p, known, p, name="eigvals", together=True)
    return solve(swap(v), matmul(swap(z), swap(v)))


def _regained_together(ct: Value, out: Value, args: tuple[Value, Value], wanted: tuple[bool, bool]) -> tuple[Value | None, Value | None]:
    a, d = args
    w, v = eig(a)
    q = _inner(v, ct)
    of_d = fit(diagonal(q, offset=0), shape_of(d)) if wanted[1] else None
    if not wanted[0]:
        return None, of_d
    known, steps = apart(w), gaps(d)
    inner = steps * inverse(gaps(w), known) * q
    inner = inner + refuse(q if wanted[1] else steps * q, known, q, name="eigvals", together=True)
    return fit(solve(swap(v), matmul(inner, swap(v))), shape_of(a)), of_d


regained = semilinear("regained", _regained, _regained_back, _regained_tangent, _regained_together)
"""(V d V⁻¹)ᵀ with the eigenvectors of `a`."""
