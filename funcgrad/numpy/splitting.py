"""Taking arrays apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from funcgrad.core import Value, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import dummy, negative_axis
from funcgrad.ops import shaping as ops


@implements(*[f for f in [getattr(np, "unstack", None)] if f])  # from NumPy 2.1 on
def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Value, ...]:
    x = array(x)
    n = len(shape_of(x))
    if n == 0:
        raise ValueError("Input array must be at least 1-d.")
    return ops.unstack(x, axis=negative_axis(axis, n))  # type: ignore[no-any-return]


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Value]:
    ary = array(ary)
    shape = shape_of(ary)
    n = shape[axis]
    if np.ndim(indices_or_sections):
        return _cut(ary, [int(i) for i in indices_or_sections], negative_axis(axis, len(shape)))
    sections = int(indices_or_sections)
    if sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    each, extra = divmod(n, sections)
    return _pieces(ary, [each + 1] * extra + [each] * (sections - extra), axis)


def _pieces(ary: Value, sizes: list[int], axis: int) -> list[Value]:
    return list(ops.split(ary, axis=negative_axis(axis, len(shape_of(ary))), sizes=tuple(sizes)))


def _cut(ary: Value, points: list[int], axis: int) -> list[Value]:
    """Slices between the points, which may be negative, beyond the end, or go back."""
    n = shape_of(ary)[axis]
    ranges = [range(n)[a:b] for a, b in zip([0, *points], [*points, n], strict=True)]
    if all(r.stop == s.start for r, s in itertools.pairwise(ranges)) and all(r.start <= r.stop for r in ranges):
        return _pieces(ary, [len(r) for r in ranges], axis)
    return [ops.window(ary, axis=axis, start=r.start, stop=r.start + len(r)) for r in ranges]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Value]:
    ary = array(ary)
    if not np.ndim(indices_or_sections) and shape_of(ary)[axis] % index(indices_or_sections):
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def _split_along(function: Any, at_least: int, axis_of: Callable[[int], int]) -> None:
    @implements(function)
    def apply(ary: Any, indices_or_sections: Any) -> list[Value]:
        ary = array(ary)
        n = len(shape_of(ary))
        if n < at_least:
            return function(dummy(shape_of(ary)), indices_or_sections)  # type: ignore[no-any-return]  # raises NumPy's sentence
        return split(ary, indices_or_sections, axis_of(n))


_split_along(np.hsplit, 1, lambda n: min(n - 1, 1))
_split_along(np.vsplit, 2, lambda n: 0)
_split_along(np.dsplit, 3, lambda n: 2)
