"""Threads share nothing but the counter, the borrowed arrays and the collector: nested gradients in four of them at once."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

THREADS, TIMES, LARGE = 4, 10_000, 20_000

SHARED = np.linspace(0.5, 1.5, LARGE)
"""160 kB: borrowed, by several threads at once."""


@pytest.fixture(autouse=True)
def fine_switches() -> Iterator[None]:
    """Threads take turns as often as CPython lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def scalar(k: int) -> Any:
    """The second derivative of x³ sin(kx), as a function of one number."""
    x = 0.5 + k % 17 / 10
    return fg.grad(fg.grad(lambda x: x**3 * np.sin(k % 5 * x)))(x)


def closing_over(k: int) -> Any:
    """An inner gradient that sees the outer variable."""
    return fg.grad(lambda x: fg.grad(lambda y: x**2 * y**3 + k * y)(x) * x)(1.0 + k % 7)


def arrays(k: int) -> Any:
    """Forward over reverse on small arrays, with a captured one."""
    c = np.arange(3.0) + k % 3
    x = np.array([0.1, 0.2, 0.3]) * (1 + k % 4)
    return fg.jvp(fg.grad(lambda x: np.sum(np.tanh(x * c) ** 2)), (x,), (c,))[1]


def shared(k: int) -> Any:
    """Nested, over an array that all threads borrow."""
    x = 1.0 + k % 5
    return fg.grad(fg.grad(lambda x: np.sum(SHARED * x**3) / LARGE))(x), fg.vjp(lambda x: x * SHARED, SHARED)[1](SHARED)[0][k % LARGE]


def in_threads(work: Callable[[int], Any]) -> list[Any]:
    """What each of the threads gives, all of them begun at once."""
    found: list[Any] = [None] * THREADS
    start = threading.Barrier(THREADS)

    def run(n: int) -> None:
        start.wait()
        try:
            found[n] = work(n)
        except BaseException as e:
            found[n] = e

    threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return found


def expected(f: Callable[[int], Any], period: int) -> list[Any]:
    return [f(k) for k in range(period)]


def test_nested_gradients_ten_thousand_times_in_four_threads() -> None:
    """Each answer is, bit for bit, that of one thread alone."""
    scalars, closures, small = expected(scalar, 85), expected(closing_over, 7), expected(arrays, 12)

    def work(n: int) -> int:
        wrong = 0
        for k in range(n, n + TIMES):
            wrong += scalar(k) != scalars[k % 85]
            if k % 10 == 0:
                wrong += closing_over(k % 7) != closures[k % 7]
                wrong += not np.array_equal(arrays(k), small[k % 12])
        return wrong

    assert in_threads(work) == [0] * THREADS
    assert gc.isenabled()


def test_threads_that_borrow_one_array() -> None:
    """It is read-only while any of them needs it, and writeable when all are done; the answers are right."""
    alone = expected(shared, 5)

    def work(n: int) -> int:
        wrong = 0
        for k in range(60):
            wrong += shared(k % 5) != alone[k % 5]
            fg.grad(lambda x: np.sum(x * SHARED))(SHARED)
        return wrong

    assert in_threads(work) == [0] * THREADS
    assert SHARED.flags.writeable
    assert gc.isenabled()


def test_one_pullback_in_many_threads() -> None:
    """What `vjp` and `linearize` return may be called from anywhere, at the same time."""
    c = np.linspace(0.0, 1.0, 50)
    _, pull = fg.vjp(lambda x: np.sin(x) * c, c)
    _, push = fg.linearize(lambda x: np.sin(x) * c, c)
    assert fg.grad(np.sin)(0.0) == 1.0

    def work(n: int) -> bool:
        return all(
            np.array_equal(pull(c * n)[0], c * n * c * np.cos(c)) and np.allclose(push(c * n), c * n * c * np.cos(c)) for _ in range(300)
        )

    assert in_threads(work) == [True] * THREADS


def test_methods_generated_in_several_threads_at_once() -> None:
    """The first calls of a ufunc compile its text: whoever comes first, the answer is the same."""
    from funcgrad.transforms.linearize import TABLE

    names = "sinh cosh arcsinh expm1 log1p cbrt".split()
    for name in names:
        TABLE.ufuncs.pop(getattr(np, name), None)
    alone = [float(fg.grad(getattr(np, name))(0.7)) for name in names]
    for name in names:
        TABLE.ufuncs.pop(getattr(np, name), None)
    assert in_threads(lambda n: [float(fg.grad(getattr(np, name))(0.7)) for name in names]) == [alone] * THREADS


def test_exceptions_in_threads_leave_nothing_behind() -> None:
    """The collector is on and the array writeable, though half of the calls fail."""

    def fails(x: Any) -> Any:
        y = np.sum(x * SHARED)
        raise KeyError(y is None)

    def work(n: int) -> int:
        caught = 0
        for k in range(60):
            try:
                fg.grad(fails if (k + n) % 2 else lambda x: np.sum(x * SHARED))(SHARED)
            except KeyError:
                caught += 1
        return caught

    assert in_threads(work) == [30] * THREADS
    assert gc.isenabled()
    assert SHARED.flags.writeable
