"""What the tests of programs share: comparing trees bit for bit, and functions that exercise much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad as fg

X = np.array([0.5, -1.25, 2.0])
W = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0], [2.0, 0.25, -3.0]])


def bits(tree: Any) -> Any:
    """What tells results apart: structure, types, dtypes, shapes and bits."""
    leaves, treedef = fg.tree.flatten(tree)
    arrays = list(map(np.asarray, leaves))
    numbers = [
        (type(x), a.dtype.str, a.shape, repr(a) if a.dtype.char in "gG" else a.tobytes()) for x, a in zip(leaves, arrays, strict=True)
    ]
    return treedef, numbers


def branching(x: Any) -> Any:
    return np.sum(np.sin(x)) if x[0] > 0 else np.sum(x)


def tree(p: Any, k: float) -> Any:
    return {"y": [np.tanh(W @ p["w"]) * k, p["b"] - k], "n": 3, "none": None}


def loop(x: Any) -> Any:
    return fg.scan(lambda c, row: (np.cos(c) * row, c + row), 1.0, x)


def loops(x: Any) -> Any:
    y = fg.while_loop(lambda s: np.sum(s) < 50.0, lambda s: s * s + 1.0, x)
    return fg.cond(y[0] > y[1], np.sin, np.cos, y)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x, y: np.exp(-x * x) / (1 + y**2) + np.where(x > 0, x, -2.0), (X, 0.3)),
    "branching": (branching, (X,)),
    "tree": (tree, ({"w": X, "b": X[::-1].copy()}, 2.0)),
    "captured": (lambda x: np.linalg.solve(W, x) + W[0], (X,)),
    "indexing": (lambda x: (x[::-1][1:], x[[0, 0, 2]], np.where(x > 0, x[0] * x[2], x[1])), (X,)),
    "scan": (loop, (X,)),
    "while and cond": (loops, (X,)),
    "derivative": (fg.grad(lambda x: np.sum(np.log1p(x**2)) ** 2), (X,)),
    "float32": (lambda x: x * 2 + np.float32(1), (X.astype(np.float32),)),
    "complex": (lambda x: np.abs(x) ** 2 + x.real, (X + 1j,)),
}
"""A function and arguments for it."""
