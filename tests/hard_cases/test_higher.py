"""Nested and higher derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.hard_cases.kit import Array, close, derivatives, numbers

DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "grad": fg.grad,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (np.ones_like(x),))[1],
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](np.ones_like(x))[0],
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](np.ones_like(x)),
}
"""Of a function of one number."""


@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_perturbations_are_not_confused(outer: str, inner: str) -> None:
    """The inner derivative sees the outer variable as a constant: d/dx x ∂y(x + 3y) = 3, d/dx x ∂y(xy) = 2x, d/dx 2x³ = 6x²."""
    d, e = DERIVATIVES[outer], DERIVATIVES[inner]
    close(d(lambda x: x * e(lambda y: x + 3 * y)(np.float64(1.0)))(np.float64(5.0)), 3.0)
    close(d(lambda x: x * e(lambda y: x * y)(np.float64(1.0)))(np.float64(5.0)), 10.0)
    close(d(lambda x: e(lambda y: x**2 * y**2)(x))(np.float64(2.0)), 24.0)


def test_six_derivatives() -> None:
    """Of e^{2x} sin, in closed form: the k-th is √5^k e^{2x} sin(x + k atan ½)."""
    x = 0.3
    expected = [5 ** (k / 2) * math.exp(2 * x) * math.sin(x + k * math.atan(0.5)) for k in range(1, 7)]
    close(derivatives(lambda x: np.exp(2 * x) * np.sin(x), x, 6), expected)


@pytest.mark.parametrize(
    ("p", "expected"), [(1, [1, 0, 0, 0]), (2, [0, 2, 0, 0]), (3, [0, 0, 6, 0]), (4, [0, 0, 0, 24]), (0, [0, 0, 0, 0])]
)
def test_repeated_derivatives_of_powers_at_zero(p: int, expected: list[float]) -> None:
    """Polynomials, whether the exponent is an int, a float or an array, and by every way of asking."""
    for exponent in (p, float(p), np.float64(p), np.array(p)):
        f = lambda x, e=exponent: np.power(x, e)
        close(derivatives(f, 0.0, 4), np.array(expected, float))
        close(derivatives(lambda x, e=exponent: x**e, 0.0, 4), np.array(expected, float))
        d: Any = f
        for k in range(4):
            d = fg.jacfwd(d)
            close(d(0.0), float(expected[k]))


def quartic(x: Any) -> Any:
    return np.sum(x**4) / 12 + (x @ np.arange(9.0).reshape(3, 3) @ x) / 2


def hessian_of_it(x: Array) -> Array:
    m = np.arange(9.0).reshape(3, 3)
    return (m + m.T) / 2 + np.diag(x**2)


def test_products_with_the_hessian() -> None:
    """Forward over reverse, reverse over reverse, reverse over forward, forward over forward, and `hvp`."""
    x, v, w = numbers(3), numbers(3, seed=1), numbers(3, seed=2)
    hv = hessian_of_it(x) @ v
    f = quartic
    close(fg.jvp(fg.grad(f), (x,), (v,))[1], hv)
    close(fg.grad(lambda x: fg.grad(f)(x) @ v)(x), hv)
    close(fg.grad(lambda x: fg.jvp(f, (x,), (v,))[1])(x), hv)
    close(fg.jvp(lambda x: fg.jvp(f, (x,), (v,))[1], (x,), (w,))[1], w @ hv)
    close(fg.hvp(f, (x,), (v,)), hv)


def test_a_pullback_is_linear_in_its_cotangent() -> None:
    """Its derivative there is itself."""
    x, v = numbers(4), numbers(4, seed=1)
    close(fg.grad(lambda ct: fg.vjp(np.tanh, x)[1](ct)[0] @ v)(np.ones(4)), v * (1 - np.tanh(x) ** 2))
    _, pull = fg.vjp(np.tanh, x)
    close(fg.vjp(lambda ct: pull(ct)[0], np.ones(4))[1](v)[0], v * (1 - np.tanh(x) ** 2))


def test_the_hessian_of_logsumexp() -> None:
    """diag(p) - p pᵀ, with p the softmax."""

    def f(x: Any) -> Any:
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    x = np.array([1.0, 3.0, -0.5, 0.0])
    p = np.exp(x) / np.sum(np.exp(x))
    close(fg.hessian(f)(x), np.diag(p) - np.outer(p, p))


def test_second_derivatives_through_linear_algebra() -> None:
    """bᵀ(D + tI)⁻¹b has 2 Σ b²/(d + t)³, log det(D + tI) has -Σ (d + t)⁻², for a D in a rotated basis."""
    q, _ = np.linalg.qr(numbers(3, 3))
    d, b = np.array([1.0, 2.0, 4.0]), numbers(3, seed=1)
    a = (q * d) @ q.T
    by_solve = lambda t: b @ np.linalg.solve(a + t * np.eye(3), b)
    by_cholesky = lambda t: 2 * np.sum(np.log(np.diag(np.linalg.cholesky(a + t * np.eye(3)))))
    by_slogdet = lambda t: np.linalg.slogdet(a + t * np.eye(3))[1]
    t = 0.5
    close(fg.grad(fg.grad(by_solve))(t), np.sum(2 * (q.T @ b) ** 2 / (d + t) ** 3))
    for f in (by_cholesky, by_slogdet):
        close(fg.grad(fg.grad(f))(t), -np.sum((d + t) ** -2.0))
        close(fg.jacfwd(fg.grad(f))(t), -np.sum((d + t) ** -2.0))


def test_a_pullback_may_be_called_again() -> None:
    """Every call answers for itself."""
    _, pull = fg.vjp(lambda x: x**3, np.array([1.0, -2.0]))
    first = pull(np.array([1.0, 0.0]))[0]
    close(pull(np.array([0.0, 2.0]))[0], [0.0, 24.0])
    close(pull(np.array([1.0, 0.0]))[0], [3.0, 0.0])
    close(first, [3.0, 0.0])


def test_stop_gradient() -> None:
    """A constant to every order; rounding that lets the gradient straight through."""
    f = lambda x: x**2 * fg.stop_gradient(x)
    close(derivatives(f, 3.0, 3), [18.0, 6.0, 0.0])
    straight = lambda x: x + fg.stop_gradient(np.floor(x) - x)
    close(fg.value_and_grad(straight)(4.75), (4.0, 1.0))
