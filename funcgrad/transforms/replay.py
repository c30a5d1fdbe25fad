"""A function written down while it runs, as a straight line of operations that can be run again.

Branches and loops have been taken, so the line is right for these values alone. What the function closes over is found when it
first meets what it was given: a traced value becomes an operand, an array is held.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad import errors
from funcgrad.borrow import COPY_LIMIT, Borrows
from funcgrad.core import Interpreter, Label, Primitive, Traced, Value, bind, dtype_of, shape_of, tick
from funcgrad.ops.kinds import Constant, Structured
from funcgrad.tensor import Tracer
from funcgrad.transforms.arguments import kind_of
from funcgrad.transforms.calls import MEANINGS, Call, Outputs, apply, newest
from funcgrad.transforms.closures import replaced
from funcgrad.transforms.forward import ForwardTracer
from funcgrad.transforms.linearize import Linearize, LinTracer, without_derivative

Policy = Callable[[str, str], bool]
"""`policy(primitive, name)`: whether to keep a result; `name` is that of `checkpoint_name`, or empty."""


class RecordTracer(Tracer):
    """A value and its place in the line."""

    __slots__ = ("_at",)
    _at: int


class Equation:
    """One operation. `places` are those of its operands, -1 for a constant; `outs` those of its results, -1 where one is none."""

    __slots__ = ("constants", "dying", "operation", "outs", "params", "places", "saved")

    def __init__(self, operation: Any, places: list[int], constants: list[Value], params: Any, outs: tuple[int, ...]) -> None:
        self.operation, self.places, self.constants, self.params, self.outs = operation, places, constants, params, outs
        self.saved: Value | None = None
        self.dying: list[int] = []

    def run(self, env: dict[int, Value]) -> None:
        args = [c if k < 0 else env[k] for k, c in zip(self.places, self.constants, strict=True)]
        for k in self.dying:
            del env[k]
        found: Any
        if isinstance(self.operation, Reopened):
            found = self.operation.run(args)
        elif self.saved is None:
            found = bind(self.operation, args, self.params)
        else:
            found = _resumed(self.operation, args, self.params, self.saved)
        for k, y in zip(self.outs, found if type(found) in (tuple, list) else (found,), strict=True):
            if k >= 0:
                env[k] = y


def _resumed(prim: Primitive, args: list[Value], params: Any, saved: Value) -> Value:
    """The operation, whose result under all derivatives is at hand already."""
    top = newest(args)
    if top is None:
        return saved
    values = [x._value if isinstance(x, Traced) and x._main is top else x for x in args]
    if type(top) is not Linearize or newest(values) is not newest((saved,)):
        return bind(prim, args, params)
    parents = [x._node if type(x) is LinTracer else None for x in args]
    return top.grow(prim, saved, values, parents, params)


class Reopened:
    """A call, and the stand-ins for what it closes over, whose values are its last operands."""

    __slots__ = ("call", "closed")

    def __init__(self, call: Call, closed: list[Traced]) -> None:
        self.call, self.closed = call, closed

    def run(self, args: list[Value]) -> list[Value]:
        n = len(args) - len(self.closed)
        return apply(replaced(self.call, self.closed, args[n:]) if self.closed else self.call, args[:n])[0]


class Line:
    """Equations from the operands at places 0, 1, … to the results at `outs`, without those that lead nowhere."""

    def __init__(self, inputs: list[int], equations: list[Equation], outs: list[int], borrows: Borrows) -> None:
        wanted, self.equations = set(outs), []
        for equation in reversed(equations):
            if any(k in wanted for k in equation.outs):
                uses = {k for k in equation.places if k >= 0}
                equation.dying = [k for k in uses if k not in wanted]
                wanted |= uses
                self.equations.append(equation)
        self.equations.reverse()
        self.inputs, self.outs = inputs, outs
        borrows.guard(self)

    def run(self, values: Sequence[Value]) -> list[Value]:
        env = dict(zip(self.inputs, values, strict=True))
        for equation in self.equations:
            equation.run(env)
        return [env[k] for k in self.outs]


class Record(Interpreter):
    """Computes on the lowest floor that derivatives leave, and writes down."""

    __slots__ = ("borrows", "count", "equations", "known", "makers", "operands", "policy")

    def __init__(self, label: Label, policy: Policy | None) -> None:
        self.order, self.label, self.new, self.policy = tick(), label, RecordTracer, policy
        self.closed = self.tensors = False
        self.borrows, self.count = Borrows(), 0
        self.equations: list[Equation] = []
        self.makers: dict[int, Equation] = {}
        self.operands: dict[int, Traced] = {}  # by place
        self.known: dict[int, RecordTracer] = {}  # by id of the operand, which `operands` keeps alive

    def trace(self, value: Value) -> RecordTracer:
        t = self.new()
        t._main, t._value, t._at, t._shape, t._dtype = self, value, self.count, shape_of(value), dtype_of(value)
        self.count += 1
        return t  # type: ignore[no-any-return]

    def operand(self, x: Traced) -> RecordTracer:
        """A traced value from outside."""
        if id(x) not in self.known:
            if x._main.closed:
                x._main.new()  # raises
            t = self.known[id(x)] = self.trace(lowest(x))
            self.operands[t._at] = x
        return self.known[id(x)]

    def close(self) -> None:
        super().close()
        self.known.clear()  # whose tracers hold this record

    def hold(self, x: Value) -> Value:
        if not hasattr(x, "setflags"):
            return x
        return x.copy("K") if x.nbytes <= COPY_LIMIT else self.borrows.hold(x)

    def taken(self, args: Sequence[Value]) -> tuple[list[Value], list[int], list[Value]]:
        """Values, places, and constants."""
        mine = [x if type(x) is RecordTracer and x._main is self else self.operand(x) if isinstance(x, Traced) else None for x in args]
        values = [x if t is None else t._value for x, t in zip(args, mine, strict=True)]
        constants = [self.hold(x) if t is None else None for x, t in zip(args, mine, strict=True)]
        return values, [-1 if t is None else t._at for t in mine], constants

    def process(self, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
        if type(prim) is Structured:
            return prim.apply(args, params)
        values, places, constants = self.taken(args)
        out = bind(prim, values, params)
        if type(prim) is Constant:
            return out
        if type(out) is tuple:
            return tuple(self.write(prim, places, constants, params, out))
        if dtype_of(out).kind not in "fc":
            return without_derivative(prim, out)
        (made,) = self.write(prim, places, constants, params, (out,))
        name = params.get("name", "")
        if self.policy is not None and self.policy(prim.name, name if type(name) is str else ""):
            self.equations[-1].saved = out
            if name and places[0] in self.makers:
                self.makers[places[0]].saved = out  # the same value: what made it need not run again
        return made

    def write(self, operation: Any, places: list[int], constants: list[Value], params: Any, outs: Sequence[Value]) -> list[Value]:
        """A new equation, and the tracers of its results."""
        made = [self.trace(y) if kind_of(y) in ("f", "c") or isinstance(y, Traced) else y for y in outs]
        equation = Equation(operation, places, constants, params, tuple([t._at if type(t) is RecordTracer else -1 for t in made]))
        self.equations.append(equation)
        if len(outs) == 1 and not isinstance(operation, Reopened):
            self.makers[equation.outs[0]] = equation
        return made

    def line(self, outs: list[int]) -> tuple[Line, list[Traced]]:
        """What was written, and its operands."""
        return Line(list(self.operands), self.equations, outs, self.borrows), list(self.operands.values())


def lowest(x: Value) -> Value:
    """The value under all derivatives. (Not under what gives operations another meaning than derivatives do.)"""
    while isinstance(x, (LinTracer, ForwardTracer, RecordTracer)):
        x = x._value
    return x


def _record_call(call: Call, m: Any, operands: Sequence[Value]) -> Outputs:
    closed = list(call.closed_over())
    values, places, constants = m.taken([*operands, *closed])
    n = len(operands)
    outs, treedef = apply(replaced(call, closed, values[n:]) if closed else call, values[:n])
    for y in outs:
        if isinstance(y, (LinTracer, ForwardTracer, RecordTracer)):
            raise errors.ClosedOverTracerError(call.name, str(y._main.label), y._main.label.place)
    blank: list[Traced] = [m.new() for _ in closed]  # which keep no values
    return m.write(Reopened(replaced(call, closed, blank) if closed else call, blank), places, constants, None, outs), treedef


MEANINGS[Record] = _record_call
