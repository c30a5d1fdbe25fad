"""Primitives that move elements without changing them: linear maps and their transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.elementwise import real
from funcgrad.ops.kinds import linear

reshape = linear("reshape", lambda x, *, shape: np.reshape(x, shape), lambda ct, x, *, shape: reshape(ct, shape=x.shape))


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `axes`; both counted from the end."""
    n = len(axes)
    return tuple(axes.index(i - n) - n for i in range(n))


transpose = linear("transpose", lambda x, *, axes: np.transpose(x, axes), lambda ct, x, *, axes: transpose(ct, axes=_inverse(axes)))


def _sum_to(x: Any, *, shape: tuple[int, ...]) -> Any:
    lead = tuple(range(x.ndim - len(shape)))
    ones = tuple(i + len(lead) for i, n in enumerate(shape) if n == 1 and x.shape[i + len(lead)] != 1)
    return np.sum(x, axis=lead + ones, keepdims=True).reshape(shape)[()] if lead or ones else x


sum_to = linear("sum_to", _sum_to, lambda ct, x, *, shape: broadcast_to(ct, shape=x.shape))
"""Undoes a broadcast: adds up the copies."""

broadcast_to = linear(
    "broadcast_to", lambda x, *, shape: np.broadcast_to(x, shape), lambda ct, x, *, shape: sum_to(ct, shape=x.shape)
)
astype = linear("astype", lambda x, *, dtype: np.asarray(x).astype(dtype)[()], lambda ct, x, *, dtype: cast(ct, x.dtype))


def _split_back(ct: Value, *parts: Spec, axis: int) -> tuple[Value, ...]:
    out, start = [], 0
    for part in parts:
        stop = start + part.shape[axis]
        out.append(window(ct, axis=axis, start=start, stop=stop))
        start = stop
    return tuple(out)


concatenate = linear("concatenate", lambda *xs, axis: np.concatenate(xs, axis), _split_back, operands=None)
stack = linear(
    "stack",
    lambda *xs, axis: np.stack(xs, axis),
    lambda ct, *xs, axis: tuple(element(ct, axis=axis, index=i) for i in range(len(xs))),
    operands=None,
)


def _along(axis: int, what: Any) -> tuple[Any, ...]:
    """An index that applies `what` to the axis `axis`, counted from the end."""
    return (..., what) + (slice(None),) * (-axis - 1)


def _embed(x: Any, *, axis: int, start: int, size: int) -> Any:
    out = np.zeros(x.shape[: x.ndim + axis] + (size,) + x.shape[x.ndim + axis + 1 :], x.dtype)
    out[_along(axis, slice(start, start + x.shape[axis]))] = x
    return out


window = linear(
    "window",
    lambda x, *, axis, start, stop: x[_along(axis, slice(start, stop))],
    lambda ct, x, *, axis, start, stop: embed(ct, axis=axis, start=start, size=x.shape[axis]),
)
"""The elements from `start` to `stop` along one axis."""

embed = linear(
    "embed", _embed, lambda ct, x, *, axis, start, size: window(ct, axis=axis, start=start, stop=start + x.shape[axis])
)
"""The transpose of `window`: zeros around."""


def _place(x: Any, *, axis: int, index: int, size: int) -> Any:
    shape = np.shape(x)
    at = len(shape) + 1 + axis
    out = np.zeros(shape[:at] + (size,) + shape[at:], dtype_of(x))
    out[_along(axis, index)] = x
    return out


element = linear(
    "element",
    lambda x, *, axis, index: x[_along(axis, index)][()],
    lambda ct, x, *, axis, index: place(ct, axis=axis, index=index, size=x.shape[axis]),
)
"""One position along an axis, which goes away."""

place = linear("place", _place, lambda ct, x, *, axis, index, size: element(ct, axis=axis, index=index))
"""The transpose of `element`."""


def cast(x: Value, dtype: np.dtype[Any]) -> Value:
    """`x` in `dtype`; from complex to real by the real part, which is the transpose of real to complex."""
    from_dtype = dtype_of(x)
    if from_dtype == dtype:
        return x
    if from_dtype.kind == "c" and dtype.kind != "c":
        x = real(x)
    return x if dtype_of(x) == dtype else astype(x, dtype=dtype)


def dense(x: Value, shape: tuple[int, ...]) -> Value:
    """`x` with all its elements: a cotangent may be smaller, by broadcasting, than its primal."""
    return x if shape_of(x) == shape else broadcast_to(x, shape=shape)


def undo(x: Value, whole: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
    """Undo on one edge what NumPy did to an operand of `shape` and `dtype` that met others at the shape `whole`."""
    if whole != shape:
        x = sum_to(dense(x, whole), shape=shape)
    return cast(x, dtype)
