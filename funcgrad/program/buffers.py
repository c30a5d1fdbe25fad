"""Which statements may write their result into an array that nobody needs any more.

Only into what ufuncs or products have made here, tile by tile or at once, which nothing else can be a view of; and of more than one axis
only what is large and in C order, as then the result is. The arrays are the call's own, so calls may run side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.program.clusters import Cluster, Line, makes, reads
from funcgrad.program.maps import IN_PLACE, LEAST, ufunc_of
from funcgrad.program.merging import Buffer
from funcgrad.program.program import GUARD, Equation, Program, Var, variables
from funcgrad.program.winners import ADD_SHARES

WORTH = 8
"""Elements."""

COPIES = frozenset("sum mean prod max min any all has_nan has_nan_beside dot concatenate stack pad where astype".split())
"""What reads arrays and gives no view of them, beside ufuncs."""


def is_worth(v: Var) -> bool:
    return v.shape[0] >= WORTH if len(v.shape) == 1 else not is_small(v)


def is_small(v: Var) -> bool:
    """Whether it may wait for somebody to write into it. Larger arrays are let go as soon as nobody needs them."""
    return math.prod(v.shape) < LEAST


def copies(s: Line) -> bool:
    if isinstance(s, Equation):
        return s.primitive is GUARD or s.primitive.name in COPIES or may_write(s)
    return isinstance(s, (Buffer, Cluster))


def may_write(e: Equation) -> bool:
    """Whether it takes `out`."""
    return ufunc_of(e) is not None or e.primitive is ADD_SHARES


def is_fresh(program: Program) -> list[bool]:
    """Which outputs are arrays that were made for them, and of which there are no views but here."""
    made = {e.outputs[0].number for e in program.equations if ufunc_of(e) is not None or e.primitive.name == "pad"}
    return [type(x) is Var and bool(x.shape) and x.number in made for x in program.outputs]


def makes_anew(e: Equation) -> bool:
    """Whether the result is an array of its own."""
    return may_write(e) or (e.primitive.name == "dot" and e["call"] in ("dot", "matmul"))


def over(out: Any, ufunc: Any, *args: Any) -> Any:
    """What `ufunc` makes of arrays; in `out`, one of them, unless the axes of some are in another order in memory."""
    in_order = all(type(x) is not np.ndarray or x.flags.c_contiguous for x in args)
    return ufunc(*args, out=out if in_order else None)


def reused(lines: Sequence[Line], stay: set[int]) -> dict[int, Var]:
    """By the place of a statement, the variable whose array it writes to."""
    last: dict[int, int] = {}
    seen: set[int] = set(stay)
    for k, s in enumerate(lines):
        for v in reads(s):
            last[v.number] = k
            if not copies(s):
                seen.add(v.number)
    plan: dict[int, Var] = {}
    owned: set[int] = set()
    free: dict[Any, list[Var]] = {}
    for k, s in enumerate(lines):
        dying = {v.number: v for v in reads(s) if v.number in owned and last[v.number] == k}
        made = makes(s)
        if isinstance(s, Equation) and len(made) == 1 and is_worth(made[0]) and makes_anew(s):
            (v,) = made
            found = (_own(s, v, dying) or (_taken(free, v) if is_small(v) else None)) if may_write(s) else None
            if found is not None:
                plan[k] = found
                dying.pop(found.number, None)
            if v.number not in seen:
                owned.add(v.number)
        if isinstance(s, Cluster):
            owned.update(v.number for v in made if v.number not in seen)
        for v in dying.values():
            free.setdefault((v.shape, v.dtype), []).append(v)
    return plan


def _own(s: Equation, v: Var, dying: dict[int, Var]) -> Var | None:
    """An operand that is read here for the last time."""
    if s.primitive.name not in IN_PLACE and s.primitive is not ADD_SHARES:
        return None
    operands = s.inputs[:1] if s.primitive is ADD_SHARES else s.inputs
    return next((x for x in variables(operands) if x.number in dying and (x.shape, x.dtype) == (v.shape, v.dtype)), None)


def _taken(free: dict[Any, list[Var]], v: Var) -> Var | None:
    found = free.get((v.shape, v.dtype))
    return found.pop() if found else None
