"""Equations that lead to no output are left out."""

from __future__ import annotations

from funcgrad.program.parts import live
from funcgrad.program.program import Program, renumbered


def without_dead_code(program: Program) -> Program:
    """Without the equations that lead to no output. What the rest depends on stays: guards, and what may raise."""
    return renumbered(program.inputs, live(program.equations, program.outputs), program.outputs)
