"""What `fg.jit` gains, and what it takes to compile: `python docs/benchmarks/compiling.py` prints the table.

Each row is a function of one argument, and a derivative by hand. Times are the best of several, each the mean of as many calls as
make up 20 ms, in seconds of the processor, which other programs make no longer by taking turns.
"""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import funcgrad as fg

REPEATS, SLICE = 7, 0.02


def seed(x: Any) -> Any:
    return np.dot(np.sin(x), x**2)


def seed_by_hand(x: Any) -> Any:
    return np.cos(x) * x**2 + 2.0 * np.sin(x) * x


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_by_hand(x: Any) -> Any:
    d = x[1:] - x[:-1] ** 2
    g = np.zeros_like(x)
    g[:-1] = -400.0 * d * x[:-1] - 2.0 * (1.0 - x[:-1])
    g[1:] += 200.0 * d
    return g


def branches(x: Any) -> Any:
    """A step of a path that values choose."""
    return np.sum(x) ** 2 if x[0] > 0 else np.sum(np.sin(x))


def branches_by_hand(x: Any) -> Any:
    return np.full(x.shape, 2.0 * np.sum(x)) if x[0] > 0 else np.cos(x)


def decay(x: Any) -> Any:
    """200 steps of Heun's method, as one loop."""

    def step(y: Any, _: Any) -> Any:
        a = -y * y
        z = y + 0.01 * a
        return y + 0.005 * (a - z * z), None

    return np.sum(fg.scan(step, x, None, length=200)[0])


def decay_by_hand(x: Any) -> Any:
    d = np.ones_like(x)
    y = x
    for _ in range(200):
        a = -y * y
        z = y + 0.01 * a
        da = -2.0 * y
        d = d * (1.0 + 0.005 * (da - 2.0 * z * (1.0 + 0.01 * da)))
        y = y + 0.005 * (a - z * z)
    return d


@attrs.frozen
class Row:
    """A function, its derivative by hand, and how many numbers it takes."""

    name: str
    what: str
    function: Callable[[Any], Any]
    by_hand: Callable[[Any], Any]
    size: int


ROWS = (
    Row("seed", "sin(x) · x²", seed, seed_by_hand, 10),
    Row("rosenbrock", "Rosenbrock's function", rosenbrock, rosenbrock_by_hand, 10),
    Row("rosenbrock", "the same", rosenbrock, rosenbrock_by_hand, 1000),
    Row("rosenbrock", "the same", rosenbrock, rosenbrock_by_hand, 1_000_000),
    Row("branches", "`if` on a value", branches, branches_by_hand, 10),
    Row("decay", "200 steps of Heun's method, by `fg.scan`", decay, decay_by_hand, 10),
)


def best(call: Callable[[], Any]) -> float:
    """Seconds of a call."""
    call()
    start = time.process_time()
    call()
    count = max(1, int(SLICE / max(time.process_time() - start, 1e-7)))
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(count):
            call()
        found.append((time.process_time() - start) / count)
    return min(found)


def argument(row: Row) -> Any:
    return np.random.default_rng(0).uniform(0.5, 1.5, row.size)


def measured(row: Row) -> tuple[float, float, float, float]:
    """By hand, by `fg.grad`, by `fg.jit(fg.grad)`, and the first three calls of the latter together."""
    x = argument(row)
    eager, compiled = fg.grad(row.function), fg.jit(fg.grad(row.function))
    eager(x)
    start = time.process_time()
    compiled(x), compiled(x), compiled(x)
    first = time.process_time() - start
    return best(lambda: row.by_hand(x)), best(lambda: eager(x)), best(lambda: compiled(x)), first


def shown(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def main() -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores, load average {load:.1f}")
    print("| gradient of | numbers | by hand | `fg.grad` | `fg.jit` | first three calls |")
    print("|---|---:|---:|---:|---:|---:|")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for row in ROWS:
            print(f"| {row.what} | {row.size:,} | {' | '.join(map(shown, measured(row)))} |", flush=True)


if __name__ == "__main__":
    main()
