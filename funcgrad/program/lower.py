"""What an equation may be: how a primitive, as it is bound, becomes equations.

A rule `(prim, args, params)` composes, of traced operands, the operations that stand in programs; it gives NotImplemented where the
primitive may stand as it is. What has no rule stands as it is, with the dtypes that `promotion` and the params that `vocabulary` says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Value, dtype_of
from funcgrad.ops.canonical import fshare, share
from funcgrad.ops.shaping import astype
from funcgrad.program import indices, products, shapes
from funcgrad.program.promotion import fits, typed
from funcgrad.program.reading import values_of

__all__ = ["LOWER", "typed"]


def _by(prim: Primitive) -> Callable[..., Any]:
    """The same operands, of another primitive."""
    return lambda _, args, params: prim(*args, **params)


def _edges(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    return indices.guarded(prim, args, params) if type(params["bins"]) is str else NotImplemented


def _spectrum(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    """Of real matrices it is real where all its values are."""
    return NotImplemented if dtype_of(args[0]).kind == "c" else indices.guarded(prim, args, params)


def _compared(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    """A Python int, which NumPy compares with integers of any width, has a width here."""
    values = values_of(args)
    for k, (v, other) in enumerate(zip(values, reversed(values), strict=True)):
        if (
            type(v) is int
            and dtype_of(other).kind in "iu"
            and type(other) is not int
            and (args[k] is not v or not fits(v, dtype_of(other)))
        ):
            wide = astype(args[k], dtype=dtype_of(v)) if args[k] is not v else np.asarray(v)[()]
            return prim(*[wide if j == k else x for j, x in enumerate(args)])
    return NotImplemented


LOWER: dict[str, Callable[..., Any]] = {
    # nothing moves
    "reshape": shapes.reshaped,
    "broadcast_to": shapes.broadcast_to,
    "transpose": shapes.transpose,
    "astype": shapes.astype,
    "sum": shapes.sum,
    "concatenate": shapes.concatenate_all,
    **dict.fromkeys("equal not_equal less less_equal greater greater_equal".split(), _compared),
    # parts and wholes
    "sum_to": shapes.sum_to,
    "window": shapes.window,
    "embed": shapes.embed,
    "pile": shapes.pile,
    "unpile": shapes.unpile,
    "argmax": shapes.arg_extremum,
    "argmin": shapes.arg_extremum,
    "nanargmax": shapes.arg_extremum,
    "nanargmin": shapes.arg_extremum,
    # products
    "dot": products.dot,
    "matmul": products.matmul,
    "vecdot": products.vecdot,
    "einsum": products.einsum,
    # indices
    "getitem": indices.getitem,
    "scatter_add": indices.scatter_add,
    "put": indices.put,
    "add_at": indices.put,
    "max_at": indices.put,
    "min_at": indices.put,
    "shares_at": indices.shares_at,
    "winners": indices.winners,
    "occurrences": indices.occurrences,
    # the form depends on values
    "nonzero": indices.places_of_mask,
    "flatnonzero": indices.flatnonzero,
    "argwhere": indices.argwhere,
    "unique_places": indices.guarded,
    "pairs": indices.guarded,
    "alone": indices.guarded,
    "counted": indices.guarded,
    "roots": indices.guarded,
    "eig": _spectrum,
    "eigvals": _spectrum,
    "residuals": indices.guarded,
    "edges_of": _edges,
    "wins": _by(share),
    "fwins": _by(fshare),
}
"""By name, of primitives that are bound."""
