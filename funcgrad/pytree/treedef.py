"""The structure of a tree without its leaves, and the way back from leaves to trees."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from funcgrad.errors import LeafCountError, UnregisteredContainerError
from funcgrad.pytree.compare import hash_static, is_small, same_node
from funcgrad.pytree.kinds import Kind
from funcgrad.pytree.registry import classify
from funcgrad.pytree.source import Readable, Source, tuple_of

_MAX_COMPILED_DEPTH = 50  # CPython refuses source with 200 nested parentheses
_MAX_COMPILED_NODES = 512


@attrs.frozen(slots=False, eq=False, repr=False)
class TreeDef:
    """The structure of a tree without its leaves: compared and hashed by value, `unflatten` is its inverse.

    Two dicts with equal keys have equal treedefs, whatever their insertion order; each still rebuilds its own order.

    Attributes:
        children: the treedefs of the children, in the order of their leaves.
    """

    __pytree__ = False

    _kind: Kind
    _keys: Sequence[Any]
    _order: tuple[Any, ...]
    _static: tuple[Any, ...]
    children: tuple[TreeDef, ...]

    @functools.cached_property
    def num_leaves(self) -> int:
        """How many leaves `unflatten` takes."""
        return 1 if self is LEAF else sum([child.num_leaves for child in self.children])

    @functools.cached_property
    def paths(self) -> tuple[str, ...]:
        """Where each leaf is, relative to the root: `['layers'][0].w`."""
        if self is LEAF:
            return ("",)
        return tuple([self._kind.step(key) + path for key, child in zip(self._keys, self.children, strict=True) for path in child.paths])

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves, made without `__init__`, converters or validators.

        Raises:
            LeafCountError: there are not `num_leaves` leaves.
        """
        if type(leaves) is not list:
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise LeafCountError(len(leaves), self.paths)
        return self._build(leaves)

    def _build(self, leaves: list[Any]) -> Any:
        # An entry of the same name in the instance's __dict__ takes the place of this method once there is generated code.
        state = vars(self)
        if "_used" in state and self._is_compilable:
            state["_build"] = self._unflatten_source().compile()
            return state["_build"](leaves)
        state["_used"] = True
        return self._close(iter(leaves))

    def _close(self, take: Iterator[Any]) -> Any:
        """The slow path of `unflatten`: one node at a time."""
        if self is LEAF:
            return next(take)
        return self._kind.close(self, [next(take) if child is LEAF else child._close(take) for child in self.children])

    def _unflatten_source(self) -> Source:
        """The fast path: the tree, written down."""
        source, names = Source(), [f"x{i}" for i in range(self.num_leaves)]
        source.text = f"def generated(leaves):\n    {tuple_of(names)} = leaves\n    return {self._expression(source, iter(names))}\n"
        return source

    def _expression(self, source: Source, names: Iterator[str]) -> str:
        if self is LEAF:
            return next(names)
        return self._kind.expression(self, source, [child._expression(source, names) for child in self.children])

    @property
    def node(self) -> tuple[type, tuple[Any, ...], tuple[TreeDef, ...], tuple[Any, ...]]:
        """This node alone: its class, its keys and children in the order that a rebuilt tree has them, and what is static in it."""
        if not self._order:
            return self._kind.cls, tuple(self._keys), self.children, self._static
        child_of = dict(zip(self._keys, self.children, strict=True))
        return self._kind.cls, self._order, tuple([child_of[key] for key in self._order]), self._static

    @property
    def _outline(self) -> str:
        """This node alone, for messages: `{'W': *, 'layers': …}`."""
        if self is LEAF:
            return "a leaf"
        return self._kind.expression(self, Readable(), ["*" if child is LEAF else "…" for child in self.children])

    @functools.cached_property
    def _extent(self) -> tuple[int, int]:
        """Nodes and depth."""
        extents = [child._extent for child in self.children]
        return 1 + sum([nodes for nodes, _ in extents]), 1 + max([depth for _, depth in extents], default=0)

    @functools.cached_property
    def _is_compilable(self) -> bool:
        nodes, depth = self._extent
        return nodes <= _MAX_COMPILED_NODES and depth <= _MAX_COMPILED_DEPTH

    @functools.cached_property
    def _keeps_little(self) -> bool:
        """Law: a cache keeps keys, classes, functions and atoms of the user alive, never arrays or other objects."""
        return is_small(self._static) and is_small(self._order) and all(child._keeps_little for child in self.children)

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self._kind.cls, tuple(self._keys), tuple([hash_static(value) for value in self._static]), self.children))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeDef):
            return NotImplemented
        return self._hash == other._hash and same_node(self, other) and self.children == other.children

    def __repr__(self) -> str:
        return f"TreeDef({self._expression(Readable(), iter(['*'] * self.num_leaves))})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "LEAF" if self is LEAF else (_restore, (self._kind.cls, self._keys, self._order, self._static, self.children))


def _restore(cls: type, *parts: Any) -> TreeDef:
    kind = classify(cls, lambda: "")
    if kind is None:
        raise UnregisteredContainerError(cls, cls, "")
    return TreeDef(kind, *parts)


LEAF = TreeDef(Kind(object), (), (), (), ())
"""The treedef of a single leaf."""
