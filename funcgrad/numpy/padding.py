"""`np.pad`: axis after axis, what is added before and behind is joined to what is there."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.axes import flip, moveaxis
from funcgrad.numpy.bridge import array
from funcgrad.numpy.creation import copy, linspace
from funcgrad.numpy.dispatch import FUNCTIONS, implements
from funcgrad.numpy.repeating import gathered
from funcgrad.numpy.shaping import broadcast_to
from funcgrad.ops import shaping as ops
from funcgrad.ops.contraction import tensordot
from funcgrad.ops.elementwise import rint
from funcgrad.ops.indexing import getitem, scatter_add

Pair = tuple[Any, Any]

_KEYWORDS = {
    "empty": None,
    "edge": None,
    "wrap": None,
    "constant": "constant_values",
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
}
_STATISTICS: dict[str, Callable[..., Any]] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Value:
    x = _array(array)
    widths = _widths(pad_width, len(shape_of(x)))
    if callable(mode):
        raise errors.MissingRuleError("np.pad with a function as its mode")
    if mode not in _KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    if unsupported := set(kwargs) - {_KEYWORDS[mode]}:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unsupported}")
    if mode == "empty" or (mode == "constant" and _is_zero(kwargs.get("constant_values", 0))):
        return _with_zeros(x, widths)
    _check_not_empty(mode, shape_of(x), widths)
    option = kwargs.get(_KEYWORDS[mode] or "")
    pairs = _pairs(option, len(widths)) if mode in _AFFINE or mode in _STATISTICS else [(option, option)] * len(widths)
    for axis, (width, pair) in enumerate(zip(widths, pairs, strict=True), -len(widths)):
        if width != (0, 0):
            x = _along(x, axis, width, mode, pair)
    return x if widths else copy(x)


_array = array


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """`pad_width` in all its forms as one pair per axis."""
    if isinstance(pad_width, dict):
        each: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            each[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = each
    widths = np.asarray(pad_width)
    if widths.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    widths = np.broadcast_to(widths, (ndim, 2))
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    return [(before, after) for before, after in widths.tolist()]


def _pairs(option: Any, ndim: int) -> list[Pair]:
    """A value before and one behind for each axis, of a scalar, a pair, or pairs; any of them may be traced."""
    if option is None:
        return [(None, None)] * ndim
    values = broadcast_to(_array(option), (ndim, 2))
    return [(getitem(values, index=(i, 0)), getitem(values, index=(i, 1))) for i in range(ndim)]


def _is_zero(values: Any) -> bool:
    return type(values) in (int, float) and values == 0 and not np.signbit(values)


def _with_zeros(x: Value, widths: list[tuple[int, int]]) -> Value:
    shape = shape_of(x)
    if not any(map(any, widths)):
        return copy(x)
    inside = tuple([slice(before, before + n) for (before, _), n in zip(widths, shape, strict=True)])
    return scatter_add(x, index=inside, shape=tuple([before + n + after for (before, after), n in zip(widths, shape, strict=True)]))


def _check_not_empty(mode: str, shape: tuple[int, ...], widths: list[tuple[int, int]]) -> None:
    if mode == "constant" or 0 not in shape:
        return
    for axis, (n, width) in enumerate(zip(shape, widths, strict=True)):
        if n == 0 and any(width):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")


# ---- one axis


def _along(x: Value, axis: int, width: tuple[int, int], mode: Any, pair: Pair) -> Value:
    if mode in _SIDES:
        before = [_SIDES[mode](x, axis, width[0], pair[0], mode, False)] if width[0] else []
        after = [_SIDES[mode](x, axis, width[1], pair[1], mode, True)] if width[1] else []
        return ops.concatenate(*before, x, *after, axis=axis)
    if pair[0] == "odd" and shape_of(x)[axis] > 1:
        return _odd(x, axis, width, mode)
    # NumPy pads the positions; what stands there follows.
    return gathered(x, np.pad(np.arange(shape_of(x)[axis]), width, mode), axis)


def _odd(x: Value, axis: int, width: tuple[int, int], mode: Any) -> Value:
    """Twice the edge less the reflection: a linear map, whose matrix is what NumPy makes of the identity."""
    n = shape_of(x)[axis]
    matrix = np.pad(np.eye(n, dtype=dtype_of(x)), (width, (0, 0)), mode, reflect_type="odd")
    before, after = matrix[: width[0]], matrix[width[0] + n :]
    sides = [moveaxis(tensordot(m, x, contract=((-1,), (axis,))), 0, axis) for m in (before, after)]
    return ops.concatenate(sides[0], x, sides[1], axis=axis)


def _layer(x: Value, axis: int, size: int) -> tuple[int, ...]:
    """The shape of `x` with this size along the axis."""
    shape = shape_of(x)
    at = len(shape) + axis
    return (*shape[:at], size, *shape[at + 1 :])


def _part(x: Value, axis: int, start: int | None, stop: int | None) -> Value:
    return getitem(x, index=ops.along(axis, slice(start, stop)))


def _constant(x: Value, axis: int, width: int, value: Value, mode: str, behind: bool) -> Value:
    return ops.broadcast_to(ops.cast(value, dtype_of(x)), shape=_layer(x, axis, width))


def _ramp(x: Value, axis: int, width: int, value: Value, mode: str, behind: bool) -> Value:
    """From the end value to the edge, which is not repeated."""
    n = shape_of(x)[axis]
    edge = getitem(x, index=ops.along(axis, n - 1 if behind else 0))
    ramp = linspace(0 if value is None else value, edge, width, endpoint=False, dtype=dtype_of(x), axis=axis)
    return flip(ramp, axis) if behind else ramp


def _statistic(x: Value, axis: int, width: int, length: Any, mode: str, behind: bool) -> Value:
    n = shape_of(x)[axis]
    length = n if length is None else min(index(length), n)
    if length < 0:
        raise ValueError("index can't contain negative values")
    if length == 0 and mode in ("maximum", "minimum"):
        raise ValueError("stat_length of 0 yields no value for padding")
    part = _part(x, axis, n - length, n) if behind else _part(x, axis, 0, length)
    value = FUNCTIONS[_STATISTICS[mode]](part, axis=axis, keepdims=True)
    if dtype_of(x).kind in "iu":
        value = rint(value)
    return ops.broadcast_to(ops.cast(value, dtype_of(x)), shape=_layer(x, axis, width))


_AFFINE: dict[str, Callable[..., Value]] = {"constant": _constant, "linear_ramp": _ramp}
_SIDES: dict[str, Callable[..., Value]] = _AFFINE | dict.fromkeys(_STATISTICS, _statistic)
