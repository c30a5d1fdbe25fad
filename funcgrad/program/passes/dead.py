"""Equations that lead to no output are left out."""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.program.parts import Atom, Equation, stays
from funcgrad.program.program import Program, renumbered, variables


def without_dead_code(program: Program) -> Program:
    """Without the equations that lead to no output. What the rest depends on stays: guards, and what may raise."""
    return renumbered(program.inputs, live(program.equations, program.outputs), program.outputs)


def live(equations: Sequence[Equation], outputs: Sequence[Atom]) -> list[Equation]:
    """Those that lead to an output, and those that stay in any case."""
    wanted = {v.number for v in variables(outputs)}
    kept = []
    for e in reversed(equations):
        if stays(e) or any(v.number in wanted for v in e.outputs):
            wanted.update(v.number for v in variables(e.inputs))
            kept.append(e)
    return kept[::-1]
