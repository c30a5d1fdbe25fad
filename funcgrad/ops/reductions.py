"""Primitives that take axes away or run along one. Axes are a tuple of negative ints; reductions keep no dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, shape_of
from funcgrad.ops.kinds import constant, differentiable, linear
from funcgrad.ops.shaping import reshape

Axes = tuple[int, ...]


def expand(x: Value, shape: tuple[int, ...], axis: Axes) -> Value:
    """A reduced value with ones where the axes were, so that it broadcasts against the operand."""
    if not shape_of(x):
        return x
    n = len(shape)
    return reshape(x, shape=tuple(1 if i - n in axis else size for i, size in enumerate(shape)))


def _sum_back(ct: Value, x: Spec, *, axis: Axes) -> Value:
    return expand(ct, x.shape, axis)


sum = linear("sum", lambda x, *, axis: np.add.reduce(x, axis=axis), _sum_back)
"""A 0-d cotangent stands for a uniform one, one with ones in its shape for one that repeats."""


def _winner(x: Any, out: Any, *, axis: Axes) -> Any:
    """The share of each element in an extremum: ties share equally; counted in float64, as 70,000 overflows float16."""
    mine = (x == np.expand_dims(out, axis)) | (x != x)
    count = mine.sum(axis=axis, keepdims=True, dtype=np.float64)
    return (mine / np.maximum(count, 1.0)).astype(x.dtype)


shares = constant(_winner, name="shares")


def _extremum_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, axis: Axes) -> Value:
    return sum(tangents[0] * shares(args[0], out, axis=axis), axis=axis)


def _extremum_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool], *, axis: Axes) -> tuple[Value]:
    return (expand(ct, shape_of(args[0]), axis) * shares(args[0], out, axis=axis),)


max = differentiable("max", lambda x, *, axis: np.maximum.reduce(x, axis=axis), _extremum_tangent, _extremum_back)
min = differentiable("min", lambda x, *, axis: np.minimum.reduce(x, axis=axis), _extremum_tangent, _extremum_back)

cumsum = linear("cumsum", lambda x, *, axis: np.cumsum(x, axis), lambda ct, x, *, axis: reverse(cumsum(reverse(ct, axis=axis), axis=axis), axis=axis))


def _reverse(x: Any, *, axis: int) -> Any:
    return np.flip(x, axis)


reverse = linear("reverse", _reverse, lambda ct, x, *, axis: reverse(ct, axis=axis))
