"""What is locally constant: positions, bits, signs of infinity, and `fix`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.dispatch import implements
from funcgrad.ops import elementwise as ops
from funcgrad.ops.kinds import constant

is_infinite = constant(lambda x, *, sign: np.isposinf(x) if sign > 0 else np.isneginf(x), name="is_infinite")


@implements(np.isposinf)
def isposinf(x: Any, out: None = None) -> Any:
    return is_infinite(array(x), sign=1)


@implements(np.isneginf)
def isneginf(x: Any, out: None = None) -> Any:
    return is_infinite(array(x), sign=-1)


@implements(np.fix)
def fix(x: Any, out: None = None) -> Value:
    return ops.trunc(array(x))


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: Any = False) -> Any:
    """The order of contraction, which depends on the shapes alone."""
    stand_ins: list[Any] = [x if isinstance(x, (str, list, tuple)) else np.broadcast_to(0.0, shape_of(operand(array(x)))) for x in operands]
    return np.einsum_path(*stand_ins, optimize=optimize)
