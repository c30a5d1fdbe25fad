"""A path of a function as it is kept: its program, what it captured, and how a call runs it.

**Law:** nothing traced is kept alive; a path whose traced capture is gone is not taken.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from funcgrad import errors
from funcgrad.core import Traced, Value
from funcgrad.later import later
from funcgrad.program.calls import Signature, entered, left, typed
from funcgrad.program.evaluate import evaluate
from funcgrad.program.parts import GUARD, OTHERWISE, Static
from funcgrad.program.program import Program, compiled
from funcgrad.pytree.compare import is_small
from funcgrad.tensor import Tensor
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.record import Recording, in_one_lane, same

if TYPE_CHECKING:
    from funcgrad.transforms.program_call import ProgramCall
else:
    ProgramCall = later("funcgrad.transforms.program_call", "ProgramCall")


class Path:
    """One path through a function, for one kind of arguments."""

    __slots__ = ("_call", "answers", "captures", "is_bare", "program", "quiet", "signature", "ways")
    signature: Signature
    _call: ProgramCall | None

    def __init__(self, program: Program, recording: Recording) -> None:
        assert program.signature is not None
        self.program, self.signature, self.quiet = program.closed, program.signature, recording.quiet
        self.captures = tuple([weakref.ref(x) if isinstance(x, Traced) else x for x in program.captures])
        self.is_bare = weakref.ref not in map(type, self.captures)
        self._call = None
        self.ways: dict[Any, Any] = {}
        self.answers = tuple([e["answer"] for e in program.equations if e.primitive is GUARD])

    @property
    def call(self) -> ProgramCall:
        """The program as an operation on traced values."""
        if self._call is None:
            self._call = ProgramCall("jit", self.program)
        return self._call

    def captured(self) -> Sequence[Value]:
        """What it captured; None in the place of what is gone."""
        return self.captures if self.is_bare else [x() if type(x) is weakref.ref else x for x in self.captures]

    def is_like(self, other: Path) -> bool:
        """Whether both are recordings of the same computation."""
        return (
            self.program == other.program
            and self._form() == other._form()
            and all(x.value is y.value or is_small(x.value) for x, y in zip(*self._constants(other), strict=True))
            and len(self.captures) == len(other.captures)
            and all(x is not None and same(x, y) for x, y in zip(self.captured(), other.captured(), strict=True))
        )

    def _form(self) -> Any:
        """The signature without the types of numbers, which may depend on values: a `cond` knows the dtype alone."""
        return self.signature.but(outs=tuple([y if type(y) is Static else None for y in self.signature.outs]))

    def agree(self, other: Path) -> None:
        """Numbers of two types become NumPy's."""
        pairs = zip(self.signature.outs, other.signature.outs, strict=True)
        self.signature = self.signature.but(outs=tuple([x if x == y else None for x, y in pairs]))

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
        except OTHERWISE:
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
