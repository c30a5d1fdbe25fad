"""The loops in plain Python that the operations are compared with, and the compositions under which they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad import tree


def loop(f: Any, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False) -> Any:
    """`scan`, in Python."""
    carry, ys = init, []
    n = length if xs is None else len(tree.leaves(xs)[0])
    for t in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, tree.map(lambda x, t=t: x[t], xs))
        ys.append(y)
    return carry, tree.map(lambda *rows: np.stack(rows), *(ys[::-1] if reverse else ys))


def close(found: Any, expected: Any, rtol: float = 1e-10) -> None:
    assert tree.structure(found) == tree.structure(expected)
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=rtol, atol=1e-12)


def same(found: Any, expected: Any) -> None:
    """Bit for bit, and of the same dtype."""
    assert tree.structure(found) == tree.structure(expected)
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y), strict=False)


ONE = np.array([0.4, -0.3, 0.9])
MOVE = np.array([1.0, -2.0, 0.5])
MANY = np.array([[0.4, -0.3, 0.9], [1.1, 0.2, -0.6], [-0.8, 0.5, 0.3]])

COMPOSITIONS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f(ONE),
    "jvp": lambda f: fg.jvp(f, (ONE,), (MOVE,)),
    "vjp": lambda f: fg.vjp(f, ONE)[1](MOVE),
    "linearize": lambda f: fg.linearize(f, ONE)[1](MOVE),
    "grad": lambda f: fg.grad(lambda x: np.sum(np.sin(f(x))))(ONE),
    "jacfwd": lambda f: fg.jacfwd(f)(ONE),
    "jacrev": lambda f: fg.jacrev(f)(ONE),
    "hessian": lambda f: fg.hessian(lambda x: np.sum(np.sin(f(x))))(ONE),
    "hvp": lambda f: fg.hvp(lambda x: np.sum(np.sin(f(x))), (ONE,), (MOVE,)),
    "grad of grad": lambda f: fg.grad(lambda x: fg.grad(lambda x: np.sum(np.sin(f(x))))(x) @ MOVE)(ONE),
    "grad of jvp": lambda f: fg.grad(lambda x: np.sum(fg.jvp(f, (x,), (MOVE,))[1] ** 2))(ONE),
    "jvp of vjp": lambda f: fg.jvp(lambda x: fg.vjp(f, x)[1](MOVE)[0], (ONE,), (MOVE,)),
    "vmap": lambda f: fg.vmap(f)(MANY),
    "vmap, last axis": lambda f: fg.vmap(f, 1, 1)(MANY),
    "vmap of grad": lambda f: fg.vmap(fg.grad(lambda x: np.sum(np.sin(f(x)))))(MANY),
    "grad of vmap": lambda f: fg.grad(lambda x: np.sum(np.sin(fg.vmap(f)(x))))(MANY),
    "vmap of jacrev": lambda f: fg.vmap(fg.jacrev(f))(MANY),
    "vmap of hessian": lambda f: fg.vmap(fg.hessian(lambda x: np.sum(np.sin(f(x)))))(MANY),
    "vmap of vmap": lambda f: fg.vmap(fg.vmap(f))(np.stack([MANY, -MANY])),
    "vmap of jvp": lambda f: fg.vmap(lambda x: fg.jvp(f, (x,), (MOVE,)))(MANY),
    "linear_transpose": lambda f: fg.linear_transpose(fg.linearize(f, ONE)[1], ONE)(MOVE),
}
