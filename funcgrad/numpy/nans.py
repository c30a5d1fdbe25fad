"""Reductions that leave nan out."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value, dtype_of
from funcgrad.numpy import cumulative, reductions, statistics
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.reductions import REDUCTIONS, UNSET, kept, loose_axes, mask_of
from funcgrad.numpy.statistics import ddof_of, in_dtype, masked_mean, masked_var, of_numbers
from funcgrad.ops.elementwise import isnan, logical_and, logical_not, root, where

# ---- nan replaced by what changes nothing


def _replaced(a: Any, fill: float) -> Value:
    a = array(a)
    return where(isnan(a), fill, a)


@implements(np.nansum)
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = True
) -> Value:  # fmt: skip
    return reductions.sum(_replaced(a, 0), axis, dtype, None, keepdims, initial, where)


@implements(np.nanprod)
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = True
) -> Value:  # fmt: skip
    return reductions.prod(_replaced(a, 1), axis, dtype, None, keepdims, initial, where)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Value:
    return cumulative.cumsum(_replaced(a, 0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Value:
    return cumulative.cumprod(_replaced(a, 1), axis, dtype)


@implements(np.nanmax)
def nanmax(a: Any, axis: Any = None, out: None = None, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = True) -> Value:
    return REDUCTIONS[np.fmax](a, axis, None, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(a: Any, axis: Any = None, out: None = None, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = True) -> Value:
    return REDUCTIONS[np.fmin](a, axis, None, keepdims, initial, where)


# ---- nan masked


def _present(a: Value, mask: Any) -> Any:
    """What is no nan, within the mask."""
    present = logical_not(isnan(a))
    return present if mask is None else logical_and(present, mask)


@implements(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = UNSET, *, where: Any = True) -> Value:
    a = of_numbers(in_dtype(a, dtype), dtype)
    axes = loose_axes(a, axis)
    return kept(masked_mean(a, _present(a, mask_of(where, a)), axes), a, axes, keepdims)


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: Any = UNSET,
    *, where: Any = True, mean: Any = UNSET, correction: Any = UNSET,
) -> Value:  # fmt: skip
    if dtype_of(a := array(a)).kind in "biu":
        return statistics.var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    ddof = ddof_of(ddof, correction)
    axes = loose_axes(a, axis)
    return kept(masked_var(a, _present(a, mask_of(where, a)), axes, ddof, mean, np.nan, dtype, True), a, axes, keepdims)


@implements(np.nanstd)
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: Any = 0, keepdims: Any = UNSET,
    *, where: Any = True, mean: Any = UNSET, correction: Any = UNSET,
) -> Value:  # fmt: skip
    return root(nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction))
