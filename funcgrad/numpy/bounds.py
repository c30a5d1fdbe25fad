"""What an index means where it points outside: an error, the nearest element ("clip"), or nothing ("drop", "fill")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.indexing import Index, split
from funcgrad.ops.elementwise import where
from funcgrad.ops.indexing import Slot, fill, getitem
from funcgrad.ops.shaping import cast

MODES = ("raise", "clip", "drop", "fill")
"""As in JAX, "drop" and "fill" are one: what is outside is not written, and read as `fill_value`."""


def checked_mode(mode: str | None, verb: str) -> str:
    if mode is not None and mode not in MODES:
        raise errors.ArgumentError(verb, f"mode must be one of {', '.join(MODES)}, got {mode!r}.")
    return mode or "raise"


def inside(x: Value, index: Index) -> tuple[Any, Index, tuple[Any, ...]]:
    """A mask over what `x[index]` reads, False where the index points outside, and the index with such places clipped."""
    parts, arrays = split(index)
    if any(isinstance(a, Traced) for a in arrays):
        raise errors.ArgumentTypeError("x.at[…]", "with `mode=` the index cannot be traced. Use `np.clip` of the index, and `np.where`.")
    parts = _expanded(parts, arrays, len(shape_of(x)))
    axis, clipped, marked, marks = 0, [], [], []
    padded = list(shape_of(x))
    for part in parts:
        i = arrays[part.k] if type(part) is Slot else part
        taken = i.ndim if isinstance(i, np.ndarray) and i.dtype.kind == "b" else 0 if i is None else 1
        if taken == 1 and not isinstance(i, slice) and np.asarray(i).dtype.kind in "iu":
            n = padded[axis]
            low = np.where(np.less(i, 0), i + np.asarray(n), i)[()] if np.asarray(i).dtype.kind == "i" else np.asarray(i).astype(np.intp)[()]
            marks.append((axis, n))
            marked.append(np.where((low >= 0) & (low < n), low, n)[()])
            i = np.clip(low, 0, n - 1)[()]
            padded[axis] = n + 1
        else:
            marked.append(i)
        clipped.append(i)
        axis += taken
    return _mask(padded, marks, tuple(marked)), *split(tuple(clipped))


def _expanded(parts: Index, arrays: Sequence[Any], ndim: int) -> tuple[Any, ...]:
    """The index without an ellipsis."""
    taken = sum([_axes(arrays[p.k]) if type(p) is Slot else p is not None and p is not Ellipsis for p in parts])
    whole = (slice(None),) * (ndim - taken)
    at = next((k for k, p in enumerate(parts) if p is Ellipsis), None)
    return parts + whole if at is None else (*parts[:at], *whole, *parts[at + 1 :])


def _axes(i: Any) -> int:
    """How many axes one array of an index takes: a mask, all of its own; positions, one."""
    return int(np.ndim(i)) if np.asarray(i).dtype.kind == "b" else 1


def _mask(padded: list[int], marks: list[tuple[int, int]], index: tuple[Any, ...]) -> Any:
    """Read as `x` is read, an array that is False in the one place behind the end of every axis that an integer names."""
    out: Any = None
    for axis, n in marks:
        line = (np.arange(n + 1) < n).reshape((-1,) + (1,) * (len(padded) - axis - 1))
        read = np.broadcast_to(line, padded)[index]
        out = read if out is None else out & read
    return np.broadcast_to(True, padded)[index] if out is None else out


def filled(x: Value, index: Index, fill_value: Any) -> Value:
    """`x[index]`, and `fill_value` where that is outside: by default nan, the least int, the largest unsigned one, or True."""
    mask, parts, arrays = inside(x, index)
    dtype = dtype_of(x)
    if fill_value is None:
        kind = dtype.kind
        fill_value = True if kind == "b" else np.iinfo(dtype).min if kind == "i" else np.iinfo(dtype).max if kind == "u" else np.nan
    if 0 in shape_of(x) and np.size(mask) and not np.any(mask):
        return np.full(np.shape(mask), fill_value, dtype)[()]
    read = getitem(x, *arrays, index=parts)
    return read if np.all(mask) else where(mask, read, cast(fill_value, dtype))


def clipped(x: Value, index: Index) -> Index:
    """The index, with every place that is outside moved to the nearest one."""
    _, parts, arrays = inside(x, index)
    return fill(parts, arrays)
