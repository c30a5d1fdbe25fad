"""Polynomials fitted to points by least squares."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.polynomials import vander
from funcgrad.ops import least_squares as ops
from funcgrad.ops import reductions
from funcgrad.ops.contraction import column, dot, swap
from funcgrad.ops.elementwise import sqrt, square
from funcgrad.ops.linalg import inv
from funcgrad.ops.shaping import cast


def _float(x: Any) -> Value:
    return operand(array(x)) + 0.0


def _check(x: Value, y: Value, deg: Any, w: Value | None) -> None:
    """What `np.polyfit` refuses, in its words."""
    sizes = shape_of(x), shape_of(y)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if len(sizes[0]) != 1:
        raise TypeError("expected 1D vector for x")
    if not sizes[0][0]:
        raise TypeError("expected non-empty vector for x")
    if len(sizes[1]) not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if sizes[0][0] != sizes[1][0]:
        raise TypeError("expected x and y to have same length")
    if w is not None and len(shape_of(w)) != 1:
        raise TypeError("expected a 1-d array for weights")
    if w is not None and shape_of(w)[0] != sizes[1][0]:
        raise TypeError("expected w and y to have the same length")


def _rows(w: Value, a: Value) -> Value:
    """Each row of `a` times its weight, in the dtype of `a`."""
    return cast((w if len(shape_of(a)) == 1 else column(w)) * a, dtype_of(a))


def _per_row(c: Value, scale: Value) -> Value:
    return c / (scale if len(shape_of(c)) == 1 else column(scale))


@implements(np.polyfit)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False) -> Any:
    """Differentiable in the points and in the weights."""
    if full:
        raise errors.ArgumentTypeError("np.polyfit", "full=True has no derivative here. Use `np.polyval` of the fit for the residuals.")
    x, y, w = _float(x), _float(y), None if w is None else _float(w)
    _check(x, y, deg, w)
    order = int(deg) + 1
    rcond = float(shape_of(x)[0] * np.finfo(dtype_of(x)).eps if rcond is None else rcond)
    lhs, rhs = vander(x, order), y
    if w is not None:
        lhs, rhs = _rows(w, lhs), _rows(w, rhs)
    scale = sqrt(reductions.sum(lhs * lhs, axis=(-2,)))
    lhs = lhs / scale
    fit = ops.lstsq(lhs, rhs, rcond=rcond)
    if ops.rank(lhs, rcond=rcond) != order:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=4)
    c = _per_row(fit, scale)
    return (c, _covariance(lhs, rhs, fit, scale, cov)) if cov else c


def _covariance(lhs: Value, rhs: Value, fit: Value, scale: Value, cov: Any) -> Value:
    """That of the coefficients, for each column of `rhs`."""
    base = inv(dot(swap(lhs), lhs)) / (column(scale) * scale)
    points, order = shape_of(lhs)
    many = len(shape_of(rhs)) == 2
    if isinstance(cov, str) and cov == "unscaled":
        return column(base) if many else base
    if points <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    per = reductions.sum(square(rhs - dot(lhs, fit)), axis=(-2,) if many else (-1,)) / (points - order)
    return (column(base) if many else base) * per
