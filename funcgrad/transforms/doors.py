"""Where a user's structure becomes flat, and back: what may come in, and in what form results go out.

NumPy in, NumPy out; Tensor in, Tensor out; frozen either way.
**Law:** no output shares memory with anything the caller can write to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import errors, pages, pytree
from funcgrad.borrow import COPY_LIMIT, Borrows, is_constant
from funcgrad.core import Interpreter, Label, Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import stacked
from funcgrad.ops.shaping import cast, dense
from funcgrad.tensor import Tensor, of_fresh
from funcgrad.transforms.arguments import NUMBERS, describe, kind_of

# ---- in

_ndarray = np.ndarray
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


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
    raise errors.InputError(str(label), path(), describe(leaf), _REGISTER if _may_hold_parameters(leaf) else instead)


_REGISTER = "If it holds parameters, make its class a dataclass or use `fg.tree.register`; if not, pass it as another argument."


def _may_hold_parameters(leaf: Any) -> bool:
    """Whether this is an object with attributes, of a class that somebody wrote."""
    return hasattr(leaf, "__dict__") and type(leaf).__module__ not in ("builtins", "numpy") and not isinstance(leaf, np.ndarray)


def entered(leaf: Any, hold: Callable[[Any], Any]) -> Value:
    """The value a leaf stands for; `hold` keeps an array from changing for as long as it is needed."""
    if type(leaf) is np.ndarray:
        if leaf.dtype.hasobject:
            return stacked(leaf)
        return hold(leaf) if leaf.dtype.isnative else leaf.astype(leaf.dtype.newbyteorder("="))
    return leaf._array if isinstance(leaf, Tensor) and not isinstance(leaf, Traced) else leaf


def copied(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What outlives a call is never an alias of the caller's array."""
    if array.nbytes > COPY_LIMIT:
        pages.keep()
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
        y = dense(g, shape_of(leaf))
        return y._main.of_kind(y, leaf) if y._main.records else y
    if isinstance(leaf, Traced):
        return full(g, leaf._shape, leaf._dtype)[()]
    if kind is np.ndarray:
        return full(g, leaf.shape, leaf.dtype)
    if isinstance(leaf, Tensor):
        return of_fresh(full(g, leaf.shape, leaf.dtype))
    return (kind if kind in NUMBERS else dtype_of(leaf).type)(0 if g is None else g)


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
