"""What a type checker says no to: each line has an error in both, or its comment would be one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import funcgrad as fg

Array = NDArray[np.float64]
X: Array = np.arange(3.0)


def loss(params: dict[str, Array], x: Array, scale: float = 1.0) -> np.float64:
    out: np.float64 = np.sum(params["w"] * x * scale)
    return out


def with_note(x: Array) -> tuple[np.float64, str]:
    return np.float64(x.size), "note"


def two(x: Array, y: Array) -> Array:
    return x * y


def nothing(x: Array) -> None: ...


def no_argument() -> float:
    return 1.0


def wrong_calls() -> None:
    """A transformed function takes what the function takes."""
    g = fg.grad(loss)
    g(X, X)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    g({"w": X})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    g({"w": X}, X, scal=2.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fg.grad(loss, 1)({"w": X}, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fg.jacrev(with_note)("x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def wrong_functions() -> None:
    """`grad` wants a scalar, a pair with `has_aux`, and an argument to differentiate."""
    fg.grad(with_note)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    fg.value_and_grad(nothing)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    fg.grad(loss, has_aux=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    fg.grad(no_argument)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fg.grad(3.0)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    fg.vmap(two, on_divergence="maybe")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    fg.vmap(two, axis_size=2.0)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    fg.grad(loss, holomorphism=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


def wrong_results() -> None:
    """A gradient is no array where the argument is a dict."""
    a: Array = fg.grad(loss)({"w": X}, X)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    b: str = fg.stop_gradient(a)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    b.upper()


def wrong_tangents() -> None:
    """Tangents are as many as the primals, and of their types; primals are a tuple."""
    fg.jvp(with_note, X, X, has_aux=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    fg.jvp(two, (X, X), (X,))  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    fg.jvp(two, (X, X), (X, "x"))  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue, reportArgumentType]
    fg.vjp(two, X)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fg.vjp(two, X, X)[1]("one")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fg.hvp(nothing, (X,), (X,))  # type: ignore[type-var]  # pyright: ignore[reportCallIssue, reportArgumentType]


def wrong_recordings() -> None:
    """A recording takes the arguments of the function."""
    fg.trace(two)(X)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    fg.trace(two)(X, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
