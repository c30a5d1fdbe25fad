"""Python's operators between single numbers, recorded as what they are.

NumPy's scalars multiply complex numbers, raise to powers and take absolute values without vector instructions: the last bit may be
another one than that of the ufunc. Python's own numbers do more: they raise errors, and a power may be complex. (Quotients and powers
of Python's complex numbers alone have NumPy's last bit when the program runs.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Traced, bind, dtype_of
from funcgrad.ops.canonical import scalar_absolute, scalar_multiply, scalar_power
from funcgrad.program.promotion import PYTHON_NUMBERS
from funcgrad.tensor import methods

Method = Callable[[Any, Any], Any]


def is_scalar(x: Any) -> bool:
    """Whether it is one number, and no array that has one."""
    if isinstance(x, Traced):
        return not x._shape and not isinstance(x._value, np.ndarray)
    return isinstance(x, (int, float, complex, np.generic))


def of_numbers(prim: Primitive, otherwise: Method, kinds: str) -> tuple[Method, Method]:
    """An operator: `prim` between scalars of one of these kinds, else as every tracer has it."""

    def apply(x: Any, y: Any) -> Any:
        if is_scalar(x) and is_scalar(y) and (dtype_of(x).kind in kinds or dtype_of(y).kind in kinds):
            return bind(prim, (x, y), {})
        return otherwise(x, y)

    return apply, lambda x, y: apply(y, x)


multiply, rmultiply = of_numbers(scalar_multiply, np.multiply, "c")
power, rpower = of_numbers(scalar_power, methods.power, "fc")


def absolute(x: Any) -> Any:
    return bind(scalar_absolute, (x,), {}) if is_scalar(x) and x._dtype.kind == "c" else np.absolute(x)


# ---- what Python's numbers ask before they compute

DIVISIONS = {"divide", "floor_divide", "remainder"}

PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv, "power": operator.pow,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "negative": operator.neg, "positive": operator.pos,
    "absolute": abs, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge,
    "equal": operator.eq, "not_equal": operator.ne,
}  # fmt: skip
"""What Python makes of its own numbers."""


def looks(prim: Primitive, args: Any, values: Any) -> None:
    """The guards of what Python's own numbers decide by their values: an error, or the type of the result."""
    if not PYTHON_NUMBERS.issuperset(map(type, values)):
        return
    if prim.name in DIVISIONS:
        bool(args[1] == 0)
    elif prim.name in ("power", "scalar_power"):
        _looks_of_power(*args, *values)


def _looks_of_power(x: Any, y: Any, base: Any, exponent: Any) -> None:
    is_fixed = not isinstance(y, Traced)
    if type(base) is complex or type(exponent) is complex or (is_fixed and exponent == int(exponent) and exponent >= 0):
        return
    if type(base) is int and type(exponent) is int:
        bool(y < 0)
    if is_fixed and exponent == int(exponent):
        bool(x == 0)
    elif not bool(x > 0):
        bool(x == 0)
        float(y)
