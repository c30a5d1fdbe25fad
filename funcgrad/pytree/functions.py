"""What one does with trees, said with `flatten` and `unflatten`. Names and arguments are those of `jax.tree`."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from funcgrad.errors import ArgumentError, TreeMismatchError
from funcgrad.pytree.compare import difference
from funcgrad.pytree.compiled import flatten
from funcgrad.pytree.prefix import parts_at
from funcgrad.pytree.treedef import TreeDef

IsLeaf: TypeAlias = Callable[[Any], Any] | None
"""Asked at each container whether to take it as a leaf."""

_NOTHING: Any = object()


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The inverse of `flatten`: see `TreeDef.unflatten`."""
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree, in the order of `flatten`."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf = None) -> TreeDef:
    """The treedef of a tree."""
    return flatten(tree, is_leaf)[1]


def flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[str, Any]], TreeDef]:
    """Like `flatten`, each leaf with its path.

    >>> flatten_with_path({"a": [1, 2]})[0]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    found, treedef = flatten(tree, is_leaf)
    return list(zip(treedef.paths, found, strict=True)), treedef


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree like `tree` whose leaves are `f(leaf, *leaves of the others at that place)`.

    Raises:
        TreeMismatchError: one of `rest` has another structure.

    >>> map(lambda x, y: x + y, {"a": 1, "b": (2, None)}, {"a": 10, "b": (20, None)})
    {'a': 11, 'b': (22, None)}
    """
    columns, treedef = _columns("map", tree, rest, is_leaf)
    return treedef.unflatten(list(builtins.map(f, *columns)))


def map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Like `map`, with the path of the leaf as the first argument of `f`."""
    columns, treedef = _columns("map_with_path", tree, rest, is_leaf)
    return treedef.unflatten(list(builtins.map(f, treedef.paths, *columns)))


def _columns(verb: str, tree: Any, rest: tuple[Any, ...], is_leaf: IsLeaf) -> tuple[list[list[Any]], TreeDef]:
    first, treedef = flatten(tree, is_leaf)
    columns = [first]
    for i, other in enumerate(rest):
        found, other_def = flatten(other, is_leaf)
        if other_def != treedef:
            raise TreeMismatchError(verb, i + 2, *difference(treedef, other_def))
        columns.append(found)
    return columns, treedef


def all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true."""
    return builtins.all(leaves(tree, is_leaf))


def reduce(function: Callable[[Any, Any], Any], tree: Any, initializer: Any = _NOTHING, is_leaf: IsLeaf = None) -> Any:
    """`functools.reduce` over the leaves.

    >>> reduce(lambda x, y: x + y, {"a": 1, "b": [2, 3]})
    6
    """
    found = leaves(tree, is_leaf)
    return functools.reduce(function, found) if initializer is _NOTHING else functools.reduce(function, found, initializer)


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree like `full_tree`, each leaf the one that `prefix_tree` has at that place or above it.

    Args:
        prefix_tree: like `full_tree`, with leaves where that may have more below.
        full_tree: says what is below; its leaves do not matter.
        is_leaf: of `prefix_tree`.

    Raises:
        TreeMismatchError: they differ otherwise.

    >>> broadcast({"a": 0.1, "b": 0.5}, {"a": [1, 2], "b": 3})
    {'a': [0.1, 0.1], 'b': 0.5}
    """
    found, treedef = flatten(prefix_tree, is_leaf)
    below = [structure(part) for part in parts_at("broadcast", treedef, full_tree)]
    spread = [leaf for leaf, part in zip(found, below, strict=True) for _ in range(part.num_leaves)]
    return structure(full_tree).unflatten(spread)


def transpose(outer_treedef: TreeDef, inner_treedef: TreeDef | None, pytree_to_transpose: Any) -> Any:
    """A tree of trees turned inside out: a list of dicts becomes a dict of lists.

    Args:
        outer_treedef: the structure outside, as it is.
        inner_treedef: the structure of each part inside; None: that of the first.
        pytree_to_transpose: made of both.

    Raises:
        TreeMismatchError: the tree is not, or the parts differ.

    >>> transpose(structure([0, 0]), None, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    parts = parts_at("transpose", outer_treedef, pytree_to_transpose)
    if inner_treedef is None:
        if not parts:
            raise ArgumentError("transpose", "the tree has no leaves that would tell its inner structure. Pass `inner_treedef`.")
        inner_treedef = structure(parts[0])
    rows = [parts_at("transpose", inner_treedef, part) for part in parts]
    columns = [outer_treedef.unflatten([row[k] for row in rows]) for k in range(inner_treedef.num_leaves)]
    return inner_treedef.unflatten(columns)
