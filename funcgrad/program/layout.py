"""What generated code asks of arrays: the order of their axes in memory, and whether a nan is in a tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BLOCK = 1 << 13
"""Elements of which OpenBLAS takes a product without its threads."""


def in_order(*arrays: Any) -> bool:
    """Whether what NumPy computes of these arrays, element by element, has its axes in C order.

    Results have the order of the operands, and sums run along it: it is part of what a value is.
    """
    return all(x.flags.c_contiguous or _descends(x) for x in arrays)


def _descends(x: Any) -> bool:
    steps = [abs(step) for step, n in zip(x.strides, x.shape, strict=True) if n != 1 and step]
    return steps == sorted(steps, reverse=True)


def has_nan_in(x: Any, otherwise: Callable[[Any], bool]) -> bool:
    """As `has_nan`, in half the time: a product with itself has a nan where there is one, and nowhere else."""
    if x.ndim != 1 or x.dtype.char not in "df":
        return otherwise(x)
    for k in range(0, len(x), BLOCK):
        part = x[k : k + BLOCK]
        s = part.dot(part)
        if s != s:
            return True
    return False
