"""The short way of a call: arrays and floats by position, to one compiled path. All else goes the long way, which means the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import pytree
from funcgrad.program.calls import left, typed
from funcgrad.program.codegen import compiled
from funcgrad.program.parts import Static
from funcgrad.program.program import Program
from funcgrad.transforms.watching import Watch

_ndarray = np.ndarray


def key_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What tells calls apart; None where the long way is to be taken."""
    key: list[Any] = []
    for x in args:
        kind = type(x)
        if kind is _ndarray:
            key.append(x.dtype)
            key.append(x.shape)
        elif kind is float:
            key.append(kind)
        else:
            return None
    return tuple(key)


def quick(program: Program, watch: Watch, args: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], Any] | None:
    """The call of a path with arguments like these, which gives NotImplemented where it is not to be taken."""
    signature = program.signature
    assert signature is not None
    if any(type(known) is Static for known in signature.ins) or any(type(x) is _ndarray and not x.dtype.isnative for x in args):
        return None
    run, captures, finish = compiled(program.closed), program.captures, _finish(program)
    holds = watch.holds if watch.cells or watch.dicts or watch.lists else None

    def call(args: tuple[Any, ...]) -> Any:
        if holds is not None and not holds():
            return NotImplemented
        try:
            outs = run(*args, *captures)
        except Exception:
            return NotImplemented
        return finish(outs, args)

    return call


def _finish(program: Program) -> Callable[[tuple[Any, ...], tuple[Any, ...]], Any]:
    """What makes of the outputs what the function returns."""
    signature, captures = program.signature, program.captures
    assert signature is not None
    inputs = {v.number for v in program.inputs}
    passes = any(getattr(x, "number", None) in inputs for x in program.outputs)
    if signature.out_def is pytree.LEAF and signature.outs[0] is None and not passes:

        def one(outs: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
            y = outs[0]
            if type(y) is _ndarray:
                if y.base is not None or not y.shape:
                    return left(y, False, True) if y.shape else y[()]
                y.setflags(write=False)
            return y

        return one

    def several(outs: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        given = {*map(id, args), *map(id, captures)} if passes else ()
        made = iter([left(y, False, id(y) in given) for y in outs])
        return signature.out_def.unflatten([known.value if type(known) is Static else typed(next(made), known) for known in signature.outs])

    return several
