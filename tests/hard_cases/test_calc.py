"""Tables, stencils and integrals."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.testing import check_grads
from tests.hard_cases.kit import close, gradient, numbers


def test_interp() -> None:
    """The slope of the segment inside, 0 outside; in the ordinates, the weights of linear interpolation."""
    xp, fp = np.array([0.0, 1.0, 4.0]), np.array([2.0, 5.0, -1.0])
    close(gradient(lambda x: np.sum(np.interp(x, xp, fp)), np.array([-1.0, 0.5, 2.0, 9.0])), [0.0, 3.0, -2.0, 0.0])
    close(gradient(lambda fp: np.sum(np.interp([0.25, 7.0], xp, fp)), fp), [0.75, 0.25, 1.0])


def test_gradient() -> None:
    """The transpose of its stencil, which is another one at the ends."""
    check_grads(lambda x: np.gradient(x, 0.5) ** 2, (numbers(5),))
    check_grads(lambda x: np.gradient(x, np.array([0.0, 1.0, 3.0]), axis=1, edge_order=2), (numbers(2, 3),))


def test_trapezoid() -> None:
    """½ Σ (y₀ + y₁)(x₁ - x₀), in the ordinates and in the abscissae."""
    x, y = np.array([0.0, 1.0, 3.0]), np.array([4.0, 6.0, 1.0])
    close(gradient(lambda y: np.trapezoid(y, x), y), [0.5, 1.5, 1.0])
    close(gradient(lambda x: np.trapezoid(y, x), x), [-5.0, 1.5, 3.5])


def test_differences_with_ends() -> None:
    """diff with what comes before and after, ediff1d, unwrap."""
    x = np.array([2.0, 3.0, 7.0])
    w = np.array([1.0, 10.0, 100.0, 1000.0])
    close(gradient(lambda x: np.sum(np.diff(x, prepend=0.0, append=9.0) * w), x), [-9.0, -90.0, -900.0])
    close(gradient(lambda a: np.sum(np.diff(x, prepend=a) * w[:3]), 4.0), -1.0)
    check_grads(lambda x: np.diff(x, n=2, axis=0) ** 2, (numbers(4, 2),))
    close(gradient(lambda x: np.sum(np.ediff1d(x, to_end=5.0) * w[:3]), x), [-1.0, -9.0, 10.0])
    close(gradient(lambda x: np.sum(np.unwrap(x) * w[:3]), x), w[:3])


def test_select() -> None:
    """The first condition that holds decides; else the default does."""
    f = lambda x: np.sum(np.select([x < 0, x < 2], [-5 * x, x**2], default=3.0 * x))
    close(gradient(f, np.array([-1.0, 1.5, 2.0, 8.0])), [-5.0, 3.0, 3.0, 3.0])


def test_a_table_looked_up_by_hand() -> None:
    """searchsorted and digitize give integers, which are constants; the slope is that of the segment."""
    knots, table = np.array([0.0, 2.0, 3.0]), np.array([1.0, 5.0, 4.0])

    def linear(x: Any, find: Any) -> Any:
        k = find(x)
        t = (x - knots[k]) / (knots[k + 1] - knots[k])
        return np.sum((1 - t) * table[k] + t * table[k + 1])

    x = np.array([0.5, 2.75])
    close(gradient(lambda x: linear(x, lambda x: np.searchsorted(knots, x) - 1), x), [2.0, -1.0])
    close(gradient(lambda x: linear(x, lambda x: np.digitize(x, knots) - 1), x), [2.0, -1.0])


def test_convolutions() -> None:
    """In all modes, with a kernel longer than the signal too; a correlation is not a convolution."""
    for mode in ("full", "same", "valid"):
        check_grads(lambda x, k, m=mode: np.convolve(x, k, m), (numbers(5), numbers(4, seed=1)))
        check_grads(lambda x, k, m=mode: np.correlate(x, k, m), (numbers(3), numbers(4, seed=1)))
    w = np.array([1.0, 10.0, 100.0, 1000.0])
    close(gradient(lambda k: np.convolve(np.array([1.0, 2.0, 3.0]), k) @ w, np.ones(2)), [321.0, 3210.0])


def test_polyval() -> None:
    """The powers of x in the coefficients, the derived polynomial in x."""
    p = np.array([2.0, -1.0, 5.0])
    close(gradient(lambda p, x: np.polyval(p, x), p, 3.0, argnums=(0, 1)), (np.array([9.0, 3.0, 1.0]), 11.0))
