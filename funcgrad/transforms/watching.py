"""What a function reads besides its arguments, so that a compiled one notices when that is something else.

Watched are bindings: closure cells, defaults, the globals that a function names, attributes of objects, items of small lists and dicts,
as far as they are reached from the function; and what is in small arrays, which code may read before it meets an argument.
Nothing traced is kept alive.
"""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Frozen, Traced
from funcgrad.transforms.arguments import Chosen
from funcgrad.transforms.closures import EMPTY, OPAQUE, content_of, is_open, names_in, slots_of

LARGEST = 1000
"""Entries: longer containers are data, which nobody rebinds piece by piece."""

SMALL = 64
"""Elements of an array whose content is compared at every call."""

_ndarray = np.ndarray
_DATA = (np.ndarray, np.generic, Frozen, bool, int, float, complex, str, list, tuple, dict)


class Watch:
    """The bindings that a function has now. `holds()` says whether it still has them."""

    __slots__ = ("cells", "contents", "dicts", "ids", "large", "lists", "reads", "sizes", "traced")

    def __init__(self, *roots: Any) -> None:
        self.cells: list[tuple[Any, Any]] = []
        self.lists: list[tuple[list[Any], tuple[Any, ...]]] = []
        self.reads: list[tuple[Callable[[], Any], Any]] = []
        self.sizes: list[tuple[Any, int]] = []
        self.traced: list[tuple[Callable[[], Any], Any]] = []
        self.contents: list[tuple[Any, bytes]] = []
        self.large: list[Any] = []
        self.ids: set[int] = set()
        found: dict[int, tuple[Any, dict[Any, Any]]] = {}
        rest: list[Any] = list(roots)
        seen: set[int] = set()
        for x in rest:  # which grows
            if id(x) not in seen and len(seen) < 8 * LARGEST:
                seen.add(id(x))
                rest += self._parts(x, found)
        self.dicts = [
            (holder, operator.itemgetter(*names), tuple(names.values()))
            if len(names) > 1
            else (holder, next(iter(names)), next(iter(names.values())))
            for holder, names in found.values()
        ]

    # ---- asking

    def holds(self) -> bool:
        return self.is_bound() and not any(x.tobytes() != was for x, was in self.contents)

    def is_bound(self) -> bool:
        """Whether names are bound to what they were."""
        try:
            for cell, was in self.cells:
                if cell.cell_contents is not was:
                    return False
            for holder, pick, was in self.dicts:
                if type(pick) is not operator.itemgetter:
                    if holder[pick] is not was:
                        return False
                elif not all(map(operator.is_, pick(holder), was)):
                    return False
            for holder, size in self.sizes:
                if len(holder) != size:
                    return False
            for read, was in self.reads:
                if read() is not was:
                    return False
            for read, ref in self.traced:
                if read() is not ref():
                    return False
        except (KeyError, IndexError, AttributeError, ValueError):
            return False
        return all(len(items) == len(were) and all(map(operator.is_, items, were)) for items, were in self.lists)

    def terms(self) -> tuple[list[str], dict[str, Any]]:
        """`holds` as conditions in code, where there is little to ask, and what their names mean; while `look_again` is not called.

        One that raises does not hold.
        """
        if self.lists or self.reads or self.traced or len(self.cells) + len(self.dicts) + len(self.sizes) + len(self.contents) > SMALL:
            return ["holds__()"], {"holds__": self.holds}
        space: dict[str, Any] = {"same__": operator.is_}
        terms: list[str] = []
        for k, (cell, value) in enumerate(self.cells):
            space |= {f"cell{k}__": cell, f"value{k}__": value}
            terms.append(f"cell{k}__.cell_contents is value{k}__")
        for k, (holder, pick, was) in enumerate(self.dicts):
            space |= {f"holder{k}__": holder, f"pick{k}__": pick, f"was{k}__": was}
            several = type(pick) is operator.itemgetter
            terms.append(f"all(map(same__, pick{k}__(holder{k}__), was{k}__))" if several else f"holder{k}__[pick{k}__] is was{k}__")
        for k, (holder, size) in enumerate(self.sizes):
            space[f"sized{k}__"] = holder
            terms.append(f"len(sized{k}__) == {size}")
        for k, (x, content) in enumerate(self.contents):
            space |= {f"array{k}__": x, f"content{k}__": content}
            terms.append(f"array{k}__.tobytes() == content{k}__")
        return terms, space

    def quick(self) -> Callable[[], bool]:
        """`holds` as one function of these."""
        terms, space = self.terms()
        exec(f"def quick():\n    try:\n        return {' and '.join(terms) or 'True'}\n    except Exception:\n        return False", space)
        made: Callable[[], bool] = space["quick"]
        return made

    def changed(self) -> list[Any]:
        """The arrays that were written to."""
        return [x for x, was in self.contents if x.tobytes() != was]

    def look_again(self, trusted: set[int]) -> None:
        """What is in the arrays now is what was found; those that are trusted are not asked again."""
        self.contents = [(x, x.tobytes()) for x, _ in self.contents if id(x) not in trusted]

    def look_into_large(self) -> None:
        """For a recording that holds something computed of what was reached."""
        self.contents += [(x, x.tobytes()) for x in self.large]
        self.large = []

    def knows(self, x: Any) -> bool:
        """Whether it is a value that was reached, or a view of one."""
        while x is not None:
            if id(x) in self.ids:
                return True
            x = x.base if isinstance(x, _ndarray) else None
        return False

    # ---- what is reached

    def _entry(self, found: dict[int, tuple[Any, dict[Any, Any]]], holder: Any, name: Any, value: Any) -> None:
        if isinstance(value, Traced):
            self.traced.append((functools.partial(operator.getitem, holder, name), weakref.ref(value)))
        else:
            found.setdefault(id(holder), (holder, {}))[1][name] = value

    def _parts(self, x: Any, found: dict[int, tuple[Any, dict[Any, Any]]]) -> Iterator[Any]:
        kind: Any = type(x)
        if isinstance(x, (_ndarray, Frozen, np.generic)):
            self._number(x)
        elif kind is types.FunctionType:
            yield from self._of_function(x, found)
        elif kind is types.MethodType:
            yield x.__func__
            yield x.__self__
        elif isinstance(x, functools.partial):
            yield x.func
            yield from x.args
            yield from x.keywords.values()
        elif kind is list:
            yield from self._of_list(x)
        elif kind is tuple:
            yield from x[:LARGEST]
        elif kind is dict:
            yield from self._of_dict(x, found)
        elif isinstance(x, type):
            cls: Any = x
            if is_open(cls):
                yield from self._of_class(cls, found)
        elif kind is types.SimpleNamespace or (not isinstance(x, types.ModuleType) and is_open(kind)):
            yield from self._of_object(x, found)

    def _number(self, x: Any) -> None:
        self.ids.add(id(x))
        if isinstance(x, Frozen) and not isinstance(x, Traced):
            self.ids.add(id(x._array))
        elif type(x) is _ndarray and 0 not in x.strides and x.flags.writeable and not x.dtype.hasobject:
            if x.size <= SMALL:
                self.contents.append((x, x.tobytes()))
            else:
                self.large.append(x)

    def _of_function(self, f: Any, found: Any) -> Iterator[Any]:
        space = f.__globals__
        if str(space.get("__name__", "")).partition(".")[0] in OPAQUE:  # what it holds is never bound anew
            yield f.__dict__.get("__wrapped__")
            yield from (x for x in map(content_of, f.__closure__ or ()) if type(x) not in (list, dict))
            return
        for cell in f.__closure__ or ():
            value = content_of(cell)
            if isinstance(value, Traced):
                self.traced.append((functools.partial(getattr, cell, "cell_contents"), weakref.ref(value)))
            elif value is not EMPTY:
                self.cells.append((cell, value))
            yield value
        if f.__defaults__:
            self.reads.append((functools.partial(getattr, f, "__defaults__"), f.__defaults__))
            yield f.__defaults__
        if f.__kwdefaults__:
            yield f.__kwdefaults__
        yield f.__dict__.get("__wrapped__")
        yield from self._of_globals(space, names_in(f.__code__), found)

    def _of_globals(self, space: dict[str, Any], names: tuple[str, ...], found: Any) -> Iterator[Any]:
        """The globals of these names; of the user's modules, the values that are named as well."""
        for name in names:
            value = space.get(name, EMPTY)
            if isinstance(value, types.ModuleType):
                if value.__name__.partition(".")[0] not in OPAQUE:
                    held = value.__dict__
                    for k in names:
                        if isinstance(held.get(k), (*_DATA, types.FunctionType)):
                            self._entry(found, held, k, held[k])
                            yield held[k]
            elif value is not EMPTY and not _is_library(value):
                self._entry(found, space, name, value)
                yield value

    def _of_list(self, x: list[Any]) -> Iterator[Any]:
        if len(x) > LARGEST:
            return
        if any(isinstance(e, Traced) for e in x):
            self.sizes.append((x, len(x)))
            for k, e in enumerate(x):
                read = functools.partial(operator.getitem, x, k)
                if isinstance(e, Traced):
                    self.traced.append((read, weakref.ref(e)))
                else:
                    self.reads.append((read, e))
        else:
            self.lists.append((x, tuple(x)))
        yield from x

    def _of_dict(self, holder: Any, found: Any) -> Iterator[Any]:
        if len(holder) > LARGEST:
            return
        self.sizes.append((holder, len(holder)))
        for name, value in list(holder.items()):
            self._entry(found, holder, name, value)
            yield value

    def _of_object(self, x: Any, found: Any) -> Iterator[Any]:
        if hasattr(x, "__dict__"):
            yield from self._of_dict(x.__dict__, found)
        kind: Any = type(x)
        for name in slots_of(kind):
            value = getattr(x, name, EMPTY)
            read = functools.partial(getattr, x, name)
            if isinstance(value, Traced):
                self.traced.append((read, weakref.ref(value)))
            elif value is not EMPTY and kind is not Chosen:  # which is never changed
                self.reads.append((read, value))
            yield value
        yield type(x)

    def _of_class(self, cls: Any, found: Any) -> Iterator[Any]:
        """What its methods read, and its own data."""
        for base in cls.__mro__:
            kind: Any = base
            if is_open(kind):
                space = vars(base)
                for name, value in list(space.items()):
                    if isinstance(value, _DATA) and not name.startswith("__"):
                        self._entry(found, space, name, value)
                        yield value
                    elif isinstance(value, (staticmethod, classmethod)):
                        yield value.__func__
                    else:
                        yield value.fget if isinstance(value, property) else value if type(value) is types.FunctionType else None


def _is_library(x: Any) -> bool:
    """A function or class of a library, which nobody binds anew."""
    return isinstance(x, (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc)) and (
        str(getattr(x, "__module__", None) or "builtins").partition(".")[0] in OPAQUE
    )


def unbound(fun: Any) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """A function and the arguments it brings: those of partials, and the `self` of a method if it is a pytree."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    while True:
        if isinstance(fun, functools.partial):
            fun, args, kwargs = fun.func, (*fun.args, *args), {**fun.keywords, **kwargs}
        elif isinstance(fun, types.MethodType) and _is_tree(fun.__self__):
            fun, args = fun.__func__, (fun.__self__, *args)
        else:
            return fun, args, kwargs


def _is_tree(x: Any) -> bool:
    try:
        return pytree.structure(x) is not pytree.LEAF
    except errors.FuncgradError:
        return False
