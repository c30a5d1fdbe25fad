"""Programs in blocks of lanes: the bits, and the order in memory, of the equations one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core import Label
from funcgrad.program.codegen import Missed, compiled
from funcgrad.program.evaluate import evaluate
from funcgrad.program.lanes import lanes_of
from funcgrad.program.lanes_code import in_lanes
from funcgrad.program.passes import simplified
from funcgrad.program.program import Program
from funcgrad.transforms.record import record
from tests.program.test_codegen import plain_bits

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, -1.0]


def recorded(f: Callable[..., Any], *args: Any) -> tuple[Program, list[Any]]:
    r = record(Label("trace", "f", "here.py", 1), lambda xs: f(*xs), list(args))
    return r.program, [*args, *r.operands]


def is_in_lanes(program: Program) -> bool:
    return lanes_of(simplified(program)) is not None


def assert_same(f: Callable[..., Any], *args: Any, lanes: bool | None = True) -> None:
    program, values = recorded(f, *args)
    assert lanes is None or is_in_lanes(program) == lanes
    before = [np.array(x) for x in values]
    for a, b in zip(compiled(program)(*values), evaluate(program, values), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(plain_bits(a), plain_bits(b))
        assert np.array(a).strides == np.array(b).strides
    for x, y in zip(values, before, strict=True):
        assert np.asarray(x).tobytes() == y.tobytes(), "an input was written to"


def lanes_with(n: int, *shape: int, dtype: Any = float, seed: int = 0, special: bool = True) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, *shape)).astype(dtype)
    if special:
        x.flat[:: max(x.size // 50, 1)] = np.resize(SPECIAL, len(x.flat[:: max(x.size // 50, 1)])).astype(dtype)
    return x


class Random:
    """A random program over arrays (n, 2, 3), (n, 3) and (n,): each step takes what was made before."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, x: Any, y: Any, z: Any) -> Any:
        rng = np.random.default_rng(self.seed)
        a, b, c = [x, x * y[:, None]], [y, z[:, None] * y], [z, np.sqrt(z)]

        def one(known: list[Any]) -> Any:
            return known[rng.integers(len(known))]

        for _ in range(14):
            k = rng.integers(10)
            if k == 0:
                a.append(one(a) * one(b)[:, None] + one(a))
            elif k == 1:
                a.append(np.stack([one(b), one(b) - one(c)[:, None]], axis=1))
            elif k == 2:
                b.append(np.sum(np.swapaxes(one(a), 1, 2) if rng.integers(4) == 0 else one(a), axis=-1)[:, :1] / one(b))
            elif k == 3:
                c.append(np.sum(one(b), axis=-1))
            elif k == 4:
                b.append(np.stack([one(c), np.sin(one(c)), one(c) ** 2], axis=-1))
            elif k == 5:
                v = one(b)
                c.append(np.where(v[:, 0] > v[:, 1], np.exp(v[:, 2]), one(c)))
            elif k == 6:
                b.append(np.concatenate([one(b)[:, 1:], one(a)[:, 1, :1]], axis=1))
            elif k == 7:
                a.append(one(a).reshape(-1, 3, 2).reshape(-1, 2, 3) - TABLE)
            elif k == 8:
                a.append(np.pad(one(b)[:, None, 1:], ((0, 0), (1, 0), (0, 1))) + np.pad(one(a)[:, :1], ((0, 0), (0, 1), (0, 0))))
            else:
                b.append(np.maximum(one(b), WEIGHTS) / (1.0 + one(c)[:, None] ** 2))
        return a[-1], b[-1], c[-1], np.sum(a[-1] * b[-1][:, None], axis=-1)


TABLE = np.array([[1.0, -0.0, 0.0], [0.5, 2.0, -3.0]])
WEIGHTS = np.array([0.1, -0.0, 3.0])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_random_programs_have_the_bits_and_the_order_of_whole_arrays(seed: int, dtype: Any) -> None:
    """In one block and in several, also of special values."""
    f = Random(seed)
    for n in (64, 3000):
        x, y, z = lanes_with(n, 2, 3, dtype=dtype), lanes_with(n, 3, dtype=dtype, seed=1), lanes_with(n, dtype=dtype, seed=2)
        program, _ = recorded(f, x, y, z)
        assert_same(f, x, y, z, lanes=is_in_lanes(program))


def test_most_random_programs_are_in_lanes() -> None:
    """Else their bits would say little."""
    args = lanes_with(64, 2, 3), lanes_with(64, 3), lanes_with(64)
    assert sum(is_in_lanes(recorded(Random(seed), *args)[0]) for seed in range(12)) > 6


@pytest.mark.parametrize("seed", range(6))
def test_jacobians_under_vmap(seed: int) -> None:
    """The programs this is for: all that stands in a pull over lanes is done in lanes."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=3)

    def f(p: Any) -> Any:
        a, b = p[:3], p[3:5]
        r = np.sqrt(np.sum(a * a))
        q = a[:2] / a[2] * (1.0 + p[5] * r) + b
        return np.stack([q[0] * np.cos(r), q[1] * w[0]]) - b * np.sin(p[6])

    n = [64, 100, 511, 4000, 65, 9000][seed]
    assert_same(fg.vmap(fg.jacrev(f)), lanes_with(n, 7, seed=seed, special=False))


@pytest.mark.parametrize("terms", range(1, 10))
def test_sums_of_up_to_seven_terms(terms: int) -> None:
    """Eight are added in pairs where they stand side by side: that is done afterwards."""

    def f(x: Any, y: Any) -> Any:
        z = x * y[:, None] - y[:, None] * x[:, :1]
        return np.sum(np.sin(z), axis=-1), np.sum(z * y[:, None] + x[:, :1], axis=-1)

    x = lanes_with(500, terms)
    x[3], x[4] = -0.0, 0.0
    assert_same(f, x, lanes_with(500, seed=1), lanes=True if terms <= 7 else None)
    zeros = np.full((500, terms), -0.0)
    assert_same(f, zeros, np.full(500, 1.0), lanes=True if terms <= 7 else None)


def rotated(x: Any, y: Any) -> Any:
    a, b = x[:, :1], x[:, 1:2]
    return np.concatenate([a * y - b * y[:, :1], a * y + b * y], axis=1) / np.sum(y * y, axis=1, keepdims=True)


def test_other_orders_in_memory_keep_theirs() -> None:
    """The results of such arrays have another order as well, and so what comes after has other bits."""
    x, y = lanes_with(1000, 2), lanes_with(1000, 2, seed=1)
    assert_same(rotated, x, y)
    for other in (np.asfortranarray(x), x[::-1], lanes_with(2000, 4)[::2, ::2], lanes_with(2, 1000).T, np.broadcast_to(x[:1], (1000, 2))):
        assert_same(rotated, other, y)
        assert_same(rotated, y, other)


def test_what_is_the_same_for_all_lanes_is_done_once() -> None:
    """Also products of matrices."""
    m = np.random.default_rng(0).normal(size=(2, 2))

    def f(x: Any, y: Any, w: Any) -> Any:
        return rotated(x, y) @ np.eye(4) if w.ndim == 1 else rotated(x * (w @ m)[0], y) * (w @ w).reshape(4)

    args = lanes_with(1000, 2), lanes_with(1000, 2, seed=1)
    assert_same(f, *args, m)
    assert_same(f, *args, m[0])


@pytest.mark.parametrize("f", [
    lambda x, y: np.sum(rotated(x, y)),
    lambda x, y: np.sum(rotated(x, y), axis=0),
    lambda x, y: rotated(x, y)[::-1],
    lambda x, y: rotated(x, y).T,
    lambda x, y: np.cumsum(rotated(x, y), axis=0),
    lambda x, y: rotated(x, y).reshape(-1),
    lambda x, y: np.max(rotated(x, y), axis=1),
    lambda x, y: rotated(x, y)[1:] - rotated(x, y)[:-1],
    lambda x, y: rotated(x + 1j, y),
])  # fmt: skip
def test_what_mixes_lanes_comes_before_or_after(f: Callable[..., Any]) -> None:
    """Or has bits that depend on the order in memory, or changes it."""
    assert_same(f, lanes_with(1000, 2, special=False), lanes_with(1000, 2, seed=1, special=False), lanes=None)


def test_losses_and_their_gradients() -> None:
    """A sum over lanes ends none of what does not need it."""
    residuals = fg.vmap(lambda p: np.stack([p[0] * np.cos(p[2]) - p[1] * np.sin(p[2]), p[0] * p[2]]) / np.sum(p * p))

    def loss(p: Any, w: Any) -> Any:
        return np.sum(w * np.sum(residuals(p) ** 2, axis=-1))

    for n in (64, 777, 9000):
        assert_same(fg.value_and_grad(loss), lanes_with(n, 3, special=False), lanes_with(n, special=False))


def test_parts_of_arrays_are_not_read_by_products() -> None:
    """BLAS adds up numbers with gaps between them in another order."""

    def f(x: Any, y: Any) -> Any:
        z = rotated(x, y)
        return z[:, 1].dot(y[:, 0]), z[:, 0] @ z[:, 1]

    assert_same(f, lanes_with(1000, 2, special=False), lanes_with(1000, 2, seed=1, special=False), lanes=False)


def test_nan_in_one_lane_of_many_blocks_is_met() -> None:
    """A guard holds if it holds in each block."""
    f = fg.vmap(fg.jacrev(lambda x: np.stack([x[0] / x[1] * x[2], np.sqrt(x[0]) * x[1] - x[2]])))
    x = lanes_with(9000, 3, special=False) ** 2 + 1.0
    program, values = recorded(f, x)
    assert is_in_lanes(program)
    compiled(program)(*values)
    x[8500] = np.nan
    with pytest.raises(Missed):
        compiled(program)(*values)
    j = fg.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(j(x), f(x))


def test_small_and_empty() -> None:
    """Few lanes, and none, are as they were."""
    for n in (0, 1, 63):
        assert_same(rotated, lanes_with(n, 2), lanes_with(n, 2), lanes=False)


def test_a_block_is_a_copy() -> None:
    """Also where it is in order already."""
    x = np.asfortranarray(np.ones((3, 2)))
    assert not np.shares_memory(in_lanes(x), x)
