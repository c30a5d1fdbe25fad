"""Slopes and curvatures of SciPy's functions against mpmath: near and far, and where the formula would be 0/0."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.special import LINES

sp = pytest.importorskip("scipy.special", reason="SciPy is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # at poles, of branches that are not taken

Function = Callable[[Any], Any]
half, most = mp.mpf("0.5"), mp.mpf(0.7)


def power_over(x: Any, y: Any) -> Any:
    """(x^y - 1) / y."""
    return (x**y - 1) / y if y else mp.log(x)


def inverse_power(y: Any, k: Any) -> Any:
    return (k * y + 1) ** (1 / k) if k else mp.exp(y)


def entropy(x: Any, y: Any) -> Any:
    return x * mp.log(x / y)


def hard(r: Any, d: Any) -> Any:
    return r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2)


def soft(r: Any, d: Any) -> Any:
    return d * d * (mp.sqrt(1 + (r / d) ** 2) - 1)


def turned(f: Function) -> Function:
    return lambda x: f(x * mp.pi / 180)


TABLE: dict[str, tuple[Function, Function, Sequence[float]]] = {
    # error functions
    "erf": (sp.erf, mp.erf, (-6, 0, 0.3)),
    "erfc": (sp.erfc, mp.erfc, (-3, 0, 20)),
    "erfcx": (sp.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), (-3, 0, 1, 11.9, 12.1, 100, 1e8)),
    "erfi": (sp.erfi, mp.erfi, (-3, 0, 5)),
    "dawsn": (sp.dawsn, lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), (-12.1, 0, 1, 11.9, 15)),
    "erfinv": (sp.erfinv, mp.erfinv, (-0.99, 0, 0.9)),
    "erfcinv": (sp.erfcinv, lambda x: mp.erfinv(1 - x), (0.01, 1, 1.5)),
    "ndtr": (sp.ndtr, mp.ncdf, (-10, 0, 2)),
    "log_ndtr": (sp.log_ndtr, lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), (-1000, -40, -0.1, 0, 5, 10)),
    "ndtri": (sp.ndtri, lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), (0.01, 0.5, 0.9)),
    "ndtri_exp": (sp.ndtri_exp, lambda y: mp.sqrt(2) * mp.erfinv(2 * mp.exp(y) - 1), (-20, -3, -0.1)),
    # statistics
    "expit": (sp.expit, lambda x: 1 / (1 + mp.exp(-x)), (-800, -1, 0, 40)),
    "logit": (sp.logit, lambda x: mp.log(x / (1 - x)), (1e-3, 0.5, 0.9)),
    "log_expit": (sp.log_expit, lambda x: -mp.log1p(mp.exp(-x)), (-40, 0, 40)),
    "xlogy in x": (lambda x: sp.xlogy(x, 0.3), lambda x: x * mp.log(mp.mpf(0.3)), (0, 2)),
    "xlogy": (lambda y: sp.xlogy(0.7, y), lambda y: most * mp.log(y), (0.1, 2)),
    "xlog1py": (lambda y: sp.xlog1py(0.7, y), lambda y: most * mp.log1p(y), (-0.5, 0, 2)),
    "entr": (sp.entr, lambda x: -x * mp.log(x), (0.1, 3)),
    "rel_entr in x": (lambda x: sp.rel_entr(x, 0.7), lambda x: entropy(x, most), (0.01, 2)),
    "rel_entr": (lambda y: sp.rel_entr(0.7, y), lambda y: entropy(most, y), (0.01, 2)),
    "kl_div in x": (lambda x: sp.kl_div(x, 0.7), lambda x: entropy(x, most) - x + most, (0.01, 2)),
    "kl_div": (lambda y: sp.kl_div(0.7, y), lambda y: entropy(most, y) - most + y, (0.01, 2)),
    "huber": (lambda r: sp.huber(0.7, r), lambda r: hard(r, most), (-3, 0, 0.5, 3)),
    "huber in delta": (lambda d: sp.huber(d, 0.7), lambda d: hard(most, d), (0.3, 1)),
    "pseudo_huber": (lambda r: sp.pseudo_huber(0.7, r), lambda r: soft(r, most), (-30, 0, 1e-5, 3)),
    "pseudo_huber in delta": (lambda d: sp.pseudo_huber(d, 0.7), lambda d: soft(most, d), (0.01, 1, 1e4)),
    "boxcox": (lambda x: sp.boxcox(x, 0.7), lambda x: power_over(x, most), (0.01, 1, 100)),
    "boxcox in lambda": (lambda k: sp.boxcox(0.7, k), lambda k: power_over(most, k), (-5, -1e-6, 0, 2.7, 2.9)),
    "boxcox1p": (lambda x: sp.boxcox1p(x, 0.7), lambda x: power_over(1 + x, most), (-0.5, 0, 1e-9, 100)),
    "boxcox1p in lambda": (lambda k: sp.boxcox1p(0.7, k), lambda k: power_over(1 + most, k), (-5, 0, 1e-9, 4)),
    "inv_boxcox": (lambda y: sp.inv_boxcox(y, 0.7), lambda y: inverse_power(y, most), (-0.5, 0, 3)),
    "inv_boxcox in lambda": (lambda k: sp.inv_boxcox(0.7, k), lambda k: inverse_power(most, k), (-0.5, 0, 1e-7, 3)),
    "inv_boxcox1p": (lambda y: sp.inv_boxcox1p(y, 0.7), lambda y: inverse_power(y, most) - 1, (-0.5, 0, 3)),
    "inv_boxcox1p in lambda": (lambda k: sp.inv_boxcox1p(0.7, k), lambda k: inverse_power(most, k) - 1, (-0.5, 0, 3)),
    "exprel": (sp.exprel, lambda x: mp.expm1(x) / x if x else mp.mpf(1), (-600, -1, -1e-9, 0, 1e-3, 30)),
    "expm1": (sp.expm1, mp.expm1, (-50, 0, 1)),
    "log1p": (sp.log1p, mp.log1p, (-0.5, 0, 1)),
    "exp2": (sp.exp2, lambda x: mp.mpf(2) ** x, (-5, 0, 1)),
    "exp10": (sp.exp10, lambda x: mp.mpf(10) ** x, (-3, 0, 2)),
    "cbrt": (sp.cbrt, mp.cbrt, (1e-3, 1)),
    "cosm1": (sp.cosm1, lambda x: mp.cos(x) - 1, (-1, 0, 3)),
    "sindg": (sp.sindg, turned(mp.sin), (-30, 0, 100)),
    "cosdg": (sp.cosdg, turned(mp.cos), (-30, 0, 100)),
    "tandg": (sp.tandg, turned(mp.tan), (-30, 0, 100)),
    "cotdg": (sp.cotdg, turned(mp.cot), (-30, 10, 100)),
    # gamma functions
    "gamma": (sp.gamma, mp.gamma, (-3.5, 0.5, 1, 100)),
    "gammaln": (sp.gammaln, lambda x: mp.log(abs(mp.gamma(x))), (-3.5, 1, 1e5)),
    "loggamma": (sp.loggamma, mp.loggamma, (0.5, 1, 1e4)),
    "rgamma": (sp.rgamma, mp.rgamma, (-5, -3.5, -1, 0, 0.4, 0.6, 50)),
    "psi": (sp.psi, mp.digamma, (-16.5, -0.3, 1, 1e5)),
    "zeta": (lambda q: sp.zeta(3.0, q), lambda q: mp.zeta(3, q), (0.3, 20)),
    "beta": (lambda a: sp.beta(a, 0.7), lambda a: mp.beta(a, most), (0.3, 20)),
    "beta in b": (lambda b: sp.beta(0.7, b), lambda b: mp.beta(most, b), (0.3, 20)),
    "betaln": (lambda a: sp.betaln(a, 0.7), lambda a: mp.log(mp.beta(a, most)), (0.3, 20)),
    "gammainc at 0": (lambda x: sp.gammainc(2.0, x), lambda x: 1 - mp.exp(-x) * (1 + x), (0, 1)),
    "gammainc": (lambda x: sp.gammainc(2.5, x), lambda x: mp.gammainc(2.5, 0, x, regularized=True), (0.1, 20)),
    "gammaincc": (lambda x: sp.gammaincc(2.5, x), lambda x: mp.gammainc(2.5, x, regularized=True), (0.1, 20)),
    "gammaincinv": (lambda y: sp.gammaincinv(1.0, y), lambda y: -mp.log(1 - y), (0.1, 0.9)),
    "gammainccinv": (lambda y: sp.gammainccinv(1.0, y), lambda y: -mp.log(y), (0.1, 0.9)),
    "betainc": (lambda x: sp.betainc(2.0, 3.0, x), lambda x: x**2 * (6 - 8 * x + 3 * x**2), (0, 0.1, 0.9, 1)),
    "betaincc": (lambda x: sp.betaincc(2.0, 3.0, x), lambda x: 1 - x**2 * (6 - 8 * x + 3 * x**2), (0, 0.1, 0.9, 1)),
    "betaincinv": (lambda y: sp.betaincinv(1.0, 2.0, y), lambda y: 1 - mp.sqrt(1 - y), (0.1, 0.9)),
    # Bessel functions
    "i0": (sp.i0, lambda x: mp.besseli(0, x), (-3, 0, 50)),
    "i1": (sp.i1, lambda x: mp.besseli(1, x), (-3, 0, 50)),
    "i0e": (sp.i0e, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), (-3, 0.1, 50)),
    "i1e": (sp.i1e, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), (-3, 0.1, 50)),
    "iv": (lambda x: sp.iv(0.7, x), lambda x: mp.besseli(most, x), (0.1, 50)),
    "ive": (lambda x: sp.ive(0.7, x), lambda x: mp.besseli(most, x) * mp.exp(-x), (0.1, 5)),
    "k0": (sp.k0, lambda x: mp.besselk(0, x), (0.5, 2)),
    "k1": (sp.k1, lambda x: mp.besselk(1, x), (0.5, 2)),
    "k0e": (sp.k0e, lambda x: mp.besselk(0, x) * mp.exp(x), (0.1, 5)),
    "k1e": (sp.k1e, lambda x: mp.besselk(1, x) * mp.exp(x), (0.1, 5)),
    "kn": (lambda x: sp.kn(0, x), lambda x: mp.besselk(0, x), (0.1, 5)),
    "kv": (lambda x: sp.kv(0.7, x), lambda x: mp.besselk(most, x), (0.1, 50)),
    "kve": (lambda x: sp.kve(0.7, x), lambda x: mp.besselk(most, x) * mp.exp(x), (0.1, 5)),
    "j0": (sp.j0, lambda x: mp.besselj(0, x), (-3, 0, 50)),
    "j1": (sp.j1, lambda x: mp.besselj(1, x), (-3, 0, 50)),
    "jv": (lambda x: sp.jv(3, x), lambda x: mp.besselj(3, x), (-2, 0, 5)),
    "jve": (lambda x: sp.jve(0.7, x), lambda x: mp.besselj(most, x), (0.1, 5)),
    "y0": (sp.y0, lambda x: mp.bessely(0, x), (0.5, 2)),
    "y1": (sp.y1, lambda x: mp.bessely(1, x), (0.5, 2)),
    "yn": (lambda x: sp.yn(2, x), lambda x: mp.bessely(2, x), (0.1, 5)),
    "yv": (lambda x: sp.yv(0.7, x), lambda x: mp.bessely(most, x), (0.1, 50)),
    "yve": (lambda x: sp.yve(0.7, x), lambda x: mp.bessely(most, x), (0.1, 5)),
    "airy_0": (lambda x: sp.airy(x)[0], mp.airyai, (-5, 0, 5)),
    "airy_1": (lambda x: sp.airy(x)[1], lambda x: mp.airyai(x, derivative=1), (-5, 0, 5)),
    "airy_2": (lambda x: sp.airy(x)[2], mp.airybi, (-5, 0, 5)),
    "airy_3": (lambda x: sp.airy(x)[3], lambda x: mp.airybi(x, derivative=1), (-5, 0, 5)),
    # integrals
    "exp1": (sp.exp1, mp.e1, (0.01, 30)),
    "expi": (sp.expi, mp.ei, (-3, 0.01, 30)),
    "expn of order 0": (lambda x: sp.expn(0, x), lambda x: mp.exp(-x) / x, (0.1, 20)),
    "expn": (lambda x: sp.expn(3, x), lambda x: mp.expint(3, x), (0.1, 20)),
    "fresnel_0": (lambda x: sp.fresnel(x)[0], mp.fresnels, (-2.2, 0, 3.3)),
    "fresnel_1": (lambda x: sp.fresnel(x)[1], mp.fresnelc, (-2.2, 0, 3.3)),
    "hyp0f1": (lambda x: sp.hyp0f1(1.5, x), lambda x: mp.hyp0f1(1.5, x), (-2, 0, 5)),
    "hyp1f1": (lambda x: sp.hyp1f1(0.5, 1.5, x), lambda x: mp.hyp1f1(0.5, 1.5, x), (-2, 0, 5)),
    "hyp2f1": (lambda x: sp.hyp2f1(0.5, 0.7, 1.5, x), lambda x: mp.hyp2f1(0.5, most, 1.5, x), (-2, 0, 0.9)),
    "spence": (sp.spence, lambda x: mp.polylog(2, 1 - x), (0.01, 0.4, 0.6, 1, 1.4, 1.6)),
    "ellipk": (sp.ellipk, mp.ellipk, (-100, -0.4, 0, 1e-9, 0.6, 0.999)),
    "ellipe": (sp.ellipe, mp.ellipe, (-100, -0.4, 0, 1e-9, 0.6, 0.999)),
    "ellipkm1": (sp.ellipkm1, lambda p: mp.ellipk(1 - p), (0.1, 0.6, 1, 1.4, 3)),
}


@pytest.mark.parametrize("name", TABLE)
def test_slopes_and_curvatures(name: str) -> None:
    """In both modes and all pairs of them, to nearly all digits."""
    f, exact, points = TABLE[name]
    with mp.workdps(30):
        wanted = [[float(mp.re(mp.diff(exact, mp.mpf(float(x)), k, h=mp.mpf(10) ** -11))) for k in (1, 2)] for x in points]
    x = np.array(points, dtype=float)
    one = np.ones_like(x)
    slope = lambda x: fg.jvp(f, (x,), (one,))[1]
    gradient = fg.grad(lambda x: np.sum(f(x)))
    first, second = np.transpose(wanted)
    for found in (gradient(x), slope(x)):
        np.testing.assert_allclose(found, first, rtol=1e-12, atol=1e-20)
    scale = 1e-15 * np.abs(first)  # of what is lost where a curvature vanishes beside the slope
    for found in (fg.grad(lambda x: np.sum(gradient(x)))(x), fg.jvp(gradient, (x,), (one,))[1], fg.jvp(slope, (x,), (one,))[1]):
        assert np.all(np.abs(found - second) <= 1e-10 * np.abs(second) + scale + 1e-14), (found, second)


def test_every_function_is_compared() -> None:
    """A line of a formula sheet without one here has no test of its digits."""
    without = {"gammasgn"}
    assert {name.removeprefix("special_").lstrip("_") for name in LINES} - {name.partition(" ")[0] for name in TABLE} == without
    assert all(line.source for line in LINES.values())


Edge = tuple[Callable[..., Any], tuple[float, ...], int, float]
EDGES: dict[str, Edge] = {
    "xlogy(0, y) is flat": (sp.xlogy, (0.0, 0.5), 1, 0.0),
    "also at 0": (sp.xlogy, (0.0, 0.0), 1, 0.0),
    "xlog1py(0, y) is flat": (sp.xlog1py, (0.0, -1.0), 1, 0.0),
    "xlog1py(x, y) at x = 0": (sp.xlog1py, (0.0, 1.0), 0, math.log(2.0)),
    "xlogy(x, 0) rises without bound": (sp.xlogy, (0.0, 0.0), 0, -np.inf),
    "entr": (sp.entr, (0.0,), 0, np.inf),
    "rel_entr(0, y)": (sp.rel_entr, (0.0, 0.0), 1, 0.0),
    "rel_entr(x, y) at x = 0": (sp.rel_entr, (0.0, 0.5), 0, -np.inf),
    "kl_div(0, y) is y": (sp.kl_div, (0.0, 0.0), 1, 1.0),
    "erfinv at 1": (sp.erfinv, (1.0,), 0, np.inf),
    "erfinv at -1": (sp.erfinv, (-1.0,), 0, np.inf),
    "erfcinv at 0": (sp.erfcinv, (0.0,), 0, -np.inf),
    "ndtri at 0": (sp.ndtri, (0.0,), 0, np.inf),
    "logit at 0": (sp.logit, (0.0,), 0, np.inf),
    "logit at 1": (sp.logit, (1.0,), 0, np.inf),
    "expit at inf": (sp.expit, (np.inf,), 0, 0.0),
    "expit at -inf": (sp.expit, (-np.inf,), 0, 0.0),
    "log_ndtr at inf": (sp.log_ndtr, (np.inf,), 0, 0.0),
    "erf at inf": (sp.erf, (np.inf,), 0, 0.0),
    "pseudo_huber of width 0": (sp.pseudo_huber, (0.0, 0.0), 1, 0.0),
    "pseudo_huber of width 0, in it": (sp.pseudo_huber, (0.0, -2.0), 0, 2.0),
    "boxcox at 0, in lambda": (sp.boxcox, (0.0, 2.0), 1, 0.25),
    "inv_boxcox at its end": (sp.inv_boxcox, (-2.0, 0.5), 0, 0.0),
    "gammainc of 1, at 0": (lambda x: sp.gammainc(1.0, x), (0.0,), 0, 1.0),
    "gammainc of 2, at 0": (lambda x: sp.gammainc(2.0, x), (0.0,), 0, 0.0),
    "gammainc of ½, at 0": (lambda x: sp.gammainc(0.5, x), (0.0,), 0, np.inf),
    "betainc(1, 1, x) is x": (lambda x: sp.betainc(1.0, 1.0, x), (1.0,), 0, 1.0),
    "i0e at its kink": (sp.i0e, (0.0,), 0, 0.0),
    "expn of order 1, at 0": (lambda x: sp.expn(1, x), (0.0,), 0, -np.inf),
    "huber at its knee": (sp.huber, (1.0, 1.0), 1, 1.0),
    "gammasgn": (sp.gammasgn, (-1.5,), 0, 0.0),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    """Where the formula meets 0 times infinity, both modes take the function's own limit; elsewhere infinity is the answer."""
    f, at, argument, wanted = EDGES[name]
    point = tuple(map(np.float64, at))
    along = [np.float64(k == argument) for k in range(len(at))]
    assert fg.grad(f, argument)(*point) == wanted
    assert fg.grad(f, argument)(*at) == wanted, "Python's own numbers"
    assert fg.jvp(lambda x: f(*[x if along[k] else p for k, p in enumerate(point)]), (point[argument],), (1.0,))[1] == wanted


def test_a_branch_that_is_not_taken_has_no_say() -> None:
    """Strong zero: an infinite slope times a cotangent of 0 is 0."""
    x = np.array([0.0, 0.5, 1.0])
    g = fg.grad(lambda x: np.sum(np.where((x > 0) & (x < 1), sp.logit(x) + sp.erfinv(x), 0.0)))(x)
    assert g[0] == g[2] == 0.0
    assert g[1] == pytest.approx(4.0 + math.sqrt(math.pi) / 2 * math.exp(sp.erfinv(0.5) ** 2))
