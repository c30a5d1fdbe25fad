"""What lane splitting costs against a Python loop over the examples: `python docs/benchmarks/lane_splitting.py` prints the table.

Each function is written for one example, with Python's `if` and `while`. The function and its derivative are timed in a loop
and under `vmap`, each the best of several calls, in seconds of the processor, which other programs make no longer by taking turns.
"""

from __future__ import annotations

import os
import platform
import time
import timeit
import warnings
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import funcgrad as fg

REPEATS = 7


def huber(x: Any) -> Any:
    if abs(x) <= 1:
        return 0.5 * x**2
    return abs(x) - 0.5


def newton(a: Any) -> Any:
    """The square root, until a step is small."""
    x = a
    while True:
        step = (x * x - a) / (2 * x)
        x = x - step
        if abs(step) <= 1e-12 * x:
            return x


def escape(x: Any) -> Any:
    """How far z = z² + x gets in at most 200 steps."""
    z, n = x, 0
    while n < 200 and abs(z) <= 2:
        z, n = z * z + x, n + 1
    return z


def growth(goal: Any) -> Any:
    """How far beyond the goal one gets by steps of one percent."""
    x = 1.0
    while x < goal:
        x = 1.01 * x
    return x / goal


def bisection(a: Any) -> Any:
    """The square root; `if` in the loop, so that each example goes its own way."""
    lo, hi = a * 0.0, a + 1.0
    while hi - lo > 1e-6:
        mid = (lo + hi) / 2
        if mid * mid < a:
            lo = mid
        else:
            hi = mid
    return lo


def bisection_where(a: Any) -> Any:
    """The same with `np.where`, so that only the number of steps can differ."""
    lo, hi = a * 0.0, a + 1.0
    while hi - lo > 1e-6:
        mid = (lo + hi) / 2
        below = mid * mid < a
        lo, hi = np.where(below, mid, lo), np.where(below, hi, mid)
    return lo


@attrs.frozen
class Row:
    """A function of one example, and its examples."""

    name: str
    fun: Callable[[Any], Any]
    examples: Any


ROWS = [
    Row("piecewise, `if`", huber, np.linspace(-3, 3, 10_000)),
    Row("Newton, `break`", newton, np.linspace(1.0, 5.0, 10_000)),
    Row("bisection, `np.where` in `while`", bisection_where, np.linspace(1.0, 5.0, 1000)),
    Row("piecewise, `if`, few examples", huber, np.linspace(-3, 3, 4)),
    Row("escape, `while`", escape, np.linspace(-2.5, 0.5, 1000)),
    Row("growth, 400 lengths of `while`", growth, np.geomspace(1.0, 50.0, 1000)),
    Row("bisection, `if` in `while`", bisection, np.linspace(1.0, 5.0, 1000)),
]


def runs_of(row: Row) -> int:
    """How often the mapped function runs."""
    runs = 0

    def counted(x: Any) -> Any:
        nonlocal runs
        runs += 1
        return row.fun(x)

    fg.vmap(counted)(row.examples)
    return runs


def best(call: Callable[[], Any]) -> float:
    return min(timeit.repeat(call, number=1, repeat=REPEATS, timer=time.process_time))


def rounded(x: float) -> str:
    """Two digits."""
    return np.format_float_positional(x, precision=2, fractional=False, trim="-")


def said(seconds: float) -> str:
    return f"{rounded(1e3 * seconds)} ms" if seconds > 1e-3 else f"{rounded(1e6 * seconds)} µs"


def compared(fun: Callable[[Any], Any], examples: Any) -> str:
    """A loop, vmap, and how many times faster vmap is."""
    mapped = fg.vmap(fun)

    def looped() -> Any:
        return np.array([fun(x) for x in examples.tolist()])  # Python floats are the fastest loop

    np.testing.assert_allclose(mapped(examples), looped(), rtol=1e-9, atol=1e-12)
    loop, vmap = best(looped), best(lambda: mapped(examples))
    return f"{said(loop)} | {said(vmap)} | {rounded(loop / vmap)}"


def main() -> None:
    """Prints the table, and where it was measured."""
    warnings.filterwarnings("ignore", message=".*different paths")  # they are what is measured
    print("| function | examples | runs | loop | `vmap` | times faster | `grad`, loop | `grad`, `vmap` | times faster |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for row in ROWS:
        times = f"{compared(row.fun, row.examples)} | {compared(fg.grad(row.fun), row.examples)}"
        print(f"| {row.name} | {len(row.examples)} | {runs_of(row)} | {times} |", flush=True)
    where = f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}"
    print(f"\nPython {platform.python_version()}, NumPy {np.__version__}, {where}, load average {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
