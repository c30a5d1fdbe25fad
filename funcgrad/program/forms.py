"""What the params and operands of an equation say about its result; raises ValueError where they do not go together."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.kinds import PRIMITIVES
from funcgrad.program.program import Equation, Shape
from funcgrad.program.vocabulary import FLAT, OWN, scattered_shape

OF_ONE_DTYPE = frozenset("concatenate stack put update dot add_at max_at min_at share fshare quotient".split())
"""Whose floats are all of the dtype of the result (but for positions)."""


KEEPS_DTYPE = frozenset(
    "sum mean prod max min nanmax nanmin logsumexp cumsum cumprod cummax cummin reshape transpose broadcast_to slice pad take scatter_add "
    "reverse roll split unstack diagonal embed_diagonal gather gather_add softmax log_softmax log_total fill".split()
)
"""Whose result has the dtype of what is moved or reduced."""


def operands_of_one_dtype(e: Equation) -> list[Any]:
    return [x.dtype for x in (e.inputs[:-1] if e.primitive.name in FLAT else e.inputs)]


@functools.lru_cache(4096)
def loop_of(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout))[: ufunc.nin + 1])


def rank(e: Equation) -> int:
    """How many axes the params count; these two count those of the result."""
    if e.primitive.name in ("stack", "scatter_add"):
        return len(e.outputs[0].shape)
    return max([len(x.shape) for x in e.inputs], default=0)


# ---- which primitives

WRITTEN_IN_OTHERS = frozenset("getitem scatter_add sum_to window embed pile unpile dot matmul vecdot einsum wins fwins flatnonzero".split())
"""The primitives of these names that are bound. (`dot` and `scatter_add` of the vocabulary are others.)"""


def stands_in_programs(e: Equation) -> str:
    prim = e.primitive
    is_bound = prim not in OWN and PRIMITIVES.get(prim.name) is prim
    return f"{prim.name} is written in other primitives" if is_bound and prim.name in WRITTEN_IN_OTHERS else ""


# ---- shapes


def broadcast(e: Equation) -> Shape:
    return np.broadcast_shapes(*[x.shape for x in e.inputs])


def _reduced(e: Equation) -> Shape:
    gone = e["axis"]
    if type(gone) is not tuple or len({*gone}) != len(gone):
        raise ValueError("the axes are a tuple that names each once")
    return tuple([n for i, n in enumerate(e.inputs[0].shape) if i not in gone])


def _reduced_by_one(e: Equation) -> Shape:
    shape = e.inputs[0].shape
    return shape[: e["axis"]] + shape[e["axis"] + 1 :]


def _same(e: Equation) -> Shape:
    return e.inputs[0].shape


def _reshaped(e: Equation) -> Shape:
    old, new = e.inputs[0].shape, e["shape"]
    if math.prod(old) != math.prod(new):
        raise ValueError(f"{math.prod(old)} elements, and {math.prod(new)}")
    if e["ones"] != ([n for n in old if n != 1] == [n for n in new if n != 1]):
        raise ValueError("`ones` says whether only axes of length 1 move")
    return e["shape"]  # type: ignore[no-any-return]


def _transposed(e: Equation) -> Shape:
    if sorted(e["axes"]) != list(range(len(e.inputs[0].shape))):
        raise ValueError("the axes are no permutation")
    return tuple([e.inputs[0].shape[i] for i in e["axes"]])


def _broadcast_to(e: Equation) -> Shape:
    if np.broadcast_shapes(e.inputs[0].shape, e["shape"]) != e["shape"]:
        raise ValueError("what broadcasts does not become smaller")
    return e["shape"]  # type: ignore[no-any-return]


def _sliced(e: Equation, shape: Shape) -> Shape:
    """The shape of a box in an array of this shape."""
    boxes = list(zip(shape, e["starts"], e["stops"], e["steps"], strict=True))
    for n, start, stop, step in boxes:
        if not (0 <= start <= stop <= n and step > 0):
            raise ValueError(f"{start}:{stop}:{step} of {n}")
    return tuple([len(range(start, stop, step)) for _, start, stop, step in boxes])


def _padded(e: Equation) -> Shape:
    if _sliced(e, e["shape"]) != e.inputs[0].shape:
        raise ValueError("the operand does not fill its place")
    return e["shape"]  # type: ignore[no-any-return]


def _updated(e: Equation) -> Shape:
    if _sliced(e, e.inputs[0].shape) != e.inputs[1].shape:
        raise ValueError("the second operand does not fill its place")
    return e.inputs[0].shape


def _taken(e: Equation) -> Shape:
    x, i = e.inputs
    _positions(i)
    return x.shape[: e["axis"]] + i.shape + x.shape[e["axis"] + 1 :]


def _scattered(e: Equation) -> Shape:
    i, x = e.inputs
    _positions(i)
    if x.shape[e["axis"] : e["axis"] + len(i.shape)] != i.shape:
        raise ValueError("the operand has not the axes of the positions")
    return scattered_shape(i.shape, x.shape, e["axis"], e["size"])


def _positions(i: Any) -> None:
    if i.dtype.kind not in "iu":
        raise ValueError("positions are whole numbers")


def _flat(e: Equation) -> Shape:
    x, *_, i = e.inputs
    _positions(i)
    if len(x.shape) != 1 or len(i.shape) != 1:
        raise ValueError("one vector, at one vector of positions")
    return x.shape


def _dot(e: Equation) -> Shape:
    x, y = (v.shape for v in e.inputs)
    (of_x, of_y), (batch_x, batch_y) = e["contract"], e["batch"]
    for i, j in zip(of_x, of_y, strict=True):
        if x[i] != y[j]:
            raise ValueError(f"axes of {x[i]} and {y[j]}")
    lead = np.broadcast_shapes(tuple([x[i] for i in batch_x]), tuple([y[j] for j in batch_y]))
    free_x = [n for i, n in enumerate(x) if i not in of_x + batch_x]
    return (*lead, *free_x, *[n for j, n in enumerate(y) if j not in of_y + batch_y])


def _concatenated(e: Equation) -> Shape:
    axis, shapes = e["axis"], [x.shape for x in e.inputs]
    if len({s[:axis] + s[axis + 1 :] for s in shapes}) != 1:
        raise ValueError("shapes differ beside the axis")
    return shapes[0][:axis] + (sum([s[axis] for s in shapes]),) + shapes[0][axis + 1 :]


def _stacked(e: Equation) -> Shape:
    (shape,) = {x.shape for x in e.inputs}
    return shape[: e["axis"]] + (len(e.inputs),) + shape[e["axis"] :]


def _shapes() -> dict[str, Callable[[Equation], Shape]]:
    named: dict[Callable[[Equation], Shape], str] = {
        _reduced: "sum mean var prod max min nanmax nanmin logsumexp any all count_nonzero norm log_total",
        _reduced_by_one: "argmax argmin nanargmax nanargmin",
        _same: "astype reverse roll cumsum cumprod cummax cummin softmax log_softmax argsort round sign phase wrapped",
        broadcast: "share fshare quotient where recurrence",
        _flat: "put add_at max_at min_at shares_at",
        _reshaped: "reshape",
        _transposed: "transpose",
        _broadcast_to: "broadcast_to",
        lambda e: _sliced(e, e.inputs[0].shape): "slice",
        _padded: "pad",
        _updated: "update",
        _taken: "take",
        _scattered: "scatter_add",
        _dot: "dot",
        _concatenated: "concatenate",
        _stacked: "stack",
        lambda e: (e["size"],): "iota",
        lambda e: e["shape"]: "fill",
        lambda e: (): "has_form",
    }
    return {name: rule for rule, names in named.items() for name in names.split()}


SHAPES = _shapes()
"""The shape of the (first) result, by the primitive's name."""
