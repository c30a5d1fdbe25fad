"""Equations that lead to no output are left out."""

from __future__ import annotations

from funcgrad.program.parts import stays
from funcgrad.program.program import Program, renumbered, variables


def without_dead_code(program: Program) -> Program:
    """Without the equations that lead to no output. What the rest depends on stays: guards, and what may raise."""
    wanted = {v.number for v in variables(program.outputs)}
    kept = []
    for e in reversed(program.equations):
        if stays(e) or any(v.number in wanted for v in e.outputs):
            wanted.update(v.number for v in variables(e.inputs))
            kept.append(e)
    return renumbered(program.inputs, reversed(kept), program.outputs)
