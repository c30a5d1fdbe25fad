"""Where the extrema are: integers, with zero derivative."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import Value, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.reductions import UNSET, axes_of, kept, loose_axes
from funcgrad.ops import reductions as ops
from funcgrad.ops.shaping import reshape


def _position(op: Callable[..., Value], a: Any, axis: Any, keepdims: Any) -> Value:
    a = array(a)
    shape = shape_of(a)
    if axis is None or not shape:
        loose_axes(a, axis)
        at = op(reshape(a, shape=(math.prod(shape_of(a)),)), axis=-1)
        return kept(at, a, axes_of(a, None), keepdims)
    axes = axes_of(a, operator.index(axis))
    return kept(op(a, axis=axes[0]), a, axes, keepdims)


def _function(op: Callable[..., Value]) -> Callable[..., Value]:
    def position(a: Any, axis: Any = None, out: None = None, *, keepdims: Any = UNSET) -> Value:
        return _position(op, a, axis, keepdims)

    return position


for _f, _op in ((np.argmax, ops.argmax), (np.argmin, ops.argmin), (np.nanargmax, ops.nanargmax), (np.nanargmin, ops.nanargmin)):
    implements(_f)(_function(_op))
