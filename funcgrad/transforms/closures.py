"""What functions close over: the traced values that they reach, and the same functions with other values in their place.

Searched are the cells, defaults and global names of functions, the parts of partials and bound methods, containers, and the attributes
of objects of the user's classes. What stands elsewhere, as in a class or a module, is not found.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Frozen, Traced
from funcgrad.numpy.bridge import AS_IT_IS
from funcgrad.tensor import wrap

T = TypeVar("T")

OPAQUE = {*sys.stdlib_module_names, "numpy", "scipy", "funcgrad"}
OURS = {"funcgrad.transforms.arguments", "funcgrad.transforms.custom", "funcgrad.transforms.external"}
EMPTY = object()

LARGEST = 10_000
"""Entries; a longer list or dict is data, and is not searched. After as many objects, nearest first, the search ends."""


def closed_over(root: Any) -> list[Traced]:
    """The traced values that `root` reaches, each of them once."""
    return [x for x in _reached(root, lambda holder, part: None) if isinstance(x, Traced)]


def replaced(root: T, old: Sequence[Traced], new: Sequence[Any]) -> T:
    """A copy of `root` that reaches `new` in the place of `old`. What reaches none of them is not copied."""
    made: T = _Copy(root, old, new).of(root)
    return made


def rebuilt(root: T, change: Callable[[Traced], Any]) -> T:
    """`replaced`, with what `change` makes of each traced value."""
    found = closed_over(root)
    return replaced(root, found, list(map(change, found))) if found else root


def _reached(root: Any, note: Callable[[Any, Any], None]) -> list[Any]:
    """All that is reached, nearest first; `note` is told who holds what."""
    rest, seen = [root], {id(root)}
    for x in rest:  # which grows
        if type(x) in AS_IT_IS or len(rest) > LARGEST:
            continue
        for part in _parts(x):
            note(x, part)
            if id(part) not in seen:
                seen.add(id(part))
                rest.append(part)
    return rest


# ---- the parts


def _parts(x: Any) -> Sequence[Any]:
    """What `x` holds."""
    known = _PARTS.get(type(x))
    if known is not None:
        return known(x)
    if isinstance(x, Frozen):
        return (x._array,)
    if isinstance(x, type) or (type(x) in (list, tuple, dict) and len(x) > LARGEST):
        return ()
    try:
        leaves, treedef = pytree.flatten(x)
    except errors.FuncgradError:
        return ()
    return list(state_of(x).values()) if treedef is pytree.LEAF else leaves


def _of_function(f: Any) -> Sequence[Any]:
    parts = [content_of(cell) for cell in f.__closure__ or ()]
    if f.__defaults__:
        parts += f.__defaults__
    if f.__kwdefaults__:
        parts += f.__kwdefaults__.values()
    return [*parts, *_globals(f).values()]


def _globals(f: Any) -> dict[str, Any]:
    """The global names that a function of the user's uses."""
    names = names_in(f.__code__)
    space = f.__globals__
    if not names or space.get("__name__", "").partition(".")[0] in OPAQUE:
        return {}
    return {name: space[name] for name in names if name in space}


@functools.lru_cache(4096)
def names_in(code: types.CodeType) -> tuple[str, ...]:
    """The names in its code, and in that of functions defined inside."""
    inner = [name for c in code.co_consts if isinstance(c, types.CodeType) for name in names_in(c)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


def content_of(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def _none(x: Any) -> Sequence[Any]:
    return ()


_PARTS: dict[type, Callable[[Any], Sequence[Any]]] = {
    types.FunctionType: _of_function,
    types.MethodType: lambda x: (x.__self__, x.__func__),
    functools.partial: lambda x: [x.func, *x.args, *x.keywords.values()],
    np.ndarray: lambda x: list(x.flat) if x.dtype.hasobject else (),
    np.ufunc: _none,
    object: _none,
    type: _none,
    types.ModuleType: _none,
    types.BuiltinFunctionType: _none,
}


def state_of(x: Any) -> dict[str, Any]:
    """The attributes of an object whose class is the user's, or one of those of ours that hold functions."""
    cls: Any = type(x)
    if not is_open(cls):
        return {}
    slots = {name: getattr(x, name) for name in slots_of(cls) if hasattr(x, name)}
    return {**slots, **getattr(x, "__dict__", {})}


@functools.lru_cache(4096)
def is_open(cls: Any) -> bool:
    return cls.__module__ in OURS or cls.__module__.partition(".")[0] not in OPAQUE


@functools.lru_cache(4096)
def slots_of(cls: Any) -> tuple[str, ...]:
    return tuple([name for base in cls.__mro__ for name in _names(base.__dict__.get("__slots__", ()))])


def _names(slots: Any) -> Iterator[str]:
    return (s for s in ((slots,) if isinstance(slots, str) else slots) if s not in ("__dict__", "__weakref__"))


# ---- the copy


class _Copy:
    """Makes each copy once. Functions and objects are filled when all are made, since they may reach themselves."""

    def __init__(self, root: Any, old: Sequence[Traced], new: Sequence[Any]) -> None:
        self.made = {id(x): y for x, y in zip(old, new, strict=True)}
        self.changed = _holders(root, [id(x) for x in old])
        self.unfilled: list[Callable[[], None]] = []

    def of(self, root: Any) -> Any:
        out = self.copy(root)
        while self.unfilled:
            self.unfilled.pop()()
        return out

    def copy(self, x: Any) -> Any:
        if id(x) not in self.made:
            if id(x) not in self.changed:
                return x
            self.made[id(x)] = self._copy(x)
        return self.made[id(x)]

    def is_new(self, x: Any) -> bool:
        return id(x) in self.changed or id(x) in self.made

    def _copy(self, x: Any) -> Any:
        kind = type(x)
        if kind is types.FunctionType:
            return self._function(x)
        if kind is types.MethodType:
            return types.MethodType(self.copy(x.__func__), self.copy(x.__self__))
        if kind is functools.partial:
            named = {k: self.copy(v) for k, v in x.keywords.items()}
            return functools.partial(self.copy(x.func), *map(self.copy, x.args), **named)
        if kind is np.ndarray:
            out = np.empty(x.shape, object)
            for k, e in enumerate(x.flat):
                out.flat[k] = self.copy(e)
            return out
        if isinstance(x, Frozen):
            return wrap(self.copy(x._array))
        leaves, treedef = pytree.flatten(x)
        return self._object(x) if treedef is pytree.LEAF else treedef.unflatten(list(map(self.copy, leaves)))

    def _function(self, f: Any) -> Any:
        cells = tuple([types.CellType() if self.is_new(content_of(cell)) else cell for cell in f.__closure__ or ()])
        used = {name: value for name, value in _globals(f).items() if self.is_new(value)}
        space = dict(f.__globals__) if used else f.__globals__
        out = types.FunctionType(f.__code__, space, f.__name__, None, cells)
        out.__qualname__, out.__doc__ = f.__qualname__, f.__doc__
        out.__dict__.update(f.__dict__)

        def fill() -> None:
            out.__defaults__ = f.__defaults__ and tuple(map(self.copy, f.__defaults__))
            out.__kwdefaults__ = f.__kwdefaults__ and {k: self.copy(v) for k, v in f.__kwdefaults__.items()}
            space.update({name: self.copy(value) for name, value in used.items()})
            for cell, own in zip(cells, f.__closure__ or (), strict=True):
                if cell is not own:
                    cell.cell_contents = self.copy(own.cell_contents)

        self.unfilled.append(fill)
        return out

    def _object(self, x: Any) -> Any:
        out = object.__new__(type(x))

        def fill() -> None:
            for name, value in state_of(x).items():
                object.__setattr__(out, name, self.copy(value))

        self.unfilled.append(fill)
        return out


def _holders(root: Any, these: list[int]) -> set[int]:
    """The ids of all that reaches one of these."""
    above: dict[int, list[int]] = {}
    kept = _reached(root, lambda holder, part: above.setdefault(id(part), []).append(id(holder)))
    found: set[int] = set()
    while these:
        for holder in above.get(these.pop(), ()):
            if holder not in found:
                found.add(holder)
                these.append(holder)
    del kept  # until here ids are those of living objects
    return found
