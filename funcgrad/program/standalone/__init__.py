"""A program as a module of its own: readable text that depends on NumPy alone, and on SciPy where it has functions of `scipy.special`.

**Law:** run in an empty namespace, it gives the program's numbers, bit for bit.
"""

from __future__ import annotations

from funcgrad.program.parts import Literal, variables
from funcgrad.program.passes import simplified_here
from funcgrad.program.program import Program
from funcgrad.program.standalone.heading import Heading
from funcgrad.program.standalone.spelling import Text, tidy, wrapped
from funcgrad.program.standalone.writer import Writer

__all__ = ["module"]


def module(program: Program) -> str:
    """The text of a module with one function, which is called as the program is.

    What NumPy has no function for is written out above it. Small arrays that the function captured are constants of the module, and
    defaults of keyword arguments; larger ones have to be given, and so have functions that are equations as they are (of
    `fg.checkpoint`, of custom rules, of `fg.external`).

    >>> from funcgrad import trace
    >>> exec(module(trace(lambda x: x * 2)(1.0)), space := {})
    >>> space["f"](3.0)
    6.0
    """
    to, heading = Writer(), Heading(program)
    to.taken |= {*heading.names, *heading.positional, *heading.named}
    to.helpers.taken |= to.taken
    body = simplified_here(program.closed)
    to.names = {v.number: Text(name) for v, name in zip(body.inputs, heading.names, strict=True)}
    to.indent = 1
    to.write(body.equations, list(variables(body.outputs)))
    to.add(f"return {heading.result([x if isinstance(x, Literal) else to.atom(x) for x in body.outputs])}")
    lines = [line for text in to.lines for line in ([text] if text.lstrip().startswith("#") else wrapped(text))]
    constants = heading.constants()
    imports = "import numpy as np" + "\nimport scipy.special" * to.helpers.needs_scipy
    parts = [heading.caption(to.helpers.needs_scipy), "\n".join(to.helpers.imports), imports, "\n".join(constants)]
    function = "\n".join([*wrapped(heading.line(list(to.foreign))), *heading.docstring(list(to.foreign)), *heading.entries(), *lines])
    return "\n\n\n".join([tidy(text.rstrip()) for text in ("\n\n".join(filter(None, parts)), *to.helpers.texts, function)]) + "\n"
