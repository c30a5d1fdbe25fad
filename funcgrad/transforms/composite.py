"""Primitives with a tangent rule: their pull linearizes the rule at zero tangents and walks it.

The rule is an ordinary program of linear operations in the tangents, so its transpose needs no code of its own.
"""

from __future__ import annotations

from typing import Any

from funcgrad.borrow import HELD
from funcgrad.core import Label, Value, bind, dtype_of, shape_of
from funcgrad.ops.kinds import Differentiable, Semilinear
from funcgrad.ops.shaping import dense, undo
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.nodes import GROW, ids_of, zero
from funcgrad.transforms.walk import Cotangents, Node, accumulate, walk


def _grow_composite(m: Linearize, prim: Any, out: Any, values: list[Value], parents: list[Node | None], params: Any) -> Any:
    return _pull_composite, (prim, out, m.kept(values, parents), params, m.label, ids_of(parents))


def _pull_composite(node: Node, ct: Any, acc: Cotangents) -> None:
    """Linearize the tangent rule at zero tangents and walk it; a hand-written transpose, where there is one, is the same map."""
    prim, out, values, params, label, ids = node[4:]
    wanted = tuple(i is not None for i in ids)
    if type(out) is not tuple:
        ct = dense(ct, shape_of(out))
    cts = _transposed(prim, out, values, params, label, wanted, ct)
    for i, value, g in zip(ids, values, cts, strict=True):
        if i is not None and g is not None:
            shape = shape_of(value)
            accumulate(acc, i, undo(g, shape, shape, dtype_of(value)))


def _transposed(prim: Any, out: Any, values: Any, params: Any, label: Label, wanted: Any, ct: Any) -> tuple[Any, ...]:
    by_hand = prim.transpose if type(prim) is Differentiable else prim.together
    if by_hand is not None:
        return by_hand(ct, out, values, wanted, **params)
    m = Linearize(label)
    m.borrows = HELD
    zeros = [m.leaf(zero(v)) if w else None for v, w in zip(values, wanted, strict=True)]
    out_tangents = tangents_of(prim, out, values, zeros, params)
    pairs = [(t, c) for t, c in zip(out_tangents, ct if type(out) is tuple else (ct,), strict=True) if c is not None]
    found = walk([(t._node, dense(c, t._shape)) for t, c in pairs if type(t) is LinTracer and t._main is m])
    return tuple(None if z is None else found.get(z._node[0]) for z in zeros)


def tangents_of(prim: Any, out: Any, values: Any, tangents: Any, params: Any) -> tuple[Any, ...]:
    """The output tangents of a primitive that has a tangent rule."""
    if type(prim) is Semilinear:
        parts = [prim.tangent(out, values, tangents, **params)] if any(t is not None for t in tangents[:-1]) else []
        if tangents[-1] is not None:
            parts.append(bind(prim, [*values[:-1], tangents[-1]], params))
        return (parts[0] if len(parts) == 1 else parts[0] + parts[1],)
    made = prim.tangent(out, values, tangents, **params)
    return made if type(made) is tuple else (made,)


GROW[Differentiable] = GROW[Semilinear] = _grow_composite
