"""Primitives that take axes away. Axes are a tuple of negative ints; no dimension is kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.cumulative import before, cumprod, reverse
from funcgrad.ops.elementwise import conjugate, exp, isinf, where
from funcgrad.ops.kinds import constant, differentiable, linear
from funcgrad.ops.shaping import cast, reshape, transpose
from funcgrad.ops.summing import summed

Axes = tuple[int, ...]


def keep(x: Value, shape: tuple[int, ...], axis: Axes) -> Value:
    """A reduced value of an operand of this shape, with ones where the axes were."""
    kept = list(shape)
    for i in axis:
        kept[i] = 1
    return reshape(x, shape=tuple(kept))


def expand(x: Value, shape: tuple[int, ...], axis: Axes) -> Value:
    """As `keep`, but what is 0-d broadcasts as it is; as a cotangent it stands for a uniform one."""
    return keep(x, shape, axis) if shape_of(x) else x


def count(shape: tuple[int, ...], axis: Axes) -> int:
    """How many elements become one."""
    return math.prod([shape[i] for i in axis])


# ---- sums and means


sum = linear("sum", lambda x, *, axis: summed(x, axis), lambda ct, x, *, axis: expand(ct, x.shape, axis))


def _mean(x: Any, *, axis: Axes) -> Any:
    n = count(np.shape(x), axis)
    # For these dtypes this is what `np.mean` does; it warns of empty slices, and sums float16 in float32.
    return summed(x, axis) / n if n and dtype_of(x).char in "dD" else np.mean(x, axis=axis)


def _mean_back(ct: Value, x: Spec, *, axis: Axes) -> Value:
    # Times 1/n: n itself may overflow float16.
    return expand(ct * (1.0 / (count(x.shape, axis) or 1)), x.shape, axis)


mean = linear("mean", _mean, _mean_back)


def _var_slope(x: Value, axis: Axes, ddof: float) -> Value:
    """∂var/∂x = 2 (x - mean) / (n - ddof), conjugated where it is complex."""
    shape = shape_of(x)
    centred = x - expand(mean(x, axis=axis), shape, axis)
    freedom = count(shape, axis) - ddof
    factor = 2.0 / freedom if freedom > 0 else math.inf
    return (conjugate(centred) if dtype_of(x).kind == "c" else centred) * factor


def _var_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, axis: Axes, ddof: float) -> Value:
    return cast(sum(_var_slope(args[0], axis, ddof) * tangents[0], axis=axis), dtype_of(out))


def _var_back(ct: Value, out: Value, args: tuple[Value], wanted: Any, *, axis: Axes, ddof: float) -> tuple[Value]:
    return (expand(ct, shape_of(args[0]), axis) * _var_slope(args[0], axis, ddof),)


var = differentiable("var", lambda x, *, axis, ddof: np.var(x, axis=axis, ddof=ddof), _var_tangent, _var_back)


# ---- products: of all other elements, from both sides, so that zeros need no care


def _others(x: Value, axis: Axes) -> Value:
    """For each element the product of the others that are reduced with it."""
    shape = shape_of(x)
    if 0 in shape:
        return x
    axes = tuple([i for i in range(-len(shape), 0) if i not in axis]) + axis
    sizes = tuple([shape[i] for i in axes])
    rows = reshape(transpose(x, axes=axes), shape=(*sizes[: len(shape) - len(axis)], count(shape, axis)))
    left = before(cumprod(rows, axis=-1), axis=-1)
    right = reverse(before(cumprod(reverse(rows, axis=-1), axis=-1), axis=-1), axis=-1)
    back = tuple([axes.index(i) - len(axes) for i in range(-len(axes), 0)])
    return transpose(reshape(left * right, shape=sizes), axes=back)


def _prod_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, axis: Axes) -> Value:
    return sum(_others(args[0], axis) * tangents[0], axis=axis)


def _prod_back(ct: Value, out: Value, args: tuple[Value], wanted: Any, *, axis: Axes) -> tuple[Value]:
    return (expand(ct, shape_of(args[0]), axis) * _others(args[0], axis),)


prod = differentiable("prod", lambda x, *, axis: np.multiply.reduce(x, axis=axis), _prod_tangent, _prod_back)


# ---- extrema: ties share equally


def _shares(x: Any, out: Any, *, axis: Axes) -> Any:
    """The share of each element in an extremum; counted in float64, as 70,000 overflows float16.

    Where each extremum has one winner, which are as many as there are extrema, and there is one for each, a share is one or nothing.
    """
    kept = expand(out, np.shape(x), axis)
    mine = x == kept
    if np.count_nonzero(mine) == np.size(out) and np.logical_or.reduce(mine, axis=axis).all():
        return mine.astype(dtype_of(x))
    out = kept
    held = np.add.reduce(mine, axis=axis, keepdims=True)
    if not np.logical_and.reduce(held, axis=None):  # nobody equals a nan
        mine = mine | ((x != x) & (out != out))
        held = np.maximum(np.add.reduce(mine, axis=axis, keepdims=True), 1)
    return np.divide(mine, held).astype(dtype_of(x), copy=False)


shares = constant(_shares, name="shares")


def _extremum_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, axis: Axes) -> Value:
    return sum(tangents[0] * shares(args[0], out, axis=axis), axis=axis)


def _extremum_back(ct: Value, out: Value, args: tuple[Value], wanted: Any, *, axis: Axes) -> tuple[Value]:
    return (expand(ct, shape_of(args[0]), axis) * shares(args[0], out, axis=axis),)


max = differentiable("max", lambda x, *, axis: np.maximum.reduce(x, axis=axis), _extremum_tangent, _extremum_back)
min = differentiable("min", lambda x, *, axis: np.minimum.reduce(x, axis=axis), _extremum_tangent, _extremum_back)
nanmax = differentiable("nanmax", lambda x, *, axis: np.nanmax(np.asarray(x), axis=axis), _extremum_tangent, _extremum_back)
nanmin = differentiable("nanmin", lambda x, *, axis: np.nanmin(np.asarray(x), axis=axis), _extremum_tangent, _extremum_back)


def _log_shares(x: Any, out: Any, *, axis: Axes) -> Any:
    """What `x - out` means where `out` is infinite: the winners share at inf, nobody has a share at -inf."""
    if not np.isinf(out).any():
        return np.zeros_like(x)
    with np.errstate(divide="ignore"):
        return np.where(expand(out, np.shape(x), axis) > 0, np.log(_shares(x, out, axis=axis)), -np.inf)


log_shares = constant(_log_shares, name="log_shares")


def _softmax(x: Value, out: Value, axis: Axes) -> Value:
    kept = keep(out, shape_of(x), axis)
    return exp(where(isinf(kept), log_shares(x, out, axis=axis), x - kept))


def _logsumexp_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, axis: Axes) -> Value:
    return sum(tangents[0] * _softmax(args[0], out, axis), axis=axis)


logsumexp = differentiable("logsumexp", lambda x, *, axis: np.logaddexp.reduce(x, axis=axis), _logsumexp_tangent)


# ---- locally constant

any = constant(lambda x, *, axis: np.logical_or.reduce(x, axis=axis), name="any")
all = constant(lambda x, *, axis: np.logical_and.reduce(x, axis=axis), name="all")
count_nonzero = constant(lambda x, *, axis: np.count_nonzero(x, axis=axis), name="count_nonzero")
argmax = constant(lambda x, *, axis: np.argmax(x, axis), name="argmax")
argmin = constant(lambda x, *, axis: np.argmin(x, axis), name="argmin")
nanargmax = constant(lambda x, *, axis: np.nanargmax(x, axis), name="nanargmax")
nanargmin = constant(lambda x, *, axis: np.nanargmin(x, axis), name="nanargmin")
