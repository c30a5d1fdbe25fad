"""Operators and methods made from NumPy's functions, and the tables that say which there are."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Frozen, dtype_of, shape_of

_KNOWN = (np.ndarray, np.generic, Frozen, Number, list, tuple, str, bytes)


def defers(self: Any, other: Any) -> bool:
    """Whether Python should ask `other`, as in `2.0 * vector`: a number meets an object of a class that NumPy knows nothing of."""
    kind = type(other)
    return not isinstance(other, _KNOWN) and not hasattr(kind, "__array__") and not hasattr(kind, "__array_ufunc__") and not self.shape


def binary(ufunc: Callable[[Any, Any], Any]) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def forth(self: Any, other: Any) -> Any:
        return NotImplemented if defers(self, other) else ufunc(self, other)

    def back(self: Any, other: Any) -> Any:
        return ufunc(other, self)

    return forth, back


_POWERS = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


def power(x: Any, y: Any) -> Any:
    """`x ** y`, which for an array and these numbers of Python's is another ufunc of NumPy's: last bits differ, and dtypes of bools."""
    if type(y) in (int, float) and y in _POWERS and shape_of(x):
        kind = dtype_of(x).kind
        if kind in "fc" or (kind == "b" and type(y) is int and y == 2):
            return _POWERS[y](x)
    return np.power(x, y)


def comparison(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    return (lambda self, other: ufunc(self, other)), (lambda self, other: ufunc(other, self))


def unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def apply(self: Any) -> Any:
        return ufunc(self)

    return apply


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    apply.__name__ = function.__name__
    apply.__doc__ = f"As `np.{function.__name__}` of this array."
    return apply


def refusal(name: str, instead: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise errors.FrozenError(f"x.{name}(…)", instead)

    refuse.__name__ = name
    refuse.__doc__ = f"Writes in place, which a frozen array cannot. {instead}"
    return refuse


FUNCTIONS_AS_METHODS = (
    "sum prod mean var std max min argmax argmin any all cumsum cumprod round ravel squeeze swapaxes repeat take diagonal "
    "trace dot argsort conj conjugate nonzero searchsorted choose argpartition"
).split()

METHODS_THAT_WRITE = {
    "sort": "Use `x = np.sort(x)`.",
    "partition": "Use `x = np.partition(x, kth)`.",
    "fill": "Use `x = np.full_like(x, v)`.",
    "put": "Use `x = np.ravel(x).at[i].set(v)`.",
    "resize": "Use `x = np.resize(x, shape)`.",
}
"""What NumPy's methods of these names do in place, and what to write instead."""

UFUNCS_AS_METHODS = (
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt square "
    "reciprocal absolute fabs sign floor ceil trunc rint deg2rad rad2deg degrees radians negative positive isnan isinf isfinite "
    "logaddexp logaddexp2 arctan2 hypot maximum minimum fmax fmin"
).split()
"""NumPy's object loops call these by name on each element of an object array."""
