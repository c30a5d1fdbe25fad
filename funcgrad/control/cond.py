"""`cond` and `switch`: one of several functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows
from funcgrad.control.bodies import Function, attempt, given_back, ground_of, spelled, tensors_among, values_of
from funcgrad.control.cond_call import CondCall
from funcgrad.core import Label, Traced, Value, dtype_of, floors, shape_of
from funcgrad.numpy.bridge import bare
from funcgrad.ops.kinds import BY_UFUNC
from funcgrad.ops.shaping import astype
from funcgrad.program.parts import Missed
from funcgrad.program.program import Program, Var, renumbered
from funcgrad.transforms.arguments import describe, label_of
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.record import Recording, RecordTracer, stamp


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`true_fun(*operands)` where `pred` holds, else `false_fun(*operands)`.

    With a plain or differentiated `pred` that is Python's own `if`. In a recording, and under `vmap` where lanes differ, it is one
    operation: both functions are recorded, and must give one structure with the same shapes and dtypes.

    Args:
        pred: one bool or number.
        true_fun: takes the operands, gives a pytree of numbers.
        false_fun: likewise.
        operands: any pytrees of numbers.

    Raises:
        BranchError: the branches give other shapes or dtypes, by their path.

    >>> cond(3.0 > 2.0, lambda x: x**2, lambda x: -x, 3.0)
    9.0
    """
    label = label_of("cond", true_fun)
    value = _one(label, "pred", pred)
    if not _is_open(value):
        return true_fun(*operands) if value else false_fun(*operands)
    which = astype(value if dtype_of(value).kind == "b" else BY_UFUNC[np.not_equal](value, 0), dtype=np.dtype(np.intp))
    return _chosen(label, which, [false_fun, true_fun], operands, lambda: bool(value))


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; an index that is out of range takes the nearest branch.

    Args:
        index: a whole number.
        branches: functions of the operands that give one structure, with the same shapes and dtypes.
        operands: any pytrees of numbers.

    >>> switch(1, [np.sin, np.cos, np.tan], 0.0)
    np.float64(1.0)
    """
    branches = list(branches)
    if not branches:
        raise errors.ArgumentError("switch", "it needs at least one branch.")
    label = label_of("switch", branches[0])
    value = _one(label, "index", index)
    if dtype_of(value).kind not in "iub":
        raise errors.ArgumentTypeError(str(label), f"the index must be a whole number, got {describe(index)}.")
    last = len(branches) - 1
    if not _is_open(value):
        return branches[min(max(int(value), 0), last)](*operands)
    which = BY_UFUNC[np.minimum](BY_UFUNC[np.maximum](astype(value, dtype=np.dtype(np.intp)), 0), last)
    return _chosen(label, which, branches, operands, lambda: int(which))


def _one(label: Label, name: str, x: Any) -> Value:
    value = bare(x)
    if not isinstance(value, (Traced, np.generic, np.ndarray, bool, int, float, complex)) or shape_of(value):
        raise errors.ArgumentTypeError(str(label), f"{name} must be one bool or number, got {describe(x)}. Use `np.where` for many.")
    return value


def _is_open(x: Value) -> bool:
    """Whether a look at it would bind more than this one run: a recording, or lanes that differ."""
    return any(isinstance(t, (BatchTracer, RecordTracer)) for t in floors(x))


def _chosen(label: Label, which: Value, branches: Sequence[Callable[..., Any]], operands: Sequence[Any], look: Callable[[], Any]) -> Any:
    leaves, treedef = pytree.flatten(tuple(operands))
    values = values_of(label, "operands", leaves, treedef)
    made = _recorded(label, [lambda inputs, f=f: f(*treedef.unflatten(inputs)) for f in branches], ground_of(values))  # type: ignore[misc]
    if made is None:
        return branches[int(look())](*operands)
    _check(label, made)
    programs, hidden = _of_all(made, len(values))
    try:
        outs = CondCall(label.transformation, programs).apply([which, *values, *hidden])
    except Missed:
        return branches[int(look())](*operands)
    return made[0].out_def.unflatten(given_back(outs, tensors_among(leaves)))


def _recorded(label: Label, branches: Sequence[Function], examples: Sequence[Value]) -> list[Recording] | None:
    """The programs of all branches, if they have them."""
    borrows = Borrows()
    made = []
    try:
        for branch in branches:
            found = attempt(label, branch, examples, borrows)
            if found is None:
                return None
            made.append(found)
    finally:
        borrows.release()
    return made if all(stamp(x) == s for r in made for x, s in zip(r.operands, r.stamps, strict=True)) else None


def _check(label: Label, made: Sequence[Recording]) -> None:
    """All branches must give the same structure, shapes and dtypes."""
    first = made[0]
    for other in made[1:]:
        if other.out_def != first.out_def:
            raise errors.BranchError(str(label), "", str(first.out_def), str(other.out_def))
        for x, y, path in zip(first.program.outputs, other.program.outputs, first.out_def.paths, strict=True):
            if (x.shape, x.dtype) != (y.shape, y.dtype):
                raise errors.BranchError(str(label), path, spelled_atom(x), spelled_atom(y))


def spelled_atom(x: Any) -> str:
    return spelled(np.broadcast_to(np.zeros((), x.dtype), x.shape))


def _of_all(made: Sequence[Recording], n: int) -> tuple[tuple[Program, ...], list[Any]]:
    """The programs as functions of the operands and of what any of them met outside."""
    hidden: dict[int, tuple[Any, Any]] = {}
    for r in made:
        for x, v in zip(r.operands, r.program.inputs[n:], strict=True):
            hidden.setdefault(id(x), (x, v))
    programs = []
    for r in made:
        own = dict(zip(map(id, r.operands), r.program.inputs[n:], strict=True))
        count = r.program.size
        behind = []
        for k, (_, v) in hidden.items():
            behind.append(own.get(k, Var(count, v.shape, v.dtype)))
            count += 1
        programs.append(renumbered([*r.program.inputs[:n], *behind], r.program.equations, r.program.outputs))
    return tuple(programs), [x for x, _ in hidden.values()]
