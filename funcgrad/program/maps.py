"""What each statement is to a tile: whether it maps element by element, how much it costs, and where it may write."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.kinds import Elementwise
from funcgrad.program.merging import Statement
from funcgrad.program.program import Equation, Shape

TILE = 1 << 15
"""Elements."""

LEAST = 2 * TILE
"""Elements; of fewer, a few whole arrays stay in the cache as well."""

MANY = 100_000
"""Elements, times statements that are not cheap: so much is shared among threads."""

PLAIN_UFUNCS = {"sign": np.sign, "root": np.sqrt, "exp_minus_one": np.expm1}
"""Primitives that are a ufunc under another name."""

IN_PLACE = frozenset("add subtract multiply divide negative square sqrt absolute maximum minimum".split())
"""Ufuncs that may write where they read: each element is rounded once, whichever loop NumPy takes for operands that overlap."""

CHEAP = IN_PLACE | frozenset(
    "slice where astype has_nan less less_equal greater greater_equal equal not_equal isnan isinf isfinite sign logical_and "
    "logical_or logical_not conjugate positive reciprocal floor ceil trunc rint fabs copysign root".split()
)
"""What takes no longer than reading the operands. Several threads would wait for the memory, and for Python's lock, more than compute."""


VIEWS = frozenset(("real", "imag"))
"""Maps whose results may be part of their operands."""


def tile_axis(shape: Shape) -> int | None:
    """The axis along which an array is cut: the first one along which a tile can be small enough."""
    size = math.prod(shape)
    if size < LEAST:
        return None
    return next((axis for axis, n in enumerate(shape) if size // n <= TILE), None)


def ufunc_of(e: Equation) -> Any:
    """The ufunc that computes a result, or None."""
    impl = PLAIN_UFUNCS.get(e.primitive.name, e.primitive.impl)
    return impl if isinstance(impl, np.ufunc) and impl.nout == 1 and impl.signature is None else None


def is_map(e: Equation) -> bool:
    """Whether each element of the result comes from the elements at its place alone, bit for bit."""
    if len(e.outputs) != 1:
        return False
    if e.primitive.name == "astype":
        return not (e.inputs[0].dtype.kind == "c" and e.outputs[0].dtype.kind != "c")  # which warns
    if e.primitive.name in ("power", "float_power", "flat_power") and any(x.shape and x.shape != e.outputs[0].shape for x in e.inputs):
        return False  # its loop takes a short way for the exponents of a row of one element
    return ufunc_of(e) is not None or (type(e.primitive) is Elementwise and not e.params)


def is_slice(s: Statement) -> bool:
    return isinstance(s, Equation) and s.primitive.name == "slice"


def is_cheap(s: Statement) -> bool:
    return not isinstance(s, Equation) or s.primitive.name in CHEAP


def start_along(e: Equation, axis: int) -> int:
    """Where a slice or pad begins."""
    start: int = e["starts"][axis]
    return start


def is_dense(e: Equation, axis: int) -> bool:
    """Whether a slice or pad takes one element after the other."""
    return bool(e["steps"][axis] == 1)
