"""Logistic functions, entropies, losses, and powers near 0: what statistics and machine learning use. Sources: closed forms.

Where a formula would be 0 times infinity it takes the function's own limit: `xlogy(0, y)` is 0 for every y, and so is its slope in y.
"""

from __future__ import annotations

import math

from funcgrad.core import Value
from funcgrad.ops.elementwise import (
    absolute,
    divide,
    exp,
    hypot,
    log,
    log1p,
    maximum,
    minimum,
    power,
    ratio,
    reciprocal,
    scale,
    sin,
    where,
)
from funcgrad.ops.special.family import S, beside, special

_LN2, _LN10, _DEGREE = math.log(2.0), math.log(10.0), math.pi / 180.0

# ---- logistic functions: 1 - expit(x) is expit(-x), which keeps its digits

special("expit", lambda t, out, x: t * (out * S.expit(-x)), source="closed form")
special("logit", lambda t, x: t / (x * (1.0 - x)), source="closed form")
special("log_expit", lambda t, x: t * S.expit(-x), source="closed form")

# ---- x log y, and entropies

special("xlogy", lambda t, y: t * log(beside(y, t)), lambda t, x, y: t * scale(x, reciprocal(y)), source="closed form")
special("xlog1py", lambda t, y: t * log1p(beside(y, t)), lambda t, x, y: t * scale(x, reciprocal(1.0 + y)), source="closed form")
special("entr", lambda t, x: t * -(log(x) + 1.0), source="closed form")
special("rel_entr", lambda t, x, y: t * (log(divide(x, y)) + 1.0), lambda t, x, y: t * -scale(x, reciprocal(y)), source="closed form")
special("kl_div", lambda t, x, y: t * log(divide(x, y)), lambda t, x, y: t * (1.0 - scale(x, reciprocal(y))), source="closed form")

# ---- losses


def _pseudo_huber_width(t: Value, x: Value, y: Value) -> Value:
    """In delta, with h = hypot(delta, r): r⁴ / (h (h + delta)²), the difference of two large terms where r is large, taken beforehand."""
    h = hypot(x, y)
    share = ratio(y, h + x)
    return t * (share * share * (y * ratio(y, h)))


special(
    "huber",
    lambda t, x, y: t * maximum(absolute(beside(y, x)) - x, 0.0),
    lambda t, x, y: t * maximum(minimum(y, x), -x),
    source="closed form",
)
special("pseudo_huber", _pseudo_huber_width, lambda t, x, y: t * (x * ratio(y, hypot(x, y))), source="closed form")

# ---- (x^y - 1) / y


def _in_exponent(logarithm: Value, value: Value, y: Value) -> Value:
    """The slope of (e^(y u) - 1) / y in y, with u the logarithm: u² g(y u), where g is the slope of `exprel`.

    Far from 0 it is (e^(y u) u - value) / y, which is right at u = -inf as well.
    """
    v = logarithm * y
    near = absolute(v) < 1.0
    inside, outside = where(near, logarithm, 0.0), where(near, 1.0, y)
    return where(near, inside * inside * _series(inside * y), (scale(exp(v), logarithm) - value) / outside)


def _series(x: Value) -> Value:
    """The slope of `exprel` near 0, which is 1F1(1; 2; x): DLMF 13.3.15."""
    return 0.5 * S.hyp1f1(2.0, 3.0, x)


def _exprel_slope(x: Value) -> Value:
    """(e^x (x - 1) + 1) / x², and near 0 the series. (Far out, SciPy's takes its time.)"""
    near = absolute(x) < 1.0
    inside, outside = where(near, x, 0.0), 1.0 / where(near, 1.0, x)
    return where(near, _series(inside), (exp(x) * (1.0 - outside) + outside) * outside)


special(
    "boxcox",
    lambda t, x, y: t * power(x, y - 1.0),
    lambda t, x, y, out: t * _in_exponent(log(beside(x, y)), out, y),
    source="Box and Cox (1964)",
)
special(
    "boxcox1p",
    lambda t, x, y: t * exp(scale(y - 1.0, log1p(x))),
    lambda t, x, y, out: t * _in_exponent(log1p(beside(x, y)), out, y),
    source="Box and Cox (1964)",
)
special(
    "inv_boxcox",
    lambda t, out, y: t * power(out, 1.0 - y),
    lambda t, x, out, y: t * -(_in_exponent(log(out), x, y) * power(out, 1.0 - y)),
    source="the inverse of boxcox",
)
special(
    "inv_boxcox1p",
    lambda t, out, y: t * exp(scale(1.0 - y, log1p(out))),
    lambda t, x, out, y: t * -(_in_exponent(log1p(out), x, y) * exp(scale(1.0 - y, log1p(out)))),
    source="the inverse of boxcox1p",
)

# ---- exponentials, logarithms, angles in degrees

special("exprel", lambda t, x: t * _exprel_slope(x), source="DLMF 13.3.15, 13.6.2")
special("expm1", lambda t, x: t * exp(x), source="closed form")
special("log1p", lambda t, x: t / (1.0 + x), source="closed form")
special("exp2", lambda t, out: t * (out * _LN2), source="closed form")
special("exp10", lambda t, out: t * (out * _LN10), source="closed form")
special("cbrt", lambda t, out: t / (3.0 * out * out), source="closed form")
special("cosm1", lambda t, x: t * -sin(x), source="closed form")
special("sindg", lambda t, x: t * (S.cosdg(x) * _DEGREE), source="closed form")
special("cosdg", lambda t, x: t * (S.sindg(x) * -_DEGREE), source="closed form")
special("tandg", lambda t, out: t * ((1.0 + out * out) * _DEGREE), source="closed form")
special("cotdg", lambda t, out: t * ((1.0 + out * out) * -_DEGREE), source="closed form")
