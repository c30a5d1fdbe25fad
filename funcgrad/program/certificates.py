"""Large products that cannot hold a nan: their small operands are asked instead of them.

**Laws**, of real floats:
- A product of finite numbers is no nan. (It may overflow, which is none either.)
- In a sum of products, no sum of some of them is larger than the norms of both operands (Cauchy and Schwarz). Where those are far from
  overflowing nothing is infinite, in whatever order it is added, and so nothing is a nan.

Where the operands are otherwise the product itself is asked. So the answer is always that of `np.isnan(x).any()`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive
from funcgrad.program.nans import ONE_THREAD
from funcgrad.program.parts import Equation, Var

SMALLER = 4
"""So many times must both operands fit into the product."""

LEAST = 1 << 12
"""Elements of the product; it is quickly asked where it has fewer."""

MOVES = frozenset(("reshape", "transpose"))
"""What gives the same elements, at other places."""


def squares(x: Any) -> float:
    """The sum of squares, or what is not finite where that is not. (From `ONE_THREAD` elements on by blocks: see there.)"""
    flat = x.reshape(-1)
    total = 0.0
    for k in range(0, flat.size, ONE_THREAD - 1):
        part = flat[k : k + ONE_THREAD - 1]
        total += float(np.vdot(part, part))
    return total


def _in_product(x: Any, a: Any, b: Any) -> bool:
    return not (math.isfinite(squares(a)) and math.isfinite(squares(b))) and bool(np.isnan(x).any())


def _in_dot(x: Any, a: Any, b: Any) -> bool:
    """The square of the bound is computed, of numbers with a few last bits less: hence the largest float itself is far enough."""
    return not squares(a) * squares(b) < float(np.finfo(x.dtype).max) and bool(np.isnan(x).any())


ASKED = {"multiply": Primitive("nan_in_product", _in_product), "dot": Primitive("nan_in_dot", _in_dot)}
"""By what made the product: a `has_nan` of it and its operands. They stand in generated code alone."""


def certified(equations: Sequence[Equation]) -> list[Equation]:
    """The equations, with the questions that smaller arrays can answer."""
    made = {e.outputs[0].number: e for e in equations if len(e.outputs) == 1}
    return [_certified(e, made) if e.primitive.name == "has_nan" else e for e in equations]


def _certified(e: Equation, made: dict[int, Equation]) -> Equation:
    source = made.get(e.inputs[0].number) if type(e.inputs[0]) is Var else None
    while source is not None and source.primitive.name in MOVES:
        x = source.inputs[0]
        source = made.get(x.number) if type(x) is Var else None
    if source is None or source.primitive.name not in ASKED:
        return e
    operands = source.inputs
    size = math.prod(e.inputs[0].shape)
    are_arrays = all(type(x) is Var and x.shape and x.dtype.char in "df" for x in (e.inputs[0], *operands))
    if not are_arrays or size < LEAST or SMALLER * sum(math.prod(x.shape) for x in operands) > size:
        return e
    return Equation(ASKED[source.primitive.name], (e.inputs[0], *operands), e.outputs, e.params, e.line)
