"""What goes into a transformation and comes out."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class InputError(FuncgradError, TypeError):
    """An argument cannot be differentiated."""

    def __init__(self, transformation: str, path: str, what: str, instead: str) -> None:
        self.path = path
        super().__init__(f"{transformation}: {path} is {what}. {instead}")


class OutputError(FuncgradError, TypeError):
    """The function's output cannot be differentiated."""

    def __init__(self, transformation: str, rule: str, got: str, instead: str) -> None:
        super().__init__(f"{transformation}: {rule}, got {got}. {instead}")


class ArgumentError(FuncgradError, ValueError):
    """Arguments of a transformation that name nothing, or do not fit each other."""

    def __init__(self, transformation: str, what: str) -> None:
        super().__init__(f"{transformation}: {what}")


class ArgumentTypeError(FuncgradError, TypeError):
    """Arguments of a transformation of the wrong type."""

    def __init__(self, transformation: str, what: str) -> None:
        super().__init__(f"{transformation}: {what}")
