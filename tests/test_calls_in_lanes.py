"""Custom rules and checkpoints under `vmap`, above and below derivatives: the rule survives batching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.core import Traced
from funcgrad.transforms.lanes import one_by_one

pytestmark = pytest.mark.usefixtures("both_paths")

X = np.array([[0.3, -0.7], [1.1, 0.4], [-0.2, 0.9]])
W = np.array([1.0, 2.0])


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-12)


def by_jvp() -> Any:
    f = fg.custom_jvp(lambda x, w: np.sin(x) * w)
    f.defjvp(lambda p, t: (f(*p), 7.0 * np.cos(p[0]) * t[0] * p[1] + 5.0 * p[0] * t[1]))
    return f


def by_jvps() -> Any:
    f = fg.custom_jvp(lambda x, w: np.sin(x) * w)
    f.defjvps(lambda t, out, x, w: 7.0 * np.cos(x) * t * w, lambda t, out, x, w: 5.0 * x * t)
    return f


def by_vjp() -> Any:
    f = fg.custom_vjp(lambda x, w: np.sin(x) * w)
    f.defvjp(lambda x, w: (f(x, w), (x, w, "a word", 3)), lambda res, ct: (7.0 * np.cos(res[0]) * ct * res[1], 5.0 * res[0] * ct))
    return f


MADE = pytest.mark.parametrize("make", [by_jvp, by_jvps, by_vjp])


@MADE
def test_rules_survive(make: Callable[[], Any]) -> None:
    """In all orders, of what is mapped and of what all lanes share."""
    f = make()
    dx, dw = 7 * np.cos(X) * W, 5 * X
    close(fg.vmap(f, (0, None))(X, W), np.sin(X) * W)
    close(fg.vmap(fg.grad(lambda x, w: np.sum(f(x, w)), (0, 1)), (0, None))(X, W), [dx, dw])
    total = lambda x, w: np.sum(fg.vmap(f, (0, None))(x, w))
    close(fg.grad(total)(X, W), dx)
    close(fg.grad(total, 1)(X, W), np.sum(dw, 0))
    close(fg.grad(lambda x: np.sum(fg.vmap(fg.vmap(f))(x, np.broadcast_to(W, X.shape))))(X), dx)
    close(fg.vmap(fg.vmap(fg.grad(f)))(X, np.broadcast_to(W, X.shape)), dx)
    close(fg.grad(lambda w: np.sum(fg.vmap(lambda x: f(x, w))(X)))(W), np.sum(dw, 0))
    close(fg.jacrev(lambda x: fg.vmap(f, (0, None))(x, W))(X).sum((0, 1)), dx)
    close(fg.vmap(fg.jacrev(f), (0, None))(X, W).sum(1), dx)
    second = fg.grad(lambda x: np.sum(fg.vmap(fg.grad(lambda x: np.sum(f(x, W))))(x)))(X)
    close(second, -7 * np.sin(X) * W)


@pytest.mark.parametrize("make", [by_jvp, by_jvps])
def test_forward(make: Callable[[], Any]) -> None:
    """The same in forward mode."""
    f, t = make(), np.ones_like(X)
    close(fg.jvp(fg.vmap(f, (0, None)), (X, W), (t, W))[1], 7 * np.cos(X) * W + 5 * X * W)
    close(fg.vmap(lambda x: fg.jvp(f, (x, W), (W, 0 * W))[1])(X), 7 * np.cos(X) * W**2)
    close(fg.jvp(lambda x: fg.grad(lambda x: np.sum(fg.vmap(f, (0, None))(x, W)))(x), (X,), (t,))[1], -7 * np.sin(X) * W)


def test_trees_and_static_arguments() -> None:
    """Arguments that are trees, a function that is no operand, a cotangent that is None, other axes."""
    f = fg.custom_vjp(lambda g, p: {"y": g(p["a"]) * p["b"], "n": 3}, nondiff_argnums=0)
    f.defvjp(lambda g, p: (f(g, p), p["b"]), lambda g, b, ct: ({"a": 9.0 * ct["y"] * b, "b": None},))
    total = lambda p: np.sum(fg.vmap(lambda p: f(np.exp, p)["y"], ({"a": 1, "b": None},))(p))
    got = fg.grad(total)({"a": X.T, "b": W})
    close(got["a"], 9.0 * np.broadcast_to(W, X.shape).T)
    close(got["b"], 0 * W)
    assert fg.vmap(lambda p: f(np.exp, p), out_axes={"y": 0, "n": None})({"a": X, "b": X})["n"] == 3


def test_lanes_that_differ() -> None:
    """A rule that branches on its argument runs lane by lane, where derivatives are below."""
    f = fg.custom_vjp(lambda x: x if x > 0 else 2 * x)
    f.defvjp(lambda x: (f(x), {"a": x} if x > 0 else {"a": 2 * x}), lambda res, ct: (3 * ct if res["a"] > 0 else 4 * ct,))
    x = np.array([1.0, -1.0, 2.0])
    close(fg.vmap(f)(x), [1.0, -2.0, 2.0])
    close(fg.vmap(fg.grad(f))(x), [3.0, 4.0, 3.0])
    close(fg.grad(lambda x: np.sum(fg.vmap(f)(x)))(x), [3.0, 4.0, 3.0])
    with pytest.raises(errors.LanesDifferError):
        fg.grad(lambda x: np.sum(fg.vmap(f, on_divergence="error")(x)))(x)


def test_a_checkpoint_that_closes_over_a_lane() -> None:
    """The lane becomes an operand."""
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    kept = lambda x, y: fg.checkpoint(lambda x: np.sin(x) * y)(x)
    close(fg.vmap(fg.grad(kept, 1))(x, y), np.sin(x))
    close(fg.grad(lambda x, y: np.sum(fg.vmap(kept)(x, y)), (0, 1))(x, y), [np.cos(x) * y, np.sin(x)])


@pytest.mark.parametrize("policy", [None, "products", fg.checkpoint_policies.names("h")])
def test_checkpoint(policy: Any) -> None:
    """Values and derivatives of all orders are those of the function."""
    m = np.arange(4.0).reshape(2, 2) / 5
    plain = lambda x: np.sum(np.sin(fg.checkpoint_name(m @ np.tanh(x), "h")) * x)
    f = fg.checkpoint(plain, policy=policy)
    for transformed in [
        fg.vmap,
        lambda f: fg.vmap(fg.grad(f)),
        lambda f: fg.grad(lambda x: np.sum(fg.vmap(f)(x) ** 2)),
        lambda f: fg.vmap(fg.hessian(f)),
        lambda f: fg.grad(lambda x: np.sum(fg.vmap(fg.grad(f))(x) ** 2)),
        lambda f: fg.vmap(fg.jacrev(fg.grad(f))),
        lambda f: lambda x: fg.jvp(fg.vmap(f), (x,), (x,))[1],
        lambda f: lambda x: fg.jvp(fg.vmap(fg.grad(f)), (x,), (x,))[1],
        lambda f: fg.vmap(lambda x: fg.vmap(f)(np.stack([x, 2 * x]))),
        lambda f: fg.grad(lambda x: np.sum(fg.vmap(lambda x: fg.vmap(f)(np.stack([x, 2 * x])))(x))),
    ]:
        close(transformed(f)(X), transformed(plain)(X))
    outer = lambda f: fg.grad(lambda x: np.sum(fg.checkpoint(fg.vmap(f))(x)))
    close(outer(f)(X), outer(plain)(X))
    runs = []
    fg.grad(lambda x: np.sum(fg.vmap(fg.checkpoint(lambda x: runs.append(1) or plain(x), policy=policy))(x)))(X)
    assert len(runs) == 1


def test_an_empty_batch() -> None:
    """No lanes, no harm."""
    f = by_vjp()
    none = np.zeros((0, 2))
    assert fg.grad(lambda x: np.sum(fg.vmap(f, (0, None))(x, W)))(none).shape == (0, 2)
    close(fg.grad(lambda w: np.sum(fg.vmap(f, (0, None))(none, w)))(W), 0 * W)


def test_one_by_one() -> None:
    """Code that takes plain values alone gets those of one lane after the other, read-only."""

    def outside(x, w):
        assert not isinstance(x, Traced)
        assert not np.asarray(x).flags.writeable
        return {"a": float(np.asarray(x) @ w), "b": "a word"}

    f = lambda x: one_by_one(outside, (x, W))["a"]
    close(fg.vmap(f)(X), X @ W)
    close(fg.vmap(fg.vmap(f))(np.stack([X, 2 * X])), [X @ W, 2 * X @ W])
    with pytest.raises(errors.EmptyBatchError):
        fg.vmap(f)(X[:0])
