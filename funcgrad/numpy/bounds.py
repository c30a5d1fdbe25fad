"""What an index means where it points outside: an error, the nearest element ("clip"), or nothing ("drop", "fill")."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.indexing import split
from funcgrad.ops.elementwise import where
from funcgrad.ops.indexing import Index, fill, getitem
from funcgrad.ops.shaping import cast

MODES = ("raise", "clip", "drop", "fill")
"""As in JAX, "drop" and "fill" are one: what is outside is not written, and read as `fill_value`."""


def checked_mode(mode: str | None, verb: str) -> str:
    if mode is not None and mode not in MODES:
        raise errors.ArgumentError(verb, f"mode must be one of {', '.join(MODES)}, got {mode!r}.")
    return mode or "raise"


def inside(x: Value, index: Index) -> tuple[Any, Index, tuple[Any, ...]]:
    """A mask over what `x[index]` reads, False where the index points outside, and the index with such places clipped."""
    clipped: list[Any] = []
    marked: list[Any] = []  # the same, with what is outside one place behind the end
    ends: list[tuple[int, int]] = []
    padded = list(shape_of(x))
    axis = 0
    for i in _expanded(index, len(padded)):
        if i is None or isinstance(i, slice) or _is_mask(i):
            clipped.append(i)
            marked.append(i)
            axis += 0 if i is None else _axes(i)
            continue
        near, mark = _clip(i, padded[axis])
        clipped.append(near)
        marked.append(mark)
        ends.append((axis, padded[axis]))
        padded[axis] += 1
        axis += 1
    return _mask(padded, ends, tuple(marked)), *split(tuple(clipped))


def _clip(i: Any, n: int) -> tuple[Any, Any]:
    """Positions counted from the front: the nearest ones there are, and with what is outside at `n`."""
    i = np.asarray(i)
    if i.dtype.kind == "u":
        i = np.minimum(i, n)
    if i.dtype.kind in "iu":  # else NumPy raises, when it is used
        i = i.astype(np.intp)
    i = np.where(i < 0, i + n, i)[()]
    return np.clip(i, 0, n - 1), np.where((i >= 0) & (i < n), i, n)[()]


def _expanded(index: Index, ndim: int) -> tuple[Any, ...]:
    """The index without an ellipsis, and with its arrays in their places."""
    parts, arrays = split(index)
    if any(isinstance(a, Traced) for a in arrays):
        raise errors.ArgumentTypeError("x.at[…]", "with `mode=` the index cannot be traced. Use `np.clip` of the index, and `np.where`.")
    parts = fill(parts, arrays)
    whole = (slice(None),) * (ndim - sum([_axes(i) for i in parts if i is not None and i is not Ellipsis]))
    at = next((k for k, i in enumerate(parts) if i is Ellipsis), None)
    return parts + whole if at is None else (*parts[:at], *whole, *parts[at + 1 :])


def _is_mask(i: Any) -> bool:
    return isinstance(i, (np.ndarray, np.bool, bool)) and np.asarray(i).dtype.kind == "b"


def _axes(i: Any) -> int:
    """How many axes a part of an index takes: a mask, all of its own."""
    return int(np.ndim(i)) if _is_mask(i) else 1


def _mask(padded: list[int], ends: list[tuple[int, int]], index: tuple[Any, ...]) -> Any:
    """Read as `x` is read, an array that is False in the one place behind the end of every axis that an integer names."""
    out: Any = None
    for axis, n in ends:
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
