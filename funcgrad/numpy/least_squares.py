"""Least squares and what comes with it: pseudoinverse, rank and condition number."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.norms import inexact, norm
from funcgrad.ops import least_squares as ops
from funcgrad.ops import linalg
from funcgrad.ops.elementwise import isnan, logical_and, logical_not, where
from funcgrad.ops.indexing import scalar
from funcgrad.ops.kinds import constant
from funcgrad.ops.reductions import any
from funcgrad.ops.shaping import cast
from funcgrad.ops.singular import svdvals


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Value, Value, Any, Value]:
    """Differentiable but for the rank."""
    a, b = operand(a), operand(b)
    if len(shape_of(a)) != 2 or len(shape_of(b)) not in (1, 2) or shape_of(a)[0] != shape_of(b)[0]:
        np.linalg.lstsq(np.zeros(shape_of(a)), np.zeros(shape_of(b)))  # raises its own sentence
    dtype = np.result_type(*[d if d.kind in "fc" else np.float64 for d in (dtype_of(a), dtype_of(b))])
    a, b = cast(a, dtype), cast(b, dtype)
    rcond = float(max(shape_of(a)) * np.finfo(dtype).eps if rcond is None else rcond)
    s = svdvals(a)
    return ops.lstsq(a, b, rcond=rcond), ops.residuals(a, b, rcond=rcond), ops.rank(a, rcond=rcond), s


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = ...) -> Value:
    a = operand(a)
    if rcond is None:
        rcond = 1e-15 if rtol is ... else rtol
    elif rtol is not ...:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = max(shape_of(a)[-2:]) * np.finfo(dtype_of(a)).eps
    return linalg.pinv(a, rcond, hermitian=bool(hermitian))


_matrix_rank = constant(lambda a, *, tol, hermitian, rtol: np.linalg.matrix_rank(a, tol, hermitian, rtol=rtol), name="matrix_rank")


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Value:
    return _matrix_rank(operand(A), tol=tol, hermitian=hermitian, rtol=rtol)


_singular = constant(lambda x: np.isinf(np.linalg.cond(x, 1))[..., None, None], name="singular")


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Value:
    x = inexact(x)
    if 0 in shape_of(x)[-2:]:
        np.linalg.cond(np.zeros(shape_of(x)))  # raises its own sentence
    with np.errstate(all="ignore"):
        out = _ratio_of_singular_values(x, p) if p is None or p in (2, -2) else _with_inverse(x, p)
        missing = logical_and(isnan(out), logical_not(any(isnan(x), axis=(-2, -1))))
        return scalar(where(missing, dtype_of(out).type(np.inf), out))


def _ratio_of_singular_values(x: Value, p: Any) -> Value:
    s = svdvals(x)
    return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]


def _with_inverse(x: Value, p: Any) -> Value:
    """|x| |x⁻¹|; where there is no inverse, nan."""
    if shape_of(x)[-1] != shape_of(x)[-2]:
        np.linalg.cond(np.zeros(shape_of(x)), p)  # raises its own sentence
    singular = _singular(x)
    n = shape_of(x)[-1]
    inverse = where(singular, dtype_of(x).type(np.nan), linalg.inv(where(singular, np.eye(n, dtype=dtype_of(x)), x)))
    return norm(x, p, (-2, -1)) * norm(inverse, p, (-2, -1))
