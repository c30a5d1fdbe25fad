"""nan and inf at edge points, removable singularities, saturated functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.hard_cases.kit import close, derivatives, gradient

INF, NAN = math.inf, math.nan


def test_a_guarded_branch_that_is_not_taken() -> None:
    """With the argument made harmless before `log`, entries that `where` does not pick have slope 0."""

    def f(x: Any) -> Any:
        inside = x >= 1
        return np.sum(np.where(inside, np.log(np.where(inside, x, 5.0)), -1.0))

    close(gradient(f, np.array([0.0, -2.0, 1.0, 4.0])), [0.0, 0.0, 1.0, 0.25])


def test_where_whose_first_branch_is_a_constant() -> None:
    """The tangent of the traced second branch is not lost."""
    f = lambda t: np.where(t > 5, 9.0, t**3)
    close(fg.jvp(f, (3.0,), (2.0,)), (27.0, 54.0))
    close(fg.jvp(lambda t: np.where(t < 5, t**3, 9.0), (3.0,), (2.0,)), (27.0, 54.0))


def test_an_exponential_clamped_before_it_overflows() -> None:
    """Far out, on the other branch, the slope is that of the other branch."""
    f = lambda u: np.where(u <= 0, np.expm1(np.minimum(u, 0.0)), 3 * u)
    close(gradient(f, 900.0), 3.0)
    close(gradient(f, -2.0), math.exp(-2))


@pytest.mark.parametrize("hole", [NAN, INF, -INF])
def test_a_loss_over_targets_with_holes(hole: float) -> None:
    """Residuals masked before they are squared: 2r where there is a target, 0 where there is none."""
    y = np.array([hole, 2.0, -1.0, hole])
    known = np.isfinite(y)
    f = lambda x: np.sum(np.where(known, x - y, 0.0) ** 2)
    close(gradient(f, np.array([7.0, 5.0, 1.0, 0.0])), [0.0, 6.0, 4.0, 0.0])


@pytest.mark.parametrize(
    "square",
    [np.square, lambda x: x**2, lambda x: x**2.0, lambda x: np.power(x, 2), lambda x: x ** np.array([2.0, 2.0]), lambda x: x * x],
)
def test_every_spelling_of_a_square_is_flat_at_zero(square: Any) -> None:
    """2x, also at 0."""
    close(gradient(lambda x: np.sum(square(x)), np.array([0.0, 1.5])), [0.0, 3.0])


def test_the_slope_in_the_exponent_at_base_zero() -> None:
    """0**p is flat for p > 0; other bases beside it keep their b**p log b."""
    close(gradient(lambda p: np.power(0.0, p), 1.5), 0.0)
    close(gradient(lambda p: np.sum(np.array([3.0, 0.0]) ** p), 2.0), 9 * math.log(3))


def test_the_mixed_second_derivative_of_a_power_with_exponent_zero() -> None:
    """∂²/∂x∂y x**y = x**(y-1) (1 + y log x), which is 1/x at y = 0, in either order of differentiation."""
    for first, second in ((0, 1), (1, 0)):
        close(fg.grad(fg.grad(np.power, first), second)(7.0, 0.0), 1 / 7)
        close(fg.jacfwd(fg.grad(np.power, first), second)(7.0, 0.0), 1 / 7)
        close(fg.jacfwd(fg.jacfwd(np.power, first), second)(7.0, 0.0), 1 / 7)


def test_hypot() -> None:
    """(x, y) / r, not swapped."""
    close(gradient(np.hypot, 5.0, -12.0, argnums=(0, 1)), (5 / 13, -12 / 13))


def test_arctan2() -> None:
    """(x, -y) / r², with the square."""
    close(gradient(np.arctan2, 3.0, 1.0, argnums=(0, 1)), (0.1, -0.3))


def test_second_derivatives_of_arctan2_on_the_axis() -> None:
    """At x = 0 they are (y² - x²)/r⁴ = 1/y² off the diagonal and 0 on it."""
    h = fg.hessian(lambda v: np.arctan2(v[0], v[1]))(np.array([3.0, 0.0]))
    close(h, [[0.0, 1 / 9], [1 / 9, 0.0]])


@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_logaddexp_with_minus_infinity(f: Any) -> None:
    """What is not there has value and slope of nothing."""
    value, slopes = fg.value_and_grad(f, (0, 1))(3.5, -INF)
    close((value, slopes), (3.5, (1.0, 0.0)))


@pytest.mark.parametrize(("x", "slope"), [(750.0, 1.0), (-750.0, 0.0)])
def test_a_saturated_softplus(x: float, slope: float) -> None:
    """Straight far out on both sides: no overflow, no curvature."""
    f = lambda x: np.logaddexp(x, 0.0)
    close(f(x), max(x, 0.0))
    close(derivatives(f, x, 2), [slope, 0.0])


def test_a_handwritten_logsumexp_with_an_entry_at_minus_infinity() -> None:
    """The softmax, with 0 for that entry."""

    def f(x: Any) -> Any:
        top = np.max(x)
        return np.log(np.sum(np.exp(x - top))) + top

    e = math.exp(-3.0)
    close(gradient(f, np.array([4.0, -INF, 1.0])), [1 / (1 + e), 0.0, e / (1 + e)])


def test_even_derivatives_of_sinc_at_zero() -> None:
    """sinc x = 1 - (πx)²/3! + (πx)⁴/5! - …"""
    close(derivatives(np.sinc, 0.0, 3), [0.0, -(math.pi**2) / 3, 0.0])
    close(fg.jacfwd(fg.jacfwd(np.sinc))(0.0), -(math.pi**2) / 3)


def test_spread_of_equal_numbers() -> None:
    """The variance is flat there; the standard deviation has a kink, where we take the slope of least norm."""
    x = np.full(4, -2.5)
    close(gradient(np.var, x), np.zeros(4))
    close(gradient(np.std, x), np.zeros(4))


def test_nanmean() -> None:
    """The skipped entry has slope 0, the others 1/n of those that are there."""
    close(gradient(np.nanmean, np.array([2.0, NAN, 4.0, 5.0])), [1 / 3, 0.0, 1 / 3, 1 / 3])


def test_nanvar_and_nanstd() -> None:
    """2(x - m)/n over the entries that are there (mean 3), and half of it over std."""
    x = np.array([NAN, 1.0, 2.0, 6.0])
    of_var = np.array([0.0, -4.0, -2.0, 6.0]) / 3
    close(gradient(np.nanvar, x), of_var)
    close(gradient(np.nanstd, x), of_var / (2 * math.sqrt(14 / 3)))


def test_small_arguments_keep_their_digits() -> None:
    """log1p and expm1 stay what they are: x and slope 1 near 0, and curvatures -1 and 1."""
    for f, curvature in ((np.log1p, -1.0), (np.expm1, 1.0)):
        value, slope = fg.value_and_grad(f)(3e-19)
        assert value == pytest.approx(3e-19, rel=1e-15)
        close(slope, 1.0)
        close(derivatives(f, 0.0, 2), [1.0, curvature])
