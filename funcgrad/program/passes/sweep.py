"""One walk over a program, from its first equation to its last, in which rules replace equations by others.

A rule `(sweep, equation)` gives the atoms that stand for the outputs, or None. What it writes has been swept itself, so a chain of
any length is done in one walk.

**Law:** elements keep their bits, and arrays keep their order in memory where something may add in it. A sum, or a product of matrices,
adds in the order of its operand: so where a rule gives the operand of an equation that made a copy, this operand is a fresh array as
well, or is only read element by element. (Of arrays with strides of 0 that came from outside nothing is known; they are taken as others.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive
from funcgrad.ops.kinds import PRIMITIVES, Elementwise, Structured
from funcgrad.program.parts import FILL, GUARD, Atom, DType, Equation, Line, Literal, Shape, Var, known, sorted_params, variables
from funcgrad.program.program import Program, renumbered

Rule = Callable[["Sweep", Equation], "Sequence[Atom] | None"]
Rules = Mapping[str, Sequence[Rule]]
"""By the name of the primitive; those of "" are tried on all."""

VIEWS = frozenset(("real", "imag"))
"""Elementwise primitives whose result may be a view of the operand."""

FRESH = frozenset("dot sum mean pad concatenate stack cumsum var prod max min norm scatter_add".split())
"""Others that make an array of their own."""

BY_ELEMENT = frozenset(PRIMITIVES[name] for name in ("astype", "sign"))

OPERATORS = frozenset("negative positive absolute invert".split())

ZERO_STRIDES = frozenset(("broadcast_to", "fill"))


def together(*tables: Rules) -> Rules:
    """One table of all."""
    return {name: [rule for table in tables for rule in table.get(name, ())] for name in {n for table in tables for n in table}}


class Uses:
    """How many equations read a variable, and whether all of them do so element by element."""

    __slots__ = ("by_element", "count")

    def __init__(self, count: int = 0, by_element: bool = True) -> None:
        self.count, self.by_element = count, by_element


class Sweep:
    """What rules ask, and write with."""

    def __init__(self, program: Program, rules: Rules) -> None:
        self.rules, self.general = rules, rules.get("", ())
        self.equations: list[Equation] = []
        self.made: dict[int, Equation] = {}
        self.stands: dict[int, Atom] = {}
        self.heirs: dict[int, int] = {}  # whose uses a variable has that was written for another
        self.count = program.size
        self.line: Line | None = None
        self.uses = uses_in(program)
        self.python = {v.number for v in program.inputs if not v.shape}  # what may be one of Python's numbers

    def atom(self, x: Atom) -> Atom:
        return self.stands.get(x.number, x) if type(x) is Var else x

    def enter(self, e: Equation) -> Sequence[Atom]:
        """The equation, or what the rules make of it."""
        if known(e.primitive.name) is e.primitive:
            for rule in self.general:
                found = rule(self, e)
                if found is not None:
                    return found
            for rule in self.rules.get(e.primitive.name, ()):
                found = rule(self, e)
                if found is not None:
                    return found
        self.equations.append(e)
        for v in e.outputs:
            self.made[v.number] = e
        if hands_python_on(e.primitive) and e.inputs and (type(e.primitive) is Structured or all(map(self.may_be_python, e.inputs))):
            self.python.update([v.number for v in e.outputs if not v.shape])
        return e.outputs

    # ---- what is known

    def source(self, x: Atom, *names: str) -> Equation | None:
        """The equation that makes an operand, if its primitive is one of these."""
        e = self.made.get(x.number) if type(x) is Var else None
        return e if e is not None and e.primitive.name in names and type(e.primitive) is not Structured else None

    def may_be_python(self, x: Atom) -> bool:
        return type(x) is Var and x.number in self.python

    def is_read_once(self, x: Atom) -> bool:
        return type(x) is Var and self.uses[x.number].count == 1

    def is_fresh(self, x: Atom) -> bool:
        """Whether a copy would have the same strides; without axes, whether it would be of the same type."""
        if not x.shape:
            return not self.may_be_python(x)
        e = self.made.get(x.number) if type(x) is Var else None
        if e is None or type(e.primitive) is Structured:
            return False
        return e.primitive.name in FRESH or (is_by_element(e.primitive) and e.primitive.name not in VIEWS)

    def may_be(self, x: Atom, out: Var) -> bool:
        """Whether `x` may stand for a fresh copy of it."""
        if x.shape != out.shape or x.dtype != out.dtype:
            return False
        return self.is_fresh(x) or (bool(x.shape) and self.uses[out.number].by_element and self.has_order(x))

    def view(self, x: Atom) -> Sequence[Atom] | None:
        """`x` in the place of a view of all its elements."""
        return None if not x.shape and self.may_be_python(x) else (x,)

    def has_order(self, x: Atom) -> bool:
        """Whether the axes of a copy are ordered as those of `x`."""
        return is_line(x.shape) or self.source(x, *ZERO_STRIDES) is None

    # ---- writing

    def write(self, prim: Primitive, inputs: Sequence[Atom], like: Var, params: Mapping[str, Any] | None = None) -> Sequence[Atom]:
        """An equation whose result takes the place of `like`."""
        return self.enter(Equation(prim, tuple(inputs), (self.var(like.shape, like.dtype, like),), sorted_params(params or {}), self.line))

    def inner(self, prim: Primitive, inputs: Sequence[Atom], shape: Shape, dtype: DType) -> Atom:
        """One whose result is read once, element by element."""
        return self.enter(Equation(prim, tuple(inputs), (self.var(shape, dtype),), (), self.line))[0]

    def var(self, shape: Shape, dtype: DType, like: Var | None = None) -> Var:
        made = Var(self.count, shape, dtype)
        self.count += 1
        if like is None:
            self.uses[made.number] = Uses(1)
        else:
            its = self.uses[like.number]
            self.uses[made.number] = Uses(its.count, its.by_element)
            self.heirs[made.number] = self.heirs.get(like.number, like.number)
        return made

    def replace(self, v: Var, x: Atom) -> None:
        """From here on `x` is read where `v` was."""
        self.stands[v.number] = x
        if type(x) is Var and self.heirs.get(x.number) != v.number:
            mine, its = self.uses[x.number], self.uses[v.number]
            self.uses[x.number] = Uses(mine.count + its.count, mine.by_element and its.by_element)


def swept(program: Program, rules: Rules) -> Program:
    """The program after one walk; the program itself, where no rule applies."""
    s = Sweep(program, rules)
    for e in program.equations:
        s.line = e.line
        if s.stands:
            e = Equation(e.primitive, tuple(map(s.atom, e.inputs)), e.outputs, e.params, e.line)
        found = s.enter(e)
        for v, x in zip(e.outputs, found, strict=True):
            if v is not x:
                s.replace(v, x)
    if not s.stands and len(s.equations) == len(program.equations):
        return program
    return renumbered(program.inputs, s.equations, list(map(s.atom, program.outputs)))


def uses_in(program: Program) -> dict[int, Uses]:
    found = {v.number: Uses() for v in program.inputs}
    for e in program.equations:
        for v in e.outputs:
            found[v.number] = Uses()
        by_element = is_by_element(e.primitive) or e.primitive is GUARD
        for number in {x.number for x in e.inputs if type(x) is Var}:
            uses = found[number]
            uses.count += 1
            uses.by_element &= by_element
    for v in variables(program.outputs):
        found[v.number] = Uses(found[v.number].count + 1, False)
    return found


def is_by_element(prim: Primitive) -> bool:
    return type(prim) is Elementwise or isinstance(prim.impl, np.ufunc) or prim in BY_ELEMENT


def hands_python_on(prim: Primitive) -> bool:
    """Whether of Python's numbers alone it may make one: Python has operators for some functions of one operand, and no others."""
    return not isinstance(prim.impl, np.ufunc) or prim.impl.nin > 1 or prim.name in OPERATORS


def is_line(shape: Shape) -> bool:
    """Whether elements have one order only."""
    return sum([n != 1 for n in shape]) <= 1


def number_of(x: Atom) -> np.generic | None:
    return x.value if type(x) is Literal else None


def uniform(s: Sweep, x: Atom) -> np.generic | None:
    """The number that all elements are, where that is known."""
    if type(x) is Literal:
        return x.value
    e = s.source(x, "fill")
    return number_of(e.inputs[0]) if e is not None and e.primitive is FILL else None
