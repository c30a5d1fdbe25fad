"""A tree taken apart only as far as a structure goes."""

from __future__ import annotations

from typing import Any

from funcgrad.errors import TreeMismatchError
from funcgrad.pytree.compare import same_node
from funcgrad.pytree.registry import classify
from funcgrad.pytree.treedef import LEAF, TreeDef


def parts_at(verb: str, treedef: TreeDef, tree: Any, path: str = "") -> list[Any]:
    """What `tree` has in the places of the leaves of `treedef`: leaves, or whole trees.

    Raises:
        TreeMismatchError: the tree differs above those places.
    """
    if treedef is LEAF:
        return [tree]
    kind = classify(type(tree), lambda: path)
    if kind is None:
        raise TreeMismatchError(verb, 2, path, treedef._outline, "a leaf")
    keys, children, order, static = kind.open(tree)
    node = TreeDef(kind, keys, order, static, (LEAF,) * len(children))
    if not same_node(treedef, node):
        raise TreeMismatchError(verb, 2, path, treedef._outline, node._outline)
    below = zip(treedef.children, children, keys, strict=True)
    return [part for child, subtree, key in below for part in parts_at(verb, child, subtree, path + kind.step(key))]


def leaves_or_none(verb: str, treedef: TreeDef, tree: Any, path: str = "") -> list[Any]:
    """The leaves of `tree`, which has the structure of `treedef`, or None in the place of any part of it.

    Raises:
        TreeMismatchError: the tree differs elsewhere.
    """
    if tree is None:
        return [None] * treedef.num_leaves
    if treedef is LEAF:
        return [tree]
    node = TreeDef(treedef._kind, treedef._keys, treedef._order, treedef._static, (LEAF,) * len(treedef.children))
    parts = zip(treedef.children, parts_at(verb, node, tree, path), treedef._keys, strict=True)
    return [leaf for child, part, key in parts for leaf in leaves_or_none(verb, child, part, path + treedef._kind.step(key))]
