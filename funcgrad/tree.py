"""`fg.tree`: containers of arrays, taken apart and put together; `ravel` makes one vector of all that is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Frozen, Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array, bare
from funcgrad.ops.piling import pile, unpile
from funcgrad.ops.shaping import cast
from funcgrad.pytree import (
    TreeDef,
    all,
    broadcast,
    flatten,
    flatten_with_path,
    leaves,
    map,
    map_with_path,
    reduce,
    register,
    structure,
    transpose,
    unflatten,
)
from funcgrad.tensor import of_fresh

__all__ = [
    "TreeDef", "all", "broadcast", "flatten", "flatten_with_path", "leaves", "map", "map_with_path", "ravel", "reduce", "register",
    "structure", "transpose", "unflatten",
]  # fmt: skip

Tree = Any


def ravel(tree: Tree) -> tuple[Any, Callable[[Any], Tree]]:
    """All elements of all leaves as one frozen vector, and the way back: `flat, unravel = ravel(tree)`, `unravel(flat)`.

    Leaves come back in their type, shape and dtype. Both ways work on traced values, and have derivatives.

    Args:
        tree: of numbers and arrays of numbers; `flat` has the dtype they promote to.

    Raises:
        ArgumentTypeError: a leaf is none, by its path.

    >>> flat, unravel = ravel({"w": np.array([1.0, 2.0]), "b": 3.0})
    >>> flat
    array([3., 1., 2.])
    >>> unravel(2 * flat)
    {'w': array([2., 4.]), 'b': 6.0}
    """
    found, treedef = flatten(tree)
    values = [bare(leaf) for leaf in found]
    for path, value in zip(treedef.paths, values, strict=True):
        if not isinstance(value, (int, float, complex, np.generic, np.ndarray, Traced)) or dtype_of(value).kind not in "biufc":
            raise errors.ArgumentTypeError("ravel", f"{path or 'the tree'} is a {type(value).__name__} and no number or array of numbers.")
    dtype = np.result_type(*[dtype_of(v) for v in values]) if values else np.dtype(float)
    flat = pile(*[cast(v, dtype) for v in values]) if values else np.zeros(0)
    shapes, makers = tuple([shape_of(v) for v in values]), [_maker(leaf) for leaf in found]

    def unravel(flat: Any) -> Tree:
        """The tree whose elements these are."""
        flat = _vector(flat, dtype, sum([int(np.prod(shape)) for shape in shapes]))
        parts = unpile(flat, shapes=shapes) if shapes else ()
        return treedef.unflatten([make(part) for make, part in zip(makers, parts, strict=True)])

    return (flat if isinstance(flat, Traced) else _frozen(flat, any(map(_is_tensor, found)))), unravel


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, Frozen) and not isinstance(leaf, Traced)


def _frozen(x: np.ndarray[Any, Any], tensor: bool) -> Any:
    x.flags.writeable = False
    return of_fresh(x) if tensor else x


def _vector(flat: Any, dtype: np.dtype[Any], size: int) -> Value:
    """What is taken apart: of the right size, and nobody else's memory."""
    flat = array(flat)
    if shape_of(flat) != (size,):
        raise errors.ArgumentError("unravel", f"the vector must have shape [{size}], got {list(shape_of(flat))}.")
    if dtype_of(flat).kind == "c" != dtype.kind:
        raise errors.ArgumentTypeError("unravel", f"the vector is complex, but the tree is {dtype}. Take its real part.")
    return flat if isinstance(flat, Traced) else _frozen(np.array(flat), False)


def _maker(leaf: Any) -> Callable[[Value], Any]:
    """Makes of a part of the vector what the leaf was. (It does not keep the leaf itself, which may be large.)"""
    kind, dtype, whole, tensor = type(leaf), dtype_of(bare(leaf)), isinstance(bare(leaf), np.ndarray), _is_tensor(leaf)

    def make(part: Value) -> Any:
        part = cast(part, dtype)
        if isinstance(part, Traced):
            return part
        if kind in (bool, int, float, complex):
            return kind(part)
        return _frozen(np.asarray(part), tensor) if whole or tensor else part

    return make
