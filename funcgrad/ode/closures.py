"""What a function closes over, as values that can be exchanged."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from funcgrad import errors, pytree

Opened = tuple[list[Any], Callable[[list[Any]], Any]]
_EMPTY, _ITSELF = object(), object()


def opened(x: Any, seen: tuple[int, ...] = ()) -> Opened:
    """The leaves of a value, and how to build it of others. A function has those of its cells, defaults and bound arguments.

    Its globals stay what they are, and so does what objects hold that are no pytrees. What none of whose leaves is exchanged stays the
    same object, so that a function may go on counting in a cell.
    """
    if id(x) in seen:  # two functions that call each other
        return [], lambda leaves: x
    leaves, build = _opened(x, (*seen, id(x)))
    return leaves, lambda new: x if all(a is b for a, b in zip(new, leaves, strict=True)) else build(new)


def _opened(x: Any, seen: tuple[int, ...]) -> Opened:
    if type(x) is functools.partial:
        return _of([x.func, *x.args, *x.keywords.values()], seen, lambda parts: _partial(x, parts))
    if isinstance(x, types.MethodType):
        return _of([x.__func__, x.__self__], seen, lambda parts: types.MethodType(*parts))
    if isinstance(x, types.FunctionType):
        contents = [*[_content(cell, x) for cell in x.__closure__ or ()], x.__defaults__, x.__kwdefaults__]
        return _of(contents, seen, lambda parts: _function(x, contents, parts))
    try:
        parts, treedef = pytree.flatten(x)
    except errors.FuncgradError:  # no tree, and none that we are asked about
        return [x], lambda leaves: leaves[0]
    if treedef is pytree.LEAF:
        return [x], lambda leaves: leaves[0]
    return _of(parts, seen, treedef.unflatten)


def _of(parts: list[Any], seen: tuple[int, ...], build: Callable[[list[Any]], Any]) -> Opened:
    inner = [opened(part, seen) for part in parts]

    def built(leaves: list[Any]) -> Any:
        rest = iter(leaves)
        return build([make([next(rest) for _ in own]) for own, make in inner])

    return [leaf for own, _ in inner for leaf in own], built


def _content(cell: Any, f: Any) -> Any:
    try:
        return _ITSELF if cell.cell_contents is f else cell.cell_contents
    except ValueError:  # a name that has no value yet
        return _EMPTY


def _partial(x: Any, parts: list[Any]) -> Any:
    func, *rest = parts
    n = len(x.args)
    return functools.partial(func, *rest[:n], **dict(zip(x.keywords, rest[n:], strict=True)))


def _function(f: types.FunctionType, old: list[Any], new: list[Any]) -> Any:
    *contents, defaults, named = new
    cells = [_cell(*each) for each in zip(f.__closure__ or (), old, contents, strict=False)]
    made = types.FunctionType(f.__code__, f.__globals__, f.__name__, defaults, tuple(cells))
    made.__dict__.update(f.__dict__)
    made.__kwdefaults__, made.__qualname__ = named, f.__qualname__
    for cell, x in zip(cells, old, strict=False):
        if x is _ITSELF:
            cell.cell_contents = made
    return made


def _cell(cell: Any, old: Any, new: Any) -> Any:
    if old is _ITSELF:
        return types.CellType()
    return cell if new is old else types.CellType(new)
