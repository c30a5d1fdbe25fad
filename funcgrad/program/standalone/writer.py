"""Equations as lines of plain NumPy.

One equation is one line, in the order in which they are computed, unless what it gives is read once and on the same line of the user's
code: then it stands where it is read. Loops and branches are Python's own; a guard is an `if` that raises.
"""

from __future__ import annotations

import ast
import keyword
import linecache
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad.ops.kinds import Structured
from funcgrad.program.parts import GUARD, Atom, Equation, Line, Literal, Var, letters, variables
from funcgrad.program.program import Program
from funcgrad.program.standalone.expressions import EXPRESSIONS
from funcgrad.program.standalone.helpers import Helpers
from funcgrad.program.standalone.places import NotText
from funcgrad.program.standalone.spelling import ATOM, COMPARISON, PRODUCT, SIGN, SUM, WIDTH, Text, spelled, typed, weak
from funcgrad.program.standalone.statements import BLOCKS, STATEMENTS
from funcgrad.program.vocabulary import SEVERAL, bound

OPERATORS = {"add": ("+", SUM), "subtract": ("-", SUM), "multiply": ("*", PRODUCT), "divide": ("/", PRODUCT)}
OPERATORS |= {
    n: (s, COMPARISON)
    for n, s in zip("less less_equal greater greater_equal equal not_equal".split(), "< <= > >= == !=".split(), strict=True)
}

TURNED = str.maketrans("<>", "><")
"""A number stands on the right."""

NESTED = 60
"""Columns: what is longer has a line and a name of its own."""

ATOMS = (ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.Tuple)

LOOSE = -1

RESERVED = frozenset("np scipy program length".split())


class Writer:
    """The lines of a function, and what they need."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.helpers = Helpers()
        self.names: dict[int, Text] = {}
        self.taken: set[str] = {*RESERVED, *keyword.kwlist}
        self.foreign: dict[str, Any] = {}
        """What has no text: the function takes it by these names."""
        self.count = 0
        self.indent = 0
        self.place: tuple[str, int] | None = None
        self.parts: dict[int, tuple[Text, Equation]] = {}
        """Slices that stand where they are read."""

    # ---- names

    def add(self, text: str, line: Line | None = None) -> None:
        """One statement; where the user's line is another one than before, with a comment that shows it."""
        space = "    " * self.indent
        place = where(line)
        if line is not None and place and place != self.place:
            self.place = place
            code = linecache.getline(*place).strip()
            self.lines.append(shown(f"{space}# {line.place}{': ' if code else ''}{code}"))
        self.lines += [space + text] if text else []

    def new(self) -> str:
        """The next free name."""
        while True:
            name = letters(self.count)
            self.count += 1
            if name not in self.taken:
                self.taken.add(name)
                return name

    def named(self, v: Var) -> str:
        self.names[v.number] = Text(name := self.new())
        return name

    def atom(self, x: Atom) -> Text:
        """An operand that has a dtype of its own."""
        if isinstance(x, Var):
            return self.names[x.number]
        return typed(x.value) if x.dtype.kind in "fciub" else Text(self.helpers_value(x.value))

    def operands(self, e: Equation) -> list[Text]:
        """Operands of a ufunc: a number beside a variable of its dtype is Python's own."""
        there = {x.dtype for x in e.inputs if isinstance(x, Var)}
        return [(weak(x.value) if isinstance(x, Literal) and x.dtype in there else None) or self.atom(x) for x in e.inputs]

    def bare(self, x: Atom) -> str:
        """An operand as a name, or a number."""
        text = self.atom(x)
        if isinstance(x, Var) and not text.text.isidentifier():
            self.add(f"{self.named(x)} = {text}")
        return str(self.atom(x))

    def helpers_value(self, x: Any) -> str:
        """A param."""
        text = spelled(x)
        if text is not None:
            return text
        try:
            return self.helpers.name(x, getattr(x, "__name__", "value"))
        except NotText:
            return self.passed(x, "value")

    def passed(self, x: Any, stem: str) -> str:
        """A name of what the caller has to give."""
        for name, known in self.foreign.items():
            if known is x:
                return name
        name = f"{re.sub(r'[^a-zA-Z0-9]+', '_', stem).strip('_') or 'function'}_{len(self.foreign)}"
        self.foreign[name] = x
        self.taken.add(name)
        return name

    # ---- statements

    def write(self, equations: Sequence[Equation], kept: Iterable[Var]) -> None:
        """The equations, in their order."""
        uses: dict[int, int] = {v.number: 2 for v in kept}
        reader: dict[int, Equation] = {}
        for e in equations:
            for v in variables(e.inputs):
                uses[v.number] = uses.get(v.number, 0) + 1
                reader[v.number] = e
        for e in equations:
            if e.primitive is GUARD:
                self.guard(e)
            elif type(e.primitive) is Structured:
                self.structured(e)
            elif len(e.outputs) == 1 and e.primitive.name not in SEVERAL and e.primitive.name not in STATEMENTS:
                v = e.outputs[0]
                text = self.expression(e)
                once = uses.get(v.number) == 1 and where(reader[v.number].line) == where(e.line) and takes_expressions(reader[v.number])
                if once and len(text.text) <= NESTED:
                    self.names[v.number] = text
                    if e.primitive.name == "slice":
                        self.parts[id(v)] = (self.atom(e.inputs[0]), e)
                else:
                    self.add(f"{self.named(v)} = {text}", e.line)
            elif e.primitive.name in STATEMENTS:
                STATEMENTS[e.primitive.name](self, e)
            else:
                self.several(e)

    def several(self, e: Equation) -> None:
        text = self.expression(e)
        made = [self.named(v) for v in e.outputs]
        self.add(f"{', '.join(made)}{',' * (len(made) == 1)} = {text}", e.line)

    def guard(self, e: Equation) -> None:
        kind, answer = e["kind"].replace("index", "int"), e["answer"]
        x = self.atom(e.inputs[0])
        if kind == "bool":
            test = f"not {x.at(COMPARISON)}" if answer else str(x)
        else:
            test = f"{kind}({x}) != {spelled(answer)}"
        self.add(f"if {test}:", e.line)
        place = f" at {e.line.place}" if e.line else ""
        self.add(f'    raise ValueError("another path is taken{place}: recorded was {answer}")')

    def expression(self, e: Equation) -> Text:
        name = e.primitive.name
        if name in OPERATORS:
            sign, level = OPERATORS[name]
            x, y = self.operands(e)
            if level == COMPARISON and isinstance(e.inputs[0], Literal):
                x, y, sign = y, x, sign.translate(TURNED)
            return Text(f"{x.at(level + (level == COMPARISON))} {sign} {y.at(level + 1)}", level)
        if name == "negative":
            return Text(f"-{self.operands(e)[0].at(SIGN)}", SIGN)
        if isinstance(e.primitive.impl, np.ufunc):
            return Text(f"{self.helpers.name(e.primitive, name)}({', '.join(map(str, self.operands(e)))})")
        write = EXPRESSIONS.get(name)
        text = write(self, e, [self.atom(x) for x in e.inputs]) if write else None
        return text or self.call(e)

    def call(self, e: Equation) -> Text:
        """What has no shorter form: a function of ours, which is written out."""
        prim, given, params = bound(e, [self.atom(x) for x in e.inputs])
        args = [str(x) for x in given]
        named = {key: self.helpers_value(x) for key, x in params.items()}
        try:
            text = self.helpers.inlined(prim.impl, args, named)
            if text is not None:
                return Text(text, ATOM if isinstance(ast.parse(text, mode="eval").body, ATOMS) else LOOSE)
            function = self.helpers.name(prim, prim.name)
        except NotText:
            function = self.passed(prim.impl, prim.name)
        return Text(f"{function}({', '.join([*args, *[f'{k}={x}' for k, x in named.items()]])})")

    # ---- control flow

    def structured(self, e: Equation) -> None:
        write = BLOCKS.get(e.primitive.name)
        if write is not None:
            write(self, e)
            return
        function = self.passed(e.primitive.impl, e.primitive.name)
        text = f"{function}({', '.join([str(self.atom(x)) for x in e.inputs])})"
        made = [self.named(v) for v in e.outputs]
        self.add(f"{', '.join(made)}{',' * (len(made) == 1)} = {text}" if made else text, e.line)

    def within(self, program: Program, args: Sequence[str]) -> dict[int, Text]:
        """The names of a program within this one, whose inputs are these. It gives those that were."""
        names, self.names = self.names, {v.number: Text(a) for v, a in zip(program.inputs, args, strict=True)}
        return names

    def assign(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """All at once; what is assigned to itself is left out."""
        pairs = [(n, str(x)) for n, x in zip(names, values, strict=True) if n != str(x)]
        if pairs:
            self.add(f"{', '.join([n for n, _ in pairs])} = {', '.join([x for _, x in pairs])}")


def where(line: Line | None) -> tuple[str, int] | None:
    """A line of the user's code; None of what is generated."""
    return None if line is None or line.filename.startswith("<funcgrad") else (line.filename, line.number)


def shown(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1].rstrip() + "…"


def takes_expressions(e: Equation) -> bool:
    """Whether an operand may be any expression: not where it is written more than once."""
    name = e.primitive.name
    return type(e.primitive) is not Structured and name not in STATEMENTS and name not in ("split", "unstack")
