"""The order of axes in memory. NumPy's results have that of their operands, and its sums run along it, so it is part of what a value is."""

from __future__ import annotations

from typing import Any


def in_order(*arrays: Any) -> bool:
    """Whether what NumPy computes of these arrays, element by element, has its axes in C order."""
    return all(x.flags.c_contiguous or _descends(x) for x in arrays)


def _descends(x: Any) -> bool:
    steps = [abs(step) for step, n in zip(x.strides, x.shape, strict=True) if n != 1 and step]
    return steps == sorted(steps, reverse=True)
