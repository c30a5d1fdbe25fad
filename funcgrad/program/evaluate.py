"""Running a program by `bind`, one equation after the other: so it runs under every transformation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad.core import Value, bind
from funcgrad.ops.kinds import Elementwise
from funcgrad.program.parts import GUARD, Equation, Literal, Var
from funcgrad.program.program import Program
from funcgrad.program.vocabulary import bound


def look(x: Value, kind: str, answer: Any) -> None:
    """A guard is a look, which every interpreter asks one floor down."""
    GUARD.impl(x, kind=kind, answer=answer)


def evaluate(
    program: Program,
    values: Sequence[Value],
    visit: Callable[[Equation], Any] | None = None,
    require: Callable[[Value, str, Any], None] = look,
) -> list[Value]:
    """The outputs for these values of the inputs. `visit` is called before each equation, and `require` for each guard."""
    env: dict[int, Value] = dict(zip([v.number for v in program.inputs], values, strict=True))
    for e in program.equations:
        args = _arguments(e, env)
        if visit is not None:
            visit(e)
        if e.primitive is GUARD:
            require(args[0], e["kind"], e["answer"])
            continue
        out = bind(*bound(e, args))
        for v, y in zip(e.outputs, out if type(out) is tuple else (out,), strict=True):
            env[v.number] = y
    return [x.value if isinstance(x, Literal) else env[x.number] for x in program.outputs]


def _arguments(e: Equation, env: dict[int, Value]) -> list[Any]:
    """A literal beside variables of its own dtype is a Python number again: rules take the short way for it."""
    dtypes = {x.dtype for x in e.inputs if isinstance(x, Var)} if type(e.primitive) is Elementwise else set()
    args: list[Any] = []
    for x in e.inputs:
        if isinstance(x, Literal):
            args.append(x.value.item() if x.dtype in dtypes else x.value)
        else:
            args.append(env[x.number])
    return args
