"""Large arrays: what is written over, added in a few places, or computed in longer rows gives the bits of whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.reductions import shares
from funcgrad.program.broad import broad
from funcgrad.program.codegen import compiled, source
from funcgrad.program.winners import ADD_SHARES
from tests.program.test_codegen import LEAST, assert_same, numbers, peak_of, plain_bits, recorded, threads_for_all_tiles

__all__ = ["threads_for_all_tiles"]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def lse(x: Any) -> Any:
    m = np.max(x, keepdims=True)
    return np.squeeze(m) + np.log(np.sum(np.exp(x - m)))


def softmaxes(x: Any, y: Any) -> Any:
    """Clusters with sums between them, each of which is the last to read what the one before it made."""
    for _ in range(3):
        e = np.exp(x - np.max(x))
        x = e / np.sum(e) * y + 0.5
        y = x * y - np.sum(x)
        x = np.maximum(x, y) - x
    return [x, np.sum(x * y)]


# ---- over other arrays


@pytest.mark.parametrize("n", [50, LEAST, LEAST + 77])
def test_results_over_what_nobody_needs(n: int) -> None:
    """Also where a neighbour is read, where something is read later, and where a result is also a result of the program."""
    x, y = np.random.default_rng(0).normal(size=(2, n))
    assert_same(softmaxes, x, y)
    assert_same(fg.grad(lse), x)

    def shifted(x: Any, y: Any) -> Any:
        a = np.exp(x) * y
        b = a * np.sum(a) + a[::-1]
        c = b[1:] * np.sum(b) - b[:-1]
        return [c * np.sum(c), b if n % 2 else c]

    assert_same(shifted, x, y)


@pytest.mark.parametrize("layout", [lambda x: x, np.asfortranarray, lambda x: x[:, ::-1]])
def test_results_over_arrays_of_two_axes(layout: Any) -> None:
    """Whatever the order in memory."""
    x, y = layout(np.random.default_rng(0).normal(size=(LEAST // 5, 7))), np.random.default_rng(1).normal(size=(LEAST // 5, 7))
    assert_same(softmaxes, x, y, tiled=True)
    assert_same(lambda x: [fg.grad(lambda x: np.sum(np.log(np.sum(np.exp(x), axis=1)) ** 2))(x)], x)

    def products(x: Any, y: Any) -> Any:
        a = x @ np.cos(y[:7])
        b = a * np.sum(a, axis=1, keepdims=True)
        c = np.sum(b, axis=0) - b
        return [np.sum(c, axis=1), np.sum(c.T * y.T), c[::2]]

    assert_same(products, x, y)
    assert_same(lambda x, y: products(x.T, y.T)[:1], np.ascontiguousarray(x[:7, :7]), y[:7])


def test_softmax_takes_the_memory_of_its_result() -> None:
    """And of a few tiles, and of a mask."""
    n = 16 * LEAST
    program, values = recorded(lambda x: [fg.grad(lse)(x)], np.random.default_rng(0).normal(size=n))
    function = compiled(program, 1)
    assert peak_of(function, *values) < 9 * n + 4 * 8 * LEAST


# ---- shares of winners


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shares_in_a_few_places(dtype: Any) -> None:
    """As the product and the sum of whole arrays: with ties and nan, for infinite scalars, with zeros of either sign."""
    few = np.array([1, 3, 3, -2, 3, 0, -0.0], dtype)
    for a in (few, -few, np.where(few == 1, np.nan, few), np.zeros_like(few), np.full_like(few, np.inf)):
        m = np.max(a)
        for x in (np.zeros_like(a), -np.zeros_like(a), a, numbers(7, 3, dtype)):
            for s in map(dtype, (0.0, -0.0, 1.3, -1e-320, np.inf, np.nan)):
                expected = x + s * shares(a, m, axis=(-1,))
                for out in (None, x.copy()):
                    made = ADD_SHARES.impl(x if out is None else out, s, a, m, out=out)
                    assert made.dtype == dtype
                    assert out is None or made is out
                    np.testing.assert_array_equal(plain_bits(made), plain_bits(expected))


@pytest.mark.parametrize("n", [LEAST - 1, LEAST, LEAST + 5])
def test_gradients_of_extrema(n: int) -> None:
    """Of one winner and of several, with nan among them."""
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=n)
        x[5 : 5 + seed] = x[9] = 7.0
        assert_same(lambda x, y: [fg.grad(lambda x: np.sum(x * y) + y[0] * np.max(x) + np.min(x))(x)], x, numbers(n, 7))
        assert_same(lambda x, y: [fg.grad(lambda x: np.sum(x * y) + y[0] * np.max(x))(x)], numbers(n, seed), numbers(n, 7))
    program, _ = recorded(lambda x: [fg.grad(lse)(x)], x)
    assert ("add_shares" in source(program)) == (n >= LEAST)


@pytest.mark.parametrize("special", [None, np.nan, np.inf, -np.inf, 1e308])
def test_nan_beside_a_sum(special: float | None) -> None:
    """Is found wherever it comes from, though a finite sum of the rest is trusted: by gradients, as without jit."""
    n = LEAST + 3
    x = np.random.default_rng(0).normal(size=n)
    g = fg.jit(fg.grad(lambda x, s: s * lse(x)))
    for _ in range(3):
        g(x, 1.0)
    if special is not None:
        x[7] = special
        x[9] = -special
    for s in (1.0, -1.0, np.inf, np.nan, 0.0):
        expected = fg.grad(lambda x, s: s * lse(x))(x, s)
        np.testing.assert_array_equal(plain_bits(g(x, s)), plain_bits(expected))


# ---- longer rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("x", "y"), [((1, 997, 10), (7, 1, 10)), ((5000, 3), (1, 3)), ((3, 600, 4), (1, 4)), ((2, 3, 96, 20), (3, 1, 20)), ((400, 23), (1, 23))]
)
def test_rows_beside_a_short_axis(x: Any, y: Any, dtype: Any) -> None:
    """Elements and the order in memory are NumPy's."""
    a, b = numbers(x, 0, dtype), numbers(y, 1, dtype)
    for ufunc in (np.subtract, np.divide):
        for left, right in ((a, b), (b, a), (a[..., ::-1], b), (np.asfortranarray(a), b)):
            made, expected = broad(ufunc, left, right), ufunc(left, right)
            assert made.strides == expected.strides
            np.testing.assert_array_equal(plain_bits(made), plain_bits(expected))
            out = np.empty_like(expected)
            assert broad(ufunc, left, right, out) is out
            np.testing.assert_array_equal(plain_bits(out), plain_bits(expected))
    assert_same(lambda a, b: [np.sum((a - b) ** 2, axis=-1), np.sum(b / a, axis=-2)], a, b)
    program, _ = recorded(lambda a, b: [a - b], a, b)
    assert "broad" in source(program)
