"""Equations that have a shorter form: the table of all rules, each with its law in one line.

To add a rule is to write it where its like are, and a line in `tests/program/test_passes.py` where it applies and one where it must not.
"""

from __future__ import annotations

from funcgrad.program.passes import moves, signs, units
from funcgrad.program.passes.sweep import swept, together
from funcgrad.program.program import Program

RULES = together(units.RULES, signs.RULES, moves.RULES)
"""By name of the primitive, in the order in which they are tried."""


def rewritten(program: Program) -> Program:
    """The program after every rule has been tried on every equation."""
    return swept(program, RULES)
