"""Polynomials as arrays of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.convolution import product
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.inspection import allclose
from funcgrad.numpy.repeating import trim_zeros
from funcgrad.numpy.shaping import atleast_1d
from funcgrad.ops import polynomials as ops
from funcgrad.ops.cumulative import cumprod, reverse
from funcgrad.ops.elementwise import real
from funcgrad.ops.shaping import broadcast_to, cast, concatenate, embed, reshape, stack, unstack, window


def _pieces(p: Value) -> Any:
    """The coefficients one by one."""
    return unstack(p, axis=-len(shape_of(p)))


def _joined(*parts: Value) -> Value:
    dtype = np.result_type(*map(dtype_of, parts))
    return concatenate(*[cast(p, dtype) for p in parts], axis=-1)


# ---- values


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Value:
    p, x = operand(array(p)), operand(array(x))
    return ops.horner(_pieces(p), x, np.zeros(shape_of(x), dtype_of(x)))


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: Any = False) -> Value:
    x = operand(array(x))
    if len(shape_of(x)) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    rows = shape_of(x)[0]
    columns = rows if N is None else int(N)
    dtype = np.promote_types(dtype_of(x), int)
    ones = np.ones((rows, min(columns, 1)), dtype)
    if columns < 2:
        return ones
    wide = broadcast_to(reshape(cast(x, dtype), shape=(rows, 1)), shape=(rows, columns - 1))
    powers = concatenate(ones, cumprod(wide, axis=-1), axis=-1)
    return powers if increasing else reverse(powers, axis=-1)


# ---- arithmetic


def _aligned(a1: Any, a2: Any) -> tuple[Value, Value]:
    """Both with as many coefficients as the longer one."""
    a, b = atleast_1d(operand(array(a1))), atleast_1d(operand(array(a2)))
    missing = shape_of(b)[0] - shape_of(a)[0]
    if missing > 0:
        return _joined(np.zeros(missing, dtype_of(a)), a), b
    return a, _joined(np.zeros(-missing, dtype_of(b)), b) if missing else b


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Value:
    a, b = _aligned(a1, a2)
    return a + b


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Value:
    a, b = _aligned(a1, a2)
    return a - b


def _trimmed(a: Any) -> Value:
    """Without zeros in front, but one coefficient at least."""
    a = atleast_1d(operand(array(a)))
    trimmed = trim_zeros(a, "f")
    return trimmed if shape_of(trimmed)[0] else np.zeros(1, dtype_of(a))


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Value:
    """Leading zeros are cut off, as NumPy does, and so have slope 0."""
    a, b = _trimmed(a1), _trimmed(a2)
    dtype = np.result_type(dtype_of(a), dtype_of(b))
    return product(cast(a, dtype), cast(b, dtype), "full")


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Value, Value]:
    u, v = (atleast_1d(operand(array(p))) + 0.0 for p in (u, v))
    dtype = np.result_type(dtype_of(u), dtype_of(v))
    size, scale, r = shape_of(v)[0], 1.0 / v[0], cast(u, dtype)
    digits = []
    for k in range(shape_of(u)[0] - size + 1):
        digits.append(cast(scale * r[k], dtype))
        r = r - embed(cast(digits[-1] * v, dtype), axis=-1, start=k, size=shape_of(u)[0])
    while shape_of(r)[0] > 1 and allclose(r[0], 0, rtol=1e-14):
        r = r[1:]
    return stack(*digits, axis=-1) if digits else np.zeros(1, dtype), r


# ---- derivatives and integrals


@implements(np.polyder)
def polyder(p: Any, m: Any = 1) -> Value:
    m, p = int(m), operand(array(p))
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(m):
        n = shape_of(p)[0] - 1
        p = p[:-1] * np.arange(n, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: Any = 1, k: Any = None) -> Value:
    m, p = int(m), operand(array(p))
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = np.zeros(m) if k is None else atleast_1d(operand(array(k)))
    if shape_of(k)[0] == 1 and m > 1:
        k = k[0] * np.ones(m)
    if shape_of(k)[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        p = _joined(p / np.arange(shape_of(p)[0], 0, -1), window(k, axis=-1, start=i, stop=i + 1))
    return p


# ---- roots


@implements(np.roots)
def roots(p: Any) -> Value:
    """At a double root the slope is infinite."""
    return ops.roots(atleast_1d(operand(array(p))))


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Value:
    zeros = atleast_1d(operand(array(seq_of_zeros)))
    if len(shape_of(zeros)) == 2:
        raise errors.MissingRuleError("np.poly of a matrix", "Use `np.linalg.det(x * np.eye(n) - a)` at the points where you need it.")
    if len(shape_of(zeros)) != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not shape_of(zeros)[0]:
        return 1.0
    dtype = np.dtype(np.mintypecode(dtype_of(zeros).char))
    zeros, a = cast(zeros, dtype), np.ones(1, dtype)
    for zero in _pieces(zeros):
        a = product(a, stack(dtype.type(1), -zero, axis=-1), "full")
    return real(a) if dtype.kind == "c" and ops.closed_under_conjugation(zeros) else a
