"""What one does with trees, said with `flatten` and `unflatten`."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable
from typing import Any

from funcgrad.errors import TreeMismatchError
from funcgrad.pytree.compare import difference
from funcgrad.pytree.compiled import flatten
from funcgrad.pytree.treedef import TreeDef


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The inverse of `flatten`: see `TreeDef.unflatten`."""
    return treedef.unflatten(leaves)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, in the order of `flatten`."""
    return flatten(tree)[0]


def structure(tree: Any) -> TreeDef:
    """The treedef of a tree."""
    return flatten(tree)[1]


def flatten_with_path(tree: Any) -> tuple[list[tuple[str, Any]], TreeDef]:
    """Like `flatten`, each leaf with its path."""
    found, treedef = flatten(tree)
    return list(zip(treedef.paths, found, strict=True)), treedef


def map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """A tree like `tree` whose leaves are `f(leaf, *leaves of the others at that place)`.

    Raises:
        TreeMismatchError: one of `rest` has another structure.

    >>> map(lambda x, y: x + y, {"a": 1, "b": (2, None)}, {"a": 10, "b": (20, None)})
    {'a': 11, 'b': (22, None)}
    """
    columns, treedef = _columns("map", tree, rest)
    return treedef.unflatten(list(builtins.map(f, *columns)))


def map_with_path(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Like `map`, with the path of the leaf as the first argument of `f`."""
    columns, treedef = _columns("map_with_path", tree, rest)
    return treedef.unflatten(list(builtins.map(f, treedef.paths, *columns)))


def _columns(verb: str, tree: Any, rest: tuple[Any, ...]) -> tuple[list[list[Any]], TreeDef]:
    first, treedef = flatten(tree)
    columns = [first]
    for i, other in enumerate(rest):
        found, other_def = flatten(other)
        if other_def != treedef:
            raise TreeMismatchError(verb, i + 2, *difference(treedef, other_def))
        columns.append(found)
    return columns, treedef


def all(tree: Any) -> bool:
    """Whether every leaf is true."""
    return builtins.all(leaves(tree))


def reduce(f: Callable[[Any, Any], Any], tree: Any, *initial: Any) -> Any:
    """`functools.reduce` over the leaves."""
    return functools.reduce(f, leaves(tree), *initial)
