"""Cases of reductions and cumulative operations."""

from __future__ import annotations

import numpy as np

from tests.ops.kit import arr, case

MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, True, True]])
ROUNDING = {"tol": 1e-14, "why": "NumPy adds the elements in another order"}


def with_nan(*shape: int, seed: int = 0) -> np.ndarray:
    x = arr(*shape, seed=seed)
    x.flat[:: 3 + seed] = np.nan
    return x


def present(f, *shape: int, seed: int = 0):
    """`f` of an array with nan at fixed places, so that the differentiated elements are numbers."""
    hole = np.isnan(with_nan(*shape, seed=seed))
    return lambda x: f(np.where(hole, np.nan, x))


# ---- every axis, kept or not, also of 0-d and empty operands

for _f in (np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.ptp):
    _c = _f in (np.sum, np.mean, np.prod, np.var, np.std)
    _n = _f.__name__
    case(_f, _f, arr(3, 4), complex=_c)
    case(_f, lambda x, _f=_f: _f(x, axis=0), arr(3, 4), name=f"{_n}-axis0", complex=_c)
    case(_f, lambda x, _f=_f: _f(x, 1, keepdims=True), arr(2, 3, 2), name=f"{_n}-keepdims", complex=_c)
    case(_f, lambda x, _f=_f: _f(x, axis=(-1, 0)), arr(2, 3, 4), name=f"{_n}-axes", complex=_c)
    case(_f, lambda x, _f=_f: _f(x, axis=None, keepdims=True), arr(2, 3), name=f"{_n}-none-keepdims")
    case(_f, lambda x, _f=_f: _f(x, axis=0), arr(4, 0), name=f"{_n}-empty")
for _f in (np.sum, np.prod, np.max, np.min):
    case(_f, lambda x, _f=_f: _f(x, axis=0) * x, arr(), name=f"{_f.__name__}-0d")
    case(_f, lambda x, _f=_f: _f(x, axis=()), arr(2, 3), name=f"{_f.__name__}-no-axes")
    case(_f, lambda x, _f=_f: _f([x[0], x[1], 0.5], axis=0), arr(3), name=f"{_f.__name__}-list", float32=False)
for _f in (np.mean, np.var, np.std, np.ptp):
    case(_f, lambda x, _f=_f: _f(x) * x, arr(), name=f"{_f.__name__}-0d", smooth=_f is np.mean)
for _f in (np.sum, np.prod, np.mean):
    for _d in (np.longdouble, complex):
        case(_f, lambda x, _f=_f, _d=_d: _f(x, axis=0, dtype=_d), arr(3, 4), name=f"{_f.__name__}-dtype-{np.dtype(_d)}", float32=False)
case((np.max, np.amax), lambda x: np.amax(x, 0), arr(3, 4))
case((np.min, np.amin), lambda x: np.amin(x, 0), arr(3, 4))
case(np.sum, lambda x: np.sum(x[:0]), arr(3), name="sum-of-nothing", smooth=False)
case(np.prod, lambda x: np.prod(x[:0]), arr(3), name="prod-of-nothing", smooth=False)

# ---- initial= and where=

for _f in (np.sum, np.prod, np.max, np.min):
    _n = _f.__name__
    _start = 0.7
    case(_f, lambda x, i, _f=_f: _f(x, axis=1, initial=i[0]), arr(3, 4), np.array([0.7]), name=f"{_n}-initial", **ROUNDING)
    case(_f, lambda x, _f=_f: _f(x, axis=0, where=MASK, initial=0.7, keepdims=True), arr(3, 4), name=f"{_n}-where", **ROUNDING)
    case(_f, lambda x, i, _f=_f: _f(x, axis=1, initial=i[0]), arr(3, 0), np.array([0.7]), name=f"{_n}-initial-empty", **ROUNDING)
    case(_f, lambda x, _f=_f: _f(x, initial=1), arr(3, 0), name=f"{_n}-initial-of-nothing", smooth=False)
for _f in (np.sum, np.prod, np.mean, np.var, np.std):
    case(_f, lambda x, _f=_f: _f(x, axis=1, where=MASK), arr(3, 4), name=f"{_f.__name__}-where-rows", complex=True, **ROUNDING)
    case(_f, lambda x, _f=_f: _f(x, where=[True, False, True, True]), arr(3, 4), name=f"{_f.__name__}-where-list", **ROUNDING)

# ---- products at zeros

for _k in (1, 2, 3):
    _x = arr(2, 4)
    _x[0, :_k] = 0
    case(np.prod, lambda x: np.prod(x, axis=1), _x, name=f"prod-{_k}-zeros")
    case(np.cumprod, lambda x: np.cumprod(x, axis=1), _x, name=f"cumprod-{_k}-zeros")

# ---- spreads

for _f in (np.var, np.std, np.nanvar, np.nanstd):
    _n = _f.__name__
    case(_f, lambda x, _f=_f: _f(x, axis=1, ddof=1), arr(3, 4), name=f"{_n}-ddof", complex=True)
    case(_f, lambda x, _f=_f: _f(x, axis=1, correction=0.5), arr(3, 4), name=f"{_n}-correction")
    case(_f, lambda x, _f=_f: _f(x, axis=1, mean=np.mean(x, axis=1, keepdims=True), keepdims=True), arr(3, 4), name=f"{_n}-mean")
    case(_f, lambda x, m, _f=_f: _f(x, axis=1, mean=m, where=MASK), arr(3, 4), arr(3, 1, seed=1), name=f"{_n}-mean-where", **ROUNDING)
case(np.var, np.var, np.full(3, 1.5), name="var-constant")
for _f in (np.var, np.std, np.nanvar, np.nanstd):
    for _d in (np.longdouble, complex):
        case(_f, lambda x, _f=_f, _d=_d: _f(x, axis=0, dtype=_d), arr(3, 4), name=f"{_f.__name__}-dtype-{np.dtype(_d)}", float32=False)

# ---- weighted means

case(np.average, lambda x: np.average(x, axis=0, keepdims=True), arr(3, 4), complex=True)
case(np.average, lambda x: np.average(x, returned=True)[0], arr(3, 4), name="average-returned-plain")
case(np.average, lambda x: np.average(x, axis=1, returned=True)[1], arr(3, 4), name="average-returned-count", smooth=False)
case(np.average, lambda x, w: np.average(x, axis=1, weights=w, returned=True), arr(3, 4), arr(4, low=0.5, high=2), name="average-weights")
case(np.average, lambda x, w: np.average(x, weights=w), arr(3, 4), arr(3, 4, low=0.5, high=2), name="average-weights-all", complex=True)
case(np.average, lambda x, w: np.average(x, (2, 0), w, keepdims=True), arr(2, 3, 4), arr(4, 2, low=0.5, high=2), name="average-axes")
case(np.average, lambda x: np.average(x, axis=-1, weights=[1, 2, 3, 4]), arr(3, 4), name="average-weights-int")

# ---- nan left out

for _f in (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin):
    _n = _f.__name__
    _kinked = _f in (np.nanmax, np.nanmin)
    case(_f, present(_f, 3, 5), arr(3, 5))
    case(_f, present(lambda x, _f=_f: _f(x, axis=1, keepdims=True), 3, 5), arr(3, 5), name=f"{_n}-axis", complex=not _kinked)
    case(_f, present(lambda x, _f=_f: _f(x, axis=(0, -1)), 2, 3, 4), arr(2, 3, 4), name=f"{_n}-axes")
for _f in (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd):
    case(_f, present(lambda x, _f=_f: _f(x, axis=1, where=MASK), 3, 4), arr(3, 4), name=f"{_f.__name__}-where", **ROUNDING)
for _f in (np.nansum, np.nanprod, np.nanmax, np.nanmin):
    case(_f, present(lambda x, _f=_f: _f(x, axis=1, initial=0.2, where=MASK), 3, 4), arr(3, 4), name=f"{_f.__name__}-initial", **ROUNDING)
case(np.nansum, lambda x: np.nansum(x, axis=0, dtype=complex), arr(3, 4), name="nansum-dtype", float32=False)

# ---- cumulative

for _f in (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod):
    _n = _f.__name__
    case(_f, _f, arr(2, 3), complex=True)
    case(_f, lambda x, _f=_f: _f(x, axis=0), arr(5, 2), name=f"{_n}-axis0", complex=True)
    case(_f, lambda x, _f=_f: _f(x, axis=-2), arr(2, 3, 2), name=f"{_n}-axis")
    case(_f, lambda x, _f=_f: _f(x), arr(), name=f"{_n}-0d")
    case(_f, lambda x, _f=_f: _f(x, axis=0), arr(0, 3), name=f"{_n}-empty")
    case(_f, lambda x, _f=_f: _f(x, 1, complex), arr(2, 3), name=f"{_n}-dtype", float32=False)
for _f in (np.nancumsum, np.nancumprod):
    case(_f, present(lambda x, _f=_f: _f(x, axis=1), 3, 5), arr(3, 5), name=f"{_f.__name__}-nan")
for _f in [getattr(np, _n) for _n in ("cumulative_sum", "cumulative_prod") if hasattr(np, _n)]:  # from NumPy 2.1 on
    _n = _f.__name__
    case(_f, _f, arr(4), complex=True)
    case(_f, lambda x, _f=_f: _f(x, axis=-2, include_initial=True), arr(3, 2, 2), name=f"{_n}-initial")
    case(_f, lambda x, _f=_f: _f(x, include_initial=True), arr(3), name=f"{_n}-initial-1d")
    case(_f, lambda x, _f=_f: _f(x), arr(), name=f"{_n}-0d")
case(np.cumprod, np.cumprod, arr(9, low=0.4, high=1.6), name="cumprod-long")

# ---- methods of ufuncs

for _u in (np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp):
    _n = _u.__name__
    case((_u, "reduce"), _u.reduce, arr(3, 4))
    case((_u, "reduce"), lambda x, _u=_u: _u.reduce(x, axis=(0, 2), keepdims=True), arr(2, 3, 2), name=f"{_n}.reduce-axes")
    case((_u, "reduce"), lambda x, _u=_u: _u.reduce(x, None, initial=0.3, where=MASK), arr(3, 4), name=f"{_n}.reduce-where", **ROUNDING)
for _u in (np.add, np.multiply, np.maximum, np.minimum):
    _n = _u.__name__
    case((_u, "accumulate"), _u.accumulate, arr(5, 2))
    case((_u, "accumulate"), lambda x, _u=_u: _u.accumulate(x, axis=-1), arr(2, 7), name=f"{_n}.accumulate-axis")
    case((_u, "accumulate"), lambda x, _u=_u: _u.accumulate(x, axis=1), arr(2, 0), name=f"{_n}.accumulate-empty")
case((np.add, "accumulate"), lambda x: np.add.accumulate(x, dtype=complex), arr(4), name="add.accumulate-dtype", float32=False)

# ---- locally constant

for _f in (np.argmax, np.argmin, np.nanargmax, np.nanargmin):
    _n = _f.__name__
    case(_f, lambda x, _f=_f: (_f(x), _f(x, 1), _f(x, axis=-2, keepdims=True), _f(x, keepdims=True)), arr(3, 4), smooth=False)
    case(_f, lambda x, _f=_f: x[_f(x)], arr(5), name=f"{_n}-index")
for _f in (np.any, np.all, np.count_nonzero):
    case(_f, lambda x, _f=_f: (_f(x), _f(x > 0, 1), _f(x > 1, axis=(0, 1), keepdims=True), _f(x) * 1.0), arr(3, 4), smooth=False)
for _f in (np.any, np.all):
    _n = _f.__name__
    case(_f, lambda x, _f=_f: (_f(x > 0, axis=0, where=MASK), _f(x, where=MASK) * 1.0), arr(3, 4), name=f"{_n}-where", smooth=False)
for _u in (np.logical_and, np.logical_or):
    case((_u, "reduce"), lambda x, _u=_u: (_u.reduce(x, axis=1), _u.reduce(x) * 1.0), arr(3, 4), smooth=False)
