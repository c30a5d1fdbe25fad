"""Covariances and correlations of samples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy import reductions
from funcgrad.numpy.bridge import array
from funcgrad.numpy.contraction import conj, operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import squeeze, with_rank
from funcgrad.numpy.statistics import average
from funcgrad.ops.contraction import column, dot, swap
from funcgrad.ops.elementwise import imag, real, sqrt, within_one
from funcgrad.ops.shaping import cast, concatenate, diagonal


def _samples(m: Value, rowvar: Any, dtype: np.dtype[Any]) -> Value:
    """One variable a row."""
    x = with_rank(cast(m, dtype), 2)
    return x if rowvar or len(shape_of(m)) == 1 else swap(x)


def _weights(name: str, w: Any, samples: int) -> Value:
    w = cast(operand(array(w)), np.dtype(float))
    if name == "fweights" and not reductions.all(w == np.round(w)):
        raise TypeError("fweights must be integer")
    if len(shape_of(w)) > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if shape_of(w)[0] != samples:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if reductions.any(w < 0):
        raise ValueError(f"{name} cannot be negative")
    return w


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Value:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    given = [operand(array(v)) for v in (m, y) if v is not None]
    for name, v in zip("my", given, strict=False):
        if len(shape_of(v)) > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    dtype = np.result_type(*map(dtype_of, given), np.float64) if dtype is None else np.dtype(dtype)
    x = _samples(given[0], rowvar, dtype)
    if not shape_of(x)[0]:
        return np.empty((0, 0))
    if y is not None:
        more = with_rank(cast(given[1], dtype), 2)
        x = concatenate(x, more if rowvar or shape_of(more)[0] == 1 else swap(more), axis=-2)
    ddof = (1 if bias == 0 else 0) if ddof is None else ddof
    f, a = (None if w is None else _weights(name, w, shape_of(x)[1]) for name, w in (("fweights", fweights), ("aweights", aweights)))
    w = a if f is None else f if a is None else f * a
    mean, total = average(x, axis=1, weights=w, returned=True)
    x = x - column(mean)
    weighted = x if w is None else x * w
    products = dot(x, conj(swap(weighted)))
    return squeeze(cast(products * np.true_divide(1, _freedom(shape_of(x)[1], total[0], w, a, ddof)), dtype_of(products)))


def _freedom(samples: int, total: Value, w: Value | None, a: Value | None, ddof: Any) -> Value:
    """What the sums of products are divided by."""
    if w is None:
        free = samples - ddof
    elif ddof == 0:
        free = total
    else:
        free = total - ddof if a is None else total - ddof * reductions.sum(w * a) / total
    if free <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=4)
        return 0.0
    return free


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None, **ignored: Any) -> Value:
    c = cov(x, y, rowvar, dtype=dtype)
    if not shape_of(c):
        return c / c
    spread = sqrt(real(diagonal(c, offset=0)))
    c = c / column(spread) / spread
    return within_one(real(c)) + within_one(imag(c)) * 1j if dtype_of(c).kind == "c" else within_one(c)
