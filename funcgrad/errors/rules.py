"""Custom rules, and solvers."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class NoRuleError(FuncgradError, NotImplementedError):
    """A function with custom rules has none for this mode."""

    def __init__(self, function: str, transformation: str, instead: str) -> None:
        self.function = function
        super().__init__(f"{transformation}: {function} has no custom rule for it. {instead}")


class RuleResultError(FuncgradError, TypeError):
    """A custom rule gave something that does not fit."""

    def __init__(self, function: str, rule: str, what: str) -> None:
        self.function, self.rule = function, rule
        super().__init__(f"the {rule} of {function}: {what}")


class ConvergenceError(FuncgradError, RuntimeError):
    """An iteration that did not come to rest."""

    def __init__(self, transformation: str, steps: int, change: float, tolerance: float) -> None:
        self.steps, self.change, self.tolerance = steps, change, tolerance
        last = f"changed x by {change:.2g} times its size, more than {tolerance:.2g}" if change < float("inf") else "gave inf or nan"
        text = f"{transformation}: no fixed point after {steps} {'step' if steps == 1 else 'steps'}: the last one {last}. "
        text += "Raise `maxiter` or `xtol`, or begin nearer to it. "
        super().__init__(f"{text}Where the slope of the function is 1 or more, use `custom_root` with Newton's method.")


class IntegrationError(FuncgradError, RuntimeError):
    """The solver did not reach the end of the time range."""

    def __init__(self, label: str, t: float, steps: int, why: str) -> None:
        self.t, self.steps = t, steps
        super().__init__(f"{label}: stuck at t = {t!r} after {steps} steps. {why}")
