"""The Euclidean norm and roots of sums of powers. At 0 their derivative is 0, the subgradient of least norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ops.elementwise import conjugate, log_or_zero, ratio, real, scale
from funcgrad.ops.kinds import differentiable, elementwise
from funcgrad.ops.reductions import Axes, expand, sum


def _norm(x: Any, *, axis: Axes) -> Any:
    if len(axis) == len(shape_of(x)):
        return np.linalg.norm(x)
    return np.sqrt(np.add.reduce((x.conj() * x).real if x.dtype.kind == "c" else x * x, axis=axis))


# y² = Σ |x|², so y dy = Σ Re(x̄ dx).


def _norm_tangent(out: Value, args: tuple[Value], tangents: tuple[Value], *, axis: Axes) -> Value:
    x = args[0]
    if dtype_of(x).kind == "c":
        return ratio(sum(real(conjugate(x) * tangents[0]), axis=axis), out)
    return ratio(sum(x * tangents[0], axis=axis), out)


def _norm_back(ct: Value, out: Value, args: tuple[Value], wanted: tuple[bool], *, axis: Axes) -> tuple[Value]:
    x = args[0]
    return (expand(ratio(ct, out), shape_of(x), axis) * (conjugate(x) if dtype_of(x).kind == "c" else x),)


norm = differentiable("norm", _norm, _norm_tangent, _norm_back)
"""The square root of the sum of squared absolute values."""

flat_power = elementwise(
    lambda x, y: np.power(x, y),
    lambda t, out, x, y: t * (y * ratio(out, x)),
    lambda t, out, x: t * scale(out, log_or_zero(x)),
    name="flat_power",
)
"""`x ** y` with slope 0 in `x` at `x = 0`."""
