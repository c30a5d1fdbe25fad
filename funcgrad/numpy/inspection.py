"""What is known of a value without differentiating it: shapes, dtypes, comparisons, text; and what would write into it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad import errors
from funcgrad.core import Traced, Value, dtype_of, ground, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements, name_of
from funcgrad.numpy.parity import reason
from funcgrad.ops.elementwise import absolute
from funcgrad.ops.kinds import BY_UFUNC, constant
from funcgrad.ops.shaping import cast

# ---- shapes and dtypes


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return shape_of(array(a))


@implements(np.ndim)
def ndim(a: Any) -> int:
    return len(shape_of(array(a)))


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    sizes = shape_of(array(a))
    return math.prod(sizes if axis is None else [sizes[i] for i in normalize_axis_tuple(axis, len(sizes))])


def _plain(x: Any) -> Any:
    return x._dtype if isinstance(x, Traced) else x


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*map(_plain, arrays_and_dtypes))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_plain(from_), to, casting)


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    return np.common_type(*[np.empty(0, dtype_of(array(a))) for a in arrays])


def _of_the_value(*functions: Callable[..., Any]) -> None:
    """Functions that look at the bare value; nothing of what they say has a derivative."""
    for f in functions:

        def apply(*args: Any, f: Callable[..., Any] = f, **kwargs: Any) -> Any:
            return f(*map(ground, args), **kwargs)

        implements(f)(apply)


_of_the_value(np.min_scalar_type, np.may_share_memory, np.shares_memory, np.array_str, np.array_repr, np.array2string)

# ---- comparisons


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Value:
    a, b, rtol, atol = array(a), array(b), array(rtol), array(atol)
    b = float(b) if type(b) is int else b if type(b) in (float, complex) else cast(b, np.result_type(dtype_of(b), 1.0))
    finite, nan = BY_UFUNC[np.isfinite], BY_UFUNC[np.isnan]
    with np.errstate(invalid="ignore"):
        close = (absolute(a - b) <= atol + rtol * absolute(b)) & finite(b) | (a == b)
        return close | nan(a) & nan(b) if equal_nan else close


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> bool:
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> bool:
    a1, a2 = array(a1), array(a2)
    if shape_of(a1) != shape_of(a2):
        return False
    same = a1 == a2
    return bool(np.all(same | (a1 != a1) & (a2 != a2) if equal_nan else same))


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> bool:
    a1, a2 = array(a1), array(a2)
    try:
        np.broadcast_shapes(shape_of(a1), shape_of(a2))
    except ValueError:
        return False
    return bool(np.all(a1 == a2))


# ---- locally constant

_round = constant(lambda x, *, decimals: np.round(x, decimals), name="round")


@implements(np.round, np.around)
def round(a: Any, decimals: Any = 0, out: None = None) -> Value:
    return _round(array(a), decimals=int(decimals))


# ---- what would write


def _refuses(f: Callable[..., Any]) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise errors.FrozenError(f"{name_of(f)} with a traced value", reason(name_of(f)))

    implements(f)(refuse)


for _writer in (np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal):
    _refuses(_writer)
