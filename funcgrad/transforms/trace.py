"""`trace`: what a function does for some arguments, as a program."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, dtype_of
from funcgrad.numpy.bridge import bare
from funcgrad.program.calls import Signature, entered
from funcgrad.program.program import Leaf, Program, Static
from funcgrad.transforms.arguments import NUMBERS, describe, dress, kind_of, label_of
from funcgrad.transforms.record import Recording, in_one_lane, record

P = ParamSpec("P")


def trace(fun: Callable[P, Any]) -> Callable[P, Program]:
    """A function that records what `fun` does for its arguments, and gives the `Program`: data that can be called, drawn and saved.

    `fun` runs for real, so Python's `if` and `for` take the path of these arguments; where it looked at a value, the program has a
    guard. What is no number in the arguments (strings, functions, …) belongs to the recording, as the shapes and dtypes do.
    Arrays that `fun` closes over are inputs as well, by reference.

    Args:
        fun: takes and gives pytrees.

    Raises:
        NoProgramError: `fun` caught an error that an operation raised, or wrote into an array: no program can say that.
        InputError: an argument that is neither a number, an array of numbers, nor something that two calls can share, by its path.

    >>> p = trace(lambda x, y: np.sin(x) * y)(np.ones(3), 2.0)
    >>> print(p)
    program <lambda>
        input  a:float64[3]  x
        input  b:float64[]  y
        c:float64[3] = sin(a)
        d:float64[3] = multiply(c, b)
        output d
    >>> p(np.zeros(3), 5.0)
    array([0., 0., 0.])
    """
    label = label_of("trace", fun)

    def traced(*args: P.args, **kwargs: P.kwargs) -> Program:
        program, recording = recorded(label, fun, args, kwargs)
        if recording.spoiled:
            raise errors.NoProgramError(str(label), label.function)
        return program

    made: Callable[P, Program] = dress(traced, fun)
    return made


def recorded(label: Label, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Program, Recording]:
    """The program of a call, and the recording behind it, which knows the values on the ground."""
    leaves, in_def = pytree.flatten((args, kwargs))
    names = _positional(fun, len(args))
    paths = Signature(label.function, names, in_def, in_def, (), ())
    ins = [_leaf(label, x, paths.word(path)) for x, path in zip(leaves, in_def.paths, strict=True)]
    given = [x for x, leaf in zip(leaves, ins, strict=True) if type(leaf) is not Static]
    outs: list[Leaf] = []
    out_defs: list[pytree.TreeDef] = []

    def flat(inputs: list[Any]) -> list[Any]:
        """The outputs that are numbers."""
        values = iter(inputs)
        taken, named = in_def.unflatten([x if type(leaf) is Static else next(values) for x, leaf in zip(leaves, ins, strict=True)])
        found, out_def = pytree.flatten(fun(*taken, **named))
        found = [x if type(x) is not np.ndarray and kind_of(x) == "" else bare(x) for x in found]
        outs[:] = [None if kind_of(x) in _KINDS else Static(x) for x in found]
        out_defs[:] = [out_def]
        return [x for x, leaf in zip(found, outs, strict=True) if leaf is None]

    recording = record(label, flat, [in_one_lane(entered(x)) for x in given])
    numbers = iter([type(y) if type(y) in NUMBERS else None for y in recording.values])
    ends = tuple([next(numbers) if leaf is None else leaf for leaf in outs])
    signature = Signature(label.function, names, in_def, out_defs[0], tuple(ins), ends)
    return recording.program.but(captures=recording.operands, signature=signature), recording


_KINDS = {*"biufc"}


def _leaf(label: Label, x: Any, path: str) -> Leaf:
    value = entered(x)
    kind = dtype_of(value).kind if kind_of(value) else ""
    if kind in _KINDS:
        return None
    if kind or isinstance(x, np.ndarray):
        raise errors.InputError(str(label), path, describe(x), "A program takes numbers and arrays of numbers: convert it.")
    return Static(x)


def _positional(fun: Callable[..., Any], count: int) -> tuple[str, ...]:
    """What the signature calls the positional arguments."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return ()
    return tuple([p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])[:count]
