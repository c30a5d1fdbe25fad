"""Programs as data: variables, equations, outputs."""

from funcgrad.program.parts import Equation, Literal, Var
from funcgrad.program.program import Program, load

__all__ = ["Equation", "Literal", "Program", "Var", "load"]
