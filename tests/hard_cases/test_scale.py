"""Depth, sharing, memory."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np

import funcgrad as fg
from tests.hard_cases.kit import close, gradient


def test_a_deep_chain() -> None:
    """10,000 steps, without recursion, in all modes."""

    def f(x: Any) -> Any:
        for _ in range(10_000):
            x = x * 1.00005
        return x

    close(gradient(f, 1.0), 1.00005**10_000)
    _, push = fg.linearize(f, 1.0)
    close(push(2.0), 2 * 1.00005**10_000)


def test_a_tower_of_diamonds() -> None:
    """Each node is walked once, not once per path: 3^80 takes no time."""

    def f(x: Any) -> Any:
        for _ in range(80):
            x = x + (x + x)
        return x

    close(gradient(f, 1.0), 3.0**80)


def test_memory_stays_where_it_is() -> None:
    """Gradients of 1 MB arrays, first and second order, leave nothing behind; not even for the cyclic collector."""
    x = np.full(131_072, 0.5)
    f = lambda x: np.sum(np.exp(x) * x)

    def both() -> None:
        fg.grad(f)(x)
        fg.grad(lambda x: np.sum(fg.grad(f)(x)))(x)

    both()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            both()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        gc.enable()
    assert grown < 500_000


def test_a_value_used_many_times() -> None:
    """The cotangents of all uses add up."""

    def f(x: Any) -> Any:
        y = x**2
        return np.sum(y * 3) + np.sum(np.concatenate([y, y, y])) + y[1] * 5 + np.max(np.stack([y - 9, y]))

    close(gradient(f, np.array([1.0, 4.0])), np.array([2.0, 8.0]) * np.array([6.0, 6.0 + 5 + 1]))
