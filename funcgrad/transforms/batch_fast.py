"""The fast path of `vmap`: operators and ufuncs of mapped values of one rank, numbers, and arrays of no higher one.

As in `fused`, all other calls go to `bind`, whose meaning these share.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import dtype_of, shape_of
from funcgrad.numpy import dispatch
from funcgrad.ops.kinds import BY_UFUNC
from funcgrad.transforms.batch import Batch, BatchTracer

_ndarray = np.ndarray
_NUMBERS = {float, int, np.float64}


def made(m: Batch, out: Any) -> BatchTracer:
    """A tracer of the lanes in `out`."""
    t: BatchTracer = m.new()
    t._main, t._value, t._epoch = m, out, len(m.kept)
    if type(out) is _ndarray:
        t._shape, t._dtype = out.shape[1:], out.dtype
    else:
        t._shape, t._dtype = shape_of(out)[1:], dtype_of(out)
    return t


def _operand(x: BatchTracer, y: Any) -> Any:
    """What `y` is beside the value of `x`; None where ranks would have to be aligned, or more asked."""
    kind = type(y)
    if kind in _NUMBERS:
        return y
    if kind is BatchTracer:
        m = x._main
        if y._main is m and len(y._shape) == len(x._shape):
            return y._value if y._epoch == len(m.kept) else m.value_of(y)
        return None
    return y if kind is _ndarray and y.ndim <= len(x._shape) and not y.dtype.hasobject else None


def _binary(ufunc: np.ufunc, function: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def forth(x: Any, y: Any) -> Any:
        b = _operand(x, y)
        if b is None:
            return dispatch.call_ufunc(ufunc, "__call__", (x, y), {})
        m = x._main
        try:
            out = function(x._value if x._epoch == len(m.kept) else m.value_of(x), b)
        except Exception:  # the generic path knows which lanes have it
            return dispatch.call_ufunc(ufunc, "__call__", (x, y), {})
        return made(m, out)

    def back(y: Any, x: Any) -> Any:
        a = _operand(y, x)
        if a is None:
            return dispatch.call_ufunc(ufunc, "__call__", (x, y), {})
        m = y._main
        try:
            out = function(a, y._value if y._epoch == len(m.kept) else m.value_of(y))
        except Exception:
            return dispatch.call_ufunc(ufunc, "__call__", (x, y), {})
        return made(m, out)

    return forth, back


def _unary(ufunc: np.ufunc, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        m = x._main
        try:
            out = function(m.value_of(x))
        except Exception:
            return dispatch.call_ufunc(ufunc, "__call__", (x,), {})
        return made(m, out)

    return apply


class _Table(dict[Any, Any]):
    """ufunc -> its fast functions, or None where only `bind` will do."""

    def __missing__(self, ufunc: np.ufunc) -> Any:
        found = None
        if ufunc in BY_UFUNC and ufunc.nout == 1 and ufunc.signature is None:
            found = (_unary(ufunc, ufunc),) if ufunc.nin == 1 else _binary(ufunc, ufunc) if ufunc.nin == 2 else None
        self[ufunc] = found
        return found


TABLE = _Table()


def __array_ufunc__(self: BatchTracer, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
    if method == "__call__" and not kwargs:
        fast = TABLE[ufunc]
        if fast is not None:
            return fast[0](*args) if type(args[0]) is BatchTracer else fast[1](args[1], args[0])
    return dispatch.call_ufunc(ufunc, method, args, kwargs)


_OPERATORS = {
    "add": (np.add, operator.add), "sub": (np.subtract, operator.sub), "mul": (np.multiply, operator.mul),
    "truediv": (np.divide, operator.truediv), "floordiv": (np.floor_divide, operator.floordiv), "mod": (np.remainder, operator.mod),
    "pow": (np.power, operator.pow), "lt": (np.less, operator.lt), "le": (np.less_equal, operator.le), "gt": (np.greater, operator.gt),
    "ge": (np.greater_equal, operator.ge), "eq": (np.equal, operator.eq), "ne": (np.not_equal, operator.ne),
}  # fmt: skip


def install() -> None:
    """Give mapped values these operators."""
    BatchTracer.__array_ufunc__ = __array_ufunc__
    for name, (ufunc, function) in _OPERATORS.items():
        forth, back = _binary(ufunc, function)
        setattr(BatchTracer, f"__{name}__", forth)
        if len(name) > 2:
            setattr(BatchTracer, f"__r{name}__", back)
    for name, one in {"neg": np.negative, "pos": np.positive, "abs": np.absolute}.items():
        setattr(BatchTracer, f"__{name}__", _unary(one, getattr(operator, name)))


install()
