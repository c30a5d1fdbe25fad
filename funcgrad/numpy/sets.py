"""Sets of values. Which elements stay is constant; each has the derivative of the one it is (of equal ones, the first)."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.indexing import flat
from funcgrad.numpy.ordering import unique
from funcgrad.ops.indexing import Slot, getitem
from funcgrad.ops.kinds import constant
from funcgrad.ops.shaping import cast, concatenate

is_in = constant(lambda x, y, *, invert, kind: np.isin(x, y, invert=invert, kind=kind), name="is_in")
in_order = constant(lambda x: np.argsort(x, stable=True), name="in_order")
pairs = constant(lambda x: np.flatnonzero(x[1:] == x[:-1]), name="pairs")
"""Of a sorted array, where an element is followed by an equal one."""
alone = constant(
    lambda x: np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]) & np.concatenate([x[1:] != x[:-1], [True]])), name="alone"
)
"""Of a sorted array, where the elements are that have no equal one beside them."""
kept = constant(np.flatnonzero, name="flatnonzero")


def _elements(x: Any) -> Value:
    return flat(operand(array(x)))


def _read(x: Value, places: Any) -> Value:
    return getitem(x, places, index=(Slot(0),))


def _both(a: Value, b: Value) -> Value:
    dtype = np.result_type(dtype_of(a), dtype_of(b))
    return concatenate(cast(a, dtype), cast(b, dtype), axis=-1)


@implements(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None) -> Any:
    return is_in(operand(array(element)), operand(array(test_elements)), invert=bool(invert), kind=kind)


if hasattr(np, "in1d"):  # until NumPy 2.3

    @implements(getattr(np, "in1d"))  # noqa: B009  # as an attribute the linter, and newer stubs, refuse it
    def in1d(ar1: Any, ar2: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None) -> Any:
        return isin(_elements(ar1), ar2, invert=invert, kind=kind)


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Value:
    return unique(_both(_elements(ar1), _elements(ar2)))


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Value:
    a, b = _elements(ar1), _elements(ar2)
    if not assume_unique:
        a = unique(a)
    return _read(a, kept(is_in(a, b, invert=True, kind=None)))


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Value:
    a, b = _elements(ar1), _elements(ar2)
    if not assume_unique:
        a, b = unique(a), unique(b)
    both = _both(a, b)
    if not shape_of(both)[0]:
        return both
    both = _read(both, in_order(both))
    return _read(both, alone(both))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: Any = False, return_indices: Any = False) -> Any:
    a, b = _elements(ar1), _elements(ar2)
    first = second = None
    if not assume_unique:
        (a, first), (b, second) = unique(a, return_index=True), unique(b, return_index=True)
    both = _both(a, b)
    order = in_order(both)
    both = _read(both, order)
    at = pairs(both)
    values = _read(both, at)
    if not return_indices:
        return values
    mine, theirs = order[at], order[at + 1] - shape_of(a)[0]
    return values, mine if first is None else _read(first, mine), theirs if second is None else _read(second, theirs)
