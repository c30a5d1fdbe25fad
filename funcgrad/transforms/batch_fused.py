"""The fast path of `vmap` for what is no operator: primitives applied once to the array at the bottom of nested `vmap`s.

A value mapped by several holds one array, whose first axes are theirs, the oldest first: axes counted from the end are right for all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Value
from funcgrad.ops import contraction, reductions, shaping
from funcgrad.ops.indexing import getitem, scatter_add
from funcgrad.ops.kinds import BY_UFUNC, Elementwise
from funcgrad.ops.summing import summed
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.batch_fast import made, operands, replace, value_of

_BASIC = {int, slice, NoneType, EllipsisType}
_ndarray = np.ndarray

Shape = tuple[int, ...]


def bottom(x: Any) -> tuple[Any, list[Batch]]:
    """The array at the bottom of nested `vmap`s, or what else is there, and these, the newest first."""
    nest = []
    while type(x) is BatchTracer:
        nest.append(x._main)
        x = value_of(x)
    return x, nest


def nested(out: Any, nest: Sequence[Batch]) -> Any:
    """The inverse of `bottom`."""
    for m in reversed(nest):
        out = made(m, out)
    return out


# ---- primitives of one mapped operand, all others fixed


def _getitem(a: Any, lead: Shape, index: Any) -> Any:
    return a[(slice(None),) * len(lead) + index]


def _scatter_add(a: Any, lead: Shape, index: Any, shape: Shape) -> Any:
    out = np.zeros(lead + shape, a.dtype)
    out[(slice(None),) * len(lead) + index] = a
    return out


def _sum_to(a: Any, lead: Shape, shape: Shape) -> Any:
    own = a.shape[len(lead) :]
    more = len(own) - len(shape)
    axes = tuple([i - len(own) for i, n in enumerate(own) if i < more or (shape[i - more] == 1 != n)])
    return summed(a, axes).reshape(lead + shape) if axes else a


def _broadcast_to(a: Any, lead: Shape, shape: Shape) -> Any:
    own = a.shape[len(lead) :]
    return np.broadcast_to(a.reshape(lead + (1,) * (len(shape) - len(own)) + own), lead + shape)


ALONE: dict[Primitive, Callable[..., Any]] = {
    getitem: _getitem,
    scatter_add: _scatter_add,
    shaping.sum_to: _sum_to,
    shaping.broadcast_to: _broadcast_to,
    shaping.reshape: lambda a, lead, shape: a.reshape(lead + shape),
    shaping.transpose: lambda a, lead, axes: a.transpose((*range(len(lead)), *axes)),
    reductions.sum: lambda a, lead, axis: summed(a, axis),
}
"""What a primitive makes of the array `a`, whose first axes are `lead`."""


def _alone(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    if len(args) != 1:
        return None
    a, nest = bottom(args[0])
    return nested(ALONE[prim](a, a.shape[: len(nest)], **params), nest) if type(a) is _ndarray else None


# ---- of several operands

TOGETHER = {shaping.stack, shaping.concatenate}
"""Primitives whose operands all have all lanes."""


def _together(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    arrays, nests = zip(*map(bottom, args), strict=True)
    if any(type(a) is not _ndarray for a in arrays) or any(nest != nests[0] for nest in nests):
        return None
    return nested(prim.impl(*arrays, **params), nests[0])


PRODUCTS = {contraction.matmul, contraction.dot}


def _product(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    """Of two matrices in each lane."""
    x, y = args
    if type(x) is type(y) is BatchTracer and x._main is y._main and len(x._shape) == len(y._shape) == 2:
        return made(x._main, operator.matmul(value_of(x), value_of(y)))
    return None


# ---- ufuncs, met as primitives

_OPERATORS: dict[Any, Callable[..., Any]]
_OPERATORS = {np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv}


def _elementwise(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    function = _OPERATORS.get(prim.impl, prim.impl)
    if len(args) == 1:
        return made(args[0]._main, function(value_of(args[0])))
    found = operands(*args)
    return None if found is None else made(found[0], function(found[1], found[2]))


UFUNCS = {prim for ufunc, prim in BY_UFUNC.items() if type(prim) is Elementwise and ufunc.nout == 1 and ufunc.nin <= 2}

# ---- what `bind` asks

FAST: dict[Primitive, Callable[[Primitive, Sequence[Value], dict[str, Any]], Any]]
FAST = (
    dict.fromkeys(ALONE, _alone)
    | dict.fromkeys(TOGETHER, _together)
    | dict.fromkeys(PRODUCTS, _product)
    | dict.fromkeys(UFUNCS, _elementwise)
)
"""What comes of a primitive at the bottom; None where only its rule in `batching` will do."""


def _process(self: Batch, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    fast = FAST.get(prim)
    if fast is not None:
        try:
            out = fast(prim, args, params)
        except Exception:  # the rule knows which lanes have it
            out = None
        if out is not None:
            return out
    return _generic(self, prim, args, params)


_generic = Batch.process


# ---- basic indexing


def _item(x: BatchTracer, index: Any) -> Any:
    kind = type(index)
    if kind in _BASIC or (kind is tuple and _BASIC.issuperset(map(type, index))):
        a, nest = bottom(x)
        if type(a) is _ndarray:
            try:
                out = a[(slice(None),) * len(nest) + (index if kind is tuple else (index,))]
            except IndexError:
                return _item_generic(x, index)
            return nested(out, nest)
    return _item_generic(x, index)


_item_generic = BatchTracer.__getitem__


# ---- buffers of cotangents


def add_item(acc: dict[int, Any], i: int, ct: Any, index: Any, shape: Shape, dtype: Any) -> bool:
    """Add `ct` at `index` into the cotangent of node `i`, a buffer that nobody else holds; `acc[-i]` marks it. False where it cannot be."""
    before: Any = acc.get(i)
    if -i in acc and type(before) is BatchTracer and _add_at(before, index, ct):
        return True
    a, nest = bottom(ct)
    if not nest or type(a) is not _ndarray:
        return False
    buffer = nested(np.zeros(a.shape[: len(nest)] + shape, dtype), nest)
    if before is not None and not _add_at(buffer, (), before):
        return False
    _add_at(buffer, index, ct)
    acc[i], acc[-i] = buffer, True
    return True


def _add_at(x: BatchTracer, index: Any, ct: Any) -> bool:
    """Add `ct` into a buffer in place; False where it is not an array in those lanes."""
    (whole, nest), (a, own) = bottom(x), bottom(ct)
    if type(whole) is not _ndarray or type(a) is not _ndarray or len(own) > len(nest) or any(m not in nest for m in own):
        return False
    target = whole[(slice(None),) * len(nest) + (index if type(index) is tuple else (index,))]
    more = target.ndim - len(nest) - (a.ndim - len(own))
    target += a[tuple([slice(None) if m in own else None for m in reversed(nest)]) + (None,) * more]
    return True


replace(Batch, "process", _process)
replace(BatchTracer, "__getitem__", _item)
