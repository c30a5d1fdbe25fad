"""What is counted of a program: equations, operations and bytes, without running it."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.program.stats import Stats, stats

A, B = np.ones((3, 4)), np.ones((4, 5))


def of(f, *args) -> Stats:
    return stats(fg.trace(f)(*args))


@pytest.mark.parametrize(
    ("f", "args", "flops"),
    [
        (lambda x: np.sin(x) + x, (np.ones(10),), 20),
        (lambda x: x + 1.0, (2.0,), 1),
        (lambda x: np.sum(x, axis=0), (A,), 12),
        (lambda x, y: x @ y, (A, B), 2 * 3 * 4 * 5),
        (lambda x, y: np.einsum("bij,bjk->bik", x, y), (np.ones((7, 3, 4)), np.ones((7, 4, 5))), 7 * 2 * 3 * 4 * 5),
        (lambda x: x.T.reshape(-1)[::2], (A,), 0),
        (np.fft.fft, (np.ones(8, complex),), 5 * 8 * 3),
        (lambda x: fg.scan(lambda c, row: (c + np.sum(row), None), 0.0, x)[0], (A,), 3 * 5),
        (lambda x: fg.cond(x[0] > 0, lambda y: y * 2.0 + 1.0, lambda y: y * 1.5, x), (np.ones(5),), 1 + 10),
        (np.linalg.solve, (np.eye(6), np.ones(6)), 2 * 6**3 // 3 + 2 * 36),
    ],
)
def test_flops(f, args, flops) -> None:
    """By the formulas of the docstring."""
    assert of(f, *args).flops == flops


def test_equations_before_and_after() -> None:
    """What is computed twice is counted twice before, and once after."""
    found = of(lambda x: np.sin(x) * np.sin(x), np.ones(3))
    assert (found.recorded, found.equations) == (3, 2)


def test_bytes_and_peak() -> None:
    """All that is made, and what is alive at once: views take nothing, and what is not read any more is dropped."""
    found = of(lambda x: np.sin(np.cos(np.exp(np.tanh(x).T))), np.ones((10, 10)))
    assert found.bytes == 4 * 800
    assert found.peak == 2 * 800
    kept = of(lambda x: (np.sin(x), np.cos(x), np.exp(x)), np.ones(100))
    assert kept.bytes == kept.peak == 3 * 800


def test_a_view_keeps_what_it_looks_into() -> None:
    """Dropping the array itself frees nothing as long as a part of it is read."""
    found = of(lambda x: np.exp(x)[:2] * np.sum(np.cos(np.sin(x))[:2]), np.ones(100))
    assert found.peak >= 3 * 800


def test_loops() -> None:
    """A loop needs what its step needs, once, and its results."""
    found = of(lambda x: fg.scan(lambda c, row: (c, np.exp(np.sin(row))), 0.0, x)[1], np.ones((10, 100)))
    assert 8000 + 800 <= found.peak <= 8000 + 3 * 800


def test_of_jit() -> None:
    """With the paths that are compiled by now; it compiles none itself."""
    f = fg.jit(lambda x: np.sum(x) if x[0] > 0 else x[0])
    x = np.ones(4)
    assert f.stats(x).paths == 0
    assert f.stats(x).guards == 1
    for _ in range(2):
        f(x)
        f(-x)
    assert f.stats(x).paths == 2


def test_repr() -> None:
    """It reads as a sentence."""
    made = Stats(recorded=1200, equations=1, guards=2, flops=1500, bytes=999, peak=2_500_000, paths=1)
    assert repr(made) == "1 equation (1,200 recorded), 2 guards; 1,500 flops, 999 bytes of intermediates, 2.5 MB at once; 1 path compiled"


def test_every_equation_can_be_counted() -> None:
    """Also those of derivatives."""
    found = of(fg.hessian(lambda x: np.sum(np.linalg.solve(np.outer(x, x) + np.eye(3), x) ** 2)), np.arange(3.0))
    assert found.flops > 0
    assert found.peak <= found.bytes
