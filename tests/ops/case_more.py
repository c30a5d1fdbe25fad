"""Cases of convolutions, polynomials, correlations, histograms, sets, and of functions applied piece by piece."""

from __future__ import annotations

import warnings

import numpy as np

from funcgrad.ops import convolution, elementwise, histograms, least_squares, polynomials
from tests.ops.kit import arr, case

# ---- convolution

for _mode in ("full", "same", "valid"):
    case((np.convolve, convolution.convolve), lambda a, v, m=_mode: np.convolve(a, v, m), arr(5), arr(3, seed=1), complex=True)
    case(np.convolve, lambda a, v, m=_mode: np.convolve(a, v, mode=m), arr(4), arr(6, seed=1))
    case(np.convolve, lambda a, v, m=_mode: np.convolve(a, v, m), arr(4), arr(4, seed=1))
    case(np.correlate, lambda a, v, m=_mode: np.correlate(a, v, m), arr(5), arr(3, seed=1), complex=True)
    case(np.correlate, lambda a, v, m=_mode: np.correlate(a, v, mode=m), arr(3), arr(6, seed=1), complex=True)
case(np.convolve, lambda a: np.convolve(a, [1, 2, 3]), arr(4))
case(np.convolve, lambda v: np.convolve([1, 2, 3], v), arr(2))
case(np.convolve, lambda a, v: np.convolve(a, v), arr(1), np.float64(0.7))
case(np.convolve, lambda a: np.convolve(a, a), arr(3))
case(np.convolve, lambda a: np.convolve(a, np.arange(2.0)), arr(3).astype(np.float16), rtol=1e-2, float32=False)

# ---- polynomials

case(np.polyval, lambda p, x: np.polyval(p, x), arr(4), arr(2, 3, seed=1), complex=True)
case(np.polyval, lambda p, x: np.polyval(p, x), arr(3), np.float64(0.5))
case(np.polyval, lambda p: np.polyval(p, [1, 2]), arr(3))
case(np.polyval, lambda x: np.polyval([1, 0, 2], x), arr(3))
case(np.polyval, lambda x: np.polyval([], x), arr(3), smooth=False)
case(np.polyval, lambda x: np.poly1d([1.0, -2.0, 3.0])(x), arr(3), name="poly1d-call")
case(np.polyval, lambda p, x: np.poly1d(p)(x), arr(3), arr(2), name="poly1d-traced")
case(np.polyadd, lambda a, b: np.polyadd(a, b), arr(4), arr(2, seed=1), complex=True)
case(np.polyadd, lambda a, b: np.polyadd(a, b), arr(2), np.float64(0.3))
case(np.polyadd, lambda a: np.polyadd([1, 2], a), arr(2))
case(np.polysub, lambda a, b: np.polysub(a, b), arr(2), arr(4, seed=1), complex=True)
case(np.polysub, lambda a: np.polysub(a, [1, 2, 3]), arr(3))
case(np.polymul, lambda a, b: np.polymul(a, b), arr(4), arr(2, seed=1), complex=True)
case(np.polymul, lambda a: np.polymul([0, 1, 2], a), arr(3))
case(np.polymul, lambda a: np.polymul([0, 0], a), arr(3))
case(np.polydiv, lambda u, v: np.polydiv(u, v), arr(5), arr(3, seed=1), complex=True, float32=False)
case(np.polydiv, lambda u, v: np.polydiv(u, v), arr(2), arr(3, seed=1))
case(np.polydiv, lambda u: np.polydiv(u, [2, 1]), arr(4), float32=False)
case(np.polydiv, lambda v: np.polydiv([1, 2, 3], v), arr(2), float32=False)
case(np.polydiv, lambda u: np.polydiv(np.polymul(u, [1, 2]), [1, 2])[0], arr(3), rtol=1e-5)
case(np.polyder, lambda p: np.polyder(p), arr(4), complex=True)
case(np.polyder, lambda p: np.polyder(p, m=2), arr(4))
case(np.polyder, lambda p: np.polyder(p, 0), arr(2))
case(np.polyder, lambda p: np.polyder(p, 3), arr(2), smooth=False)
case(np.polyint, lambda p: np.polyint(p), arr(4), complex=True)
case(np.polyint, lambda p, k: np.polyint(p, m=2, k=k), arr(3), arr(2))
case(np.polyint, lambda p, k: np.polyint(p, 2, k), arr(3), np.float64(0.4))
case(np.polyint, lambda k: np.polyint([1, 2], k=k), np.float64(0.4))
case(np.polyint, lambda p: np.polyint(p, 0), arr(3))
case(np.vander, lambda x: np.vander(x), arr(3), complex=True, float32=False)
case(np.vander, lambda x: np.vander(x, 5, increasing=True), np.array([0.0, 1.5, -0.7]))
case(np.vander, lambda x: np.vander(x, N=1), arr(3), smooth=False)
case(np.vander, lambda x: np.vander(x, 0), arr(3), smooth=False)
case(np.vander, lambda x: np.vander(x), arr(0))
case((np.roots, polynomials.roots), lambda p: np.sort(np.roots(p)), np.array([1.0, -6.0, 11.5, -6.5]))
case(np.roots, lambda p: np.roots(p), np.array([1.0, 0.3, 2.0]))
case(np.roots, lambda p: np.roots(p), np.array([1.0, 0.3 + 0.5j, 2.0 - 1j]))
case(np.roots, lambda p: np.roots(p), arr(2))
case(np.roots, lambda p: np.roots(p), arr(1), smooth=False)
case(np.poly, lambda z: np.poly(z), arr(4), complex=True)
case((np.poly, polynomials.closed_under_conjugation), lambda z: np.poly([z, np.conj(z)]), np.complex128(1 + 2j))

# ---- least squares

_POINTS = np.array([-1.0, -0.4, 0.1, 0.7, 1.3, 2.0])
_SOLVED = {"tol": 1e-11, "why": "the same LAPACK solution, of operands scaled by other routines", "rtol": 1e-5}
case((np.polyfit, least_squares.lstsq, least_squares.rank), lambda x, y: np.polyfit(x, y, 2), _POINTS, arr(6), **_SOLVED)
case(np.polyfit, lambda x, y, w: np.polyfit(x, y, 2, w=w), _POINTS, arr(6), arr(6, low=0.5), **_SOLVED)
case(np.polyfit, lambda x, y, w: np.polyfit(x, y, 1, rcond=1e-9, w=w), _POINTS, arr(6, 2), arr(6, low=0.5), **_SOLVED)
case(np.polyfit, lambda y: np.polyfit([0, 1, 2, 3], y, 1), arr(4), complex=True, **_SOLVED)
case(np.polyfit, lambda x, y: np.polyfit(x, y, 1, cov=True), _POINTS, arr(6), **_SOLVED)
case(np.polyfit, lambda x, y: np.polyfit(x, y, 1, cov="unscaled"), _POINTS, arr(6, 2), **_SOLVED)
case(np.polyfit, lambda x, y: np.polyfit(x, y, 1, cov=True), _POINTS, arr(6, 2), **_SOLVED)
case(np.polyfit, lambda x, y: np.polyfit(x, y, 5), _POINTS, arr(6), **{**_SOLVED, "rtol": 1e-4, "float32": False})


def _underdetermined(y: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        return np.polyfit([1.0, 2.0], y, 3)


case(np.polyfit, _underdetermined, arr(2), **_SOLVED)

# ---- covariances and correlations

_SUMS = {"tol": 1e-14, "why": "NumPy's mean and products in another memory layout"}
case(np.cov, lambda m: np.cov(m), arr(3, 5), complex=True, **_SUMS)
case(np.cov, lambda m: np.cov(m), arr(5), **_SUMS)
case(np.cov, lambda m, y: np.cov(m, y), arr(5), arr(5, seed=1), **_SUMS)
case(np.cov, lambda m, y: np.cov(m, y, rowvar=False), arr(5, 2), arr(5, seed=1), **_SUMS)
case(np.cov, lambda m, y: np.cov(m, y, rowvar=False, bias=True), arr(5, 2), arr(5, 2, seed=1), **_SUMS)
case(np.cov, lambda m: np.cov(m, ddof=0), arr(2, 5), **_SUMS)
case(np.cov, lambda m: np.cov(m, ddof=2, dtype=np.float32), arr(2, 5), tol=1e-6, why="sums in float32", rtol=1e-3, float32=False)
case(np.cov, lambda m, w: np.cov(m, aweights=w), arr(2, 5), arr(5, low=0.2), **_SUMS)
case(np.cov, lambda m: np.cov(m, fweights=[1, 2, 0, 1, 3]), arr(2, 5), **_SUMS)
case(np.cov, lambda m, w: np.cov(m, fweights=[1, 2, 0, 1, 3], aweights=w, ddof=0), arr(2, 5), arr(5, low=0.2), **_SUMS)
case(np.cov, lambda m: np.cov(m), arr(0, 3))
case((np.corrcoef, elementwise.within_one), lambda m: np.corrcoef(m), arr(3, 5), complex=True, **_SUMS)
case(np.corrcoef, lambda m, y: np.corrcoef(m, y), arr(5), arr(5, seed=1), **_SUMS)
case(np.corrcoef, lambda m: np.corrcoef(m, rowvar=False), arr(5, 3), **_SUMS)
case(np.corrcoef, lambda m: np.corrcoef(m), arr(5), **_SUMS)
case(np.corrcoef, lambda m: np.corrcoef(m, 2 * m), arr(5), **_SUMS, values_only=True)

# ---- histograms

_DATA = np.array([0.1, 0.9, 1.0, 1.7, 2.0, 2.9, 3.0, 5.0])
_SPREAD = np.array([0.1, -0.8, 1.3, 0.45, 2.2, -0.3, 0.62])
_CUMULATED = {"tol": 1e-14, "why": "NumPy takes differences of cumulative sums"}
case((np.bincount, histograms.counted), lambda w: np.bincount([0, 2, 2, 5], w), arr(4))
case(np.bincount, lambda w: np.bincount(np.array([1, 1]), weights=w, minlength=4), arr(2))
case(np.bincount, lambda w: np.bincount(np.zeros(0, int), w), arr(0))
case((np.histogram, histograms.bins_of, histograms.edges_of), lambda w: np.histogram(_DATA, 3, weights=w), arr(8))
case(np.histogram, lambda w: np.histogram(_DATA, [0, 1, 2, 3], weights=w), arr(8), **_CUMULATED)
case(np.histogram, lambda w: np.histogram(_DATA, [0, 1, 2.5, 3], weights=w, density=True)[0], arr(8, low=0.2), **_CUMULATED)
case(np.histogram, lambda w: np.histogram(_DATA, 4, range=(0.5, 3.5), weights=w, density=True), arr(8, low=0.2))
case(np.histogram, lambda x: np.histogram(x, 3, range=(-1, 1)), arr(2, 4), smooth=False)
case(np.histogram, lambda x: np.histogram(x, 3), arr(7))
case(np.histogram, lambda x: np.histogram(x, "auto", density=True), _SPREAD)
case(np.histogram, lambda x: np.histogram(x, "fd", range=(-1.0, 1.5)), arr(9), smooth=False)
case(np.histogram, lambda e: np.histogram(_DATA, e, density=True), np.array([0.0, 1.3, 2.5, 4.0]))
case(np.histogram, lambda x, lo: np.histogram(x, 3, range=(lo, 4.0), density=True), _DATA, np.float64(0.3), float32=False)
case(np.histogram, lambda x: np.histogram(x, 3), arr(0), smooth=False)
case(np.histogram_bin_edges, lambda x: np.histogram_bin_edges(x, 4), arr(7))
case(np.histogram_bin_edges, lambda x: np.histogram_bin_edges(x, "sturges"), arr(2, 4))
case(np.histogram_bin_edges, lambda x: np.histogram_bin_edges(x, [0.0, 1.0]), arr(4), smooth=False)
case(np.histogram2d, lambda w: np.histogram2d(_DATA, _DATA[::-1], 3, weights=w), arr(8))
case(np.histogram2d, lambda x, y: np.histogram2d(x, y, (2, 3), density=True), arr(8), arr(8, seed=1))
case(np.histogram2d, lambda w: np.histogram2d(_DATA, _DATA, [0, 1, 2, 9], weights=w), arr(8))
case(np.histogram2d, lambda w: np.histogram2d(_DATA, _DATA, [[0, 1], [0, 1, 3]], weights=w), arr(8))
case(np.histogramdd, lambda w: np.histogramdd(np.stack([_DATA] * 3, 1), (2, 3, [0, 1, 5]), weights=w, density=True), arr(8, low=0.2))
case(np.histogramdd, lambda x: np.histogramdd(x, 2, range=[(-1, 1), None]), np.stack([_SPREAD, _SPREAD**2], 1))
case(np.histogramdd, lambda x: np.histogramdd([x, 2 * x], 2), _SPREAD)

# ---- sets

_A, _B = np.array([3.0, 1.0, 2.0, 1.0, 7.0]), np.array([2.0, 9.0, 3.0, 9.0])
case(np.union1d, lambda a, b: np.union1d(a, b), arr(4), arr(2, 2, seed=1) + 0.05)
case(np.union1d, lambda a: np.union1d(a, [1, 2]), arr(3))
case(np.setdiff1d, lambda a: np.setdiff1d(a, _B), np.append(arr(3), [2.0, 3.0])[:3])
case(np.setdiff1d, lambda a: np.setdiff1d(a, [1.0, 2.0], assume_unique=True), arr(2, 2))
case(np.setdiff1d, lambda a: np.setdiff1d(a, _B), _A, values_only=True)
case(np.setxor1d, lambda a, b: np.setxor1d(a, b), arr(4), arr(3, seed=1) + 0.05)
case(np.setxor1d, lambda a, b: np.setxor1d(a, b), _A, _B, values_only=True)
case(np.setxor1d, lambda a, b: np.setxor1d(a, b, assume_unique=True), arr(0), arr(0))
case(np.intersect1d, lambda a, b: np.intersect1d(a, b), _A, _B, values_only=True)
case(np.intersect1d, lambda a, b: np.intersect1d(a, b, return_indices=True), _A, _B, values_only=True)
case(np.intersect1d, lambda a: np.intersect1d(a, a, assume_unique=True, return_indices=True), arr(4))
case(np.isin, lambda x: np.isin(x, [1, 2]), _A.reshape(1, 5), smooth=False)
case(np.isin, lambda x, y: np.isin(x, y, invert=True), _A, _B, smooth=False)


def _quietly(f, *args, **kwargs):
    """Calls what a NumPy version deprecates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return f(*args, **kwargs)


for _name, _args, _more in (  # which newer versions lack, or warn of
    ("in1d", lambda x: (x, x * x), {"smooth": False}),
    ("trapz", lambda x: (x, x * x), {}),
    ("row_stack", lambda x: ([x, x * x],), {}),
):
    if hasattr(np, _name):
        _old = getattr(np, _name)
        case(_old, lambda x, f=_old, args=_args: _quietly(f, *args(x)), arr(3), **_more)

# ---- functions applied to pieces

case(np.piecewise, lambda x: np.piecewise(x, [x < 0, x > 1], [lambda t: -t * t, lambda t: t * 3, 5]), arr(6))
case(
    np.piecewise,
    lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t, k, *, m: np.sin(k * t), lambda t, k, *, m: k * t + m], 2.0, m=1.0),
    arr(2, 3),
)
case(np.piecewise, lambda x: np.piecewise(x, x < 0, [np.exp, np.cos]), arr(5))
case(np.piecewise, lambda x: np.piecewise(x, [x > -9, x > 0], [np.sin, np.cos]), arr(5))
case(np.piecewise, lambda x: np.piecewise(x, x > 0, [np.sin, np.cos]), np.float64(0.5))
case(np.piecewise, lambda x: np.piecewise(x, [x > 0], [lambda t: np.sum(t * t)]), arr(4), complex=False)
case(np.piecewise, lambda x, v: np.piecewise(x, [x > 0], [v, np.cos]), arr(4), np.float64(0.5))
case(np.piecewise, lambda x: np.piecewise(x, [x > 9], [np.sin]), arr(3), smooth=False)
case(np.apply_along_axis, lambda x: np.apply_along_axis(lambda r: r * r[0], 0, x), arr(3, 4), complex=True)
case(np.apply_along_axis, lambda x: np.apply_along_axis(np.sum, -1, x), arr(2, 3, 2))
case(np.apply_along_axis, lambda x: np.apply_along_axis(lambda r, k: np.outer(r, r) * k, 1, x, k=2.0), arr(2, 3, 2))
case(np.apply_along_axis, lambda x: np.apply_along_axis(np.cumsum, 0, x), arr(3))
case(np.apply_along_axis, lambda x: np.apply_along_axis(np.argmax, 0, x), arr(3, 2), smooth=False)
case(np.apply_over_axes, lambda x: np.apply_over_axes(np.sum, x, [0, 2]), arr(2, 3, 2), complex=True)
case(np.apply_over_axes, lambda x: np.apply_over_axes(np.mean, x, -1), arr(2, 3))
case(np.apply_over_axes, lambda x: np.apply_over_axes(lambda a, i: np.cumsum(a, i), x, (0, 1)), arr(2, 3))

# ---- locally constant

_EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 2.7, -2.7])
case(np.isposinf, lambda x: np.isposinf(x), _EDGES, values_only=True)
case(np.isneginf, lambda x: np.isneginf(x), _EDGES, values_only=True)
case(np.isposinf, lambda x: np.isposinf(x), arr(2, 3), smooth=False)
case(np.isneginf, lambda x: np.isneginf(x), arr(2, 3), smooth=False)
case(np.fix, lambda x: np.fix(x), arr(2, 3), smooth=False)
case(np.fix, lambda x: np.fix(x), _EDGES, values_only=True)
case(np.einsum_path, lambda x: len(np.einsum_path("ij,jk,k", x, x, x[0])[0]), arr(3, 3), smooth=False)

# ---- positions, and integers made of them

_ROWS = arr(3, 4)
case(np.argsort, lambda x: np.argsort(x, axis=0), _ROWS, smooth=False)
case(np.argpartition, lambda x: np.argpartition(x, 2), _ROWS, smooth=False)
case(np.argwhere, lambda x: np.argwhere(x > 0), _ROWS, smooth=False)
case(np.argwhere, lambda x: np.argwhere(x), _ROWS, smooth=False)
case(np.nonzero, lambda x: np.nonzero(x), _ROWS, smooth=False)
case(np.flatnonzero, lambda x: np.flatnonzero(x), _ROWS, smooth=False)
case(np.digitize, lambda x: np.digitize(x, [-1, 0, 1]), _ROWS, smooth=False)
case(np.lexsort, lambda x: np.lexsort((x[0], x[1])), _ROWS, smooth=False)
case(np.searchsorted, lambda x: np.searchsorted([-1, 0, 1], x), _ROWS, smooth=False)
case(np.ix_, lambda x: x[np.ix_([0, 2], np.argsort(x[0]))], _ROWS)
case(np.ix_, lambda x: np.ix_(x[:, 0] > 0, np.argsort(x[0])), _ROWS, smooth=False)
case(np.unravel_index, lambda x: x[np.unravel_index(np.argmax(x), x.shape)], _ROWS)
case(np.unravel_index, lambda x: np.unravel_index(np.argmax(x), x.shape), _ROWS, smooth=False)
case(np.ravel_multi_index, lambda x: np.ravel_multi_index(np.nonzero(x > 0), x.shape), _ROWS, smooth=False)
case(np.packbits, lambda x: np.packbits(x > 0, axis=1), _ROWS, smooth=False)
case(np.unpackbits, lambda x: np.unpackbits(np.packbits(x > 0)), _ROWS, smooth=False)

# ---- what NumPy makes object arrays of: element by element, and one traced array again in the next function

for _make in (np.array, np.asarray, np.asanyarray, np.asarray_chkfinite, np.ascontiguousarray, np.asfortranarray, np.require):
    case(_make, lambda x, make=_make: np.multiply(make(x), 2.0), arr(2, 3))
    case(_make, lambda x, make=_make: np.multiply(make([x[0, 0], x[0, 1] ** 2]), 2.0), arr(2, 3))
case(np.full, lambda v: np.multiply(np.full((2, 3), v), 2.0), np.float64(0.7))
case(np.fromfunction, lambda v: np.fromfunction(lambda i, j: v * i + j, (2, 3)), np.float64(0.7), float32=False)
case(np.kaiser, lambda b: np.kaiser(5, b), np.float64(3.0), float32=False)
case(np.frompyfunc, lambda x: np.multiply(np.frompyfunc(lambda t: t * np.sin(t), 1, 1)(x), 1.0).astype(float), arr(2, 3), float32=False)
case(np.frompyfunc, lambda x: np.frompyfunc(lambda t: t * np.sin(t), 1, 1)(x), np.float64(0.3), float32=False)
case(np.frompyfunc, lambda x, y: np.frompyfunc(lambda t, u: (t * u, t), 2, 2)(x, y)[0].astype(float), arr(2, 3), arr(3), float32=False)
case(np.vectorize, lambda x: np.multiply(np.vectorize(lambda t: t * np.sin(t))(x), 1.0), arr(2, 3), float32=False)
case(np.concatenate, lambda x: np.r_[x, 5.0, x[0]], arr(3), name="r_", float32=False)
case(np.concatenate, lambda x: np.r_["0,2", x, x * x], arr(3), name="r_-rows")
case(np.concatenate, lambda x: np.c_[x, x * x], arr(3), name="c_")
