"""Numbers beside which nothing changes.

`x * 0` is not 0 (of inf, nan, -1), and `x + 0.0` is not `x` where that is -0.0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops import elementwise as ops
from funcgrad.ops.shaping import astype
from funcgrad.program.parts import Atom, Equation, Literal
from funcgrad.program.passes.sweep import Rule, Sweep, is_line, number_of, uniform

REAL = "fiu"
Found = Sequence[Atom] | None


def as_it_is(s: Sweep, e: Equation, x: Atom) -> Found:
    return (x,) if s.may_be(x, e.outputs[0]) else None


def one(s: Sweep, e: Equation) -> Found:
    """x * 1 -> x, 1 * x -> x"""
    for x, y in (e.inputs, e.inputs[::-1]):
        if type(y) is Literal and y.dtype.kind in REAL and y.value == 1:
            return as_it_is(s, e, x)
    return None


def over_one(s: Sweep, e: Equation) -> Found:
    """x / 1 -> x"""
    c = number_of(e.inputs[1])
    return as_it_is(s, e, e.inputs[0]) if c is not None and e.outputs[0].dtype.kind == "f" and c == 1 else None


def over_power_of_two(s: Sweep, e: Equation) -> Found:
    """x / c -> x * (1/c) where both numbers are powers of 2: what is rounded is the same"""
    c = number_of(e.inputs[1])
    if c is None or e.outputs[0].dtype.char not in "fd" or not math.isfinite(c) or abs(math.frexp(c)[0]) != 0.5:
        return None
    with np.errstate(all="ignore"):
        inverse = np.reciprocal(c)
    is_normal = np.finfo(c.dtype.str).tiny <= abs(inverse) < math.inf
    return s.write(ops.multiply, [e.inputs[0], Literal(inverse)], e.outputs[0]) if is_normal else None


def multiple(s: Sweep, e: Equation) -> Found:
    """(x * 2ᵏ) * c -> x * (2ᵏ c) for |c| >= 1, (x * n) * 2ᵏ -> x * (2ᵏ n) for whole n != 0, of k >= 0: nothing is rounded that was not"""
    for x, y in (e.inputs, e.inputs[::-1]):
        m, c = s.source(x, "multiply"), number_of(y)
        if m is None or c is None or e.outputs[0].dtype.char not in "fd" or not s.is_read_once(x):
            continue
        for inner, z in (m.inputs, m.inputs[::-1]):
            n = number_of(z)
            if n is None or not s.has_order(inner) or not ((doubles(n) and abs(float(c)) >= 1) or (doubles(c) and is_whole(n))):
                continue
            factor = known_product(n, c)
            return s.write(ops.multiply, [inner, Literal(factor)], e.outputs[0]) if np.isfinite(factor) else None
    return None


def doubled(s: Sweep, e: Equation) -> Found:
    """x * n + x * n -> x * 2n for whole n != 0: nothing is rounded that was not"""
    x, y = e.inputs
    m = s.source(x, "multiply") if x == y else None
    if m is None or e.outputs[0].dtype.char not in "fd":
        return None
    for inner, z in (m.inputs, m.inputs[::-1]):
        n = number_of(z)
        if n is not None and is_whole(n) and s.has_order(inner) and inner.shape == e.outputs[0].shape:
            factor = known_product(n, n.dtype.type(2))
            return s.write(ops.multiply, [inner, Literal(factor)], e.outputs[0]) if np.isfinite(factor) else None
    return None


def doubles(c: np.generic) -> bool:
    """Whether it is ±1, ±2, ±4, …"""
    return bool(np.isfinite(c)) and abs(math.frexp(float(c))[0]) == 0.5 and abs(float(c)) >= 1


def is_whole(c: np.generic) -> bool:
    return float(c).is_integer() and float(c) != 0


def known_product(n: np.generic, c: np.generic) -> np.generic:
    with np.errstate(all="ignore"):
        return np.multiply(n, c)  # type: ignore[no-any-return]


def nothing_added(s: Sweep, e: Equation) -> Found:
    """x + -0.0 -> x; of integers, x + 0 -> x; x + 0.0 -> x where x is no -0.0"""
    for x, y in (e.inputs, e.inputs[::-1]):
        c = number_of(y)
        if (
            c is not None
            and e.outputs[0].dtype.kind in REAL
            and c == 0
            and (y.dtype.kind != "f" or np.signbit(c) or is_no_minus_zero(s, x))
        ):
            return as_it_is(s, e, x)
    return None


def is_no_minus_zero(s: Sweep, x: Atom) -> bool:
    if s.source(x, "absolute", "fabs", "exp", "exp2", "square", "cosh") is not None:
        return True
    e = s.source(x, "multiply", "add", "astype")
    if e is None:
        return False
    if e.primitive is astype:
        return e.inputs[0].dtype.kind in "biu"
    if e.primitive is ops.multiply:
        return e.inputs[0] == e.inputs[1]
    return any((c := number_of(y)) is not None and c == 0 and not np.signbit(c) for y in e.inputs)


def nothing_subtracted(s: Sweep, e: Equation) -> Found:
    """x - 0.0 -> x; of integers, x - 0 -> x"""
    c = number_of(e.inputs[1])
    is_zero = c is not None and e.outputs[0].dtype.kind in REAL and c == 0 and not (c.dtype.kind == "f" and np.signbit(c))
    return as_it_is(s, e, e.inputs[0]) if is_zero else None


def plus(s: Sweep, e: Equation) -> Found:
    """+x -> x; the conjugate of a real number is the number"""
    return as_it_is(s, e, e.inputs[0]) if e.inputs[0].dtype.kind in REAL else None


def real_part(s: Sweep, e: Equation) -> Found:
    """The real part of a real number is the number, and no copy"""
    return (e.inputs[0],) if e.inputs[0].dtype.kind in REAL and e.inputs[0].dtype == e.outputs[0].dtype else None


def cast(s: Sweep, e: Equation) -> Found:
    """To the own dtype: x; to another over one that holds all values of x: at once"""
    x, dtype = e.inputs[0], e["dtype"]
    if x.dtype == dtype:
        return as_it_is(s, e, x)
    m = s.source(x, "astype")
    if m is None or not holds(m.inputs[0].dtype, x.dtype) or not s.has_order(m.inputs[0]):
        return None
    if m.inputs[0].dtype == dtype:
        return as_it_is(s, e, m.inputs[0])
    return s.write(astype, m.inputs, e.outputs[0], {"dtype": dtype}) if is_same_cast(m.inputs[0].dtype, x.dtype, dtype) else None


def holds(small: np.dtype[Any], large: np.dtype[Any]) -> bool:
    """Whether every real number of one dtype is one of the other."""
    if "c" in (small.kind, large.kind) or not np.can_cast(small, large):
        return False
    return not (small.kind in "iu" and large.kind == "f") or 8 * small.itemsize <= np.finfo(large).nmant + 1


def is_same_cast(small: np.dtype[Any], large: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """Floats to integers are left out: what is too large for these has no value; so is what wraps, or has another truth."""
    return holds(small, dtype) or (small.kind == large.kind == dtype.kind == "f")


def chosen(s: Sweep, e: Equation) -> Found:
    """where(c, x, x) -> x; where(True, x, y) -> x, where(False, x, y) -> y"""
    c, x, y = e.inputs
    known = uniform(s, c)
    if not is_line(e.outputs[0].shape):  # the order of axes is one that all operands have a say in
        return None
    if known is None:
        return as_it_is(s, e, x) if x == y else None
    return as_it_is(s, e, x if known else y)


RULES: dict[str, Sequence[Rule]] = {
    "multiply": (one, multiple),
    "divide": (over_one, over_power_of_two),
    "add": (nothing_added, doubled),
    "subtract": (nothing_subtracted,),
    "positive": (plus,),
    "conjugate": (plus,),
    "real": (real_part,),
    "astype": (cast,),
    "where": (chosen,),
}
