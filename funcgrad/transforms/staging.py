"""A path of a function as it is kept: its program, what it captured, and how a call runs it.

**Law:** nothing traced is kept alive; a path whose traced capture is gone is not taken.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced, Value
from funcgrad.program.calls import Signature, entered, left, typed
from funcgrad.program.codegen import Missed, compiled
from funcgrad.program.evaluate import evaluate
from funcgrad.program.parts import GUARD, Miss, Static
from funcgrad.program.program import Program
from funcgrad.pytree.compare import is_small
from funcgrad.tensor import Tensor
from funcgrad.transforms.forward import ForwardTracer
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.linearize import LinTracer
from funcgrad.transforms.program_call import ProgramCall
from funcgrad.transforms.record import Recording, in_one_lane, same

_ndarray = np.ndarray


class Path:
    """One path through a function, for one kind of arguments."""

    __slots__ = ("answers", "call", "captures", "is_bare", "program", "quiet", "signature")
    signature: Signature

    def __init__(self, program: Program, recording: Recording) -> None:
        assert program.signature is not None
        self.program, self.signature, self.quiet = program.closed, program.signature, recording.quiet
        self.captures = tuple([weakref.ref(x) if isinstance(x, Traced) else x for x in program.captures])
        self.is_bare = weakref.ref not in map(type, self.captures)
        self.call = ProgramCall("jit", self.program)
        self.answers = tuple([e["answer"] for e in program.equations if e.primitive is GUARD])

    def captured(self) -> Sequence[Value]:
        """What it captured; None in the place of what is gone."""
        return self.captures if self.is_bare else [x() if type(x) is weakref.ref else x for x in self.captures]

    def is_like(self, other: Path) -> bool:
        """Whether both are recordings of the same computation."""
        return (
            self.program == other.program
            and self.signature == other.signature
            and all(x.value is y.value or is_small(x.value) for x, y in zip(*self._constants(other), strict=True))
            and len(self.captures) == len(other.captures)
            and all(x is not None and same(x, y) for x, y in zip(self.captured(), other.captured(), strict=True))
        )

    def _constants(self, other: Path) -> tuple[list[Static], list[Static]]:
        """The results that are no numbers."""
        mine, its = ([y for y in s.outs if type(y) is Static] for s in (self.signature, other.signature))
        return mine, its

    def values(self, leaves: Sequence[Any]) -> list[Value]:
        values: list[Value] = [entered(x) for x, known in zip(leaves, self.signature.ins, strict=True) if type(known) is not Static]
        return [*values, *self.captured()]

    # ---- running

    def run(self, leaves: Sequence[Any], by_equations: bool = False) -> Any:
        """What the function gives; NotImplemented where these values do not take this path, or where something raises.

        Then the function itself raises it, or does not.
        """
        values = self.values(leaves)
        if not self.is_bare and any(x is None for x in values):
            return NotImplemented
        token = hush() if self.quiet else None
        try:
            if by_equations:
                outs: Sequence[Value] = evaluate(self.program, values)
            elif any(isinstance(x, Traced) for x in values):
                outs = self.call.apply(values)
            else:
                outs = compiled(self.program)(*values)
        except (Missed, Miss, errors.LanesDifferError):
            return NotImplemented
        except errors.FuncgradError:
            raise
        except Exception:
            return NotImplemented
        finally:
            if token is not None:
                speak(token)
        return self.results(outs, leaves, values)

    def is_of_first_lane(self, leaves: Sequence[Any]) -> bool:
        """Whether the values that a recording would be made on take this path."""
        values = self.values(leaves)
        try:
            compiled(self.program)(*map(in_one_lane, values))
        except Exception:
            return False
        return True

    def results(self, outs: Sequence[Value], leaves: Sequence[Any], values: Sequence[Value]) -> Any:
        """What the function returns, of its outputs."""
        tensors = any(type(x) is Tensor for x in leaves)
        given = set(map(id, values))
        made = iter([left(y, tensors, id(y) in given) for y in outs])
        s = self.signature
        return s.out_def.unflatten([known.value if type(known) is Static else typed(next(made), known) for known in s.outs])


# ---- the short way


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
