"""What is computed, or asked, twice is computed once."""

from __future__ import annotations

from typing import Any

from funcgrad.ops.kinds import PRIMITIVES
from funcgrad.program.parts import Atom, Equation, Var, exact, live
from funcgrad.program.program import Program, renumbered

COMMUTE = frozenset(PRIMITIVES[name] for name in ("add", "multiply", "equal", "not_equal"))
"""Of real numbers, `x y` has the bits of `y x`. (A product of complex ones adds two terms, which a fused loop rounds one by one.)"""


def without_repeats(program: Program) -> Program:
    """Equal equations of equal operands are one (they are pure, and a guard that held, holds); what leads to no output is none."""
    known: dict[Any, tuple[Var, ...]] = {}
    new: dict[int, Atom] = {}
    kept: list[Equation] = []

    def renamed(x: Atom) -> Atom:
        return new.get(x.number, x) if isinstance(x, Var) else x

    for e in program.equations:
        inputs = tuple(map(renamed, e.inputs))
        key = (e.primitive, ordered(e, inputs), exact(e.params))
        if key in known:
            new.update(zip([v.number for v in e.outputs], known[key], strict=True))
            continue
        known[key] = e.outputs
        kept.append(Equation(e.primitive, inputs, e.outputs, e.params, e.line))
    outputs = list(map(renamed, program.outputs))
    kept = live(kept, outputs)
    return program if len(kept) == len(program.equations) else renumbered(program.inputs, kept, outputs)


def ordered(e: Equation, inputs: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """The operands, in an order that says nothing where they commute."""
    if e.primitive in COMMUTE and all(x.dtype.kind != "c" for x in inputs):
        return tuple(sorted(inputs, key=lambda x: x.number if isinstance(x, Var) else -1))
    return inputs
