"""`map` is a loop, and `associative_scan` gives all partial results, in any blocks and along any axis."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors, tree
from tests.control.plain import COMPOSITIONS, MANY, ONE, close, same

X = np.linspace(-1.0, 2.0, 7)
RNG = np.random.default_rng(0)
MATRICES = RNG.normal(size=(6, 2, 2))

# ---- map


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 7, 100])
def test_map(batch_size: Any) -> None:
    """Trees in and out, one after the other or some at a time."""
    f = lambda x: {"s": np.sin(x["a"]) * x["b"], "n": None, "one": 1.0}
    xs = {"a": X, "b": np.arange(21.0).reshape(7, 3)}
    found = fg.map(f, xs, batch_size=batch_size)
    close(found, {"s": np.sin(X)[:, None] * xs["b"], "n": None, "one": np.ones(7)})
    for y in tree.leaves(found):
        assert not y.flags.writeable
    assert isinstance(fg.map(np.sin, fg.tensor(X), batch_size=batch_size), fg.Tensor)
    assert fg.map(np.sin, np.zeros((0, 2)), batch_size=batch_size).shape == (0, 2)
    same(fg.map(lambda x: x if x > 0.6 else -x, X, batch_size=batch_size), np.where(X > 0.6, X, -X))
    y = fg.map(lambda x: x, X, batch_size=batch_size)
    assert not np.shares_memory(y, X)
    assert X.flags.writeable


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("batch_size", [None, 2])
def test_map_compositions(name: str, batch_size: Any) -> None:
    f = lambda run: lambda x: run(lambda y: np.sin(y * x[0]) + y**2 * np.sum(x), x)
    close(
        COMPOSITIONS[name](f(lambda g, x: fg.map(g, x, batch_size=batch_size))),
        COMPOSITIONS[name](f(lambda g, x: np.stack([g(y) for y in x]))),
    )


# ---- associative_scan


@pytest.mark.parametrize("n", range(10))
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(n: int, reverse: bool) -> None:
    """Of all lengths, along all axes."""
    x = RNG.integers(-9, 9, (n, 2, n))
    for axis in (0, 2, -1, -3):
        expected = np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)
        same(fg.associative_scan(np.add, x, reverse, axis), expected)


@pytest.mark.parametrize("reverse", [False, True])
def test_order(reverse: bool) -> None:
    """Products that do not commute keep their order; reversed, they are those of the reversed elements, reversed."""
    elems = MATRICES[::-1] if reverse else MATRICES
    expected = np.stack(list(itertools.accumulate(elems, np.matmul)))
    close(fg.associative_scan(np.matmul, MATRICES, reverse), expected[::-1] if reverse else expected)


def linear(a: Any, b: Any) -> Any:
    """x -> p x + q, one after the other."""
    return {"p": a["p"] * b["p"], "q": b["p"] * a["q"] + b["q"]}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_recurrences(name: str) -> None:
    """A linear recurrence is associative: as a scan of a tree, under every transformation."""

    def mine(x: Any) -> Any:
        return fg.associative_scan(linear, {"p": np.sin(x), "q": x * 0.5})["q"]

    def plain(x: Any) -> Any:
        p, y, out = np.sin(x), 0.0, []
        for k in range(3):
            y = p[k] * y + 0.5 * x[k]
            out.append(y)
        return np.stack(out)

    close(COMPOSITIONS[name](mine), COMPOSITIONS[name](plain))


def test_few_calls() -> None:
    """O(log n) calls of the function."""
    calls = []
    fg.associative_scan(lambda a, b: calls.append(1) or a + b, np.arange(1000))
    assert len(calls) < 2 * 10


def test_associative_results() -> None:
    """Tensors in, Tensors out; frozen, and nobody else's."""
    assert isinstance(fg.associative_scan(np.add, fg.tensor(X)), fg.Tensor)
    for x, f in ((X, lambda a, b: b), (X[:1].copy(), np.add), (X[:0].copy(), np.add)):
        y = fg.associative_scan(f, x)
        assert not y.flags.writeable
        assert not np.shares_memory(y, x)
        assert x.flags.writeable


# ---- errors


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fg.map(np.sin, X, batch_size=0), ValueError, "batch_size must be a positive whole number"),
        (lambda: fg.map(np.sin, 3.0), ValueError, "xs is a single number"),
        (lambda: fg.map(np.sin, 3.0, batch_size=2), ValueError, "one length along axis 0: the array has None"),
        (lambda: fg.map(np.sin, {"a": X, "b": MANY}, batch_size=2), ValueError, r"\['a'\] has 7, \['b'\] has 3"),
        (lambda: fg.map(lambda x: "a", X), TypeError, "must be a number or an array of numbers, got a str"),
        (lambda: fg.associative_scan(np.add, {"a": X}, axis=1), ValueError, r"elems\['a'\] has shape \[7\], which has no axis 1"),
        (lambda: fg.associative_scan(np.add, {"a": X, "b": ONE}), ValueError, r"\['a'\] has 7, \['b'\] has 3"),
        (lambda: fg.associative_scan(np.add, {}), ValueError, "there are none"),
        (lambda: fg.associative_scan(np.add, {"a": "b"}), TypeError, r"elems\['a'\] is a str"),
        (lambda: fg.associative_scan(lambda a, b: {"a": a["a"][:1]}, {"a": X}), TypeError, r"the element\['a'\] is float64\[3\]"),
        (lambda: fg.associative_scan(lambda a, b: a + 0.5 * b, np.arange(5)), TypeError, "the element is int64"),
        (lambda: fg.associative_scan(lambda a, b: (a, b), X), TypeError, "the result must have the structure of the elements"),
    ],
)  # fmt: skip
def test_mistakes(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert isinstance(caught.value, errors.FuncgradError)
