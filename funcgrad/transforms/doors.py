"""Where a user's structure becomes flat, and back: what may come in, and in what form results go out.

NumPy in, NumPy out; Tensor in, Tensor out; frozen either way.
**Law:** no output shares memory with anything the caller can write to.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows, is_constant
from funcgrad.core import Interpreter, Label, Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import stacked
from funcgrad.ops.shaping import cast, dense
from funcgrad.tensor import Tensor, of_fresh

# ---- labels and wrapping


def label(transformation: str, f: Any, wants: str = "f") -> Label:
    """Names the transformation of `f` and the user's line that asks for it; `f` must be callable."""
    if not callable(f):
        raise errors.ArgumentTypeError(
            transformation, f"expected a function, got {describe(f)}. Write `{transformation}(f)(x)`, not `{transformation}(f(x))`."
        )
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return Label(transformation, name_of(f), frame.f_code.co_filename, frame.f_lineno)


def name_of(f: Any) -> str:
    """What the user calls `f`: partials by what they wrap, callable objects by their class."""
    while isinstance(f, functools.partial):
        f = f.func
    return getattr(f, "__name__", None) or type(f).__name__


def dress(g: Callable[..., Any], f: Callable[..., Any]) -> Callable[..., Any]:
    """Give `g` the name, docstring and signature of `f`."""
    functools.update_wrapper(g, f)
    if not hasattr(f, "__name__"):
        g.__name__ = g.__qualname__ = name_of(f)
    return g


# ---- which arguments


class Chosen:
    """Which arguments of a call are differentiated: positions and keywords. Knows the words to speak of them."""

    __slots__ = ("argnames", "argnums", "f", "label", "many")

    def __init__(self, label: Label, f: Callable[..., Any], argnums: Any, argnames: Any) -> None:
        self.label, self.f, self.many = label, f, isinstance(argnums, (tuple, list)) or argnums is None
        nums = () if argnums is None else tuple(argnums) if self.many else (argnums,)
        for n in nums:
            if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
                raise errors.ArgumentTypeError(str(label), f"argnums must be ints, got {describe(n)}.")
        self.argnums = tuple([int(n) for n in nums])
        self.argnames = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)

    def positions(self, count: int) -> list[int]:
        for n in self.argnums:
            if not -count <= n < count:
                what = f"argnums names argument {n}, but the call has {count} positional. Pass it by position, or use argnames."
                raise errors.ArgumentError(str(self.label), what)
        found = [n % count for n in self.argnums]
        if len(set(found)) < len(found):
            raise errors.ArgumentError(str(self.label), f"argnums names an argument twice: {self.argnums}.")
        return found

    def take(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The chosen arguments, by position first."""
        for name in self.argnames:
            if name not in kwargs:
                raise errors.ArgumentError(str(self.label), f"argnames names {name!r}, which the call does not pass by keyword.")
        return tuple([args[n] for n in self.positions(len(args))] + [kwargs[name] for name in self.argnames])

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], new: Sequence[Any]) -> Any:
        """The function of the arguments, with the chosen ones replaced."""
        changed = list(args)
        for n, x in zip(self.positions(len(args)), new, strict=False):
            changed[n] = x
        named = dict(zip(self.argnames, new[len(self.argnums) :], strict=True))
        return self.f(*changed, **(kwargs | named))

    def give(self, g: tuple[Any, ...], of_names: bool) -> Any:
        """Results for the chosen arguments, in the form in which they were asked for."""
        n = len(self.argnums)
        by_position: Any = g[:n] if self.many else g[0]
        return (by_position, dict(zip(self.argnames, g[n:], strict=True))) if of_names else by_position

    def path(self, treedef: pytree.TreeDef, k: int, alone: bool = False) -> str:
        """The k-th leaf of the chosen arguments (or of the first, alone) in the user's words: `params['steps']`."""
        if alone:
            return argument_name(self.f, 0) + treedef.paths[k]
        head, _, rest = treedef.paths[k][1:].partition("]")  # a path begins with the position in `take`
        i = int(head)
        if i >= len(self.argnums):
            return str(self.argnames[i - len(self.argnums)]) + rest
        return argument_name(self.f, self.argnums[i]) + rest


def argument_name(f: Callable[..., Any], n: int) -> str:
    """What the signature calls the n-th positional argument."""
    try:
        named = [p for p in inspect.signature(f).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return named[n].name
    except (TypeError, ValueError, IndexError):
        return f"argument {n}"


# ---- in

_ndarray = np.ndarray
_NUMBERS: dict[type, str] = {float: "f", int: "i", bool: "b", complex: "c"}
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def kind_of(leaf: Any) -> str:
    """The kind letter of a number's or array's dtype; "" for what is none of ours."""
    if isinstance(leaf, (np.generic, Tensor)) or type(leaf) is np.ndarray:
        return str(leaf.dtype.kind)
    return _NUMBERS.get(type(leaf), "")


def check_leaf(label: Label, leaf: Any, path: Callable[[], str], holomorphic: bool = False, allow_int: bool = False) -> bool:
    """Whether this leaf is to be traced; an error where a derivative in it means nothing."""
    kind = kind_of(leaf)
    if holomorphic and kind != "c":
        raise errors.InputError(str(label), path(), describe(leaf), "holomorphic=True is for complex inputs: pass it as complex.")
    if kind in ("f", "c"):
        return True
    if kind == "O" and isinstance(stacked(leaf), Traced):
        return True
    if kind in ("i", "u", "b"):
        if allow_int:
            return False
        raise errors.InputError(str(label), path(), f"{describe(leaf)}, which has no derivative", "Pass it as a float, or mark it static.")
    instead = "Only numbers and arrays of numbers have derivatives; pass it as another argument."
    raise errors.InputError(str(label), path(), describe(leaf), instead)


def describe(x: Any) -> str:
    """A value as messages name it: `float64[3, 2]`, or its type."""
    if kind_of(x) and not isinstance(x, (float, complex, int)):
        return f"{x.dtype}{list(x.shape) if x.shape else ''}"
    return "None" if x is None else type(x).__name__ if kind_of(x) else f"a {type(x).__name__}"


def entered(leaf: Any, hold: Callable[[Any], Any]) -> Value:
    """The value a leaf stands for; `hold` keeps an array from changing for as long as it is needed."""
    if type(leaf) is np.ndarray:
        if leaf.dtype.hasobject:
            return stacked(leaf)
        return hold(leaf) if leaf.dtype.isnative else leaf.astype(leaf.dtype.newbyteorder("="))
    return leaf._array if isinstance(leaf, Tensor) and not isinstance(leaf, Traced) else leaf


def copied(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What outlives a call is never an alias of the caller's array."""
    return array.copy("K")


class Snapshot(Borrows):
    """Copies whatever is held, so that nothing stays locked."""

    __slots__ = ()

    def hold(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return array if is_constant(array) else array.copy("K")


def is_traced(x: Any) -> bool:
    return isinstance(x, Traced)


def wrapped(array: np.ndarray[Any, Any], tensors: bool) -> Any:
    """A frozen array as what the caller came with."""
    return of_fresh(array) if tensors else array


def is_tensor(x: Any) -> bool:
    """Whether this input is a Tensor, so that what comes of it is one as well."""
    return isinstance(x, Tensor) and not isinstance(x, Traced)


# ---- out


def leave_like(g: Value | None, leaf: Any) -> Any:
    """A cotangent or tangent in the type, shape and dtype of the leaf it belongs to; None means zero."""
    kind = type(leaf)
    if kind is _ndarray and type(g) is _ndarray and g.base is None and g.dtype is leaf.dtype and g.shape == leaf.shape:
        g.setflags(write=False)
        return g
    if kind is float and not isinstance(g, Traced):
        return 0.0 if g is None else float(g)
    if isinstance(g, Traced):
        return dense(g, shape_of(leaf))
    if isinstance(leaf, Traced):
        return full(g, leaf._shape, leaf._dtype)[()]
    if kind is np.ndarray:
        return full(g, leaf.shape, leaf.dtype)
    if isinstance(leaf, Tensor):
        return of_fresh(full(g, leaf.shape, leaf.dtype))
    return (kind if kind in _NUMBERS else dtype_of(leaf).type)(0 if g is None else g)


def full(g: Value | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A frozen ndarray of this shape and dtype."""
    if type(g) is np.ndarray and g.shape == shape and g.dtype is dtype and (g.base is None or 0 not in g.strides):
        out = g
    else:
        out = np.empty(shape, dtype)
        out[...] = 0 if g is None else g
    return frozen(out)


def frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Read-only down to its owner: a view's `.base` is within the caller's reach."""
    owner: Any = array
    while type(owner) is np.ndarray:
        owner.setflags(write=False)
        owner = owner.base
    return array


def leave_value(m: Interpreter, x: Any) -> Any:
    """One output leaf as `f` itself would have returned it. What was never traced passes through as the same object."""
    if type(x) is np.ndarray and x.dtype.hasobject:
        x = stacked(x)
    if not isinstance(x, Traced):
        return x
    if x._main is not m:
        return older(m, x)
    value = x._value
    if isinstance(value, Traced):
        return value
    if type(value) is np.ndarray:
        value = frozen(value.copy() if value.base is not None or m.is_input(x) else value)
    return of_fresh(np.asarray(value)) if m.tensors else value


def older(m: Interpreter, x: Any) -> Any:
    """**Law:** an interpreter holds only values of older interpreters; one that is closed has no more values to give."""
    its = x._main.label
    if x._main.closed:
        raise errors.LeakedTracerError(str(its), its.function, its.place, "ended")
    if x._main.order >= m.order:
        raise errors.LeakedTracerError(str(its), its.function, its.place, "younger")
    return x


def leave_tree(m: Interpreter, tree: Any) -> Any:
    """`leave_value` of every leaf."""
    leaves, treedef = pytree.flatten(tree)
    return treedef.unflatten([leave_value(m, x) for x in leaves])


def pair(label: Label, out: Any) -> tuple[Any, Any]:
    """What a function that promised `(value, aux)` returned."""
    if not isinstance(out, tuple) or len(out) != 2:
        rule, instead = "with has_aux=True the output must be a pair (value, aux)", "Return both, or leave has_aux away."
        raise errors.OutputError(str(label), rule, describe(out), instead)
    return out


# ---- what comes beside the primals


def check_tree(label: Label, what: str, of: str, got: pytree.TreeDef, want: pytree.TreeDef) -> None:
    if got != want:
        raise errors.ArgumentTypeError(str(label), f"the {what} must have the structure of the {of}: got {got}, expected {want}.")


def beside(label: Label, what: str, t: Any, x: Any, path: Callable[[], str]) -> Value:
    """A tangent or cotangent for `x`: of its shape, in its dtype, and nobody else's memory."""
    shape, dtype = shape_of(x), dtype_of(x)
    value = entered(t, copied)
    if kind_of(t) == "" or shape_of(value) != shape:
        raise errors.ArgumentError(str(label), f"the {what} of {path()} must have shape {list(shape)}, got {describe(t)}.")
    if dtype_of(value).kind == "c" and dtype.kind != "c":
        raise errors.ArgumentTypeError(str(label), f"the {what} of {path()} is complex, but its primal is {dtype}. Take its real part.")
    if isinstance(value, Traced):
        return cast(value, dtype)
    return np.asarray(value).astype(dtype, copy=False)[()]


# ---- while a door is open


def explain(error: ValueError, label: Label, borrows: Borrows | None) -> None:
    """NumPy's read-only error, raised inside the function, does not say that the array is only borrowed."""
    if borrows is not None and "read-only" in str(error):
        error.add_note(
            f"{label}: an array of more than 64 kB that the function uses is read-only until its derivative is there. "
            "Write to a copy of it, or before or after."
        )


_open: deque[None] = deque()
_ours = False


def hold_collector() -> None:
    """Keep the cyclic collector back: nodes are acyclic, and it would scan the living ones again and again."""
    global _ours
    _open.append(None)
    if gc.isenabled():
        gc.disable()
        _ours = True


def release_collector() -> None:
    """Give the collector back when the last door closes.

    Without a lock: appends and pops are atomic, and the flag falls before the collector runs, so that it cannot stay off.
    """
    global _ours
    _open.pop()
    if not _open and _ours:
        _ours = False
        gc.enable()
