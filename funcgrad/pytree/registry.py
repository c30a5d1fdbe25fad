"""Which classes are containers, and of which kind."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from funcgrad.errors import TreeRegistrationError, UnregisteredContainerError
from funcgrad.pytree.kinds import Dict, Kind, Record, Registered, Sequential
from funcgrad.pytree.memory import KINDS, LEAVES, LOCK, MAX_CLASSES, REGISTERED, forget
from funcgrad.pytree.source import Source

_BUILTINS: dict[type, Kind] = {
    **{cls: Dict(cls) for cls in (dict, OrderedDict, defaultdict)},
    **{cls: Sequential(cls) for cls in (list, tuple)},
    type(None): Kind(type(None)),
}


def register(cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, tuple[Any, ...]], Any]) -> None:
    """Make instances of exactly `cls` containers; a subclass needs its own registration.

    Args:
        cls: the class; dataclasses and attrs classes need no registration, but may have one.
        flatten: `obj -> (children, aux)`; `aux` is static: part of the treedef, compared by `==`.
        unflatten: `(aux, children) -> obj`.

    Raises:
        TreeRegistrationError: `cls` has a meaning already.
    """
    with LOCK:
        if cls in REGISTERED or cls in _BUILTINS:
            raise TreeRegistrationError(cls)
        REGISTERED[cls] = Registered(cls, flatten, unflatten)
        forget()


def classify(cls: type, path: Callable[[], str]) -> Kind | None:
    """The kind of a class met at `path()`, `None` if its instances are leaves. Remembers the answer."""
    with LOCK:
        if len(LEAVES) + len(KINDS) >= MAX_CLASSES:
            forget()
        kind = KINDS.get(cls) or _BUILTINS.get(cls) or REGISTERED.get(cls) or _find_kind(cls, path)
        if kind is None:
            LEAVES.add(cls)
        else:
            KINDS[cls] = kind
        return kind


def _find_kind(cls: type, path: Callable[[], str]) -> Kind | None:
    if not getattr(cls, "__pytree__", True):
        return None
    if issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple):
        return Sequential(cls)
    is_record = dataclasses.is_dataclass(cls) or attrs.has(cls)
    base = next((base for base in cls.__mro__ if base in _BUILTINS or base in REGISTERED), None)
    if base or (is_record and not _is_plain(cls)):
        raise UnregisteredContainerError(cls, base or cls.__mro__[1], path())
    return _record(cls) if is_record else None


def _is_plain(cls: type) -> bool:
    """Whether `object.__new__` makes it: not so for subclasses of Exception, int, ndarray."""
    try:
        object.__new__(cls)
    except TypeError:
        return False
    return True


def _record(cls: Any) -> Record:
    fields: Iterable[Any] = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else attrs.fields(cls)
    is_child = {field.name: field.metadata.get("pytree", True) for field in fields}
    children = tuple([name for name, child in is_child.items() if child])
    static = tuple([name for name, child in is_child.items() if not child])
    return Record(cls, children, static, _make_source(cls, children + static).compile())


def _make_source(cls: Any, fields: tuple[str, ...]) -> Source:
    """Law: unflatten makes objects without `__init__`, converters or validators."""
    plain = cls.__setattr__ is object.__setattr__  # then the assignment statement means the same, and is faster
    lines = [f"self.{name} = x{i}" if plain else f"put(self, {name!r}, x{i})" for i, name in enumerate(fields)]
    if "_attrs_cached_hash" in getattr(getattr(cls.__hash__, "__code__", None), "co_names", ()):
        lines.append("put(self, '_attrs_cached_hash', None)")  # attrs' own __init__ does this for `cache_hash=True`
    source = Source(cls=cls, new=object.__new__, put=object.__setattr__)
    arguments = ", ".join([f"x{i}" for i in range(len(fields))])
    source.text = f"def generated({arguments}):\n" + "".join([f"    {line}\n" for line in ["self = new(cls)", *lines, "return self"]])
    return source
