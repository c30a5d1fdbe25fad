"""What a function closes over, taken out and put in again: traced values become operands that another floor can have values for.

Found are values in the cells of closures, in defaults, in partials, in the object of a method, and in pytrees there; not those in
globals and in objects that are no pytrees.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from funcgrad import errors, pytree
from funcgrad.core import Traced

_OURS = f"{__name__.partition('.')[0]}."
"""Objects of this package are no trees of the user's."""

Change = Callable[[Traced], Any]


def closed_over(f: Any) -> list[Traced]:
    """The traced values, each once."""
    return list({id(x): x for x in _traced(f, set())}.values())


def rebuilt(f: Any, change: Change) -> Any:
    """`f` with another value in the place of each of these; what holds none is shared."""
    return _Rebuild(change).of(f)


def _parts(x: Any) -> list[Any]:
    """What is inside of a function or a container; nothing inside of a leaf."""
    if isinstance(x, types.FunctionType):
        return [*(x.__closure__ or ()), *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    if isinstance(x, types.CellType):
        try:
            return [x.cell_contents]
        except ValueError:  # not yet filled
            return []
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, types.MethodType):
        return [x.__func__, x.__self__]
    if type(x).__module__.startswith(_OURS):
        return []
    try:
        leaves, treedef = pytree.flatten(x)
    except errors.FuncgradError:  # a container that is not known is a leaf here
        return []
    return [] if treedef is pytree.LEAF else leaves


def _traced(x: Any, seen: set[int]) -> Iterator[Traced]:
    if isinstance(x, Traced):
        yield x
    elif id(x) not in seen:
        seen.add(id(x))
        for part in _parts(x):
            yield from _traced(part, seen)


class _Rebuild:
    """One rebuilding: a cell that two functions share is shared afterwards, and a function may hold itself."""

    def __init__(self, change: Change) -> None:
        self.change, self.made = change, dict[int, Any]()

    def of(self, x: Any) -> Any:
        if isinstance(x, Traced):
            return self.change(x)
        if id(x) in self.made:
            return self.made[id(x)]
        if not any(True for _ in _traced(x, set())):
            return x
        if isinstance(x, types.CellType):
            cell = self.made[id(x)] = types.CellType()
            cell.cell_contents = self.of(x.cell_contents)
            return cell
        if isinstance(x, types.FunctionType):
            return self._function(x)
        if isinstance(x, functools.partial):
            return functools.partial(self.of(x.func), *map(self.of, x.args), **{k: self.of(v) for k, v in x.keywords.items()})
        if isinstance(x, types.MethodType):
            return types.MethodType(self.of(x.__func__), self.of(x.__self__))
        return pytree.map(self.of, x)

    def _function(self, f: types.FunctionType) -> types.FunctionType:
        defaults = f.__defaults__ and tuple(map(self.of, f.__defaults__))
        made = types.FunctionType(f.__code__, f.__globals__, f.__name__, defaults, tuple(map(self.of, f.__closure__ or ())))
        made.__kwdefaults__ = f.__kwdefaults__ and {k: self.of(v) for k, v in f.__kwdefaults__.items()}
        made.__dict__.update(f.__dict__)
        return made
