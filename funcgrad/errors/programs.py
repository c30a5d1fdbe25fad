"""Programs, and control flow that is recorded once."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class InvalidProgramError(FuncgradError, ValueError):
    """A program breaks a rule that all programs keep."""

    def __init__(self, equation: str, wrong: str) -> None:
        self.equation, self.wrong = equation, wrong
        super().__init__(f"check: {equation}: {wrong}.")


class NoProgramError(FuncgradError, ValueError):
    """A function does what a program cannot say."""

    def __init__(self, transformation: str, function: str) -> None:
        self.function = function
        super().__init__(
            f"{transformation}: {function} caught an error of NumPy's, or wrote into an array, which equations cannot say. "
            f"Use `fg.jit({function})`, which runs such a function as it is."
        )


class ProgramArgumentError(FuncgradError, TypeError):
    """A program was called with other arguments than it was recorded for."""

    def __init__(self, function: str, now: str, was: str) -> None:
        self.function = function
        super().__init__(
            f"program {function}: {now}, but {was} when the program was recorded. A program has one structure, one shape and one dtype "
            f"for each argument: record another with `fg.trace({function})(…)`."
        )


class GuardError(FuncgradError, ValueError):
    """A program met a value for which its function would take another path."""

    def __init__(self, function: str, place: tuple[str, str], kind: str, recorded: object, now: object) -> None:
        self.function, self.place, self.kind, self.recorded, self.now = function, place, kind, recorded, now
        where = f" in {place[0]} ({place[1]})" if place[1] else ""
        found = f"is {now!r}, but was {recorded!r}" if now is not None else f"is no longer {recorded!r}, as it was"
        look = "the integer" if kind == "index" else f"{kind}()"
        instead = "or use `np.where` instead of `if`" if kind == "bool" else "or use NumPy functions of the value"
        super().__init__(
            f"program {function}: {look} of a traced value{where} {found} when the program was recorded. A program is one path "
            f"through its function. Record another for these arguments with `fg.trace({function})(…)`, {instead}."
        )


class NotDataError(FuncgradError, TypeError):
    """A program that cannot be written as data."""

    def __init__(self, function: str, what: str) -> None:
        self.function, self.what = function, what
        super().__init__(
            f"program {function}: {what}, so it cannot be saved or pickled. Save what makes it, and record it again with `fg.trace`."
        )


class InvalidDataError(FuncgradError, ValueError):
    """Bytes that are no program."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"load: {what}. Bytes that `Program.to_bytes` wrote are a program, and no others.")


class CarryError(FuncgradError, TypeError):
    """What a loop carries from step to step changed its shape or dtype."""

    def __init__(self, transformation: str, path: str, before: str, after: str) -> None:
        self.path, self.before, self.after = path, before, after
        super().__init__(
            f"{transformation}: {path} is {before} before the step and {after} after it. It must keep its shape and dtype. "
            "Begin with what the step gives, or cast with `.astype`."
        )


class BranchError(FuncgradError, TypeError):
    """Branches gave different structures, shapes or dtypes."""

    def __init__(self, transformation: str, path: str, one: str, other: str) -> None:
        self.path, self.one, self.other = path, one, other
        super().__init__(
            f"{transformation}: the output{path} is {one} in the first branch and {other} in another. "
            "All branches must give one structure, shape and dtype. Cast with `.astype`, or broadcast."
        )
