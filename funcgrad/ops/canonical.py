"""Primitives that recordings need: what is computed in place of a primitive whose result depends on more than shapes and dtypes.

`scalar_multiply`, `scalar_power` and `scalar_absolute` are Python's operators between single numbers: NumPy's scalars compute them
without vector instructions, so the last bit may be another one than that of the ufunc.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad.core import Primitive, dtype_of, shape_of
from funcgrad.ops.elementwise import absolute, fwins, multiply, power, wins
from funcgrad.ops.kinds import Elementwise, constant, elementwise


def _by_operator(name: str, apply: Any, like: Elementwise) -> Elementwise:
    rules = [None if r is None else r.apply for r in like.rules]
    return elementwise(apply, *rules, name=name, keeps_dtype=like.keeps_dtype)


scalar_multiply = _by_operator("scalar_multiply", lambda x, y: operator.mul(x, y), multiply)
scalar_power = _by_operator("scalar_power", lambda x, y: operator.pow(x, y), power)
scalar_absolute = _by_operator("scalar_absolute", lambda x: abs(x), absolute)

# ---- the shares of two in an extremum, in its dtype: `wins` gives a mask where nothing is tied


def _share(rule: Primitive) -> Any:
    return lambda x, y, out: rule.impl(x, y, out).astype(dtype_of(out))


share = constant(_share(wins), name="share")
fshare = constant(_share(fwins), name="fshare")

# ---- positions


def _wrapped(i: Any, *, size: int) -> Any:
    i = np.asarray(i).astype(np.intp)
    wrong = (i < -size) | (i >= size)
    if wrong.any():
        raise IndexError(f"index {i[wrong][0]} is out of bounds for an axis with size {size}")
    return np.where(i < 0, i + size, i)[()]


wrapped = constant(_wrapped, name="wrapped")
"""Positions along an axis, counted from its front; an error where one is not there."""

# ---- what a guard asks of a result whose shape or dtype depends on values


def _has_form(x: Any, *, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return np.bool(shape_of(x) == shape and dtype_of(x) == dtype)


has_form = constant(_has_form, name="has_form")
