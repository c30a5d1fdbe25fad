"""Products of two arrays, summed over the axes they share: one primitive, whose transposes are itself.

`subscripts` are those of `np.einsum`. **Law:** a letter stands once in an operand, and in at least two of `x`, `y` and the
output. So exchanging the output with an operand gives a product of the same kind.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, shape_of
from funcgrad.ops.kinds import bilinear

Axes = tuple[int, ...]
Product = Callable[[Any, Any], Any]


def _parts(subscripts: str) -> tuple[str, str, str]:
    operands, _, out = subscripts.partition("->")
    x, _, y = operands.partition(",")
    return x, y, out


@functools.lru_cache(1024)
def _transposes(subscripts: str) -> tuple[str, str]:
    x, y, out = _parts(subscripts)
    return f"{out},{y}->{x}", f"{x},{out}->{y}"


def _left(ct: Value, x: Spec, y: Value, *, subscripts: str) -> Value:
    return einsum(ct, y, subscripts=_transposes(subscripts)[0])


def _right(ct: Value, x: Value, y: Spec, *, subscripts: str) -> Value:
    return einsum(x, ct, subscripts=_transposes(subscripts)[1])


def _einsum(x: Any, y: Any, *, subscripts: str) -> Any:
    return _lowered(subscripts)(x, y)


einsum = bilinear("einsum", _einsum, _left, _right)
"""The sum over the letters that are not in the output of the products of elements with equal letters."""


# ---- how NumPy computes it


@functools.lru_cache(1024)
def _lowered(subscripts: str) -> Product:
    """A broadcast multiplication where nothing is summed, else one matrix product or a stack of them."""
    x, y, out = _parts(subscripts)
    if all(c in out for c in x + y):
        return _multiplied(x, y, out)
    batch = "".join(c for c in out if c in x and c in y)
    contract = "".join(c for c in x if c in y and c not in out)
    free_x, free_y = ("".join(c for c in mine if c not in other) for mine, other in ((x, y), (y, x)))
    if max(len(free_x), len(free_y)) < 2 and len(contract) == 1 and not batch:
        return _one_product(x != free_x + contract, y != contract + free_y, out != free_x + free_y)
    return _grouped(x, y, out, batch, contract, free_x, free_y)


def _order(letters: str, wanted: str) -> Axes | None:
    """The axes that bring `letters` into the order `wanted`; None where they are."""
    return None if letters == wanted else tuple(letters.index(c) for c in wanted)


def _multiplied(x: str, y: str, out: str) -> Product:
    order_x, order_y = (_order(letters, "".join(c for c in out if c in letters)) for letters in (x, y))
    at_x, at_y = (tuple(slice(None) if c in letters else None for c in out) for letters in (x, y))

    def product(x: Any, y: Any) -> Any:
        return np.multiply(np.transpose(x, order_x)[at_x] if order_x else x[at_x], np.transpose(y, order_y)[at_y] if order_y else y[at_y])

    return product


def _one_product(turn_x: bool, turn_y: bool, turn_out: bool) -> Product:
    def product(x: Any, y: Any) -> Any:
        out = np.dot(x.T if turn_x else x, y.T if turn_y else y)
        return out.T if turn_out else out

    return product


def _grouped(x: str, y: str, out: str, batch: str, contract: str, free_x: str, free_y: str) -> Product:
    """The axes of each group become one, in the order batch, free, contract; and back afterwards."""
    order_x, order_y = _order(x, batch + free_x + contract), _order(y, batch + contract + free_y)
    order_out = _order(batch + free_x + free_y, out)
    n, end_x, end_y = len(batch), len(batch + free_x), len(batch + contract)

    def product(x: Any, y: Any) -> Any:
        u = x if order_x is None else x.transpose(order_x)
        v = y if order_y is None else y.transpose(order_y)
        lead, mine, theirs = u.shape[:n], u.shape[n:end_x], v.shape[end_y:]
        u = _for_blas(u.reshape(lead + (math.prod(mine), math.prod(u.shape[end_x:]))))
        v = _for_blas(v.reshape(lead + (math.prod(v.shape[n:end_y]), math.prod(theirs))))
        made = np.matmul(u, v).reshape(lead + mine + theirs)
        return made[()] if order_out is None else made.transpose(order_out)

    return product


def _for_blas(x: Any) -> Any:
    """`np.matmul` leaves BLAS for loops of its own where neither of the last two axes is contiguous."""
    return x if x.itemsize in x.strides[-2:] else np.ascontiguousarray(x)


# ---- with axes instead of letters


def tensordot(x: Value, y: Value, *, contract: tuple[Axes, Axes]) -> Value:
    """The sum over pairs of axes (`contract`, counted from the end); the free axes of `x` come first."""
    return einsum(x, y, subscripts=_letters(len(shape_of(x)), len(shape_of(y)), *contract))


@functools.lru_cache(1024)
def _letters(n: int, m: int, mine: Axes, theirs: Axes) -> str:
    x, y = [chr(97 + i) for i in range(n)], [chr(97 + n + i) for i in range(m)]
    out = [c for i, c in enumerate(x) if i - n not in mine] + [c for i, c in enumerate(y) if i - m not in theirs]
    for i, j in zip(mine, theirs, strict=True):
        y[j] = x[i]
    return f"{''.join(x)},{''.join(y)}->{''.join(out)}"
