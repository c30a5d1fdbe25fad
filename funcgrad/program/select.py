"""`np.where` by bits: it takes the same time whatever the mask is, half of NumPy's where nobody can foresee the mask."""

from __future__ import annotations

from typing import Any

import numpy as np

INTS: dict[str, Any] = {"d": np.dtype(np.int64), "f": np.dtype(np.int32)}


def chosen(c: Any, x: Any, y: Any, out: Any) -> None:
    """Writes `x` where `c`, and else `y`: their bits, also of a nan and of -0.0. `out` is neither of them."""
    ints = INTS[out.dtype.char]
    x, y, bits = x.view(ints), y.view(ints), out.view(ints)
    mask = np.empty(out.shape, ints)
    mask[...] = c
    np.negative(mask, mask)  # all bits, or none
    np.bitwise_xor(x, y, bits)
    np.bitwise_and(bits, mask, bits)
    np.bitwise_xor(bits, y, bits)
