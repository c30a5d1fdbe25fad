"""Signatures, errors, what is wrapped and what is left behind."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.hard_cases.kit import close


def test_arguments_counted_from_the_end() -> None:
    """argnums=-1 is the last; a tuple gives a tuple in its own order."""
    f = lambda a, b, c: a * b**2 * c**3
    close(fg.grad(f, argnums=-1)(2.0, 3.0, 1.0), 54.0)
    close(fg.grad(f, argnums=(-2, 0, -1))(2.0, 3.0, 1.0), (12.0, 9.0, 54.0))


def test_keywords_are_passed_on() -> None:
    """And not differentiated."""

    def f(x: Any, *, factor: float, offset: float = 0.0) -> Any:
        return factor * (x + offset) ** 2

    close(fg.grad(f)(2.0, factor=5.0), 20.0)
    close(fg.value_and_grad(f)(2.0, factor=5.0, offset=1.0), (45.0, 30.0))


class Model:
    """Methods, static methods, callable objects."""

    def __init__(self, power: int) -> None:
        self.power = power

    def loss(self, x: Any) -> Any:
        return x**self.power

    def __call__(self, x: Any) -> Any:
        return 2 * self.loss(x)


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (Model(3).loss, 12.0),
        (Model(2), 8.0),
        (functools.partial(np.power, 3.0), 9 * math.log(3)),
        (np.negative, -1.0),
        (abs, 1.0),
        (np.linalg.norm, 1.0),
        (functools.partial(functools.reduce, lambda a, b: a * b), None),
    ],
)
def test_whatever_can_be_called(f: Any, slope: float | None) -> None:
    """Bound methods, callable objects, partials, ufuncs, builtins."""
    if slope is None:
        close(fg.grad(f)([2.0, 3.0, 4.0]), [12.0, 8.0, 6.0])
    else:
        close(fg.grad(f)(2.0), slope)


@pytest.mark.parametrize("out", [lambda x: x * 2, lambda x: x[:1], lambda x: [np.sum(x)], lambda x: None])
def test_an_output_that_is_no_number(out: Any) -> None:
    """Never summed silently: an error that says what it must be."""
    with pytest.raises(TypeError, match="the output must be a scalar"):
        fg.grad(out)(np.ones(3))


def test_an_output_that_does_not_depend_on_the_input() -> None:
    """Zeros of the input's shape."""
    close(fg.grad(lambda x: 8.0)(np.ones((3, 1))), np.zeros((3, 1)))
    close(fg.grad(lambda x: np.sum(np.arange(4.0)))(np.ones(2)), np.zeros(2))
    close(fg.grad(lambda a, b: b**2)(1.0, 2.0), 0.0)
    close(fg.grad(lambda x: np.sum(np.zeros_like(x)))(np.ones(2)), np.zeros(2))


def test_what_comes_first() -> None:
    """(value, gradient) and (gradient, aux)."""
    close(fg.value_and_grad(lambda x: x @ x)(np.array([3.0, 4.0])), (25.0, np.array([6.0, 8.0])))
    g, aux = fg.grad(lambda x: (x**3, [x - 1]), has_aux=True)(2.0)
    assert (g, aux) == (12.0, [1.0])


class Oops(Exception):
    """An exception of the user's own."""


def test_an_exception_of_the_users_passes_through() -> None:
    """It reaches the caller as it is, also from an inner transformation, and what follows is right."""

    def fails(x: Any) -> Any:
        np.exp(x)
        raise Oops("no")

    def recovers(x: Any) -> Any:
        with pytest.raises(Oops):
            fg.grad(fails)(x)
        with pytest.raises(Oops):
            fg.jvp(fails, (x,), (1.0,))
        return x**3

    for _ in range(2):
        with pytest.raises(Oops, match=r"^no$"):
            fg.grad(fails)(1.0)
    close(fg.grad(recovers)(2.0), 12.0)
    close(fg.grad(np.exp)(0.0), 1.0)


def test_a_value_kept_after_its_transformation_has_ended() -> None:
    """Using it is an error, and harms nothing."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(np.sin(x))
        return x**2

    close(fg.grad(f)(3.0), 6.0)
    uses: list[Callable[[Any], Any]] = [lambda y: y + kept[0], lambda y: y * y + 0 * kept[0], lambda y: np.sum(np.stack([y, kept[0]]))]
    for use in uses:
        with pytest.raises(errors.LeakedTracerError, match=r"A tracer of grad\(f\) \(test_api.py:\d+\) was used after it ended"):
            fg.grad(use)(1.0)
    close(fg.grad(f)(5.0), 10.0)


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: float(x) * x,
        lambda x: math.sin(x),
        lambda x: math.exp(x) * x,
        lambda x: x.item() * 3.0,
        lambda x: x.tolist() * x,
        lambda x: complex(x).real,
        lambda x: np.asarray(x, dtype=float) * x,
        lambda x: np.array([x, x], dtype=float).sum(),
    ],
)
def test_a_number_out_of_a_traced_value(cut: Any) -> None:
    """It would cut the derivative off: an error, never a smaller gradient."""
    with pytest.raises(TypeError, match=r"would drop its gradient"):
        fg.grad(cut)(0.5)
