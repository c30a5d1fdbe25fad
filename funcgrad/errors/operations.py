"""Operations that cannot be traced, or that would write."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class MissingRuleError(FuncgradError, NotImplementedError):
    """A function has no derivative rule here."""

    def __init__(self, name: str, reason: str = "") -> None:
        self.name, self.reason = name, reason
        instead = "Write it in terms of functions that have one, or apply it to `fg.stop_gradient(x)` if its derivative does not matter."
        super().__init__(f"{name} of a traced value has no derivative rule in funcgrad. {reason or instead}")


class MissingPartialError(MissingRuleError):
    """A function has a derivative rule in some of its arguments, and not in this one."""

    def __init__(self, name: str, argument: str) -> None:
        self.name, self.argument = name, argument
        super(MissingRuleError, self).__init__(
            f"{name}: no derivative rule is known for its argument `{argument}`. "
            f"Pass `fg.stop_gradient({argument})` if that derivative does not matter, or write a rule with `fg.custom_jvp`."
        )


class NoSciPyError(FuncgradError, ImportError):
    """One of SciPy's functions is needed, and SciPy has not been imported."""

    def __init__(self, function: str) -> None:
        self.function = function
        super().__init__(f"{function} is needed, and funcgrad never imports SciPy itself. Write `import scipy.special` before this line.")


class ObjectOperandError(FuncgradError, TypeError):
    """A traced value met Python objects in an array, through which no derivative passes."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name}: a traced value met an array of Python objects, which would drop its gradient. Convert it: `np.asarray(y, float)`."
        )


class EqualValuesError(FuncgradError, ValueError):
    """A loss of vectors that belong to equal eigenvalues or singular values has no derivative that follows from theirs."""

    def __init__(self, name: str, together: bool) -> None:
        self.name, self.together = name, together
        values = "singular values" if name.startswith("svd") else "eigenvalues"
        which = f"vectors of equal {values} (or which phases of complex ones)" if name != "qr" else "columns of Q beyond those of A"
        if together:
            text = (
                f"the loss uses {values} that are equal together with their vectors, and its derivative does not follow from theirs. "
                f"Use one of them alone, or make the {values} differ: `A + np.diag(1e-6 * np.arange(n))`."
            )
        else:
            text = (
                f"the loss depends on which {which} were chosen, so it has no derivative here. "
                "Use what does not depend on the choice, such as the projection `V @ V.conj().T`."
            )
        super().__init__(f"np.linalg.{name}: {text}")


class ForeignArrayError(FuncgradError, TypeError):
    """An array class whose operations mean something else than those of ndarrays."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        super().__init__(
            f"a traced value or Tensor met a {cls.__name__}, whose operations are its own. Pass `np.asarray(y)`, if that is meant."
        )


class OutArgumentError(FuncgradError, TypeError):
    """`out=` would write a traced value into an array."""

    def __init__(self, name: str, augmented: str = "") -> None:
        self.name = name
        also = f" (or `a {augmented}= x`)" if augmented else ""
        instead = f", as in `a = a {augmented} x`" if augmented else ""
        super().__init__(
            f"{name}: out={also} would write a traced value into an array, which cannot hold it. Use the returned value{instead}."
        )


class WhereArgumentError(FuncgradError, TypeError):
    """A ufunc's `where=` without `out=` leaves elements undefined."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name}: where= leaves elements undefined unless out= is given, which traced values cannot have. Use np.where(mask, …, …)."
        )


class FrozenError(FuncgradError, TypeError):
    """Something immutable was written to."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(f"{what}: tensors and traced values are immutable. {instead}")


class NoStridesError(FuncgradError, AttributeError):
    """`x.strides`, on which the result would depend."""

    def __init__(self, instead: str) -> None:
        super().__init__(f"x.strides: a traced value or Tensor does not say how it lies in memory. {instead}")


class EndedBufferError(FuncgradError, ValueError):
    """A buffer was used after it was frozen."""

    def __init__(self) -> None:
        super().__init__("buf[…]: the buffer was frozen, which ends it. Use what `buf.freeze()` returned, or make a new `fg.buffer`.")
