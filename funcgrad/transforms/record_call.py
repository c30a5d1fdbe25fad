"""A call within a recording: one equation, whose primitive holds the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.core import Traced, Value
from funcgrad.ops.kinds import Structured
from funcgrad.program.parts import known
from funcgrad.transforms.alike import Alike
from funcgrad.transforms.arguments import kind_of
from funcgrad.transforms.calls import Call, Outputs
from funcgrad.transforms.closures import replaced
from funcgrad.transforms.record import Recorder, RecordTracer
from funcgrad.transforms.replay import Reopened


def record_call(call: Call, m: Any, operands: Sequence[Value]) -> Outputs:
    """One equation, whose primitive holds the call. What it gives beside numbers stays as it is."""
    closed, n = list(call.closed_over()), len(operands)
    taken = list(map(m.taken, [*operands, *closed]))
    values = [x._value if type(x) is RecordTracer else x for x in taken]
    call = call.recorded(values[:n])
    outs, treedef = (replaced(call, closed, values[n:]) if closed else call).run(values[:n])
    numbers = [k for k, y in enumerate(outs) if kind_of(y)]
    prim, params = call.equation or (_structured(m, call, closed, numbers), {})
    made = m.equation(prim, list(map(m.atom, taken)), [outs[k] for k in numbers], params)
    for k, v in zip(numbers, made, strict=True):
        outs[k] = m.trace(outs[k], v)
    return outs, treedef


def _structured(m: Recorder, call: Call, closed: list[Traced], numbers: Sequence[int]) -> Structured:
    """A primitive that is this call; its results are those of the call's that are numbers."""
    blank: list[Traced] = [m.new() for _ in closed]  # which keep no values
    inner = replaced(call, closed, blank) if closed else call
    held = Reopened(inner, blank)

    def meant(args: Sequence[Value], params: dict[str, Any]) -> Any:
        outs = held.run(list(args))
        return tuple([outs[k] for k in numbers])

    key = Alike(inner, blank) if call.key is None or closed else call.key
    name = f"{call.name}_" if known(call.name) else call.name  # which means something else
    return Structured(name, lambda *args: meant(args, {}), meant, (key, tuple(numbers)))
