"""What stands in equations: the primitives that are there alone, and the params of all others.

**Law:** an equation's axes are counted from the front, and those of a primitive that is bound from the end (so that it may run in
many lanes). `bound` turns an equation back into what `bind` takes; it is the one way there.

| equation | means |
|---|---|
| `slice(x; starts, stops, steps)` | `x[start:stop:step, …]`, one of each per axis, not negative |
| `pad(x; starts, stops, steps, shape)` | zeros of this shape with `x` there |
| `update(x, v; starts, stops, steps)` | `x` with `v` there |
| `take(x, i; axis)` | `x[:, …, i]`: `i` may be negative, and raises NumPy's error where there is no such place |
| `scatter_add(i, x; axis, size)` | zeros, of `size` along the axis, with `x` added at `i`, one after the other |
| `put`, `add_at`, `max_at`, `min_at`, `shares_at (x, v, [out,] i)` | of vectors; so are `winners` and `occurrences (i; size)` |
| `dot(x, y; contract, batch, call)` | the sum over pairs of axes; first the batch axes, then those of `x`, those of `y` |
| `iota(; size)`, `fill(x; shape)` | 0, 1, …; one number everywhere |
| `reshape(x; shape, ones)` | `ones`: no axis but those of length 1 is moved, made or dropped |

Batch sizes may be 1 on one side. `call` is the NumPy function whose last bits are meant: dot, matmul, vecdot or einsum.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Value
from funcgrad.ops import contraction, indexing
from funcgrad.ops.indexing import Slot
from funcgrad.program.parts import FILL, GUARD, Equation, Shape, alone

Pairs = tuple[tuple[int, ...], tuple[int, ...]]
Bound = tuple[Primitive, Sequence[Value], dict[str, Any]]

# ---- slices


def box(starts: Shape, stops: Shape, steps: Shape) -> tuple[slice, ...]:
    """As a NumPy index."""
    return tuple(map(slice, starts, stops, steps))


def _pad(x: Any, *, starts: Shape, stops: Shape, steps: Shape, shape: Shape) -> Any:
    return indexing.scatter_add.impl(x, index=box(starts, stops, steps), shape=shape)


SLICE = alone(Primitive("slice", lambda x, *, starts, stops, steps: x[box(starts, stops, steps)]))
PAD = alone(Primitive("pad", _pad))
UPDATE = alone(Primitive("update", lambda x, v, *, starts, stops, steps: indexing.put.impl(x, v, index=box(starts, stops, steps))))

# ---- positions


def along(axis: int) -> tuple[Any, ...]:
    """The index that an array is of the axis, counted from the front."""
    return (slice(None),) * axis + (Slot(0),)


def scattered_shape(i: Shape, x: Shape, axis: int, size: int) -> Shape:
    return (*x[:axis], size, *x[axis + len(i) :])


def _scatter_add(i: Any, x: Any, *, axis: int, size: int) -> Any:
    return indexing.scatter_add.impl(x, i, index=along(axis), shape=scattered_shape(np.shape(i), np.shape(x), axis, size))


TAKE = alone(Primitive("take", lambda x, i, *, axis: x[(slice(None),) * axis + (i,)]))
SCATTER_ADD = alone(Primitive("scatter_add", _scatter_add))
IOTA = alone(Primitive("iota", lambda *, size: np.arange(size)))

FLAT = frozenset("put add_at max_at min_at shares_at winners occurrences".split())
"""Of vectors, with one vector of positions: the last operand."""

SEVERAL = frozenset("split unstack nonzero".split())
"""Whose results are a tuple, also where it is of one."""

# ---- products

CALLS: dict[str, Primitive] = {"dot": contraction.dot, "matmul": contraction.matmul, "vecdot": contraction.vecdot}


def _dot(x: Any, y: Any, *, contract: Pairs, batch: Pairs, call: str) -> Any:
    if call != "einsum":
        return CALLS[call].impl(x, y)
    return contraction.einsum.impl(x, y, subscripts=subscripts(np.ndim(x), np.ndim(y), contract, batch))


DOT = alone(Primitive("dot", _dot))


@functools.lru_cache(1024)
def subscripts(n: int, m: int, contract: Pairs, batch: Pairs) -> str:
    """A product as `np.einsum` would write it."""
    x, y = [chr(97 + i) for i in range(n)], [chr(97 + n + i) for i in range(m)]
    for i, j in [*zip(*contract, strict=True), *zip(*batch, strict=True)]:
        y[j] = x[i]
    out = [x[i] for i in batch[0]]
    out += [c for i, c in enumerate(x) if i not in contract[0] + batch[0]]
    out += [c for j, c in enumerate(y) if j not in contract[1] + batch[1]]
    return f"{''.join(x)},{''.join(y)}->{''.join(out)}"


OWN = frozenset((SLICE, PAD, UPDATE, TAKE, SCATTER_ADD, IOTA, DOT, GUARD, FILL))
"""What is never bound to traced values, or has no params that change."""

# ---- params, in equations and bound

_AXES = ("axis", "axes")


def _shifted(params: Mapping[str, Any], by: int, wrong: Callable[[int], bool]) -> dict[str, Any]:
    made = dict(params)
    for name in _AXES:
        axis = made.get(name)
        if type(axis) is tuple:
            made[name] = tuple([i + by if wrong(i) else i for i in axis])
        elif axis is not None and wrong(axis):
            made[name] = axis + by
    return made


def _rank(prim: Primitive, shapes: Sequence[Shape]) -> int:
    """What the axes of a primitive are axes of; `stack` counts those of its result."""
    return max(map(len, shapes), default=0) + (prim.name == "stack")


def of_equation(prim: Primitive, shapes: Sequence[Shape], params: Mapping[str, Any]) -> dict[str, Any]:
    """The params in an equation of a primitive that is bound with these, to operands of these shapes."""
    if not params:
        return {}
    made = _shifted(params, _rank(prim, shapes), lambda i: i < 0)
    if prim.name in FLAT:
        made.pop("index")
        if "shape" in made:
            (made["size"],) = made.pop("shape")
    if prim.name == "reshape":
        made["ones"] = _without_ones(shapes[0]) == _without_ones(made["shape"])
    return made


def _without_ones(shape: Shape) -> list[int]:
    return [n for n in shape if n != 1]


def bound(e: Equation, args: Sequence[Value]) -> Bound:
    """The primitive, operands and params that `bind` takes, for an equation whose operands have these values."""
    params = dict(e.params)
    rule = _BOUND.get(e.primitive)
    if rule is not None:
        return rule(e, args, params)
    shapes = [x.shape for x in e.inputs]
    params = _shifted(params, -_rank(e.primitive, shapes), lambda i: i >= 0)
    if e.primitive.name == "reshape" and not params["shape"] and shapes[0]:
        return indexing.getitem, args, {"index": (0,) * len(shapes[0])}  # which is a number, and no array of one
    if e.primitive.name in FLAT:
        params["index"] = (Slot(0),)
        if "size" in params:
            params["shape"] = (params.pop("size"),)
    params.pop("ones", None)
    return e.primitive, args, params


def _bound_dot(e: Equation, args: Sequence[Value], params: dict[str, Any]) -> Bound:
    if params["call"] != "einsum":
        return CALLS[params["call"]], args, {}
    x, y = e.inputs
    return contraction.einsum, args, {"subscripts": subscripts(len(x.shape), len(y.shape), params["contract"], params["batch"])}


def _bound_scatter_add(e: Equation, args: Sequence[Value], params: dict[str, Any]) -> Bound:
    return indexing.scatter_add, args[::-1], {"index": along(params["axis"]), "shape": e.outputs[0].shape}


_BOUND: dict[Primitive, Callable[[Equation, Sequence[Value], dict[str, Any]], Bound]] = {
    SLICE: lambda e, args, params: (indexing.getitem, args, {"index": box(**params)}),
    PAD: lambda e, args, params: (indexing.scatter_add, args, {"shape": params.pop("shape"), "index": box(**params)}),
    UPDATE: lambda e, args, params: (indexing.put, args, {"index": box(**params)}),
    TAKE: lambda e, args, params: (indexing.getitem, args, {"index": along(params["axis"])}),
    SCATTER_ADD: _bound_scatter_add,
    DOT: _bound_dot,
}
