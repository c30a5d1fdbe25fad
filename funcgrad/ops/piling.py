"""Many values of any shapes as one vector, and back: one node, however many there are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.kinds import Differentiable, Linear, differentiable, linear
from funcgrad.ops.shaping import cast

Shapes = tuple[tuple[int, ...], ...]


def _pile(*xs: Any) -> Any:
    if any(isinstance(x, np.ndarray) for x in xs):
        return np.concatenate([x.reshape(-1) if isinstance(x, np.ndarray) else np.reshape(x, 1) for x in xs])
    return np.array(xs)


def _unpile(x: Any, *, shapes: Shapes) -> tuple[Any, ...]:
    if not any(shapes):
        return tuple(x)
    out, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        out.append(x[start:stop].reshape(shape) if shape else x[start])
        start = stop
    return tuple(out)


def _pile_back(ct: Value, *xs: Spec) -> tuple[Value, ...]:
    shapes, dtype = tuple([x.shape for x in xs]), dtype_of(ct)
    parts = _unpile(ct, shapes=shapes) if type(ct) is np.ndarray else unpile(ct, shapes=shapes)
    return tuple([part if x.dtype is dtype else cast(part, x.dtype) for part, x in zip(parts, xs, strict=True)])


def _unpile_back(cts: Any, out: Any, args: Any, wanted: Any, *, shapes: Shapes) -> tuple[Value]:
    return (pile(*[_whole(c, o) for c, o in zip(cts, out, strict=True)]) if out else np.zeros(0, dtype_of(args[0])),)


def _whole(ct: Value | None, out: Value) -> Value:
    """A cotangent of one output with all its elements."""
    shape = shape_of(out)
    if ct is None:
        return np.zeros(shape, dtype_of(out)) if shape else dtype_of(out).type(0)
    return ct if shape_of(ct) == shape else ct + np.zeros(shape, dtype_of(out))


pile: Linear = linear("pile", _pile, _pile_back, operands=None)
"""The elements of all operands, each in C order, as one vector."""

unpile: Differentiable = differentiable(
    "unpile", _unpile, lambda out, args, tangents, *, shapes: unpile(tangents[0], shapes=shapes), _unpile_back
)
"""The vector taken apart into consecutive pieces of these shapes: several outputs, so that their cotangents are joined only once."""
