"""Containers to a flat list of leaves and back: `leaves, treedef = flatten(tree)`, `tree = treedef.unflatten(leaves)`.

A structure is opened and closed node by node the first time it is seen; from the second time on it has generated code, which
checks that the tree still has that structure and otherwise gives it back to the slow path. The slow path is the oracle.
`__pytree__ = False` in a class makes its instances and those of its subclasses leaves.
"""

from funcgrad.pytree.compiled import flatten
from funcgrad.pytree.functions import (
    all,
    broadcast,
    flatten_with_path,
    leaves,
    map,
    map_with_path,
    reduce,
    structure,
    transpose,
    unflatten,
)
from funcgrad.pytree.registry import register
from funcgrad.pytree.treedef import LEAF, TreeDef

__all__ = [
    "LEAF", "TreeDef", "all", "broadcast", "flatten", "flatten_with_path", "leaves", "map", "map_with_path", "reduce", "register",
    "structure", "transpose", "unflatten",
]  # fmt: skip
