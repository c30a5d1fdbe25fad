"""The fast paths beside the elementwise ones: slices into one buffer, whole sums, products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.laws.paths import generic_path

N = 20_000  # large enough for buffers that are handed on at once


def overlapping(x: Any, c: Any) -> Any:
    """Slices of slices, used several times, alone and through linear and other maps."""
    a = x[1:]
    b = a[2:]
    d = a + 1.0
    return np.sum(b * b) + np.sum(d * c[1:]) + np.sum(a[:-2] * 3.0 * b) + np.sum(a + a) + np.sum(a[5:] + b[3:]) + np.sum(a) * b[0]


@pytest.mark.parametrize("n", [20, N])
def test_overlapping_slices_add_up(n: int) -> None:
    """Every use of a view adds its share, whatever the order in which the shares come, small or large."""
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=n), rng.normal(size=n)
    fast = fg.grad(overlapping)(x, c)
    with generic_path():
        slow = fg.grad(overlapping)(x, c)
    np.testing.assert_allclose(fast, slow, rtol=1e-12)
    v = rng.normal(size=n)
    h = 1e-6  # a quadratic: the central difference is exact up to rounding
    np.testing.assert_allclose(fast @ v, (overlapping(x + h * v, c) - overlapping(x - h * v, c)) / (2 * h), rtol=1e-6)


def test_a_buffer_is_never_the_cotangent_of_another() -> None:
    """A cotangent that two operands share is not added to in place when one of them is read through a slice."""
    x, y = np.ones(N), np.ones(N)

    def f(x: Any, y: Any) -> Any:
        return np.sum((x + y) * np.arange(float(N))) + np.sum(x[: N // 2]) + np.sum(y[N // 2 :])

    gx, gy = fg.grad(f, (0, 1))(x, y)
    np.testing.assert_array_equal(gx, np.arange(float(N)) + (np.arange(N) < N // 2))
    np.testing.assert_array_equal(gy, np.arange(float(N)) + (np.arange(N) >= N // 2))


def test_a_pullback_that_is_called_again_starts_from_nothing() -> None:
    """The buffers of one walk are not those of the next."""
    _, pull = fg.vjp(lambda x: x[1:] + x[:-1], np.arange(4.0))
    first = pull(np.array([1.0, 10.0, 100.0]))[0]
    second = pull(np.array([1.0, 10.0, 100.0]))[0]
    np.testing.assert_array_equal(first, [1.0, 11.0, 110.0, 100.0])
    np.testing.assert_array_equal(second, first)


@pytest.mark.parametrize(("a", "b"), [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4))])
def test_products_have_the_transposes_of_the_generic_path(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Vectors and matrices, either side traced or both, to second order."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=a), rng.normal(size=b)

    def f(x: Any, y: Any) -> Any:
        return np.sum(np.sin(x @ y) + (np.dot(x, y)) ** 2)

    def second(x: Any, y: Any) -> Any:
        gx, gy = fg.grad(f, (0, 1))(x, y)
        return np.sum(gx * gx) + np.sum(np.cos(gy))

    for function in (f, second):
        for nums in (0, 1, (0, 1)):
            fast = fg.grad(function, nums)(x, y)
            with generic_path():
                slow = fg.grad(function, nums)(x, y)
            fg.tree.map(lambda p, q: np.testing.assert_allclose(p, q, rtol=1e-10, atol=1e-12), fast, slow)
