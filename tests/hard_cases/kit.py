"""What the hard cases say: `close`, and `gradient`, which asks both modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad import pytree

Array = np.ndarray[Any, Any]


def close(found: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-12) -> None:
    """Of the same shape, and equal but for rounding; leaf by leaf where they are trees; a list of numbers stands for an array."""
    if isinstance(expected, list) and not isinstance(found, list):
        expected = np.asarray(expected)
    a, b = pytree.flatten(found), pytree.flatten(expected)
    assert a[1] == b[1], f"{found} has not the structure of {expected}"
    for x, y in zip(a[0], b[0], strict=True):
        assert np.asarray(x).dtype != object, f"an object array: {x!r}"
        assert np.shape(x) == np.shape(y), f"shape {np.shape(x)}, expected {np.shape(y)}"
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=rtol, atol=atol)


def gradient(f: Callable[..., Any], *args: Any, argnums: int | Sequence[int] = 0) -> Any:
    """The gradient by reverse mode, after forward mode has said the same."""
    found = fg.grad(f, argnums)(*args)
    rtol = 1e-9 if all(np.asarray(g).dtype.itemsize >= 8 for g in pytree.leaves(found)) else 1e-3
    close(fg.jacfwd(f, argnums)(*args), found, rtol=rtol, atol=1e-12)
    return found


def derivatives(f: Callable[[Any], Any], x: float, order: int) -> Array:
    """f'(x), f''(x), …, reverse over reverse."""
    found = []
    for _ in range(order):
        f = fg.grad(f)
        found.append(f(x))
    return np.array(found)


def numbers(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Array:
    """Numbers of no special kind, the same in every run."""
    return np.random.default_rng(seed).uniform(low, high, shape)
