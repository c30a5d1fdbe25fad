"""Cases of ordering, and of the calculus on sampled functions."""

import numpy as np

from funcgrad.ops.families import bessel_i, sinc
from tests.ops.kit import NUMPY, arr, case

METHODS = (
    "inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear median_unbiased "
    "normal_unbiased lower higher midpoint nearest"
).split()
HOLES = np.array([[1, 1, np.nan, 1], [np.nan, 1, np.nan, 1], [1, 1, 1, 1]])

# ---- sorting and searching

case(np.sort, lambda x: np.sort(x), arr(3, 4), complex=True)
case(np.sort, lambda x: np.sort(x, axis=0, kind="stable"), arr(3, 4))
case(np.sort, lambda x: np.sort(x, axis=None), arr(3, 4))
case(np.sort, lambda x: np.sort(x, stable=True), arr(0, 4))
case(np.sort, lambda x: np.sort(np.sort(x, axis=0) * np.arange(4.0)), arr(3, 4))
case(np.sort_complex, lambda x: np.sort_complex(x), arr(3, 4), complex=True)
case(np.argsort, lambda x: np.argsort(x), arr(3, 4))
case(np.argsort, lambda x: np.argsort(x, axis=None, kind="stable"), arr(3, 4))
case(np.argsort, lambda x: x[np.argsort(x, stable=True)], arr(4))
case((np.argsort, np.argpartition), lambda x: (np.argsort(x), np.argpartition(x, 0)), np.float64(0.3), name="argsort-0-d")
case(np.lexsort, lambda x, y: np.lexsort((x, np.round(y))), arr(6), arr(6, seed=1))
case(np.lexsort, lambda x: np.lexsort(x, axis=0), arr(3, 4))
case(np.partition, lambda x: np.partition(x, 2), arr(3, 6))
case(np.partition, lambda x: np.partition(x, [1, 3], axis=0), arr(6, 2))
case(np.partition, lambda x: np.partition(x, -1, axis=None), arr(3, 4))
case(np.argpartition, lambda x: np.argpartition(x, (1, 2), axis=0), arr(5, 2))
case(np.argpartition, lambda x: np.argpartition(x, 3, axis=None), arr(5, 2))
case(np.searchsorted, lambda a, v: np.searchsorted(np.sort(a), v, side="right"), arr(5), arr(2, 3))
case(np.searchsorted, lambda a: np.searchsorted(a, 0.5, sorter=np.argsort(a)), arr(5))
case(np.digitize, lambda x: np.digitize(x, [-1.0, 0.0, 1.0], right=True), arr(2, 3))
case(np.digitize, lambda x: np.digitize(x, [1.0, 0.0, -1.0]), arr(2, 3))
case(np.unique, lambda x: np.unique(np.concatenate([x, x[:2]])), arr(4))
case(np.unique, lambda x: np.unique(x[[0, 1, 0, 2]], return_index=True, return_inverse=True, return_counts=True), arr(3, 2))
case(np.unique, lambda x: np.unique(x[[2, 1, 2, 0]], axis=0, return_inverse=True), arr(3, 2))
case(np.unique, lambda x: np.unique(x[:, [1, 1, 0]], axis=-1), arr(3, 2))
case(np.unique_all, lambda x: np.unique_all(x[[0, 1, 0]]), arr(3, 2))
case(np.unique_counts, lambda x: np.unique_counts(x[[0, 1, 0]]), arr(3, 2))
case(np.unique_inverse, lambda x: np.unique_inverse(x[[0, 1, 0]]), arr(3, 2))
case(np.unique_values, lambda x: np.sort(np.unique_values(x[[0, 1, 0]])), arr(3, 2))

# ---- order statistics

case(np.median, lambda x: np.median(x), arr(5))
case(np.median, lambda x: np.median(x, axis=0), arr(4, 3))
case(np.median, lambda x: np.median(x, axis=(0, -1), keepdims=True), arr(2, 3, 3))
case(np.median, lambda x: np.median(x, axis=1, keepdims=True), arr(4, 3))
case(np.median, lambda x: np.median(x), np.float64(0.5))
case(np.median, lambda x: np.median(x, axis=1), arr(2, 0), name="median-empty", smooth=False)
case(np.nanmedian, lambda x: np.nanmedian(x * HOLES, axis=0), arr(3, 4))
case(np.nanmedian, lambda x: np.nanmedian(x * HOLES, axis=1, keepdims=True), arr(3, 4))
case(np.nanmedian, lambda x: np.nanmedian(x * HOLES), arr(3, 4))
for _m in METHODS:
    case(np.quantile, lambda x, m=_m: np.quantile(x, [0.1, 0.45, 0.93], method=m), arr(7), name=f"quantile-{_m}")
case(np.quantile, lambda x: np.quantile(x, 0.3, axis=0), arr(4, 3))
case(np.quantile, lambda x: np.quantile(x, np.float64(0.3), axis=(0, 2), keepdims=True), arr(2, 3, 2))
case(np.quantile, lambda x: np.quantile(x, [[0.0, 0.5], [0.7, 1.0]], axis=1, keepdims=True), arr(2, 3, 2))
case(np.quantile, lambda x: np.quantile(x, 1, overwrite_input=True), arr(4))
case(np.quantile, lambda x: np.quantile(x, [0.2, 0.6], axis=1, method="inverted_cdf", weights=[0.5, 2.0, 1.0, 0.0]), arr(3, 4))
case(
    np.quantile,
    lambda x: np.quantile(x, 0.4, method="inverted_cdf", weights=np.arange(12).reshape(3, 4)),
    arr(3, 4),
    name="quantile-whole-weights-1",
)
case(
    np.quantile,
    lambda x: np.quantile(x, 0.4, (2, 1), method="inverted_cdf", weights=np.arange(6).reshape(2, 3)),
    arr(2, 3, 2),
    name="quantile-whole-weights-2",
)
if NUMPY >= (2, 4):  # the first that gives every element its own weight where an axis that stays comes after one that goes
    case(
        np.quantile,
        lambda x: np.quantile(x, 0.4, (1, 0), method="inverted_cdf", weights=np.arange(6).reshape(3, 2)),
        arr(2, 3, 2),
        name="quantile-whole-weights-3",
    )
case(np.percentile, lambda x: np.percentile(x, 25), arr(4))
case(np.percentile, lambda x: (np.percentile(x, 25, keepdims=True), np.median(x, keepdims=True)), np.float64(0.3), name="percentile-0-d")
case(np.percentile, lambda x: np.percentile(x, [10, 50, 99], axis=-1, method="hazen"), arr(3, 5))
case(np.nanquantile, lambda x: np.nanquantile(x * HOLES, [0.2, 0.9], axis=0), arr(3, 4))
case(np.nanpercentile, lambda x: np.nanpercentile(x * HOLES, 35, axis=1, keepdims=True), arr(3, 4))
case(np.nanquantile, lambda x: np.nanquantile(x, [0.2, 0.9], axis=1), arr(2, 0), name="nanquantile-empty", values_only=True)

# ---- calculus

case(np.diff, lambda x: np.diff(x), arr(3, 4), complex=True)
case(np.diff, lambda x: np.diff(x, n=2, axis=0), arr(4, 3))
case(np.diff, lambda x, p: np.diff(x, prepend=p, append=1), arr(3, 4), np.float64(0.5), float32=False)
case(np.diff, lambda x, p: np.diff(x, axis=0, append=p), arr(3, 4), arr(2, 4))
case(np.diff, lambda x: np.diff(x, n=0), arr(3))
case(np.diff, lambda x: np.diff(x, n=3), arr(2))
case(np.diff, lambda p: np.diff([True, False], prepend=p), arr(1))
case(np.ediff1d, lambda x: np.ediff1d(x), arr(2, 3))
case(np.ediff1d, lambda x, e: np.ediff1d(x, to_end=[e, 2.0], to_begin=e * e), arr(4), np.float64(0.5))
case(np.ediff1d, lambda x: np.ediff1d(x, to_begin=1), arr(1))
case(np.unwrap, lambda x: np.unwrap(4 * x), arr(3, 4))
case(np.unwrap, lambda x: np.unwrap(4 * x, discont=3.5, axis=0, period=5.0), arr(3, 4))
_X = np.array([0.0, 0.4, 1.1, 1.5, 2.7])
case(np.gradient, lambda f: np.gradient(f), arr(5), complex=True)
case(np.gradient, lambda f, h: np.gradient(f, h), arr(3, 4), np.float64(0.5))
case(np.gradient, lambda f, h, k: np.gradient(f, h, k, axis=(1, 0)), arr(3, 4), np.float64(0.5), np.float64(0.7))
case(np.gradient, lambda f, x: np.gradient(f, x), arr(5), _X)
case(np.gradient, lambda f, x: np.gradient(f, x, axis=0, edge_order=2), arr(5, 2), _X)
case(np.gradient, lambda f, h: np.gradient(f, h, axis=-1, edge_order=2), arr(2, 4), np.float64(0.5))
case(np.gradient, lambda f: np.gradient(f, 2 * np.arange(4), axis=1), arr(3, 4))
case(np.gradient, lambda f: np.gradient(f), arr(2))
case(np.gradient, lambda h: np.gradient([1, 4, 2], h), np.float64(0.5))
_WHY_EQUAL_STEPS = "NumPy takes equal steps for one number, which would have one derivative"
case(np.gradient, lambda x: np.gradient(np.array([1.0, 4.0, 2.0]), x), np.arange(3.0), tol=1e-15, why=_WHY_EQUAL_STEPS)
case(np.trapezoid, lambda y: np.trapezoid(y), arr(3, 4), complex=True)
case(np.trapezoid, lambda y, x: np.trapezoid(y, x, axis=0), arr(5, 2), _X)
case(np.trapezoid, lambda y, x: np.trapezoid(y, x, axis=0), arr(3, 2), arr(3, 2, seed=1))
case(np.trapezoid, lambda y, h: np.trapezoid(y, dx=h), arr(4), np.float64(0.5))
case(np.trapezoid, lambda x: np.trapezoid([1, 2, 4], x), arr(3))
_FP = np.array([1.0, 3.0, -1.0, 0.5, 2.0])
case(np.interp, lambda x, xp, fp: np.interp(x, xp, fp), np.array([[-1.0, 0.2, 0.9], [1.3, 2.6, 9.0]]), _X, _FP)
case(np.interp, lambda x, low, high: np.interp(x, _X, _FP, left=low, right=high), arr(4, high=5), np.float64(2), np.float64(3))
case(np.interp, lambda x, xp, fp: np.interp(x, xp, fp, period=2.2), arr(5) + 0.05, np.array([0.3, -0.4, 5.0]), arr(3))
case(
    np.interp,
    lambda x, fp: np.interp(x, _X, fp * (1 + 2j)),
    arr(5, low=0.1, high=2.6),
    _FP,
    tol=1e-15,
    why="NumPy divides once for both parts",
)
case(np.interp, lambda x: np.interp(x, [0.5], [2.0]), arr(3))
case(np.interp, lambda x: np.interp(x, _X, _FP), np.float64(0.7))
case(np.interp, lambda fp: np.interp([0.0, 0.4, 2.7], _X, fp), _FP, name="interp-at-the-points")
case(np.sinc, lambda x: np.sinc(x), np.array([0.0, 1e-9, 0.3, -0.8, 1.4, 5.2]))
case((np.sinc, sinc), lambda x: np.sinc(x), arr(2, 3), complex=True)
case(np.sinc, lambda x: np.sinc(x), np.float64(0.0))
case((np.i0, bessel_i), lambda x: np.i0(x), np.array([0.0, 0.3, -0.8, 5.2, 20.0]))
