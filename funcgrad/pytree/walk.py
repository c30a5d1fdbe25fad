"""The slow path of `flatten`, one node at a time: the oracle of the generated code, and the one that says what is wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcgrad.errors import CyclicTreeError, DeepTreeError, UnsetFieldError
from funcgrad.pytree.kinds import Kind, Record
from funcgrad.pytree.memory import KINDS, LEAVES
from funcgrad.pytree.registry import classify
from funcgrad.pytree.treedef import LEAF, TreeDef

_MAX_DEPTH = 100  # of any tree: hash, == and repr of a treedef recurse

_kind_of = KINDS.get  # faster: CPython makes a bound method anew where the name is imported

Trail = tuple[Any, Kind, Any, Any] | None  # the way here: (trail of the parent, its kind, key, parent)


def open_node(tree: Any, found: list[Any], trail: Trail, is_leaf: Callable[[Any], Any] | None = None) -> TreeDef:
    """The treedef of a tree; its leaves are appended to `found`."""
    if is_leaf is not None and is_leaf(tree):
        found.append(tree)
        return LEAF
    kind = _kind_of(type(tree)) or classify(type(tree), functools.partial(_path, trail))
    if kind is None:
        found.append(tree)
        return LEAF
    _check_descent(tree, trail)
    try:
        keys, children, order, static = kind.open(tree)
    except AttributeError as error:
        if isinstance(kind, Record):
            raise UnsetFieldError(kind.cls, str(error.name), _path(trail)) from None
        raise
    treedefs = []
    for key, child in zip(keys, children, strict=True):
        if type(child) in LEAVES:
            found.append(child)
            treedefs.append(LEAF)
        else:
            treedefs.append(open_node(child, found, (trail, kind, key, tree), is_leaf))
    return TreeDef(kind, keys, order, static, tuple(treedefs))


def _path(trail: Trail) -> str:
    steps = []
    while trail:
        trail, kind, key, _ = trail
        steps.append(kind.step(key))
    return "".join(reversed(steps))


def _check_descent(tree: Any, trail: Trail) -> None:
    way, depth = trail, 1
    while way:
        if way[3] is tree:
            raise CyclicTreeError(_path(trail), _path(way[0]))
        way, depth = way[0], depth + 1
    if depth > _MAX_DEPTH:
        raise DeepTreeError(_path(trail), _MAX_DEPTH)
