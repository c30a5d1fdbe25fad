"""Programs of numbers in Python's own words, which take a third of the time of NumPy's.

**Law:** the results by NumPy, bit for bit, and its warnings. Sums, differences, products and signs of Python floats have the bits of
float64's, and so have quotients and roots where Python does not raise; functions are NumPy's own. Python is silent where NumPy warns; but
then something is not finite, and so is all that comes of it by sums and products. So the user of this code looks at the results, and where
a number may end without a trace (as a divisor, in a comparison) it is looked at there. Whole numbers are looked at as they are made.
Where one is not what NumPy is silent about, it gives up, and NumPy is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from funcgrad.program.codegen import Source
from funcgrad.program.numbers import atoms_of
from funcgrad.program.parts import Atom, Equation, Literal, Var, variables
from funcgrad.program.program import Program

LARGEST = 2**63 - 1

FLOATS = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "positive": "{}",
    "square": "{0} * {0}",
    "absolute": "abs({})",
    "sqrt": "sqrt({})",
}
"""Of floats, and not finite where one of them is not (or as a divisor)."""

QUESTIONS = {
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "greater": "{} > {}",
    "greater_equal": "{} >= {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
}
"""Of numbers of one kind."""

OTHERS = {
    "where bff>f": "{1} if {0} else {2}",
    "logical_and bb>b": "{} and {}",
    "logical_or bb>b": "{} or {}",
    "logical_not b>b": "not {}",
    "astype b>f": "float({})",
    "astype i>f": "float({})",
    "astype f>f": "{}",
    "add ii>i": "{} + {}",
    "subtract ii>i": "{} - {}",
    "multiply ii>i": "{} * {}",
}
"""By the kinds of the operands and of the result."""

PYTHON = {"f": "float", "i": "int", "b": "bool"}
NUMPY = {"f": "float64", "i": "int64", "b": "bool_"}


class NotFiniteError(Exception):
    """What NumPy may have warned of."""


GIVEN_UP = (NotFiniteError, ArithmeticError, ValueError)
"""The last is what `math` raises outside of a domain."""

SPACE = {
    "NotFiniteError": NotFiniteError,
    "sqrt": math.sqrt,
    "float64": np.float64,
    "int64": np.int64,
    "bool_": np.bool_,
}
"""What these words mean."""


def is_spelled(numbers: Program) -> bool:
    """Whether Python says most of it."""
    finite = all(math.isfinite(x.value) for x in atoms_of(numbers) if type(x) is Literal)
    called = sum([spelling(e) is None for e in numbers.equations])
    return finite and 2 * called <= len(numbers.equations)


def spelling(e: Equation) -> str | None:
    """As an expression of Python's; None where NumPy is called."""
    name, kinds = e.primitive.name, "".join([x.dtype.kind for x in e.inputs])
    if name in QUESTIONS and len(set(kinds)) == 1:
        return QUESTIONS[name]
    other = OTHERS.get(f"{name} {kinds}>{e.outputs[0].dtype.kind}")
    return FLOATS[name] if name in FLOATS and set(kinds) == {"f"} else other


def write(to: Source, equations: Sequence[Equation]) -> None:
    for e in equations:
        for x in _ending(e):
            look(to, x)
        text = spelling(e)
        made = _called(to, e) if text is None else text.format(*[spelled(to, x) for x in e.inputs])
        (name,) = to.named(e.outputs)
        to.add(f"{name} = {made}")
        if text is not None and e.outputs[0].dtype.kind == "i":
            to.add(f"if not {-LARGEST} <= {name} <= {LARGEST}: raise NotFiniteError")


def _ending(e: Equation) -> list[Var]:
    """The numbers that may leave no trace in the result."""
    name = e.primitive.name
    at_risk = e.inputs[1:] if name == "divide" else () if name in FLOATS else e.inputs
    return list(dict.fromkeys(x for x in variables(at_risk) if x.dtype.kind == "f"))


def _called(to: Source, e: Equation) -> str:
    """NumPy's function of its own numbers; ufuncs take Python's as well."""
    names = to.names
    if not isinstance(e.primitive.impl, np.ufunc):
        to.names = names | {v.number: f"{numpy_type(v)}({names[v.number]})" for v in variables(e.inputs)}
    text = f"{python_type(e.outputs[0])}({to.expression(e)})"
    to.names = names
    return text


def python_type(v: Var) -> str:
    return PYTHON[v.dtype.kind]


def numpy_type(v: Var) -> str:
    return NUMPY[v.dtype.kind]


def look(to: Source, x: Atom) -> None:
    """The difference from itself is nan of what is not finite, which is no zero."""
    to.add(f"if {spelled(to, x)} - {spelled(to, x)}: raise NotFiniteError")


def spelled(to: Source, x: Atom) -> str:
    """A number that no operator stands before: `-1.0` in brackets."""
    return to.names[x.number] if isinstance(x, Var) else f"({x.value.item()!r})" if np.signbit(x.value) else repr(x.value.item())
