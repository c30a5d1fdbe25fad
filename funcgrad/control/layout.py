"""Programs with their inputs and outputs in another order, and sums added to them: how the body of one loop becomes that of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import Spec, Value, spec_of
from funcgrad.ops.elementwise import add
from funcgrad.program.program import FILL, Atom, Equation, Literal, Program, Var, renumbered
from funcgrad.transforms import derive
from funcgrad.transforms.nodes import zero

Mask = tuple[bool, ...]


def arranged(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    """The program whose k-th input is the `inputs[k]`-th of this one, and likewise its outputs."""
    return renumbered([program.inputs[k] for k in inputs], program.equations, [program.outputs[k] for k in outputs])


def with_sums(program: Program, terms: Sequence[int]) -> Program:
    """The program with further inputs, to which the outputs at `terms` are added."""
    count = program.size
    inputs, equations, outputs = list(program.inputs), list(program.equations), list(program.outputs)
    zeros = {e.outputs[0].number for e in equations if e.primitive is FILL and is_zero(e.inputs[0])}
    for k in terms:
        term = outputs[k]
        so_far = Var(count, term.shape, term.dtype)
        inputs.append(so_far)
        count += 1
        if is_zero(term) or (isinstance(term, Var) and term.number in zeros):
            outputs[k] = so_far
            continue
        total = Var(count, term.shape, term.dtype)
        count += 1
        equations.append(Equation(add, (so_far, term), (total,)))
        outputs[k] = total
    return renumbered(inputs, equations, outputs)


def is_zero(x: Atom) -> bool:
    return isinstance(x, Literal) and not x.value


def chosen(items: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    return [x for x, yes in zip(items, mask, strict=True) if yes]


def places(mask: Sequence[bool], start: int = 0) -> list[int]:
    """The positions where it is true."""
    return [start + k for k, yes in enumerate(mask) if yes]


def full(t: Value | None, like: Any) -> Value:
    """A tangent or cotangent with all elements of what it belongs to."""
    spec = like if isinstance(like, (Spec, Var, Literal)) else spec_of(like)
    return np.zeros(spec.shape, spec.dtype)[()] if t is None else derive.full(t, spec)


def tangent_of(t: Value | None, x: Value) -> Value:
    return zero(x) if t is None else t


def with_idle(program: Program, like: Sequence[Var]) -> Program:
    """The program with further inputs that it does not read."""
    count = program.size
    idle = [Var(count + k, v.shape, v.dtype) for k, v in enumerate(like)]
    return renumbered([*program.inputs, *idle], program.equations, program.outputs)
