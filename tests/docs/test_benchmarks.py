"""The derivatives that the benchmarks are measured against are right, and funcgrad gives the same."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

BENCHMARKS = Path(__file__).parents[2] / "docs" / "benchmarks"


def load(name: str, file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / file)
    assert spec
    assert spec.loader
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TASKS: dict[str, Any] = load("benchmark_tasks", "tasks/__init__.py").TASKS
libraries = load("benchmark_libraries", "libraries.py")


@pytest.mark.parametrize("name", TASKS)
def test_by_hand(name: str) -> None:
    """Values and derivatives by hand are those of funcgrad, at small sizes."""
    task = TASKS[name]
    params, constants = task.inputs(np.random.default_rng(1), task.tiny)
    found = libraries.funcgrad(task, params, constants)()
    assert libraries.distance(found, task.by_hand(*params, *constants)) < 1e-10


def test_enough() -> None:
    """At least 15 tasks, with names of their own."""
    assert len(TASKS) >= 15


def test_runner() -> None:
    """`run.py` runs as the page says, and gives a row with times."""
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "run.py", "--tasks", "scalar"], capture_output=True, text=True, check=False, timeout=120
    )
    assert not done.returncode, done.stderr
    assert done.stdout.startswith("| `scalar` |")
    assert " µs" in done.stdout


lanes = load("benchmark_lane_splitting", "lane_splitting.py")


@pytest.mark.parametrize("row", lanes.ROWS, ids=lambda row: row.name)
def test_lane_splitting(row: Any) -> None:
    """What is timed in a loop and under `vmap` gives the same, values and derivatives."""
    examples = row.examples[:: max(len(row.examples) // 4, 1)]
    for fun in (row.fun, fg.grad(row.fun)):
        np.testing.assert_allclose(fg.vmap(fun)(examples), [fun(x) for x in examples], rtol=1e-9, atol=1e-12)


def test_lane_splitting_runs() -> None:
    """The column of runs counts the paths that many examples take, and each example that runs alone."""
    assert lanes.runs_of(lanes.Row("piecewise", lanes.huber, np.repeat([-2.0, 0.5, 3.0], 8))) == 2
    assert lanes.runs_of(lanes.Row("piecewise", lanes.huber, np.repeat([-2.0, 0.5], [8, 3]))) == 4


sys.path.insert(0, str(BENCHMARKS))  # where a script finds its tasks
spelled = load("benchmark_loops", "loops.py")
sys.path.remove(str(BENCHMARKS))


@pytest.mark.parametrize("name", spelled.ROWS)
def test_loops(name: str) -> None:
    """Both spellings of a step give the task's value and derivatives."""
    size = 7
    params, constants = TASKS[name].inputs(np.random.default_rng(0), size)
    expected = TASKS[name].by_hand(*params, *constants)
    for call in spelled.spellings(name, size):
        assert libraries.distance(call(), expected) < 1e-10


def test_long_loops() -> None:
    """Checkpoints of the long loop change no digit that counts."""
    found = [spelled.long_loop(1000, checkpoint)() for checkpoint in spelled.CHECKPOINTS.values()]
    np.testing.assert_allclose(found[1:], [found[0]] * 3, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*different paths")
def test_lanes_of_loops() -> None:
    """Three ways to a thousand gradients give the same ones."""
    first, *others = [call() for call in spelled.lanes().values()]
    for found in others:
        np.testing.assert_allclose(found, first, rtol=1e-9)


compiling = load("benchmark_compiling", "compiling.py")


@pytest.mark.parametrize("row", compiling.ROWS, ids=lambda row: f"{row.name}-{row.size}")
def test_compiled(row: Any) -> None:
    """What is timed gives the derivative by hand, compiled or not."""
    x = compiling.argument(row)[:1000]
    compiled = fg.jit(fg.grad(row.function))
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), row.by_hand(x), rtol=1e-12)
    np.testing.assert_allclose(fg.grad(row.function)(x), row.by_hand(x), rtol=1e-12)
