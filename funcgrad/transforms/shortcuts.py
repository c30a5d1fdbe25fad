"""The fast path of what is not elementwise: basic indexing, whole sums, products of vectors and matrices.

As in `fused`, these handle the common operands of `Linearize` and leave the others (None) to the generic path.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from funcgrad.core import Traced, Value, shape_of, tick
from funcgrad.numpy import dispatch
from funcgrad.ops.indexing import scatter_add
from funcgrad.ops.shaping import dense
from funcgrad.transforms.linearize import TABLE, Cotangents, LinTracer, Node, accumulate

_BASIC = {int, slice, NoneType, EllipsisType}
_ndarray = np.ndarray


def grown(x: LinTracer, out: Value, node: Node) -> LinTracer:
    """A tracer of the dtype of `x` over a new node."""
    m = x._main
    t = m.new()
    t._main, t._value, t._node, t._dtype = m, out, node, x._dtype
    t._shape = out.shape if type(out) is _ndarray else shape_of(out)
    return t  # type: ignore[no-any-return]


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
    if isinstance(ct, Traced) or isinstance(before, Traced):
        whole = np.broadcast_to(0.0, shape)[index].shape
        accumulate(acc, i, scatter_add(dense(ct, whole), index=index if type(index) is tuple else (index,), shape=shape))
        return
    if -i not in acc:
        acc[-i] = True
        buffer = np.zeros(shape, dtype)
        if before is not None:
            buffer += before
        acc[i] = before = buffer
    before[index] += ct  # type: ignore[index]


_getitem_generic = LinTracer.__getitem__
LinTracer.__getitem__ = _getitem  # type: ignore[method-assign]


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


def _left(ct: Value, y: Value) -> Value:
    """The cotangent of x in x @ y."""
    if len(shape_of(y)) == 2:
        return y @ ct if len(shape_of(ct)) == 1 else ct @ y.T
    return ct * y if not shape_of(ct) else ct[:, None] * y


def _right(ct: Value, x: Value) -> Value:
    """The cotangent of y in x @ y."""
    if len(shape_of(x)) == 2:
        return ct @ x if len(shape_of(ct)) == 1 else x.T @ ct
    return ct * x if not shape_of(ct) else x[:, None] * ct


def _matmul(x: Any, y: Any) -> Any:
    """Vectors and matrices of one dtype, at least one of them traced."""
    kx, ky = type(x), type(y)
    if kx is LinTracer:
        m, a, dtype = x._main, x._value, x._dtype
        if ky is LinTracer and y._main is m and y._dtype is dtype:
            b = y._value
            if 0 < len(x._shape) < 3 and 0 < len(y._shape) < 3:
                out = a @ b
                return grown(x, out, (tick(), _pull_both, x._node, y._node, a, b, shape_of(out)))
        elif ky is _ndarray and y.dtype is dtype and 0 < y.ndim < 3 and 0 < len(x._shape) < 3:
            out = a @ y
            return grown(x, out, (tick(), _pull_left, x._node, None, m.hold(y), shape_of(out)))
    elif kx is _ndarray and x.dtype is y._dtype and 0 < x.ndim < 3 and 0 < len(y._shape) < 3:
        out = x @ y._value
        return grown(y, out, (tick(), _pull_right, y._node, None, y._main.hold(x), shape_of(out)))
    return None


def _pull_both(node: Node, ct: Value, acc: Cotangents) -> None:
    _, _, p, q, a, b, shape = node
    ct = dense(ct, shape)
    accumulate(acc, p[0], _left(ct, b))
    accumulate(acc, q[0], _right(ct, a))


def _pull_left(node: Node, ct: Value, acc: Cotangents) -> None:
    accumulate(acc, node[2][0], _left(dense(ct, node[5]), node[4]))


def _pull_right(node: Node, ct: Value, acc: Cotangents) -> None:
    accumulate(acc, node[2][0], _right(dense(ct, node[5]), node[4]))


def _dot(x: Any, y: Any) -> Any:
    return _matmul(x, y) if type(x) is LinTracer or type(y) is LinTracer else None


# ---- where NumPy's calls come in

SHORTCUTS: dict[Callable[..., Any], tuple[int, Callable[..., Any]]] = {np.sum: (1, _sum), np.dot: (2, _dot)}
"""NumPy functions with a shortcut, by the number of positional arguments it serves."""


def __array_function__(self: LinTracer, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    if not kwargs:
        count, shortcut = SHORTCUTS.get(func, (-1, None))
        if shortcut is not None and len(args) == count:
            out = shortcut(*args)
            if out is not None:
                return out
    return dispatch.call_function(func, args, kwargs)


def _matmul_or_bind(x: Any, y: Any) -> Any:
    out = _matmul(x, y)
    return dispatch.call_ufunc(np.matmul, "__call__", (x, y), {}) if out is None else out


def _sum_method(self: LinTracer, *args: Any, **kwargs: Any) -> Any:
    return np.sum(self, *args, **kwargs) if args or kwargs else _sum(self)


LinTracer.__array_function__ = __array_function__  # type: ignore[method-assign]
LinTracer.__matmul__ = _matmul_or_bind  # type: ignore[method-assign,assignment]
TABLE.ufuncs[np.matmul] = (_matmul_or_bind, lambda y, x: _matmul_or_bind(x, y))
LinTracer.sum = _sum_method  # type: ignore[attr-defined]
