"""`flatten`, with generated code for structures that were met before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.pytree.compare import exact, identical
from funcgrad.pytree.memory import COMPILED, LEAVES, LOCK, MAX_BUCKET, MAX_BUCKETS, SEEN
from funcgrad.pytree.source import Source
from funcgrad.pytree.treedef import LEAF, TreeDef
from funcgrad.pytree.walk import open_node

_compiled_for = COMPILED.get  # faster: CPython makes a bound method anew where the name is imported


def flatten(tree: Any, is_leaf: Callable[[Any], Any] | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree, dicts in sorted key order where their keys sort, and its structure.

    Args:
        tree: containers in containers; what is none is a leaf.
        is_leaf: asked at each container whether to take it as a leaf.

    Raises:
        UnregisteredContainerError: a subclass of a container that is not registered.
        CyclicTreeError: a container that contains itself.

    >>> flatten({"b": 2, "a": [1, None]})
    ([1, 2], TreeDef({'b': *, 'a': [*, None]}))
    """
    cls = type(tree)
    if cls in LEAVES:
        return [tree], LEAF
    if is_leaf is not None:
        return _opened(tree, is_leaf)
    key = (cls, *tree) if cls is dict else (cls, *map(type, tree)) if cls is tuple else (cls, len(tree)) if cls is list else cls
    for compiled in _compiled_for(key, ()):
        result = compiled(tree)
        if result is not None:
            return result
    found, treedef = _opened(tree)
    return found, _remember(key, treedef)


def _opened(tree: Any, is_leaf: Callable[[Any], Any] | None = None) -> tuple[list[Any], TreeDef]:
    found: list[Any] = []
    treedef = open_node(tree, found, None, is_leaf)
    return found, treedef


def _remember(key: Any, treedef: TreeDef) -> TreeDef:
    """The treedef met before that is the same in every respect, now with generated code; else this one."""
    if treedef is LEAF or not treedef._is_compilable or not treedef._keeps_little:
        return treedef
    with LOCK:
        seen = SEEN.get(key, [])
        known = next((known for known in seen if identical(known, treedef)), None)
        if known is None:
            if len(SEEN) >= MAX_BUCKETS:
                SEEN.clear()
                COMPILED.clear()
            SEEN[key] = [*seen, treedef][:MAX_BUCKET]
            return treedef
        if "_compiled" not in vars(known):
            vars(known)["_compiled"] = True
            COMPILED[key] = (flatten_source(known).compile(), *COMPILED.get(key, ()))
        return known


def flatten_source(treedef: TreeDef) -> Source:
    """A function that gives the leaves and `treedef` for a tree of this structure, None for any other."""
    source, names = Source(exact=exact, treedef=treedef, LEAVES=LEAVES), iter(range(treedef._extent[0]))
    lines: list[str] = []
    found: list[str] = []

    def visit(node: TreeDef, t: str) -> None:
        children = [f"{'x' if child is LEAF else 't'}{next(names)}" for child in node.children]
        lines.extend(node._kind.check(node, source, t, children))
        for child, name in zip(node.children, children, strict=True):
            found.append(name) if child is LEAF else visit(child, name)

    visit(treedef, "tree")
    if found:
        lines.append(f"if not ({' and '.join([f'type({x}) in LEAVES' for x in found])}): return None")
    body = "".join([f"        {line}\n" for line in lines])
    # A wrong length is a ValueError of unpacking, an unset field an AttributeError: the slow path says what is wrong, if anything.
    end = f"    except (ValueError, TypeError, AttributeError):\n        return None\n    return [{', '.join(found)}], treedef\n"
    source.text = f"def generated(tree):\n    try:\n{body}{end}"
    return source
