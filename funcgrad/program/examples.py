"""Values to record on, where only shapes and dtypes are known."""

from __future__ import annotations

from typing import Any

import numpy as np


def example(like: Any) -> Any:
    """A value of the shape and dtype of `like` that most operations accept.

    Floats are distinct, between ½ and 1; square matrices symmetric and positive definite, so that they can be solved and factorised.
    Whole numbers are 0, which is a position along every axis; in square matrices those of the identity.
    """
    shape, dtype = like.shape, like.dtype
    is_square = len(shape) > 1 and shape[-1] == shape[-2] > 1
    if dtype.kind not in "fc":
        return np.array(np.broadcast_to(np.eye(shape[-1]) if is_square else 0, shape), dtype)[()]
    x = np.random.default_rng(0).uniform(0.5, 1.0, shape)
    if is_square:
        x = (x + np.swapaxes(x, -1, -2)) / 2 + shape[-1] * np.eye(shape[-1])
    return np.asarray(x, dtype)[()]
