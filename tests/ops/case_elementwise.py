"""Cases of the ufuncs."""

from __future__ import annotations

import numpy as np

import funcgrad as fg
from funcgrad.ops.elementwise import meet, scale
from funcgrad.ops.kinds import PRIMITIVES
from tests.ops.kit import arr, case

# ---- one operand: any real number, or an interval

EVERYWHERE = "sin cos tan arctan sinh cosh tanh arcsinh exp exp2 expm1 square negative positive conjugate".split()
REAL = "absolute fabs cbrt deg2rad radians rad2deg degrees".split()
POSITIVE = "log log2 log10 sqrt reciprocal".split()

for _name in EVERYWHERE:
    case(getattr(np, _name), getattr(np, _name), arr(3, 4), complex=True)
for _name in REAL:
    case(getattr(np, _name), getattr(np, _name), arr(3, 4), complex=_name == "absolute")
for _name in POSITIVE:
    case(getattr(np, _name), getattr(np, _name), arr(3, 4, low=0.3, high=2.5), complex=True)
WITHIN = {"arcsin": (-0.9, 0.9), "arccos": (-0.9, 0.9), "arctanh": (-0.9, 0.9), "log1p": (-0.6, 2), "arccosh": (1.2, 3)}
for _name, (_low, _high) in WITHIN.items():
    case(getattr(np, _name), getattr(np, _name), arr(3, 4, low=_low, high=_high), complex=True)

case(np.tanh, np.tanh, arr()[()], name="tanh-0d")
case(np.exp, np.exp, arr(0, 3), name="exp-empty")
case(np.log, np.log, np.array([-1.5 + 0.3j, 2.0 - 1.0j, -0.5 - 2.0j]), name="log-complex")
case(np.sqrt, np.sqrt, np.array([-1.5 + 0.3j, 2.0 - 1.0j, -0.5 - 2.0j]), name="sqrt-complex")
case(np.absolute, np.abs, np.array([3 - 4j, -1 + 0.5j, 2j]), name="absolute-complex")
case(np.sin, lambda x: np.sin(x, dtype=np.float64), arr(3), name="sin-dtype")
case(np.sin, lambda x: np.sin(x, dtype=complex), arr(3), name="sin-dtype-complex", float32=False)

# ---- two operands, broadcast, and with numbers and integers

for _name in "add subtract multiply divide arctan2 logaddexp logaddexp2 hypot".split():
    _ufunc = getattr(np, _name)
    case(_ufunc, _ufunc, arr(3, 1), arr(4, seed=1), complex=_name in ("add", "subtract", "multiply", "divide"))
    case(_ufunc, lambda x, _ufunc=_ufunc: _ufunc(x, np.array([1, -2, 3])), arr(2, 3), name=f"{_name}-int")
    case(_ufunc, lambda x, _ufunc=_ufunc: _ufunc(2, x), arr(2, 3), name=f"{_name}-number")
for _name in "maximum minimum fmax fmin".split():
    _ufunc = getattr(np, _name)
    case(_ufunc, _ufunc, arr(3, 1), arr(4, seed=1))
    case(_ufunc, lambda x, _ufunc=_ufunc: _ufunc(x, 0), arr(2, 3), name=f"{_name}-number")
case((np.add, np.multiply), lambda x, y: np.add(x, y, dtype=complex) * np.multiply(x, y, signature="dd->d"), arr(3), arr(3, seed=1),
     name="add-dtype", float32=False)  # fmt: skip

case(np.power, np.power, arr(3, 1, low=0.3, high=2.5), arr(4, seed=1), complex=True)
case(np.power, lambda x: np.power(x, 3), arr(4), name="power-int", complex=True)
case(np.power, lambda x: np.power(x, np.array([0, 1, 2, 3])), np.array([0.0, 0.5, 0.0, -2.0]), name="power-ints-at-0")
case(np.power, lambda x: x**2 + x**1 + x**0 + x**-1 + x**2.5, arr(4, low=0.3, high=2.5), name="power-operators", complex=True)
case(np.power, lambda y: np.power(np.array([2, 3, 1]), y), arr(3), name="power-of-ints")
case(np.float_power, np.float_power, arr(3, 1, low=0.3, high=2.5), arr(4, seed=1), complex=True)
case(np.float_power, lambda x: np.float_power(x, 2), arr(4), name="float_power-number")
case(np.power, lambda y: np.power(np.float16(1.7), y) + np.power(np.float32(1.7), y), arr(3), name="power-of-narrow-base", float32=False)
case(np.power, lambda x: x ** np.array([0.1, 0.7], np.float16), arr(2, low=0.3), name="power-narrow-exponent", float32=False)
case(np.power, lambda x: x ** np.array([0, 1, 200], np.uint8), arr(3, low=0.9, high=1.1), name="power-unsigned-exponent", float32=False)
case(np.power, lambda y: 0**y + np.power(np.array([0.0, 2.0]), y), arr(2, low=0.4), name="power-of-zero")
case(np.add, lambda x: np.add(x, np.ones(3), casting="no"), arr(3), name="add-casting", float32=False)

case(np.remainder, np.remainder, arr(3, 1, low=-8, high=8), np.array([1.7, -2.3, 3.1]))
case(np.fmod, np.fmod, arr(3, 1, low=-8, high=8), np.array([1.7, -2.3, 3.1]))
for _k in (0, 1):  # the quotient, the remainder; the fraction, the whole
    case(np.divmod, lambda x, y, _k=_k: np.divmod(x, y)[_k], arr(3, 1, low=-8, high=8), np.array([1.7, -2.3, 3.1]), smooth=_k == 1)
    case(np.divmod, lambda x, _k=_k: divmod(7.5, x)[_k], arr(3, low=1, high=3), name=f"divmod-reflected-{_k}", smooth=_k == 1)
    case(np.modf, lambda x, _k=_k: np.modf(x)[_k], arr(3, 4, low=-8, high=8), smooth=_k == 0)
case(np.frexp, np.frexp, arr(3, 4, low=0.3, high=8))
case(np.ldexp, lambda x: np.ldexp(x, np.array([1, -2, 3])), arr(2, 3))
case(np.copysign, np.copysign, arr(3, 1), np.array([1.0, -2.0, 3.0]))
case(np.heaviside, np.heaviside, np.array([-1.0, 2.0]), np.array([0.3, 0.5]))
case(np.heaviside, lambda h: np.heaviside(np.array([-1.0, 0.0, 2.0]), h), arr(3), name="heaviside-at-0")
case(np.nextafter, np.nextafter, arr(3), arr(3, seed=1), rtol=1e-5)

# ---- methods

for _name in "add subtract multiply divide arctan2 logaddexp logaddexp2 hypot maximum minimum fmax fmin power float_power copysign".split():
    _ufunc = getattr(np, _name)
    case((_ufunc, "outer"), _ufunc.outer, arr(2, 3, low=0.3, high=2.5), arr(2, seed=1, low=0.4, high=3))
case((np.divmod, "outer"), lambda x, y: np.divmod.outer(x, y)[1], arr(2, 2, low=-8, high=8), np.array([1.7, -2.3, 3.1]))
for _name in "remainder fmod".split():
    _ufunc = getattr(np, _name)
    case((_ufunc, "outer"), _ufunc.outer, arr(2, 2, low=-8, high=8), np.array([1.7, -2.3, 3.1]))
case((np.heaviside, "outer"), np.heaviside.outer, np.array([-1.0, 2.0]), np.array([0.3, 0.5]))
case((np.nextafter, "outer"), np.nextafter.outer, arr(3), arr(2, seed=1), rtol=1e-5)
case((np.ldexp, "outer"), lambda x: np.ldexp.outer(x, [1, -2, 3]), arr(2))
case((np.multiply, "outer"), lambda x: np.multiply.outer(2.0, x), arr(2, 2), name="multiply.outer-0d")
case((np.multiply, "outer"), lambda x: np.multiply.outer(x, [1, 2], dtype=np.float64), arr(2), name="multiply.outer-dtype")

# ---- products with strong zeros

case((scale, meet), lambda x, y: (scale(x, y), meet(y, x)), arr(3, 4), arr(4, seed=1), name="strong-zeros")

# ---- locally constant

FLAT = "floor ceil trunc rint sign isnan isinf isfinite signbit logical_not spacing".split()
FLAT2 = "floor_divide equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor".split()
INTEGERS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm".split()
for _name in FLAT:
    _ufunc = getattr(np, _name)
    case(_ufunc, lambda x, _f=_ufunc: (_f(x) * 1.0, _f(x)), arr(3, 4), smooth=False)
for _name in FLAT2:
    _ufunc = getattr(np, _name)
    case(_ufunc, lambda x, y, _f=_ufunc: (_f(x, y) * 1.0, _f(x, y)), arr(3, 1), arr(4, seed=1), smooth=False)
    case((_ufunc, "outer"), lambda x, y, _f=_ufunc: _f.outer(x, y) * 1.0, arr(3, 2), arr(4, seed=1), smooth=False)
for _name in INTEGERS:
    _ufunc = getattr(np, _name)
    case((_ufunc, "outer"), lambda x, _f=_ufunc: _f.outer([5, 2], (x > 0) + 1), arr(3), smooth=False)
    case(_ufunc, lambda x, _f=_ufunc: _f((x > 0) + 1, 3), arr(3, 4), smooth=False)
case((np.invert, np.bitwise_count), lambda x: (~(x > 0), np.bitwise_count((x > 0) * 7)), arr(3, 4), smooth=False)
case(np.isnat, lambda x: np.isnat(np.array(["2020", "NaT"], "M8[D]")) * 1.0 * np.sign(x), arr(2), smooth=False)
case(np.sign, np.sign, np.array([3 - 4j, -1 + 0.5j, 2j]), name="sign-complex")
case(np.rint, np.rint, np.array([3.2 - 4.1j, -1.3 + 0.7j]), name="rint-complex", smooth=False)
case(np.less, lambda x: np.where(np.less(x, 0.5, dtype=bool), 1.0, 2.0), arr(4), name="less-dtype", smooth=False)
case(PRIMITIVES["stop_gradient"], lambda x: (fg.stop_gradient(x) * 1.0, fg.stop_gradient({"k": [x]})), arr(3, 4), smooth=False)
