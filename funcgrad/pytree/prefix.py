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
