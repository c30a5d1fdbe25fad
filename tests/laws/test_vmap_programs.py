"""vmap of random programs, with and without branches: a stack of lanes, in every composition with derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from tests.laws.programs import Program, programs

pytestmark = pytest.mark.usefixtures("both_paths")

quick = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])

N = 3
"""A batch size that is also a dimension of the programs' inputs."""


def lanes_of(f: Program, mapped: list[bool], seed: int) -> tuple[list[Any], list[list[Any]], tuple[int | None, ...]]:
    """The arguments of vmap, the arguments of each lane, and in_axes."""
    many = [f.inputs(seed + i) for i in range(N)]
    args = [np.stack([row[k] for row in many]) if is_mapped else many[0][k] for k, is_mapped in enumerate(mapped)]
    rows = [[x[i] if is_mapped else x for x, is_mapped in zip(args, mapped, strict=True)] for i in range(N)]
    return args, rows, tuple([0 if is_mapped else None for is_mapped in mapped])


def choice(data: Any, f: Program) -> list[bool]:
    mapped = data.draw(st.lists(st.booleans(), min_size=len(f.shapes), max_size=len(f.shapes)))
    mapped[data.draw(st.integers(0, len(mapped) - 1))] = True
    return mapped


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@quick
@given(programs(), st.data(), st.integers(0, 1000))
def test_programs(f: Program, data: Any, seed: int) -> None:
    """Values, gradients inside and outside, second derivatives, and two axes at once."""
    mapped = choice(data, f)
    args, rows, axes = lanes_of(f, mapped, seed)
    close(fg.vmap(f, axes)(*args), np.stack([np.asarray(f(*row)) for row in rows]))
    wrt = mapped.index(True)
    g = fg.grad(f.loss, wrt)
    lanes = np.stack([np.asarray(g(*row)) for row in rows])
    close(fg.vmap(g, axes)(*args), lanes)
    close(fg.grad(lambda *x: np.sum(fg.vmap(f.loss, axes)(*x)), wrt)(*args), lanes)
    h = fg.hessian(f.loss, wrt)
    close(fg.vmap(h, axes)(*args), np.stack([np.asarray(h(*row)) for row in rows]))
    twice = fg.vmap(fg.vmap(g, axes), axes)
    more = [np.stack([x, x[::-1], x]) if is_mapped else x for x, is_mapped in zip(args, mapped, strict=True)]
    close(twice(*more), np.stack([lanes, lanes[::-1], lanes]))


@quick
@given(programs(inputs=(1, 2), steps=4), st.data(), st.integers(0, 1000))
def test_programs_that_branch(f: Program, data: Any, seed: int) -> None:
    """An `if` and a `while` on mapped values take each lane its own way."""

    def branching(*x: Any) -> Any:
        total = f.loss(*x)
        n = 0
        while np.sum(x[0]) * 0 + total > 0.3 and n < 3:
            total, n = total * 0.5, n + 1
        if total < 0:
            return total * np.sum(np.cos(x[-1]))
        return total + n + np.sum(np.tanh(x[0]))

    mapped = choice(data, f)
    args, rows, axes = lanes_of(f, mapped, seed)
    wrt = mapped.index(True)
    close(fg.vmap(branching, axes)(*args), np.stack([np.asarray(branching(*row)) for row in rows]))
    g = fg.grad(branching, wrt)
    lanes = np.stack([np.asarray(g(*row)) for row in rows])
    close(fg.vmap(g, axes)(*args), lanes)
    close(fg.grad(lambda *x: np.sum(fg.vmap(branching, axes)(*x)), wrt)(*args), lanes)
    twice = fg.vmap(fg.vmap(g, axes), axes)
    more = [np.stack([x, x[::-1], x * 0.5]) if is_mapped else x for x, is_mapped in zip(args, mapped, strict=True)]
    half = np.stack([np.asarray(g(*[v * 0.5 if is_mapped else v for v, is_mapped in zip(row, mapped, strict=True)])) for row in rows])
    close(twice(*more), np.stack([lanes, lanes[::-1], half]))
