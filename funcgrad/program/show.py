"""Programs as text: a line for each input, equation and output, with dtypes and shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from funcgrad.program.parts import GUARD, Atom, Equation, Var, letters

if TYPE_CHECKING:
    from funcgrad.program.program import Program

INDENT = "    "


def text(program: Program, lines: bool = False) -> str:
    """The whole program; with `lines`, each equation with the user's line."""
    return "\n".join([title(program), *[INDENT + line for line in body(program, lines)]])


def title(program: Program) -> str:
    return f"program {plain(program.signature.name)}" if program.signature else "program"


def counted(program: Program) -> str:
    """How much there is, in words: `2 inputs, 1 captured, 7 equations, 1 output`."""
    captured = len(program.captures)
    counts = {"input": len(program.inputs) - captured, "equation": len(program.equations), "output": len(program.outputs)}
    words = [f"{n} {word}{'s' * (n != 1)}" for word, n in counts.items()]
    return ", ".join([words[0], *[f"{captured} captured"] * bool(captured), *words[1:]])


def body(program: Program, lines: bool) -> Iterator[str]:
    given = len(program.inputs) - len(program.captures)
    if program.signature:
        for v, word in zip(program.inputs[:given], program.signature.words, strict=True):
            yield f"input  {v}  {plain(word)}"
    elif given:
        yield f"input  {', '.join(map(str, program.inputs[:given]))}"
    for v in program.inputs[given:]:
        yield f"input  {v}  captured"
    for e in program.equations:
        yield statement(e) + (f"  # {plain(str(e.line))}" if lines and e.line else "")
        for name, held in programs(e):
            yield f"{INDENT}{plain(name)}"
            for line in body(held, lines):
                yield 2 * INDENT + line
    yield "output " + ", ".join(map(operand, program.outputs)) if program.outputs else "output nothing"


def statement(e: Equation) -> str:
    """`c:float64[3] = add(a, b)`; a guard says what was seen."""
    if e.primitive is GUARD:
        return f"guard {question(e, operand(e.inputs[0]))}"
    made = ", ".join(map(str, e.outputs))
    return f"{made} = {plain(e.primitive.name)}({', '.join([*map(operand, e.inputs), *params(e)])})"


def question(e: Equation, of: str) -> str:
    """What a guard asks and what the answer was: `bool(a) is True`."""
    return f"{plain(e['kind'])}({of}) is {plain(repr(e['answer']))}"


def params(e: Equation) -> list[str]:
    """The params that are no programs; what is False is left out."""
    held = {name.partition("[")[0] for name, _ in programs(e)}
    return [f"{plain(name)}={plain(shown(value))}" for name, value in e.params if name not in held and value is not False]


def programs(e: Equation) -> list[tuple[str, Any]]:
    """The programs that an equation holds."""
    found = []
    for name, value in e.params:
        if hasattr(value, "equations"):
            found.append((name, value))
        elif type(value) is tuple and value and all(hasattr(x, "equations") for x in value):
            found += [(f"{name}[{k}]", x) for k, x in enumerate(value)]
    return found


def operand(x: Atom) -> str:
    """A variable by its letters; a literal with its dtype."""
    return letters(x.number) if type(x) is Var else plain(str(x))


def shown(value: Any) -> str:
    """A param."""
    if type(value) is tuple:
        return f"({', '.join(map(shown, value))}{',' * (len(value) == 1)})"
    return str(value) if type(value).__module__ == "numpy" or hasattr(value, "names") else repr(value)


def plain(text: str) -> str:
    """On one line, whatever the user's names have in them."""
    return text if text.isprintable() else "".join([c if c.isprintable() else ascii(c)[1:-1] for c in text])
