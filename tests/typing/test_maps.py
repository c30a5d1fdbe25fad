"""What a user's type checker knows of the linear maps, the Jacobians and trees: read by mypy and pyright, and run."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import funcgrad as fg

Array = NDArray[np.float64]


def outer(x: Array, y: float) -> dict[str, Array]:
    return {"out": x * y}


def with_note(x: Array, y: float) -> tuple[Array, str]:
    return x * y, "note"


def double(x: Array) -> Array:
    return 2.0 * x


def energy(x: Array) -> np.float64:
    out: np.float64 = np.sum(x * x)
    return out


def three(x: float, y: float, z: float) -> float:
    return x * y * z


X: Array = np.arange(3.0)


def test_jvp() -> None:
    """Value and tangent have the type of the output."""
    assert_type(fg.jvp(double, (X,), (X,)), tuple[Array, Array])
    out, moved = fg.jvp(outer, (X, 2.0), (X, 0.0))
    assert_type(out, dict[str, Array])
    assert_type(moved, dict[str, Array])
    assert isinstance(moved["out"], np.ndarray)
    assert_type(fg.jvp(three, (1.0, 2.0, 3.0), (1.0, 0.0, 0.0)), tuple[float, float])
    assert_type(fg.jvp(with_note, (X, 2.0), (X, 0.0), has_aux=True), tuple[Array, Array, str])
    assert_type(fg.jvp(double, [X], [X]), tuple[Array, Array])
    assert fg.jvp(lambda x: x**2, (3.0,), (1.0,))[1] == 6.0


def test_vjp() -> None:
    """`pull` takes the output's type, or a float for it, and gives a tuple of the primals' types."""
    value, pull = fg.vjp(outer, X, 2.0)
    assert_type(value, dict[str, Array])
    found = pull({"out": X})
    assert_type(found, tuple[Array, float])
    assert type(found[1]) is float
    _, pull_energy = fg.vjp(energy, X)
    assert_type(pull_energy(1.0), tuple[Array])
    _, pull_note, note = fg.vjp(with_note, X, 2.0, has_aux=True)
    assert_type(pull_note(X), tuple[Array, float])
    assert_type(note, str)


def test_linearize() -> None:
    """`push` takes the primals' types and gives the output's."""
    value, push = fg.linearize(outer, X, 2.0)
    assert_type(value, dict[str, Array])
    assert_type(push(X, 1.0), dict[str, Array])
    _, push_note, note = fg.linearize(with_note, X, 2.0, has_aux=True)
    assert_type(push_note(X, 1.0), Array)
    assert_type(note, str)


def test_linear_transpose() -> None:
    """A cotangent of the output to a tuple of cotangents."""
    assert_type(fg.linear_transpose(double, X)(X), tuple[Array])


def test_hvp() -> None:
    """A product has the type of the primal, or is a tuple of them."""
    assert_type(fg.hvp(energy, (X,), (X,)), Array)
    assert_type(fg.hvp(three, (1.0, 2.0, 3.0), (1.0, 0.0, 0.0)), tuple[float, float, float])


def test_jacobians() -> None:
    """Their arguments are those of the function; their blocks are Any, as a checker cannot follow two nested trees."""
    assert_type(fg.jacfwd(double)(X), Any)
    assert_type(fg.jacrev(outer)(X, y=2.0), Any)
    assert_type(fg.jacobian(outer, (0, 1))(X, 2.0), Any)
    assert_type(fg.hessian(energy)(X), Any)
    assert_type(fg.jacrev(with_note, has_aux=True)(X, 2.0), tuple[Any, str])
    assert fg.hessian(lambda x: x**3)(2.0) == 12.0


def test_stop_gradient() -> None:
    """A tree in, the same tree out."""
    assert_type(fg.stop_gradient({"x": X}), dict[str, Array])
    assert_type(fg.stop_gradient(2.0), float)


def test_trees() -> None:
    """`map` may change the type of every leaf, so that its result is Any; it may be given its type by an annotation."""
    params = {"x": X}
    assert_type(fg.tree.map(str, params), Any)
    stepped: dict[str, Array] = fg.tree.map(lambda p, g: p - 0.1 * g, params, params)
    assert_type(fg.tree.leaves(stepped), list[Any])
    assert_type(fg.tree.all({"x": True}), bool)


def test_trace() -> None:
    """A recording takes what the function takes, and gives a program."""
    program = fg.trace(outer)(X, y=2.0)
    assert_type(program, fg.Program)
    assert_type(program(X, y=3.0), Any)
    assert_type(program.to_bytes(), bytes)
    assert_type(fg.program.load(program.to_bytes()), fg.Program)
