"""The short way of a call as code: that the arguments are like those before, the statements of the program, and what the function returns.

One function does it all, since a call costs as much as a small operation. It gives NotImplemented where the arguments are others, where
what the function reads is something else, and where anything raises, a guard included: then the long way is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.program.buffers import is_fresh
from funcgrad.program.calls import left
from funcgrad.program.codegen import Body, body, compiled
from funcgrad.program.parts import Static
from funcgrad.program.program import Var
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
    names, captured = made.given[: len(args)], made.given[len(args) :]
    space: dict[str, Any] = {"ndarray__": _ndarray, "left__": left, "hush__": hush, "speak__": speak}
    space |= {f"{name}__": x for name, x in zip(captured, path.captures, strict=True)}
    terms, meant = watch.terms()
    outer = Source(**made.code.space, **space, **meant)
    tests = [*_like(outer.values, names, args), *terms]
    inner = [f"{name} = {name}__" for name in captured]
    if made.code.functions or len(made.code.lines) > LONGEST:
        outer.values["run__"] = compiled(path.program)
        outs: Sequence[str] = [f"y{k}_" for k in range(len(made.outs))]
        inner.append(f"{''.join([f'{y}, ' for y in outs])} = run__({', '.join(made.given)})")
    else:
        outs = made.outs
        inner += [line[4:] for line in made.code.lines]
    if path.quiet:
        inner = ["token__ = hush__()", "try:", *["    " + line for line in inner], "finally:", "    speak__(token__)"]
    returned = _returned(outer, path, made, outs)
    lines = [
        f"if len(args) != {len(args)}:",
        "    return NotImplemented",
        *([f"{''.join([f'{name}, ' for name in names])} = args"] if names else []),
        "try:",
        *([f"    if not ({' and '.join(tests)}):", "        return NotImplemented"] if tests else []),
        *["    " + line for line in [*inner, *returned]],
        "except Exception:",
        "    return NotImplemented",
    ]
    exec("\n    ".join(["def direct__(args):", *lines]), outer.values)
    function: Callable[[tuple[Any, ...]], Any] = outer.values["direct__"]
    return function


def _like(space: dict[str, Any], names: Sequence[str], args: Sequence[Any]) -> list[str]:
    """That types, dtypes and shapes are those of `args`: where several are to be the same, one comparison after the other."""
    groups: dict[Any, list[str]] = {}
    for name, x in zip(names, args, strict=True):
        groups.setdefault(("type({}) is ", type(x)), []).append(name)
    arrays = [(name, x) for name, x in zip(names, args, strict=True) if type(x) is _ndarray]
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
