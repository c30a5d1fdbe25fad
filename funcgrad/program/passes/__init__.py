"""Passes: pure functions from programs to programs, each with one law.

**Law:** the same outputs for all inputs, bit for bit (where a nan is a nan, whatever its payload). No guard is passed by that was met,
and none comes behind what it protects: equations stay in their order.

| pass | |
|---|---|
| `folding` | results of numbers, and arrays that are one number, are known |
| `rewrites` | equations that have a shorter form |
| `repeats` | what is computed twice is computed once |
| `dead` | what leads to no output is left out |
| `loops` | the same within equations, and what no loop needs does not go through it |
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from funcgrad.program.passes import folding, rewrites
from funcgrad.program.passes.loops import with_inner
from funcgrad.program.passes.repeats import without_repeats
from funcgrad.program.passes.sweep import swept, together
from funcgrad.program.program import Program

__all__ = ["simplified", "simplified_here"]

ROUNDS = 8

RULES = together(folding.RULES, rewrites.RULES)
"""One walk tries them all."""


def simplified(program: Program) -> Program:
    """The program after all passes, over and over until nothing changes."""
    made = _simplified(program.closed)
    return made.but(captures=program.captures, signature=program.signature) if made is not program.closed else program


def simplified_here(program: Program) -> Program:
    """The same, closed, with the user's lines of this very program. (What is cached may be of an equal one, from elsewhere.)"""
    return _rounds(program.closed, simplified_here)


@functools.lru_cache(1024)
def _simplified(program: Program) -> Program:
    return _rounds(program, _simplified)


def _rounds(program: Program, inner: Callable[[Program], Program]) -> Program:
    program = without_repeats(program)
    for _ in range(ROUNDS):
        before = program
        program = without_repeats(with_inner(swept(program, RULES), inner))
        if program is before or program == before:
            return before
    return program
