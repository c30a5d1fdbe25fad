"""What the first issue pins: strong zero, borrows, interleaving, rotation matrices, long loops."""

from __future__ import annotations

import gc
import itertools
import math
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.laws.paths import PATHS

INF = math.inf
SMALL, LARGE = 4, 20_000  # elements: 32 bytes are copied, 160 kB are borrowed


@pytest.fixture(params=PATHS)
def path(request: Any) -> Iterator[None]:
    with PATHS[request.param]():
        yield


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12, atol=1e-14)


# ---- strong zero (Law, section 6)

Derivative = Callable[[Callable[..., Any]], Callable[..., Any]]


def pushed(f: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian, a column at a time, by `jvp`."""

    def columns(x: Any) -> Any:
        basis = np.eye(np.size(x)).reshape(-1, *np.shape(x))
        return np.stack([fg.jvp(f, (x,), (e,))[1] for e in basis], axis=-1)

    return columns


def replayed(f: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian, a column at a time, by `linearize`."""

    def columns(x: Any) -> Any:
        push = fg.linearize(f, x)[1]
        return np.stack([push(e) for e in np.eye(np.size(x)).reshape(-1, *np.shape(x))], axis=-1)

    return columns


def pulled(f: Callable[..., Any]) -> Callable[..., Any]:
    """The Jacobian, a row at a time, by `vjp`."""

    def rows(x: Any) -> Any:
        y, pull = fg.vjp(f, x)
        if not np.shape(y):
            return pull(1.0)[0]
        return np.stack([pull(e)[0] for e in np.eye(np.size(y)).reshape(-1, *np.shape(y))])

    return rows


FORWARD: dict[str, Derivative] = {"jacfwd": fg.jacfwd, "jvp": pushed, "linearize": replayed}
REVERSE: dict[str, Derivative] = {"grad": fg.grad, "vjp": pulled, "jacrev": fg.jacrev}
MODES = FORWARD | REVERSE


def pairs() -> list[tuple[str, str]]:
    """All (outer, inner) of the modes; `grad` is for scalars and cannot stand outside."""
    return [(outer, inner) for outer, inner in itertools.product(MODES, MODES) if outer != "grad"]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("outer", "inner"), pairs())
def test_the_hessian_of_squared_residuals_of_roots(outer: str, inner: str) -> None:
    """**Law** (strong zero): it is diag(½) at ones, in all pairs of modes, though every residual is zero there.

    A select in the place of `scale` would drop the term ct'·p, and give zeros.
    """
    f = lambda x: np.sum((np.sqrt(x) - 1) ** 2)
    same(MODES[outer](MODES[inner](f))(np.ones(3)), np.diag([0.5, 0.5, 0.5]))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("outer", "inner"), pairs())
def test_the_hessian_of_squared_residuals_beside_an_untaken_root(outer: str, inner: str) -> None:
    """**Law** (strong zero): the same, when an infinite slope elsewhere makes the walk strict."""

    def f(x: Any) -> Any:
        residual = np.sqrt(np.where(x > 0, x, 1.0)) - 1  # 0 where x is 1
        poison = np.where(x > 0, 0.0, np.sqrt(x))  # ∞ · 0 at x = 0, unless zeros are strong
        return np.sum(residual**2) + np.sum(poison * (x > 0))

    if inner in REVERSE and outer in REVERSE:
        same(MODES[outer](MODES[inner](f))(np.array([1.0, 0.0, 4.0])), np.diag([0.5, 0.0, 0.5 * 4**-1.5]))
    else:
        found = MODES[outer](MODES[inner](f))(np.array([1.0, 4.0]))
        same(found, np.diag([0.5, 0.5 * 4**-1.5]))


UNTAKEN: dict[str, tuple[Callable[[Any], Any], Any, Any, Any]] = {
    # f, x, f'(x), f''(x) element by element
    "sqrt": (lambda x: np.where(x > 0, np.sqrt(x), x * x), [0.0, 4.0, -3.0], [0.0, 0.25, -6.0], [2.0, -1 / 32, 2.0]),
    "log": (lambda x: np.where(x > 0, np.log(x), 3 * x), [0.0, 2.0, -1.0], [3.0, 0.5, 3.0], [0.0, -0.25, 0.0]),
    "1/x": (lambda x: np.where(x == 0, x**2, 1 / x), [0.0, 2.0], [0.0, -0.25], [2.0, 0.25]),
    "x**1.5": (lambda x: np.where(x > 0, x**1.5, 5 * x), [0.0, 4.0, -1.0], [5.0, 3.0, 5.0], [0.0, 0.375, 0.0]),
    "x**0.5": (lambda x: np.where(x > 0, x**0.5, 5 * x), [0.0, 4.0, -1.0], [5.0, 0.25, 5.0], [0.0, -1 / 32, 0.0]),
    "x**-2.0": (lambda x: np.where(x != 0, x**-2.0, 7 * x), [0.0, 2.0], [7.0, -0.25], [0.0, 0.375]),
    "exp": (lambda x: np.where(x < 700, np.exp(np.minimum(x, 700.0)), np.exp(x)), [0.0, 1.0], [1.0, math.e], [1.0, math.e]),
    "overflow": (lambda x: np.where(x > 100, 2 * x, np.exp(x)), [1.0, 800.0], [math.e, 2.0], [math.e, 0.0]),
    "arcsin": (lambda x: np.where(abs(x) < 1, np.arcsin(x), x), [1.0, 0.0, 2.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    "chain": (lambda x: np.where(x > 0, np.exp(np.sqrt(x)) / x, x), [0.0, 1.0, -1.0], [1.0, -math.e / 2, 1.0], None),
    "sinc": (lambda x: np.where(x == 0, 1.0, np.sin(x) / x), [0.0, math.pi], [0.0, -1 / math.pi], [0.0, 2 / math.pi**2]),
    "mask": (lambda x: np.log(x) [x > 0], [0.0, 2.0, -1.0], [0.0, 0.5, 0.0], [0.0, -0.25, 0.0]),
    "slice": (lambda x: np.sqrt(x)[1:], [0.0, 4.0, 1.0], [0.0, 0.25, 0.5], [0.0, -1 / 32, -0.25]),
    "index": (lambda x: (1 / x)[[1, 1]], [0.0, 2.0], [0.0, -0.5], [0.0, 0.5]),
    "select": (lambda x: np.select([x < 0, x > 0], [-x, np.sqrt(x)], 0.0), [0.0, 4.0, -2.0], [0.0, 0.25, -1.0], [0.0, -1 / 32, 0.0]),
    "maximum": (lambda x: np.maximum(np.sqrt(x), 1.0), [0.0, 4.0], [0.0, 0.25], [0.0, -1 / 32]),
    "times zero": (lambda x: np.sqrt(x) * np.array([0.0, 1.0]), [0.0, 4.0], [0.0, 0.25], [0.0, -1 / 32]),
}  # fmt: skip
"""Branches that were not taken, with slopes of inf and nan; the second derivative where there is one."""


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", UNTAKEN)
def test_a_branch_that_was_not_taken(name: str) -> None:
    """**Law** (strong zero): a cotangent of exactly zero stays zero, whatever the slope; no warning comes from the walk."""
    f, x, slope, curvature = UNTAKEN[name]
    x = np.array(x)
    with np.errstate(all="ignore"):
        same(fg.grad(lambda x: np.sum(f(x)))(x), slope)
        y, pull = fg.vjp(f, x)
        same(pull(np.ones_like(y))[0], slope)
        if curvature is not None:
            same(fg.grad(lambda x: np.sum(fg.grad(lambda x: np.sum(f(x)))(x)))(x), curvature)
            for outer, inner in itertools.product((fg.jacfwd, fg.jacrev), (fg.grad, fg.jacrev)):
                same(outer(inner(lambda x: np.sum(f(x))))(x), np.diag(curvature))
            same(fg.jacrev(fg.jacfwd(lambda x: np.sum(f(x))))(x), np.diag(curvature))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("outer", ["jacfwd", "jvp", "jacrev"])
def test_a_finite_slope_whose_own_slope_is_infinite(outer: str) -> None:
    """**Law** (strong zero): x**1.5 at 0 spoils no gradient, but would spoil its tangent, with no nan in any value."""
    f = lambda x: np.sum(np.where(x > 1, x**1.5, 5 * x))
    same(MODES[outer](fg.grad(f))(np.array([0.0, 4.0])), np.diag([0.0, 0.375]))
    same(MODES[outer](fg.grad(lambda x: np.where(x > 1, x**1.5, 5 * x)))(0.0), 0.0)
    same(MODES[outer](fg.grad(lambda x: np.where(x > 1, x**2.5, 5 * x)))(0.0), 0.0)
    third = MODES[outer](fg.jacrev(fg.grad(lambda x: np.sum(np.where(x > 1, x**2.5, x)))))(np.array([0.0, 4.0]))
    same(third, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.875 / 2]).reshape(2, 2, 2))


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("name", UNTAKEN)
def test_a_branch_that_was_not_taken_in_forward_mode(name: str) -> None:
    """`where`, slices and masks pick among tangents: what is not picked does not matter."""
    f, x, slope, _ = UNTAKEN[name]
    if name in ("times zero", "maximum"):
        return  # 0 · ∞ in the tangent itself: forward mode has no cotangent to be zero
    with np.errstate(all="ignore"):
        jacobian = np.stack([fg.jvp(f, (np.array(x),), (e,))[1] for e in np.eye(len(x))], axis=-1)
    same(jacobian.sum(0), slope)


@pytest.mark.usefixtures("path")
def test_nan_is_not_hidden() -> None:
    """Where a nan is the answer, it is given: strong zeros are for cotangents, not for partials."""
    with np.errstate(all="ignore"):
        assert np.isnan(fg.grad(lambda x: np.log(x) * x)(-1.0))
        assert np.isnan(fg.grad(lambda x: np.sum(x * np.array([math.nan, 1.0])))(np.ones(2))).tolist() == [True, False]
        assert fg.grad(np.sqrt)(0.0) == INF


# ---- borrows (section 7)

Use = Callable[[Any, Any], Any]


def views(n: int) -> dict[str, tuple[Any, Any]]:
    """What is captured, and who could write to it."""
    whole, owner, hidden, matrix = np.full(n, 3.0), np.full(2 * n, 3.0), np.full(n, 3.0), np.full((n, 2), 3.0)
    read_only = hidden.view()
    read_only.flags.writeable = False
    return {
        "itself": (whole, whole),
        "view": (owner[:n], owner),
        "read-only view": (read_only, hidden),
        "column": (matrix[:, 0], matrix),
    }


NAMES = list(views(1))


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("name", NAMES)
def test_a_captured_array_written_to_after_vjp(name: str, n: int) -> None:
    """**Law** (borrows): the write is refused while the pullback lives, or is not seen; afterwards the array is as before."""
    captured, owner = views(n)[name]
    _, pull = fg.vjp(lambda x: np.sum(np.sin(x * captured)), np.zeros(n))
    _write(owner, refused=n == LARGE)
    same(pull(1.0)[0], np.full(n, 3.0))
    del pull
    _write(owner, refused=False)


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("name", NAMES)
def test_a_captured_array_written_to_after_linearize(name: str, n: int) -> None:
    """**Law** (borrows): as for `vjp`."""
    captured, owner = views(n)[name]
    _, push = fg.linearize(lambda x: np.sin(x * captured), np.zeros(n))
    _write(owner, refused=n == LARGE)
    same(push(np.ones(n)), np.full(n, 3.0))
    same(push(np.full(n, 2.0)), np.full(n, 6.0))
    del push
    _write(owner, refused=False)


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("name", NAMES)
def test_a_captured_array_written_to_inside_grad(name: str, n: int) -> None:
    """**Law** (borrows): a large one refuses, and is given back in the door's `finally`; a small one serves as a buffer."""
    captured, owner = views(n)[name]

    def f(x: Any) -> Any:
        y = np.sum(x * captured)
        owner[...] = 5.0
        return y + np.sum(x * captured)

    if n == LARGE:
        with pytest.raises(ValueError, match="read-only"):
            fg.grad(f)(np.ones(n))
        same(owner, np.full(owner.shape, 3.0))
    else:
        same(fg.grad(f)(np.ones(n)), np.full(n, 8.0))
    _write(owner, refused=False)


def test_snapshot_copies_instead() -> None:
    """With `snapshot=True` nothing is locked, and nothing is seen."""
    for name in NAMES:
        captured, owner = views(LARGE)[name]
        _, pull = fg.vjp(lambda x, c=captured: np.sum(x * c), np.zeros(LARGE), snapshot=True)
        _write(owner, refused=False)
        same(pull(1.0)[0], np.full(LARGE, 3.0))


def test_indices_and_masks_are_borrowed_too() -> None:
    """**Law** (borrows): an index array written to later still points to where it pointed."""
    for n in (SMALL, LARGE):
        index, mask = np.zeros(n, int), np.ones(n, bool)
        _, pull = fg.vjp(lambda x, i=index, k=mask: np.sum(x[i]) + np.sum(x[k]), np.ones(n))
        for array in (index, mask):
            if array.nbytes > 65536:
                with pytest.raises(ValueError, match="read-only"):
                    array[:] = 1
            else:
                array[:] = False
        expected = np.ones(n)
        expected[0] += n
        same(pull(1.0)[0], expected)


def test_borrows_are_counted() -> None:
    """**Law** (borrows): what two pullbacks hold is free when both have died, in whatever order."""
    for first in (0, 1):
        c = np.ones(LARGE)
        pulls = [fg.vjp(lambda x, c=c: np.sum(x * c), np.ones(LARGE))[1] for _ in range(2)]
        assert not c.flags.writeable
        del pulls[first]
        assert not c.flags.writeable
        fg.grad(lambda x, c=c: np.sum(x * c))(np.ones(LARGE))
        assert not c.flags.writeable
        pulls.clear()
        assert c.flags.writeable


def _write(owner: Any, refused: bool) -> None:
    if refused:
        with pytest.raises(ValueError, match="read-only"):
            owner[...] = -1.0
    else:
        owner[...] = -1.0


# ---- interleaved transformations (section 4)


def test_a_generator_that_carries_a_tracer_out_of_its_transformation() -> None:
    """**Law** (older values only): a transformation that was begun inside a generator, and is not over, gives its tracer to another."""

    def steps() -> Iterator[Any]:
        def inner(y: Any) -> Any:
            box.append(y)
            return y**2

        fg.grad(inner)(2.0)
        yield box[-1]

    box: list[Any] = []
    with pytest.raises(errors.LeakedTracerError, match=r"^A tracer of grad\(inner\) \(test_pins.py:\d+\) was used after it ended\."):
        fg.grad(lambda x: x * next(steps()))(1.0)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("outer", [fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1]])
@pytest.mark.parametrize("inner", [fg.grad, lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1]])
def test_a_coroutine_resumed_inside_a_younger_transformation(outer: Any, inner: Any) -> None:
    """**Law** (older values only): the older one may not return what the younger one made, which is still open."""

    def older(x: Any) -> Any:
        return (yield x) * x

    def drive(x: Any) -> Any:
        run = older(x)
        next(run)

        def younger(y: Any) -> Any:
            try:
                run.send(y)
            except StopIteration as stop:
                taken.append(stop.value)
            return y * 2

        inner(younger)(3.0)
        return taken[-1]

    taken: list[Any] = []
    with pytest.raises(errors.LeakedTracerError, match="was used after it ended"):
        outer(drive)(1.0)


def test_two_transformations_taken_in_turns() -> None:
    """**Law** (older values only): two gradients driven step by step, each by its own generator, do not meet."""

    def worker(k: float) -> Iterator[Any]:
        """Nested derivatives between the steps; each is over before the next yield."""
        total = 0.0
        for i in range(5):
            total += fg.grad(lambda x, i=i: fg.grad(lambda y: k * x * y**2)(float(i)))(1.0)
            yield total

    turns = [list(t) for t in zip(worker(1.0), worker(10.0), strict=True)]
    assert turns == [[s, 10 * s] for s in (0.0, 2.0, 6.0, 12.0, 20.0)]


def test_a_younger_open_transformation_does_not_leak_into_an_older_one() -> None:
    """**Law** (older values only): an older door that is handed a tracer of a younger open transformation says so."""
    got: list[Any] = []
    entered, done = threading.Event(), threading.Event()

    def older(x: Any) -> Any:
        worker.start()
        entered.wait(10)
        return got[0]  # of the younger transformation, which the other thread holds open

    def younger(y: Any) -> Any:
        got.append(y * 2)
        entered.set()
        done.wait(10)
        return y

    worker = threading.Thread(target=lambda: fg.grad(younger)(1.0))
    try:
        with pytest.raises(errors.LeakedTracerError) as caught:
            fg.grad(older)(1.0)
    finally:
        done.set()
        worker.join()
    assert str(caught.value).endswith(
        " came out of an older transformation. A value may leave a transformation only through the function's return value, "
        "and not through generators, coroutines or threads that interleave two."
    )


# ---- the bridge (section 8)


@pytest.mark.usefixtures("path")
def test_rotation_matrices() -> None:
    """`np.array([[c, -s], [s, c]])` of traced numbers, under grad, jvp, and nested."""
    p, q = np.array([2.0, -1.0]), np.array([0.5, 3.0])

    def turned(t: Any) -> Any:
        c, s = np.cos(t), np.sin(t)
        return np.array([[c, -s], [s, c]]) @ p

    def expected(t: float, k: int) -> Any:
        """The k-th derivative turns by a quarter more."""
        c, s = math.cos(t + k * math.pi / 2), math.sin(t + k * math.pi / 2)
        return np.array([c * p[0] - s * p[1], s * p[0] + c * p[1]])

    f = lambda t: q @ turned(t)
    t = 0.7
    same(fg.grad(f)(t), q @ expected(t, 1))
    y, tangent = fg.jvp(turned, (t,), (2.0,))
    same(y, expected(t, 0))
    same(tangent, 2 * expected(t, 1))
    same(fg.jacrev(turned)(t), expected(t, 1))
    same(fg.jacfwd(turned)(t), expected(t, 1))
    for outer, inner in itertools.product((fg.grad, fg.jacfwd, fg.jacrev), repeat=2):
        same(outer(inner(f))(t), q @ expected(t, 2))
    same(fg.grad(fg.grad(fg.grad(f)))(t), q @ expected(t, 3))


# ---- a long loop

STEPS = 1_000_000


def test_a_loop_of_a_million_traced_operations() -> None:
    """Walked without recursion and freed by reference counting alone: with the collector off, memory comes back."""

    def f(x: Any) -> Any:
        y = x
        for _ in range(n):
            y = y * 0.999999 + 1e-6
        return y

    gc.collect()
    gc.disable()
    try:
        n = 10_000  # once before, so that CPython's lists of free tuples, which a collection empties, are full
        fg.grad(f)(1.0)
        n = STEPS // 2
        before = sys.getallocatedblocks()
        began = time.perf_counter()
        slope = fg.grad(f)(1.0)
        seconds = time.perf_counter() - began
        after = sys.getallocatedblocks()
    finally:
        gc.enable()
    assert slope == pytest.approx(0.999999**n, rel=1e-9)
    assert after - before < 1_000
    assert seconds < 30  # seconds, not minutes: half a microsecond per operation is the budget


def test_a_pullback_of_a_long_loop_frees_its_nodes_when_it_dies() -> None:
    """Without recursion in the destructor, and without the collector."""

    def f(x: Any) -> Any:
        for _ in range(100_000):
            x = np.sin(x)
        return x

    gc.collect()
    gc.disable()
    try:
        fg.vjp(f, 1.0)
        before = sys.getallocatedblocks()
        _, pull = fg.vjp(f, 1.0)
        assert sys.getallocatedblocks() - before > 100_000
        assert 0 < pull(1.0)[0] < 1
        del pull
        assert sys.getallocatedblocks() - before < 1_000
    finally:
        gc.enable()


def test_a_dead_branch_is_freed_at_once() -> None:
    """Nodes point to parents only: what leads nowhere does not wait for the door to close."""
    x = np.ones(LARGE)
    peaks = []

    def f(x: Any) -> Any:
        for _ in range(50):
            np.exp(np.sin(x) * 2)
        peaks.append(tracemalloc.get_traced_memory()[0])
        return np.sum(x)

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        fg.grad(f)(x)
    finally:
        tracemalloc.stop()
    assert peaks[0] - before < 10 * x.nbytes
