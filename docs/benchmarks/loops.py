"""What `fg.scan` and its checkpoints cost beside a Python loop: `python docs/benchmarks/loops.py` prints three tables.

Two tasks are spelled once more, as a step for `fg.scan`; beside them stand the task's own function, which is a Python loop, and the
derivative by hand, with which all must agree. Gradients are timed in turns, and the best time counts; the memory is what Python and
NumPy allocate at most (`tracemalloc`), in a call of its own.
"""

from __future__ import annotations

import os
import platform
import timeit
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from libraries import distance
from tasks import TASKS
from tasks.loops import STEP

import funcgrad as fg

REPEATS = 7

ALLOWED = 1e-8
"""The distance from the derivative by hand; only the chaos of `lorenz` comes near."""


def lorenz(state: Any, p: Any, steps: int) -> Any:
    """The task's 1,000 Runge-Kutta steps, over nothing. The state is three numbers: loops of few numbers are quickest."""
    a, b, c = p

    def rate(s: Any) -> Any:
        x, y, z = s
        return a * (y - x), x * (b - z) - y, x * y - c * z

    def moved(s: Any, k: Any, h: float) -> Any:
        return [x + h * d for x, d in zip(s, k, strict=True)]

    def step(s: Any, _: None) -> Any:
        k1 = rate(s)
        k2 = rate(moved(s, k1, STEP / 2))
        k3 = rate(moved(s, k2, STEP / 2))
        k4 = rate(moved(s, k3, STEP))
        return [x + STEP / 6 * (e + 2.0 * f + 2.0 * g + h) for x, e, f, g, h in zip(s, k1, k2, k3, k4, strict=True)], None

    (x, y, z), _ = fg.scan(step, list(state), None, steps)
    return x**2 + y**2 + z**2


def characters(weights: Any, shifts: Any, ends: Any, states: Any, text: Any) -> Any:
    """The task's character model, over each character and the one that follows; a layer's gates stand in one array."""
    bits = weights.shape[-1]
    layers = list(zip(np.reshape(weights, (-1, 4 * bits)), np.reshape(shifts, (-1, 4 * bits)), strict=True))

    def step(carry: Any, rows: Any) -> Any:
        (state, total), (now, following), after = carry, rows, []
        x = now * ends[0]
        for (hidden, cell), (w, b) in zip(state, layers, strict=True):
            z = np.concatenate([x, hidden, x, hidden]) * w + b
            gates = 1.0 / (1.0 + np.exp(-z[: 3 * bits]))
            cell = cell * gates[:bits] + gates[bits : 2 * bits] * np.tanh(z[3 * bits :])
            x = gates[2 * bits :] * np.tanh(cell)
            after.append((x, cell))
        guess = x * ends[1] + ends[2]
        return (after, total + np.sum(following * (guess - np.log(2.0 + np.sum(np.exp(guess)))))), None

    first = [(states[0][i], states[1][i]) for i in range(len(layers))]
    (_, total), _ = fg.scan(step, (first, 0.0), (text[:-1], text[1:]))
    return -total / text[1:].size


ROWS: dict[str, tuple[str, Callable[..., Any], int]] = {
    "lorenz": ("1,000 Runge-Kutta steps of the Lorenz system", lorenz, 1_000),
    "characters": ("LSTM, 2 layers, 1,024 characters of 14 bits", characters, 1_024),
}


def spellings(name: str, size: int) -> list[Callable[[], Any]]:
    """A value and gradient by hand, by the Python loop, by the scan, and by the scan compiled."""
    task, spelled = TASKS[name], ROWS[name][1]
    params, constants = task.inputs(np.random.default_rng(0), size)
    places = tuple(range(len(params)))
    loop = fg.value_and_grad(lambda *args: task.objective(np, *args), places)
    scan = fg.value_and_grad(spelled, places)
    compiled = fg.jit(scan)
    return [lambda f=f: f(*params, *constants) for f in (task.by_hand, loop, scan, compiled)]


CHECKPOINTS: dict[str, Any] = {"none": None, "316": 316, "fg.Binomial(30)": fg.Binomial(30), "fg.Binomial(6, 316)": fg.Binomial(6, 316)}
STATE = np.linspace(0.1, 1.0, 10)


def long_loop(steps: int, checkpoint: Any) -> Callable[[], Any]:
    """The gradient of a loop of so many steps over ten numbers."""

    def loss(x: Any) -> Any:
        return np.sum(fg.scan(lambda c, _: (np.sin(c) + 0.5 * c, None), x, None, steps, checkpoint=checkpoint)[0])

    return lambda: fg.grad(loss)(STATE)


def grown(run: Callable[..., Any], x: Any) -> Any:
    """Growth until it is enough, which takes another number of steps for each rate."""
    return run(lambda s: s < 1000.0, lambda s: s * x + np.sin(x), x)


def while_in_python(cond: Callable[..., Any], body: Callable[..., Any], carry: Any) -> Any:
    while cond(carry):
        carry = body(carry)
    return carry


LANES = np.linspace(1.05, 3.0, 1000)


def lanes() -> dict[str, Callable[[], Any]]:
    """Gradients of one function, for a thousand examples."""
    split, recorded = (fg.grad(lambda x, run=run: grown(run, x)) for run in (while_in_python, fg.while_loop))
    return {
        "Python's `while`, one example after the other": lambda: np.array([split(x) for x in LANES.tolist()]),
        "`vmap` of Python's `while`: lane splitting": lambda: fg.vmap(split)(LANES),
        "`vmap` of `fg.while_loop`": lambda: fg.vmap(recorded)(LANES),
    }


def best(calls: list[Callable[[], Any]], repeats: int = REPEATS) -> list[float]:
    """The best time of each, in turns."""
    return [min(times) for times in zip(*[[timeit.timeit(call, number=1) for call in calls] for _ in range(repeats)], strict=True)]


def peak(call: Callable[[], Any]) -> float:
    """Megabytes."""
    tracemalloc.start()
    call()
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used / 1e6


def main() -> None:
    """Prints the tables, and where they were measured."""
    print("| task | gradient | time | ÷ by hand | ÷ Python loop | memory |")
    print("|---|---|--:|--:|--:|--:|")
    for name, (what, _, size) in ROWS.items():
        calls = spellings(name, size)
        for call in calls * 2:
            assert distance(call(), calls[0]()) < ALLOWED, f"{name} differs from the derivative by hand"
        by_hand, loop, *_ = times = best(calls)
        for title, call, time in zip(("by hand", "Python loop", "`fg.scan`", "`fg.jit` of it"), calls, times, strict=True):
            task = f"`{name}`: {what}" if call is calls[0] else ""
            ratios = f"{time / by_hand:.2f} | {time / loop:.3f}"
            print(f"| {task} | {title} | {1e3 * time:.1f} ms | {ratios} | {peak(call):.1f} MB |", flush=True)
    print("\n| `checkpoint` | memory | time |\n|---|--:|--:|")
    calls = [long_loop(100_000, checkpoint) for checkpoint in CHECKPOINTS.values()]
    for name, call, time in zip(CHECKPOINTS, calls, best(calls, 2), strict=True):
        print(f"| {name} | {peak(call):.2f} MB | {time:.1f} s |", flush=True)
    print("\n| a thousand gradients | time |\n|---|--:|")
    warnings.filterwarnings("ignore", message=".*different paths")  # they are what is measured
    for name, time in zip(lanes(), best(list(lanes().values()), 3), strict=True):
        print(f"| {name} | {1e3 * time:.0f} ms |", flush=True)
    where = f"{platform.machine()}, {os.cpu_count()} processors, {platform.system()}"
    print(f"\nPython {platform.python_version()}, NumPy {np.__version__}, {where}, load average {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
