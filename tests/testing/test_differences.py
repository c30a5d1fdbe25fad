"""The differences that every other test leans on, against derivatives known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from funcgrad.testing.differences import complex_step, derivative, richardson

X = np.linspace(-1.5, 1.5, 7)


@pytest.mark.parametrize(
    ("f", "df", "rtol"),
    [
        (np.sin, np.cos, 1e-11),
        (np.exp, np.exp, 1e-11),
        (lambda x: x**7, lambda x: 7 * x**6, 1e-11),
        (lambda x: 1 / (2 + x), lambda x: -1 / (2 + x) ** 2, 1e-11),
        (lambda x: np.sin(20 * x), lambda x: 20 * np.cos(20 * x), 1e-9),
    ],
)
def test_richardson_has_eleven_digits(f, df, rtol):
    """Extrapolated differences of smooth functions are good to about 1e-11, and say so."""
    v = np.full_like(X, 0.5)
    (found,), (error,) = richardson(lambda x: [f(x[0])], [X], [v], 2.0**-6)
    np.testing.assert_allclose(found, df(X) * v, rtol=0, atol=rtol * np.max(abs(df(X))))
    assert np.all(error < 1e-7 * np.max(abs(df(X))))


def test_richardson_takes_complex_directions():
    """Along the imaginary axis a holomorphic function has i times its derivative."""
    z = X + 0.5j
    (found,), _ = richardson(lambda z: [np.sin(z[0])], [z], [np.full_like(z, 1j)], 2.0**-6)
    np.testing.assert_allclose(found, 1j * np.cos(z), rtol=1e-10)


def test_complex_step_is_exact():
    """The complex step has no cancellation: it is exact to rounding."""
    (found,) = complex_step(lambda x: [np.exp(np.sin(x[0]))], [X], [np.ones_like(X)])
    np.testing.assert_allclose(found, np.exp(np.sin(X)) * np.cos(X), rtol=4e-16)


def test_complex_step_is_none_for_real_code():
    """Code that refuses complex numbers has no complex step."""
    assert complex_step(lambda x: [np.arctan2(x[0], 1.0)], [X], [np.ones_like(X)]) is None


@pytest.mark.parametrize(
    ("f", "df", "by"),
    [
        (np.sin, np.cos, "the complex step"),
        (np.abs, np.sign, "differences"),
        (np.real, np.ones_like, "differences"),
        (np.cbrt, lambda x: x ** (-2 / 3) / 3, "differences"),
    ],
)
def test_derivative_falls_back_to_differences(f, df, by):
    """The complex step is used only where it agrees with differences: not for `abs` or `real`, which are not analytic."""
    x = np.array([0.5, 2.0])
    (found,), used = derivative(lambda x: [f(x[0])], [x], [np.ones_like(x)], 2.0**-6)
    np.testing.assert_allclose(found, df(x), rtol=1e-10)
    assert used == by
