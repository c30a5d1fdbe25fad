"""What the winners of an extremum get is added to a large array in a few places, and not everywhere.

`x + s * shares(a, m)` is, for a finite `s`, `x + s * 0` in all places but those of the winners, whose shares are equal. **Bit for bit:**
to add -0.0 changes nothing, and to add 0.0 takes away the sign of -0.0 alone.

Whether nan is in it need not be asked where the sum of `x` is known: a finite sum is one of finite terms.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive
from funcgrad.ops.elementwise import add, multiply
from funcgrad.ops.reductions import shares
from funcgrad.program.maps import tile_axis
from funcgrad.program.program import Atom, Equation, Var, variables


def _add_shares(x: Any, s: Any, a: Any, m: Any, out: Any = None) -> Any:
    at = np.flatnonzero(a == m)
    if not len(at) or not np.isfinite(s):
        return np.add(x, s * shares.impl(a, m, axis=(-1,)), out=out)
    dtype = x.dtype.type
    won, rest = x[at] + s * dtype(np.divide(True, len(at))), s * dtype(0)
    if out is None or not np.signbit(rest):
        out = np.add(x, rest, out=out)
    out[at] = won
    return out


ADD_SHARES = Primitive("add_shares", _add_shares)
"""`out` is a new array or `x`."""


def _has_nan(ask: Callable[[Any], bool], total: Any, s: Any, out: Any) -> bool:
    """Whether nan is in `out`, to which `s` was added in parts: not where `s` and the sum of the others are finite."""
    return not (math.isfinite(total) and math.isfinite(s)) and ask(out)


def winners(equations: Sequence[Equation], kept: set[int]) -> list[Equation]:
    """The equations, with such sums as one. They stand where the last of them stood."""
    made = {e.outputs[0].number: e for e in equations if len(e.outputs) == 1}
    uses: dict[int, int] = dict.fromkeys(kept, 2)
    for e in equations:
        for v in variables(e.inputs):
            uses[v.number] = uses.get(v.number, 0) + 1
    out: list[Equation] = []
    gone: set[int] = set()
    totals: dict[Atom, Atom] = {}
    added: dict[Atom, tuple[Atom, Atom]] = {}
    for e in equations:
        if e.primitive.name == "sum" and len(e.inputs[0].shape) == 1:
            totals[e.inputs[0]] = e.outputs[0]
        if e.primitive.name == "has_nan" and e.inputs[0] in added:
            asked = Primitive("has_nan_beside", functools.partial(_has_nan, e.primitive.impl))
            e = Equation(asked, (*added[e.inputs[0]], *e.inputs), e.outputs, (), e.line)
        found = _found(e, made, uses) if e.primitive is add and _is_large(e.outputs[0]) else None
        if found is not None:
            x, s, product, share = found
            gone.update((product, share.outputs[0].number))
            e = Equation(ADD_SHARES, (x, s, *share.inputs), e.outputs, (), e.line)
            if x in totals:
                added[e.outputs[0]] = totals[x], s
        out.append(e)
    return [e for e in out if not (len(e.outputs) == 1 and e.outputs[0].number in gone)]


def _is_large(v: Var) -> bool:
    return len(v.shape) == 1 and tile_axis(v.shape) is not None and v.dtype.char in "df"


def _found(e: Equation, made: dict[int, Equation], uses: dict[int, int]) -> tuple[Atom, Atom, int, Equation] | None:
    def once(x: Atom, prim: Primitive) -> Equation | None:
        got = made.get(x.number) if isinstance(x, Var) and uses[x.number] == 1 else None
        return got if got is not None and got.primitive is prim and got.outputs[0].dtype == e.outputs[0].dtype else None

    for x, y in (e.inputs, e.inputs[::-1]):
        product = once(y, multiply)
        if product is None or (x.shape, x.dtype) != (e.outputs[0].shape, e.outputs[0].dtype):
            continue
        for s, z in (product.inputs, product.inputs[::-1]):
            share = once(z, shares)
            if share is not None and not s.shape and s.dtype == z.dtype and share.inputs[0].shape == x.shape:
                return x, s, product.outputs[0].number, share
    return None
