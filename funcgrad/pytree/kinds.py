"""What each class of container contributes to the slow path and to the generated code."""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from funcgrad.pytree.source import Source, tuple_of

if TYPE_CHECKING:
    from funcgrad.pytree.treedef import TreeDef

Opened = tuple[Sequence[Any], Sequence[Any], tuple[Any, ...], tuple[Any, ...]]  # keys, children, order, static


@attrs.frozen(eq=False)
class Kind:
    """How a class opens and closes; as it stands, that of a class whose one instance is None."""

    cls: type

    def open(self, tree: Any) -> Opened:
        return (), (), (), ()

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        return None

    def step(self, key: Any) -> str:
        """What a path says for the child at this key."""
        return f"[{key!r}]"

    def check(self, treedef: TreeDef, source: Source, t: str, children: list[str]) -> list[str]:
        """Statements that return None unless `t` is such a node, and bind the names of its children."""
        return [f"if {t} is not None: return None"]

    def expression(self, treedef: TreeDef, source: Source, children: list[str]) -> str:
        """The node, from the expressions of its children."""
        return "None"


class Dict(Kind):
    """dict, OrderedDict and defaultdict."""

    def open(self, tree: Any) -> Opened:
        order = tuple(tree)
        keys = order
        if self.cls is not OrderedDict:
            with contextlib.suppress(TypeError):  # keys that do not sort keep their insertion order
                keys = tuple(sorted(order))
        return keys, [tree[key] for key in keys], order, (tree.default_factory,) if self.cls is defaultdict else ()

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        values = dict(zip(treedef._keys, children, strict=True))
        return self.cls(*treedef._static, {key: values[key] for key in treedef._order})

    def check(self, treedef: TreeDef, source: Source, t: str, children: list[str]) -> list[str]:
        child_of = dict(zip(treedef._keys, children, strict=True))
        keys = [f"k{i}" for i in range(len(children))]
        differ = " or ".join([f"{k} is not {source.key(key)}" for k, key in zip(keys, treedef._order, strict=True)])
        lines = [source.is_a(t, self.cls), f"{tuple_of(keys)} = {t}"]
        if keys:  # equal strings need not be identical: `exact` decides where `is` does not
            lines += [f"if ({differ}) and not exact({tuple_of(keys)}, {source.name('keys', treedef._order)}): return None"]
            lines += [f"{tuple_of([child_of[key] for key in treedef._order])} = {t}.values()"]
        return lines + [source.is_static(f"{t}.default_factory", value) for value in treedef._static]

    def expression(self, treedef: TreeDef, source: Source, children: list[str]) -> str:
        child_of = dict(zip(treedef._keys, children, strict=True))
        items = "{" + ", ".join([f"{source.key(key)}: {child_of[key]}" for key in treedef._order]) + "}"
        if self.cls is dict:
            return items
        return f"{source.name(self.cls.__name__, self.cls)}({', '.join([source.static(v) for v in treedef._static] + [items])})"


class Sequential(Kind):
    """list, tuple and namedtuples."""

    def open(self, tree: Any) -> Opened:
        return range(len(tree)), tree, (), ()

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        return children if self.cls is list else tuple.__new__(self.cls, children)

    def step(self, key: Any) -> str:
        return f".{self.cls._fields[key]}" if hasattr(self.cls, "_fields") else f"[{key}]"

    def check(self, treedef: TreeDef, source: Source, t: str, children: list[str]) -> list[str]:
        return [source.is_a(t, self.cls), f"{tuple_of(children)} = {t}"]

    def expression(self, treedef: TreeDef, source: Source, children: list[str]) -> str:
        if self.cls is list:
            return f"[{', '.join(children)}]"
        if self.cls is tuple:
            return tuple_of(children)
        return f"{source.name(self.cls.__name__, functools.partial(tuple.__new__, self.cls))}({tuple_of(children)})"


@attrs.frozen(eq=False)
class Record(Kind):
    """Dataclasses and attrs classes."""

    fields: tuple[str, ...]
    static_fields: tuple[str, ...]
    make: Callable[..., Any]

    def open(self, tree: Any) -> Opened:
        static = tuple([getattr(tree, name) for name in self.static_fields])
        return self.fields, [getattr(tree, name) for name in self.fields], (), static

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        return self.make(*children, *treedef._static)

    def step(self, key: Any) -> str:
        return f".{key}"

    def check(self, treedef: TreeDef, source: Source, t: str, children: list[str]) -> list[str]:
        lines = [source.is_a(t, self.cls)]
        lines += [f"{child} = {t}.{name}" for child, name in zip(children, self.fields, strict=True)]
        return lines + [source.is_static(f"{t}.{name}", v) for name, v in zip(self.static_fields, treedef._static, strict=True)]

    def expression(self, treedef: TreeDef, source: Source, children: list[str]) -> str:
        return f"{source.name(self.cls.__name__, self.make)}({', '.join(children + [source.static(v) for v in treedef._static])})"


@attrs.frozen(eq=False)
class Registered(Kind):
    """Classes with a flatten and an unflatten of the user's."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, tuple[Any, ...]], Any]

    def open(self, tree: Any) -> Opened:
        children, aux = self.flatten(tree)
        children = tuple(children)
        return range(len(children)), children, (), (aux,)

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        return self.unflatten(treedef._static[0], tuple(children))

    def check(self, treedef: TreeDef, source: Source, t: str, children: list[str]) -> list[str]:
        opened = [f"children, aux = {source.name(f'flatten_{self.cls.__name__}', self.flatten)}({t})", f"{tuple_of(children)} = children"]
        return [source.is_a(t, self.cls), *opened, source.is_static("aux", *treedef._static)]

    def expression(self, treedef: TreeDef, source: Source, children: list[str]) -> str:
        return f"{source.name(self.cls.__name__, self.unflatten)}({source.static(*treedef._static)}, {tuple_of(children)})"
