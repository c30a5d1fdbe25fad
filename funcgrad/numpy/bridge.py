"""What users may hand to a NumPy function, made into what primitives take.

NumPy does not let a library intercept `np.array([x, y])`; it makes an object array of 0-d tracers. Wherever such an array
meets one of our functions it is stacked back into one traced array, element by element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Frozen, Traced, Value
from funcgrad.ops.shaping import reshape, stack

_ndarray = np.ndarray

AS_IT_IS: set[type] = {float, int, bool, complex, str, type(None), np.float64, slice, type}
"""The types whose values are bare; the classes of tracers add themselves."""


def bare(x: Any) -> Any:
    """`x` without the faces that primitives do not know: Tensors become their arrays, object arrays of tracers one tracer.

    Lists, tuples and dicts stay what they are, with each of their elements made bare.
    """
    kind = type(x)
    if kind is _ndarray:
        return stacked(x) if x.dtype.hasobject else x
    if kind in AS_IT_IS:
        return x
    if kind is tuple or kind is list:
        return x if AS_IT_IS.issuperset(map(type, x)) else kind(map(bare, x))
    if isinstance(x, Frozen):
        return x if isinstance(x, Traced) else x._array
    if kind is dict:
        return {k: bare(v) for k, v in x.items()}
    return x if isinstance(x, np.generic) or not hasattr(kind, "__array__") else _from_foreign(x)


def _from_foreign(x: Any) -> Any:
    """The ndarray in another library's array, or in a subclass that adds nothing to what an operation means."""
    own = isinstance(x, np.ndarray) and type(x).__array_ufunc__ is not np.ndarray.__array_ufunc__
    if own or isinstance(x, (np.ma.MaskedArray, np.matrix, np.poly1d)):
        raise errors.ForeignArrayError(type(x))
    return bare(np.asarray(x))


def array(x: Any) -> Value:
    """An array-like: nested lists and tuples become arrays, traced where any element is."""
    if type(x) in AS_IT_IS:
        return x
    x = bare(x)
    if isinstance(x, (list, tuple)):
        return _from_list(x) if has_traced(x) else np.asarray(x)
    return x


def _from_list(x: list[Any] | tuple[Any, ...]) -> Value:
    return stack(*_same_shape([array(e) for e in x]), axis=-1 - max(np.ndim(e) for e in x))


def _same_shape(parts: list[Any]) -> list[Any]:
    shapes = {np.shape(p) for p in parts}
    if len(shapes) > 1:
        raise ValueError(f"a nested list of traced values must be regular, got elements of shapes {sorted(shapes)}")
    return parts


def has_traced(x: Any) -> bool:
    """Whether a tracer stands anywhere in nested lists, tuples and object arrays."""
    if isinstance(x, Traced):
        return True
    if isinstance(x, (list, tuple)):
        return any(map(has_traced, x))
    return type(x) is np.ndarray and x.dtype.hasobject and any(isinstance(e, Traced) for e in x.flat)


def stacked(x: np.ndarray[Any, Any]) -> Value:
    """An object array of tracers and numbers as one traced array; an object array without tracers stays as it is."""
    if not has_traced(x):
        return x
    elements = [bare(e) for e in x.flat]
    return reshape(stack(*elements, axis=-1), shape=x.shape)
