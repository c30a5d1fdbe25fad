"""Sums, products and extrema: NumPy's reductions with all their keywords, each a primitive with an identity."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import METHODS, implements
from funcgrad.ops import elementwise
from funcgrad.ops import reductions as ops
from funcgrad.ops.shaping import astype, broadcast_to, cast

UNSET: Any = np._NoValue
"""What NumPy passes on where a keyword was not given."""


# ---- axes, masks and kept dimensions


@functools.lru_cache(maxsize=1024, typed=True)
def _axes(n: int, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(-n, 0))
    return tuple(sorted([i - n for i in np.lib.array_utils.normalize_axis_tuple(axis, n)]))


def axes_of(x: Value, axis: Any) -> tuple[int, ...]:
    """The axes as a sorted tuple of negative ints; None means all. Raises NumPy's AxisError."""
    return _axes(len(shape_of(x)), axis)


def loose_axes(x: Value, axis: Any) -> tuple[int, ...]:
    """As `axes_of`, but 0-d values have an axis 0 for the ufuncs' `reduce`."""
    n = len(shape_of(x))
    return _axes(n, axis) if n or axis not in (0, -1) else ()


def kept(out: Value, x: Value, axis: tuple[int, ...], keepdims: Any) -> Value:
    """The reduced `out` of `x`, with ones where the axes were if `keepdims`."""
    return ops.keep(out, shape_of(x), axis) if keepdims is not UNSET and keepdims else out


def mask_of(where: Any, x: Value) -> Any:
    """`where=` as a mask that broadcasts to `x`; None where it keeps everything."""
    if where is True or where is UNSET:
        return None
    mask = where if isinstance(where, Traced) else np.asarray(where, dtype=bool)
    shape = shape_of(x)
    if np.broadcast_shapes(shape_of(mask), shape) != shape:
        raise ValueError(f"where= of shape {shape_of(mask)} does not broadcast to the operand's shape {shape}")
    return mask


# ---- the reductions


@attrs.frozen(eq=False)
class Reduction:
    """A primitive that reduces, the ufunc's primitive for two operands, and what it gives for none (None: an error)."""

    reduce: Callable[..., Value]
    combine: Callable[..., Value]
    identity: Any = None

    def __call__(self, a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any) -> Value:
        if not isinstance(a, Traced):
            a = array(a)
        axes = loose_axes(a, axis)
        if dtype is not None:
            a = cast(a, np.dtype(dtype))
        if initial is UNSET and where is True:
            return kept(self.reduce(a, axis=axes), a, axes, keepdims)
        if dtype_of(a).kind in "biu":
            a = cast(a, self._dtype_of(a))
        if initial is not UNSET and initial is not None:
            initial = _start(initial, dtype_of(a))
        else:
            initial = None
        mask = mask_of(where, a)
        if mask is not None:
            a = elementwise.where(mask, a, self._filler(initial))
        if initial is None:
            return kept(self.reduce(a, axis=axes), a, axes, keepdims)
        if self.identity is None and not ops.count(shape_of(a), axes):
            shape = tuple([n for i, n in enumerate(shape_of(a), -len(shape_of(a))) if i not in axes])
            return kept(broadcast_to(initial, shape=shape) if shape else initial, a, axes, keepdims)
        return kept(self.combine(self.reduce(a, axis=axes), initial), a, axes, keepdims)

    def _dtype_of(self, a: Value) -> np.dtype[Any]:
        """That of the result: sums and products of small whole numbers and bools are larger ones."""
        return dtype_of(self.reduce(np.zeros(1, dtype_of(a)), axis=(-1,)))

    def _filler(self, initial: Value | None) -> Value:
        """What stands in for an element that `where=` leaves out."""
        if self.identity is not None:
            return self.identity
        if initial is None:
            name = getattr(self.combine, "name", "")
            raise ValueError(f"reduction operation {name!r} does not have an identity, so to use a where mask one has to specify 'initial'")
        return initial


def _start(initial: Any, dtype: np.dtype[Any]) -> Value:
    initial = array(initial)
    if shape_of(initial):
        raise ValueError("setting an array element with a sequence.")
    return cast(initial, dtype) if isinstance(initial, Traced) else astype(initial, dtype=dtype)


REDUCTIONS: dict[np.ufunc, Reduction] = {
    np.add: Reduction(ops.sum, elementwise.add, 0),
    np.multiply: Reduction(ops.prod, elementwise.multiply, 1),
    np.maximum: Reduction(ops.max, elementwise.maximum),
    np.minimum: Reduction(ops.min, elementwise.minimum),
    np.fmax: Reduction(ops.nanmax, elementwise.fmax),
    np.fmin: Reduction(ops.nanmin, elementwise.fmin),
    np.logaddexp: Reduction(ops.logsumexp, elementwise.logaddexp, -np.inf),
    np.logical_or: Reduction(ops.any, elementwise.logical_or, False),
    np.logical_and: Reduction(ops.all, elementwise.logical_and, True),
}


def _method(ufunc: np.ufunc) -> Callable[..., Value]:
    def reduce(a: Any, axis: Any = 0, dtype: Any = None, keepdims: Any = False, initial: Any = UNSET, where: Any = True) -> Value:
        return REDUCTIONS[ufunc](a, axis, dtype, keepdims, initial, where)

    return reduce


for _ufunc in REDUCTIONS:
    METHODS[_ufunc, "reduce"] = _method(_ufunc)

_sum, _prod, _max, _min, _, _, _, _any, _all = REDUCTIONS.values()


@implements(np.sum)
def sum(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = True
) -> Value:  # fmt: skip
    return _sum(a, axis, dtype, keepdims, initial, where)


@implements(np.prod)
def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = True
) -> Value:  # fmt: skip
    return _prod(a, axis, dtype, keepdims, initial, where)


@implements(np.max, np.amax)
def max(a: Any, axis: Any = None, out: None = None, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = True) -> Value:
    return _max(a, axis, None, keepdims, initial, where)


@implements(np.min, np.amin)
def min(a: Any, axis: Any = None, out: None = None, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = True) -> Value:
    return _min(a, axis, None, keepdims, initial, where)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: Any = UNSET) -> Value:
    return max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims)


@implements(np.any)
def any(a: Any, axis: Any = None, out: None = None, keepdims: Any = UNSET, *, where: Any = True) -> Value:
    return _any(a, axis, None, keepdims, UNSET, where)


@implements(np.all)
def all(a: Any, axis: Any = None, out: None = None, keepdims: Any = UNSET, *, where: Any = True) -> Value:
    return _all(a, axis, None, keepdims, UNSET, where)


_Count = type(np.count_nonzero(()))  # int until NumPy 2.2


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Value:
    a = array(a)
    axes = loose_axes(a, axis)
    count = kept(ops.count_nonzero(a, axis=axes), a, axes, keepdims)
    return _Count(count) if axis is None and isinstance(count, np.generic) else count
