"""Where a user's structure becomes flat, and back: what may come in, and in what form results go out.

NumPy in, NumPy out; Tensor in, Tensor out; frozen either way.
**Law:** no output shares memory with anything the caller can write to.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows
from funcgrad.core import Interpreter, Label, Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import stacked
from funcgrad.ops.shaping import dense
from funcgrad.tensor import Tensor, of_fresh

# ---- labels and wrapping


def label(transformation: str, f: Callable[..., Any]) -> Label:
    """Names the transformation of `f` and the user's line that asks for it."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return Label(transformation, name_of(f), frame.f_code.co_filename, frame.f_lineno)


def name_of(f: Callable[..., Any]) -> str:
    """What the user calls `f`: partials and callable objects by what they wrap or are."""
    while isinstance(f, functools.partial):
        f = f.func
    return getattr(f, "__name__", None) or type(f).__name__


def check_callable(transformation: str, f: Any) -> None:
    if not callable(f):
        raise errors.ArgumentTypeError(transformation, f"expected a function, got {type(f).__name__}. Write {transformation}(f)(x), not {transformation}(f(x)).")


def wraps(f: Callable[..., Any], transformation: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give the wrapped function the name, docstring and signature of `f`."""

    def dress(g: Callable[..., Any]) -> Callable[..., Any]:
        functools.update_wrapper(g, f)
        if not hasattr(f, "__name__"):
            g.__name__ = g.__qualname__ = name_of(f)
        return g

    return dress


# ---- which arguments


def chosen(transformation: str, argnums: Any, argnames: Any, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and the keywords that are differentiated, in this call."""
    nums = () if argnums is None else argnums if isinstance(argnums, tuple) else (argnums,)
    names = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for name in names:
        if name not in kwargs:
            raise errors.ArgumentError(transformation, f"argnames names {name!r}, which this call does not pass by keyword. Pass it as `{name}=…`.")
    return tuple([position(transformation, n, len(args)) for n in nums]), names


def position(transformation: str, n: int, count: int) -> int:
    if not -count <= n < count:
        raise errors.ArgumentError(transformation, f"argnums names argument {n}, but the call has {count} positional argument{'s' * (count != 1)}. Pass it by position.")
    return n % count


def argument_names(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the positional parameters, for messages."""
    try:
        names = [p.name for p in inspect.signature(f).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    return names + [f"argument {i}" for i in range(len(names), count)]


# ---- in

_NUMBERS = (float, complex, np.generic)


def enter(leaf: Any, borrows: Borrows | None) -> Value:
    """The value a differentiated leaf stands for: one that stays as it is while the transformation needs it."""
    kind = type(leaf)
    if kind is np.ndarray:
        if leaf.dtype.hasobject:
            return stacked(leaf)
        if not leaf.dtype.isnative:
            return leaf.astype(leaf.dtype.newbyteorder("="))
        return borrows.hold(leaf) if borrows is not None else leaf.copy()
    if isinstance(leaf, Traced):
        return leaf
    if isinstance(leaf, Tensor):
        return leaf._array
    return leaf


def kind_of(leaf: Any) -> str:
    """The kind letter of a leaf's dtype, or "" for what is no number at all."""
    if isinstance(leaf, (np.ndarray, np.generic, Tensor)):
        kind = str(leaf.dtype.kind)
        return kind if type(leaf) is np.ndarray or not isinstance(leaf, np.ndarray) else ""
    return {float: "f", int: "i", bool: "b", complex: "c"}.get(type(leaf), "")


def check_leaf(transformation: str, leaf: Any, path: Callable[[], str], holomorphic: bool = False, allow_int: bool = False) -> None:
    """Whether a derivative in this leaf means anything."""
    kind = kind_of(leaf)
    if kind == "O" and isinstance(stacked(leaf), Traced):
        return
    if holomorphic and kind != "c":
        raise errors.InputError(transformation, path(), describe(leaf), "holomorphic=True needs complex inputs; pass it as complex.")
    if kind == "f" or kind == "c":
        return
    if kind in ("i", "u", "b"):
        if allow_int:
            return
        raise errors.InputError(transformation, path(), f"{describe(leaf)}, which has no derivative", "Pass it as a float, or mark it static.")
    raise errors.InputError(transformation, path(), describe(leaf), "Only numbers and arrays of them can be differentiated.")


def describe(leaf: Any) -> str:
    """A leaf as messages name it: `float64[3, 2]`, or its type."""
    if isinstance(leaf, (np.ndarray, Tensor)) and not (isinstance(leaf, np.ndarray) and type(leaf) is not np.ndarray):
        return f"{leaf.dtype}{list(leaf.shape) if leaf.shape else ''}"
    return str(leaf.dtype) if isinstance(leaf, np.generic) else f"a {type(leaf).__name__}" if kind_of(leaf) == "" else type(leaf).__name__


# ---- out


def leave_like(g: Value | None, leaf: Any) -> Any:
    """A gradient or tangent in the type, shape and dtype of the leaf it belongs to."""
    if isinstance(g, Traced):
        return dense(g, shape_of(leaf))
    if isinstance(leaf, Traced):
        return full(g, leaf._shape, leaf._dtype)[()]
    kind = type(leaf)
    if kind is np.ndarray or isinstance(leaf, Tensor):
        out = full(g, leaf.shape, leaf.dtype)
        return out if kind is np.ndarray else of_fresh(out)
    if kind in (float, complex):
        return kind(0 if g is None else g)
    dtype = dtype_of(leaf)
    return dtype.type(0 if g is None else g)


def full(g: Value | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A frozen ndarray of this shape and dtype that shares no memory with a stranger."""
    if type(g) is np.ndarray and g.shape == shape and g.dtype == dtype and 0 not in g.strides:
        out = g
    else:
        out = np.empty(shape, dtype)
        out[...] = 0 if g is None else g
    out.flags.writeable = False
    return out


def leave_value(m: Interpreter, x: Any, inputs: Sequence[Value], tensors: bool) -> Any:
    """One output leaf as `f` itself would have returned it. What was never traced passes through as the same object."""
    if not isinstance(x, Traced):
        if type(x) is np.ndarray and x.dtype.hasobject:
            x = stacked(x)
        if not isinstance(x, Traced):
            return x
    if x._main is m:
        x = x._value
        return x if isinstance(x, Traced) else given(x, inputs, tensors)
    check_older(m, x)
    return x


def check_older(m: Interpreter, x: Traced) -> None:
    """**Law:** an interpreter holds only values of older interpreters that are still open."""
    if x._main.order >= m.order or x._main.closed:
        its = x._main.label
        raise errors.LeakedTracerError(str(its), its.function, its.place, "ended" if x._main.closed else "younger")


def given(x: Value, inputs: Sequence[Value], tensors: bool) -> Any:
    """A bare value for the caller: an array is frozen, and copied first where it is, or views, something else."""
    if type(x) is np.ndarray:
        if x.base is not None or any(x is i for i in inputs):
            x = x.copy()
        x.flags.writeable = False
    return of_fresh(np.asarray(x)) if tensors and isinstance(x, (np.ndarray, np.generic, float, complex)) else x


# ---- while a door is open

_doors = 0
_collecting = False
_lock = threading.Lock()


def hold_collector() -> None:
    """Keep the cyclic collector back: nodes are acyclic, and it would scan the living ones again and again."""
    global _doors, _collecting
    with _lock:
        if _doors == 0:
            _collecting = gc.isenabled()
            if _collecting:
                gc.disable()
        _doors += 1


def release_collector() -> None:
    """Give the collector back when the last door closes."""
    global _doors
    with _lock:
        _doors -= 1
        if _doors == 0 and _collecting:
            gc.enable()


def flat_args(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], nums: tuple[int, ...], names: tuple[str, ...]) -> tuple[list[Any], pytree.TreeDef, list[str]]:
    """The differentiated leaves of a call, their structure, and what the chosen arguments are called."""
    called = argument_names(f, len(args))
    leaves, treedef = pytree.flatten(tuple([args[n] for n in nums] + [kwargs[k] for k in names]))
    return leaves, treedef, [called[n] for n in nums] + list(names)


def path_of(treedef: pytree.TreeDef, called: list[str], k: int) -> str:
    """The path of the k-th leaf in the user's words: `params['steps']`."""
    path = treedef.paths[k]  # begins with the [i] of the tuple of arguments
    head, _, rest = path[1:].partition("]")
    return called[int(head)] + rest
