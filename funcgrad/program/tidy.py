"""What is done to a program before it becomes code: one thing is computed once."""

from __future__ import annotations

import functools
from typing import Any

from funcgrad.program.program import GUARD, Atom, Equation, Program, Var, renumbered, without_dead_code


@functools.lru_cache(512)
def without_repeats(program: Program) -> Program:
    """Equations that are equal, of equal operands, are one. (They are pure, so this changes no bit.)"""
    known: dict[Any, tuple[Var, ...]] = {}
    new: dict[int, Atom] = {}
    kept = []

    def renamed(x: Atom) -> Atom:
        return new.get(x.number, x) if isinstance(x, Var) else x

    for e in program.equations:
        inputs = tuple(map(renamed, e.inputs))
        key = (e.primitive, inputs, e.params)
        if e.primitive is not GUARD and key in known:
            new.update(zip([v.number for v in e.outputs], known[key], strict=True))
            continue
        known[key] = e.outputs
        kept.append(Equation(e.primitive, inputs, e.outputs, e.params, e.line))
    return without_dead_code(renumbered(program.inputs, kept, list(map(renamed, program.outputs))))
