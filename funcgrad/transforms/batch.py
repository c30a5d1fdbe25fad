"""Many lanes at once: a value of `vmap` holds those of all its lanes, along a batch axis that is always the first one.

`_shape` is the shape in one lane. Which rule batches which primitive stands in `batching`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Interpreter, Label, Primitive, Traced, Value, dtype_of, ground, shape_of, tick
from funcgrad.numpy import dispatch
from funcgrad.ops import reductions
from funcgrad.ops.indexing import getitem
from funcgrad.ops.kinds import BY_UFUNC
from funcgrad.ops.shaping import reshape
from funcgrad.tensor import Tracer, user_frame
from funcgrad.transforms.batching import batched, by_lane


class BatchTracer(Tracer):
    """A value in each lane."""

    __slots__ = ()
    _main: Batch

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if func in OF_WHOLE_NUMBERS and func not in dispatch.FUNCTIONS:
            return _by_lane(func, args, kwargs)
        return dispatch.call_function(func, args, kwargs)

    def __bool__(self) -> bool:
        return bool(self._main.ask(self, bool))

    def __int__(self) -> int:
        return int(self._main.ask(self, int))

    def __index__(self) -> int:
        if self._dtype.kind not in "iu":
            raise TypeError("only integers can be used as an index; this mapped value is none. Use `int(x)`.")
        return int(self._main.ask(self, operator.index))

    def _is_plain(self) -> bool:
        """Whether nothing but lanes is below, so that no derivative is lost by a look."""
        value: Any = self
        while isinstance(value, BatchTracer):
            value = value._value
        return not isinstance(value, Traced)

    def _number(self) -> Any:
        return np.asarray(ground(self._main.agreed(self, "float"))) if self._is_plain() else super()._number()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if dtype is None or np.dtype(dtype) == np.dtype(object) or not self._is_plain():
            return super().__array__(dtype, copy)
        return np.array(ground(self._main.agreed(self, "array")), dtype)

    def __format__(self, spec: str) -> str:
        return str(ground(self))


class Batch(Interpreter):
    """Computes all lanes by one operation, one floor down."""

    __slots__ = ("size",)

    def __init__(self, label: Label, size: int) -> None:
        self.order = tick()
        self.label = label
        self.new = BatchTracer
        self.closed = self.tensors = False
        self.size = size

    def trace(self, value: Value) -> BatchTracer:
        """A tracer of the lanes in `value`."""
        t = self.new()
        t._main, t._value, t._shape, t._dtype = self, value, shape_of(value)[1:], dtype_of(value)
        return t  # type: ignore[no-any-return]

    def process(self, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
        values, mapped = [], []
        for a in args:
            mine = type(a) is BatchTracer and a._main is self
            values.append(a._value if mine else a)
            mapped.append(mine)
        out = batched(self, prim, values, mapped, params)
        return tuple(map(self.trace, out)) if type(out) is tuple else self.trace(out)

    def parts(self, x: Any) -> tuple[Value, ...]:
        return (x._value,)

    def is_input(self, x: Any) -> bool:
        return True  # a lane may be read without a copy

    # ---- looks: every one is asked one floor down, so that outer transformations take part

    def ask(self, x: BatchTracer, kind: Callable[[Any], Any]) -> Any:
        """What `kind` (bool, int…) makes of the one number that every lane has."""
        if int(np.prod(x._shape)) != 1:
            return kind(np.zeros(x._shape, x._dtype))  # raises NumPy's sentence
        lanes = reshape(x._value, shape=(self.size,))
        if kind is bool and x._dtype.kind != "b":
            lanes = BY_UFUNC[np.not_equal](lanes, 0)
        elif kind is int and x._dtype.kind == "f":
            lanes = BY_UFUNC[np.trunc](lanes)
        return kind(self._same(lanes, kind.__name__))

    def agreed(self, x: BatchTracer, kind: str) -> Value:
        """The value that all lanes share."""
        while isinstance(x, BatchTracer):
            x = x._main._same(x._value, kind)
        return x

    def _same(self, lanes: Value, kind: str) -> Value:
        if not self.size:
            raise errors.EmptyBatchError(str(self.label), kind, _place())
        first = getitem(lanes, index=(0,))
        same = BY_UFUNC[np.equal](lanes, first)
        if not bool(reductions.all(same, axis=tuple(range(-len(shape_of(same)), 0)))):
            raise errors.LanesDifferError(str(self.label), kind, _place())
        return first


# ---- what is no primitive, since it has no derivative

OF_WHOLE_NUMBERS = {np.ix_, np.packbits, np.unpackbits, np.ravel_multi_index, np.unravel_index}


def _by_lane(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function of whole numbers, one lane after the other."""
    given, treedef = pytree.flatten((args, kwargs))
    main = max((x._main for x in given if isinstance(x, Traced)), key=lambda m: m.order)
    if not isinstance(main, Batch):
        return dispatch.call_function(func, args, kwargs)  # raises
    mapped = [isinstance(x, Traced) and x._main is main for x in given]
    inputs = [x._value if is_mapped else x for x, is_mapped in zip(given, mapped, strict=True)]
    out_def = None

    def of_lane(*lane: Any) -> tuple[Any, ...]:
        nonlocal out_def
        new_args, new_kwargs = treedef.unflatten(lane)
        out, out_def = pytree.flatten(func(*new_args, **new_kwargs))
        return tuple(out)

    outs = by_lane(main, Primitive(dispatch.name_of(func), of_lane), inputs, mapped, {})
    return out_def.unflatten(list(map(main.trace, outs)))  # type: ignore[attr-defined]


def _place() -> tuple[str, str]:
    """The function and the line that looks."""
    frame = user_frame()
    return frame.f_code.co_name, f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
