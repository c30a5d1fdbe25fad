"""Ufuncs that are compositions, and `outer` of all that have two operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import METHODS, UFUNCS, call_ufunc
from funcgrad.ops import elementwise as ops
from funcgrad.ops.kinds import BY_UFUNC
from funcgrad.ops.shaping import cast, reshape


def _sign(x: Value) -> Value:
    return ops.phase(x) if dtype_of(x).kind == "c" else ops.sign(x)


def _modf(x: Value) -> tuple[Value, Value]:
    fraction = ops.fraction(x)
    return fraction, cast(ops.trunc(x), dtype_of(fraction))


def _frexp(x: Value) -> tuple[Value, Value]:
    """`x = mantissa 2^exponent`, and scaling by a power of 2 is exact."""
    exponent = ops.exponent(x)
    return ops.ldexp(x, -exponent), exponent


def _divmod(x: Value, y: Value) -> tuple[Value, Value]:
    return ops.floor_divide(x, y), ops.remainder(x, y)


UFUNCS[np.sign] = _sign
UFUNCS[np.modf] = _modf
UFUNCS[np.frexp] = _frexp
UFUNCS[np.divmod] = _divmod
UFUNCS[np.float_power] = ops.float_power


def _outer(ufunc: np.ufunc) -> Callable[..., Value]:
    def outer(a: Any, b: Any, **kwargs: Any) -> Value:
        a, b = array(a), array(b)
        return call_ufunc(ufunc, "__call__", (reshape(a, shape=shape_of(a) + (1,) * len(shape_of(b))), b), kwargs)

    return outer


for _ufunc in (*BY_UFUNC, np.divmod, np.float_power):
    if _ufunc.nin == 2 and _ufunc.signature is None:
        METHODS[_ufunc, "outer"] = _outer(_ufunc)
