"""The short way of a call as code: that the arguments are like those before, the statements of the program, and what the function returns.

One function does it all, since a call costs as much as a small operation. It gives NotImplemented where the arguments are others, where
what the function reads is something else, and where anything raises, a guard included: then the long way is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import pytree
from funcgrad.program.buffers import is_fresh
from funcgrad.program.calls import left
from funcgrad.program.codegen import MISS, Body, body, compiled, listed
from funcgrad.program.parts import Static
from funcgrad.program.program import Var
from funcgrad.pytree.compiled import flatten_source
from funcgrad.pytree.source import Source
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.staging import Path
from funcgrad.transforms.watching import Watch

LONGEST = 100
"""Lines of a program. One that has more is called: compared with what it does, a call is nothing, and it is compiled already."""

_ndarray = np.ndarray


def direct(path: Path, watch: Watch, args: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], Any]:
    """The function of a tuple of arguments. (No name that ends with two underscores is one of the program's.)"""
    made = body(path.program)
    names = iter(made.given)
    space: dict[str, Any] = {"ndarray__": _ndarray, "left__": left, "hush__": hush, "speak__": speak}
    outer = Source(**made.code.space, **space)
    taken, tests = _taken(outer.values, args, names)
    terms, meant = watch.terms()
    outer.values |= meant
    inner = []
    for name, x in zip(names, path.captures, strict=True):
        outer.values[f"{name}__"] = x
        inner.append(f"{name} = {name}__")
    if made.code.functions or len(made.code.lines) > LONGEST:
        outer.values["run__"] = compiled(path.program)
        outs: Sequence[str] = [f"y{k}__" for k in range(len(made.outs))]
        inner.append(f"{listed(outs)}run__({', '.join(made.given)})")
    else:
        outs = made.outs
        inner += [line[4:].split(MISS)[0] + "return NotImplemented" if MISS in line else line[4:] for line in made.code.lines]
    if path.quiet:
        inner = ["token__ = hush__()", "try:", *["    " + line for line in inner], "finally:", "    speak__(token__)"]
    asked = [f"if not ({' and '.join([*tests, *terms])}): return NotImplemented"] if tests or terms else []
    lines = [
        f"if len(args) != {len(args)}: return NotImplemented",
        "try:",
        *["    " + line for line in [*taken, *asked, *inner, *_returned(outer, path, made, outs)]],
        "except Exception:",
        "    return NotImplemented",
    ]
    exec("\n    ".join(["def direct__(args):", *lines]), outer.values)
    function: Callable[[tuple[Any, ...]], Any] = outer.values["direct__"]
    return function


def _taken(space: dict[str, Any], args: Sequence[Any], names: Iterator[str]) -> tuple[list[str], list[str]]:
    """The lines that take the leaves out of the arguments, and the tests that they are like these."""
    parts: list[str] = []
    lines: list[str] = []
    leaves: list[tuple[str, Any]] = []
    for k, x in enumerate(args):
        found, treedef = pytree.flatten(x)
        mine = [(name, leaf) for leaf, name in zip(found, names)]  # noqa: B905  (what is left are captures)
        leaves += mine
        parts.append(mine[0][0] if treedef is pytree.LEAF else f"tree{k}__")
        if treedef is not pytree.LEAF:
            space[f"open{k}__"] = flatten_source(treedef).compile()
            lines.append(f"[{', '.join([name for name, _ in mine])}], _ = open{k}__(tree{k}__)")
    taken = [f"{''.join([f'{part}, ' for part in parts])} = args"] if parts else []
    return [*taken, *lines], _like(space, leaves)


def _like(space: dict[str, Any], leaves: Sequence[tuple[str, Any]]) -> list[str]:
    """That types, dtypes and shapes are the same: where several are to be one, a comparison after the other."""
    groups: dict[Any, list[str]] = {}
    arrays = [(name, x) for name, x in leaves if type(x) is _ndarray]
    for name, x in leaves:
        groups.setdefault(("type({}) is ", type(x)), []).append(name)
    for name, x in arrays:
        groups.setdefault(("{}.dtype is ", x.dtype), []).append(name)
    for name, x in arrays:
        groups.setdefault(("{}.shape == ", x.shape), []).append(name)
    tests = []
    for (test, value), those in groups.items():
        end = repr(value)
        if type(value) is not tuple:
            end = f"like{len(space)}__"
            space[end] = value
        tests.append("".join([test.format(name) for name in those]) + end)
    return tests


def _returned(to: Source, path: Path, made: Body, outs: Sequence[str]) -> list[str]:
    """The lines that make of the outputs what the function returns. (As `left` and `typed` do.)"""
    signature, fresh = path.signature, is_fresh(made.program)
    given = {v.number for v in made.program.inputs}
    lines: list[str] = []
    leaves: list[str] = []
    pairs = iter(zip(outs, made.program.outputs, fresh, strict=True))
    for known in signature.outs:
        if isinstance(known, Static):
            leaves.append(to.static(known.value))
            continue
        y, v, ours = next(pairs)
        name = f"out{len(leaves)}__"
        if ours and known is None:
            lines.append(f"{y}.setflags(False)")
            name = y
        elif type(v) is Var and v.shape and known is None:
            lines.append(f"{name} = left__({y}, False, {v.number in given or _same(y, made.given)})")
        elif known is None:
            lines.append(f"{name} = {y}[()] if type({y}) is ndarray__ else {y}")
        else:
            name = f"{to.name(known.__name__, known)}({y})"
        leaves.append(name)
    tree = signature.out_def
    if tree._is_compilable:
        return [*lines, f"return {tree._expression(to, iter(leaves))}"]
    return [*lines, f"return {to.name('unflatten', tree.unflatten)}([{', '.join(leaves)}])"]


def _same(y: str, given: Sequence[str]) -> str:
    return " or ".join([f"{y} is {x}" for x in given]) or "False"
