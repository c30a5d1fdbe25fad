"""`fixed_point`: its derivative is that of the equation; it comes to rest, or says why not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.testing import check_grads
from tests.laws.paths import PATHS
from tests.solvers import close, gauss


@pytest.fixture(params=PATHS, autouse=True)
def path(request: Any) -> Iterator[None]:
    """Both paths of the machine."""
    with PATHS[request.param]():
        yield


def kepler(mean: Any, eccentricity: Any) -> Any:
    """The E with E = M + e sin E. Its derivatives: E_M = 1/(1 - e cos E), E_e = sin E/(1 - e cos E)."""
    return fg.fixed_point(lambda anomaly: mean + eccentricity * np.sin(anomaly), mean)


def test_kepler() -> None:
    """Both modes, and second derivatives: E_MM = -e sin E/(1 - e cos E)³."""
    m, e = 1.0, 0.3
    x = kepler(m, e)
    d = 1 - e * math.cos(x)
    close(x - e * math.sin(x), m)
    close(fg.grad(kepler, (0, 1))(m, e), (1 / d, math.sin(x) / d))
    close(fg.jvp(kepler, (m, e), (1.0, 0.0))[1], 1 / d)
    close(fg.grad(fg.grad(kepler))(m, e), -e * math.sin(x) / d**3)
    close(fg.hessian(kepler)(m, e), -e * math.sin(x) / d**3)
    close(fg.jvp(fg.grad(kepler), (m, e), (1.0, 0.0))[1], -e * math.sin(x) / d**3)
    check_grads(kepler, (m, e), order=2)


def test_arguments_and_closures_are_the_same() -> None:
    """cos x = a x: dx/da = -x/(a + sin x), by an argument as by a closure."""
    by_argument = lambda a: fg.fixed_point(lambda x, p: np.cos(x) / p["a"], 0.5, ({"a": a},))
    by_closure = lambda a: fg.fixed_point(lambda x: np.cos(x) / a, 0.5)
    x = by_closure(2.0)
    close(np.cos(x), 2 * x)
    for f in (by_argument, by_closure):
        close(fg.grad(f)(2.0), -x / (2 + math.sin(x)))
        close(fg.jvp(f, (2.0,), (1.0,))[1], -x / (2 + math.sin(x)))


def test_the_start_has_no_derivative() -> None:
    """The end does not depend on it; only values count there, ints among them."""
    f = lambda start: fg.fixed_point(lambda x: np.cos(x), start)
    assert fg.grad(f)(1.0) == 0.0
    close(f(1), f(0.2))


def test_trees() -> None:
    """x = (A x + y)/4 with y = x₀/2 + c, as one linear system."""
    a, c = np.array([[1.0, -1.0], [0.5, 1.0]]), 0.3

    def f(a: Any, c: Any) -> Any:
        return fg.fixed_point(lambda s: {"x": (a @ s["x"] + s["y"]) / 4, "y": s["x"][0] / 2 + c}, {"x": np.zeros(2), "y": 0.0})

    system = np.eye(3) - np.array([[a[0, 0], a[0, 1], 1], [a[1, 0], a[1, 1], 1], [2, 0, 0]]) / 4
    found = f(a, c)
    close([*found["x"], found["y"]], np.linalg.solve(system, [0, 0, c]))
    by_c = fg.jacrev(f, 1)(a, c)
    close([*by_c["x"], by_c["y"]], np.linalg.solve(system, [0, 0, 1]))
    check_grads(f, (a, c), order=2)


def test_tangent_solve() -> None:
    """Anything that solves the linear system will do, such as a Neumann series."""

    def neumann(g: Any, y: Any) -> Any:
        v = y
        for _ in range(200):
            v = y + v - g(v)
        return v

    for solve in (neumann, gauss):
        f = lambda a, solve=solve: np.sum(fg.fixed_point(lambda x: np.cos(x) / a, np.ones(2), tangent_solve=solve))
        a = np.array([2.0, 3.0])
        close(fg.grad(f)(a), fg.grad(lambda a: np.sum(fg.fixed_point(lambda x: np.cos(x) / a, np.ones(2))))(a))


def test_lanes() -> None:
    """Each lane has what it would have alone, bit for bit, and one run serves all; as many lanes as there are numbers in each."""
    runs = []

    def f(m: Any, e: Any) -> Any:
        runs.append(1)
        return kepler(m, e)

    m = np.linspace(0.1, 3.0, 12).reshape(3, 4)[:, :3]
    e = np.array([0.1, 0.5, 0.9])
    found = fg.vmap(f)(m, e)
    assert len(runs) == 1
    np.testing.assert_array_equal(found, [kepler(x, y) for x, y in zip(m, e, strict=True)])
    d = 1 - e[:, None] * np.cos(found)
    close(fg.grad(lambda m: np.sum(fg.vmap(f)(m, e)))(m), 1 / d)
    close(fg.vmap(fg.grad(lambda m, e: np.sum(f(m, e))))(m, e), 1 / d)
    close(fg.hessian(lambda m: np.sum(fg.vmap(f)(m, e)))(m[:, :1])[:, 0, :, 0], np.diag((-e[:, None] * np.sin(found) / d**3)[:, 0]))
    grid = fg.vmap(fg.vmap(f, (0, None)), (None, 0))
    close(grid(m[0], e), [kepler(m[0], x) for x in e])
    close(fg.jacfwd(grid, 1)(m[0], e)[1, :, 1], np.sin(kepler(m[0], e[1])) / (1 - e[1] * np.cos(kepler(m[0], e[1]))))


def test_number_types() -> None:
    """float32 stays float32 and comes to rest, complex is holomorphic, and Tensors give Tensors."""
    f = lambda a: fg.fixed_point(lambda x: np.cos(x) / a, np.float32(1))
    x = f(np.float32(2))
    assert type(x) is np.float32
    assert type(fg.grad(f)(np.float32(2))) is np.float32
    close(fg.grad(f)(np.float32(2)), -x / (2 + math.sin(x)), 1e-6)
    g = lambda a: fg.fixed_point(lambda x: np.cos(x) / a, 0.5 + 0j)
    a = 2.0 + 1.0j
    close(fg.grad(g, holomorphic=True)(a), -g(a) / (a + np.sin(g(a))))
    t = fg.tensor([2.0, 3.0])
    assert isinstance(fg.fixed_point(lambda x: np.cos(x) / t, t), fg.Tensor)
    assert isinstance(fg.grad(lambda t: np.sum(fg.fixed_point(lambda x: np.cos(x) / t, np.ones(2))))(t), fg.Tensor)


def test_tolerance() -> None:
    """It stops where no number changes by more than that, beside the largest of them."""
    steps = []

    def half(x: Any) -> Any:
        steps.append(1)
        return x / 2

    assert fg.fixed_point(half, 1.0, xtol=0.1) == 0.0625
    fg.fixed_point(lambda x: half(x) + 512.0, 0.0, xtol=0.1)  # ends near 1024, within 10 %
    assert len(steps) < 15


def test_no_fixed_point() -> None:
    """The error says how far it came."""
    with pytest.raises(errors.ConvergenceError, match="no fixed point after 7 steps: the last one changed x by 2 times its size") as caught:
        fg.fixed_point(lambda x: -x, 1.0, maxiter=7)
    assert (caught.value.steps, caught.value.change) == (7, 2.0)
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(errors.ConvergenceError, match="after 2 steps: the last one gave inf or nan"), np.errstate(all="ignore"):
        fg.fixed_point(lambda x: np.log(x - 2.0), 3.0)
    with pytest.raises(errors.ConvergenceError, match="after 20 steps"):
        fg.vmap(lambda a: fg.fixed_point(lambda x: a * x, 1.0, maxiter=20))(np.array([0.0, -1.0]))


def test_maxiter() -> None:
    """At least one step is needed to know that it is at rest, and one is enough."""
    assert fg.fixed_point(lambda x: x, 2.0, maxiter=1) == 2.0
    with pytest.raises(errors.ArgumentError, match="maxiter must be at least 1, got 0"):
        fg.fixed_point(lambda x: x, 2.0, maxiter=0)


def test_wrong_shapes_and_structures() -> None:
    """By path."""
    with pytest.raises(errors.RuleResultError, match=r"the function of fixed_point\(<lambda>\): the result\['a'\] must have shape \[2\]"):
        fg.fixed_point(lambda x: {"a": x["a"][:1]}, {"a": np.ones(2)})
    with pytest.raises(errors.RuleResultError, match=r"the function of .*: the result must have the structure"):
        fg.fixed_point(lambda x: (x,), 1.0)
