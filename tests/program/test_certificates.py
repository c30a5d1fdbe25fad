"""Large products whose operands tell that there is no nan."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.program.certificates import ASKED, squares
from funcgrad.program.codegen import source

SPECIAL = [1.0, np.nan, np.inf, -np.inf, 0.0, 1e200, -1e200, 1e308, 1e38, -1e38, 5e-324, 1e-170]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["multiply", "dot"])
def test_the_answer_is_that_of_the_product(name: str, dtype: Any) -> None:
    """For all pairs of special values, alone or beside numbers, in any order of axes; without warnings."""
    rng = np.random.default_rng(0)
    for a, b in itertools.product(SPECIAL, SPECIAL):
        with np.errstate(all="ignore"):
            x, y = rng.normal(size=(5, 2)).astype(dtype), rng.normal(size=(2, 7)).astype(dtype)
            x[rng.integers(5), rng.integers(2)] = y[rng.integers(2), rng.integers(7)] = dtype(b)
            x[2, rng.integers(2)] = dtype(a)
            if name == "multiply":
                x, y = x[:, :1], y[:1]
            z = x * y if name == "multiply" else x @ y
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for p, q in ((x, y), (np.asfortranarray(x), y), (x[::-1], y[:, ::-1])):
                assert ASKED[name].impl(z, p, q) == bool(np.isnan(z).any())


def test_squares_of_many() -> None:
    """They are added by blocks."""
    assert squares(np.ones((200, 200))) == 40_000.0
    assert squares(np.full((150, 150), 2.0, np.float32).T) == 90_000.0
    assert not np.isfinite(squares(np.r_[np.ones(30_000), np.nan]))


def dense(p: Any, x: Any) -> Any:
    """Its gradient is a product of matrices, where zeros have to be strong."""
    y = x @ p
    return np.sum(np.where(y > 0, np.sqrt(np.abs(y)), 0.0))


MATRICES = fg.grad(dense)
OUTER = fg.vmap(fg.grad(dense), (None, 0))


@pytest.mark.parametrize(("f", "name"), [(MATRICES, "_in_dot"), (OUTER, "_in_product")])
def test_gradients(f: Any, name: str) -> None:
    """With `jit` as without it, bit for bit."""
    rng = np.random.default_rng(1)
    g = fg.jit(f)
    for special in (None, None, None, 0.0, np.nan, np.inf, -1.0, 1e300, -1e300, 1e-320, None):
        p, x = rng.uniform(0.5, 1.0, (80, 90)), rng.uniform(0.5, 1.0, (3, 80))
        if special is not None:
            x[1] = special
        with np.errstate(all="ignore"):
            assert g(p, x).tobytes() == f(p, x).tobytes()
    assert name in source(g.lower(p, x).closed)


def test_small_products_are_asked_themselves() -> None:
    """And those whose operands are not much smaller."""
    for shapes in (((8, 9), (3, 8)), ((80, 90), (60, 80))):
        p, x = map(np.ones, shapes)
        assert "_in_" not in source(fg.trace(MATRICES)(p, x).closed)
