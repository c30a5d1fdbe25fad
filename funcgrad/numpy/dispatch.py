"""The tables behind `__array_function__` and `__array_ufunc__`: which NumPy callable is which composition of ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from funcgrad import errors
from funcgrad.core import Traced, Value, dtype_of
from funcgrad.numpy.bridge import AS_IT_IS, array, bare
from funcgrad.numpy.parity import reason
from funcgrad.ops import special
from funcgrad.ops.kinds import BY_UFUNC
from funcgrad.ops.shaping import cast

F = TypeVar("F", bound=Callable[..., Any])

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""What NumPy's functions mean when an argument is traced."""

UFUNCS: dict[np.ufunc, Callable[..., Any]] = {}
"""Ufuncs that are compositions of primitives; those that are primitives are in `ops.kinds.BY_UFUNC`."""

METHODS: dict[tuple[np.ufunc, str], Callable[..., Any]] = {}
"""`ufunc.reduce`, `accumulate` and `outer`."""

_OWN_RULE = "Write it in terms of functions that have one, or give it a rule of your own with `fg.custom_jvp`."

_OUT_AT: dict[Callable[..., Any], int] = {}


def implements(*functions: Callable[..., Any]) -> Callable[[F], F]:
    """Say that the decorated function, with the same signature, is what these NumPy functions mean on traced values.

    It gets arguments that are bare: ndarrays, numbers, tracers, and lists or tuples of them (see `bridge.array`).
    `out=` is refused before it is called.
    """

    def note(implementation: F) -> F:
        names = positional(implementation)
        for f in functions:
            FUNCTIONS[f] = implementation
            if "out" in names:
                _OUT_AT[f] = names.index("out")
        return implementation

    return note


def positional(f: Any) -> tuple[str, ...]:
    """The names of the positional parameters. (`inspect.signature` of all functions would be a fifth of the import.)"""
    if isinstance(f, functools.partial):
        return positional(f.func)[len(f.args) :]
    names: tuple[str, ...] = f.__code__.co_varnames[: f.__code__.co_argcount]
    return names


def call_function(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function of traced values."""
    implementation = FUNCTIONS.get(func)
    if implementation is None:
        raise errors.MissingRuleError(name_of(func), reason(name_of(func)))
    if kwargs.get("out") is not None or (len(args) > (at := _OUT_AT.get(func, 32)) and args[at] is not None):
        raise errors.OutArgumentError(name_of(func))
    given = [a if type(a) in AS_IT_IS else bare(a) for a in args]
    return implementation(*given, **{k: bare(v) for k, v in kwargs.items()}) if kwargs else implementation(*given)


_AUGMENTED = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "matmul": "@", "floor_divide": "//", "remainder": "%",
}  # fmt: skip
"""What augmented assignment to an ndarray calls with `out=`."""


def call_ufunc(ufunc: np.ufunc, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc, or one of its methods, of traced values."""
    if kwargs.pop("out", None) is not None:
        if method != "__call__":
            raise errors.OutArgumentError(f"{name_of(ufunc)}.{method}")
        raise errors.OutArgumentError(name_of(ufunc), _AUGMENTED.get(ufunc.__name__, ""))
    args = tuple([bare(a) for a in args])
    if method == "at":
        raise errors.FrozenError(f"{name_of(ufunc)}.at with a traced value", "Use `x = fg.tensor(x).at[i].add(v)` and friends.")
    if method != "__call__":
        by_method = METHODS.get((ufunc, method))
        if by_method is None:
            raise errors.MissingRuleError(f"{name_of(ufunc)}.{method}")
        return by_method(*args, **kwargs)
    implementation = BY_UFUNC.get(ufunc) or UFUNCS.get(ufunc) or special.implementation(ufunc)
    if implementation is None:
        if all(kind in "O->" for loop in ufunc.types for kind in loop):  # made by `np.frompyfunc`
            return by_element(ufunc, args, kwargs)
        raise errors.MissingRuleError(name := name_of(ufunc), _OWN_RULE if name.startswith("scipy.") else "")
    args = tuple([array(a) if isinstance(a, (list, tuple)) else a for a in args])
    return implementation(*args) if not kwargs else _with_keywords(ufunc, implementation, args, kwargs)


def by_element(ufunc: np.ufunc, args: tuple[Value, ...], kwargs: dict[str, Any]) -> Any:
    """A Python function of each element: what it gives is one traced value, rather than an object array."""
    return bare(ufunc(*[np.asarray(a) if isinstance(a, Traced) else a for a in args], **kwargs))


def _with_keywords(ufunc: np.ufunc, implementation: Callable[..., Any], args: tuple[Value, ...], kwargs: dict[str, Any]) -> Any:
    """`dtype=` casts the operands; `where=` needs `out=`; the rest says how memory is laid out and changes no value."""
    if kwargs.pop("where", True) is not True:
        raise errors.WhereArgumentError(name_of(ufunc))
    for ignored in ("order", "subok"):
        kwargs.pop(ignored, None)
    loop = {name: kwargs.pop(name) for name in ("dtype", "signature", "casting") if name in kwargs}
    return implementation(*_in_loop(ufunc, args, **loop), **kwargs)


def _in_loop(
    ufunc: np.ufunc, args: tuple[Value, ...], dtype: Any = None, signature: Any = None, casting: Any = "same_kind"
) -> tuple[Value, ...]:
    """The operands in the dtypes in which NumPy would compute; its own error where there is no such loop."""
    if dtype is None and signature is None and casting == "same_kind":
        return args
    given = [type(a) if type(a) in (int, float, complex) else dtype_of(a) for a in args]
    if signature is None:
        signature = (None,) * ufunc.nin + (None if dtype is None else np.dtype(dtype),) * ufunc.nout
    loop = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout), signature=signature, casting=casting)
    return tuple([cast(a, to) for a, to in zip(args, loop, strict=False)])


def name_of(func: Callable[..., Any]) -> str:
    """The name a user would write, as in `np.linalg.norm`."""
    module = getattr(func, "__module__", None) or "numpy"
    name = getattr(func, "__name__", repr(func))
    if isinstance(func, np.ufunc) and getattr(np, name, None) is not func:  # a ufunc does not say where it is from
        return special.path_of(func) or name
    return f"{module.replace('numpy', 'np', 1)}.{name}" if module.startswith("numpy") else f"{module}.{name}"
