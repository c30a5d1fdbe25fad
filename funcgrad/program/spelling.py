"""How equations are spelled: what is written in a shorter or quicker way than as a call of their `impl`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.ops.summing import is_beside_short, summed
from funcgrad.program.nans import asked
from funcgrad.program.program import Equation, Shape
from funcgrad.program.vocabulary import box

if TYPE_CHECKING:
    from funcgrad.program.codegen import Source

WRITERS: dict[str, Callable[[Source, Equation, list[str]], str | None]] = {}
"""By name: the text of an equation, or None where its `impl` is called."""


def _astype(to: Source, e: Equation, args: list[str]) -> str:
    x = e.inputs[0]
    dtype = e["dtype"]
    return f"{args[0]}.astype({to.constant(dtype)})" if x.shape else f"{to.constant(dtype.type)}({args[0]})"


def index_text(e: Equation, dropped: Shape = ()) -> str:
    """The index of a `slice` or `pad`, one position along the axes that are `dropped`."""
    whole = e.inputs[0].shape if e.primitive.name == "slice" else e["shape"]
    return box_text(box(e["starts"], e["stops"], e["steps"]), whole, dropped)


def box_text(at: Sequence[slice], whole: Shape, dropped: Shape = ()) -> str:
    parts = []
    for axis, (part, n) in enumerate(zip(at, whole, strict=True)):
        start, stop, step = part.start, part.stop, part.step
        if axis in dropped:
            parts.append(str(start))
        elif (start, stop, step) == (0, n, 1):
            parts.append(":")
        else:
            parts.append(f"{start or ''}:{stop if stop != n else ''}" + (f":{step}" if step != 1 else ""))
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts)


def _slice(to: Source, e: Equation, args: list[str]) -> str:
    return f"{args[0]}[{index_text(e)}]"


def _take(to: Source, e: Equation, args: list[str]) -> str:
    return f"{args[0]}[{':, ' * e['axis']}{args[1]}]"


REDUCTIONS = {
    "sum": np.add.reduce,
    "prod": np.multiply.reduce,
    "max": np.maximum.reduce,
    "min": np.minimum.reduce,
    "any": np.logical_or.reduce,
    "all": np.logical_and.reduce,
}


def _reduction(to: Source, e: Equation, args: list[str]) -> str:
    x, axis = e.inputs[0], e["axis"]
    behind = (axis[0] - len(x.shape),) if type(axis) is tuple and len(axis) == 1 else axis
    if e.primitive.name == "sum" and is_beside_short(x.shape, behind):
        return f"{to.constant(summed)}({args[0]}, {behind})"
    beside = "" if axis == (0,) else f", {axis[0] if type(axis) is tuple and len(axis) == 1 else axis}"
    return f"{to.constant(REDUCTIONS[e.primitive.name])}({args[0]}{beside})"


def _mean(to: Source, e: Equation, args: list[str]) -> str | None:
    x = e.inputs[0]
    if len(x.shape) != 1 or not x.shape[0] or e["axis"] != (0,) or x.dtype.char not in "dD":
        return None
    return f"{to.constant(REDUCTIONS['sum'])}({args[0]}) / {x.shape[0]}"


def _reshape(to: Source, e: Equation, args: list[str]) -> str | None:
    if not e.inputs[0].shape:
        return f"{to.constant(_pack(1, e.outputs[0].dtype))}({args[0]})" if e["shape"] == (1,) else None
    return f"{args[0]}.reshape({e['shape']})" if e["shape"] else f"{args[0]}[{', '.join(['0'] * len(e.inputs[0].shape))}]"


def _pad(to: Source, e: Equation, args: list[str]) -> str:
    return to.call(padding(e["shape"], e.outputs[0].dtype, index_text(e)), args)


@functools.lru_cache(256)
def padding(shape: Shape, dtype: np.dtype[Any], index: str, order: str = "C") -> Callable[..., Any]:
    """A function that puts an array among zeros."""
    space = {"zeros": np.zeros, "dtype": dtype}
    exec(f"def padded(x):\n    out = zeros({shape}, dtype, {order!r})\n    out[{index}] = x\n    return out", space)
    made: Callable[..., Any] = space["padded"]  # type: ignore[assignment]
    return made


def _split(to: Source, e: Equation, args: list[str]) -> str:
    start, parts = 0, []
    for size in e["sizes"]:
        parts.append(f"{args[0]}[{':, ' * e['axis']}{start}:{start + size}], ")
        start += size
    return f"({''.join(parts)})"


def _unstack(to: Source, e: Equation, args: list[str]) -> str:
    parts = [f"{args[0]}[{':, ' * e['axis']}{k}], " for k in range(len(e.outputs))]
    return f"({''.join(parts)})"


def _concatenate(to: Source, e: Equation, args: list[str]) -> str:
    return f"{to.constant(np.concatenate)}(({', '.join(args)},), {e['axis']})"


def _dot(to: Source, e: Equation, args: list[str]) -> str | None:
    if e["call"] == "dot" and e.inputs[0].shape:
        return f"{args[0]}.dot({args[1]})"
    function = {"dot": np.dot, "matmul": np.matmul}.get(e["call"])
    return None if function is None else f"{to.constant(function)}({args[0]}, {args[1]})"


def _transpose(to: Source, e: Equation, args: list[str]) -> str:
    return f"{args[0]}.T" if e["axes"] == (1, 0) else f"{args[0]}.transpose({e['axes']})"


def _stack(to: Source, e: Equation, args: list[str]) -> str | None:
    """A few scalars are written one by one, which takes half as long."""
    if e.inputs[0].shape or len(args) > 16:
        return None
    return f"{to.constant(_pack(len(args), e.outputs[0].dtype))}({', '.join([to.atom(x, True) for x in e.inputs])})"


@functools.lru_cache(256)
def _pack(n: int, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """A function that makes an array of `n` scalars."""
    names = [f"x{i}" for i in range(n)]
    space = {"empty": np.empty, "dtype": dtype}
    exec(
        f"def pack({', '.join(names)}):\n    out = empty({n}, dtype)\n    "
        + "; ".join(f"out[{i}] = x{i}" for i in range(n))
        + "\n    return out",
        space,
    )
    made: Callable[..., Any] = space["pack"]  # type: ignore[assignment]
    return made


def _has_nan(to: Source, e: Equation, args: list[str]) -> str | None:
    return asked(args[0], e.inputs[0].shape, e.inputs[0].dtype, to.constant)


WRITERS |= {
    "has_nan": _has_nan,
    **dict.fromkeys(REDUCTIONS, _reduction),
    "mean": _mean,
    "dot": _dot,
    "astype": _astype,
    "slice": _slice,
    "take": _take,
    "pad": _pad,
    "reshape": _reshape,
    "transpose": _transpose,
    "concatenate": _concatenate,
    "stack": _stack,
    "split": _split,
    "unstack": _unstack,
}
