"""The checks of what custom rules give: structures, shapes and dtypes, each by its path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.shaping import cast
from funcgrad.pytree.prefix import leaves_or_none, parts_at
from funcgrad.transforms.arguments import describe, kind_of
from funcgrad.transforms.calls import Outputs, taken, taken_tree
from funcgrad.transforms.nodes import zero

if TYPE_CHECKING:
    from funcgrad.transforms.rules import RuleCall, Rules


def is_moving(y: Any) -> bool:
    return kind_of(y) in ("f", "c")


def zero_beside(x: Value) -> Any:
    """The tangent or cotangent of a value, where it is zero: of its shape and dtype; None for what is no number."""
    if not kind_of(x):
        return None
    return zero(x) if is_moving(x) or shape_of(x) else 0


def fitting(rules: Rules, rule: str, what: str, place: str, t: Any, x: Value | Spec) -> Value:
    """A tangent or cotangent for `x`, of its shape and dtype."""
    shape, dtype = (x.shape, x.dtype) if type(x) is Spec else (shape_of(x), dtype_of(x))
    t = taken(t)
    if kind_of(t) == "" or shape_of(t) != shape:
        raise rules.tell(rule, f"the {what} of {place} must have shape {list(shape)}, got {describe(t)}.")
    if dtype_of(t).kind == "c" and dtype.kind != "c":
        raise rules.tell(rule, f"the {what} of {place} is complex, but its primal is {dtype}. Take its real part.")
    return cast(t, dtype)


def pair(rules: Rules, rule: str, got: Any, what: str) -> tuple[Any, Any]:
    if type(got) not in (tuple, list) or len(got) != 2:
        raise rules.tell(rule, f"it must return a pair ({what}), got {counted(got)}.")
    return got[0], got[1]


def counted(got: Any) -> str:
    return f"a {type(got).__name__} of length {len(got)}" if isinstance(got, (tuple, list)) else describe(got)


def tangents_of(rules: Rules, rule: str, treedef: pytree.TreeDef, tangent: Any) -> list[Any]:
    """A tangent for each leaf of the output; None stands for zeros."""
    try:
        return leaves_or_none(rule, treedef, tangent)
    except errors.TreeMismatchError:
        got = pytree.structure(tangent)
        raise rules.tell(rule, f"the tangent must have the structure of the output: got {got}, expected {treedef}.") from None


def cotangents(call: RuleCall, got: Any) -> list[Any]:
    """What the bwd rule gave, a leaf for each leaf of the arguments; None stands for zeros."""
    n = len(call.in_def.children)
    if type(got) not in (tuple, list) or len(got) != n:
        many = "argument" if n == 1 else "arguments"
        raise call.rules.tell("bwd rule", f"it must return a tuple of length {n}, a cotangent for each of {n} {many}, got {counted(got)}.")
    found: list[Any] = []
    for k, (child, g) in enumerate(zip(call.in_def.children, got, strict=True)):
        try:
            found += leaves_or_none("bwd rule", child, g)
        except errors.TreeMismatchError:
            got_def = pytree.structure(g)
            what = f"the cotangent of {call.argument(k)} must have the structure of the argument: got {got_def}, expected {child}."
            raise call.rules.tell("bwd rule", what) from None
    return found


def places(treedef: pytree.TreeDef) -> list[str]:
    """The leaves of the output in the user's words."""
    return [f"the output{path}" for path in treedef.paths]


def same_output(rules: Rules, rule: str, got: Sequence[Value], got_def: pytree.TreeDef, own: Outputs) -> None:
    """The output that a rule gives is that of the function."""
    outs, treedef = own
    if got_def != treedef:
        raise rules.tell(rule, f"its output must have the structure of the function's: got {got_def}, expected {treedef}.")
    for place, x, y in zip(places(treedef), got, outs, strict=True):
        if bool(kind_of(x)) != bool(kind_of(y)) or (kind_of(y) and (shape_of(x), dtype_of(x)) != (shape_of(y), dtype_of(y))):
            raise rules.tell(rule, f"{place} must be as the function gives it: got {described(x)}, expected {described(y)}.")


def described(x: Value) -> str:
    return f"{dtype_of(x)}{list(shape_of(x))}" if kind_of(x) else describe(x)


OUTPUT_AND_MARKS = "output, which of it is batched"


def batched_output(rules: Rules, got: Any, size: int) -> tuple[list[Value], list[bool], pytree.TreeDef]:
    """What the batch rule gave, and which of its leaves have a batch axis."""
    out, said = pair(rules, "batch rule", got, OUTPUT_AND_MARKS)
    outs, treedef = taken_tree(out)
    flags, prefix = pytree.flatten(said)
    try:
        parts = parts_at("batch rule", prefix, treedef.unflatten(list(range(len(outs)))))
    except errors.TreeMismatchError:
        what = f"what says which of the output is batched must have its structure: got {prefix}, expected {treedef}."
        raise rules.tell("batch rule", what) from None
    marks = [flag for flag, part in zip(flags, parts, strict=True) for _ in pytree.leaves(part)]
    for place, flag, y in zip(places(treedef), marks, outs, strict=True):
        if not isinstance(flag, (bool, np.bool_)):
            raise rules.tell("batch rule", f"whether {place} is batched must be True or False, got {describe(flag)}.")
        if flag and (not kind_of(y) or shape_of(y)[:1] != (size,)):
            raise rules.tell("batch rule", f"{place} is said to be batched, so its first axis must have size {size}, got {described(y)}.")
    return outs, list(map(bool, marks)), treedef
