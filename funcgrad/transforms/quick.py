"""The short way of a call: arrays and floats by position, to one path. All else goes the long way, which means the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced
from funcgrad.program.calls import left, typed
from funcgrad.program.codegen import Missed, compiled
from funcgrad.program.parts import Miss, Static
from funcgrad.transforms.forward import ForwardTracer
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.linearize import LinTracer
from funcgrad.transforms.staging import Path

_ndarray = np.ndarray


def key_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What tells calls apart; None where the long way is to be taken."""
    key: list[Any] = []
    for x in args:
        kind = type(x)
        if kind is _ndarray:
            key.append(x.dtype)
            key.append(x.shape)
        elif kind is float or kind is np.float64:
            key.append(kind)
        elif (kind is LinTracer or kind is ForwardTracer) and type(x._value) in (_ndarray, np.float64):
            key.append(kind)
            key.append(x._dtype)
            key.append(x._shape)
        else:
            return None
    return tuple(key)


def quick(path: Path, holds: Callable[[], bool] | None, args: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], Any] | None:
    """The call of a path with arguments like these, which gives NotImplemented where it is not to be taken."""
    signature = path.signature
    if not path.is_bare or Static in map(type, signature.ins):
        return None
    if any(type(x) is _ndarray and not x.dtype.isnative for x in args):
        return None
    captures, finish = path.captures, _finish(path)
    if any(isinstance(x, Traced) for x in args):
        return _traced(path, holds, finish)
    run = compiled(path.program)

    def call(args: tuple[Any, ...]) -> Any:
        if holds is not None and not holds():
            return NotImplemented
        try:
            outs = run(*args, *captures)
        except Exception:
            return NotImplemented
        return finish(outs, args)

    def call_hushed(args: tuple[Any, ...]) -> Any:
        token = hush()
        try:
            return call(args)
        finally:
            speak(token)

    return call_hushed if path.quiet else call


def _traced(path: Path, holds: Callable[[], bool] | None, finish: Callable[..., Any]) -> Callable[[tuple[Any, ...]], Any]:
    def call(args: tuple[Any, ...]) -> Any:
        if holds is not None and not holds():
            return NotImplemented
        try:
            outs = path.call.apply([*args, *path.captures])
        except (Missed, Miss, errors.LanesDifferError):
            return NotImplemented
        except errors.FuncgradError:
            raise
        except Exception:
            return NotImplemented
        return finish(outs, args)

    return call


def _finish(path: Path) -> Callable[[tuple[Any, ...], tuple[Any, ...]], Any]:
    """What makes of the outputs what the function returns."""
    signature, captures = path.signature, path.captures
    inputs = {v.number for v in path.program.inputs}
    passes = any(getattr(x, "number", None) in inputs for x in path.program.outputs)
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
