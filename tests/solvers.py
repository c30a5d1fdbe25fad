"""Solvers as users write them: NumPy code with branches, and of any number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad as fg


def newton(f: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(50):
        step = f(x) / fg.grad(f)(x)
        x = x - step
        if abs(step) < 1e-14:
            break
    return x


def bisect(f: Callable[[Any], Any], x: Any) -> Any:
    low, high = x - 10.0, x + 10.0
    for _ in range(60):
        middle = (low + high) / 2
        if f(middle) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def cg(matvec: Callable[[Any], Any], b: Any) -> Any:
    """Conjugate gradients in trees; the number of steps depends on the numbers."""
    dot = lambda a, b: sum([np.sum(x * y) for x, y in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True)])
    x, r, p = fg.tree.map(np.zeros_like, b), b, b
    size, steps = dot(r, r), 0
    while size > 1e-26 and steps < 200:
        q = matvec(p)
        a = size / dot(p, q)
        x = fg.tree.map(lambda x, p: x + a * p, x, p)  # noqa: B023  used at once
        r = fg.tree.map(lambda r, q: r - a * q, r, q)  # noqa: B023
        new = dot(r, r)
        p = fg.tree.map(lambda r, p: r + new / size * p, r, p)  # noqa: B023
        size, steps = new, steps + 1
    return x


def gauss(matvec: Callable[[Any], Any], b: Any) -> Any:
    """Elimination on the matrix of the map."""
    return np.linalg.solve(fg.jacobian(matvec, holomorphic=np.iscomplexobj(b))(b), b)


def newton_of_systems(f: Callable[[Any], Any], x: Any) -> Any:
    for _ in range(30):
        x = x - np.linalg.solve(fg.jacobian(f)(x), f(x))
    return x


def close(a: Any, b: Any, tol: float = 1e-10) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tol, atol=tol)
