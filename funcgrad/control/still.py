"""Functions whose derivative is wanted by what calls them, and not by what is outside.

A solver sees plain values, so it may be any code; but it may differentiate the function that it is given, as Newton's method does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import pytree
from funcgrad.core import Label, Traced, Value, tick
from funcgrad.numpy.bridge import bare
from funcgrad.transforms.arguments import kind_of
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.calls import MEANINGS, Call, Outputs, apply
from funcgrad.transforms.maps import stop_gradient
from funcgrad.transforms.replay import Record, RecordTracer, lowest


class Still(Record):
    """Takes traced values from outside as constants. Nothing is written down."""

    __slots__ = ()

    def operand(self, x: Traced) -> RecordTracer:
        if id(x) not in self.known:
            t = self.known[id(x)] = self.trace(constant(x))
            self.operands[t._at] = x
        return self.known[id(x)]

    def hold(self, x: Value) -> Value:
        return x

    def write(self, operation: Any, places: list[int], constants: list[Value], params: Any, outs: Sequence[Value]) -> list[Value]:
        return [self.trace(y) if kind_of(y) in ("f", "c") or isinstance(y, Traced) else y for y in outs]


def _still_call(call: Call, m: Any, operands: Sequence[Value]) -> Outputs:
    values, places, constants = m.taken(operands)
    outs, treedef = apply(call, values)
    return m.write(call, places, constants, None, outs), treedef


MEANINGS[Still] = _still_call


def constant(x: Any) -> Any:
    """A value without its derivatives; lanes stay."""
    x = lowest(x)
    return stop_gradient(x) if isinstance(x, BatchTracer) and not x._is_plain() else x


def still(label: Label, f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of pytrees, as a constant function to everything that is open now, but not to transformations of it."""
    now = tick()
    moved = False

    def constantly(*args: Any) -> Any:
        nonlocal moved
        if not moved:
            out = f(*args)
            moved = any(_is_moved(bare(y), now) for y in pytree.leaves(out))
            if not moved:
                return out
        m = Still(label, None)
        try:
            leaves, treedef = pytree.flatten(args)
            outs, out_def = pytree.flatten(f(*treedef.unflatten([m.trace(bare(x)) if kind_of(bare(x)) else x for x in leaves])))
            return out_def.unflatten([_left(m, y) for y in outs])
        finally:
            m.close()

    return constantly


def _is_moved(y: Value, now: int) -> bool:
    """Whether a derivative from outside is at work in a value."""
    while isinstance(y, Traced):
        if y._main.order < now and not isinstance(y, BatchTracer):
            return True
        y = y._value
    return False


def _left(m: Still, y: Any) -> Any:
    value = bare(y)
    if not isinstance(value, Traced):
        return y
    return value._value if value._main is m else constant(value)
