"""Generated code gives the bits that the equations give one by one, whatever it does to be quick."""

from __future__ import annotations

import gc
import linecache
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core import Label
from funcgrad.program import clusters, maps
from funcgrad.program.codegen import compiled, source
from funcgrad.program.evaluate import evaluate
from funcgrad.program.program import Program
from funcgrad.program.threads import spread
from funcgrad.transforms.record import record

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

LABEL = Label("trace", "f", "here.py", 1)
TILE, LEAST = maps.TILE, maps.LEAST
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, -1.0]


@pytest.fixture(autouse=True)
def threads_for_all_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the work is too little to be worth it."""
    monkeypatch.setattr(clusters, "MANY", 0)


def recorded(f: Callable[..., Any], *args: Any) -> tuple[Program, list[Any]]:
    r = record(LABEL, lambda xs: f(*xs), list(args))
    return r.program, [*args, *r.operands]


def assert_same(f: Callable[..., Any], *args: Any, tiled: bool | None = None) -> None:
    """By one thread and by three, the bits of the equations: nan is nan, whichever."""
    program, values = recorded(f, *args)
    expected = evaluate(program, values)
    before = [np.array(x) for x in values]
    for threads in (1, 3):
        function = compiled(program, threads)
        for a, b in zip(function(*values), expected, strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_array_equal(plain_bits(a), plain_bits(b))
    for x, y in zip(values, before, strict=True):
        assert np.asarray(x).tobytes() == y.tobytes(), "an input was written to"
    if tiled is not None:
        assert ("def tiles_0" in source(program)) == tiled


def plain_bits(x: Any) -> Any:
    """The bits, with one nan for all."""
    x = np.array(x, order="C")
    if x.dtype.kind == "c":
        x = np.stack([x.real, x.imag])
    if x.dtype.char == "g":  # beside their bits these have some that mean nothing
        x = np.stack([x.astype(float), (x - x.astype(float)).astype(float)])
    if x.dtype.kind == "f":
        x[np.isnan(x)] = np.nan
    return x.reshape(-1).view(np.uint8)


def numbers(n: int | tuple[int, ...], seed: int = 0, dtype: Any = float) -> Any:
    """Random, with what is special among them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    if np.dtype(dtype).kind == "c":
        return (x + 1j * rng.normal(size=n)).astype(dtype)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-5, 6, n).astype(dtype)
    flat = x.reshape(-1)
    if len(flat):
        flat[rng.integers(0, len(flat), len(flat) // 8 + 1)] = rng.choice(SPECIAL, len(flat) // 8 + 1)
    return x.astype(dtype)


SIZES = [LEAST, LEAST + 1, LEAST + 63, LEAST + TILE // 2, 5 * TILE - 1, 5 * TILE + 65]
"""Around the size from which there are tiles, and around their borders."""


def chain(x: Any, y: Any) -> Any:
    a = np.exp(-x * x) * y + np.sqrt(np.abs(y))
    return [np.where(a > x, a, -x), np.tanh(a) / y, np.sum(a)]


def differences(x: Any) -> Any:
    d = x[1:] - x[:-1]
    return np.sum(d[1:] * d[:-1] + d[1:] ** 2)


def diffused(x: Any) -> Any:
    for _ in range(3):
        x = np.concatenate([x[:1], x[1:-1] + 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2]), x[-1:]])
    return np.sum(x * x)


# ---- bits


@pytest.mark.parametrize("n", [0, 1, 7, 1000, *SIZES])
def test_chains(n: int) -> None:
    """Of any length; in tiles where they are long."""
    assert_same(chain, numbers(n), numbers(n, 1), tiled=n >= LEAST)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, complex, np.complex64, np.int64, np.int8, np.longdouble])
def test_dtypes(dtype: Any) -> None:
    """Each in its own loops, and through casts into another."""
    x, y = numbers(SIZES[4], 0, dtype), numbers(SIZES[4], 1, dtype)
    assert_same(lambda x, y: [x * y - x, (x + y).astype(np.complex128) * 2, np.where(x == y, x, y + 1)], x, y, tiled=True)


def test_parts_of_complex_numbers() -> None:
    """They are views of what would be written over."""

    def f(x: Any, y: Any) -> Any:
        z = x * y
        real, imag = np.real(z), np.imag(z)
        w = np.exp(z * y) - x
        return [np.abs(w) * real + imag, np.real(w * 2)]

    assert_same(f, numbers(SIZES[1], 0, complex), numbers(SIZES[1], 1, complex), tiled=True)
    assert_same(f, numbers(50, 0, complex), numbers(50, 1, complex))


@pytest.mark.parametrize("n", [2, 3, 10, *SIZES])
@pytest.mark.parametrize("f", [differences, diffused])
def test_overlapping_slices(f: Any, n: int) -> None:
    """Their gradients add up what is shifted; at the borders of tiles in the order that whole arrays have."""
    x = np.random.default_rng(3).normal(size=n)
    x[:: max(n // 50, 1)] = -0.0
    assert_same(lambda x: [f(x), fg.grad(f)(x)] if n > 2 or f is differences else x, x)


def test_negative_zeros_in_sums_of_pads() -> None:
    """-0.0 stays where all terms have it, and is 0.0 where one has padding."""
    for n in (4, LEAST + 5):

        def f(x: Any, y: Any) -> Any:
            return fg.vjp(lambda z: [z[1:], z[:-1], z[2:]], x)[1]([x[1:] * y, x[:-1] * y, x[2:] * y])

        assert_same(f, np.full(n, -0.0), 1.0)
        assert_same(f, np.arange(n) % 3 * -0.0, 1.0)


ROWS = LEAST // 8 + 3


@pytest.mark.parametrize("layout", [lambda x: x, np.asfortranarray, lambda x: x[:, ::-1], lambda x: np.repeat(x, 2, 1)[:, ::2]])
def test_two_axes(layout: Any) -> None:
    """Rows, columns and scalars broadcast, whatever the order in memory; sums run along it."""

    def f(x: Any, row: Any, column: Any) -> Any:
        y = np.sin(x) * row + column / x
        z = y[1:, 2:] - y[:-1, :-2]
        return [y, np.sum(y), np.sum(z * z, axis=0), np.max(y, axis=1)]

    x = layout(np.random.default_rng(0).normal(size=(ROWS, 8)))
    assert_same(f, x, numbers(8), numbers((ROWS, 1)), tiled=True)


@pytest.mark.parametrize("shape", [(3, LEAST), (2, 100, 700), (LEAST, 1), (300, 15_000), (5, 20_000, 1)])
def test_shapes(shape: tuple[int, ...]) -> None:
    """Cut along whichever axis."""
    x = np.random.default_rng(0).normal(size=shape)
    assert_same(lambda x, y: [(x * y - 1.5) ** 2.0 / (x + y), np.sum(np.exp(x), axis=-1)], x, x[:, :1] + 1, tiled=True)


def stencil(x: Any) -> Any:
    inner = x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]
    return np.sum(inner * inner)


@pytest.mark.parametrize("shape", [(5, 6), (300, 301), (70, 1000), (40, 9000), (4, 40_000)])
def test_stencils(shape: tuple[int, int]) -> None:
    """Of two axes, and their gradients."""
    assert_same(lambda x: [stencil(x), fg.grad(stencil)(x)], np.random.default_rng(1).normal(size=shape))


def test_far_shifts_in_short_tiles() -> None:
    """A tile of a single long row is no place for what is shifted by two."""

    def f(x: Any, y: Any) -> Any:
        return fg.vjp(lambda z: [z[2:, 1:], z[:-1]], x)[1]([y[2:, 1:], np.sin(y[:-1])])[0] + x

    x = np.random.default_rng(0).normal(size=(39, 9918))
    assert_same(f, x, x + 1)


def random_function(rng: np.random.Generator, steps: int = 14) -> Callable[[Any, Any, Any], Any]:
    """Maps, slices, sums and pads in any order."""
    ways = rng.integers(0, 10, steps)
    picks = rng.integers(0, 1 << 30, (steps, 2))
    cuts = rng.integers(0, 4, (steps, 2))

    def f(x: Any, y: Any, s: Any) -> Any:
        made = [x, y]
        for way, (a, b), (c, d) in zip(ways, picks, cuts, strict=True):
            u, v = made[a % len(made)], made[b % len(made)]
            n = min(u.shape[0], v.shape[0])
            u, v = u[:n], v[v.shape[0] - n :]
            if way < 3:
                made.append([u * v, u - v, np.maximum(u, v)][way])
            elif way < 5:
                made.append(np.sin(u) if way == 3 else np.where(u > v, u, v * s))
            elif way < 7:
                made.append(u[c : n - d])
            elif way == 7:
                made.append(u * s + np.sum(v))
            else:
                made.append(
                    fg.vjp(lambda z, c=c, d=d, n=n: [z[c : n - d] * 2, z[d:], z], u)[1]([v[c : n - d], u[d:], v])[0] if way == 8 else -u
                )
        return [made[-1], made[-2], np.sum(made[-3])]

    return f


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int) -> None:
    """Small, and long enough for tiles."""
    rng = np.random.default_rng(seed)
    f = random_function(rng)
    for n in (40, LEAST + 40 + seed, int(rng.integers(LEAST + 100, 6 * TILE))):
        assert_same(f, numbers(n, seed), numbers(n, seed + 100), np.float64(-0.5))


def test_aliased_inputs() -> None:
    """One array for two inputs, a view of the other, read backwards."""
    x = numbers(LEAST + 9)
    assert_same(chain, x, x, tiled=True)
    assert_same(chain, x[:-1], x[1:])
    assert_same(chain, x, x[::-1])


# ---- threads


def test_one_function_in_many_threads() -> None:
    """Buffers are the call's own."""
    program, _ = recorded(chain, *[np.ones(LEAST + 100)] * 2)
    function = compiled(program, 2)
    given = [(numbers(LEAST + 100, k), numbers(LEAST + 100, k + 50)) for k in range(8)]
    expected = [evaluate(program, g) for g in given]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(5):
            for a, b in zip(function(*given[k]), expected[k], strict=True):
                if plain_bits(a).tobytes() != plain_bits(b).tobytes():
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_processes_make_their_own_threads() -> None:
    """The parent's are not there."""
    program, values = recorded(chain, numbers(LEAST), numbers(LEAST, 1))
    function = compiled(program, 3)
    expected = function(*values)
    pid = os.fork()
    if not pid:
        same = all(plain_bits(a).tobytes() == plain_bits(b).tobytes() for a, b in zip(function(*values), expected, strict=True))
        os._exit(0 if same else 1)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_what_raises_in_a_tile(threads: int) -> None:
    """The caller's errstate holds in all threads, what is raised arrives, and nothing is left behind."""
    x = np.ones(8 * TILE)
    program, values = recorded(lambda x: np.log(1 / x) + x, x)
    function = compiled(program, threads)
    x[5 * TILE] = 0.0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        function(*values)
    with np.errstate(divide="ignore"):
        assert function(*values)[0][5 * TILE] == np.inf
    y = np.ones(8 * TILE)
    y[7 * TILE] = 0.0
    gone = weakref.ref(y)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        function(y)
    del y
    gc.collect()
    assert gone() is None


def test_nothing_is_left_at_exit() -> None:
    """A program ends while its threads wait for work."""
    code = "import numpy as np; from funcgrad.program.threads import spread; import time\n"
    code += "print(spread(lambda tiles: (any([time.sleep(0.01) for _ in tiles]),), [(0, 1)] * 9, 3))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(False,)\n", "")


def test_tiles_within_tiles() -> None:
    """Who asks for help while helping waits for nobody who has not begun."""

    def inner(tiles: Any) -> tuple[bool, ...]:
        return (sum(1 for _ in tiles) > 0,)

    def outer(tiles: Any) -> tuple[bool, ...]:
        return (any(spread(inner, [(0, 1)] * 5, 4)[0] for _ in tiles),)

    assert spread(outer, [(0, 1)] * 40, 4) == (True,)


# ---- small work


def test_writing_over_what_is_dead() -> None:
    """Not over inputs, outputs, or what a view is of."""

    def f(x: Any, y: Any) -> Any:
        a = x * y
        b = a + x
        c = b[1:5].reshape(2, 2)
        d = np.exp(b) - b
        e = np.maximum(d * 2, y) - d
        return [a, c, np.sum(e), e[::-1], np.negative(-(x + y))]

    for n in (5, 8, 40, 5000):
        assert_same(f, numbers(n), numbers(n, 1))
    assert "out=" in source(recorded(f, numbers(40), numbers(40))[0])


@pytest.mark.parametrize("n", [1, 3, 1000, 50_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squares(n: int, dtype: Any) -> None:
    """NumPy's loop for the exponent 2.0 multiplies."""
    with np.errstate(all="ignore"):
        assert_same(lambda x: [x**2.0, np.power(x, 2)], (numbers(n) * np.exp(50 * numbers(n, 1))).astype(dtype))


@pytest.mark.parametrize("shape", [(7,), (1000,), (3, 4), (400, 5), (400, 8), (4, 3, 6)])
def test_reductions(shape: tuple[int, ...]) -> None:
    """Over all axes and over the last, in their shortest spelling."""

    def f(x: Any) -> Any:
        made = [r(x, axis=axis) for r in (np.sum, np.mean, np.max, np.min, np.prod) for axis in (None, -1, 0)]
        return [*made, np.any(x > 0), np.dot(x[0], x.T) if x.ndim == 2 else x]

    assert_same(f, np.random.default_rng(0).normal(size=shape))


def test_names_of_many_sums() -> None:
    """A view and a constant are never called the same."""

    def f(x: Any) -> Any:
        y = x
        for k in range(12):
            y = y * (k + 0.5)
        return np.sum(y[1:] * y[:-1]) + np.sum(y[2:] / 3.5)

    assert_same(lambda x: [fg.grad(f)(x)], np.arange(6.0) + 1)
    for count in range(26):
        assert_same(lambda x, count=count: [*[x * (k + 0.5) for k in range(count)], fg.grad(f)(x)], np.arange(6.0) + 1)


# ---- memory


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def peak_of(function: Any, *values: Any) -> int:
    """Bytes of a later call."""
    function(*values)
    tracemalloc.start()
    function(*values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_large_work_takes_the_memory_of_its_results() -> None:
    """And of a few tiles."""
    n = 20 * TILE
    program, values = recorded(fg.grad(rosenbrock), np.ones(n))
    function = compiled(program, 1)
    assert peak_of(function, *values) < 8 * n + 5 * 8 * TILE


def test_what_is_used_no_more_is_let_go() -> None:
    """Also where there are no tiles."""
    n = 1 << 18
    program, values = recorded(lambda x: [x[np.argsort(x[np.argsort(x[np.argsort(-x)])])]], np.arange(float(n)))
    function = compiled(program, 1)
    tracemalloc.start()
    function(*values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.5 * 8 * n


def test_compiled_functions_are_let_go() -> None:
    """With the text that tracebacks show."""
    count = len(linecache.cache)
    compiled.cache_clear()
    for k in range(1200):
        program, values = recorded(lambda x, k=k: x + float(k), np.float64(1.0))
        assert compiled(program)(*values)[0] == k + 1.0
    gc.collect()
    assert len(linecache.cache) <= count + 1024
    compiled.cache_clear()
    gc.collect()
    assert len(linecache.cache) <= count


@pytest.mark.parametrize("before", range(12))
def test_names_of_views_are_their_own(before: int) -> None:
    """The parts of a buffer, which may be the variable `k_`, are not called as the constants are, `k_0`."""

    def f(x):
        for _ in range(before):
            x = np.sin(x)
        return np.pad(x[:2] * 3.0, (1, 2)) + np.pad(x[2:] * 5.0, (2, 2)) + np.pad(x * 7.0, (1, 1))

    x = np.array([0.5, 1.0, 2.0])
    assert compiled(fg.trace(f)(x).closed)(x)[0].tolist() == f(x).tolist()


def test_a_long_sum_of_parts_is_one_buffer() -> None:
    """All terms are added at their places, in the order of the sum; a sum that something else reads as well stays."""
    x = np.array([0.1, -0.3, 0.7])
    f = fg.grad(lambda x: sum([np.sin(x[i % 3] * (i + 1.0)) * x[(i + 1) % 3] for i in range(20)]))
    assert_same(f, x)
    assert source(recorded(f, x)[0]).count("zeros") == 1

    def twice(x: Any) -> Any:
        pull = fg.vjp(lambda y: (y[0:3], y[1:4], y[2:5], y[3:6]), np.zeros(6))[1]
        (s,) = pull((x, x, x, x))
        return s, s + pull((x, x * x, x, x))[0]

    assert_same(twice, x)
