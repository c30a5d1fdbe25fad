"""`Tracer`: a Tensor's face inside a traced function, and the refusals of what would drop its gradient."""

from __future__ import annotations

import functools
import opcode
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Traced, ground
from funcgrad.numpy import dispatch
from funcgrad.numpy.bridge import AS_IT_IS, bare
from funcgrad.numpy.indexing import index_of
from funcgrad.ops.shaping import unstack
from funcgrad.tensor.tensor import WINDOWS, Tensor, summary

STACK_LIMIT = 4096
"""The largest traced array that `np.asarray` takes apart into an object array of scalars."""

_AS_STRIDED = np.lib.stride_tricks.as_strided.__code__

ITEM_LIMIT = 64
"""Up to here a traced array is iterated by reading each item; longer ones in one step, or it would take quadratic time to go back."""


class Tracer(Tensor, Traced):
    """What a value is inside a traced function: it has a Tensor's face, and an interpreter behind it."""

    __slots__ = ("_dtype", "_main", "_shape", "_value")
    # Born by `T(); t._x = …`, which is what a hot path can afford: nothing of Python's runs in between.
    __init__ = object.__init__
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    def __init_subclass__(cls) -> None:
        AS_IT_IS.add(cls)

    shape = property(lambda self: self._shape, doc="The sizes of the axes.")

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        # Where a sum over an object array has a dtype, `np.mean`, `var` and `std` make a NumPy scalar of it; else they divide it as it is.
        if sys._getframe(1).f_globals.get("__name__") == "numpy._core._methods":
            raise AttributeError("dtype")
        return self._dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The bridge: an object array of scalar tracers, which our functions stack back into one."""
        caller = sys._getframe(1)
        if caller.f_code is _AS_STRIDED:  # strides are bytes, and an object array has others
            raise errors.MissingRuleError("np.lib.stride_tricks.as_strided", WINDOWS)
        if asserts(caller):
            return np.array(ground(self), dtype)
        if dtype is not None and np.dtype(dtype) != np.dtype(object):
            seen = self._seen()
            if not isinstance(seen, Traced):
                return np.array(seen, dtype)
            raise _conversion(f"Conversion to {np.dtype(dtype)}", "Use `np.stack([x, y])` instead of a list, or `x.astype`.")
        if self._dtype.kind == "c":
            raise _conversion("np.array", "It is complex, and NumPy takes Python objects for real numbers. Use `np.stack([x, y])`.")
        out = np.empty(self._shape, object)
        if out.size > STACK_LIMIT:
            raise errors.TooLargeToStackError(out.size, STACK_LIMIT)
        for i in np.ndindex(out.shape):
            out[i] = self[i] if i else self
        return out

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        return dispatch.call_ufunc(ufunc, method, args, kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return dispatch.call_function(func, args, kwargs)

    def _rows(self) -> Sequence[Any]:
        if len(self) <= ITEM_LIMIT:
            return [self[i] for i in range(len(self))]
        return unstack(self, axis=-len(self._shape))  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        return index_of(self, bare(index))

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __index__(self) -> int:
        raise TypeError("only integers can be used as an index; a traced value is inexact. Use `int(x)`.")

    def _number(self) -> Any:
        caller = sys._getframe(2)
        if formats(caller) or asserts(caller):
            return np.asarray(ground(self))
        seen = self._seen()
        if isinstance(seen, Traced):
            if seen._main.closed:
                seen._main.new()  # raises
            raise _conversion(f"{sys._getframe(1).f_code.co_name.strip('_')}()", "Use `np` functions, or `fg.stop_gradient` first.")
        if assigns(user_frame()):  # a look loses nothing, but an array that is filled would
            raise _conversion("float()", "", also=" To note its value, write `a[i] = float(x)`.")
        return np.asarray(seen)

    def _seen(self) -> Any:
        """What may be seen of the value: all of it, down to the first interpreter that does not allow looks."""
        x: Any = self
        while isinstance(x, Traced) and x._main.looks:
            x = x._value
        return x

    def backward(self, ct: Any = None) -> Any:
        """The gradients of a value that was computed from a `Var`: see `fg.backward`."""
        return self._main.backward(self, ct)

    def __format__(self, spec: str) -> str:
        return format(ground(self), spec)

    def __repr__(self) -> str:
        by = "recorded" if self._main.looks else f"by {self._main.label}"
        return f"Traced({summary(np.asarray(ground(self)))}, {by})"

    def __str__(self) -> str:
        return str(ground(self))

    def __reduce__(self) -> Any:
        seen = self._seen()
        if isinstance(seen, Traced):
            raise _conversion("A pickle", "Pickle what the transformation returns.")
        return Tensor, (np.array(seen),)


def user_frame() -> FrameType:
    """The nearest frame outside this package, NumPy and SciPy: where the user's sentence should point."""
    frame = sys._getframe(1)
    while is_library(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
        frame = frame.f_back
    return frame


@functools.lru_cache(4096)
def is_library(module: str) -> bool:
    """Whether a module is of this package, NumPy or SciPy."""
    return module.partition(".")[0] in (__name__.partition(".")[0], "numpy", "scipy")


def user_level() -> int:
    """The stack level of the user's line, for a warning that the caller of this function makes."""
    user, frame, level = user_frame(), sys._getframe(1), 1
    while frame is not user and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level


_ASSIGNMENTS = {opcode.opmap.get("STORE_SUBSCR"), opcode.opmap.get("STORE_SLICE")}


def assigns(frame: FrameType) -> bool:
    """Whether the line that runs there is `a[i] = …`."""
    return frame.f_code.co_code[frame.f_lasti] in _ASSIGNMENTS


def _remainder() -> bytes:
    """The instruction that `a % b` compiles to."""
    code = (lambda a, b: a % b).__code__.co_code
    return next(code[i : i + 2] for i in range(0, len(code), 2) if code[i] == opcode.opmap["BINARY_OP"])


_REMAINDER = _remainder()


def formats(frame: FrameType) -> bool:
    """Whether what runs there is `"%.3f" % x`: of all that `%` may mean, a string alone asks for a Python number."""
    at = frame.f_lasti
    return frame.f_code.co_code[at : at + 2] == _REMAINDER


def asserts(frame: FrameType) -> bool:
    """Whether what runs there is an assertion of `np.testing`, which gives back nothing that could lose a gradient."""
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith("numpy.testing")


def _conversion(what: str, instead: str, also: str = "") -> errors.ConversionError:
    """NumPy says neither for what it wants a number; that it is for `a[i] = x`, the user's line tells."""
    frame = user_frame()
    code = frame.f_code
    if assigns(frame):
        what = "Assignment into an ndarray (`a[i] = x`)"
        instead = f"Use `a = fg.buffer(shape)` and in the end `a.freeze()`, or `np.stack`.{also}"
    return errors.ConversionError(what, code.co_name, f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno}", instead)
