"""The plain meaning of equations that hold programs: Python's own loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.program.program import Equation

Run = Callable[[Any, Sequence[Any]], list[Any]]


def within(e: Equation, args: Sequence[Any], run: Run) -> tuple[Any, ...]:
    """The results of a loop, a branch or a call; what is no program is a function, which is called."""
    rule = MEANINGS.get(e.primitive.name)
    if rule is None or not e.params:
        return tuple(e.primitive.impl(*args, **dict(e.params)))
    return tuple(rule(dict(e.params), args, run))


def _scan(p: dict[str, Any], args: Sequence[Any], run: Run) -> list[Any]:
    body, c, k = p["body"], p["consts"], p["consts"] + p["carry"]
    carry, rows = list(args[c:k]), []
    steps = range(p["length"])
    for t in reversed(steps) if p["reverse"] else steps:
        outs = run(body, [*args[:c], *carry, *[x[t] for x in args[k:]]])
        carry = outs[: p["carry"]]
        rows.append(outs[p["carry"] :])
    return [*carry, *_stacked(rows[::-1] if p["reverse"] else rows, body.outputs[p["carry"] :])]


def _while(p: dict[str, Any], args: Sequence[Any], run: Run) -> list[Any]:
    a, c = p["cond_consts"], p["cond_consts"] + p["body_consts"]
    carry, rows = list(args[c:]), []
    n = len(carry)
    while run(p["cond"], [*args[:a], *carry])[0]:
        outs = run(p["body"], [*args[a:c], *carry])
        carry = outs[:n]
        rows.append(outs[n:])
    return [*carry, np.int64(len(rows)), *_stacked(rows, p["body"].outputs[n:])] if p["counts"] else carry


def _stacked(rows: Sequence[Sequence[Any]], like: Sequence[Any]) -> list[Any]:
    if not rows:
        return [np.zeros((0, *v.shape), v.dtype) for v in like]
    return [np.stack(column).astype(v.dtype) for column, v in zip(zip(*rows, strict=True), like, strict=True)]


MEANINGS: dict[str, Callable[[dict[str, Any], Sequence[Any], Run], Any]] = {
    "scan": _scan,
    "while": _while,
    "cond": lambda p, args, run: run(p["branches"][int(args[0])], args[1:]),
    "call": lambda p, args, run: run(p["program"], args),
}
