"""What a function reads besides its arguments, so that a compiled one notices when a name is bound to something else.

Watched are closure cells, defaults, the numbers and arrays among the globals a function names, attributes of objects, and items of
small lists and dicts, as far as they are reached from the function. An array that is written to needs no watching: it is an input.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad import errors, pytree

LARGEST = 64
"""Entries: longer containers are data, which nobody rebinds piece by piece."""

_NUMBERS = (np.ndarray, np.generic, bool, int, float, complex, tuple)
_MISSING = object()


class Watch:
    """The bindings that a function has now. `holds()` says whether it still has them."""

    __slots__ = ("cells", "dicts", "lists")

    def __init__(self, fun: Any) -> None:
        self.cells: list[tuple[Any, Any]] = []
        self.dicts: list[tuple[dict[Any, Any], Any, Any]] = []
        self.lists: list[tuple[list[Any], tuple[Any, ...]]] = []
        seen: set[int] = set()
        rest = [fun]
        for x in rest:  # which grows
            if id(x) not in seen and len(seen) < LARGEST * LARGEST:
                seen.add(id(x))
                rest += self._parts(x)

    def holds(self) -> bool:
        for cell, was in self.cells:
            if _content(cell) is not was:
                return False
        for holder, name, was in self.dicts:
            if holder.get(name, _MISSING) is not was:
                return False
        return all(len(items) == len(were) and all(map(operator.is_, items, were)) for items, were in self.lists)

    def _parts(self, x: Any) -> Iterator[Any]:
        if isinstance(x, types.FunctionType):
            yield from self._of_function(x)
        elif isinstance(x, types.MethodType):
            yield x.__func__
            yield x.__self__
        elif isinstance(x, functools.partial):
            yield x.func
            yield from x.args
            yield from x.keywords.values()
        elif type(x) is list:
            if len(x) <= LARGEST:
                self.lists.append((x, tuple(x)))
                yield from x
        elif type(x) is tuple:
            yield from x[:LARGEST]
        elif type(x) is dict:
            if len(x) <= LARGEST:
                yield from self._of_dict(x)
        elif hasattr(x, "__dict__") and not isinstance(x, (type, types.ModuleType)) and not _is_library(x):
            yield from self._of_dict(x.__dict__)

    def _of_function(self, f: types.FunctionType) -> Iterator[Any]:
        if _is_library(f):
            return
        for cell in f.__closure__ or ():
            content = _content(cell)
            self.cells.append((cell, content))
            yield content
        yield from f.__defaults__ or ()
        yield from (f.__kwdefaults__ or {}).values()
        for name in f.__code__.co_names:
            value = f.__globals__.get(name, _MISSING)
            if isinstance(value, (*_NUMBERS, types.FunctionType)):
                self.dicts.append((f.__globals__, name, value))
                yield value

    def _of_dict(self, holder: dict[Any, Any]) -> Iterator[Any]:
        for name, value in holder.items():
            self.dicts.append((holder, name, value))
            yield value


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _is_library(x: Any) -> bool:
    return str(getattr(x, "__module__", None) or "").partition(".")[0] in ("numpy", "scipy", "funcgrad", "builtins")


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
