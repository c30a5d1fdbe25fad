"""Whether two calls are made alike: of the same code, closing over the same things. So a custom function that is made anew at each
call of a compiled one is one operation.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad.core import Traced
from funcgrad.pytree.compare import equal_static, exact
from funcgrad.transforms.closures import OURS, content_of, state_of

STANDS = {"stands": True}
"""Of a field with traced values that stand for operands, wherever they are met: they match by their places."""


class Alike:
    """A call as a key: equal to those made alike. `blank` stand for what is closed over, which is operands."""

    __slots__ = ("blank", "call")

    def __init__(self, call: Any, blank: Sequence[Traced] = ()) -> None:
        self.call, self.blank = call, blank

    def __hash__(self) -> int:
        return hash((type(self.call), self.call.name))

    def __eq__(self, other: object) -> bool:
        if type(other) is not Alike or len(self.blank) != len(other.blank):
            return False
        return _Pairs({(id(x), id(y)) for x, y in zip(self.blank, other.blank, strict=True)}).match(self.call, other.call)


class _Pairs:
    """Those known to match, or being compared: what holds itself matches if all else does."""

    def __init__(self, known: set[tuple[int, int]]) -> None:
        self.known = known

    def match(self, a: Any, b: Any) -> bool:
        if a is b or (id(a), id(b)) in self.known:
            return True
        kind: Any = type(a)
        if kind is not type(b):
            return False
        self.known.add((id(a), id(b)))
        if kind is types.FunctionType:
            return a.__code__ is b.__code__ and a.__globals__ is b.__globals__ and self.all(_of_function(a), _of_function(b))
        if kind is types.MethodType:
            return self.match(a.__func__, b.__func__) and self.match(a.__self__, b.__self__)
        if kind is functools.partial:
            return self.all((a.func, a.args, a.keywords), (b.func, b.args, b.keywords))
        if kind is tuple or kind is list:
            return self.all(a, b)
        if kind is dict:
            return self.all(list(a), list(b)) and self.all(list(a.values()), list(b.values()))
        if kind is inspect.Signature or (_is_ours(kind) and "__eq__" in vars(kind)):  # which is data
            return equal_static(a, b)
        if isinstance(a, np.generic):
            return bool(a.dtype == b.dtype and a.tobytes() == b.tobytes())
        if attrs.has(kind) and _is_ours(kind):
            for field in attrs.fields(kind):
                if field.metadata == STANDS:
                    self.known |= set(zip(map(id, getattr(a, field.name)), map(id, getattr(b, field.name)), strict=False))
            return self.all(*([getattr(x, field.name) for field in attrs.fields(kind) if field.eq] for x in (a, b)))
        if kind.__module__ in OURS:
            return self.match(state_of(a), state_of(b))
        return exact(a, b)  # arrays are alike only where they are one: they may be written to

    def all(self, these: Sequence[Any], those: Sequence[Any]) -> bool:
        return len(these) == len(those) and all(map(self.match, these, those))


def _is_ours(kind: Any) -> bool:
    return bool(kind.__module__.startswith("funcgrad."))


def _of_function(f: Any) -> list[Any]:
    return [f.__defaults__, f.__kwdefaults__, *map(content_of, f.__closure__ or ())]
