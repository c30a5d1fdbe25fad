"""Transformations of random programs agree with differences, with each other, and on both paths of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from tests.laws.paths import PATHS
from tests.laws.programs import UNARY, Program, Step, programs
from tests.ops.problem import assert_close, differences, magnitude, pairing, random_like

seeds = st.integers(0, 2**16)
quick = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@pytest.fixture(params=PATHS)
def path(request: Any) -> Iterator[None]:
    with PATHS[request.param]():
        yield


def gradient(f: Program) -> Any:
    """The gradient of the loss in all inputs."""
    return fg.grad(f.loss, tuple(range(len(f.shapes))))


def assert_equal_pairings(left: float, right: float, size: float, rtol: float = 1e-10) -> None:
    assert abs(left - right) <= rtol * size + 1e-12, f"{left} ≠ {right}"


def assert_value(out: Any, expected: Any) -> None:
    """NumPy's, but for rounding: NumPy itself has two routines for `x**3`, one for scalars and one for arrays.

    A 0-d array in the middle of a program is a scalar when traced, so the type of a 0-d output is not compared.
    """
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13, strict=True)


@pytest.mark.usefixtures("path")
@quick
@given(programs(), seeds)
def test_jvp_is_the_limit_of_differences(f: Program, seed: int) -> None:
    """The value is NumPy's, and the tangent what differences say."""
    x = f.inputs(seed)
    t = random_like(x, seed)
    out, tangent = fg.jvp(f, x, t)
    assert_value(out, f(*x))
    (expected,) = differences(lambda *x: [f(*x)], x, t)
    assert_close([tangent], [expected], 1e-6, "jvp", 1e-9)


@pytest.mark.usefixtures("path")
@quick
@given(programs(), seeds)
def test_vjp_is_the_transpose_of_jvp(f: Program, seed: int) -> None:
    """⟨ct, J t⟩ = ⟨Jᵀ ct, t⟩, and `pull` gives the same when it is called again."""
    x = f.inputs(seed)
    t = random_like(x, seed)
    out, pull = fg.vjp(f, *x)
    assert_value(out, f(*x))
    ct = random_like([np.asarray(out)], seed)
    tangent = fg.jvp(f, x, t)[1]
    g = pull(ct[0])
    assert_equal_pairings(pairing(ct, [tangent]), pairing(g, t), magnitude(ct, [tangent]) + magnitude(g, t))
    for a, b in zip(g, pull(ct[0]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("path")
@quick
@given(programs(steps=5), seeds)
def test_second_derivatives_agree(f: Program, seed: int) -> None:
    """The Hessian is symmetric, in all four combinations of modes, and what differences of the gradient say."""
    x = f.inputs(seed)
    v, w = random_like(x, seed), random_like(x, seed + 1)
    g = gradient(f)
    hv = fg.jvp(g, x, v)[1]
    assert_close(hv, differences(g, x, v), 1e-6, "forward over reverse", 1e-8)
    size = magnitude(w, hv) + 1.0
    numbers = {
        "symmetry": pairing(v, fg.jvp(g, x, w)[1]),
        "reverse over reverse": pairing(v, fg.vjp(g, *x)[1](w)),
        "grad of grad": pairing(v, fg.grad(lambda *x: _dot(g(*x), w), tuple(range(len(x))))(*x)),
        "reverse over forward": pairing(v, fg.grad(lambda *x: fg.jvp(f.loss, x, w)[1], tuple(range(len(x))))(*x)),
        "forward over forward": float(fg.jvp(lambda *x: fg.jvp(f.loss, x, w)[1], x, v)[1]),
    }
    for what, number in numbers.items():
        assert abs(number - pairing(w, hv)) <= 1e-9 * size, f"{what}: {number}, forward over reverse: {pairing(w, hv)}"


def _dot(g: Any, w: Any) -> Any:
    total: Any = 0.0
    for a, b in zip(g, w, strict=True):
        total = total + np.sum(a * b)
    return total


@pytest.mark.usefixtures("path")
@quick
@given(programs(inputs=(2,), steps=5), seeds)
def test_closing_over_outer_tracers(f: Program, seed: int) -> None:
    """An inner transformation of a function that uses the outer variable is that of the function given both."""
    x, y = f.inputs(seed)
    (w,) = random_like([y], seed)
    given_both = fg.grad(lambda x: np.sum(w * fg.grad(f.loss, 1)(x, y)))(x)
    scale = np.max(np.abs(given_both), initial=0.0) + 1.0
    closed = {
        "grad in grad": fg.grad(lambda x: np.sum(w * fg.grad(lambda y: f.loss(x, y))(y)))(x),
        "jvp in grad": fg.grad(lambda x: fg.jvp(lambda y: f.loss(x, y), (y,), (w,))[1])(x),
        "vjp in grad": fg.grad(lambda x: np.sum(w * fg.vjp(lambda y: f.loss(x, y), y)[1](1.0)[0]))(x),
        "the output is the outer variable's alone": fg.grad(lambda x: np.sum(fg.jvp(lambda y: x, (y,), (w,))[1]) + _mixed(f, x, y, w))(x),
    }
    for what, g in closed.items():
        np.testing.assert_allclose(g, given_both, rtol=0, atol=1e-10 * scale, err_msg=what)
    v = random_like([x], seed + 1)
    tangent = fg.jvp(lambda x: fg.grad(lambda y: f.loss(x, y))(y), (x,), v)[1]
    assert_equal_pairings(pairing([w], [tangent]), pairing(v, [given_both]), scale * 10)


def _mixed(f: Program, x: Any, y: Any, w: Any) -> Any:
    return np.sum(w * fg.grad(lambda y: f.loss(x, y))(y))


@pytest.mark.usefixtures("path")
@quick
@given(programs(shapes=((),)), seeds)
def test_scalars_of_all_sorts(f: Program, seed: int) -> None:
    """Python floats, NumPy scalars and 0-d arrays have equal gradients, each of the type that came in."""
    x = f.inputs(seed)
    sorts = {float: [float(a) for a in x], np.float64: [np.float64(a) for a in x], np.ndarray: list(x)}
    results = {sort: gradient(f)(*given) for sort, given in sorts.items()}
    for sort, g in results.items():
        for a, b in zip(g, results[np.float64], strict=True):
            assert type(a) is sort
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@quick
@given(programs(), seeds)
def test_fused_is_generic(f: Program, seed: int) -> None:
    """Both paths give the same values, gradients, tangents and second derivatives."""
    x = f.inputs(seed)
    v = random_like(x, seed)
    results = {}
    for name, path in PATHS.items():
        with path():
            g = gradient(f)
            results[name] = [*g(*x), fg.jvp(f, x, v)[1], *fg.jvp(g, x, v)[1]]
    for a, b in zip(*results.values(), strict=True):
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * (1 + np.max(np.abs(b), initial=0.0)))


def test_a_program_reads_as_code() -> None:
    """What Hypothesis prints of a failing example can be run."""
    text = "np.sin({0})"
    f = Program(((3,),), (Step(text, UNARY[text], (0,)),))
    assert repr(f) == "def f(v0: [3]):\n  v1 = np.sin(v0)\n  return v1"
