"""The elementwise primitives: NumPy's ufuncs, a formula sheet.

Each rule says how the partial in one argument scales a `t`. Ties share equally; the slope at a kink of abs or sign is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of
from funcgrad.ops.kinds import ID, NEG, Constant, Elementwise, constant, differentiable, elementwise

_LN2, _LN10 = math.log(2.0), math.log(10.0)
_DEGREE = math.pi / 180.0


# ---- scaling by a partial that may be infinite where the cotangent is zero


def _scale(t: Any, p: Any) -> Any:
    """`t * p`, but 0 wherever `t` is exactly 0, whatever `p` is there."""
    with np.errstate(all="ignore"):
        return np.where(t == 0, np.zeros((), np.result_type(t, p)), np.multiply(t, p))[()]


scale: Elementwise = elementwise(_scale, lambda t, y: scale(t, y), lambda t, x: scale(x, t), name="scale")


def _meet(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where((x == 0) | (y == 0), np.zeros((), np.result_type(x, y)), np.multiply(x, y))[()]


meet: Elementwise = elementwise(_meet, lambda t, y: meet(t, y), lambda t, x: meet(x, t), name="meet")
"""`x * y`, but 0 wherever either is exactly 0: a tangent meets, as a partial, the zero cotangent of what was pulled before."""


def _ratio(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(y == 0, np.zeros((), np.result_type(x, y)), np.divide(x, y))[()]


ratio: Elementwise = elementwise(_ratio, lambda t, y: ratio(t, y), lambda t, out, y: -ratio(t * out, y), name="ratio")
"""`x / y`, but 0 wherever `y` is 0: the subgradient of least norm where a norm is 0."""

# ---- arithmetic

add = elementwise(np.add, ID, ID)
subtract = elementwise(np.subtract, ID, NEG)
multiply = elementwise(np.multiply, lambda t, y: t * y, lambda t, x: t * x)
divide = elementwise(np.divide, lambda t, y: t / y, lambda t, out, y: -(t * out) / y)
negative = elementwise(np.negative, NEG)
positive = elementwise(np.positive, ID)
reciprocal = elementwise(np.reciprocal, lambda t, out: -(t * out) * out)
square = elementwise(np.square, lambda t, x: (t + t) * x)
remainder = elementwise(np.remainder, ID, lambda t, x, y: -t * floor_divide(x, y))
fmod = elementwise(np.fmod, ID, lambda t, out, x, y: -t * quotient(x, y, out))


def _quotient(x: Any, y: Any, out: Any) -> Any:
    """The whole number `fmod` takes away: `x / y` itself may round to the next one."""
    return np.rint(np.divide(np.subtract(x, out), y))


quotient: Constant = constant(_quotient, name="quotient")


def _power_base(t: Value, x: Value, y: Value) -> Value:
    """`y x^(y-1)`: exact for a constant exponent, and 0 wherever a traced one is 0."""
    kind = type(y)
    if kind is int or kind is float:
        if y == 2:
            return (t + t) * x
        return t * 0 if y == 0 else t if y == 1 else t * (y * power(x, y - 1))
    return t * scale(y, power(x, _less_one(t, y)))


def _less_one(t: Value, y: Value) -> Value:
    """`y - 1` in the dtype of `t`: a narrower exponent would round, an unsigned one wrap around."""
    dtype = dtype_of(t)
    return y - (1 if dtype_of(y) == dtype else dtype.type(1))


def _power_exponent(t: Value, out: Value, x: Value) -> Value:
    """`x^y log(x)`, which is 0 at 0. The logarithm is taken in the dtype of the output, since the base may be narrower, or real."""
    dtype = dtype_of(out)
    return t * scale(out, log_or_zero(x if dtype_of(x) == dtype else x * dtype.type(1)))


log_or_zero = elementwise(lambda x: np.log(x + (x == 0)), lambda t, x: ratio(t, x), name="log_or_zero")
"""`log(x)`, but 0 at 0, and flat there."""


power = elementwise(np.power, _power_base, _power_exponent)
float_power: Elementwise = elementwise(
    lambda x, y: np.float_power(x, y), lambda t, x, y: t * scale(y, float_power(x, _less_one(t, y))), _power_exponent, name="float_power"
)
ldexp: Elementwise = elementwise(np.ldexp, lambda t, y: ldexp(t, y), None)

# ---- exponentials and logarithms

exp = elementwise(np.exp, lambda t, out: t * out)
exp2 = elementwise(np.exp2, lambda t, out: t * (out * _LN2))
expm1 = elementwise(np.expm1, lambda t, out: t * (out + 1))
log = elementwise(np.log, lambda t, x: t / x)
log2 = elementwise(np.log2, lambda t, x: t / (x * _LN2))
log10 = elementwise(np.log10, lambda t, x: t / (x * _LN10))
log1p = elementwise(np.log1p, lambda t, x: t / (x + 1))
sqrt = elementwise(np.sqrt, lambda t, out: t * 0.5 / out)
root = elementwise(lambda x: np.sqrt(x), lambda t, out: ratio(t * 0.5, out), name="root")  # of a norm's square: flat at 0
cbrt = elementwise(np.cbrt, lambda t, out: t / (3 * out * out))


def _log_share(x: Any, out: Any, y: Any, log: Any = np.log) -> Any:
    """`x - out`, the logarithm of the share of `x` in `out`, the logarithm of a sum.

    Where both are infinite, the difference is nan, and the share is not: the winners share at inf, nobody has one at -inf.
    """
    with np.errstate(all="ignore"):
        gap = x - out
        if np.isfinite(np.max(out, initial=0.0)) and np.isfinite(np.min(out, initial=0.0)):
            return gap
        return np.where(np.isinf(out), np.where(out > 0, log(_wins(x, y, out)), -np.inf), gap)[()]


log_share = elementwise(_log_share, ID, NEG, None, name="log_share")
log2_share = elementwise(lambda x, out, y: _log_share(x, out, y, np.log2), ID, NEG, None, name="log2_share")
logaddexp = elementwise(
    np.logaddexp, lambda t, x, y, out: t * np.exp(log_share(x, out, y)), lambda t, x, y, out: t * np.exp(log_share(y, out, x))
)
logaddexp2 = elementwise(
    np.logaddexp2, lambda t, x, y, out: t * np.exp2(log2_share(x, out, y)), lambda t, x, y, out: t * np.exp2(log2_share(y, out, x))
)

# ---- trigonometric and hyperbolic

sin = elementwise(np.sin, lambda t, x: t * np.cos(x))
cos = elementwise(np.cos, lambda t, x: -t * np.sin(x))
tan = elementwise(np.tan, lambda t, out: t * (1 + out * out))
arcsin = elementwise(np.arcsin, lambda t, x: t / np.sqrt(_plus_one(-x) * _plus_one(x)))
arccos = elementwise(np.arccos, lambda t, x: -t / np.sqrt(_plus_one(-x) * _plus_one(x)))
arctan = elementwise(np.arctan, lambda t, x: t / (1 + x * x))
arctan2 = elementwise(np.arctan2, lambda t, x, y: _turn(t, y, hypot(x, y)), lambda t, x, y: _turn(-t, x, hypot(x, y)))
hypot: Elementwise = elementwise(np.hypot, lambda t, out, x: t * ratio(x, out), lambda t, out, y: t * ratio(y, out))


def _plus_one(x: Value) -> Value:
    """`x + 1`, with the sign of a zero imaginary part: it tells the side of a branch cut, and adding +1 would lose it."""
    return -(-x - 1) if dtype_of(x).kind == "c" else x + 1


def _turn(t: Value, x: Value, r: Value) -> Value:
    """`t x / r²`, where the square may not be a float any more."""
    return t * (x / r) / r


sinh = elementwise(np.sinh, lambda t, x: t * np.cosh(x))
cosh = elementwise(np.cosh, lambda t, x: t * np.sinh(x))
tanh = elementwise(np.tanh, lambda t, out: t * (1 - out * out))
arcsinh = elementwise(np.arcsinh, lambda t, x: t / np.sqrt(_plus_one(x * x)))
arccosh = elementwise(np.arccosh, lambda t, x: t / (np.sqrt(x - 1) * np.sqrt(_plus_one(x))))
arctanh = elementwise(np.arctanh, lambda t, x: t / ((1 - x) * (1 + x)))
deg2rad = elementwise(np.deg2rad, lambda t: t * _DEGREE)
radians = elementwise(np.radians, lambda t: t * _DEGREE)
rad2deg = elementwise(np.rad2deg, lambda t: t / _DEGREE)
degrees = elementwise(np.degrees, lambda t: t / _DEGREE)

# ---- kinks: ties share equally


def _wins(x: Any, y: Any, out: Any) -> Any:
    """1 where `x` is the result, ½ where both are, 0 elsewhere; nan is the result where it stands. A mask, without ties."""
    mine, other = x == out, y == out
    if not (mine | other).all():
        mine, other = mine | (x != x), other | (y != y)
    return _shared(mine, other, out)


def _fwins(x: Any, y: Any, out: Any) -> Any:
    """As `wins`, but a nan loses against a number."""
    return _shared(x == out, y == out, out)


def _shared(mine: Any, other: Any, out: Any) -> Any:
    ties = mine & other
    return np.where(ties, 0.5, mine).astype(out.dtype)[()] if ties.any() else mine


wins = constant(_wins, name="wins")
fwins = constant(_fwins, name="fwins")
maximum = elementwise(np.maximum, lambda t, x, y, out: t * wins(x, y, out), lambda t, x, y, out: t * wins(y, x, out))
minimum = elementwise(np.minimum, lambda t, x, y, out: t * wins(x, y, out), lambda t, x, y, out: t * wins(y, x, out))
fmax = elementwise(np.fmax, lambda t, x, y, out: t * fwins(x, y, out), lambda t, x, y, out: t * fwins(y, x, out))
fmin = elementwise(np.fmin, lambda t, x, y, out: t * fwins(x, y, out), lambda t, x, y, out: t * fwins(y, x, out))

sign = constant(lambda x: np.sign(x), name="sign")  # of real numbers; `phase` of complex ones
absolute = elementwise(np.absolute, lambda t, x: t * _slope(x), keeps_dtype=False)
fabs = elementwise(np.fabs, lambda t, x: t * sign(x))
copysign = elementwise(np.copysign, lambda t, out, x: t * (sign(x) * sign(out)), None)
heaviside = elementwise(np.heaviside, None, lambda t, x: t * (x == 0))


def _slope(x: Value) -> Value:
    return conjugate(phase(x)) if dtype_of(x).kind == "c" else sign(x)


within_one = elementwise(lambda x: np.clip(x, -1, 1), ID, name="within_one")
"""What is beyond ±1 by rounding alone, brought back: the slope stays 1."""

# ---- complex: |z|, Re, Im and conj are linear over the reals only; the edge takes the real part where the output is real

conjugate: Elementwise = elementwise(np.conjugate, lambda t: conjugate(t))
real = elementwise(lambda x: np.real(x), ID, name="real", keeps_dtype=False)
imag = elementwise(lambda x: np.imag(x), lambda t: t * -1j, name="imag", keeps_dtype=False)


def _phase_tangent(out: Value, args: tuple[Value], tangents: tuple[Value]) -> Value:
    """d(z/|z|) = (dz - s Re(s̄ dz)) / |z| with s = z/|z|: what is left of dz across s."""
    dx = tangents[0]
    return ratio(dx - out * real(conjugate(out) * dx), absolute(args[0]))


phase = differentiable("phase", lambda x: np.sign(x), _phase_tangent)
"""`z / |z|`, 0 at 0: NumPy's `sign` of complex numbers."""

# ---- choice


where: Elementwise = elementwise(
    lambda c, x, y: np.where(c, x, y), None, lambda t, x: where(x, t, 0), lambda t, x: where(x, 0, t), name="where"
)

# ---- parts of a number

fraction = elementwise(lambda x: np.modf(x)[0], ID, name="fraction")
exponent = constant(lambda x: np.frexp(x)[1], name="exponent")
nextafter = elementwise(np.nextafter, ID, None)

# ---- locally constant

floor = constant(np.floor)
ceil = constant(np.ceil)
trunc = constant(np.trunc)
rint = constant(np.rint)
floor_divide: Constant = constant(np.floor_divide)
isnan = constant(np.isnan)
isinf = constant(np.isinf)
logical_and = constant(np.logical_and)
logical_or = constant(np.logical_or)
logical_not = constant(np.logical_not)
for _ufunc in (
    "equal not_equal less less_equal greater greater_equal logical_xor isfinite spacing signbit isnat "
    "bitwise_and bitwise_or bitwise_xor bitwise_count invert left_shift right_shift gcd lcm"
).split():
    constant(getattr(np, _ufunc))
