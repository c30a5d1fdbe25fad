"""What a user's type checker knows of `grad` and `value_and_grad`: read by mypy and pyright, and run, so that it is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import funcgrad as fg

Array = NDArray[np.float64]
Params = dict[str, Array]


@dataclass
class Line:
    slope: Array
    shift: float


def loss(params: Params, x: Array, y: Array, power: float = 2.0) -> np.float64:
    out: np.float64 = np.sum(abs(params["w"] * x + params["b"] - y) ** power)
    return out


def with_count(params: Params, x: Array, y: Array) -> tuple[np.float64, int]:
    return loss(params, x, y), x.size


def fit(line: Line, x: Array) -> float:
    return float_of(np.sum(line.slope * x + line.shift))


def float_of(x: Any) -> float:
    """A float to checkers: a traced value stays one."""
    out: float = x
    return out


def cube(x: float) -> float:
    return x**3


PARAMS: Params = {"w": np.ones(3), "b": np.zeros(3)}
X, Y = np.arange(3.0), np.ones(3)


def test_the_first_argument() -> None:
    """A gradient has the type of the argument, whatever container that is."""
    g = assert_type(fg.grad(loss)(PARAMS, X, Y), Params)
    assert set(g) == {"w", "b"}
    line = assert_type(fg.grad(fit)(Line(np.ones(3), 2.0), X), Line)
    assert type(line) is Line
    assert type(line.shift) is float
    assert type(assert_type(fg.grad(cube)(2.0), float)) is float


def test_the_other_arguments_are_checked() -> None:
    """They keep their names, their defaults and their types."""
    assert_type(fg.grad(loss)(PARAMS, X, Y, 4.0), Params)
    assert_type(fg.grad(loss)(PARAMS, X, y=Y, power=4.0), Params)


def test_value_and_gradient() -> None:
    """The value has the type that the function says it has."""
    value, g = fg.value_and_grad(loss)(PARAMS, X, Y)
    assert_type(value, np.float64)
    assert_type(g, Params)
    assert type(value) is np.float64
    assert_type(fg.value_and_grad(cube)(2.0), tuple[float, float])


def test_other_arguments() -> None:
    """`argnums` 1 and 2 give the types of those arguments, a tuple gives a tuple."""
    assert_type(fg.grad(loss, 1)(PARAMS, X, Y), Array)
    assert_type(fg.grad(loss, argnums=2)(PARAMS, X, Y), Array)
    assert_type(fg.value_and_grad(loss, 1)(PARAMS, X, Y), tuple[np.float64, Array])
    pair = assert_type(fg.grad(loss, (0, 1))(PARAMS, X, Y), tuple[Params, Array])
    assert type(pair) is tuple
    assert_type(fg.grad(loss, argnums=(0, 1, 2))(PARAMS, X, Y), tuple[Params, Array, Array])
    assert_type(fg.value_and_grad(loss, (0, 1))(PARAMS, X, Y), tuple[np.float64, tuple[Params, Array]])


def test_aux() -> None:
    """`has_aux` keeps the type of aux."""
    assert_type(fg.grad(with_count, has_aux=True)(PARAMS, X, Y), tuple[Params, int])
    assert_type(fg.grad(with_count, 1, True)(PARAMS, X, Y), tuple[Array, int])
    assert_type(fg.grad(with_count, (0, 1), has_aux=True)(PARAMS, X, Y), tuple[tuple[Params, Array], int])
    out = assert_type(fg.value_and_grad(with_count, has_aux=True)(PARAMS, X, Y), tuple[tuple[np.float64, int], Params])
    assert out[0][1] == 3


def test_what_cannot_be_followed_is_any() -> None:
    """`argnames`, and `argnums` that are no literals."""
    assert_type(fg.grad(loss, argnames="power")(PARAMS, X, Y, power=2.0), Any)
    assert_type(fg.grad(loss, None, argnames=["y"])(PARAMS, X, y=Y), Any)
    assert_type(fg.grad(loss, [1, 2])(PARAMS, X, Y), tuple[Any, ...])
    for n in range(1, 3):
        assert_type(fg.grad(loss, n)(PARAMS, X, Y), Any)


def test_functions_without_annotations() -> None:
    """A lambda, and a callable of which nothing is known, need no annotations."""
    assert fg.grad(lambda x: x**3)(2.0) == 12.0
    assert fg.grad(fg.grad(lambda x: x**3))(2.0) == 12.0
    assert fg.grad(lambda x, y: np.sum(x * y), 1)(2.0, 3.0) == 2.0
    assert fg.value_and_grad(lambda x: x @ x)(Y)[0] == 3.0
    unknown: Callable[..., Any] = cube
    assert_type(fg.grad(unknown)(2.0), Any)


def test_composed() -> None:
    """Transformed functions are functions: they compose, in decorators and with `functools.partial`."""

    @fg.grad
    def slope(x: float) -> float:
        return x**2

    def newton(f: Callable[[float], float], x: float) -> float:
        return x - fg.grad(f)(x) / fg.grad(fg.grad(f))(x)

    assert assert_type(slope(3.0), float) == 6.0
    assert assert_type(fg.grad(fg.grad(cube))(2.0), float) == 12.0
    assert newton(cube, 1.0) == 0.5
    assert set(fg.grad(partial(loss, power=2.0))(PARAMS, X, Y)) == {"w", "b"}


def test_tensors() -> None:
    """Tensor in, Tensor out."""

    def energy(x: fg.Tensor) -> fg.Tensor:
        out: fg.Tensor = np.sum(x * x)
        return out

    g = assert_type(fg.grad(energy)(fg.tensor([1.0, 2.0])), fg.Tensor)
    assert type(g) is fg.Tensor
