"""Calling a program as the function itself: what comes in must be like what was recorded, and results leave as the function's would.

Where nothing is traced the generated code runs, and else the equations, one by one, under whatever traces.
**Law:** no output shares memory with anything the caller can write to.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import stacked
from funcgrad.program.evaluate import evaluate
from funcgrad.program.parts import Equation, Frozen, Leaf, Miss, Missed, Static, Var, put
from funcgrad.program.program import Program, compiled
from funcgrad.pytree.compare import difference
from funcgrad.tensor import Tensor, of_fresh
from funcgrad.tensor.leaves import describe, kind_of

_ndarray = np.ndarray
DOUBLE = np.dtype(np.float64)


class Signature(Frozen):
    """How a program is called: the name of its function, the trees that it takes (args, kwargs) and gives, and their leaves."""

    FIELDS = ("name", "arguments", "in_def", "out_def", "ins", "outs")
    name: str
    arguments: tuple[str, ...]
    """What the function calls its positional arguments."""
    in_def: pytree.TreeDef
    out_def: pytree.TreeDef
    ins: tuple[Leaf, ...]
    outs: tuple[Leaf, ...]

    def __init__(
        self,
        name: str,
        arguments: tuple[str, ...],
        in_def: pytree.TreeDef,
        out_def: pytree.TreeDef,
        ins: tuple[Leaf, ...],
        outs: tuple[Leaf, ...],
    ) -> None:
        put(self, "name", name)
        put(self, "arguments", arguments)
        put(self, "in_def", in_def)
        put(self, "out_def", out_def)
        put(self, "ins", ins)
        put(self, "outs", outs)

    def word(self, path: str) -> str:
        """A path in (args, kwargs) as the user would say it: `params['steps']`."""
        first, _, rest = path[4:].partition("]")
        if path.startswith("[0][") and first.isdecimal():
            k = int(first)
            return (self.arguments[k] if k < len(self.arguments) else f"argument {k}") + rest
        if path.startswith("[1]['"):
            name, _, rest = path[5:].partition("']")
            return name + rest
        return {"[0]": "the positional arguments", "[1]": "the keyword arguments"}.get(path, path)

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """The leaves that are numbers, in the user's words: one for each input that was not captured."""
        return tuple([self.word(path) for path, leaf in zip(self.in_def.paths, self.ins, strict=True) if type(leaf) is not Static])

    def call(self, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the function gives, as `program` says."""
        leaves, in_def = pytree.flatten((args, kwargs))
        if in_def != self.in_def:
            _differ(self, in_def)
        values = []
        inputs = iter(program.inputs)
        for k, (leaf, known) in enumerate(zip(leaves, self.ins, strict=True)):
            if type(known) is not Static:
                v = next(inputs)
                if type(leaf) is not _ndarray or leaf.dtype is not v.dtype or leaf.shape != v.shape:  # the usual case needs no more
                    was, leaf = leaf, entered(leaf)
                    if not fits(leaf, v):
                        _unfit(self, k, describe(was), like(v))
                values.append(leaf)
            elif known != Static(leaf):
                _unfit(self, k, repr(leaf), repr(known.value))
        for x, v in zip(program.captures, inputs, strict=True):
            if not fits(x, v):
                raise errors.ProgramArgumentError(self.name, f"a captured array is now {describe(x)}", f"it was {like(v)}")
            values.append(x)
        outs = outputs(program, self, values)
        tensors = Tensor in map(type, leaves)
        given = set(map(id, values))
        made = iter([left(y, tensors, id(y) in given) for y in outs])
        return self.out_def.unflatten([known.value if type(known) is Static else typed(next(made), known) for known in self.outs])


# ---- in


def entered(leaf: Any) -> Value:
    """The value that a leaf stands for, as primitives know it."""
    kind = type(leaf)
    if kind is _ndarray:
        if leaf.dtype.hasobject:
            return stacked(leaf)
        return leaf if leaf.dtype.isnative else leaf.astype(leaf.dtype.newbyteorder("="))
    return leaf._array if isinstance(leaf, Tensor) and not isinstance(leaf, Traced) else leaf


def fits(x: Value, v: Var) -> bool:
    if type(x) is _ndarray:
        return bool(x.dtype == v.dtype and x.shape == v.shape)
    if type(x) is float or type(x) is np.float64:
        return v.dtype is DOUBLE and not v.shape
    return bool(kind_of(x)) and dtype_of(x) == v.dtype and shape_of(x) == v.shape


def like(v: Var) -> str:
    return f"{v.dtype}{list(v.shape) if v.shape else ''}"


def _differ(signature: Signature, in_def: pytree.TreeDef) -> NoReturn:
    path, now, was = difference(in_def, signature.in_def)
    if path == "[0]":
        now, was = (f"{len(d.children[0].children)} positional" for d in (in_def, signature.in_def))
        raise errors.ProgramArgumentError(signature.name, f"the call has {now} arguments", f"it had {was}")
    raise errors.ProgramArgumentError(signature.name, f"{signature.word(path) or 'the call'} is {now}", f"it was {was}")


def _unfit(signature: Signature, k: int, now: str, was: str) -> NoReturn:
    raise errors.ProgramArgumentError(signature.name, f"{signature.word(signature.in_def.paths[k])} is {now}", f"it was {was}")


# ---- running


def is_traced(x: Value) -> bool:
    return isinstance(x, Traced)


def outputs(program: Program, signature: Signature, values: Sequence[Value]) -> Sequence[Value]:
    at: list[Equation] = []
    try:
        if not any(map(is_traced, values)):
            try:
                return compiled(program.closed)(*values)
            except Missed:
                pass  # the equations tell which value it was
        return evaluate(program.closed, values, at.append)
    except (Miss, Missed) as miss:
        guard = miss.equation if isinstance(miss, Missed) else at[-1]
        now = miss.now if isinstance(miss, Miss) else None
        place = (guard.line.function, guard.line.place) if guard.line else ("", "")
        raise errors.GuardError(signature.name, place, guard["kind"], guard["answer"], now) from None


# ---- out


def left(y: Value, tensors: bool, given: bool) -> Any:
    """One output, frozen, and nobody else's memory."""
    if type(y) is _ndarray:
        if given or y.base is not None:
            y = y.copy()
        y.setflags(write=False)
    elif isinstance(y, Traced):
        return y
    return of_fresh(np.asarray(y)) if tensors else y


def typed(y: Any, known: Leaf) -> Any:
    """A Python number where the function gave one; what has no axes is a scalar, as it is in NumPy."""
    if known is None:
        return y[()] if type(y) is _ndarray and not y.shape else y
    return y if isinstance(y, Tensor) else known(y)  # type: ignore[operator]
