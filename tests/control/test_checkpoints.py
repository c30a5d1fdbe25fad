"""`checkpoint` of loops changes what reverse mode remembers, and nothing else."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.control.plain import close, loop

SCHEDULES = [1, 2, 3, 7, 100, fg.Binomial(1), fg.Binomial(2), fg.Binomial(3, 2), fg.Binomial(100), fg.Binomial(2, 100)]
LENGTHS = [0, 1, 2, 5, 12]
X = np.array([0.3, -0.7])


def body(c: Any, x: Any) -> Any:
    h = np.tanh(c["h"] * x + np.sin(c["h"][::-1]))
    return {"h": h, "n": c["n"] + 1}, {"y": h * x, "n": c["n"]}


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_scan(length: int, reverse: bool, schedule: Any) -> None:
    """Gradients through the carry, the ys, the xs and what is closed over; and second derivatives."""

    def f(x: Any, rows: Any, run: Any, **k: Any) -> Any:
        carry, ys = run(lambda c, r: body(c, r * x[0]), {"h": x, "n": 0}, rows, **k)
        return np.sum(carry["h"] ** 2) + (np.sum(np.cos(ys["y"]) * (1.0 + ys["n"])[:, None]) if length else 0.0)

    rows = np.linspace(-1, 1, 2 * length).reshape(length, 2)
    mine = lambda x, r: f(x, r, fg.scan, reverse=reverse, checkpoint=schedule)
    plain = lambda x, r: f(x, r, fg.scan if not length else loop, reverse=reverse)
    close(fg.value_and_grad(mine, (0, 1))(X, rows), fg.value_and_grad(plain, (0, 1))(X, rows))
    move = (X + 1, rows + 1)
    close(fg.jvp(fg.grad(mine, (0, 1)), (X, rows), move), fg.jvp(fg.grad(plain, (0, 1)), (X, rows), move))
    if length < 6:
        close(fg.grad(lambda x: fg.grad(mine)(x, rows) @ X)(X), fg.grad(lambda x: fg.grad(plain)(x, rows) @ X)(X))
        close(fg.vmap(fg.grad(mine), (0, None))(np.stack([X, -X, X]), rows)[1], fg.grad(plain)(-X, rows))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_strong_zeros(schedule: Any) -> None:
    """An infinite partial behind a mask, in a step that runs again."""
    careless = lambda c, x: (c + np.where(x > 0, np.sqrt(x), 0.0), None)
    with np.errstate(all="ignore"):
        close(fg.grad(lambda x: fg.scan(careless, 0.0, x, checkpoint=schedule)[0])(np.array([0.0, 4.0, 0.0])), np.array([0.0, 0.25, 0.0]))


def peak(checkpoint: Any, length: int) -> int:
    """Bytes that a gradient of a loop over 2,000 numbers needs at most."""
    f = lambda x: np.sum(fg.scan(lambda c, _: (np.sin(c) + c * 0.5, None), x, None, length, checkpoint=checkpoint)[0])
    x = np.ones(2000)
    fg.grad(f)(x)
    tracemalloc.start()
    try:
        fg.grad(f)(x)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory() -> None:
    """Everything: linear in the steps. Every √n: a multiple of √n. Binomial: as many carries as it says."""
    carry = 16_000
    everything, root, few = (peak(c, 400) for c in (None, 20, fg.Binomial(5)))
    assert everything > 400 * carry
    assert root < 100 * carry
    assert few < 30 * carry
    assert peak(fg.Binomial(5), 800) < few * 1.2


def test_runs() -> None:
    """The more snapshots, the fewer runs."""
    steps: list[int] = []
    told = fg.custom_jvp(lambda c: steps.append(1) or c * 1.0)
    told.defjvp(lambda p, t: (told(p[0]), t[0]))
    counts = []
    for schedule in (fg.Binomial(3), fg.Binomial(100)):
        f = lambda x, schedule=schedule: fg.scan(lambda c, _: (told(c), None), x, None, 35, checkpoint=schedule)[0]
        steps.clear()
        assert fg.grad(f)(1.0) == 1.0
        counts.append(len(steps))
    assert counts[0] > counts[1]


@pytest.mark.parametrize("schedule", [fg.Binomial(2), fg.Binomial(3, 2), 5], ids=str)
def test_equality(schedule: Any) -> None:
    """Schedules are data: a program that holds one can be compared, and found again."""
    if not isinstance(schedule, int):
        assert schedule == type(schedule)(schedule.snapshots, schedule.steps)
        assert hash(schedule) == hash(type(schedule)(schedule.snapshots, schedule.steps))
