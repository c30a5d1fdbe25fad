"""What a call is made of: the function and its name, the arguments that are chosen, and the words to speak of them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label
from funcgrad.tensor.leaves import NUMBERS as NUMBERS
from funcgrad.tensor.leaves import describe as describe
from funcgrad.tensor.leaves import kind_of as kind_of


def label_of(transformation: str, f: Any) -> Label:
    """Names the transformation of `f` and the user's line that asks for it; `f` must be callable."""
    if not callable(f):
        raise errors.ArgumentTypeError(
            transformation, f"expected a function, got {describe(f)}. Write `{transformation}(f)(x)`, not `{transformation}(f(x))`."
        )
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return Label(transformation, name_of(f), frame.f_code.co_filename, frame.f_lineno)


def name_of(f: Any) -> str:
    """What the user calls `f`: partials by what they wrap, callable objects by their class."""
    while isinstance(f, functools.partial):
        f = f.func
    return getattr(f, "__name__", None) or type(f).__name__


def dress(g: Callable[..., Any], f: Callable[..., Any]) -> Callable[..., Any]:
    """Give `g` the name, docstring and signature of `f`."""
    functools.update_wrapper(g, f)
    if not hasattr(f, "__name__"):
        g.__name__ = g.__qualname__ = name_of(f)
    return g


class Chosen:
    """Which arguments of a call are differentiated: positions and keywords. Knows the words to speak of them."""

    __slots__ = ("argnames", "argnums", "f", "label", "many")

    def __init__(self, label: Label, f: Callable[..., Any], argnums: Any, argnames: Any) -> None:
        self.label, self.f, self.many = label, f, isinstance(argnums, (tuple, list)) or argnums is None
        nums = () if argnums is None else tuple(argnums) if self.many else (argnums,)
        for n in nums:
            if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
                raise errors.ArgumentTypeError(str(label), f"argnums must be ints, got {describe(n)}.")
        self.argnums = tuple([int(n) for n in nums])
        self.argnames = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)

    def positions(self, count: int) -> list[int]:
        for n in self.argnums:
            if not -count <= n < count:
                what = f"argnums names argument {n}, but the call has {count} positional. Pass it by position, or use argnames."
                raise errors.ArgumentError(str(self.label), what)
        found = [n % count for n in self.argnums]
        if len(set(found)) < len(found):
            raise errors.ArgumentError(str(self.label), f"argnums names an argument twice: {self.argnums}.")
        return found

    def take(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The chosen arguments, by position first."""
        for name in self.argnames:
            if name not in kwargs:
                raise errors.ArgumentError(str(self.label), f"argnames names {name!r}, which the call does not pass by keyword.")
        return tuple([args[n] for n in self.positions(len(args))] + [kwargs[name] for name in self.argnames])

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], new: Sequence[Any]) -> Any:
        """The function of the arguments, with the chosen ones replaced."""
        changed = list(args)
        for n, x in zip(self.positions(len(args)), new, strict=False):
            changed[n] = x
        named = dict(zip(self.argnames, new[len(self.argnums) :], strict=True))
        return self.f(*changed, **(kwargs | named))

    def give(self, g: tuple[Any, ...], of_names: bool) -> Any:
        """Results for the chosen arguments, in the form in which they were asked for."""
        n = len(self.argnums)
        by_position: Any = g[:n] if self.many else g[0]
        return (by_position, dict(zip(self.argnames, g[n:], strict=True))) if of_names else by_position

    def path(self, treedef: pytree.TreeDef, k: int, alone: bool = False) -> str:
        """The k-th leaf of the chosen arguments (or of the first, alone) in the user's words: `params['steps']`."""
        if alone:
            return argument_name(self.f, 0) + treedef.paths[k]
        head, _, rest = treedef.paths[k][1:].partition("]")  # a path begins with the position in `take`
        i = int(head)
        if i >= len(self.argnums):
            return str(self.argnames[i - len(self.argnums)]) + rest
        return argument_name(self.f, self.argnums[i]) + rest


def argument_name(f: Callable[..., Any], n: int) -> str:
    """What the signature calls the n-th positional argument."""
    try:
        named = [p for p in inspect.signature(f).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return named[n].name
    except (TypeError, ValueError, IndexError):
        return f"argument {n}"
