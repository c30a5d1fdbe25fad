"""Programs as data: variables, equations, outputs."""

import importlib
from typing import TYPE_CHECKING, Any

from funcgrad.program.program import Equation, Literal, Program, Var

if TYPE_CHECKING:
    from funcgrad.program.loading import load

__all__ = ["Equation", "Literal", "Program", "Var", "load"]


def __getattr__(name: str) -> Any:
    """`load` is imported when it is first asked for: `jit` has no use for it."""
    if name != "load":
        raise AttributeError(f"module 'funcgrad.program' has no attribute {name!r}")
    found = globals()[name] = importlib.import_module("funcgrad.program.loading").load
    return found
