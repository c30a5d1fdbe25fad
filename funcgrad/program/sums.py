"""Sums of arrays that are padded with zeros, in one array: bit for bit the sum of whole arrays.

What is added to -0.0 keeps its bits, and -0.0 added to 0.0 is 0.0. So an element that every term covers starts as -0.0, and any other as
0.0: there a zero of some padding is among the terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.program.program import DType, Shape

Box = tuple[slice, ...]


def nothing(dtype: DType) -> Any:
    """The scalar that changes no bit of what is added to it."""
    return dtype.type(complex(-0.0, -0.0)) if dtype.kind == "c" else dtype.type(-0.0)


def common(boxes: Sequence[Box], shape: Shape) -> Box | None:
    """The elements that all boxes have; None where there are none."""
    found = []
    for axis, n in enumerate(shape):
        parts = {box[axis].indices(n) for box in boxes}
        if all(step == 1 for _, _, step in parts):
            places = range(max(start for start, _, _ in parts), min(stop for _, stop, _ in parts))
        else:
            places = _common([range(*part) for part in parts], n)
        if not len(places):
            return None
        found.append(slice(places.start, places.stop, places.step))
    return tuple(found)


def _common(ranges: Sequence[range], n: int) -> range:
    """What several steps meet is again met by steps."""
    met = np.ones(n, bool)
    for r in ranges:
        mine = np.zeros(n, bool)
        mine[r.start : r.stop : r.step] = True
        met &= mine
    at = np.flatnonzero(met)
    if len(at) < 2:
        return range(int(at[0]), int(at[0]) + 1) if len(at) else range(0)
    return range(int(at[0]), int(at[-1]) + 1, int(at[1] - at[0]))


def added(out: Any, begin: int, axis: int, base: Any, inner: Box | None, *terms: tuple[Any, int, Box | None]) -> None:
    """Writes a sum of padded terms in a tile, which begins at `begin` along `axis`.

    Each term has the place where it begins, and its box along the other axes: None where it has them whole. `inner` is what all
    boxes have in common there, None where they have nothing.
    """
    n = out.shape[axis]
    if all(at == begin and x.shape[axis] == n and box is None for x, at, box in terms):
        first, *rest = [x for x, _, _ in terms]
        if base is not None:
            np.add(base, first, out)
        elif rest:
            np.add(first, rest.pop(0), out)
        else:
            out[...] = first
        for x in rest:
            np.add(out, x, out)
        return
    places = [slice(at - begin, at - begin + x.shape[axis]) for x, at, _ in terms]
    shared = slice(max(p.start for p in places), max(0, min(p.stop for p in places)))
    if base is None:
        out[...] = 0
    else:
        np.add(base, out.dtype.type(0), out)
    if inner is not None:
        all_have = _along(inner, axis, shared)
        out[all_have] = nothing(out.dtype) if base is None else base[all_have]
    for (x, _, box), place in zip(terms, places, strict=True):
        part = out[_along(box or (slice(None),) * out.ndim, axis, place)]
        np.add(part, x, part)


def _along(box: Box, axis: int, part: slice) -> Box:
    return (*box[:axis], part, *box[axis + 1 :])
