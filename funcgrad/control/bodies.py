"""Bodies of loops and branches: users' functions as closed programs, or as they are where that is not possible.

A body that looks at values, raises, or does something else each time has no program: it runs step by step, and stays right.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows
from funcgrad.core import Label, Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import bare
from funcgrad.program.program import Program, renumbered, variables
from funcgrad.tensor import Tensor, of_fresh, user_level
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import NUMBERS, describe, kind_of
from funcgrad.transforms.closures import closed_over
from funcgrad.transforms.record import Recording, alike, in_one_lane, record, same

Function = Callable[[list[Any]], Any]


def values_of(label: Label, what: str, leaves: Sequence[Any], treedef: pytree.TreeDef) -> list[Value]:
    """The values of leaves that must be numbers."""
    values = list(map(bare, leaves))
    for leaf, x, path in zip(leaves, values, treedef.paths, strict=True):
        if not kind_of(x) or kind_of(x) not in "biufc":
            raise errors.InputError(str(label), f"{what}{path}", describe(leaf), "It must be a number or an array of numbers.")
    return values


def ground_of(values: Sequence[Value]) -> list[Value]:
    return list(map(in_one_lane, values))


def attempt(label: Label, fun: Function, examples: Sequence[Value], borrows: Borrows) -> Recording | None:
    """The recording of a body; None where it has no program. What it raises, it raises again when it runs step by step.

    Large arrays that it uses cannot be written to until `borrows` are given back: a body that does so raises, and has no program.
    """
    try:
        recording = record(label, fun, examples, borrows)
    except (errors.CarryError, errors.BranchError, errors.TreeMismatchError, errors.OutputError):
        raise
    except Exception:
        return None
    return recording if recording.is_straight else None


def repeats(a: Recording, b: Recording) -> bool:
    """Whether the body did the same twice."""
    return alike(a, b) and a.stamps == b.stamps


_AGREED: OrderedDict[Any, None] = OrderedDict()
"""Code and the programs that two recordings of it agreed in, the latest last."""

KEPT = 256


def agree(fun: Any, recording: Recording) -> None:
    """Remember that two steps of this code did the same."""
    code = getattr(fun, "__code__", None)
    if code is not None:
        _AGREED[code, recording.program] = None
        if len(_AGREED) > KEPT:
            _AGREED.popitem(last=False)


def agreed(fun: Any, recording: Recording) -> bool:
    """Whether one recording is enough: the same code once gave the same program twice, and what it met outside it closes over.

    Then all that this call could do otherwise, a constant or a value from elsewhere, stands in the program or among the operands.
    """
    if (getattr(fun, "__code__", None), recording.program) not in _AGREED:
        return False
    if not recording.operands:
        return True
    reached = set(map(id, closed_over(fun)))
    return all(id(x) in reached for x in recording.operands)


def warn_of_change(label: Label, a: Recording, b: Recording) -> None:
    """Say which line computes something else each time: its equation is another, or what it takes from outside."""
    pairs = zip(a.program.equations, b.program.equations, strict=False)
    met = zip(a.program.inputs[len(a.program.inputs) - len(a.operands) :], a.operands, b.operands, a.stamps, b.stamps, strict=False)
    other = {v.number for v, x, y, s, t in met if s != t or not same(x, y)}
    changed = [x for x, y in pairs if x != y or any(v.number in other for v in variables(x.inputs))]
    line = next((f" ({x.line})" for x in changed), "")
    text = f"{label}: the function computes something else at each step{line}, so it runs step by step."
    warnings.warn(f"{text} Pass what changes as `xs`, or in the carry.", stacklevel=user_level())


def keep_type(label: Label, what: str, path: str, before: Value, after: Value) -> None:
    """A carry that changes its shape or dtype is an error."""
    if shape_of(before) != shape_of(after) or dtype_of(before) != dtype_of(after):
        raise errors.CarryError(str(label), f"{what}{path}", spelled(before), spelled(after))


def spelled(x: Value) -> str:
    """Dtype and shape, as in `float64[3]`."""
    shape = shape_of(x)
    return f"{dtype_of(x)}{list(shape) if shape else ''}"


def grown(x: Value, after: Value) -> Value:
    """A Python number among the first carry takes the dtype that the body makes of it, where NumPy would."""
    dtype = dtype_of(after)
    if type(x) in NUMBERS and np.result_type(x, dtype) == dtype:
        return dtype.type(x)
    return np.asarray(x)[()] if type(x) in NUMBERS else x


def tensors_among(leaves: Sequence[Any]) -> bool:
    return any(isinstance(x, Tensor) and not isinstance(x, Traced) for x in leaves)


def own(x: Any) -> Value:
    """The value of a leaf, in memory of its own."""
    x = bare(x)
    return x.copy() if type(x) is np.ndarray else x


def given_back(values: Sequence[Value], tensors: bool) -> list[Any]:
    """Results as users get them: frozen, and Tensors where Tensors came in."""
    out: list[Any] = []
    for x in values:
        if isinstance(x, Traced):
            out.append(x)
            continue
        if type(x) is np.ndarray:
            x = doors.frozen(x if x.base is None else x.copy())
        out.append(of_fresh(np.asarray(x)) if tensors else x)
    return out


def operands_first(recording: Recording) -> Program:
    """The program with what it met outside before its other inputs."""
    given, n = recording.program, len(recording.operands)
    start = len(given.inputs) - n
    return renumbered((*given.inputs[start:], *given.inputs[:start]), given.equations, given.outputs)


def positive(label: Label | str, name: str, x: Any, what: str = "whole number") -> int:
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < 1:
        raise errors.ArgumentError(str(label), f"{name} must be a positive {what}, got {x!r}.")
    return int(x)
