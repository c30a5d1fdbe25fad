"""What moves elements, in few equations; and what moves nothing is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Value, dtype_of, shape_of
from funcgrad.ops import reductions
from funcgrad.ops.shaping import concatenate, reshape, split, stack, unstack
from funcgrad.program.vocabulary import PAD, SLICE

Params = dict[str, Any]


def broadcast_to(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    return args[0] if params["shape"] == shape_of(args[0]) else NotImplemented


def reshaped(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    """Where a size is -1, it is the one that is left."""
    x, shape = args[0], params["shape"]
    if -1 in shape:
        return prim(x, shape=np.shape(prim.impl(x._value, shape=shape)))
    return x if shape == shape_of(x) else NotImplemented


def transpose(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    axes = params["axes"]
    return args[0] if [i % len(axes) for i in axes] == list(range(len(axes))) else NotImplemented


def astype(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    """A Python number in the dtype that its variable has already is a NumPy scalar from here on."""
    x = args[0]
    if params["dtype"] != dtype_of(x):
        return NotImplemented
    return x._main.trace(prim.impl(x._value, **params), x._var)


def sum_to(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    x, shape = args[0], params["shape"]
    own = shape_of(x)
    n, lead = len(own), len(own) - len(shape)
    axis = tuple([i - n for i in range(n) if i < lead or (shape[i - lead] == 1 and own[i] != 1)])
    return reshape(reductions.sum(x, axis=axis) if axis else x, shape=shape)


def sum(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    """Over no axes, of what is summed in its own dtype, nothing."""
    x = args[0]
    return x if params["axis"] == () and np.add.reduce(np.zeros(1, dtype_of(x))).dtype == dtype_of(x) else NotImplemented


def arg_extremum(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    """Among all elements, in C order."""
    return NotImplemented if params["axis"] is not None else prim(flat(args[0]), axis=-1)


def flat(x: Value) -> Value:
    return reshape(x, shape=(math.prod(shape_of(x)),))


def concatenate_all(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    return args[0] if len(args) == 1 else NotImplemented


# ---- parts


def part(x: Value, axis: int, start: int, stop: int) -> Value:
    """From `start` to `stop` along an axis counted from the end."""
    shape = shape_of(x)
    starts, stops = [0] * len(shape), list(shape)
    starts[axis], stops[axis] = start, stop
    return SLICE(x, starts=tuple(starts), stops=tuple(stops), steps=(1,) * len(shape))


def window(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    axis = params["axis"]
    start, stop, _ = slice(params["start"], params["stop"]).indices(shape_of(args[0])[axis])
    return part(args[0], axis, start, max(start, stop))


def embed(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    x, axis, start = args[0], params["axis"], params["start"]
    shape = list(shape_of(x))
    starts, stops = [0] * len(shape), list(shape)
    starts[axis], stops[axis] = start, start + shape[axis]
    shape[axis] = params["size"]
    return PAD(x, starts=tuple(starts), stops=tuple(stops), steps=(1,) * len(shape), shape=tuple(shape))


def pile(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    if not any(map(shape_of, args)):
        return stack(*args, axis=-1)
    return concatenate(*map(flat, args), axis=-1)


def unpile(prim: Primitive, args: Sequence[Value], params: Params) -> Any:
    shapes = params["shapes"]
    if not any(shapes):
        return unstack(args[0], axis=-1)
    parts = split(args[0], axis=-1, sizes=tuple(map(math.prod, shapes)))
    return tuple([reshape(part, shape=shape) for part, shape in zip(parts, shapes, strict=True)])
