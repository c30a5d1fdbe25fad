"""Which dtype each operand of an equation has: every promotion that NumPy makes inside is an equation of its own."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Value, dtype_of
from funcgrad.ops.kinds import Bilinear, Differentiable, Elementwise, Linear, Semilinear

DType = np.dtype[Any]

PYTHON_NUMBERS: set[type] = {float, int, complex, bool}

OF_THE_RESULT = frozenset(("dot", "update"))

OF_THE_LAST = frozenset("share fshare quotient".split())
"""Constants of operands that have the dtype of the last one, the result that they are asked about."""


def typed(prim: Primitive, values: Sequence[Value], out: Any) -> Sequence[DType | None]:
    """The dtype that each operand is to have; None where it keeps its own."""
    if isinstance(prim.impl, np.ufunc):
        return loop(prim.impl, tuple([type(v) if type(v) in PYTHON_NUMBERS else dtype_of(v) for v in values]), dtype_of(out))
    whole = dtype_of(out[0] if type(out) is tuple and out else out)
    if type(prim) is Elementwise and prim.keeps_dtype:
        return [_truth(prim) if rule is None else whole for rule, v in zip(prim.rules, values, strict=True)]
    if type(prim) in (Bilinear, Semilinear) or (type(prim) is Linear and prim.operands is None):
        return [whole] * len(values)
    if prim.name in OF_THE_RESULT:
        return [whole] * len(values)
    if prim.name in OF_THE_LAST:
        return [dtype_of(values[-1])] * len(values)
    if _promotes(prim, values, whole):
        inexact = np.finfo(whole).dtype if whole.kind == "c" else whole  # whole numbers are real, also where the result is complex
        return [inexact if k < _count(prim) else _weak(v, values) for k, v in enumerate(values)]
    return [_weak(v, values) for v in values]


def _truth(prim: Primitive) -> DType | None:
    return np.dtype(bool) if prim.name == "where" else None


def _promotes(prim: Primitive, values: Sequence[Value], whole: DType) -> bool:
    """Whether integers are summed, or become inexact, inside."""
    if prim.name == "astype" or type(prim) not in (Linear, Differentiable) or not values:
        return False
    return dtype_of(values[0]).kind in "bui" and whole.kind in "uifc"


def _count(prim: Primitive) -> int:
    return prim.operands or 1 if type(prim) is Linear else 1


def _weak(v: Value, values: Sequence[Value]) -> DType | None:
    """What a Python number becomes among its fellows."""
    if type(v) not in PYTHON_NUMBERS:
        return None
    return np.result_type(*[x if type(x) in PYTHON_NUMBERS else dtype_of(x) for x in values])


def loop(ufunc: np.ufunc, operands: tuple[Any, ...], out: DType) -> tuple[DType, ...]:
    """The dtypes of the operands in the loop that NumPy chooses; Python's own numbers are of what Python makes of them."""
    if not PYTHON_NUMBERS.issuperset(operands):
        return _loop(ufunc, operands)
    if out.kind in "ifc" and (out.kind == "c" or complex not in operands):
        return (out,) * len(operands)
    return _loop(ufunc, tuple(map(np.dtype, operands)))


def fits(number: int, dtype: DType) -> bool:
    info = np.iinfo(dtype)
    return bool(info.min <= number <= info.max)


@functools.lru_cache(4096)
def _loop(ufunc: np.ufunc, operands: tuple[Any, ...]) -> tuple[DType, ...]:
    operands = tuple([np.dtype(bool) if t is bool else t for t in operands])
    return tuple(ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout))[: ufunc.nin])
