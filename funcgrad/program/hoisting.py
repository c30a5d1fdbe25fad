"""What a loop computes once: its equations of what does not change from step to step."""

from __future__ import annotations

from funcgrad.program.parts import GUARD, Equation, variables
from funcgrad.program.program import Program


def split(program: Program, consts: int) -> tuple[list[Equation], list[Equation]]:
    """The equations of the first `consts` inputs alone, and the others. (Guards stay in the loop, where they are not met in vain.)"""
    known = {v.number for v in program.inputs[:consts]}
    still, moving = [], []
    for e in program.equations:
        if e.primitive is not GUARD and all(v.number in known for v in variables(e.inputs)):
            known.update(v.number for v in e.outputs)
            still.append(e)
        else:
            moving.append(e)
    return still, moving
