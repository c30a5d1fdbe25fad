"""The tape."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class NotRecordedError(FuncgradError, TypeError):
    """`backward` of something that is no value of the tape."""

    def __init__(self, what: str, transformation: str = "") -> None:
        instead = "Compute the loss from a `fg.Var`."
        if transformation:
            instead = f"Use {transformation} alone, or make the Var inside the function."
        super().__init__(f"backward: got {what}, which the tape has not recorded. {instead}")


class NoGradientError(FuncgradError, KeyError):
    """The loss does not depend on this Var."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"backward: the loss does not depend on {what}. {why}")

    def __str__(self) -> str:  # that of KeyError is a repr
        return str(self.args[0])


class NoGradAttributeError(FuncgradError, AttributeError):
    """PyTorch's habit of looking for the gradient in the tensor."""

    def __init__(self) -> None:
        super().__init__("a Var has no `.grad`: nothing is ever written to it. Use `grads = fg.backward(loss)`, then `grads[x]`.")
