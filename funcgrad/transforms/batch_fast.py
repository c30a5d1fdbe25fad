"""The fast path of `vmap`: operators and ufuncs of mapped values, numbers, arrays, and what older `vmap`s map.

As in `fused`, all other calls go to `bind`, whose meaning these share. Operands of fewer axes get theirs here, without a primitive.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import Primitive, dtype_of, shape_of
from funcgrad.numpy import dispatch
from funcgrad.ops import special
from funcgrad.ops.shaping import reshape
from funcgrad.tensor import methods
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


def value_of(x: BatchTracer) -> Any:
    """The value in those lanes that are still there."""
    return x._value if x._epoch == len(x._main.kept) else x._main.value_of(x)


def widened(x: Any, at: int, more: int) -> Any:
    """`more` axes of length 1 in front of the axis `at`."""
    if type(x) is BatchTracer:
        return made(x._main, widened(value_of(x), at + 1, more))
    shape = shape_of(x)
    shape = (*shape[:at], *(1,) * more, *shape[at:])
    return x.reshape(shape) if type(x) is _ndarray else reshape(x, shape=shape)


def operands(x: Any, y: Any) -> tuple[Batch, Any, Any] | None:
    """The newest `vmap` of two operands and their values in its lanes, ranks aligned; None where more must be asked."""
    if type(x) is not BatchTracer:
        return _beside(y, x, True)
    if type(y) is not BatchTracer:
        return _beside(x, y, False)
    m, n = x._main, y._main
    if m is not n:
        return _beside(x, y, False) if m.order > n.order else _beside(y, x, True)
    a, b = value_of(x), value_of(y)
    more = len(x._shape) - len(y._shape)
    if more:
        a, b = (a, widened(b, 1, more)) if more > 0 else (widened(a, 1, -more), b)
    return m, a, b


def _beside(x: BatchTracer, y: Any, swapped: bool) -> tuple[Batch, Any, Any] | None:
    """`y` is the same in all lanes of `x`."""
    kind, a = type(y), value_of(x)
    if kind not in _NUMBERS:
        if kind is BatchTracer:
            more = len(y._shape) - len(x._shape)
        elif kind is _ndarray and not y.dtype.hasobject:
            more = y.ndim - len(x._shape)
        else:
            return None
        if more > 0:
            a = widened(a, 1, more)
    return (x._main, y, a) if swapped else (x._main, a, y)


def _binary(ufunc: np.ufunc, function: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def forth(x: Any, y: Any) -> Any:
        found = operands(x, y)
        if found is None:
            return dispatch.call_ufunc(ufunc, "__call__", (x, y), {})
        m, a, b = found
        try:
            out = function(a, b)
        except Exception:  # the generic path knows which lanes have it
            return dispatch.call_ufunc(ufunc, "__call__", (x, y), {})
        return made(m, out)

    return forth, lambda y, x: forth(x, y)


def _unary(ufunc: np.ufunc, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(x: Any) -> Any:
        m = x._main
        try:
            out = function(value_of(x))
        except Exception:
            return dispatch.call_ufunc(ufunc, "__call__", (x,), {})
        return made(m, out)

    return apply


def _power(forth: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Lanes are an array, and so might be squared where one example is not."""
    return lambda x, y: methods.power(x, y) if x._dtype.kind == "b" else forth(x, y)


class _Table(dict[Any, Any]):
    """ufunc -> its fast functions, or None where only `bind` will do."""

    def __missing__(self, ufunc: np.ufunc) -> Any:
        found = None
        if isinstance(special.implementation(ufunc), Primitive) and ufunc.nout == 1 and ufunc.signature is None:
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


REPLACED: list[tuple[type, str, Any]] = []
"""What the fast path has put into the place of a class's own attribute, or None of an inherited one: the tests take it away."""


def replace(cls: type, name: str, fast: Any) -> None:
    REPLACED.append((cls, name, vars(cls).get(name)))
    setattr(cls, name, fast)


def install() -> None:
    """Give mapped values these operators."""
    replace(BatchTracer, "__array_ufunc__", __array_ufunc__)
    for name, (ufunc, function) in _OPERATORS.items():
        forth, back = _binary(ufunc, function)
        replace(BatchTracer, f"__{name}__", _power(forth) if name == "pow" else forth)
        if len(name) > 2:
            replace(BatchTracer, f"__r{name}__", back)
    for name, one in {"neg": np.negative, "pos": np.positive, "abs": np.absolute}.items():
        replace(BatchTracer, f"__{name}__", _unary(one, getattr(operator, name)))


install()
