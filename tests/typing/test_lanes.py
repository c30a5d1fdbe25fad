"""What a user's type checker knows of `vmap`: read by mypy and pyright, and run."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import funcgrad as fg

Array = NDArray[np.float64]
X: Array = np.ones((2, 3))


def double(x: Array) -> Array:
    return 2.0 * x


def energy(x: Array) -> np.float64:
    out: np.float64 = np.sum(x * x)
    return out


def huber(x: float, scale: float = 1.0) -> float:
    return 0.5 * x**2 if abs(x) <= 1 else scale * (abs(x) - 0.5)


def both(x: Array) -> dict[str, Array]:
    return {"x": x}


def pair(x: Array) -> tuple[Array, float]:
    return x, 1.0


def test_arrays_stay_arrays() -> None:
    """An array, or a container of arrays, for each example is one for all."""
    assert_type(fg.vmap(double)(X), Array)
    assert_type(fg.vmap(both)(X), dict[str, Array])
    slope = fg.grad(energy)
    assert_type(fg.vmap(slope, in_axes=1)(X), Array)
    mapped = fg.vmap(double)
    assert fg.vmap(mapped, on_divergence="error")(np.ones((2, 3, 4))).shape == (2, 3, 4)
    assert_type(fg.vmap(fg.value_and_grad(energy))(X), Any)


def test_numbers_become_arrays() -> None:
    """A number for each example is an array for all; so it is among the arguments, which are not checked."""
    assert_type(fg.vmap(energy)(X), NDArray[Any])
    assert_type(fg.vmap(huber)(X[0]), NDArray[Any])
    assert_type(fg.vmap(huber, in_axes=(0, None))(X[0], 2.0), NDArray[Any])


def test_what_cannot_be_told() -> None:
    """Trees that hold numbers, and lambdas, give Any."""
    assert_type(fg.vmap(pair)(X), Any)
    assert_type(fg.vmap(pair, out_axes=(0, None))(X), Any)
    assert fg.vmap(lambda x, y: x @ y)(X, X).shape == (2,)
