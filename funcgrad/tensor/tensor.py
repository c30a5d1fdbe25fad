"""`Tensor`, a frozen array with NumPy's face."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import errors
from funcgrad.borrow import is_constant
from funcgrad.core import Frozen, Traced
from funcgrad.numpy import dispatch
from funcgrad.numpy.bridge import array, bare, has_traced
from funcgrad.numpy.indexing import index_of
from funcgrad.tensor.at import At
from funcgrad.tensor.methods import (
    FUNCTIONS_AS_METHODS,
    METHODS_THAT_WRITE,
    UFUNCS_AS_METHODS,
    binary,
    comparison,
    method,
    power,
    refusal,
    unary,
)

WINDOWS = "Use `np.lib.stride_tricks.sliding_window_view` for windows, or an index."
"""What to write instead of strides."""


@attrs.frozen(eq=False, repr=False, init=False)
class Tensor(Frozen):
    """An immutable array. `np.asarray(t)` is a read-only view of it; `t.at[i].set(v)` gives a changed copy.

    NumPy functions, operators and methods of a Tensor give Tensors.
    """

    _array: np.ndarray[Any, Any]

    __array_priority__ = 1000.0
    __pytree__ = False

    def __hash__(self) -> int:
        raise errors.UnhashableError("A traced value" if isinstance(self, Traced) else f"A {type(self).__name__}")

    def __init__(self, data: Any, dtype: Any = None) -> None:
        object.__setattr__(self, "_array", _frozen_copy(data, dtype))

    # ---- NumPy's protocols

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if dtype is None or np.dtype(dtype) == self._array.dtype:
            return self._array.copy() if copy else self._array
        if copy is False:
            raise ValueError(f"a Tensor of {self.dtype} cannot become {np.dtype(dtype)} without a copy.")
        return self._array.astype(dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(a, Tensor) for a in kwargs.get("out") or ()):
            raise errors.FrozenError(f"{dispatch.name_of(ufunc)}(out=…)", "Use the returned value instead.")
        if method == "at" and isinstance(args[0], Tensor):
            raise errors.FrozenError(f"{dispatch.name_of(ufunc)}.at", "Use `x.at[i].add(v)` and friends.")
        if any(isinstance(a, Traced) for a in args):
            return dispatch.call_ufunc(ufunc, method, args, kwargs)
        return _answered(getattr(ufunc, method), args, kwargs)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if any(issubclass(t, Traced) for t in types):
            return dispatch.call_function(func, args, kwargs)
        return _answered(func, args, kwargs)

    # ---- what it is

    shape = property(lambda self: self._array.shape, doc="The sizes of the axes.")
    dtype = property(lambda self: self._array.dtype, doc="The type of the elements.")
    ndim = property(lambda self: len(self.shape), doc="The number of axes.")
    size = property(lambda self: int(np.prod(self.shape, dtype=int)), doc="The number of elements.")
    itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of one element.")
    nbytes = property(lambda self: self.size * self.dtype.itemsize, doc="Bytes of all elements.")
    T = property(lambda self: np.transpose(self), doc="The axes reversed.")
    mT = property(lambda self: np.matrix_transpose(self), doc="The last two axes exchanged.")
    real = property(lambda self: np.real(self), doc="The real part.")
    imag = property(lambda self: np.imag(self), doc="The imaginary part.")

    @property
    def strides(self) -> tuple[int, ...]:
        """Refused: nothing here depends on how an array lies in memory."""
        raise errors.NoStridesError(WINDOWS)

    flat = property(lambda self: np.ravel(self), doc="The elements in C order.")

    @property
    def at(self) -> At:
        """`x.at[i].set(v)` and friends: a changed copy."""
        return At(self, wrap)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return iter(self._rows())

    def _rows(self) -> Sequence[Any]:
        return [wrap(row) for row in self._array]

    def __getitem__(self, index: Any) -> Any:
        index = bare(index)
        if has_traced(index):
            return index_of(self._array, index)
        part = self._array[index]  # nobody can write to it, nor to what it is a view of
        return of_fresh(part) if type(part) is np.ndarray else wrap(part)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise errors.FrozenError("x[i] = v", "Use `x = x.at[i].set(v)`.")

    def __delitem__(self, index: Any) -> None:
        raise errors.FrozenError("del x[i]", "Use `x = np.delete(x, i)`.")

    def __contains__(self, item: Any) -> bool:
        return bool(np.any(self == item))

    # ---- one number

    def _number(self) -> Any:
        return self._array

    def __bool__(self) -> bool:
        return bool(self._array)

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._array)

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        return self._array.__index__()

    def __round__(self, ndigits: int | None = None) -> Any:
        return int(np.round(self)) if ndigits is None else np.round(self, ndigits)

    def __floor__(self) -> int:
        return int(np.floor(self))

    def __ceil__(self) -> int:
        return int(np.ceil(self))

    def __trunc__(self) -> int:
        return int(self)

    def __format__(self, spec: str) -> str:
        return format(self._array if self.shape else self._array[()], spec) if spec else str(self)

    def item(self, *args: Any) -> Any:
        """One element as a Python number."""
        return self._number().item(*args)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._number().tolist()

    def backward(self, ct: Any = None) -> Any:
        """The gradients of a value that was computed from a `Var`: see `fg.backward`."""
        raise errors.NotRecordedError("a Tensor that no Var led to")

    # ---- as a Python object

    def __repr__(self) -> str:
        return f"Tensor({summary(self._array)})"

    def __str__(self) -> str:
        return str(self._array)

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    def __reduce__(self) -> Any:
        return Tensor, (np.array(self._array),)

    # ---- operators

    __add__, __radd__ = binary(np.add)
    __sub__, __rsub__ = binary(np.subtract)
    __mul__, __rmul__ = binary(np.multiply)
    __truediv__, __rtruediv__ = binary(np.divide)
    __floordiv__, __rfloordiv__ = binary(np.floor_divide)
    __mod__, __rmod__ = binary(np.remainder)
    __pow__, __rpow__ = binary(power)
    __matmul__, __rmatmul__ = binary(np.matmul)
    __and__, __rand__ = binary(np.bitwise_and)
    __or__, __ror__ = binary(np.bitwise_or)
    __xor__, __rxor__ = binary(np.bitwise_xor)
    __lshift__, __rlshift__ = binary(np.left_shift)
    __rshift__, __rrshift__ = binary(np.right_shift)
    __lt__, __gt__ = comparison(np.less)
    __le__, __ge__ = comparison(np.less_equal)
    __eq__, _ = comparison(np.equal)
    __ne__, _ = comparison(np.not_equal)
    __neg__ = unary(np.negative)
    __pos__ = unary(np.positive)
    __abs__ = unary(np.absolute)
    __invert__ = unary(np.invert)

    def __divmod__(self, other: Any) -> Any:
        return np.divmod(self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return np.divmod(other, self)

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        """As `np.reshape`; the sizes may be arguments of their own."""
        if not shape:
            raise TypeError("reshape() takes a shape (0 given)")
        more = {} if copy is None else {"copy": copy}  # from NumPy 2.1 on
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order, **more)

    def transpose(self, *axes: Any) -> Any:
        """As `np.transpose`; the axes may be arguments of their own."""
        return np.transpose(self, None if not axes else axes[0] if len(axes) == 1 else axes)

    def astype(self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True) -> Any:
        """As `ndarray.astype`."""
        dtype = np.dtype(dtype)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule {casting!r}")
        return np.astype(self, dtype)  # type: ignore[call-overload]

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **more: Any) -> Any:
        """As `ndarray.clip`, which names its bounds; `np.clip` does since NumPy 2.1."""
        return np.clip(self, min, max, out, **more)

    def compress(self, condition: Any, axis: Any = None) -> Any:
        """As `np.compress` of this array."""
        return np.compress(condition, self, axis)

    def copy(self, order: Any = "C") -> Any:
        """This array: there is nothing a copy could protect."""
        return self

    def flatten(self, order: Any = "C") -> Any:
        """As `np.ravel`: there is nothing a copy could protect."""
        return np.ravel(self, order)


for _name in FUNCTIONS_AS_METHODS + UFUNCS_AS_METHODS:
    setattr(Tensor, _name, method(getattr(np, _name)))
for _name, _instead in METHODS_THAT_WRITE.items():
    setattr(Tensor, _name, refusal(_name, _instead))


def tensor(data: Any, dtype: Any = None) -> Any:
    """A `Tensor` of `data`, an array-like: a frozen copy, unless nobody can write to it. A traced value stays traced.

    Raises:
        TypeError: for object, string and other arrays that hold no numbers.
    """
    if type(data) is Tensor and (dtype is None or data.dtype == np.dtype(dtype)):
        return data
    data = bare(data)
    if isinstance(data, (list, tuple)) and has_traced(data):
        data = array(data)
    if isinstance(data, Traced):
        return data if dtype is None else np.astype(data, np.dtype(dtype))  # type: ignore[call-overload]
    return Tensor(data, dtype)


def _answered(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function of Tensors. What it wrote into the caller's `out=` stays the caller's."""
    args = tuple([bare(a) for a in args])
    result = function(*args, **{k: bare(v) for k, v in kwargs.items()})
    return result if kwargs.get("out") is not None else wrap(result, args)


def wrap(x: Any, args: tuple[Any, ...] = ()) -> Any:
    """NumPy's result of a Tensor's computation: arrays and NumPy scalars become Tensors, and so do those in tuples and lists.

    A result that is an argument, or a view of something that can be written to, is copied.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype.kind not in "biufc":
            return x
        array = np.asarray(x)
        fresh = array.base is None and not any(x is a for a in args)
        return of_fresh(array if fresh or is_constant(array) else array.copy("K"))
    if type(x) in (tuple, list):
        return type(x)([wrap(e, args) for e in x])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[wrap(e, args) for e in x])
    return x


def of_fresh(array: np.ndarray[Any, Any]) -> Tensor:
    """A Tensor of an array that nobody else can write to, without a copy."""
    array.flags.writeable = False
    t = object.__new__(Tensor)
    object.__setattr__(t, "_array", array)
    return t


def _frozen_copy(data: Any, dtype: Any) -> np.ndarray[Any, Any]:
    if has_traced(data := bare(data)):
        raise errors.ArgumentTypeError("Tensor", "a traced value stays traced. Use `fg.tensor(x)`, which accepts both.")
    array = np.array(data, dtype=dtype)
    if array.dtype.kind not in "biufc":
        raise errors.ArgumentTypeError("tensor", f"a Tensor holds numbers, got an array of dtype {array.dtype}.")
    array.flags.writeable = False
    return array


def summary(array: np.ndarray[Any, Any]) -> str:
    """Numbers, dtype and shape on one line."""
    body = " ".join(np.array2string(array, precision=4, threshold=20, edgeitems=3, separator=", ").split())
    return f"{body}, {array.dtype}" + (str(list(array.shape)) if array.ndim else "")
