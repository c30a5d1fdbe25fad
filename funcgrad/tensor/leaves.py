"""What a leaf of the user's tree is, and what messages call it."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.tensor.tensor import Tensor

NUMBERS: dict[type, str] = {float: "f", int: "i", bool: "b", complex: "c"}


def kind_of(leaf: Any) -> str:
    """The kind letter of a number's or array's dtype; "" for what is none of ours."""
    if isinstance(leaf, (np.generic, Tensor)) or type(leaf) is np.ndarray:
        return str(leaf.dtype.kind)
    return NUMBERS.get(type(leaf), "")


def describe(x: Any) -> str:
    """A value as messages name it: `float64[3, 2]`, or its type."""
    if kind_of(x) and not isinstance(x, (float, complex, int)):
        return f"{x.dtype}{list(x.shape) if x.shape else ''}"
    name = type(x).__name__
    return "None" if x is None else name if kind_of(x) else f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"
