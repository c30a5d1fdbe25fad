"""Systems whose matrix is triangular, by substitution: n² operations a right side, where elimination takes n³ as well.

**Law:** only derivatives are solved so, as their last bits are ours; a value is what `np.linalg.solve` gives. Of a block of the matrix
[[A, 0], [B, C]] the right sides are [u, v], and the unknowns [x, y]: A x = u, then C y = v - B x. So most of the work is in products
(N. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 8.4, says that blocks do not change the backward error).
"""

from __future__ import annotations

from typing import Any

import numpy as np

LEAF = 32
"""Rows of a block which is not divided: LAPACK takes fewer as fast as products would be."""


def solved(a: Any, b: Any) -> Any:
    """A⁻¹ b, where it is found first whether A is triangular. `b` has one axis only where `a` is one matrix."""
    if a.shape[-1] > LEAF:
        for low, turned in ((True, a), (False, a.swapaxes(-1, -2))):
            if is_lower(turned):
                return substituted(a, b, low) if b.ndim > 1 else substituted(a, b[:, None], low)[:, 0]
    return np.linalg.solve(a, b)


def is_lower(a: Any) -> bool:
    """Whether all is 0 above the diagonal. What is full is seen in the first block, a quarter of it."""
    n = a.shape[-1]
    if n <= 4 * LEAF:
        return not np.triu(a, 1).any()
    m = n // 2
    return not a[..., :m, m:].any() and is_lower(a[..., :m, :m]) and is_lower(a[..., m:, m:])


def substituted(a: Any, b: Any, low: bool) -> Any:
    """A⁻¹ b of a lower or upper triangle."""
    n = a.shape[-1]
    if n <= LEAF:
        return np.linalg.solve(a, b)
    m = n // 2
    first, then = (slice(m), slice(m, n)) if low else (slice(m, n), slice(m))
    x = substituted(a[..., first, first], b[..., first, :], low)
    y = substituted(a[..., then, then], b[..., then, :] - a[..., then, first] @ x, low)
    return np.concatenate((x, y) if low else (y, x), axis=-2)
