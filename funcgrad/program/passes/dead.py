"""Equations that lead to no output are left out."""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.program.parts import Atom, Equation
from funcgrad.program.program import Program, renumbered, variables


def without_dead_code(program: Program) -> Program:
    """Without the equations that lead to no output. Guards stay: they are what the rest depends on."""
    return renumbered(program.inputs, live(program.equations, program.outputs), program.outputs)


def live(equations: Sequence[Equation], outputs: Sequence[Atom]) -> list[Equation]:
    """Those that lead to an output, and the guards."""
    wanted = {v.number for v in variables(outputs)}
    kept = []
    for e in reversed(equations):
        if not e.outputs or any(v.number in wanted for v in e.outputs):
            wanted.update(v.number for v in variables(e.inputs))
            kept.append(e)
    return kept[::-1]
