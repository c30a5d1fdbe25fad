"""Derivatives by everything a solution depends on, in every mode: those of the closed forms."""

from __future__ import annotations

import dataclasses
import functools
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import funcgrad as fg
from funcgrad import errors
from funcgrad.ode import odeint
from funcgrad.testing import check_grads
from tests.ode.equations import EQUATIONS, A, close, total

NAMES = sorted(EQUATIONS)
WAYS = ["steps", "adjoint"]
MODES = {"grad": fg.grad, "jacfwd": fg.jacfwd, "jacrev": fg.jacrev}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", MODES)
def test_first_derivatives(name: str, way: str, mode: str) -> None:
    """By the first state, all times (the first one too) and the parameters."""
    e = EQUATIONS[name]
    ours = lambda y0, t, p: total(odeint(e.slope, y0, t, p, rtol=1e-10, atol=1e-10, derivative=way))
    exact = lambda y0, t, p: total(e.exact(y0, t, p))
    close(MODES[mode](ours, (0, 1, 2))(e.y0, e.t, e.p), fg.grad(exact, (0, 1, 2))(e.y0, e.t, e.p), 1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_second_derivatives(name: str, way: str) -> None:
    """Forward over reverse, with all mixed terms."""
    e = EQUATIONS[name]
    ours = lambda y0, t, p: total(odeint(e.slope, y0, t, p, rtol=1e-8, atol=1e-8, derivative=way))
    exact = lambda y0, t, p: total(e.exact(y0, t, p))
    close(fg.hessian(ours, (0, 1, 2))(e.y0, e.t, e.p), fg.hessian(exact, (0, 1, 2))(e.y0, e.t, e.p), 1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_reverse_over_reverse(way: str) -> None:
    """The gradient of a gradient, and a third derivative."""
    f = lambda k: odeint(lambda y, t, k: -k * y, 1.0, [0.0, 2.0], k, rtol=1e-11, atol=1e-11, derivative=way)[-1]
    np.testing.assert_allclose(fg.grad(fg.grad(f))(0.5), 4 * np.exp(-1), rtol=1e-8)
    np.testing.assert_allclose(fg.grad(fg.grad(fg.grad(f)))(0.5), -8 * np.exp(-1), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_the_matrix_of_a_linear_system(way: str) -> None:
    """∂ exp(A t) y0 / ∂y0 = exp(A t); by A it is Fréchet's derivative, here by the exponential of a block matrix (Van Loan 1978)."""
    y0 = np.array([1.0, 2.0, -1.0])
    end = lambda y0, a: odeint(lambda y, t, a: a @ y, y0, [0.0, 2.0], a, rtol=1e-10, atol=1e-10, derivative=way)[-1]
    by_y0, by_a = fg.jacrev(end, (0, 1))(y0, A)
    close(by_y0, expm(2 * A), 1e-8)
    for i, j in ((0, 0), (0, 1), (2, 1)):
        unit = np.zeros((3, 3))
        unit[i, j] = 1
        block = expm(2 * np.block([[A, unit], [np.zeros((3, 3)), A]]))
        close(by_a[:, i, j], block[:3, 3:] @ y0, 1e-8)


def test_the_derivative_is_that_of_the_computed_numbers() -> None:
    """Through the steps, with loose tolerances too: differences with the same steps have it to all their digits."""
    e = EQUATIONS["oscillator"]
    f = lambda y0, p: total(odeint(e.slope, y0, [0.0, 1.0], p, rtol=1.0, atol=1e6, hmax=0.5))
    check_grads(f, (e.y0, e.p))


def test_loose_tolerances_are_felt_by_the_adjoint() -> None:
    """It is a differential equation of its own, and as accurate as the tolerances."""
    f = lambda k, tol, way: odeint(lambda y, t, k: -k * y, 1.0, [0.0, 2.0], k, rtol=tol, atol=tol, derivative=way)[-1]
    for tol in (1e-4, 1e-8):
        assert abs(fg.grad(f)(0.5, tol, "adjoint") + 2 * np.exp(-1)) < 10 * tol


@dataclasses.dataclass
class Field:
    k: Any

    def slope(self, y: Any, t: Any) -> Any:
        return -self.k * y


def closures(k: Any) -> dict[str, Any]:
    """The same function, which reaches its parameter in several ways."""
    double = lambda y: 2 * k * y
    params = {"half": [0.5 * k]}

    def with_default(y: Any, t: Any, k: Any = k, *, also: Any = k) -> Any:
        return -(k + also) / 2 * y

    def recursive(y: Any, t: Any, depth: int = 2) -> Any:
        return recursive(y, t, depth - 1) if depth else -k * y

    return {
        "a cell": lambda y, t: -k * y,
        "a function in a cell": lambda y, t: -double(y) / 2,
        "a tree in a cell": lambda y, t: -2 * params["half"][0] * y,
        "defaults": with_default,
        "itself": recursive,
        "a partial": functools.partial(lambda y, t, k, c: -k * c * y, k=k, c=1.0),
        "a method": Field(k).slope,
        "an argument": None,
    }


@pytest.mark.parametrize("how", closures(1.0))
@pytest.mark.parametrize("way", WAYS)
def test_closed_over_values_are_differentiated(how: str, way: str) -> None:
    """As arguments are, in all modes, in lanes, and with arguments beside them."""

    def f(k: Any) -> Any:
        func, args = closures(k)[how], ()
        if func is None:
            func, args = (lambda y, t, p: -p["k"] * y), ({"k": k, "n": 3, "s": "text"},)
        return odeint(func, 1.0, [0.0, 2.0], *args, derivative=way)[-1]

    want = -2 * np.exp(-1)
    np.testing.assert_allclose(
        [fg.grad(f)(0.5), fg.jacfwd(f)(0.5), fg.vjp(f, 0.5)[1](1.0)[0], fg.linearize(f, 0.5)[1](1.0)], want, rtol=1e-6
    )
    np.testing.assert_allclose([fg.grad(fg.grad(f))(0.5), fg.hessian(f)(0.5)], -2 * want, rtol=1e-6)
    ks = np.array([0.5, 1.0])
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(ks), -2 * np.exp(-2 * ks), rtol=1e-6)
    np.testing.assert_allclose(fg.grad(lambda ks: np.sum(fg.vmap(f)(ks)))(ks), -2 * np.exp(-2 * ks), rtol=1e-6)


class Hidden:
    """An attribute of its own."""

    k: Any = None


def test_an_attribute_of_an_object_is_seen() -> None:
    """Also where the object is no pytree."""
    hidden = Hidden()

    def loss(k: Any) -> Any:
        hidden.k = k
        return odeint(lambda y, t: -hidden.k * y, 1.0, [0.0, 1.0], derivative="adjoint")[-1]

    np.testing.assert_allclose(fg.grad(loss)(1.0), -np.exp(-1.0), rtol=1e-6)


def test_what_the_adjoint_cannot_see() -> None:
    """A traced value in a class raises, and names the function."""

    def field(y: Any, t: Any, p: Any) -> Any:
        return -p * Hidden.k * y

    def loss(k: Any) -> Any:
        Hidden.k = k
        return odeint(field, 1.0, [0.0, 1.0], k, derivative="adjoint")[-1]

    with pytest.raises(
        errors.ClosedOverTracerError, match=r"^field uses a traced value of grad\(loss\) .* Pass it to field as an argument"
    ):
        fg.grad(loss)(1.0)


def test_a_count_in_a_cell_goes_on() -> None:
    """What is not traced stays the same object, for `nonlocal` and lists."""
    calls, log = 0, []

    def loss(k: Any) -> Any:
        def f(y: Any, t: Any) -> Any:
            nonlocal calls
            calls += 1
            log.append(t)
            return -k * y

        return odeint(f, 1.0, [0.0, 1.0], derivative="adjoint")[-1]

    fg.grad(loss)(1.0)
    assert calls == len(log) > 20


@pytest.mark.parametrize("way", WAYS)
def test_under_other_transformations(way: str) -> None:
    """Checkpoints, the tape, values that stop, and a solver within a solver."""
    f = lambda k: odeint(lambda y, t: -k * y, 1.0, [0.0, 1.0], derivative=way)[-1]
    want = -np.exp(-1.0)
    np.testing.assert_allclose(fg.grad(fg.checkpoint(f))(1.0), want, rtol=1e-7)
    x = fg.Var(1.0)
    np.testing.assert_allclose(fg.backward(f(x))[x], want, rtol=1e-7)
    assert fg.grad(lambda k: f(fg.stop_gradient(k)) * k)(2.0) == f(2.0)
    inner = lambda y, t, k: -k * odeint(lambda z, s: 0 * z + 1, 0.0, [0.0, 1.0], rtol=1e-3)[-1] * y
    g = fg.grad(lambda k: odeint(inner, 1.0, [0.0, 1.0], k, rtol=1e-5, atol=1e-5, derivative=way)[-1])
    np.testing.assert_allclose(g(1.0), want, rtol=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_dtypes_of_gradients(way: str) -> None:
    """A gradient has the type, shape and dtype of what it belongs to; ints and strings among the arguments stay out of it."""
    f = lambda y0, p: np.sum(odeint(lambda y, t, p: -p["k"] * y, y0, [0, 1], p, rtol=1e-5, atol=1e-5, derivative=way)[-1])
    g = fg.grad(f, (0, 1), allow_int=True)(np.ones(2, np.float32), {"k": np.float32(0.5), "n": 2})
    assert (g[0].dtype, g[1]["k"].dtype, g[1]["n"]) == (np.float32, np.float32, 0)
    np.testing.assert_allclose(g[0], np.exp(-0.5), rtol=1e-4)
    assert type(fg.grad(f)(fg.tensor([1.0, 2.0]), {"k": 0.5})) is fg.Tensor
    assert type(fg.grad(f, 1)(np.ones(2), {"k": 0.5})["k"]) is float


@pytest.mark.parametrize("way", WAYS)
def test_a_complex_equation(way: str) -> None:
    """Holomorphic in its parameter: d exp(k t) / dk = t exp(k t)."""
    f = lambda k: odeint(lambda y, t, k: k * y, 1 + 0j, [0.0, 2.0], k, rtol=1e-10, atol=1e-10, derivative=way)[-1]
    np.testing.assert_allclose(fg.grad(f, holomorphic=True)(-0.3 + 1j), 2 * np.exp(-0.6 + 2j), rtol=1e-8)


def test_the_adjoint_keeps_little() -> None:
    """Its memory does not grow with the number of steps."""

    def peak(way: str, end: float) -> int:
        k, y0 = np.ones(1000), np.ones(1000)
        f = lambda k: np.sum(odeint(lambda y, t, k: -k * np.sin(t) * y, y0, [0.0, end], k, rtol=1e-4, atol=1e-4, derivative=way)[-1])
        fg.grad(f)(k)
        tracemalloc.start()
        fg.grad(f)(k)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak("steps", 40.0) > 2 * peak("steps", 10.0)
    assert peak("adjoint", 40.0) < 1.2 * peak("adjoint", 10.0)
    assert peak("adjoint", 40.0) < peak("steps", 40.0) / 5


def test_captured_arrays_stay_as_they_are() -> None:
    """Small ones are copied, large ones read-only until the derivative is there."""
    small, large = np.array([0.5, 1.0]), np.full(10_000, 0.5)

    def f(y0: Any) -> Any:
        field = lambda y, t: -(small[0] + large[0]) * y
        return odeint(field, y0, [0.0, 1.0], derivative="adjoint")[-1]

    _, pull = fg.vjp(f, 1.0)
    small[:] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        large[:] = 7.0
    np.testing.assert_allclose(pull(1.0)[0], np.exp(-1.0), rtol=1e-7)
    del pull
    large[:] = 7.0


def test_whole_numbers_in_lanes() -> None:
    """A mapped int has no derivative, and may stand beside what has."""
    f = lambda k, n: odeint(lambda y, t: -k * n * y, 1.0, [0.0, 1.0], derivative="adjoint")[-1]
    n = np.array([1, 2])
    np.testing.assert_allclose(fg.vmap(fg.grad(f), (None, 0))(0.5, n), -n * np.exp(-0.5 * n), rtol=1e-6)
    np.testing.assert_allclose(fg.grad(lambda k: np.sum(fg.vmap(f, (None, 0))(k, n)))(0.5), np.sum(-n * np.exp(-0.5 * n)), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_few_times(way: str) -> None:
    """One, which is that of y0 and so without effect, or the same twice."""
    f = lambda t: np.sum(odeint(lambda y, t: -y, 2.0, t, derivative=way))
    assert fg.grad(f)(np.array([3.0])).tolist() == [0.0]
    assert fg.grad(f)(np.array([3.0, 3.0])).tolist() == [2.0, -2.0]


@pytest.mark.parametrize("way", WAYS)
def test_arrays_of_traced_numbers(way: str) -> None:
    """What `np.array` makes of them, as the state, the times, an argument, and in a closure."""

    def f(k: Any) -> Any:
        rates = np.array([k, 2 * k])
        field = lambda y, t, p: -rates * p * y
        return np.sum(odeint(field, np.array([k, 1.0]), np.array([0.0, k]), np.array([1.0, k]), derivative=way)[-1])

    np.testing.assert_allclose(fg.grad(f)(0.8), fg.grad(lambda k: k * np.exp(-(k**2)) + np.exp(-2 * k**3))(0.8), rtol=1e-6)


def test_only_what_moves_is_carried_back() -> None:
    """Without anything traced the adjoint is not asked; with a traced y0 alone the parameters are not."""
    f = lambda y0: odeint(lambda y, t, k: -k * y, y0, [0.0, 1.0], np.ones(3), derivative="adjoint")[-1]
    close(fg.jacrev(f)(np.ones(3)), np.exp(-1) * np.eye(3), 1e-7)
    assert type(f(np.ones(3))) is np.ndarray
