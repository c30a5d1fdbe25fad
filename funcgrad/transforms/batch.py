"""Many lanes at once: a value of `vmap` holds those of all its lanes, along a batch axis that is always the first one.

`_shape` is the shape in one lane. Which rule batches which primitive stands in `batching`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Interpreter, Label, Primitive, Traced, Value, bind, dtype_of, ground, shape_of, tick
from funcgrad.numpy import dispatch
from funcgrad.ops import reductions
from funcgrad.ops.indexing import Slot, getitem
from funcgrad.ops.kinds import BY_UFUNC, Structured
from funcgrad.ops.shaping import reshape
from funcgrad.tensor import Tracer, user_frame
from funcgrad.transforms.batching import batched, by_lane, lane_of


class BatchTracer(Tracer):
    """A value in each lane. `_epoch` counts the narrowings that `_value` has taken part in."""

    __slots__ = ("_epoch",)
    _main: Batch
    _epoch: int

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
        if not self._is_plain():
            return super()._number()
        if math.prod(self._shape) != 1:
            return np.asarray(self._main.agreed(self, "tolist"))
        if self._dtype.kind == "f":
            self._main.ask(np.signbit(self), bool)  # -0.0 and 0.0 are equal, and not the same
        return np.full(self._shape, self._main.ask(self, self._dtype.type), self._dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if dtype is None or np.dtype(dtype) == np.dtype(object) or not self._is_plain():
            return super().__array__(dtype, copy)
        return np.array(self._main.agreed(self, "array"), dtype)

    def __format__(self, spec: str) -> str:
        return str(ground(self))


class Batch(Interpreter):
    """Computes all lanes by one operation, one floor down.

    `lanes` are the numbers of those that this run computes. Where the lanes differ in what they answer to a look, the run *narrows* to
    those with the most frequent answer and goes on; the others are put into `queue`, for runs of their own. Values that are older than
    a narrowing take part in it when they are next used. Without a queue, to differ is an error.
    """

    __slots__ = ("kept", "lanes", "looks_at_errors", "place", "queue", "size")
    lanes: Any
    kept: list[Any]
    queue: list[Any] | None
    place: tuple[str, str]

    def __init__(self, label: Label, size: int, queue: list[Any] | None = None, lanes: Any = None) -> None:
        self.order = tick()
        self.label = label
        self.new = BatchTracer
        self.closed = self.tensors = False
        self.size, self.lanes, self.queue, self.kept = size, lanes, queue, []
        self.place = ("", "")
        self.looks_at_errors = False  # whether a user's function runs, which may catch them

    def trace(self, value: Value) -> BatchTracer:
        """A tracer of the lanes in `value`."""
        t = self.new()
        t._main, t._value, t._shape, t._dtype, t._epoch = self, value, shape_of(value)[1:], dtype_of(value), len(self.kept)
        return t  # type: ignore[no-any-return]

    def value_of(self, x: BatchTracer) -> Value:
        """The value in those lanes that are still there."""
        if x._epoch != len(self.kept):
            for kept in self.kept[x._epoch :]:
                x._value = rows(x._value, kept)
            x._epoch = len(self.kept)
        return x._value

    def process(self, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
        if type(prim) is Structured:
            return prim.apply(args, params)
        values, mapped = [], []
        for a in args:
            mine = type(a) is BatchTracer and a._main is self
            values.append(self.value_of(a) if mine else a)
            mapped.append(mine)
        try:
            out = batched(self, prim, values, mapped, params)
        except errors.FuncgradError:
            raise
        except Exception as error:
            if not self.looks_at_errors or not self._narrowed_by_error(prim, values, mapped, params, error):
                raise
            return self.process(prim, args, params)
        return tuple(map(self.trace, out)) if type(out) is tuple else self.trace(out)

    def _narrowed_by_error(
        self, prim: Primitive, values: list[Value], mapped: list[bool], params: dict[str, Any], error: Exception
    ) -> bool:
        """An error is a look too: it is raised in those lanes alone that have it, for the function may catch it."""
        fails = np.array(
            [raises(prim, [lane_of(v, i) if b else v for v, b in zip(values, mapped, strict=True)], params) for i in range(self.size)]
        )
        if fails.all() or not fails.any():
            return False
        self.place = _place()
        if self.queue is None:
            raise errors.LanesDifferError(str(self.label), prim.name, self.place) from error
        self._narrow(grouped(fails))
        return True

    def _narrow(self, groups: list[Any]) -> Any:
        """Go on with the largest group, and leave the others for later runs."""
        first = max(groups, key=len)
        assert self.queue is not None
        self.queue += [self.lanes[those] for those in groups if those is not first]
        self.lanes = self.lanes[first]
        self.kept.append(first)
        self.size = len(first)
        return first

    def parts(self, x: Any) -> tuple[Value, ...]:
        return (self.value_of(x),)

    def is_input(self, x: Any) -> bool:
        return True  # a lane may be read without a copy

    # ---- looks: every one is asked one floor down, so that outer transformations take part

    def ask(self, x: Any, kind: Callable[[Any], Any]) -> Any:
        """What `kind` (bool, int…) makes of the one number that every lane has; from here on, in the lanes where it is that."""
        if math.prod(x._shape) != 1:
            return kind(np.zeros(x._shape, x._dtype))  # raises NumPy's sentence
        if self.closed:
            self.new()  # raises
        lanes = reshape(self.value_of(x), shape=(self.size,))
        if kind is bool and type(lanes) is np.ndarray and self.size:
            lanes = lanes != 0
            yes = np.count_nonzero(lanes)
            if yes == self.size or not yes:
                return yes > 0
            self.place = _place()
            return self._narrowed(lanes, kind)
        elif kind is bool and x._dtype.kind != "b":
            lanes = BY_UFUNC[np.not_equal](lanes, 0)
        elif kind is int and x._dtype.kind == "f":
            lanes = BY_UFUNC[np.trunc](lanes)
        if self._are_same(lanes, kind.__name__):
            return kind(getitem(lanes, index=(0,)))
        return self._narrowed(lanes, kind)

    def _narrowed(self, lanes: Value, kind: Callable[[Any], Any]) -> Any:
        """The most frequent of the answers, which differ."""
        if self.queue is None:
            raise errors.LanesDifferError(str(self.label), kind.__name__, self.place)
        answers = lanes if type(lanes) is np.ndarray else np.array([kind(lane_of(lanes, i)) for i in range(self.size)])
        first = self._narrow(grouped(answers))
        return kind(lane_of(rows(lanes, first), 0))

    def agreed(self, x: BatchTracer, kind: str) -> Value:
        """The value that all lanes share."""
        while isinstance(x, BatchTracer):
            m = x._main
            value = m.value_of(x)
            if not m._are_same(value, kind):
                raise errors.LanesDifferError(str(m.label), kind, m.place)
            x = getitem(value, index=(0,))
        return x

    def _are_same(self, lanes: Value, kind: str) -> bool:
        """Whether all lanes have the value of the first."""
        if not self.size:
            raise errors.EmptyBatchError(str(self.label), kind, _place())
        if self.size == 1:
            return True
        same = BY_UFUNC[np.equal](lanes, getitem(lanes, index=(slice(0, 1),)))
        if bool(reductions.all(same, axis=tuple(range(-len(shape_of(same)), 0)))):
            return True
        self.place = _place()
        return False


def raises(prim: Primitive, args: list[Value], params: dict[str, Any]) -> bool:
    try:
        bind(prim, args, params)
    except errors.FuncgradError:
        raise
    except Exception:
        return True
    return False


def grouped(answers: Any) -> list[Any]:
    """The numbers of the lanes that have the same answer, for each answer."""
    if answers.dtype == bool:
        return [np.flatnonzero(~answers), np.flatnonzero(answers)]
    _, group, counts = np.unique(answers, return_inverse=True, return_counts=True)
    return np.split(np.argsort(group, stable=True), np.cumsum(counts)[:-1])


def rows(x: Value, which: Any) -> Value:
    """The lanes with these numbers."""
    return x[which] if type(x) is np.ndarray else getitem(x, which, index=(Slot(0),))


# ---- what is no primitive, since it has no derivative

OF_WHOLE_NUMBERS = {np.ix_, np.packbits, np.unpackbits, np.ravel_multi_index, np.unravel_index}


def _by_lane(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function of whole numbers, one lane after the other."""
    given, treedef = pytree.flatten((args, kwargs))
    main = max((x._main for x in given if isinstance(x, Traced)), key=lambda m: m.order)
    if not isinstance(main, Batch):
        return dispatch.call_function(func, args, kwargs)  # raises
    mapped = [isinstance(x, Traced) and x._main is main for x in given]
    inputs = [main.value_of(x) if is_mapped else x for x, is_mapped in zip(given, mapped, strict=True)]
    out_def: Any = None

    def of_lane(*lane: Any) -> tuple[Any, ...]:
        nonlocal out_def
        new_args, new_kwargs = treedef.unflatten(lane)
        out, out_def = pytree.flatten(func(*new_args, **new_kwargs))
        return tuple(out)

    outs = by_lane(main, Primitive(dispatch.name_of(func), of_lane), inputs, mapped, {})
    return out_def.unflatten(list(map(main.trace, outs)))


def _place() -> tuple[str, str]:
    """The function and the line that looks."""
    frame = user_frame()
    return frame.f_code.co_name, f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"
