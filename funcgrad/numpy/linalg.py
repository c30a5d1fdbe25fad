"""Linear algebra: solving, inverses, powers, determinants (spectra, least squares, norms and products have their own files)."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.contraction import conj, dot, operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.indexing import flat
from funcgrad.ops import cholesky as factors
from funcgrad.ops import contraction, determinant
from funcgrad.ops import linalg as ops
from funcgrad.ops.reductions import sum
from funcgrad.ops.shaping import cast, reshape, transpose
from funcgrad.ops.shaping import diagonal as diagonal_of


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Value:
    a, b = operand(a), operand(b)
    if len(shape_of(b)) == 1 and len(shape_of(a)) > 2:
        x = ops.solve(a, contraction.column(b))
        return reshape(x, shape=shape_of(x)[:-1])
    return ops.solve(a, b)


@implements(np.linalg.inv)
def inv(a: Any) -> Value:
    return ops.inv(operand(a))


@implements(np.linalg.det)
def det(a: Any) -> Value:
    return determinant.det(operand(a))


_SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    return _SlogdetResult(*determinant.slogdet(operand(a)))


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Value:
    a = operand(a)
    return contraction.swap(conj(factors.cholesky(contraction.swap(conj(a))))) if upper and len(shape_of(a)) >= 2 else factors.cholesky(a)


# ---- powers and chains


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Value:
    a = operand(a)
    shape = shape_of(a)
    try:
        n = operator.index(n)
    except TypeError as e:
        raise TypeError("exponent must be an integer") from e
    if n == 0 or len(shape) < 2 or shape[-1] != shape[-2]:
        return np.linalg.matrix_power(np.zeros(shape, dtype_of(a)), n)
    return _power(a if n > 0 else ops.inv(a), abs(n))


def _power(a: Value, n: int) -> Value:
    """Products of the squares of squares that the bits of `n` choose, as NumPy takes them; the cube is (a a) a."""
    if n == 3:
        return contraction.matmul(contraction.matmul(a, a), a)
    square, out = a, None
    while True:
        n, bit = divmod(n, 2)
        if bit:
            out = square if out is None else contraction.matmul(out, square)
        if not n:
            return out
        square = contraction.matmul(square, square)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Sequence[Any], *, out: None = None) -> Value:
    values = [operand(x) for x in arrays]
    if len(values) <= 2:
        if len(values) < 2:
            raise ValueError("Expecting at least two arrays.")
        return dot(*values)
    for k, x in enumerate(values):
        n = len(shape_of(x))
        if n != 2 and not (n == 1 and k in (0, len(values) - 1)):
            raise np.linalg.LinAlgError(f"{n}-dimensional array given. Array must be two-dimensional")
    first, last = shape_of(values[0]), shape_of(values[-1])
    inner = [shape_of(x)[0] for x in values[1:]]
    return _chain(values, (first[0] if len(first) == 2 else 1, *inner, last[1] if len(last) == 2 else 1))


def _chain(values: list[Value], sizes: tuple[int, ...]) -> Value:
    """The product of matrices, of which the k-th has `sizes[k]` rows and `sizes[k + 1]` columns."""
    if len(values) == 1:
        return values[0]
    k = _cheapest(sizes)[1]
    return contraction.dot(_chain(values[:k], sizes[: k + 1]), _chain(values[k:], sizes[k:]))


@functools.lru_cache(1024)
def _cheapest(sizes: tuple[int, ...]) -> tuple[int, int]:
    """The multiplications that a chain costs, and where to cut it first."""
    if len(sizes) == 2:
        return 0, 0
    cuts = range(1, len(sizes) - 1)
    return min([(_cheapest(sizes[: k + 1])[0] + _cheapest(sizes[k:])[0] + sizes[0] * sizes[k] * sizes[-1], k) for k in cuts])


# ---- tensors as matrices


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Value:
    a, b = operand(a), operand(b)
    n = len(shape_of(a))
    if axes is not None:
        order = list(range(n))
        for k in axes:
            order.remove(k)
            order.insert(n, k)
        a = transpose(a, axes=tuple([i - n for i in order]))
    shape = shape_of(a)[len(shape_of(b)) - n :]
    size = math.prod(shape)
    if math.prod(shape_of(a)) != size**2:
        raise np.linalg.LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return reshape(ops.solve(reshape(a, shape=(size, size)), flat(b)), shape=shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Value:
    a = operand(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows, columns = shape_of(a)[:ind], shape_of(a)[ind:]
    return reshape(ops.inv(reshape(a, shape=(math.prod(columns), math.prod(rows)))), shape=columns + rows)


# ---- NumPy 2's names for stacks of matrices


@implements(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Value:
    x = operand(x)
    if len(shape_of(x)) < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    return diagonal_of(x, offset=offset)


@implements(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Value:
    d = diagonal(x, offset=offset)
    return sum(d if dtype is None else cast(d, np.dtype(dtype)), axis=(-1,))
