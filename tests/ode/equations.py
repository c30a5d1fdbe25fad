"""Equations whose solutions, and their derivatives by everything they depend on, are known by formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from scipy.linalg import expm

import funcgrad as fg

A = np.array([[-0.3, 1.1, 0.0], [-0.9, -0.2, 0.4], [0.1, 0.0, -0.5]])


@attrs.frozen(eq=False)
class Equation:
    """y' = slope(y, t, p) from `y0` on. `exact(y0, t, p)` are the states at the times `t`, in NumPy code."""

    slope: Callable[..., Any]
    y0: Any
    t: Any
    p: Any
    exact: Callable[..., Any]


def exponential(y0: Any, t: Any, p: Any) -> Any:
    return y0 * np.exp(-p * (t - t[0]))


def oscillator(y0: Any, t: Any, p: Any) -> Any:
    """x'' = -p² x."""
    s = t - t[0]
    return np.stack([y0[0] * np.cos(p * s) + y0[1] / p * np.sin(p * s), y0[1] * np.cos(p * s) - p * y0[0] * np.sin(p * s)], axis=1)


def logistic(y0: Any, t: Any, p: Any) -> Any:
    """y' = r y (1 - y / K)."""
    e = np.exp(p["r"] * (t - t[0]))
    return p["K"] * y0 * e / (p["K"] + y0 * (e - 1))


def gaussian(y0: Any, t: Any, p: Any) -> Any:
    """y' = -p t y, which depends on the time itself."""
    return np.multiply.outer(np.exp(-p * (t**2 - t[0] ** 2) / 2), y0)


def circle(y0: Any, t: Any, p: Any) -> Any:
    """A tree: a turning vector, and the integral of its first element."""
    s = t - t[0]
    u, v = y0["x"][0], y0["x"][1]
    c, d = np.cos(p * s), np.sin(p * s)
    return {"x": np.stack([u * c + v * d, v * c - u * d], axis=1), "sum": y0["sum"] + (u * d + v * (1 - c)) / p}


EQUATIONS = {
    "exponential": Equation(lambda y, t, p: -p * y, 1.5, np.array([0.0, 0.4, 1.0]), 0.7, exponential),
    "oscillator": Equation(
        lambda y, t, p: np.stack([y[1], -(p**2) * y[0]]), np.array([1.0, -0.5]), np.array([0.2, 1.0, 1.5, 3.0]), 1.3, oscillator
    ),
    "logistic": Equation(lambda y, t, p: p["r"] * y * (1 - y / p["K"]), 0.3, np.array([0.0, 1.0, 2.0]), {"r": 1.2, "K": 2.0}, logistic),
    "gaussian": Equation(lambda y, t, p: -p * t * y, np.array([[1.0], [-2.0]]), np.array([-0.5, 0.5, 1.5]), 0.8, gaussian),
    "backwards": Equation(lambda y, t, p: -p * t * y, np.array([1.0, 2.0]), np.array([1.5, 0.5, -0.5]), 0.8, gaussian),
    "circle": Equation(
        lambda y, t, p: {"x": p * np.stack([y["x"][1], -y["x"][0]]), "sum": y["x"][0]},
        {"x": np.array([1.0, 0.5]), "sum": 0.25},
        np.array([0.0, 0.5, 2.0]),
        1.1,
        circle,
    ),
}


def linear(y0: Any, t: Any) -> Any:
    """y' = A y."""
    return np.stack([expm(A * (s - t[0])) @ y0 for s in t])


def close(got: Any, want: Any, tol: float = 1e-6) -> None:
    """Trees of one structure, all of whose numbers agree within `tol` of the largest."""
    assert fg.tree.structure(got) == fg.tree.structure(want)
    for x, y in zip(fg.tree.leaves(got), fg.tree.leaves(want), strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=0, atol=tol * max(1.0, float(np.max(np.abs(y), initial=0.0))))


def total(tree: Any) -> Any:
    """One number that depends on all, not evenly."""
    return sum([np.sum(np.cos(np.arange(float(np.size(x))).reshape(np.shape(x))) * x) for x in fg.tree.leaves(tree)])
