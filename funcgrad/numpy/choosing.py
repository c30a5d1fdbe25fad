"""Choosing between values element by element: where, select, choose, clip, nan_to_num."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.statistics import in_dtype
from funcgrad.ops import elementwise as ops
from funcgrad.ops.indexing import nonzero, scalar
from funcgrad.ops.kinds import constant
from funcgrad.ops.shaping import broadcast_to, cast

_GIVEN_NOTHING = np._NoValue


@implements(np.where)
def where(condition: Any, *xy: Any) -> Any:
    if not xy:
        return nonzero(array(condition))
    if len(xy) != 2:
        raise ValueError("either both or neither of x and y should be given")
    return ops.where(array(condition), array(xy[0]), array(xy[1]))


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = _GIVEN_NOTHING,
    a_max: Any = _GIVEN_NOTHING,
    out: None = None,
    *,
    min: Any = _GIVEN_NOTHING,
    max: Any = _GIVEN_NOTHING,
    where: Any = True,
    dtype: Any = None,
    **layout: Any,
) -> Value:
    """At a bound the slope is ½: `maximum` and `minimum` share ties."""
    if a_min is _GIVEN_NOTHING and a_max is _GIVEN_NOTHING:
        a_min, a_max = (None if b is _GIVEN_NOTHING else b for b in (min, max))
    elif a_min is _GIVEN_NOTHING or a_max is _GIVEN_NOTHING:
        raise TypeError(f"clip() missing 1 required positional argument: 'a_{'min' if a_min is _GIVEN_NOTHING else 'max'}'")
    elif min is not _GIVEN_NOTHING or max is not _GIVEN_NOTHING:
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    if where is not True:
        raise errors.WhereArgumentError("np.clip")
    x = in_dtype(a, dtype)
    if a_min is None and a_max is None:
        return ops.positive(x)
    if a_min is not None:
        x = np.maximum(x, in_dtype(a_min, dtype))  # the ufuncs have a faster path than the primitives
    return x if a_max is None else np.minimum(x, in_dtype(a_max, dtype))


def _common(values: list[Value]) -> np.dtype[Any]:
    """The dtype the values are brought to; Python numbers are weak."""
    return np.result_type(*[v if type(v) in (int, float, complex) else dtype_of(v) for v in values])


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Value:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions, choices = [array(c) for c in condlist], [array(c) for c in (*choicelist, default)]
    for i, c in enumerate(conditions):
        if dtype_of(c).kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    shape = np.broadcast_shapes(*map(shape_of, conditions), *map(shape_of, choices))
    dtype = _common(choices)
    out = broadcast_to(cast(choices[-1], dtype), shape=shape)
    for c, choice in zip(reversed(conditions), reversed(choices[:-1]), strict=True):
        out = ops.where(c, cast(choice, dtype), out)
    return out


def _choices(i: Any, *, size: int, mode: str) -> Any:
    """Which of `size` choices each element takes; NumPy raises its own errors."""
    return np.choose(i, list(range(size)), mode=mode)  # type: ignore[call-overload]


choices_of = constant(_choices, name="choices")


@implements(np.choose)
def choose(a: Any, choices: Any, out: None = None, mode: Any = "raise") -> Value:
    count = len(choices) if isinstance(choices, (list, tuple)) else shape_of(choices)[0]
    values = [array(choices[k]) for k in range(count)]
    i = choices_of(array(a), size=len(values), mode=mode)
    shape = np.broadcast_shapes(shape_of(i), *map(shape_of, values))
    dtype = _common(values)
    out_ = broadcast_to(cast(values[0], dtype), shape=shape)
    for k, value in enumerate(values[1:], 1):
        out_ = ops.where(i == k, cast(value, dtype), out_)
    return scalar(out_)


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Value:
    """What is replaced has slope 0."""
    if not copy:
        raise errors.FrozenError("np.nan_to_num(copy=False)", "Use the returned value of `np.nan_to_num(x)`.")
    x = array(x)
    replace = functools.partial(_finite, nan=nan, posinf=posinf, neginf=neginf)
    if dtype_of(x).kind not in "fc":
        return scalar(x)
    if dtype_of(x).kind != "c":
        return replace(x)
    return replace(ops.real(x)) + replace(ops.imag(x)) * 1j


def _finite(x: Value, nan: Any, posinf: Any, neginf: Any) -> Value:
    dtype = dtype_of(x)
    high = np.finfo(dtype).max if posinf is None else posinf
    low = np.finfo(dtype).min if neginf is None else neginf
    for mask, new in ((x != x, nan), (x == np.inf, high), (x == -np.inf, low)):
        x = ops.where(mask, cast(array(new), dtype), x)
    return scalar(x)
