"""What is wrong is said in the words of the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.ode import odeint


def call(out: Any, y0: Any = 1.0, t: Any = (0.0, 1.0), **more: Any) -> Any:
    def field(y, t):
        return out(y) if callable(out) else out

    return odeint(field, y0, t, **more)


TREE = {"a": 1.0, "b": np.ones(2)}
BAD_SLOPES = [
    (lambda y: y[:1], np.ones(2), "the derivative is float64[1], but y0 is float64[2]. It must be a change of y0"),
    (lambda y: 1j * y, np.ones(2), "the derivative is complex128[2], but y0 is float64[2]."),
    (lambda y: None, np.ones(2), "the derivative is None, but y0 is float64[2]."),
    (lambda y: {"a": 1.0, "b": 1.0}, TREE, "the derivative['b'] is float, but y0['b'] is float64[2]."),
    (lambda y: {"a": 1.0}, TREE, "at the root the derivative is {'a': *}, but y0 is {'a': *, 'b': *}."),
    (lambda y: {"a": 1.0, "b": [1.0]}, TREE, "at ['b'] the derivative is [*], but y0 is a leaf."),
]


@pytest.mark.parametrize(("out", "y0", "message"), BAD_SLOPES)
def test_slopes_that_do_not_fit(out: Any, y0: Any, message: str) -> None:
    """By the path; also where the state is traced."""
    with pytest.raises(errors.ArgumentTypeError) as caught:
        call(out, y0)
    assert str(caught.value).startswith(f"odeint(field): {message}")
    with pytest.raises(errors.ArgumentTypeError) as caught:
        fg.grad(lambda s: fg.tree.leaves(call(out, fg.tree.map(lambda x: s * x, y0)))[0].sum())(1.0)
    assert str(caught.value).startswith(f"odeint(field): {message}")


@pytest.mark.parametrize(
    ("t", "message"),
    [
        (
            [0.0, 2.0, 1.0],
            "t[1] = 2.0 and t[2] = 1.0, but t[0] = 0.0 and t[-1] = 1.0. All times must increase, or all decrease: sort them.",
        ),
        ([2.0, 0.0, 1.0], "t[1] = 0.0 and t[2] = 1.0, but t[0] = 2.0 and t[-1] = 1.0."),
        ([0.0, np.nan], "t[1] is nan. All times must be finite."),
        (1.0, "t must be a vector of times, the first of which is that of y0, got float."),
        ([], "t must be a vector of times, the first of which is that of y0, got float64[0]."),
        (["a"], "t must be a vector of times"),
    ],
)
def test_times(t: Any, message: str) -> None:
    """Finite, and in order."""
    with pytest.raises(errors.ArgumentError) as caught:
        call(-1.0, 1.0, t)
    assert str(caught.value).startswith(f"odeint(field): {message}")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rtol": -1.0}, "rtol must not be negative, got -1.0."),
        ({"atol": 0.0}, "atol must be positive, got 0.0."),
        ({"mxstep": None}, "mxstep must be a number, got None."),
        ({"derivative": "both"}, "derivative must be 'steps' or 'adjoint', got 'both'."),
    ],
)
def test_options(more: Any, message: str) -> None:
    """With what was given."""
    with pytest.raises(errors.ArgumentError) as caught:
        call(-1.0, 1.0, **more)
    assert str(caught.value) == f"odeint(field): {message}"


def test_what_is_not_a_state() -> None:
    """By the path."""
    with pytest.raises(errors.ArgumentTypeError, match=r"^odeint\(field\): y0\['name'\] is a str, not a number or an array of numbers\."):
        call(-1.0, {"name": "x"})
    with pytest.raises(errors.ArgumentTypeError, match=r"^odeint: expected a function of the state and the time, got float64"):
        odeint(np.float64(1.0), 1.0, [0, 1])


def test_a_pole() -> None:
    """y' = y² from 1 on ends at t = 1, and the error says so."""
    with pytest.raises(
        errors.IntegrationError, match=r"^odeint\(field\): stuck at t = 1\.0.* after \d+ steps\. No step is short enough"
    ) as caught:
        call(lambda y: y * y, 1.0, [0.0, 2.0])
    assert abs(caught.value.t - 1) < 1e-6


@pytest.mark.parametrize("y0", [np.nan, np.inf])
def test_nothing_finite_to_begin_with(y0: float) -> None:
    """At the very start."""
    with pytest.raises(
        errors.IntegrationError, match=r"stuck at t = 0\.0 after 0 steps\. y0, or its derivative there, is nan or infinite\."
    ):
        call(lambda y: -y, y0)


def test_a_nan_on_the_way() -> None:
    """Where the solution leaves the domain."""
    with np.errstate(invalid="ignore"), pytest.raises(errors.IntegrationError, match="No step is short enough") as caught:
        call(lambda y: -1 + 0 * np.sqrt(y), np.ones(2), [0.0, 2.0])
    assert abs(caught.value.t - 1) < 1e-6


def test_too_many_steps() -> None:
    """A stiff problem says how far it came; in reverse mode as well."""
    message = r"stuck at t = 0\.1\d* after 100 steps\. The end is t = 2\.0: allow more than mxstep=100 steps, or larger tolerances\.$"
    with pytest.raises(errors.IntegrationError, match=message):
        call(lambda y: -1000 * y, 1.0, [0.0, 2.0], mxstep=100)
    with pytest.raises(errors.IntegrationError, match=message):
        fg.grad(lambda y0: call(lambda y: -1000 * y, y0, [0.0, 2.0], mxstep=100)[-1])(1.0)
