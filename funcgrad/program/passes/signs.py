"""Minus signs: they move towards the outputs, until a number, a sum or another minus takes them up.

A sign is exact beside all products and quotients of real floats, also of zeros, infinities and nans (whose own sign means nothing).
A sum that is 0 has no sign to hand on: `-(a - b)` is not `b - a`, and stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from funcgrad.ops import elementwise as ops
from funcgrad.program.parts import Atom, Equation, Literal
from funcgrad.program.passes.sweep import Rule, Sweep

PRODUCTS = {"multiply": ops.multiply, "divide": ops.divide}
Found = Sequence[Atom] | None


def negated(s: Sweep, x: Atom) -> Atom | None:
    """What `x` is the negative of."""
    e = s.source(x, "negative")
    return e.inputs[0] if e is not None and s.has_order(e.inputs[0]) else None


def minus(x: Literal) -> Literal:
    return Literal(np.negative(x.value))


def is_float(e: Equation) -> bool:
    return e.outputs[0].dtype.kind == "f"


def numbers(e: Equation) -> int:
    return sum([type(x) is Literal for x in e.inputs])


def twice(s: Sweep, e: Equation) -> Found:
    """-(-x) -> x"""
    inner = negated(s, e.inputs[0])
    return (inner,) if inner is not None and is_float(e) and s.may_be(inner, e.outputs[0]) else None


def of_product_by_number(s: Sweep, e: Equation) -> Found:
    """-(x * c) -> x * -c, -(c * x) -> -c * x, and likewise x / c and c / x"""
    m = s.source(e.inputs[0], *PRODUCTS)
    if m is None or not is_float(e) or not s.is_read_once(e.inputs[0]) or numbers(m) != 1:
        return None
    return s.write(m.primitive, [minus(x) if type(x) is Literal else x for x in m.inputs], e.outputs[0])


def of_longer_product(s: Sweep, e: Equation) -> Found:
    """-(x * c * y) -> x * -c * y, where nothing else reads what is within"""
    m = s.source(e.inputs[0], "multiply")
    if m is None or not is_float(e) or not s.is_read_once(e.inputs[0]):
        return None
    for k, x in enumerate(m.inputs):
        inner = s.source(x, "multiply")
        if inner is not None and s.is_read_once(x) and numbers(inner) == 1:
            product = s.inner(ops.multiply, [minus(y) if type(y) is Literal else y for y in inner.inputs], x.shape, x.dtype)
            return s.write(ops.multiply, [product if i == k else y for i, y in enumerate(m.inputs)], e.outputs[0])
    return None


def by_number(s: Sweep, e: Equation) -> Found:
    """-x * c -> x * -c, c / -x -> -c / x, …"""
    if not is_float(e) or numbers(e) != 1:
        return None
    bare = [minus(x) if type(x) is Literal else negated(s, x) for x in e.inputs]
    return s.write(e.primitive, [x for x in bare if x is not None], e.outputs[0]) if None not in bare else None


def both(s: Sweep, e: Equation) -> Found:
    """-x * -y -> x * y, -x / -y -> x / y"""
    bare = [negated(s, x) for x in e.inputs]
    return s.write(e.primitive, [x for x in bare if x is not None], e.outputs[0]) if is_float(e) and None not in bare else None


def out_of_product(s: Sweep, e: Equation) -> Found:
    """-x * y -> -(x * y), x / -y -> -(x / y), … where the sign has no other use, and the result not more elements"""
    if not is_float(e):
        return None
    for k, x in enumerate(e.inputs):
        bare = negated(s, x)
        if bare is not None and s.is_read_once(x) and x.shape == e.outputs[0].shape:
            product = s.inner(e.primitive, [bare if i == k else y for i, y in enumerate(e.inputs)], x.shape, x.dtype)
            return s.write(ops.negative, [product], e.outputs[0])
    return None


def by_minus_one(s: Sweep, e: Equation) -> Found:
    """-1 * x -> -x, x * -1 -> -x, x / -1 -> -x"""
    for k, x in enumerate(e.inputs):
        other = e.inputs[1 - k]
        is_there = type(x) is Literal and x.value == -1 and (k == 1 or e.primitive is ops.multiply)
        if is_there and is_float(e) and not s.may_be_python(other) and other.shape == e.outputs[0].shape:
            return s.write(ops.negative, [other], e.outputs[0])
    return None


def added(s: Sweep, e: Equation) -> Found:
    """x + -y -> x - y, -y + x -> x - y, also where y is a product with a minus inside that is not used again; -x + -x -> -(x + x)"""
    if not is_float(e):
        return None
    x, y = e.inputs
    bare = negated(s, x)
    if x == y and bare is not None and x.shape == e.outputs[0].shape:
        return s.write(ops.negative, [s.inner(ops.add, [bare, bare], x.shape, x.dtype)], e.outputs[0])
    for a, b in ((x, y), (y, x)):
        bare = taken_out(s, b)
        if bare is not None and s.source(bare, "pad") is None:  # sums of pads are one statement
            return s.write(ops.subtract, [a, bare], e.outputs[0])
    return None


def subtracted(s: Sweep, e: Equation) -> Found:
    """x - -y -> x + y, also where y is such a product"""
    bare = taken_out(s, e.inputs[1]) if is_float(e) else None
    return s.write(ops.add, [e.inputs[0], bare], e.outputs[0]) if bare is not None else None


def taken_out(s: Sweep, x: Atom) -> Atom | None:
    """What `x` is the negative of; of a product or quotient with one operand that is negative, that without the sign."""
    bare = negated(s, x)
    m = s.source(x, *PRODUCTS)
    if bare is not None or m is None or not s.is_read_once(x):
        return bare
    for k, y in enumerate(m.inputs):
        inner = negated(s, y)
        if inner is not None and s.is_read_once(y):
            return s.inner(m.primitive, [inner if i == k else z for i, z in enumerate(m.inputs)], x.shape, x.dtype)
    return None


def even(s: Sweep, e: Equation) -> Found:
    """|-x| -> |x|, (-x)² -> x²"""
    bare = negated(s, e.inputs[0]) if is_float(e) else None
    return s.write(e.primitive, [bare], e.outputs[0]) if bare is not None else None


product: Sequence[Rule] = (by_minus_one, by_number, both, out_of_product)
RULES: dict[str, Sequence[Rule]] = {
    "negative": (twice, of_product_by_number, of_longer_product),
    "multiply": product,
    "divide": product,
    "add": (added,),
    "subtract": (subtracted,),
    "absolute": (even,),
    "fabs": (even,),
    "square": (even,),
}
