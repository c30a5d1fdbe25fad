"""Whether a nan is in an array."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.program.nans import FEW, ONE_THREAD, asked


def answer(x: Any) -> Any:
    space: dict[str, Any] = {"x": x, "vdot": np.vdot}
    text = asked("x", x.shape, x.dtype, lambda f: f.__name__)
    return None if text is None else eval(text, space)


SHAPES = [(), (0,), (3, 0), (1,), (2,), (17,), (FEW,), (FEW + 1,), (ONE_THREAD - 1,), (2, 3), (31, 32), (50, 60), (2, 3, 400)]
SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, -0.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_isnan_any(dtype: Any, shape: tuple[int, ...]) -> None:
    """At each end and between, beside values that overflow or vanish, in any order of axes and with any strides; without warnings."""
    rng = np.random.default_rng(0)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for a, b in itertools.product(SPECIAL, SPECIAL):
            x = rng.normal(size=shape).astype(dtype)
            with np.errstate(over="ignore", under="ignore"):
                if x.size:
                    x.flat[rng.integers(x.size)] = dtype(a)
                    x.flat[rng.choice([0, x.size - 1, rng.integers(x.size)])] = dtype(b)
            expected = bool(np.isnan(x).any())
            for view in (x, np.asfortranarray(x), x.T, np.flip(x), np.repeat(x, 2, -1)[..., ::2] if shape else x):
                assert answer(view) in (expected,)


def test_there_is_no_short_way_for_other_dtypes_and_large_arrays() -> None:
    """The operation itself is called."""
    for x in (np.ones(3, complex), np.ones(3, np.float16), np.ones(3, np.longdouble), np.ones(ONE_THREAD), np.ones((100, 100))):
        assert answer(x) is None


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (FEW + 1,), (40, 60), (ONE_THREAD,), (100, 100), (40_000,)])
def test_gradients_where_zeros_are_strong(shape: tuple[int, ...]) -> None:
    """A nan that a zero cotangent meets is none, under `jit` as without it; what overflows is no nan, and a nan of the user's stays."""
    f = fg.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x)) * np.log(np.abs(x)), 0.0) * 1e200))
    g = fg.jit(f)
    plain = np.random.default_rng(1).uniform(1.0, 2.0, shape)[()]
    for special in (1.0, 0.0, -1.0, np.inf, 1e300, np.nan, 0.0, 1.0):
        x = np.array(plain)
        if x.size:
            x.flat[-1] = special
        x = x[()]
        with np.errstate(all="ignore"):
            for _ in range(5):
                assert np.asarray(g(x)).tobytes() == np.asarray(f(x)).tobytes()
