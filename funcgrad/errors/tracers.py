"""What a tracer refuses: to leave its transformation, or to become a number."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class LeakedTracerError(FuncgradError, RuntimeError):
    """A tracer met a transformation it does not belong to, or outlived its own."""

    def __init__(self, transformation: str, function: str, place: str, how: str) -> None:
        self.transformation, self.function, self.place = transformation, function, place
        if how == "ended":
            text = f"A tracer of {transformation} ({place}) was used after it ended. Return it from `{function}` instead of storing it."
        else:
            text = (
                f"A tracer of {transformation} ({place}) came out of an older transformation. "
                "A value may leave a transformation only through the function's return value, "
                "and not through generators, coroutines or threads that interleave two."
            )
        super().__init__(text)


class ClosedOverTracerError(LeakedTracerError):
    """A function with custom rules uses a traced value that is neither an argument nor found in what it closes over."""

    def __init__(self, function: str, transformation: str, place: str) -> None:
        self.transformation, self.function, self.place = transformation, function, place
        Exception.__init__(
            self,
            f"{function} uses a traced value of {transformation} ({place}) that is neither one of its arguments nor found in what it "
            f"closes over, so it would be lost. Pass it to {function} as an argument.",
        )


class HiddenTracerError(FuncgradError, RuntimeError):
    """A solver reaches a traced value in a place where it cannot be found, and needs it after its transformation has ended."""

    def __init__(self, function: str, transformation: str, place: str) -> None:
        self.transformation, self.function, self.place = transformation, function, place
        super().__init__(
            f"a solver of {function} reaches a traced value of {transformation} ({place}), which has ended, in a class or a "
            "module. What it uses must come through the function that it is given, or stand in a closure, a global variable or an object."
        )


class ConversionError(FuncgradError, TypeError):
    """A traced value was asked to become a number or an ndarray, which would drop its gradient."""

    def __init__(self, what: str, function: str, place: str, instead: str) -> None:
        self.what, self.function, self.place = what, function, place
        super().__init__(f"{what} of a traced value in {function} ({place}) would drop its gradient. {instead}")


class TooLargeToStackError(FuncgradError, TypeError):
    """`np.asarray` of a large traced array would go element by element."""

    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        super().__init__(
            f"np.asarray, np.array or a.dot(x) of a traced array of {size} elements would go element by element (limit: {limit}). "
            "NumPy functions take the traced array as it is, and `a @ x` takes the place of `a.dot(x)`."
        )


class UnhashableError(FuncgradError, TypeError):
    """Tensors compare element by element, so they have no hash."""

    def __init__(self, kind: str) -> None:
        super().__init__(f"{kind} has no hash: == compares element by element, as with arrays. Use a name, or `id(x)`, as the key.")
