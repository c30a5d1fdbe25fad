"""What is known before a program runs: results of numbers, and arrays that are one number everywhere.

Arrays from outside are never looked at, and an array that is made stays a `fill`. What NumPy would warn of, or raise, is left to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops.kinds import PRIMITIVES, Structured
from funcgrad.ops.shaping import SMALL
from funcgrad.program.parts import FILL, KINDS, Atom, Equation, Literal, Var, literal
from funcgrad.program.passes.sweep import Rules, Sweep, is_line, number_of, swept, uniform
from funcgrad.program.program import Program
from funcgrad.program.vocabulary import bound

EXACT = frozenset(
    "add subtract negative positive square sqrt floor ceil trunc rint sign absolute fabs maximum minimum fmax fmin where equal "
    "not_equal less less_equal greater greater_equal logical_and logical_or logical_not logical_xor isnan isinf isfinite signbit "
    "astype multiply divide conjugate copysign".split()
)
"""Whose value no loop computes otherwise than any other, of real numbers."""

Found = Sequence[Atom] | None


def of_numbers(s: Sweep, e: Equation) -> Found:
    """An equation of literals alone is its value, if that is a number."""
    for x in e.inputs:
        if type(x) is not Literal:
            return None
    if not e.inputs or len(e.outputs) != 1 or e.outputs[0].shape or type(e.primitive) is Structured:
        return None
    return known(e, list(map(number_of, e.inputs)))


def known(e: Equation, values: Sequence[Any]) -> Found:
    """The result for these numbers, as NumPy computes it without a word."""
    prim, args, params = bound(e, values)
    try:
        with np.errstate(all="raise"):
            out = prim.impl(*args, **params)
    except Exception:
        return None
    made = np.asarray(out)
    return (literal(made[()]),) if made.dtype == e.outputs[0].dtype and not made.shape else None


def answered(s: Sweep, e: Equation) -> Found:
    """A guard that holds for a literal is nothing"""
    value = number_of(e.inputs[0])
    return () if value is not None and value.dtype.kind != "c" and KINDS[e["kind"]](value) == e["answer"] else None


def of_fills(s: Sweep, e: Equation) -> Found:
    """Element by element, of one number everywhere: a fill of what comes of the number, if it is a line that is read element by element"""
    out = e.outputs[0]
    if not out.shape or not is_line(out.shape) or not s.uses[out.number].by_element:
        return None
    values = [uniform(s, x) for x in e.inputs]
    if any(x is None or x.dtype.kind == "c" for x in values):
        return None
    number = known(Equation(e.primitive, e.inputs, (Var(out.number, (), out.dtype),), e.params), values)
    return filled(s, e, number[0]) if number is not None else None


def filled(s: Sweep, e: Equation, number: Atom) -> Found:
    out = e.outputs[0]
    return s.write(FILL, [number], out, {"shape": out.shape}) if out.shape else (number,)


def beside_arrays(s: Sweep, e: Equation) -> Found:
    """Element by element, a fill beside an array of the result's shape is its number"""
    out = e.outputs[0]
    numbers = [uniform(s, x) if x.shape else None for x in e.inputs]
    if all(n is None for n in numbers) or not any(x.shape == out.shape and n is None for x, n in zip(e.inputs, numbers, strict=True)):
        return None
    inputs = [x if n is None else Literal(n) for x, n in zip(e.inputs, numbers, strict=True)]
    return s.write(e.primitive, inputs, out, dict(e.params))


def view(s: Sweep, e: Equation) -> Found:
    """A view of a fill is a fill"""
    value = uniform(s, e.inputs[0]) if e.inputs[0].shape else None
    return filled(s, e, Literal(value)) if value is not None else None


def large_view(s: Sweep, e: Equation) -> Found:
    """A large broadcast is a view"""
    return view(s, e) if math.prod(e["shape"]) > SMALL else None


def total(s: Sweep, e: Equation) -> Found:
    """A sum of one whole number is the product, where no part of it is rounded"""
    x, out = e.inputs[0], e.outputs[0]
    value = uniform(s, x) if x.shape else None
    n = math.prod(x.shape) // max(math.prod(out.shape), 1)
    if value is None or out.shape or x.dtype.char not in "fd" or not float(value).is_integer() or not value:
        return None
    return (literal(x.dtype.type(n * float(value))),) if n * abs(float(value)) < 2 ** np.finfo(x.dtype).nmant else None


ONE_LOOP = frozenset(name for name, prim in PRIMITIVES.items() if isinstance(prim.impl, np.ufunc)) | {"where", "scale", "meet", "ratio"}
"""What computes one element from one of each operand, wherever they stand."""

RULES: Rules = {
    "": (of_numbers,),
    "guard": (answered,),
    **{name: (of_fills,) * (name in EXACT) + (beside_arrays,) * (name in ONE_LOOP) for name in EXACT | ONE_LOOP},
    "reshape": (view,),
    "transpose": (view,),
    "slice": (view,),
    "reverse": (view,),
    "broadcast_to": (large_view,),
    "sum": (total,),
}


def folded(program: Program) -> Program:
    """The program with what is known in it."""
    return swept(program, RULES)
