"""`vmap`: all lanes take the same steps, which are right for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ode import odeint
from tests.ode.equations import EQUATIONS, close, total

WAYS = ["steps", "adjoint"]


def stacked(trees: list[Any]) -> Any:
    return fg.tree.map(lambda *xs: np.stack(xs), *trees)


@pytest.mark.parametrize("name", sorted(EQUATIONS))
@pytest.mark.parametrize("way", WAYS)
def test_lanes_are_a_loop(name: str, way: str) -> None:
    """Values and derivatives of each lane, within the tolerance; a batch as long as the state among them."""
    e = EQUATIONS[name]
    factors = np.array([0.5, 1.3])
    solved = lambda s: odeint(e.slope, fg.tree.map(lambda x: s * x, e.y0), e.t, fg.tree.map(lambda x: s * x, e.p), derivative=way)
    close(fg.vmap(solved)(factors), stacked([solved(s) for s in factors]), 1e-7)
    g = fg.grad(lambda s: total(solved(s)))
    close(fg.vmap(g)(factors), stacked([g(s) for s in factors]), 1e-6)
    close(fg.grad(lambda s: np.sum(fg.vmap(lambda s: total(solved(s)))(s)))(factors), stacked([g(s) for s in factors]), 1e-6)
    close(fg.vmap(fg.jacfwd(lambda s: total(solved(s))))(factors), stacked([g(s) for s in factors]), 1e-6)


@pytest.mark.parametrize("which", ["y0", "p"])
def test_one_argument_mapped(which: str) -> None:
    """The others are the same for all lanes."""
    f = lambda y0, p: odeint(lambda y, t, p: -p * y, y0, [0.0, 1.0], p)
    y0, p = (np.arange(6.0).reshape(3, 2), 0.5) if which == "y0" else (np.array([1.0, 2.0]), np.array([0.5, 1.0, 2.0]))
    axes = (0, None) if which == "y0" else (None, 0)
    want = [f(y0[k], p) if which == "y0" else f(y0, p[k]) for k in range(3)]
    close(fg.vmap(f, axes)(y0, p), np.stack(want), 1e-7)


def test_each_lane_meets_the_tolerance() -> None:
    """Also those that are quick beside slow ones, and the steps are about as many as those of the quickest lane."""
    rates, tries = np.array([0.01, 1.0, 30.0]), []

    def f(y: Any, t: Any, k: Any) -> Any:
        tries.append(t)
        return [k * y[1], -k * y[0]]

    run = lambda k: odeint(f, np.array([0.0, 1.0]), [0.0, 0.5, 1.0], k)
    found = fg.vmap(run)(rates)
    together = len(tries)
    run(rates[-1])
    assert together < 1.2 * (len(tries) - together)
    for k, ys in zip(rates, found, strict=True):
        close(ys[:, 0], np.sin(k * np.array([0.0, 0.5, 1.0])), 1e-6)


def test_the_time_is_a_plain_number() -> None:
    """In all lanes the same, so `func` may branch on it."""

    def f(y: Any, t: Any) -> Any:
        assert type(t) is float
        return y if t < 0.5 else -y

    close(fg.vmap(lambda y0: odeint(f, y0, [0.0, 0.5, 1.0])[-1])(np.array([1.0, 2.0])), np.array([1.0, 2.0]), 1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_times_of_their_own(way: str) -> None:
    """Lanes whose times differ go their own ways."""
    f = lambda end: odeint(lambda y, t: -y, 1.0, np.stack([0.0, end]), derivative=way)[-1]
    ends = np.array([1.0, 2.0, 1.0])
    close(fg.vmap(f)(ends), np.exp(-ends), 1e-7)
    close(fg.vmap(fg.grad(f))(ends), -np.exp(-ends), 1e-7)
    close(fg.grad(lambda ends: np.sum(fg.vmap(f)(ends)))(ends), -np.exp(-ends), 1e-7)


def test_branches_on_the_state() -> None:
    """Lanes part where they differ in what they answer."""

    def f(y: Any, t: Any) -> Any:
        return 1.0 if y > 0 else -1.0

    close(
        fg.vmap(lambda y0: odeint(f, y0, [0.0, 1.0], rtol=1e-4, atol=1e-4)[-1])(np.array([1.0, -1.0, 2.0])),
        np.array([2.0, -2.0, 3.0]),
        1e-9,
    )


@pytest.mark.parametrize("way", WAYS)
def test_maps_in_maps(way: str) -> None:
    """A table of solutions, and its gradient."""
    f = lambda y0, k: odeint(lambda y, t: -k * y, y0, [0.0, 1.0], derivative=way)[-1]
    y0, k = np.array([1.0, 2.0]), np.array([0.5, 1.0, 2.0])
    table = lambda y0, k: fg.vmap(lambda y0: fg.vmap(lambda k: f(y0, k))(k))(y0)
    close(table(y0, k), np.multiply.outer(y0, np.exp(-k)), 1e-7)
    close(fg.grad(lambda k: np.sum(table(y0, k)))(k), -3 * np.exp(-k), 1e-6)


def test_no_lanes() -> None:
    """An empty batch has an empty solution."""
    assert fg.vmap(lambda y0: odeint(lambda y, t: -y, y0, [0.0, 1.0, 2.0]))(np.zeros((0, 2))).shape == (0, 3, 2)
