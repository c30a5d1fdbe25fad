"""Any NumPy index as steps: a slice, at most one `take`, and what moves whole axes. Each step knows its transpose.

The arrays of an index become one array of positions along axes that are merged, by integer equations. A mask becomes the positions
where it is true, behind a guard that they are as many as when it was recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops import indexing, reductions
from funcgrad.ops.canonical import wrapped
from funcgrad.ops.cumulative import reverse
from funcgrad.ops.indexing import Slot
from funcgrad.ops.shaping import reshape, transpose
from funcgrad.program.program import Shape
from funcgrad.program.vocabulary import PAD, SCATTER_ADD, SLICE, TAKE


class Step:
    """A way to read, and its transpose."""

    __slots__ = ("back", "read")

    def __init__(self, read: Callable[[Value], Value], back: Callable[[Value], Value]) -> None:
        self.read, self.back = read, back


class Box:
    """A slice of every axis, with the lengths of what it gives."""

    __slots__ = ("sizes", "starts", "steps", "stops")

    def __init__(self, starts: Shape, stops: Shape, steps: Shape, sizes: Shape) -> None:
        self.starts, self.stops, self.steps, self.sizes = starts, stops, steps, sizes

    @property
    def params(self) -> dict[str, Shape]:
        return {"starts": self.starts, "stops": self.stops, "steps": self.steps}

    def without(self, axes: Sequence[int]) -> Box:
        return Box(*[tuple([n for a, n in enumerate(ns) if a not in axes]) for ns in (self.starts, self.stops, self.steps, self.sizes)])


class Plan:
    """`box` of an array of `shape`, then `steps`."""

    __slots__ = ("box", "shape", "steps")

    def __init__(self, shape: Shape, box: Box, steps: tuple[Step, ...]) -> None:
        self.shape, self.box, self.steps = shape, box, steps

    @property
    def is_whole(self) -> bool:
        return self.box.sizes == self.shape

    def read(self, x: Value) -> Value:
        x = x if self.is_whole else SLICE(x, **self.box.params)
        for step in self.steps:
            x = step.read(x)
        return x

    def inside(self, v: Value) -> Value:
        """What was read, as it stands in the box."""
        for step in reversed(self.steps):
            v = step.back(v)
        return v

    def back(self, ct: Value) -> Value:
        ct = self.inside(ct)
        return ct if self.is_whole else PAD(ct, **self.box.params, shape=self.shape)


# ---- an index, one part per axis


class Parts:
    """`axes` has a slice, an int or an array of ints per axis; `order` the places of all parts, None for a new axis.

    An Ellipsis that stands for no axis stands between others, as a slice does (`between`: before which part of the order).
    `made` are axes of length 1 that a mask of one bool is read along: the array has none for it.
    """

    __slots__ = ("axes", "between", "made", "order", "shape")

    def __init__(
        self, shape: Shape, axes: tuple[Any, ...], order: tuple[int | None, ...], made: tuple[int, ...], between: int | None
    ) -> None:
        self.shape, self.axes, self.order, self.made, self.between = shape, axes, order, made, between

    @property
    def fancy(self) -> list[int]:
        """The axes that have an array, or an int, which NumPy takes for one beside arrays."""
        return [a for a, part in enumerate(self.axes) if type(part) is not slice]

    @property
    def arrays(self) -> list[int]:
        return [a for a in self.fancy if type(self.axes[a]) is not int]

    @property
    def stand_together(self) -> bool:
        places = [k for k, a in enumerate(self.order) if a is not None and type(self.axes[a]) is not slice]
        if self.between is not None and places[0] < self.between <= places[-1]:
            return False
        return places[-1] - places[0] + 1 == len(places)


def parts_of(shape: Shape, index: Sequence[Any], arrays: Sequence[Value]) -> Parts:
    rest = iter(shape)
    sizes: list[int] = []
    axes: list[Any] = []
    order: list[int | None] = []
    made: list[int] = []
    between = None
    for part in _without_ellipsis(len(shape), index, arrays):
        if part is Ellipsis:
            between = len(order)
            continue
        if part is None:
            order.append(None)
            continue
        if type(part) is Slot and not _width(part, arrays):
            made.append(len(axes))
        for p in _positions(arrays[part.k]) if type(part) is Slot else [part]:
            order.append(len(axes))
            sizes.append(1 if len(axes) in made else next(rest))
            axes.append(p)
    return Parts(tuple(sizes), tuple(axes), tuple(order), tuple(made), between)


def _without_ellipsis(rank: int, index: Sequence[Any], arrays: Sequence[Value]) -> list[Any]:
    missing: list[Any] = [slice(None)] * (rank - sum([_width(p, arrays) for p in index]))
    at = next((k for k, p in enumerate(index) if p is Ellipsis), None)
    return [*index, *missing] if at is None else [*index[:at], *(missing or [Ellipsis]), *index[at + 1 :]]


def _width(part: Any, arrays: Sequence[Value]) -> int:
    """How many axes a part of an index takes."""
    if part is None or part is Ellipsis:
        return 0
    if type(part) is Slot and dtype_of(arrays[part.k]).kind == "b":
        return len(shape_of(arrays[part.k]))
    return 1


def _positions(i: Value) -> list[Value]:
    """An array of ints is itself; a mask is one array per axis."""
    if dtype_of(i).kind != "b":
        return [i]
    return list(nonzero(i if shape_of(i) else reshape(i, shape=(1,))))


def nonzero(mask: Value) -> tuple[Value, ...]:
    """The places where a mask is true, behind a guard of how many they are."""
    int(reductions.count_nonzero(mask, axis=tuple(range(-len(shape_of(mask)), 0))))
    return tuple(mask._main.write(indexing.nonzero, [mask], {}))


# ---- the plan


def plan(shape: Shape, index: Any, arrays: Sequence[Value]) -> Plan:
    parts = parts_of(shape, index, arrays)
    box, turned = _box(parts.shape, parts)
    steps = [_reversed(axis - len(parts.shape)) for axis in turned]
    if parts.arrays:
        steps += _taken(parts, box.sizes)
    else:
        steps += _reshaped(box.sizes, tuple([1 if a is None else box.sizes[a] for a in parts.order if a is None or a not in parts.fancy]))
    own = box.without(parts.made)
    return Plan(shape, own, (*_reshaped(own.sizes, box.sizes), *steps))


def _box(shape: Shape, parts: Parts) -> tuple[Box, list[int]]:
    """The slices, forwards; and the axes that they go through backwards."""
    starts, stops, steps, sizes, turned = [], [], [], [], []
    for axis, (n, part) in enumerate(zip(shape, parts.axes, strict=True)):
        start, step, size = _forwards(n, part)
        if step < 0:
            turned.append(axis)
            start, step = start + (size - 1) * step, -step
        starts.append(start)
        stops.append(start + (size - 1) * step + 1 if size else start)
        steps.append(step)
        sizes.append(size)
    return Box(tuple(starts), tuple(stops), tuple(steps), tuple(sizes)), turned


def _forwards(n: int, part: Any) -> tuple[int, int, int]:
    """Start, step and length of what a part reads along an axis of length `n`; an array reads it later."""
    if type(part) is int:
        return part % n, 1, 1
    if type(part) is not slice:
        return 0, 1, n
    start, stop, step = part.indices(n)
    size = len(range(start, stop, step))
    return (start, step, size) if size > 1 else (start if size else 0, 1, size)


def _taken(parts: Parts, sizes: Shape) -> list[Step]:
    """One `take` along the merged axes of the arrays, whose axes then go where NumPy has them."""
    ints = [a for a in parts.fancy if a not in parts.arrays]
    kept = [a for a in range(len(sizes)) if a not in ints]
    steps = _reshaped(sizes, tuple([sizes[a] for a in kept]))
    first = parts.arrays[0]
    at = len([a for a in kept if a < first]) if parts.stand_together else 0
    order = [a for a in kept if a not in parts.arrays]
    order[at:at] = parts.arrays
    steps += _transposed([kept.index(a) for a in order])
    here = tuple([sizes[a] for a in order])
    lengths = here[at : at + len(parts.arrays)]
    steps += _reshaped(here, here[:at] + (math.prod(lengths),) + here[at + len(lengths) :])
    i = merged([parts.axes[a] for a in parts.arrays], lengths)
    steps.append(_take(i, at, math.prod(lengths)))
    made = here[:at] + shape_of(i) + here[at + len(lengths) :]
    return steps + _reshaped(made, _with_new_axes(parts, sizes, shape_of(i)))


def _with_new_axes(parts: Parts, sizes: Shape, block: Shape) -> Shape:
    """The shape of the result: the axes of the arrays first, or where the first of them, or of the ints beside them, is."""
    made: list[int] = [] if parts.stand_together else list(block)
    done = not parts.stand_together
    for a in parts.order:
        if a is None:
            made.append(1)
        elif type(parts.axes[a]) is slice:
            made.append(sizes[a])
        elif not done:
            made += block
            done = True
    return tuple(made)


def merged(arrays: Sequence[Value], lengths: Shape) -> Value:
    """Positions along axes of these lengths, as positions along their product."""
    if len(arrays) == 1:
        return arrays[0]
    out = wrapped(arrays[0], size=lengths[0])
    for i, n in zip(arrays[1:], lengths[1:], strict=True):
        out = out * n + wrapped(i, size=n)
    return out


# ---- steps


def _reshaped(old: Shape, new: Shape) -> list[Step]:
    return [] if old == new else [Step(lambda x: reshape(x, shape=new), lambda ct: reshape(ct, shape=old))]


def _transposed(order: list[int]) -> list[Step]:
    n = len(order)
    if order == list(range(n)):
        return []
    there, back = tuple([i - n for i in order]), tuple([order.index(i) - n for i in range(n)])
    return [Step(lambda x: transpose(x, axes=there), lambda ct: transpose(ct, axes=back))]


def _reversed(axis: int) -> Step:
    return Step(lambda x: reverse(x, axis=axis), lambda ct: reverse(ct, axis=axis))


def _take(i: Value, axis: int, size: int) -> Step:
    return Step(lambda x: TAKE(x, i, axis=axis), lambda ct: SCATTER_ADD(i, ct, axis=axis, size=size))


def is_one_vector(shape: Shape, index: Any, arrays: Sequence[Value]) -> bool:
    """Whether it is a vector read at a vector of positions: what an equation may be."""
    return index == (Slot(0),) and len(shape) == 1 and len(shape_of(arrays[0])) == 1 and dtype_of(arrays[0]).kind != "b"


def values_of(args: Sequence[Value]) -> list[Any]:
    """The values that were recorded on."""
    return [getattr(x, "_value", x) for x in args]


def check(prim: Any, args: Sequence[Value], params: dict[str, Any]) -> None:
    """Raises NumPy's own error, of the index as it was written."""
    with np.errstate(all="ignore"):
        prim.impl(*values_of(args), **params)
