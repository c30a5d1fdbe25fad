"""Cases of SciPy's special functions; without SciPy there are none.

Of the laws' differences these are the inputs; what is exact, at edges and far out, is compared with mpmath in `tests/special`.
"""

from __future__ import annotations

from typing import Any

from funcgrad.ops.special import LINES, primitive
from tests.ops.kit import arr, case

try:
    from scipy import special
except ImportError:
    special = None


def one(names: str, low: float, high: float, **more: Any) -> None:
    """Functions of one argument, on an interval."""
    for name in names.split():
        f = getattr(special, name)
        case(f, lambda x, f=f: f(x), arr(3, 4, low=low, high=high), **more)


def of_order(names: str, order: float, **more: Any) -> None:
    """Functions of an order and of an argument, in the argument."""
    for name in names.split():
        f = getattr(special, name)
        case(f, lambda x, f=f: f(order, x), arr(4, low=0.5, high=4.0), **more)


def special_cases() -> None:
    for name in LINES:
        primitive(name)  # so that the registry is the same in whichever order tests run
    f = special
    # error functions
    one("erf erfc erfcx erfi dawsn ndtr log_ndtr", -2.0, 2.0, complex=True)
    one("erfinv", -0.9, 0.9)
    one("erfcinv", 0.1, 1.9)
    one("ndtri", 0.1, 0.9)
    one("ndtri_exp", -3.0, -0.1)
    # statistics
    one("expit log_expit exprel cosm1 exp2 exp10 sindg cosdg tandg", -2.0, 2.0)
    one("cotdg", 10.0, 40.0)
    one("logit", 0.1, 0.9)
    one("entr cbrt", 0.1, 2.0)
    one("expm1", -2.0, 2.0, complex=True)
    one("log1p", -0.5, 2.0, complex=True)
    positive, other = arr(3, 4, low=0.2, high=2.0), arr(4, seed=1, low=0.3, high=2.5)
    for g in (f.xlogy, f.xlog1py):
        case(g, lambda x, y, g=g: g(x, y), positive, other, complex=True)
        case(g, lambda y, g=g: g(2, y), other)
    for g in (f.rel_entr, f.kl_div, f.pseudo_huber, f.boxcox, f.boxcox1p, f.inv_boxcox, f.inv_boxcox1p):
        case(g, lambda x, y, g=g: g(x, y), positive, other)
    case(f.huber, lambda x, y: f.huber(x, y), positive, arr(3, 4, seed=3), order=1)
    # gamma functions
    one("gamma", 0.3, 4.0)
    one("rgamma", -2.5, 2.5)
    one("gammaln", -2.7, 3.0)
    one("loggamma psi", 0.3, 4.0)
    case(f.loggamma, lambda x: f.loggamma(x), arr(4, low=0.3, high=4.0), complex=True, order=1)
    case(f._ufuncs._zeta, lambda q: f.zeta(3.0, q), arr(4, low=0.3, high=4.0))
    for g in (f.beta, f.betaln):
        case(g, lambda x, y, g=g: g(x, y), positive, other)
    of_order("gammainc gammaincc", 2.5)
    for g in (f.gammaincinv, f.gammainccinv):
        case(g, lambda y, g=g: g(1.5, y), arr(4, low=0.1, high=0.9))
    for g in (f.betainc, f.betaincc, f.betaincinv):
        case(g, lambda x, g=g: g(1.5, 2.5, x), arr(4, low=0.1, high=0.9))
    # Bessel functions
    one("i0 i1 j0 j1", -3.0, 3.0)
    one("i0e i1e k0 k1 k0e k1e y0 y1", 0.3, 4.0)
    of_order("iv kv kve jv yv", 1.5, complex=True)
    of_order("ive jve yve", 1.5)
    of_order("kn yn", 2, float32=False)  # whole orders are computed in float64
    one("airy", -2.0, 2.0, complex=True)
    # integrals
    one("exp1 expi", 0.3, 3.0)
    one("exp1", 0.3, 3.0, complex=True)
    of_order("expn", 2, float32=False)
    case(f.expn, lambda x: f.expn([[0], [1], [3]], x), arr(4, low=0.3, high=3.0), float32=False)
    one("fresnel", -2.0, 2.0, complex=True)
    one("spence", 0.1, 3.0)
    one("ellipk ellipe", -2.0, 0.9)
    one("ellipkm1", 0.1, 2.0)
    of_order("hyp0f1", 1.5)
    case(f.hyp1f1, lambda x: f.hyp1f1(0.5, 1.5, x), arr(4))
    case(f.hyp2f1, lambda x: f.hyp2f1(0.5, 0.7, 1.5, x), arr(4, low=-2.0, high=0.8))


if special is not None:
    special_cases()
