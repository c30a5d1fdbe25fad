"""Every case of the registry under `jit`: the function's own values at every call, and its derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import pytree
from tests.ops.cases import CASES
from tests.ops.kit import Case
from tests.ops.problem import Problem, copied, problem, random_like
from tests.program.test_laws import assert_bits, numbers

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # NumPy's own, from inputs at edges
    pytest.mark.filterwarnings("ignore:.* runs as it is:UserWarning"),
]

PARTS = 16
"""A test is a part of the cases: one test per case would take longer to collect and report than to run."""

parts = pytest.mark.parametrize("n", range(PARTS))


def part(n: int, cases: Iterable[Case]) -> list[Case]:
    return list(cases)[n::PARTS]


def types_of(tree: Any) -> list[type]:
    """What has no axes is a scalar."""
    return [type(x[()]) if isinstance(x, np.ndarray) else type(x) for x in pytree.leaves(tree)]


@parts
def test_values(n: int) -> None:
    """Recorded twice, then compiled: the same tree, types, dtypes and bits each time; what leaves is frozen, and nobody else's memory."""
    for case in part(n, CASES):
        p = problem(case)
        expected = fg.vjp(p.call, *map(copied, p.x))[0] if case.tol and p.x else p.call(*map(copied, p.x))
        f = fg.jit(p.call)
        for k in range(3):
            out = f(*p.x)
            assert pytree.structure(out) == pytree.structure(p.out), case.name
            assert_bits(numbers(out), numbers(expected), f"{case.name}, call {k}")
            if case.name.partition("-")[0] != "count_nonzero" or isinstance(np.count_nonzero([1]), np.integer):
                # NumPy 2.0 counts in Python's numbers where there is no axis.
                assert types_of(out) == types_of(p.call(*map(copied, p.x))), f"{case.name}, call {k}"
            assert not any(np.may_share_memory(y, x) for y in numbers(out) for x in p.x), f"{case.name} gives its input's memory"


@parts
def test_gradients(n: int) -> None:
    """The pull of a compiled function is that of the function, and compiled itself gives the same."""
    for case in part(n, [c for c in CASES if not c.values_only]):
        p = problem(case)
        if not p.x:
            continue
        ct = list(random_like(p(*p.x), 5))
        expected = p.pull(ct)(*p.x)
        for what, found in (("grad(jit f)", pull(fg.jit(p.__call__), ct)), ("jit(grad f)", fg.jit(pull(p.__call__, ct)))):
            for k in range(3):
                assert_same(found(*p.x), expected, f"{what} of {case.name}, call {k}", p)


def pull(f: Any, ct: list[Any]) -> Any:
    return lambda *x: list(fg.vjp(f, *x)[1](ct))


@parts
def test_tangents(n: int) -> None:
    """Forward over a compiled function, in a third of the cases: the tangents of a program are made as its pull is."""
    for case in part(n, [c for c in CASES if not c.values_only])[::3]:
        p = problem(case)
        if not p.x:
            continue
        v = random_like(p.x, 2)
        expected = fg.jvp(p.__call__, p.x, v)[1]
        f = fg.jit(p.__call__)
        for k in range(3):
            assert_same(fg.jvp(f, p.x, v)[1], expected, f"jvp(jit f) of {case.name}, call {k}", p)


def assert_same(found: Any, expected: Any, what: str, p: Problem) -> None:
    """But for the order of sums."""
    found, expected = list(map(np.asarray, found)), list(map(np.asarray, expected))
    assert len(found) == len(expected), what
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{what}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        size = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
        rtol = 1e3 * float(np.finfo(b.dtype).eps)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * (size + 1), err_msg=what)


@parts
def test_lanes(n: int) -> None:
    """`vmap(jit f)` is `vmap(f)`, also where lanes part."""
    for case in part(n, [c for c in CASES if not c.values_only]):
        p = problem(case)
        if not p.x:
            continue
        lanes = [np.stack([x, 0.75 * x, x]) for x in p.x]
        try:
            expected = fg.vmap(p.__call__)(*lanes)
        except Exception:  # what has no lanes, or other shapes in each
            continue
        f = fg.jit(p.__call__)
        for k in range(3):
            assert_same(fg.vmap(f)(*lanes), expected, f"vmap(jit f) of {case.name}, call {k}", p)
