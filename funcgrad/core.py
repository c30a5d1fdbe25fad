"""The machine: what a primitive, an interpreter and a tracer are, and `bind`, which brings them together.

The interpreter created last among the arguments' tracers gives a primitive its meaning; where no argument is a tracer,
NumPy does. Nothing here is global but one counter, so threads share nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from funcgrad import errors

Value = Any
"""An ndarray, a NumPy or Python scalar, or a tracer of an older interpreter."""

_ndarray, _float64 = np.ndarray, np.float64
tick = itertools.count(1).__next__
"""The one counter: interpreters and nodes are numbered in the order of their birth (`next` on a count is atomic)."""


class Traced:
    """The mark of every tracer: a stand-in for the value `_value`, owned by the interpreter `_main`."""

    __slots__ = ()
    _main: Interpreter
    _value: Value
    _shape: tuple[int, ...]
    _dtype: np.dtype[Any]


@attrs.frozen(eq=False, repr=False)
class Primitive:
    """An operation: its name and the NumPy computation. Its kind (see `ops.kinds`) adds the derivative."""

    name: str
    impl: Callable[..., Any]

    def __call__(self, *args: Value, **params: Any) -> Any:
        return bind(self, args, params)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} {self.name}>"


class Spec:
    """What a transpose may know of the operand it is linear in. (Made for every node: slots, and never written again.)"""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype


@attrs.frozen(eq=False)
class Label:
    """Which transformation of which function, asked for on which line: what errors about tracers say."""

    transformation: str
    function: str
    filename: str
    line: int

    @property
    def place(self) -> str:
        """The file's last part and the line, as in `train.py:41`."""
        return f"{self.filename.rpartition('/')[2]}:{self.line}"

    def __str__(self) -> str:
        return f"{self.transformation}({self.function})"

    def ended(self) -> Any:
        """Stands in the place of `Interpreter.new` once the interpreter is closed."""
        raise errors.LeakedTracerError(str(self), self.function, self.place, "ended")


class Interpreter:
    """A meaning for primitives. `new` makes its tracers, until `close` takes that away.

    **Law:** an interpreter holds only values of interpreters older than itself.
    """

    __slots__ = ("closed", "label", "new", "order", "tensors")
    label: Label
    new: Callable[[], Any]
    order: int
    closed: bool
    tensors: bool  # whether an input is a Tensor, so that what comes of the inputs is one as well
    looks: ClassVar[bool] = False
    """Whether its values may be turned into plain numbers, because nothing is lost by it."""
    records: ClassVar[bool] = False
    """Whether a look is written down, so that one which only saves work had better not be made."""

    def process(self, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
        """Give `prim` its meaning on `args`, of which at least one is a tracer of this interpreter."""
        raise NotImplementedError

    def parts(self, x: Traced) -> tuple[Value, ...]:
        """The values one floor down that stand in for `x`; () where only `bind` can tell."""
        return ()

    def is_input(self, x: Traced) -> bool:
        """Whether the value of `x` may be the very array that the caller passed in."""
        return False

    def backward(self, x: Traced, ct: Any) -> Any:
        """What `x.backward(ct)` means."""
        raise errors.NotRecordedError(f"a value of {self.label}", self.label.transformation)

    def close(self) -> None:
        """From here on, computing with a tracer of this interpreter is an error (at no cost until then)."""
        self.new = self.label.ended
        self.closed = True


def bind(prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
    """Apply `prim`: the interpreter created last among those of `args` decides what that means."""
    top: Interpreter | None = None
    for a in args:
        if isinstance(a, Traced) and (top is None or a._main.order > top.order):
            top = a._main
    if top is None:
        return prim.impl(*args, **params)
    return top.process(prim, args, params)


def shape_of(x: Value) -> tuple[int, ...]:
    """The shape of a value; that of a tracer is known without asking anyone."""
    kind = type(x)
    shape: tuple[int, ...] = x.shape if kind is _ndarray or kind is _float64 else x._shape if isinstance(x, Traced) else np.shape(x)
    return shape


def dtype_of(x: Value) -> np.dtype[Any]:
    """The dtype of a value; Python numbers have the dtype NumPy gives them when they stand alone."""
    if isinstance(x, Traced):
        return x._dtype
    dtype: np.dtype[Any] = x.dtype if isinstance(x, (np.ndarray, np.generic, Frozen)) else np.asarray(x).dtype
    return dtype


def spec_of(x: Value) -> Spec:
    return Spec(shape_of(x), dtype_of(x))


def floors(x: Value) -> Iterator[Traced]:
    """The tracers that a value is made of, from the newest down to the ground."""
    while isinstance(x, Traced):
        yield x
        x = x._value


def ground(x: Value) -> Value:
    """The bare value at the bottom. A look that decides anything must not use this, but go through `bind`."""
    while isinstance(x, Traced):
        x = x._value
    return x


class Frozen:
    """The mark of everything with the face of an array: a `Tensor` holds its read-only ndarray in `_array`."""

    __slots__ = ()
    _array: np.ndarray[Any, Any]
    dtype: Any
