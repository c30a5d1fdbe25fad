"""Calls: whole functions as operations, made on the spot, whose derivative is not that of what runs inside.

`apply` is to calls what `bind` is to primitives: the interpreter created last among the operands' tracers decides. A call has
flat operands and gives flat outputs with their treedef, which may depend on values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Interpreter, Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import bare
from funcgrad.ops.kinds import Structured
from funcgrad.ops.shaping import cast, dense
from funcgrad.tensor import Tensor, of_fresh
from funcgrad.transforms.arguments import kind_of
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.forward import Forward, ForwardTracer, tangent_of
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.walk import Node

Outputs = tuple[list[Value], pytree.TreeDef]
_ndarray = np.ndarray


@attrs.frozen(eq=False)
class Call:
    """What each interpreter makes of it. All values are of one floor down."""

    name: str

    def recorded(self, values: Sequence[Value]) -> Call:
        """The same call as an equation may hold it: of no values but its operands. `values` are ground values of these."""
        return self

    @property
    def key(self) -> Any:
        """What is equal for calls that compute the same; None where that cannot be told."""
        return None

    @property
    def equation(self) -> tuple[Structured, dict[str, Any]] | None:
        """The primitive and the params that say the same in a program, where there are such."""
        return None

    def run(self, values: Sequence[Value]) -> Outputs:
        """The function itself; no value is traced, but by what computes many lanes."""
        raise NotImplementedError

    def push(self, m: Forward, values: list[Value], tangents: list[Value | None]) -> tuple[list[Value], list[Value | None], pytree.TreeDef]:
        """Outputs and their tangents, None where one is zero."""
        raise NotImplementedError

    def grow(self, m: Linearize, values: list[Value], parents: list[Node | None]) -> Outputs:
        """Outputs that are tracers of `m` over new nodes."""
        raise NotImplementedError

    def in_lanes(self, m: Batch, mapped: list[bool]) -> Call:
        """The same call in all lanes of `m` at once: of values whose first axis is the batch axis, where `mapped` says that they have one.

        All numbers that it gives have a batch axis.
        """
        raise NotImplementedError

    def closed_over(self) -> Sequence[Traced]:
        """The values of open interpreters that it uses beside its operands."""
        return ()

    def closed_over_of(self, m: Interpreter) -> list[Any]:
        return [x for x in self.closed_over() if x._main is m]

    @property
    def has_batch(self) -> bool:
        """Whether it brings a way of its own to compute all lanes: `batched`."""
        return False

    def batched(self, size: int, mapped: list[bool], values: list[Value]) -> tuple[list[Value], list[bool], pytree.TreeDef]:
        """Outputs of all lanes, and which of them have a batch axis; no derivative is below."""
        raise NotImplementedError

    def many(self, m: Batch, operands: Sequence[Value]) -> Outputs:
        """The call of tracers of `m`.

        Where nothing but lanes is below, it is the function itself, or its batch rule, which knows the lanes of operands alone.
        Else it keeps its derivative, which is below.
        """
        plain = all(isinstance(x, BatchTracer) and x._is_plain() for x in operands if isinstance(x, Traced))
        if plain and (not self.has_batch or self.closed_over_of(m)):
            return self.run(operands)
        mapped = [type(x) is BatchTracer and x._main is m for x in operands]
        values = [m.value_of(x) if yes else x for x, yes in zip(operands, mapped, strict=True)]
        if plain:
            with sealed(m, self.name):
                outs, marks, treedef = self.batched(m.size, mapped, values)
            check_floor(self.name, m, outs)
            return [m.trace(y) if yes else y for y, yes in zip(outs, marks, strict=True)], treedef
        outs, treedef = apply(self.in_lanes(m, mapped), values)
        return [m.trace(y) if kind_of(y) else y for y in outs], treedef


def newest(values: Sequence[Value]) -> Interpreter | None:
    """The interpreter created last among those of the values."""
    mains = [x._main for x in values if isinstance(x, Traced)]
    return max(mains, key=lambda m: m.order) if mains else None


def apply(call: Call, operands: Sequence[Value]) -> Outputs:
    """The call, as the newest interpreter means it among those of its operands and of what it closes over.

    Where no operand is traced, it is the function itself, which is differentiated as any other.
    """
    if newest(operands) is None:
        return call.run(operands)
    top = newest([*operands, *call.closed_over()])
    assert top is not None
    if top.closed:
        top.new()  # raises
    for cls in type(top).__mro__:
        if cls in MEANINGS:
            return MEANINGS[cls](call, top, operands)
    raise errors.NoRuleError(call.name, top.label.transformation, "Leave it out of the transformation.")


def _forward(call: Call, m: Any, operands: Sequence[Value]) -> Outputs:
    mine = [type(x) is ForwardTracer and x._main is m for x in operands]
    values = [x._value if my else x for x, my in zip(operands, mine, strict=True)]
    outs, tangents, treedef = call.push(m, values, [tangent_of(x) if my else None for x, my in zip(operands, mine, strict=True)])
    return [_paired(m, y, t) for y, t in zip(outs, tangents, strict=True)], treedef


def _paired(m: Forward, y: Value, t: Value | None) -> Value:
    return y if t is None else m.trace(y, cast(dense(t, shape_of(y)), dtype_of(y)))


def _reverse(call: Call, m: Any, operands: Sequence[Value]) -> Outputs:
    mine = [type(x) is LinTracer and x._main is m for x in operands]
    values = [x._value if my else x for x, my in zip(operands, mine, strict=True)]
    return call.grow(m, values, [x._node if my else None for x, my in zip(operands, mine, strict=True)])


def _in_lanes(call: Call, m: Any, operands: Sequence[Value]) -> Outputs:
    return call.many(m, operands)


MEANINGS: dict[type, Callable[[Call, Any, Sequence[Value]], Outputs]] = {Forward: _forward, Linearize: _reverse, Batch: _in_lanes}
"""By the class of interpreter."""


def check_floor(name: str, m: Interpreter, values: Sequence[Value]) -> None:
    """**Law:** an interpreter holds only values of interpreters older than itself."""
    for x in values:
        if isinstance(x, Traced) and (x._main.closed or x._main.order >= m.order):
            its = x._main.label
            if x._main.closed:
                raise errors.LeakedTracerError(str(its), its.function, its.place, "ended")
            raise errors.ClosedOverTracerError(name, str(its), its.place)


@contextlib.contextmanager
def sealed(m: Interpreter, name: str) -> Iterator[None]:
    """While a rule runs on what is below `m`, nothing computes with a tracer of `m`: the rule of `name` closes over it."""
    if m.closed:
        yield
        return

    def closed_over() -> Any:
        raise errors.ClosedOverTracerError(name, str(m.label), m.label.place)

    before, m.new, m.closed = m.new, closed_over, True
    try:
        yield
    finally:
        m.new, m.closed = before, False


# ---- between values and what users see


def face(x: Value) -> Any:
    """A value as a user's function sees it: an array has the face it has when it is traced, and cannot be written to."""
    if type(x) is not _ndarray:
        return x
    view = x.view()
    view.flags.writeable = False
    return of_fresh(view)


def taken(x: Any) -> Value:
    """What a user's function gave, as a value that shares no memory with anything that can be written to."""
    value = bare(x)
    if type(value) is not _ndarray:
        return value
    if type(x) is _ndarray or value.base is not None or not isinstance(x, Tensor):
        value = value.copy("K")
    return value if value.ndim else value[()]


def taken_tree(tree: Any) -> Outputs:
    leaves, treedef = pytree.flatten(tree)
    return [taken(x) for x in leaves], treedef
