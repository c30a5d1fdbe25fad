"""What `fg.scan` and its checkpoints cost beside a Python loop: `python docs/benchmarks/loops.py` prints three tables.

Two tasks are spelled once more, as a step; `fg.scan` takes it as it is, and so does a Python loop. Gradients of both are timed in
turns, and the best time counts; the memory is what Python and NumPy allocate at most (`tracemalloc`), in a call of its own.
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
from tasks import TASKS
from tasks.loops import STEP

import funcgrad as fg

REPEATS = 5


def in_python(step: Callable[..., Any], carry: Any, xs: Any = None, length: int = 0) -> Any:
    """What `fg.scan` does, without the ys."""
    for t in range(length or len(xs[0])):
        carry, _ = step(carry, xs and [x[t] for x in xs])
    return carry, None


def lorenz(run: Callable[..., Any], state: Any, p: Any, steps: int) -> Any:
    """The task's 1,000 Runge-Kutta steps, over nothing."""

    def rate(s: Any) -> Any:
        x, y, z = s[0], s[1], s[2]
        return np.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])

    def step(state: Any, _: None) -> Any:
        k1 = rate(state)
        k2 = rate(state + STEP / 2 * k1)
        k3 = rate(state + STEP / 2 * k2)
        k4 = rate(state + STEP * k3)
        return state + STEP / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    end, _ = run(step, state, None, steps)
    return np.sum(end**2)


def characters(run: Callable[..., Any], weights: Any, shifts: Any, ends: Any, states: Any, text: Any) -> Any:
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
    (_, total), _ = run(step, (first, 0.0), (text[:-1], text[1:]))
    return -total / text[1:].size


ROWS: dict[str, tuple[str, Callable[..., Any], int]] = {
    "lorenz": ("1,000 Runge-Kutta steps of the Lorenz system", lorenz, 1_000),
    "characters": ("LSTM, 2 layers, 1,024 characters of 14 bits", characters, 1_024),
}


def spellings(name: str, size: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A gradient by the Python loop, and by the scan."""
    params, constants = TASKS[name].inputs(np.random.default_rng(0), size)
    spelled = fg.value_and_grad(ROWS[name][1], tuple(range(1, 1 + len(params))))
    return lambda: spelled(in_python, *params, *constants), lambda: spelled(fg.scan, *params, *constants)


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
    print("| task | what | Python loop | `fg.scan` | of the loop's time | memory, loop | memory, scan |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, (what, _, size) in ROWS.items():
        calls = list(spellings(name, size))
        for call in calls:
            call()
        loop, scan = best(calls)
        memory = " | ".join(f"{peak(call):.1f} MB" for call in calls)
        print(f"| `{name}` | {what} | {1e3 * loop:.0f} ms | {1e3 * scan:.0f} ms | {scan / loop:.2f} | {memory} |", flush=True)
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
