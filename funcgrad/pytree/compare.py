"""Sameness, of values that are part of a structure and of structures: equal, identical, and where they differ."""

from __future__ import annotations

import types
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from funcgrad.pytree.treedef import TreeDef

_ATOMS = (str, bytes, int, float, complex, types.NoneType, type, types.FunctionType, types.BuiltinFunctionType, np.ufunc, np.dtype, Enum)


def is_small(value: Any) -> bool:
    """Whether a cache may keep it alive."""
    return all(map(is_small, value)) if type(value) is tuple else isinstance(value, _ATOMS)


def exact(a: Any, b: Any) -> bool:
    """Whether nobody can tell `a` from `b`, though they may be two objects: 1 is not True here, nor 0.0 -0.0."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and all(map(exact, a, b))
    return type(a) in (str, bytes, int, float, complex) and repr(a) == repr(b)


def hash_static(value: Any) -> int:
    try:
        return hash(value)
    except TypeError:
        return hash(type(value))


def equal_static(a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # an array, say: what does not compare is equal to itself only
        return False


def same_node(a: TreeDef, b: TreeDef) -> bool:
    """Equal but for the children below."""
    # LEAF stands under the class `object`; were that registered, its aux would still tell the two apart.
    return (
        a._kind.cls is b._kind.cls
        and a._keys == b._keys
        and len(a._static) == len(b._static)
        and all(map(equal_static, a._static, b._static))
    )


def identical(a: TreeDef, b: TreeDef) -> bool:
    """Equal, and trees rebuilt from either could not be told apart."""
    return a is b or (
        a._kind is b._kind
        and exact(a._order, b._order)
        and exact(a._static, b._static)
        and len(a.children) == len(b.children)
        and all(map(identical, a.children, b.children))
    )


def difference(a: TreeDef, b: TreeDef, path: str = "") -> tuple[str, str, str]:
    """The path to the first node where unequal treedefs differ, and that node on both sides."""
    if not same_node(a, b):
        return path, a._outline, b._outline
    key, x, y = next((key, x, y) for key, x, y in zip(a._keys, a.children, b.children, strict=True) if x != y)
    return difference(x, y, path + a._kind.step(key))
