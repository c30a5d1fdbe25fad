"""Every transformation of every transformed function is what loops and differences say, on random programs.

Each transformation is made into one from functions of an array to a number, to the same: `D` of them differentiate, `vmap` maps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad import errors
from funcgrad.core import Traced
from tests.laws.programs import Program, programs
from tests.ops.problem import differences

Function = Callable[[Any], Any]
few = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def direction(x: Any, seed: int = 1) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, np.shape(x))


def _custom_jvp(f: Function) -> Function:
    @fg.custom_jvp
    def wrapped(x):
        return f(x)

    wrapped.defjvp(lambda p, t: (wrapped(*p), np.sum(fg.grad(f)(*p) * t[0])))
    return wrapped


def _custom_vjp(f: Function) -> Function:
    @fg.custom_vjp
    def wrapped(x):
        return f(x)

    wrapped.defvjp(lambda x: (f(x), fg.grad(f)(x)), lambda g, ct: (ct * g,))
    return wrapped


def _jit(f: Function) -> Function:
    """Compiled at the third call. What is given to it untraced comes back untraced."""
    compiled = fg.jit(f)

    def third(x):
        made = [compiled(x) for _ in range(3)]
        assert isinstance(x, Traced) or not any(isinstance(y, Traced) for y in made)
        return made[-1]

    return third


def _closing_over(f: Function) -> Function:
    """`2 f(u) - f(x)` at `u = x`: by rule in `u`, and by code in `x`, which is closed over."""

    def wrapped(x):
        @fg.custom_jvp
        def inner(u):
            return 2 * f(u) - f(x)

        inner.defjvp(lambda p, t: (inner(*p), 2 * np.sum(fg.grad(f)(*p) * t[0])))
        return inner(x)

    return wrapped


D: dict[str, Callable[[Function], Function]] = {
    "grad": lambda f: lambda x: np.sum(fg.grad(f)(x) * direction(x)),
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (direction(x),))[1],
    "vjp": lambda f: lambda x: np.sum(fg.vjp(f, x)[1](1.0)[0] * direction(x)),
    "jacfwd": lambda f: lambda x: np.sum(fg.jacfwd(f)(x) * direction(x)),
    "jacrev": lambda f: lambda x: np.sum(fg.jacrev(f)(x) * direction(x)),
    "hessian": lambda f: lambda x: np.tensordot(fg.hessian(f)(x), np.multiply.outer(direction(x), direction(x, 2)), 2 * np.ndim(x)),
}
"""The derivative along a direction; of the Hessian, along two."""

SAME = {"checkpoint": fg.checkpoint, "custom_jvp": _custom_jvp, "custom_vjp": _custom_vjp, "jit": _jit, "closing_over": _closing_over}
"""The function itself, with another way to its derivative."""

WEIGHTS = np.array([1.0, -2.0, 0.5])


def _lanes(x: Any) -> Any:
    """A lane for each weight, along the last axis; traced where `x` is."""
    return np.stack([x, 0.5 * x, 0.1 - x], axis=-1)


def _vmap(f: Function) -> Function:
    return lambda x: np.sum(fg.vmap(f, -1)(_lanes(x)) * WEIGHTS)


ALL = {**D, **SAME, "vmap": _vmap}


def expected_of(name: str, g: Function, x: Any) -> float:
    """What `D[name](g)` must be, by differences; of functions that stay the same, the gradient; of a map, a loop."""
    if name == "vmap":
        return float(sum(w * g(_lanes(x)[..., k]) for k, w in enumerate(WEIGHTS)))
    along = lambda g, seed: lambda x: differences(lambda x: [g(x)], (x,), (direction(x, seed),))[0]
    return float(along(along(g, 2) if name == "hessian" else g, 1)(x))


def measured(name: str, g: Function, x: Any) -> float:
    return float((D["grad"](SAME[name](g)) if name in SAME else ALL[name](g))(x))


def check(outer: str, g: Function, x: Any) -> None:
    expected = expected_of(outer, g, x)
    tol = {"hessian": 2e-4, "vmap": 1e-11}.get(outer, 1e-6)
    assert abs(measured(outer, g, x) - expected) <= tol * (1 + abs(expected)), (measured(outer, g, x), expected)


def function(f: Program, seed: int) -> tuple[Function, Any]:
    (x,) = f.inputs(seed)
    return f.loss, x


small = programs(inputs=(1,), shapes=((), (2,), (1, 2)), steps=4)
seeds = st.integers(0, 2**16)


@pytest.mark.parametrize("name", ALL)
@few
@given(small, seeds)
def test_alone(name: str, f: Program, seed: int) -> None:
    """Against loops and differences of the plain program."""
    g, x = function(f, seed)
    check(name, g, x)
    if name in SAME:
        np.testing.assert_allclose(SAME[name](g)(x), g(x), rtol=1e-12)


@pytest.mark.parametrize("inner", ALL)
@pytest.mark.parametrize("outer", ALL)
@few
@given(small, seeds)
def test_pairs(outer: str, inner: str, f: Program, seed: int) -> None:
    """Against loops and differences of the inner one."""
    g, x = function(f, seed)
    transformed = ALL[inner](g)
    if (outer, inner) == ("jvp", "custom_vjp"):
        with pytest.raises(errors.NoRuleError):
            measured(outer, transformed, x)
        return
    check(outer, transformed, x)


@settings(max_examples=800, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(list(ALL)), min_size=3, max_size=3).filter(lambda names: names.count("hessian") < 2), small, seeds)
def test_triples(names: list[str], f: Program, seed: int) -> None:
    """A sample of them, against loops and differences of the inner two."""
    outer, middle, inner = names
    g, x = function(f, seed)
    try:
        check(outer, ALL[middle](ALL[inner](g)), x)
    except errors.NoRuleError:
        assert "custom_vjp" in (middle, inner)
        assert "jvp" in names[:2]
