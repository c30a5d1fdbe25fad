"""How a program in lanes is written: a function for one block, and a loop over the blocks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.ops.summing import by_term
from funcgrad.program.layout import has_nan_in, in_order
from funcgrad.program.program import Equation, variables
from funcgrad.program.spelling import index_text, padding

if TYPE_CHECKING:
    from funcgrad.program.codegen import Source
    from funcgrad.program.lanes import Lanes

Function = Callable[..., tuple[Any, ...]]


def by_lanes(to: Source, lanes: Lanes, straight: Callable[..., Function]) -> Function:
    """The function of a program in lanes; of arrays whose axes are in another order, it is the program as it stands."""
    program = lanes.program
    given = to.named(program.inputs)
    outside = [x for e in lanes.after for x in e.inputs]
    to.write(lanes.before, (*lanes.operands, *variables((*program.outputs, *outside))))
    names = [to.names[v.number] for v in lanes.operands]
    asked = [name for name, v in zip(names, lanes.operands, strict=True) if len(v.shape) > 1]
    otherwise = functools.cache(lambda: straight(program, to.threads))
    to.add(f"if not {to.constant(in_order)}({', '.join(asked)}):")
    to.add(f"    return {to.constant(otherwise, 'otherwise')}()({', '.join(given)})")
    results = to.named(lanes.results)
    for name, v in zip(results, lanes.results, strict=True):
        to.add(f"{name} = {to.constant(np.empty)}({v.shape}, {to.constant(v.dtype)})")
    block = functools.cache(lambda size: straight(lanes.of_size(size), to.threads, True))
    blocks = [(i, j, block(j - i)) for i, j in lanes.blocks]
    args = [name if not lanes.has(v) else f"{name}[i:j]" for name, v in zip(names, lanes.operands, strict=True)]
    args = [f"{to.constant(in_lanes)}({x})" if lanes.has(v) and len(v.shape) > 1 else x for x, v in zip(args, lanes.operands, strict=True)]
    to.add(f"for i, j, block in {to.constant(blocks, 'blocks')}:")
    made = "".join([f"{name}[i:j], " for name in results])
    to.add(f"    {made}{'= ' if made else ''}block({', '.join(args)})")
    to.write(lanes.after, variables(program.outputs))
    outs = [to.atom(x, True) for x in program.outputs]
    to.add(f"return ({', '.join(outs)}{',' if len(outs) == 1 else ''})")
    function = to.compile(f"def program({', '.join(given)}):")
    function.__dict__["source"] = f"# block:\n{blocks[0][2].__dict__['source']}\n{function.__dict__['source']}"
    return function


def in_lanes(x: Any) -> Any:
    """A block of lanes, side by side in memory."""
    return np.array(x, order="F")


def piled(*xs: Any, axis: int) -> Any:
    """As `np.stack`, side by side in memory as its operands."""
    out = np.empty((*xs[0].shape[:axis], len(xs), *xs[0].shape[axis:]), xs[0].dtype, order="F")
    at: tuple[Any, ...] = (slice(None),) * axis
    for k, x in enumerate(xs):
        out[(*at, k)] = x
    return out


def _stack(to: Source, e: Equation, args: list[str]) -> str:
    return f"{to.constant(piled)}({', '.join(args)}, axis={e['axis']})"


def _pad(to: Source, e: Equation, args: list[str]) -> str:
    return to.call(padding(e["shape"], e.outputs[0].dtype, index_text(e), "F"), args)


def _sum(to: Source, e: Equation, args: list[str]) -> str:
    return f"{to.constant(by_term)}({args[0]})"


def _has_nan(to: Source, e: Equation, args: list[str]) -> str:
    return f"{to.constant(has_nan_in)}({args[0]}.ravel('K'), {to.constant(e.primitive.impl)})"


IN_LANES = {"stack": _stack, "pad": _pad, "sum": _sum, "has_nan": _has_nan}
"""What is written in another way, so that lanes stay side by side."""
