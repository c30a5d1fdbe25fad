"""Containers to a flat list of leaves and back: `leaves, treedef = flatten(tree)`, `tree = treedef.unflatten(leaves)`.

A structure is opened and closed node by node the first time it is seen; from the second time on it has generated code, which
checks that the tree still has that structure and otherwise gives it back to the slow path. The slow path is the oracle.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import re
import threading
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

import attrs
import numpy as np

from funcgrad.errors import (
    CyclicTreeError,
    DeepTreeError,
    LeafCountError,
    TreeMismatchError,
    TreeRegistrationError,
    UnregisteredContainerError,
    UnsetFieldError,
)

__all__ = [
    "TreeDef", "all", "flatten", "flatten_with_path", "leaves", "map", "map_with_path", "reduce", "register", "structure", "unflatten",
]  # fmt: skip

_MAX_DEPTH = 100  # of any tree: hash, == and repr of a treedef recurse
_MAX_COMPILED_DEPTH = 50  # CPython refuses source with 200 nested parentheses
_MAX_COMPILED_NODES = 512
_MAX_CLASSES = 1024  # remembered, then forgotten all at once: ever-new classes must not leak
_MAX_BUCKETS = 256  # the same for outermost shapes
_MAX_BUCKET = 32  # structures tried in turn for one outermost shape; more of them stay on the slow path

_LOCK = threading.RLock()
_LEAVES: set[type] = set()  # classes known to be leaves
_KINDS: dict[type, _Kind] = {}  # classes known to be containers
_REGISTERED: dict[type, _Kind] = {}  # by the user: never forgotten
_SEEN: dict[Any, list[TreeDef]] = {}  # by outermost shape: structures met at least once
_COMPILED: dict[Any, tuple[_Flattener, ...]] = {}  # by outermost shape: those met at least twice

_Opened = tuple[Sequence[Any], Sequence[Any], tuple[Any, ...], tuple[Any, ...]]  # keys, children, order, static
_Trail = tuple[Any, "_Kind", Any, Any] | None  # the way here: (trail of the parent, its kind, key, parent)
_Flattener = Callable[[Any], "tuple[list[Any], TreeDef] | None"]


@attrs.frozen(slots=False, eq=False, repr=False)
class TreeDef:
    """The structure of a tree without its leaves: compared and hashed by value, `unflatten` is its inverse.

    Two dicts with equal keys have equal treedefs, whatever their insertion order; each still rebuilds its own order.

    Attributes:
        children: the treedefs of the children, in the order of their leaves.
    """

    _kind: _Kind
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
            state["_build"] = _unflatten_source(self).compile()
            return state["_build"](leaves)
        state["_used"] = True
        return _close(self, iter(leaves))

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
        return _is_small(self._static) and _is_small(self._order) and builtins.all(child._keeps_little for child in self.children)

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self._kind.cls, tuple(self._keys), tuple([_hash_static(value) for value in self._static]), self.children))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeDef):
            return NotImplemented
        return self._hash == other._hash and _same_node(self, other) and self.children == other.children

    def __repr__(self) -> str:
        return f"TreeDef({_expression(self, _Readable(), iter(['*'] * self.num_leaves))})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "LEAF" if self is LEAF else (_restore, (self._kind.cls, self._keys, self._order, self._static, self.children))


def flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of a tree, dicts in sorted key order where their keys sort, and its structure.

    Raises:
        UnregisteredContainerError: a subclass of a container that is not registered.
        CyclicTreeError: a container that contains itself.

    >>> flatten({"b": 2, "a": [1, None]})
    ([1, 2], TreeDef({'b': *, 'a': [*, None]}))
    """
    cls = type(tree)
    if cls in _LEAVES:
        return [tree], LEAF
    key = (cls, *tree) if cls is dict else (cls, *builtins.map(type, tree)) if cls is tuple else (cls, len(tree)) if cls is list else cls
    for compiled in _COMPILED.get(key, ()):
        result = compiled(tree)
        if result is not None:
            return result
    found: list[Any] = []
    treedef = _open(tree, found, None)
    return found, _remember(key, treedef)


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The inverse of `flatten`: see `TreeDef.unflatten`."""
    return treedef.unflatten(leaves)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, in the order of `flatten`."""
    return flatten(tree)[0]


def structure(tree: Any) -> TreeDef:
    """The treedef of a tree."""
    return flatten(tree)[1]


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


def flatten_with_path(tree: Any) -> tuple[list[tuple[str, Any]], TreeDef]:
    """Like `flatten`, each leaf with its path."""
    found, treedef = flatten(tree)
    return list(zip(treedef.paths, found, strict=True)), treedef


def all(tree: Any) -> bool:
    """Whether every leaf is true."""
    return builtins.all(leaves(tree))


def reduce(f: Callable[[Any, Any], Any], tree: Any, *initial: Any) -> Any:
    """`functools.reduce` over the leaves."""
    return functools.reduce(f, leaves(tree), *initial)


def register(cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, tuple[Any, ...]], Any]) -> None:
    """Make instances of exactly `cls` containers; a subclass needs its own registration.

    Args:
        cls: the class; dataclasses and attrs classes need no registration, but may have one.
        flatten: `obj -> (children, aux)`; `aux` is static: part of the treedef, compared by `==`.
        unflatten: `(aux, children) -> obj`.

    Raises:
        TreeRegistrationError: `cls` has a meaning already.
    """
    with _LOCK:
        if cls in _REGISTERED or cls in _BUILTINS:
            raise TreeRegistrationError(cls)
        _REGISTERED[cls] = _Registered(cls, flatten, unflatten)
        _forget()


# ---- The slow path: one node at a time ----


def _open(tree: Any, found: list[Any], trail: _Trail) -> TreeDef:
    kind = _KINDS.get(type(tree)) or _classify(type(tree), trail)
    if kind is None:
        found.append(tree)
        return LEAF
    _check_descent(tree, trail)
    try:
        keys, children, order, static = kind.open(tree)
    except AttributeError as error:
        if isinstance(kind, _Record):
            raise UnsetFieldError(kind.cls, str(error.name), _path(trail)) from None
        raise
    treedefs = []
    for key, child in zip(keys, children, strict=True):
        if type(child) in _LEAVES:
            found.append(child)
            treedefs.append(LEAF)
        else:
            treedefs.append(_open(child, found, (trail, kind, key, tree)))
    return TreeDef(kind, keys, order, static, tuple(treedefs))


def _close(treedef: TreeDef, take: Iterator[Any]) -> Any:
    if treedef is LEAF:
        return next(take)
    return treedef._kind.close(treedef, [next(take) if child is LEAF else _close(child, take) for child in treedef.children])


def _path(trail: _Trail) -> str:
    steps = []
    while trail:
        trail, kind, key, _ = trail
        steps.append(kind.step(key))
    return "".join(reversed(steps))


def _check_descent(tree: Any, trail: _Trail) -> None:
    way, depth = trail, 1
    while way:
        if way[3] is tree:
            raise CyclicTreeError(_path(trail), _path(way[0]))
        way, depth = way[0], depth + 1
    if depth > _MAX_DEPTH:
        raise DeepTreeError(_path(trail), _MAX_DEPTH)


# ---- Kinds: what each class of container contributes to the slow path and to the generated code ----


@attrs.frozen(eq=False)
class _Kind:
    cls: type

    def open(self, tree: Any) -> _Opened:
        return (), (), (), ()

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        return None

    def step(self, key: Any) -> str:
        return f"[{key!r}]"

    def check(self, treedef: TreeDef, source: _Source, t: str, children: list[str]) -> list[str]:
        """Statements that return None unless `t` is such a node, and bind the names of its children."""
        return [f"if {t} is not None: return None"]

    def expression(self, treedef: TreeDef, source: _Source, children: list[str]) -> str:
        """The node, from the expressions of its children."""
        return "None"


class _Dict(_Kind):
    def open(self, tree: Any) -> _Opened:
        order = tuple(tree)
        keys = order
        if self.cls is not OrderedDict:
            with contextlib.suppress(TypeError):  # keys that do not sort keep their insertion order
                keys = tuple(sorted(order))
        return keys, [tree[key] for key in keys], order, (tree.default_factory,) if self.cls is defaultdict else ()

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        values = dict(zip(treedef._keys, children, strict=True))
        return self._wrap(treedef)({key: values[key] for key in treedef._order})

    def _wrap(self, treedef: TreeDef) -> Callable[[Any], Any]:
        return functools.partial(defaultdict, *treedef._static) if self.cls is defaultdict else self.cls

    def check(self, treedef: TreeDef, source: _Source, t: str, children: list[str]) -> list[str]:
        child_of = dict(zip(treedef._keys, children, strict=True))
        keys = [f"k{i}" for i in range(len(children))]
        differ = " or ".join([f"{k} is not {source.key(key)}" for k, key in zip(keys, treedef._order, strict=True)])
        lines = [source.is_a(t, self.cls), f"{_tuple(keys)} = {t}"]
        if keys:  # equal strings need not be identical: `exact` decides where `is` does not
            lines += [f"if ({differ}) and not exact({_tuple(keys)}, {source.name('keys', treedef._order)}): return None"]
            lines += [f"{_tuple([child_of[key] for key in treedef._order])} = {t}.values()"]
        return lines + [source.is_static(f"{t}.default_factory", value) for value in treedef._static]

    def expression(self, treedef: TreeDef, source: _Source, children: list[str]) -> str:
        child_of = dict(zip(treedef._keys, children, strict=True))
        items = "{" + ", ".join([f"{source.key(key)}: {child_of[key]}" for key in treedef._order]) + "}"
        if self.cls is dict:
            return items
        return f"{source.name(self.cls.__name__, self.cls)}({', '.join([source.static(v) for v in treedef._static] + [items])})"


class _Sequence(_Kind):
    """list, tuple and namedtuples."""

    def open(self, tree: Any) -> _Opened:
        return range(len(tree)), tree, (), ()

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        return children if self.cls is list else tuple.__new__(self.cls, children)

    def step(self, key: Any) -> str:
        return f".{self.cls._fields[key]}" if hasattr(self.cls, "_fields") else f"[{key}]"

    def check(self, treedef: TreeDef, source: _Source, t: str, children: list[str]) -> list[str]:
        return [source.is_a(t, self.cls), f"{_tuple(children)} = {t}"]

    def expression(self, treedef: TreeDef, source: _Source, children: list[str]) -> str:
        if self.cls is list:
            return f"[{', '.join(children)}]"
        if self.cls is tuple:
            return _tuple(children)
        return f"{source.name(self.cls.__name__, functools.partial(tuple.__new__, self.cls))}({_tuple(children)})"


@attrs.frozen(eq=False)
class _Record(_Kind):
    """Dataclasses and attrs classes."""

    fields: tuple[str, ...]
    static_fields: tuple[str, ...]
    make: Callable[..., Any]

    def open(self, tree: Any) -> _Opened:
        static = tuple([getattr(tree, name) for name in self.static_fields])
        return self.fields, [getattr(tree, name) for name in self.fields], (), static

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        return self.make(*children, *treedef._static)

    def step(self, key: Any) -> str:
        return f".{key}"

    def check(self, treedef: TreeDef, source: _Source, t: str, children: list[str]) -> list[str]:
        lines = [source.is_a(t, self.cls)]
        lines += [f"{child} = {t}.{name}" for child, name in zip(children, self.fields, strict=True)]
        return lines + [source.is_static(f"{t}.{name}", v) for name, v in zip(self.static_fields, treedef._static, strict=True)]

    def expression(self, treedef: TreeDef, source: _Source, children: list[str]) -> str:
        return f"{source.name(self.cls.__name__, self.make)}({', '.join(children + [source.static(v) for v in treedef._static])})"


@attrs.frozen(eq=False)
class _Registered(_Kind):
    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, tuple[Any, ...]], Any]

    def open(self, tree: Any) -> _Opened:
        children, aux = self.flatten(tree)
        children = tuple(children)
        return range(len(children)), children, (), (aux,)

    def close(self, treedef: TreeDef, children: list[Any]) -> Any:
        return self.unflatten(treedef._static[0], tuple(children))

    def check(self, treedef: TreeDef, source: _Source, t: str, children: list[str]) -> list[str]:
        opened = [f"children, aux = {source.name(f'flatten_{self.cls.__name__}', self.flatten)}({t})", f"{_tuple(children)} = children"]
        return [source.is_a(t, self.cls), *opened, source.is_static("aux", *treedef._static)]

    def expression(self, treedef: TreeDef, source: _Source, children: list[str]) -> str:
        return f"{source.name(self.cls.__name__, self.unflatten)}({source.static(*treedef._static)}, {_tuple(children)})"


def _classify(cls: type, trail: _Trail) -> _Kind | None:
    """The kind of a class, `None` if its instances are leaves. Remembers the answer."""
    with _LOCK:
        if len(_LEAVES) + len(_KINDS) >= _MAX_CLASSES:
            _forget()
        kind = _KINDS.get(cls) or _find_kind(cls, trail)
        if kind is None:
            _LEAVES.add(cls)
        else:
            _KINDS[cls] = kind
        return kind


def _find_kind(cls: type, trail: _Trail) -> _Kind | None:
    # `__pytree__ = False` in a class makes its instances and those of its subclasses leaves, attrs class or not (Tensor has it).
    if not getattr(cls, "__pytree__", True):
        return None
    if issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple):
        return _Sequence(cls)
    is_record = dataclasses.is_dataclass(cls) or attrs.has(cls)
    base = next((base for base in cls.__mro__ if base in _BUILTINS or base in _REGISTERED), None)
    if base or (is_record and not _is_plain(cls)):
        raise UnregisteredContainerError(cls, base or cls.__mro__[1], _path(trail))
    return _record(cls) if is_record else None


def _is_plain(cls: type) -> bool:
    """Whether `object.__new__` makes it: not so for subclasses of Exception, int, ndarray."""
    try:
        object.__new__(cls)
    except TypeError:
        return False
    return True


def _record(cls: Any) -> _Record:
    fields: Iterable[Any] = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else attrs.fields(cls)
    is_child = {field.name: field.metadata.get("pytree", True) for field in fields}
    children = tuple([name for name, child in is_child.items() if child])
    static = tuple([name for name, child in is_child.items() if not child])
    return _Record(cls, children, static, _compile_make(cls, children + static))


def _forget() -> None:
    """Forget what can be found out again."""
    for cache in (_LEAVES, _KINDS, _SEEN, _COMPILED):
        cache.clear()
    _KINDS.update(_BUILTINS)
    _KINDS.update(_REGISTERED)


_BUILTINS: dict[type, _Kind] = {cls: _Dict(cls) for cls in (dict, OrderedDict, defaultdict)}
_BUILTINS |= {list: _Sequence(list), tuple: _Sequence(tuple), type(None): _Kind(type(None))}
_forget()

LEAF = TreeDef(_Kind(object), (), (), (), ())
"""The treedef of a single leaf."""


# ---- The fast path: generated code ----


class _Source:
    """Generated code: a function `generated`, and what its names stand for."""

    text = ""

    def __init__(self, **values: Any) -> None:
        self.values = values
        self._names: dict[int, str] = {}

    def name(self, hint: str, value: Any) -> str:
        if id(value) not in self._names:
            name = "_" + re.sub(r"\W", "_", hint, flags=re.ASCII)[:30]
            while name in self.values:
                name += "_"
            self.values[name] = value
            self._names[id(value)] = name
        return self._names[id(value)]

    def key(self, key: Any) -> str:
        return self.name(f"key_{key}" if type(key) in (str, int) else "key", key)

    def static(self, value: Any) -> str:
        return self.name("static", value)

    def is_a(self, t: str, cls: type) -> str:
        return f"if type({t}) is not {self.name(cls.__name__, cls)}: return None"

    def is_static(self, found: str, value: Any) -> str:
        return f"if {found} is not {self.static(value)} and not exact({found}, {self.static(value)}): return None"

    def compile(self) -> Any:
        exec(compile(self.text, "<funcgrad.pytree>", "exec"), self.values)  # the text is ours: users' objects enter by name only
        return self.values["generated"]


def _flatten_source(treedef: TreeDef) -> _Source:
    source, names = _Source(exact=_exact, treedef=treedef, LEAVES=_LEAVES), iter(range(treedef._extent[0]))
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


def _unflatten_source(treedef: TreeDef) -> _Source:
    source, names = _Source(), [f"x{i}" for i in range(treedef.num_leaves)]
    source.text = f"def generated(leaves):\n    {_tuple(names)} = leaves\n    return {_expression(treedef, source, iter(names))}\n"
    return source


def _expression(treedef: TreeDef, source: _Source, names: Iterator[str]) -> str:
    if treedef is LEAF:
        return next(names)
    return treedef._kind.expression(treedef, source, [_expression(child, source, names) for child in treedef.children])


def _compile_make(cls: Any, fields: tuple[str, ...]) -> Callable[..., Any]:
    """Law: unflatten makes objects without `__init__`, converters or validators."""
    plain = cls.__setattr__ is object.__setattr__  # then the assignment statement means the same, and is faster
    lines = [f"self.{name} = x{i}" if plain else f"put(self, {name!r}, x{i})" for i, name in enumerate(fields)]
    if "_attrs_cached_hash" in getattr(getattr(cls.__hash__, "__code__", None), "co_names", ()):
        lines.append("put(self, '_attrs_cached_hash', None)")  # attrs' own __init__ does this for `cache_hash=True`
    source = _Source(cls=cls, new=object.__new__, put=object.__setattr__)
    arguments = ", ".join([f"x{i}" for i in range(len(fields))])
    source.text = f"def generated({arguments}):\n" + "".join([f"    {line}\n" for line in ["self = new(cls)", *lines, "return self"]])
    make: Callable[..., Any] = source.compile()
    return make


def _remember(key: Any, treedef: TreeDef) -> TreeDef:
    """The treedef met before that is the same in every respect, now with generated code; else this one."""
    if treedef is LEAF or not treedef._is_compilable or not treedef._keeps_little:
        return treedef
    with _LOCK:
        seen = _SEEN.get(key, [])
        known = next((known for known in seen if _identical(known, treedef)), None)
        if known is None:
            if len(_SEEN) >= _MAX_BUCKETS:
                _SEEN.clear()
                _COMPILED.clear()
            _SEEN[key] = [*seen, treedef][:_MAX_BUCKET]
            return treedef
        if "_compiled" not in vars(known):
            vars(known)["_compiled"] = True
            _COMPILED[key] = (_flatten_source(known).compile(), *_COMPILED.get(key, ()))
        return known


# ---- Sameness ----

_ATOMS = (str, bytes, int, float, complex, types.NoneType, type, types.FunctionType, types.BuiltinFunctionType, np.ufunc, np.dtype, Enum)


def _is_small(value: Any) -> bool:
    return builtins.all(builtins.map(_is_small, value)) if type(value) is tuple else isinstance(value, _ATOMS)


def _exact(a: Any, b: Any) -> bool:
    """Whether nobody can tell `a` from `b`, though they may be two objects: 1 is not True here, nor 0.0 -0.0."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is tuple:
        return len(a) == len(b) and builtins.all(builtins.map(_exact, a, b))
    return type(a) in (str, bytes, int, float, complex) and repr(a) == repr(b)


def _identical(a: TreeDef, b: TreeDef) -> bool:
    return a is b or (
        a._kind is b._kind
        and _exact(a._order, b._order)
        and _exact(a._static, b._static)
        and len(a.children) == len(b.children)
        and builtins.all(builtins.map(_identical, a.children, b.children))
    )


def _equal_static(a: Any, b: Any) -> bool:
    if a is b:
        return True
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:  # an array, say: what does not compare is equal to itself only
        return False


def _hash_static(value: Any) -> int:
    try:
        return hash(value)
    except TypeError:
        return hash(type(value))


def _same_node(a: TreeDef, b: TreeDef) -> bool:
    """Equal but for the children below."""
    return (
        (a is LEAF) == (b is LEAF)
        and a._kind.cls is b._kind.cls
        and a._keys == b._keys
        and len(a._static) == len(b._static)
        and builtins.all(builtins.map(_equal_static, a._static, b._static))
    )


def _columns(verb: str, tree: Any, rest: tuple[Any, ...]) -> tuple[list[list[Any]], TreeDef]:
    first, treedef = flatten(tree)
    columns = [first]
    for i, other in enumerate(rest):
        found, other_def = flatten(other)
        if other_def != treedef:
            raise TreeMismatchError(verb, i + 2, *_difference(treedef, other_def, ""))
        columns.append(found)
    return columns, treedef


def _difference(a: TreeDef, b: TreeDef, path: str) -> tuple[str, str, str]:
    if not _same_node(a, b):
        return path, _describe(a), _describe(b)
    key, x, y = next((key, x, y) for key, x, y in zip(a._keys, a.children, b.children, strict=True) if x != y)
    return _difference(x, y, path + a._kind.step(key))


def _describe(treedef: TreeDef) -> str:
    if treedef is LEAF:
        return "a leaf"
    return treedef._kind.expression(treedef, _Readable(), ["*" if child is LEAF else "…" for child in treedef.children])


def _tuple(names: list[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


class _Readable(_Source):
    """Every name is what a reader would call it."""

    def name(self, hint: str, value: Any) -> str:
        return hint

    def key(self, key: Any) -> str:
        return repr(key)

    def static(self, value: Any) -> str:
        return repr(value)


def _restore(cls: type, keys: Sequence[Any], order: tuple[Any, ...], static: tuple[Any, ...], children: tuple[TreeDef, ...]) -> TreeDef:
    kind = _KINDS.get(cls) or _classify(cls, None)
    if kind is None:
        raise UnregisteredContainerError(cls, cls, "")
    return TreeDef(kind, keys, order, static, children)
