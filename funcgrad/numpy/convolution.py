"""Convolution and correlation of two sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.contraction import conj, operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import with_rank
from funcgrad.ops import convolution as ops
from funcgrad.ops.cumulative import reverse
from funcgrad.ops.shaping import cast, window


def _sequence(x: Any) -> Value:
    x = operand(array(x))
    return x if shape_of(x) else with_rank(x, 1)


def _checked(function: Any, a: Any, v: Any, mode: Any) -> tuple[Value, Value]:
    """The operands in their common dtype; NumPy's own errors for shapes and modes it refuses."""
    a, v = _sequence(a), _sequence(v)
    dtype = np.result_type(dtype_of(a), dtype_of(v))
    if len(shape_of(a)) != 1 or len(shape_of(v)) != 1 or 0 in shape_of(a) + shape_of(v) or mode not in ("full", "same", "valid"):
        function(np.zeros(shape_of(a)), np.zeros(shape_of(v)), mode)
    return cast(a, dtype), cast(v, dtype)


def product(a: Value, v: Value, mode: str) -> Value:
    """The convolution; "same" is the middle of it, as long as the longer operand."""
    if mode != "same":
        return ops.convolve(a, v, mode=mode)
    short, long = sorted((shape_of(a)[0], shape_of(v)[0]))
    start = short - 1 - short // 2
    return window(ops.convolve(a, v, mode="full"), axis=-1, start=start, stop=start + long)


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Value:
    return product(*_checked(np.convolve, a, v, mode), mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Value:
    a, v = _checked(np.correlate, a, v, mode)
    v = conj(v)
    if shape_of(a)[0] < shape_of(v)[0]:  # NumPy turns the result around as well, and so adds in the other order
        return reverse(product(v, reverse(a, axis=-1), mode), axis=-1)
    return product(a, reverse(v, axis=-1), mode)
