"""Whether a nan is in an array, asked in the quickest way that is exact.

**Law:** it is what `np.isnan(x).any()` says, also of infinities and of what overflows, and NumPy warns of nothing.

| | |
|---|---|
| up to `FEW` elements | `argmax`, for which the first nan is the largest element |
| up to `ONE_THREAD` | `vdot` with itself (`dot` warns): a sum of squares, none of which is below 0, so there is no `inf - inf` in it |
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

FEW = 1 << 10
"""Elements; from here on a product is quicker than a comparison."""

ONE_THREAD = 10_000
"""Elements; from here on OpenBLAS takes a product with several threads, which may take long to wake."""


def asked(x: str, shape: tuple[int, ...], dtype: np.dtype[Any], constant: Callable[[Any], str]) -> str | None:
    """The question as an expression; None where there is no short one. `constant` gives names to objects."""
    size = math.prod(shape)
    if not shape:
        return f"{x} != {x}"
    if not size:
        return "False"
    if dtype.char not in "df" or size >= ONE_THREAD:
        return None
    if size <= FEW:
        return f"(s := {x}.item({x}.argmax())) != s"
    return f"(s := {constant(np.vdot)}({x}, {x})) != s"
