"""What the checks of `fg.testing` find."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class GradientError(FuncgradError, AssertionError):
    """`check_grads` found a derivative that is wrong, or code that means one thing under NumPy and another when traced."""


class WrongDerivativeError(GradientError):
    """One entry of a derivative is not what differences say."""

    def __init__(
        self, function: str, path: str, out: str, mode: str, order: int, values: tuple[object, object], by: str, verdict: str
    ) -> None:
        self.path, self.out, self.mode, self.order = path, out, mode, order
        self.found, self.expected = values
        power = "" if order == 1 else "⁰¹²³⁴⁵⁶⁷⁸⁹"[order] if order < 10 else f"^{order} "
        entry = f"∂{power}{out}/∂{path}"
        super().__init__(f"check_grads({function}): {entry} is {values[0]} by {mode}, {values[1]} by {by} (order {order}). {verdict}")


class ChangedArgumentError(GradientError):
    """The function writes to its arguments under plain NumPy."""

    def __init__(self, function: str, path: str, values: tuple[object, object]) -> None:
        self.path, self.before, self.after = path, *values
        super().__init__(
            f"check_grads({function}): it changes {path} from {values[0]} to {values[1]} under plain NumPy, as `y = x; y += 1` does. "
            "On traced values augmented assignment makes a new value and leaves `x` alone. Write `y = y + 1`."
        )


class ValueMismatchError(GradientError):
    """The function gives one value under plain NumPy and another when traced."""

    def __init__(self, function: str, out: str, mode: str, values: tuple[object, object]) -> None:
        self.out, self.traced, self.plain = out, *values
        super().__init__(
            f"check_grads({function}): {out} is {values[0]} traced by {mode}, {values[1]} under plain NumPy. "
            "An augmented assignment does that (`z = y; z += 1` changes `y` too under NumPy alone): write `z = z + 1`. "
            "If there is none, an operation's value is wrong."
        )


class NondeterministicError(GradientError):
    """Two calls with equal arguments differ."""

    def __init__(self, function: str, out: str, values: tuple[object, object]) -> None:
        self.out, self.values = out, values
        super().__init__(
            f"check_grads({function}): {out} is {values[0]} in one call and {values[1]} in the next, with equal arguments. "
            "Only a function of its arguments has a derivative. Draw random numbers outside and pass them in."
        )


class RuleError(GradientError):
    """`check_rule` found custom rules that are not linear, or not those of the function."""

    def __init__(self, function: str, what: str, values: tuple[object, object]) -> None:
        self.found, self.expected = values
        super().__init__(f"check_rule({function}): {what.format(*values)}.")
