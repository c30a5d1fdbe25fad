"""The x of least |A x - b|, that is x = P b with P the pseudoinverse, whose derivative is in `ops.linalg`."""

from __future__ import annotations

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops.contraction import dot
from funcgrad.ops.elementwise import conjugate, real
from funcgrad.ops.kinds import constant, differentiable, total
from funcgrad.ops.linalg import adjoint, pinv
from funcgrad.ops.reductions import sum


def _tolerance(a: Value, rcond: float) -> float:
    """LAPACK takes a negative one for machine precision."""
    return float(np.finfo(dtype_of(a)).eps) if rcond < 0 else rcond


def _lstsq_tangent(out: Value, args: tuple[Value, ...], tangents: tuple[Value, ...], *, rcond: float) -> Value:
    """dx = P (db - dA x) + P Pᴴ dAᴴ (b - A x) + (1 - P A) dAᴴ Pᴴ x."""
    a, b = args
    da, db = tangents
    p = pinv(a, _tolerance(a, rcond), hermitian=False)
    if da is None:
        return dot(p, db)
    left, right = dot(adjoint(da), b - dot(a, out)), dot(adjoint(da), dot(adjoint(p), out))
    moved = dot(da, out)
    return dot(p, (-moved if db is None else db - moved) + dot(adjoint(p), left)) + right - dot(p, dot(a, right))


lstsq = differentiable("lstsq", lambda a, b, *, rcond: np.linalg.lstsq(a, b, rcond)[0], _lstsq_tangent)
rank = constant(lambda a, *, rcond: np.linalg.lstsq(a, np.zeros(a.shape[:1], a.dtype), rcond)[2], name="rank")

# ---- of each column of b, Σ |r|² with r = b - A x. Since Aᴴ r = 0, x need not move: the tangent is 2 Re Σ r̄ (db - dA x)


def _residuals_tangent(out: Value, args: tuple[Value, ...], tangents: tuple[Value, ...], *, rcond: float) -> Value | None:
    if not shape_of(out)[0]:
        return None
    (a, b), (da, db) = args, tangents
    x = lstsq(a, b, rcond=rcond)
    r = b - dot(a, x)
    moved = total((db, None if da is None else -dot(da, x)))
    rates = real(conjugate(r) * moved) if dtype_of(r).kind == "c" else r * moved
    return 2 * sum(rates, axis=(-len(shape_of(b)),)) + np.zeros(shape_of(out), dtype_of(out))


residuals = differentiable("residuals", lambda a, b, *, rcond: np.linalg.lstsq(a, b, rcond)[1], _residuals_tangent)
"""NumPy gives them where A has more rows than columns, and full rank; otherwise there are none."""
