"""The fast path of what is not elementwise: basic indexing, whole sums, products of vectors and matrices.

As in `fused`, these handle the common operands of `Linearize` and leave the others (None) to the generic path.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import matmul
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from funcgrad.core import Traced, Value, shape_of, tick
from funcgrad.numpy import dispatch
from funcgrad.ops.indexing import scatter_add
from funcgrad.ops.shaping import dense
from funcgrad.transforms.batch_fused import add_item
from funcgrad.transforms.linearize import TABLE, LinTracer
from funcgrad.transforms.walk import ADDITIVE, Cotangents, Node, accumulate

_BASIC = {int, slice, NoneType, EllipsisType}
_ndarray = np.ndarray


def grown(x: LinTracer, out: Value, node: Node) -> LinTracer:
    """A tracer of the dtype of `x` over a new node."""
    m = x._main
    t: LinTracer = m.new()
    t._main, t._value, t._node, t._dtype = m, out, node, x._dtype
    t._shape = shape_of(out)
    return t


# ---- basic indexing


def _getitem(x: LinTracer, index: Any) -> Any:
    kind = type(index)
    if kind in _BASIC or (kind is tuple and _BASIC.issuperset(map(type, index))):
        out = x._value[index]
        return grown(x, out, (tick(), _pull_item, x._node, None, index, x._shape, x._dtype))
    return _getitem_generic(x, index)


def _pull_item(node: Node, ct: Value, acc: Cotangents) -> None:
    """Add into one buffer of zeros per operand, which nobody else holds: `acc[-i]` marks it."""
    _, _, p, _, index, shape, dtype = node
    i = p[0]
    before = acc.get(i)
    if not shape or isinstance(ct, Traced) or isinstance(before, Traced):  # a sum of 0-d buffers would be a scalar
        if add_item(acc, i, ct, index, shape, dtype):
            return
        acc.pop(-i, None)
        whole = np.broadcast_to(0.0, shape)[index].shape
        accumulate(acc, i, scatter_add(dense(ct, whole), index=index if type(index) is tuple else (index,), shape=shape))
        return
    if -i not in acc:
        acc[-i] = True
        acc[i] = np.zeros(shape, dtype)
        if before is not None:
            acc[i] += before
    acc[i][index] += ct


ADDITIVE.add(_pull_item)
_getitem_generic = LinTracer.__getitem__
LinTracer.__getitem__ = _getitem


# ---- whole sums


def _sum(x: Any) -> Any:
    if type(x) is not LinTracer:
        return None
    a = x._value
    out = np.add.reduce(a, None) if type(a) is _ndarray else np.sum(a)
    return grown(x, out, (tick(), _pull_sum, x._node, None))


def _pull_sum(node: Node, ct: Value, acc: Cotangents) -> None:
    """A 0-d cotangent stands for a uniform one."""
    i = node[2][0]
    acc[i] = acc.pop(i) + ct if i in acc else ct


# ---- products of vectors and matrices


def _product(x: Any, y: Any, product: Callable[[Any, Any], Any] = np.dot) -> Any:
    """Vectors and matrices of one dtype, at least one of them traced."""
    if type(x) is LinTracer:
        a, nx, m, dtype, p = x._value, len(x._shape), x._main, x._dtype, x._node
        if type(y) is LinTracer and y._main is m and y._dtype is dtype:
            b, ny, q = y._value, len(y._shape), y._node
        elif type(y) is _ndarray and y.dtype is dtype:
            b, ny, q = y, y.ndim, None
        else:
            return None
    elif type(x) is _ndarray and type(y) is LinTracer and x.dtype is y._dtype:
        a, nx, p = x, x.ndim, None
        b, ny, m, dtype, q = y._value, len(y._shape), y._main, y._dtype, y._node
    else:
        return None
    pulls = _PULLS.get((nx, ny))
    if pulls is None:
        return None
    out = product(a, b)
    shape = shape_of(out)
    node: Node
    if q is None:
        node = (tick(), pulls[0], p, None, m.hold(b), shape)
    elif p is None:
        node = (tick(), pulls[1], q, None, m.hold(a), shape)
    else:
        node = (tick(), pulls[2], p, q, a, b, shape)
    t = m.new()
    t._main, t._value, t._node, t._shape, t._dtype = m, out, node, shape, dtype
    return t


def _pulls(left: Callable[[Value, Value], Value], right: Callable[[Value, Value], Value]) -> tuple[Any, Any, Any]:
    """The pulls of a @ b in a alone, in b alone, in both; `left(ct, b)` and `right(ct, a)` are its transposes."""

    def pull_left(node: Node, ct: Value, acc: Cotangents) -> None:
        _, _, p, _, b, shape = node
        accumulate(acc, p[0], left(dense(ct, shape) if shape else ct, b))

    def pull_right(node: Node, ct: Value, acc: Cotangents) -> None:
        _, _, q, _, a, shape = node
        accumulate(acc, q[0], right(dense(ct, shape) if shape else ct, a))

    def pull_both(node: Node, ct: Value, acc: Cotangents) -> None:
        _, _, p, q, a, b, shape = node
        if shape and (type(ct) is not _ndarray or ct.shape != shape):
            ct = dense(ct, shape)
        i, g = p[0], left(ct, b)
        acc[i] = acc.pop(i) + g if i in acc else g
        i, g = q[0], right(ct, a)
        acc[i] = acc.pop(i) + g if i in acc else g

    return pull_left, pull_right, pull_both


def _pull_vectors(node: Node, ct: Value, acc: Cotangents) -> None:
    """Of both of two vectors, the most frequent product of all."""
    i, g = node[2][0], ct * node[5]
    acc[i] = acc.pop(i) + g if i in acc else g
    i, g = node[3][0], ct * node[4]
    acc[i] = acc.pop(i) + g if i in acc else g


_PULLS = {
    (1, 1): (*_pulls(lambda ct, b: ct * b, lambda ct, a: ct * a)[:2], _pull_vectors),
    (2, 1): _pulls(lambda ct, b: ct[:, None] * b, lambda ct, a: ct @ a),
    (1, 2): _pulls(lambda ct, b: b @ ct, lambda ct, a: a[:, None] * ct),
    (2, 2): _pulls(lambda ct, b: ct @ b.T, lambda ct, a: a.T @ ct),
}
"""By the number of axes of the two operands."""


# ---- where NumPy's calls come in

SHORTCUTS: dict[tuple[Callable[..., Any], int], Callable[..., Any]] = {(np.sum, 1): _sum, (np.dot, 2): _product}
"""NumPy functions with a shortcut, and the number of positional arguments it serves."""


def __array_function__(self: LinTracer, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    if not kwargs:
        shortcut = SHORTCUTS.get((func, len(args)))
        if shortcut is not None:
            out = shortcut(*args)
            if out is not None:
                return out
    return dispatch.call_function(func, args, kwargs)


def _matmul_or_bind(x: Any, y: Any) -> Any:
    out = _product(x, y, matmul)
    return dispatch.call_ufunc(np.matmul, "__call__", (x, y), {}) if out is None else out


def _sum_method(self: LinTracer, *args: Any, **kwargs: Any) -> Any:
    return np.sum(self, *args, **kwargs) if args or kwargs else _sum(self)


LinTracer.__array_function__ = __array_function__
LinTracer.__matmul__ = _matmul_or_bind
TABLE.ufuncs[np.matmul] = (_matmul_or_bind, lambda y, x: _matmul_or_bind(x, y))
LinTracer.sum = _sum_method
