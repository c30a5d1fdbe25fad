"""The numbers: closed forms, SciPy, the order of the method, dtypes, and what goes in and comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import funcgrad as fg
from funcgrad.ode import odeint, tableau
from tests.ode.equations import EQUATIONS, A, close, linear

NAMES = sorted(EQUATIONS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("derivative", ["steps", "adjoint"])
def test_closed_forms(name: str, derivative: str) -> None:
    """The error stays near the tolerance, of numbers, arrays and trees, forwards and backwards in time."""
    e = EQUATIONS[name]
    close(odeint(e.slope, e.y0, e.t, e.p, rtol=1e-10, atol=1e-10, derivative=derivative), e.exact(e.y0, e.t, e.p), 2e-9)


def test_a_linear_system() -> None:
    """exp(A t), by SciPy's `expm`."""
    t, y0 = np.linspace(0, 4, 9), np.array([1.0, 2.0, -1.0])
    close(odeint(lambda y, t: A @ y, y0, t), linear(y0, t), 1e-7)


def lotka(y: Any, t: Any) -> Any:
    return np.array([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3 * y[1]])


def test_against_scipy() -> None:
    """A nonlinear system far out, against SciPy's method of order 8 with tolerances near the last digit."""
    t, y0 = np.linspace(0, 15, 40), np.array([1.0, 1.0])
    want = solve_ivp(lambda t, y: lotka(y, t), (0, 15), y0, "DOP853", t, rtol=1e-13, atol=1e-13).y.T
    close(odeint(lotka, y0, t, rtol=1e-11, atol=1e-11), want, 1e-8)


def test_it_takes_no_more_evaluations_than_scipy() -> None:
    """The same method with the same tolerances needs about as many evaluations as SciPy's, and is as accurate."""
    t, y0 = np.linspace(0, 10, 50), np.array([1.0, 1.0])
    calls = []

    def counted(y: Any, t: Any) -> Any:
        calls.append(t)
        return lotka(y, t)

    ours = odeint(counted, y0, t, rtol=1e-8, atol=1e-8)
    scipy = solve_ivp(lambda t, y: lotka(y, t), (0, 10), y0, "RK45", t, rtol=1e-8, atol=1e-8)
    exact = solve_ivp(lambda t, y: lotka(y, t), (0, 10), y0, "DOP853", t, rtol=1e-13, atol=1e-13).y.T
    assert len(calls) < 1.1 * scipy.nfev
    assert np.max(np.abs(ours - exact)) < 2 * np.max(np.abs(scipy.y.T - exact))
    assert min(calls) >= 0 <= max(calls) <= 10


def test_the_order_of_the_method() -> None:
    """With steps of one length, half the length divides the error by 2⁵, at the ends of steps; within them by 2⁴ at least."""
    e = EQUATIONS["oscillator"]
    errors = []
    for n in (8, 16, 32):
        length = (e.t[-1] - e.t[0]) / n
        t = np.array([e.t[0], e.t[-1] - length / 3, e.t[-1]])
        ys = odeint(e.slope, e.y0, t, e.p, rtol=1.0, atol=1e3, hmax=length)
        errors.append(np.max(np.abs(ys - e.exact(e.y0, t, e.p)), axis=1)[1:])
    within, ends = np.log2(np.array(errors[:-1]) / np.array(errors[1:])).T
    np.testing.assert_allclose(ends, 5, atol=0.35)
    assert np.all(within > 4)


def test_the_error_follows_the_tolerance() -> None:
    """A hundred times the accuracy for a hundredth of the tolerance, about."""
    e = EQUATIONS["oscillator"]
    found = [
        np.max(np.abs(odeint(e.slope, e.y0, e.t, e.p, rtol=tol, atol=tol) - e.exact(e.y0, e.t, e.p))) for tol in (1e-4, 1e-6, 1e-8, 1e-10)
    ]
    for tol, error in zip((1e-4, 1e-6, 1e-8, 1e-10), found, strict=True):
        assert 0.01 * tol < error < 10 * tol


def test_the_coefficients() -> None:
    """The conditions of order 5 for the result, of order 4 for the embedded one and, at every θ, for the continuous extension.

    Hairer, Nørsett and Wanner (1993), table II.2.1.
    """
    a = np.zeros((7, 7))
    for k, row in enumerate(tableau.A):
        a[k + 1, : k + 1] = row
    c, b = np.array([0.0, *tableau.C]), a[6]
    np.testing.assert_allclose(a.sum(axis=1), c, atol=1e-14)
    four = lambda b: [b.sum(), b @ c, b @ c**2, b @ a @ c, b @ c**3, b @ (c * (a @ c)), b @ a @ c**2, b @ a @ a @ c]
    powers = np.array([1, 2, 3, 3, 4, 4, 4, 4])
    right = 1 / np.array([1, 2, 3, 6, 4, 8, 12, 24])
    np.testing.assert_allclose(four(b), right, atol=1e-14)
    np.testing.assert_allclose(four(b - np.array(tableau.ERROR)), right, atol=1e-14)
    ac = a @ c
    five = [b @ c**4, b @ (c**2 * ac), b @ (c * (a @ c**2)), b @ (c * (a @ ac)), b @ ac**2, b @ a @ c**3, b @ a @ (c * ac)]
    np.testing.assert_allclose(five, 1 / np.array([5, 10, 15, 30, 20, 20, 40]), atol=1e-14)
    np.testing.assert_allclose([b @ a @ a @ c**2, b @ a @ a @ ac], 1 / np.array([60, 120]), atol=1e-14)
    for theta in (0.0, 0.3, 0.5, 1.0):
        weights = tableau.DENSE @ theta ** np.arange(1, 5)
        np.testing.assert_allclose(four(weights), right * theta**powers, atol=1e-14)
    np.testing.assert_allclose(tableau.DENSE.sum(axis=1), b, atol=1e-14)
    np.testing.assert_allclose(tableau.DENSE @ np.arange(1, 5), np.eye(7)[6], atol=1e-14)  # the slope at its end is the last one


@pytest.mark.parametrize(
    "y0", [1.0, np.float32(1), np.array(1.0), np.ones(2, np.float32), np.ones((2, 1)), 1 + 1j, np.ones(2, np.complex64)]
)
def test_dtypes(y0: Any) -> None:
    """The solution has the dtype and the shape of y0, whatever the times and arguments are."""
    ys = odeint(lambda y, t, k: -k * t * y, y0, np.linspace(0, 1, 3), np.float64(2))
    assert ys.dtype == np.asarray(y0).dtype
    assert ys.shape == (3, *np.shape(y0))
    np.testing.assert_allclose(ys[-1], np.exp(-1) * y0, rtol=1e-5)


def test_leaves_keep_their_dtypes() -> None:
    """In a tree of several; ints become floats."""
    ys = odeint(lambda y, t: fg.tree.map(lambda x: -x, y), {"a": np.ones(2, np.float32), "b": 1, "c": 1j, "d": {}}, [0, 1])
    assert {k: (x.dtype.name, x.shape) for k, x in ys.items() if k != "d"} == {
        "a": ("float32", (2, 2)),
        "b": ("float64", (2,)),
        "c": ("complex128", (2,)),
    }
    assert ys["d"] == {}
    np.testing.assert_allclose(ys["c"], [1j, 1j * np.exp(-1)], rtol=1e-7)


def test_a_complex_equation() -> None:
    """y' = i y."""
    np.testing.assert_allclose(odeint(lambda y, t: 1j * y, 1 + 0j, [0.0, 2.0])[-1], np.exp(2j), rtol=1e-7)


def test_tensors_in_tensors_out() -> None:
    """If y0, t or an argument is one; `func` sees them too."""
    seen = []

    def f(y: Any, t: Any, k: Any = 1.0) -> Any:
        seen.append(type(y))
        return -k * y

    for args in (
        (fg.tensor([1.0, 2.0]), [0, 1]),
        (np.array([1.0, 2.0]), fg.tensor([0, 1])),
        (np.array([1.0, 2.0]), [0, 1], fg.tensor(1.0)),
    ):
        ys = odeint(f, *args)
        assert type(ys) is fg.Tensor
        np.testing.assert_allclose(ys[1], np.exp(-1) * np.array([1, 2]), rtol=1e-7)
    assert set(seen) == {fg.Tensor}
    assert type(odeint(f, np.ones(2), [0, 1])) is np.ndarray
    tree = odeint(lambda y, t: {"a": -y["a"], "b": -y["b"]}, {"a": fg.tensor([1.0]), "b": 1.0}, [0, 1])
    assert {type(x) for x in tree.values()} == {fg.Tensor}


def test_a_list_of_numbers_as_the_derivative() -> None:
    """Written as for SciPy, also where it is traced."""
    turn = lambda y, t, w: [w * y[1], -w * y[0]]
    np.testing.assert_allclose(odeint(turn, np.array([0, 1]), [0, 1], 1.0)[-1], [np.sin(1), np.cos(1)], rtol=1e-7)
    np.testing.assert_allclose(fg.grad(lambda w: odeint(turn, np.array([0, 1]), [0, 1], w)[-1, 0])(1.0), np.cos(1), rtol=1e-7)


def test_times() -> None:
    """A single one, repeated ones, ints, and no range at all."""
    f = lambda y, t: -y
    assert odeint(f, 2.0, [3]).tolist() == [2.0]
    assert odeint(f, 2.0, [3, 3]).tolist() == [2.0, 2.0]
    np.testing.assert_allclose(odeint(f, 1.0, [0, 0, 1, 1, 2]), np.exp([0, 0, -1, -1, -2]), rtol=1e-7)
    np.testing.assert_allclose(odeint(f, 1.0, [1e6, np.nextafter(1e6, 2e6)])[-1], 1.0)
    np.testing.assert_allclose(fg.grad(lambda t: odeint(f, 2.0, t)[1])(np.array([3.0, 3.0])), [2, -2], rtol=1e-12)


def test_nothing_to_integrate() -> None:
    """Empty trees and arrays come back."""
    assert odeint(lambda y, t: y, {}, [0, 1]) == {}
    assert odeint(lambda y, t: y, np.zeros((0, 3)), [0, 1]).shape == (2, 0, 3)
    assert odeint(lambda y, t: y, np.zeros(3), [0, 1]).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_python_control_flow() -> None:
    """`func` may branch on the time and the state, which are plain numbers where nothing is traced."""

    def f(y: Any, t: Any) -> Any:
        assert type(t) is float
        return 1.0 if t < 0.5 else -1.0

    np.testing.assert_allclose(odeint(f, 0.0, [0, 0.5, 1]), [0, 0.5, 0], atol=1e-3)


def test_memory_is_nobody_elses() -> None:
    """The state that `func` gets cannot be written to, and `func` may give the same array again and again."""
    buffer = np.zeros(2)

    def f(y: Any, t: Any) -> Any:
        assert not y.flags.writeable
        buffer[:] = -y
        return buffer

    y0 = np.array([1.0, 2.0])
    ys = odeint(f, y0, [0, 1])
    np.testing.assert_allclose(ys[1], np.exp(-1) * y0, rtol=1e-7)
    assert y0.flags.writeable
    assert not np.shares_memory(ys, y0)
    assert not np.shares_memory(odeint(f, y0, [0]), y0)


@pytest.mark.parametrize("n", [1000, 3000])
def test_large_states(n: int) -> None:
    """Many equations at once, on either side of where their sums are made in another way."""
    k = np.linspace(0.5, 2, n)
    np.testing.assert_allclose(odeint(lambda y, t: -k * y, np.ones(n), [0, 1])[-1], np.exp(-k), rtol=1e-7)
    g = fg.grad(lambda k: np.sum(odeint(lambda y, t: -k * y, np.ones(n), [0, 1])[-1]))(k)
    np.testing.assert_allclose(g, -np.exp(-k), rtol=1e-6)
