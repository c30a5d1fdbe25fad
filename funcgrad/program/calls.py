"""Calling a program as the function itself: what comes in must be like what was recorded, and results leave as the function's would.

Where nothing is traced the generated code runs, and else the equations, one by one, under whatever traces.
**Law:** no output shares memory with anything the caller can write to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import frozen
from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import stacked
from funcgrad.program.codegen import Missed
from funcgrad.program.evaluate import evaluate
from funcgrad.program.parts import Equation, Leaf, Miss, Signature, Static, Var
from funcgrad.pytree.compare import difference
from funcgrad.tensor import Tensor, of_fresh
from funcgrad.tensor.leaves import describe, kind_of

if TYPE_CHECKING:
    from funcgrad.program.program import Program

_ndarray = np.ndarray


def call(program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    signature = program.signature
    if signature is None:
        raise errors.ArgumentTypeError("program", "one that stands within another has no arguments of its own. Call the outer one.")
    leaves, in_def = pytree.flatten((args, kwargs))
    if in_def != signature.in_def:
        _differ(signature, in_def)
    values = []
    inputs = iter(program.inputs)
    for k, (leaf, known) in enumerate(zip(leaves, signature.ins, strict=True)):
        if type(known) is not Static:
            x = entered(leaf)
            v = next(inputs)
            if not fits(x, v):
                _unfit(signature, k, describe(leaf), like(v))
            values.append(x)
        elif known != Static(leaf):
            _unfit(signature, k, repr(leaf), repr(known.value))
    for x, v in zip(program.captures, inputs, strict=True):
        if not fits(x, v):
            raise errors.ProgramArgumentError(signature.name, f"a captured array is now {describe(x)}", f"it was {like(v)}")
        values.append(x)
    outs = outputs(program, signature, values)
    tensors = any(type(leaf) is Tensor for leaf in leaves)
    given = set(map(id, values))
    made = iter([left(y, tensors, id(y) in given) for y in outs])
    return signature.out_def.unflatten([known.value if type(known) is Static else typed(next(made), known) for known in signature.outs])


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


def outputs(program: Program, signature: Signature, values: Sequence[Value]) -> Sequence[Value]:
    at: list[Equation] = []
    try:
        if not any(isinstance(x, Traced) for x in values):
            try:
                return program.run(*values)
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
    if isinstance(y, Traced):
        return y
    if type(y) is _ndarray:
        y = frozen(y.copy() if given or y.base is not None else y)
    return of_fresh(np.asarray(y)) if tensors else y


def typed(y: Any, known: Leaf) -> Any:
    """A Python number where the function gave one."""
    return known(y) if isinstance(known, type) and not isinstance(y, Tensor) else y
