"""Products and sums over shared axes: dot, tensordot and their kin (matmul and einsum have their own files)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.indexing import flat
from funcgrad.ops import contraction as ops
from funcgrad.ops.elementwise import conjugate
from funcgrad.ops.shaping import broadcast_to, embed, reshape, transpose, window


def operand(x: Any) -> Value:
    """An array-like with a dtype of its own: a Python number here is no weaker than an array."""
    return x if isinstance(x, (Traced, np.ndarray)) else np.asarray(x)[()] if isinstance(x, (int, float, complex)) else array(x)


def conj(x: Value) -> Value:
    """The conjugate, at no cost where it is `x`."""
    return conjugate(x) if dtype_of(x).kind == "c" else x


def moved(x: Value, source: int, target: int, name: str) -> Value:
    """`x` with one axis moved; raises NumPy's AxisError."""
    n = len(shape_of(x))
    source, target = (normalize_axis_index(axis, n, name) for axis in (source, target))
    if source == target:
        return x
    order = [i for i in range(-n, 0) if i != source - n]
    order.insert(target, source - n)
    return transpose(x, axes=tuple(order))


def without(x: Value, axis: int) -> Value:
    """`x` less one axis of length 1."""
    shape = shape_of(x)
    return reshape(x, shape=shape[:axis] + shape[len(shape) + axis + 1 :])


# ---- dot and its kin


@implements(np.dot)
def dot(a: Any, b: Any, out: None = None) -> Value:
    a, b = operand(a), operand(b)
    n, m = len(shape_of(a)), len(shape_of(b))
    if n == 0 or m == 0:
        return a * b
    if n <= 2 and m <= 2:
        return ops.dot(a, b)
    return _contracted(a, b, (-1,), (-1 if m == 1 else -2,), np.dot)


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Value:
    a, b = operand(a), operand(b)
    n, m = len(shape_of(a)), len(shape_of(b))
    if n == 0 or m == 0:
        return a * b
    return ops.dot(a, b) if n == m == 1 else _contracted(a, b, (-1,), (-1,), np.inner)


def _contracted(a: Value, b: Value, mine: tuple[int, ...], theirs: tuple[int, ...], like: Callable[..., Any]) -> Value:
    """The sum over pairs of axes; where their sizes differ, `like` says whose error it is."""
    if [shape_of(a)[i] for i in mine] != [shape_of(b)[j] for j in theirs]:
        return like(np.broadcast_to(0.0, shape_of(a)), np.broadcast_to(0.0, shape_of(b)))
    return ops.tensordot(a, b, contract=(mine, theirs))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Value:
    return ops.dot(flat(conj(operand(a))), flat(operand(b)))


@implements(np.outer)
def outer(a: Any, b: Any, out: None = None) -> Value:
    return ops.column(flat(operand(a))) * flat(operand(b))


@implements(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Value:
    x1, x2 = operand(x1), operand(x2)
    if len(shape_of(x1)) != 1 or len(shape_of(x2)) != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={len(shape_of(x1))} and x2.ndim={len(shape_of(x2))}.")
    return ops.column(x1) * x2


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Value:
    a, b = operand(a), operand(b)
    n, m = len(shape_of(a)), len(shape_of(b))
    pairs = (range(-axes, 0), range(axes)) if isinstance(axes, (int, np.integer)) else axes
    mine, theirs = ([i] if isinstance(i, (int, np.integer)) else list(i) for i in pairs)
    if len(set(mine)) != len(mine) or len(set(theirs)) != len(theirs):
        raise ValueError("duplicate axes are not allowed in tensordot")
    if len(mine) != len(theirs) or any(shape_of(a)[i] != shape_of(b)[j] for i, j in zip(mine, theirs, strict=True)):
        raise ValueError("shape-mismatch for sum")
    out = ops.tensordot(a, b, contract=(tuple([i % n - n for i in mine]), tuple([j % m - m for j in theirs])))
    return out if shape_of(out) else broadcast_to(out, shape=())  # NumPy gives a 0-d array


# ---- kron and cross


@implements(np.kron)
def kron(a: Any, b: Any) -> Value:
    a, b = operand(a), operand(b)
    n = max(len(shape_of(a)), len(shape_of(b)))
    if not shape_of(a) or not shape_of(b):
        return a * b
    mine, theirs = ((1,) * (n - len(shape_of(x))) + shape_of(x) for x in (a, b))
    product = reshape(a, shape=tuple([s for i in mine for s in (i, 1)])) * reshape(b, shape=tuple([s for j in theirs for s in (1, j)]))
    return reshape(product, shape=tuple([i * j for i, j in zip(mine, theirs, strict=True)]))


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Value:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = operand(a), operand(b)
    if not shape_of(a) or not shape_of(b):
        raise ValueError("At least one array has zero dimension")
    a, b = moved(a, axisa, -1, "axisa"), moved(b, axisb, -1, "axisb")
    sizes = shape_of(a)[-1], shape_of(b)[-1]
    if not {*sizes} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    out = ops.cross(_in_space(a), _in_space(b))
    return without(window(out, axis=-1, start=2, stop=3), -1) if sizes == (2, 2) else moved(out, -1, axisc, "axisc")


def _in_space(x: Value) -> Value:
    """Vectors in the plane, put into space."""
    return x if shape_of(x)[-1] == 3 else embed(x, axis=-1, start=0, size=3)


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Value:
    x1, x2 = operand(x1), operand(x2)
    n, m = shape_of(x1)[axis], shape_of(x2)[axis]
    if n != 3 or m != 3:
        raise ValueError(f"Both input arrays must be (arrays of) 3-dimensional vectors, but they are {n} and {m} dimensional instead.")
    return cross(x1, x2, axis=axis)
