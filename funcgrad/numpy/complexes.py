"""Real and imaginary parts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.ops import elementwise as ops


@implements(np.real)
def real(val: Any) -> Value:
    val = array(val)
    return ops.real(val) if dtype_of(val).kind == "c" else val


@implements(np.imag)
def imag(val: Any) -> Value:
    val = array(val)
    return ops.imag(val) if dtype_of(val).kind == "c" else ops.no_imag(val)


@implements(np.angle)
def angle(z: Any, deg: Any = False) -> Value:
    z = array(z)
    out = ops.arctan2(ops.imag(z), ops.real(z)) if dtype_of(z).kind == "c" else ops.arctan2(0, z)
    return out * (180 / math.pi) if deg else out


@implements(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Value:
    a = array(a)
    if dtype_of(a).kind != "c":
        return a
    limit = np.finfo(dtype_of(a)).eps * tol if tol > 1 else tol
    return ops.real(a) if np.all(abs(ops.imag(a)) < limit) else a


@implements(np.isreal)
def isreal(x: Any) -> Value:
    return imag(x) == 0


@implements(np.iscomplex)
def iscomplex(x: Any) -> Value:
    return imag(x) != 0


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return dtype_of(array(x)).kind == "c"


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)
