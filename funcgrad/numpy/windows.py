"""Windows that slide over an array: `np.lib.stride_tricks.sliding_window_view`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import dummy
from funcgrad.ops import shaping as ops


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False) -> Value:
    """Axis by axis: the k-th elements of all windows are one slice, and the slices are stacked at the end."""
    x = array(x)
    ndim = len(shape_of(x))
    whole = np.lib.stride_tricks.sliding_window_view(dummy(shape_of(x)), window_shape, axis)  # raises what NumPy raises
    sizes = whole.shape[ndim:]
    axes = range(ndim) if axis is None else axis if np.ndim(axis) else (axis,)
    if 0 in sizes:
        return np.zeros(whole.shape, dtype_of(x))
    for size, at in zip(sizes, axes, strict=True):
        x = _along(x, size, range(ndim)[at])
    return x


def _along(x: Value, size: int, axis: int) -> Value:
    shape = shape_of(x)
    count, back = shape[axis] - size + 1, axis - len(shape)
    return ops.stack(*[ops.window(x, axis=back, start=k, stop=k + count) for k in range(size)], axis=-1)
