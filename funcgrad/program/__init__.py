"""Programs as data: variables, equations, outputs."""

from funcgrad.program.loading import load
from funcgrad.program.program import Equation, Literal, Program, Var

__all__ = ["Equation", "Literal", "Program", "Var", "load"]
