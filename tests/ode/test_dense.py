"""`solve`: the solution at every time."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.ode import Solution, odeint, solve
from tests.ode.equations import EQUATIONS, close


@pytest.mark.parametrize("name", sorted(EQUATIONS))
def test_closed_forms(name: str) -> None:
    """At many times, within the steps and at their ends, and at both ends of the range."""
    e = EQUATIONS[name]
    t = np.linspace(e.t[0], e.t[-1], 101)
    y = solve(e.slope, e.y0, e.t[0], e.t[-1], e.p)
    close(y(t), e.exact(e.y0, t, e.p), 3e-7)
    close(y(e.t), odeint(e.slope, e.y0, e.t, e.p), 1e-12)


def test_any_shape_of_times() -> None:
    """Their axes come first."""
    y = solve(lambda y, t: {"a": -y["a"], "b": y["a"][0]}, {"a": np.ones(3), "b": 0.0}, 0, 2)
    assert {k: x.shape for k, x in y(1.0).items()} == {"a": (3,), "b": ()}
    assert {k: x.shape for k, x in y(np.ones((4, 5))).items()} == {"a": (4, 5, 3), "b": (4, 5)}
    assert {k: x.shape for k, x in y([]).items()} == {"a": (0, 3), "b": (0,)}
    assert solve(lambda y, t: -y, 1.0, 0, 2)(1.0).shape == ()
    assert solve(lambda y, t: -y, np.ones(2, np.float32), 0, 2)([1.0, 2.0]).dtype == np.float32
    assert type(solve(lambda y, t: -y, fg.tensor(1.0), 0, 2)(1.0)) is fg.Tensor


def test_it_is_smooth() -> None:
    """Its derivative by the time is that of the equation, within and at the ends of the steps."""
    y = solve(lambda y, t: np.stack([y[1], -y[0]]), np.array([0.0, 1.0]), 0.0, 6.0)
    for t in np.linspace(0, 6, 25):
        close(fg.jacfwd(y)(t), np.array([np.cos(t), -np.sin(t)]), 2e-6)
        close(fg.jacrev(y)(t), fg.jacfwd(y)(t), 1e-12)


def test_derivatives() -> None:
    """By y0, where it starts, and parameters."""
    f = lambda y0, t0, k, t: solve(lambda y, t, k: -k * t * y, y0, t0, 2.0, k)(t)
    exact = lambda y0, t0, k, t: y0 * np.exp(-k * (t**2 - t0**2) / 2)
    at = (1.5, 0.5, 0.8, 1.3)
    close(fg.grad(f, (0, 1, 2, 3))(*at), fg.grad(exact, (0, 1, 2, 3))(*at), 2e-6)
    close(fg.jacfwd(f, (0, 1, 2))(*at), fg.grad(exact, (0, 1, 2))(*at), 1e-6)
    close(fg.hessian(f, (0, 2))(*at), fg.hessian(exact, (0, 2))(*at), 1e-5)


def test_it_is_a_pytree() -> None:
    """So it may be a result, of derivatives and of lanes, and be mapped over."""
    make = lambda k: solve(lambda y, t: -k * y, np.ones(2), 0.0, 1.0)
    _, moved = fg.jvp(make, (2.0,), (1.0,))
    assert type(moved) is Solution
    ks = np.array([1.0, 2.0])
    many = fg.vmap(make)(ks)
    close(fg.vmap(lambda y, t: y(t))(many, np.array([0.5, 1.0])), np.exp(-np.array([0.5, 2.0]))[:, None] * np.ones(2), 1e-6)
    close(fg.vmap(lambda k, t: make(k)(t))(ks, np.array([0.5, 1.0])), np.exp(-np.array([0.5, 2.0]))[:, None] * np.ones(2), 1e-6)
    g = fg.grad(lambda ks: np.sum(fg.vmap(lambda k, t: make(k)(t)[0])(ks, np.array([0.5, 1.0]))))(ks)
    close(g, -np.array([0.5, 1.0]) * np.exp(-np.array([0.5, 2.0])), 1e-6)


def test_what_it_says() -> None:
    """Its range, and an error outside of it."""

    def decay(y, t):
        return -y

    y = solve(decay, 1.0, 2.0, 0.0)
    assert repr(y) == "<Solution of solve(decay) from t = 2.0 to 0.0>"
    for t in (2.1, [1.0, -0.1]):
        with pytest.raises(
            errors.ArgumentError, match=r"^solve\(decay\): the solution reaches from t = 2.0 to 0.0, and t is outside of it\.$"
        ):
            y(t)
    with pytest.raises(errors.ArgumentError, match=r"t0 and t1 are both 1\.0"):
        solve(decay, 1.0, 1, 1)
