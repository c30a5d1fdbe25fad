"""What an equation may be: how a primitive, as it is bound, becomes equations.

Python-scalar-ness ends here: every promotion is an explicit `astype`. A rule `(prim, args, params)` in `LOWER` composes, of traced
operands, the operations that stand in programs; it gives NotImplemented where the primitive may stand as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Value, dtype_of
from funcgrad.ops.kinds import Bilinear, Elementwise, Linear

DTypes = Sequence[np.dtype[Any] | None]

LOWER: dict[str, Callable[..., Any]] = {}
"""By name."""

_PYTHON_NUMBERS: set[type] = {float, int, complex, bool}


def typed(prim: Primitive, values: Sequence[Value], out: Any) -> DTypes:
    """The dtype that each operand is to have; None where it may keep its own."""
    if isinstance(prim.impl, np.ufunc):
        return _loop(prim.impl, tuple([type(v) if type(v) in (int, float, complex) else dtype_of(v) for v in values]))
    if type(prim) is Elementwise:
        whole = dtype_of(out)
        return [whole if rule is not None else _alone(v) for rule, v in zip(prim.rules, values, strict=True)]
    if type(prim) is Bilinear or (type(prim) is Linear and prim.operands is None):
        return [dtype_of(out)] * len(values)
    return [_weak(values) if type(v) in _PYTHON_NUMBERS else None for v in values]


def _alone(v: Value) -> np.dtype[Any] | None:
    return dtype_of(v) if type(v) in _PYTHON_NUMBERS else None


def _weak(values: Sequence[Value]) -> np.dtype[Any]:
    """What a Python number becomes among its fellows."""
    return np.result_type(*[v if type(v) in _PYTHON_NUMBERS else dtype_of(v) for v in values])


@functools.lru_cache(4096)
def _loop(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the operands in the loop that NumPy chooses."""
    return tuple(ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout))[: ufunc.nin])
