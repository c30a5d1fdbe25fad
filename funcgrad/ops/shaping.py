"""Primitives that move elements without changing them: linear maps and their transposes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.elementwise import real
from funcgrad.ops.kinds import Differentiable, Linear, differentiable, linear
from funcgrad.ops.summing import summed

Shape = tuple[int, ...]


def cast(x: Value, dtype: np.dtype[Any]) -> Value:
    """`x` in `dtype`; from complex to real by the real part, which is the transpose of real to complex."""
    from_dtype = dtype_of(x)
    if from_dtype == dtype:
        return x
    if from_dtype.kind == "c" and dtype.kind != "c":
        x = real(x)
    return x if dtype_of(x) == dtype else astype(x, dtype=dtype)


def dense(x: Value, shape: Shape) -> Value:
    """`x` with all its elements: a cotangent may be smaller, by broadcasting, than its primal."""
    return x if shape_of(x) == shape else broadcast_to(x, shape=shape)


def undo(x: Value, whole: Shape, shape: Shape, dtype: np.dtype[Any]) -> Value:
    """Undo on one edge what NumPy did to an operand of `shape` and `dtype` that met others at the shape `whole`."""
    if whole != shape:
        x = sum_to(dense(x, whole), shape=shape)
    return cast(x, dtype)


def _astype(x: Any, *, dtype: np.dtype[Any]) -> Any:
    return x.astype(dtype) if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x).astype(dtype)[()]


astype: Linear = linear("astype", _astype, lambda ct, x, *, dtype: cast(ct, x.dtype))

# ---- the same elements in another shape


def _reshape(x: Any, *, shape: Shape) -> Any:
    return x.reshape(shape) if type(x) is np.ndarray else np.reshape(x, shape)


reshape: Linear = linear("reshape", _reshape, lambda ct, x, *, shape: reshape(ct, shape=x.shape))


def _inverse(axes: Shape) -> Shape:
    """The permutation that undoes `axes`; both counted from the end."""
    n = len(axes)
    return tuple([axes.index(i - n) - n for i in range(n)])


def _transpose(x: Any, *, axes: Shape) -> Any:
    return x.transpose(axes) if type(x) is np.ndarray else np.transpose(x, axes)


transpose: Linear = linear("transpose", _transpose, lambda ct, x, *, axes: transpose(ct, axes=_inverse(axes)))


def moved(x: Value, source: int, to: int) -> Value:
    """One axis moved to another place; what may be negative is counted from the end."""
    n = len(shape_of(x))
    source, to = source % n, to % n
    if source == to:
        return x
    order = [i for i in range(n) if i != source]
    order.insert(to, source)
    axes = tuple([i - n for i in order])
    return transpose(x, axes=axes)


# ---- broadcasting


def _sum_to(x: Any, *, shape: Shape) -> Any:
    n = x.ndim
    lead = n - len(shape)
    axes = (*range(-n, lead - n), *[i + lead - n for i, size in enumerate(shape) if size == 1 and x.shape[i + lead] != 1])
    return summed(x, axes).reshape(shape)[()] if axes else x


sum_to: Linear = linear("sum_to", _sum_to, lambda ct, x, *, shape: broadcast_to(ct, shape=x.shape))
"""Undoes a broadcast: adds up the copies."""

SMALL = 1024
"""Up to this many elements a copy costs less than a view, to make and to use."""


def _broadcast_to(x: Any, *, shape: Shape) -> Any:
    if math.prod(shape) > SMALL or not isinstance(x, (np.ndarray, np.generic)) or x.ndim > len(shape):
        return np.broadcast_to(x, shape)
    out = np.empty(shape, x.dtype)
    try:
        out[...] = x
    except ValueError:
        return np.broadcast_to(x, shape)  # raises its own sentence
    return out


broadcast_to: Linear = linear("broadcast_to", _broadcast_to, lambda ct, x, *, shape: sum_to(ct, shape=x.shape))

# ---- joining and taking apart


def along(axis: int, what: Any) -> tuple[Any, ...]:
    """An index that applies `what` to the axis `axis`, counted from the end."""
    return (..., what) + (slice(None),) * (-axis - 1)


def _pieces(x: Any, *, axis: int, sizes: Shape) -> tuple[Any, ...]:
    out, start = [], 0
    for size in sizes:
        out.append(x[along(axis, slice(start, start + size))])
        start += size
    return tuple(out)


def _filled(cts: Any, outs: Any) -> list[Value]:
    """The cotangents of several outputs, with all their elements, and zeros where none came."""
    return [np.zeros(shape_of(o), dtype_of(o)) if c is None else dense(c, shape_of(o)) for c, o in zip(cts, outs, strict=True)]


split: Differentiable = differentiable(
    "split",
    _pieces,
    lambda out, args, tangents, *, axis, sizes: split(tangents[0], axis=axis, sizes=sizes),
    lambda ct, out, args, wanted, *, axis, sizes: (concatenate(*_filled(ct, out), axis=axis),),
)
"""Consecutive pieces of these sizes along an axis: several outputs, so that their cotangents are joined only once."""


def _unstack(x: Any, *, axis: int) -> tuple[Any, ...]:
    return tuple(x if axis == -x.ndim else np.moveaxis(x, axis, 0))


unstack: Differentiable = differentiable(
    "unstack",
    _unstack,
    lambda out, args, tangents, *, axis: unstack(tangents[0], axis=axis),
    lambda ct, out, args, wanted, *, axis: (stack(*_filled(ct, out), axis=axis),),
)
"""Every position along an axis, which goes away."""


def _given_back(parts: tuple[Value, ...], xs: tuple[Spec, ...]) -> tuple[Value, ...]:
    """Each operand's part of a cotangent, in the operand's dtype."""
    dtype = dtype_of(parts[0])
    return tuple([part if x.dtype == dtype else cast(part, x.dtype) for part, x in zip(parts, xs, strict=True)])


def _unjoin(ct: Value, *xs: Spec, axis: int) -> tuple[Value, ...]:
    sizes = tuple([x.shape[axis] for x in xs])
    parts = _pieces(ct, axis=axis, sizes=sizes) if type(ct) is np.ndarray else split(ct, axis=axis, sizes=sizes)
    return _given_back(parts, xs)


concatenate: Linear = linear("concatenate", lambda *xs, axis: np.concatenate(xs, axis), _unjoin, operands=None)


def _stack(*xs: Any, axis: int) -> Any:
    if axis == -1 - (xs[0].ndim if type(xs[0]) is np.ndarray else 0):
        try:
            return np.array(xs)
        except ValueError:
            pass  # shapes that differ: `np.stack` says so
    return np.stack(xs, axis)


def _unpile(ct: Value, *xs: Spec, axis: int) -> tuple[Value, ...]:
    parts = _unstack(ct, axis=axis) if type(ct) is np.ndarray else unstack(ct, axis=axis)
    return _given_back(parts, xs)


stack: Linear = linear("stack", _stack, _unpile, operands=None)

# ---- a part, and zeros around it


def _embed(x: Any, *, axis: int, start: int, size: int) -> Any:
    out = np.zeros(x.shape[: x.ndim + axis] + (size,) + x.shape[x.ndim + axis + 1 :], x.dtype)
    out[along(axis, slice(start, start + x.shape[axis]))] = x
    return out


window: Linear = linear(
    "window",
    lambda x, *, axis, start, stop: x[along(axis, slice(start, stop))],
    lambda ct, x, *, axis, start, stop: embed(ct, axis=axis, start=start, size=x.shape[axis]),
)
"""The elements from `start` to `stop` along one axis."""

embed: Linear = linear("embed", _embed, lambda ct, x, *, axis, start, size: window(ct, axis=axis, start=start, stop=start + x.shape[axis]))
"""The transpose of `window`: zeros around."""


def _roll(x: Any, *, axis: int, shift: int) -> Any:
    n = x.shape[axis]
    return np.concatenate((x[along(axis, slice(n - shift, n))], x[along(axis, slice(0, n - shift))]), axis)


roll: Linear = linear("roll", _roll, lambda ct, x, *, axis, shift: roll(ct, axis=axis, shift=x.shape[axis] - shift))
"""Turned around along one axis, by `0 <= shift <= n` places."""


# ---- the diagonal of the last two axes


def _embed_diagonal(x: Any, *, offset: int, shape: Shape) -> Any:
    out = np.zeros(x.shape[:-1] + shape, x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return out


diagonal: Linear = linear(
    "diagonal",
    lambda x, *, offset: np.diagonal(x, offset, -2, -1),
    lambda ct, x, *, offset: embed_diagonal(ct, offset=offset, shape=x.shape[-2:]),
)

embed_diagonal: Linear = linear("embed_diagonal", _embed_diagonal, lambda ct, x, *, offset, shape: diagonal(ct, offset=offset))
"""The transpose of `diagonal`: a matrix of this shape that is zero beside its diagonal."""
