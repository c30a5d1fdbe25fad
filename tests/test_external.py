"""`external`: black boxes with rules from outside, or by differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.testing import check_rule

X = np.array([0.3, -0.7, 1.1])


def box(x: Any) -> Any:
    """Refuses everything but ndarrays that it cannot write to."""
    assert type(x) is np.ndarray
    return np.array([math.sin(v) * 2 for v in x.tolist()])


def test_with_a_jvp() -> None:
    """A jvp in NumPy serves both modes and higher orders; the box sees plain values alone."""
    f = fg.external(box, jvp=lambda p, t: 2 * np.cos(p[0]) * t[0])
    check_rule(f, (X,))
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(f(x)))(X), 2 * np.cos(X))
    np.testing.assert_allclose(fg.hessian(lambda x: np.sum(f(x)))(X), np.diag(-2 * np.sin(X)), atol=1e-12)
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,))[1], 2 * np.cos(X) * X)


def test_with_a_vjp() -> None:
    """A vjp serves reverse mode, and may be a black box itself."""

    def pull(primals, out, ct):
        assert all(type(x) is np.ndarray for x in (*primals, out, ct))
        return (2 * np.cos(primals[0]) * ct,)

    f = fg.external(box, vjp=pull)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(f(x) ** 2))(X), 8 * np.sin(X) * np.cos(X))
    with pytest.raises(errors.NoRuleError):
        fg.jvp(f, (X,), (X,))


def test_by_differences() -> None:
    """Both modes and second derivatives, with what precision there is."""
    f = fg.external(box, derivative="central")
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,))[1], 2 * np.cos(X) * X, rtol=1e-8)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(f(x)))(X), 2 * np.cos(X), rtol=1e-8)
    np.testing.assert_allclose(fg.jacfwd(f)(X), np.diag(2 * np.cos(X)), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fg.hessian(lambda x: np.sum(f(x)))(X), np.diag(-2 * np.sin(X)), atol=1e-4)
    np.testing.assert_allclose(fg.hvp(lambda x: np.sum(f(x)), (X,), (X,)), -2 * np.sin(X) * X, atol=1e-4)
    assert fg.jvp(f, (X,), (np.zeros(3),))[1].tolist() == [0.0, 0.0, 0.0]
    assert fg.external(box, derivative="central")(X.copy()).tolist() == box(X.copy()).tolist()


def test_trees_numbers_and_ints() -> None:
    """Arguments and outputs are pytrees; ints and other things have no derivative."""

    def f(p, n, how):
        return {"y": math.exp(p["a"]) * n, "n": n, "how": how}

    g = fg.external(f, derivative="central")
    loss = lambda a: g({"a": a, "b": X}, 3, "so")["y"]
    assert abs(fg.grad(loss)(0.5) - 3 * math.exp(0.5)) < 1e-8
    assert abs(fg.jvp(loss, (0.5,), (1.0,))[1] - 3 * math.exp(0.5)) < 1e-8
    h = fg.external(lambda x: float(x) ** 2, derivative="central")
    assert fg.grad(h)(np.float32(3.0)).dtype == np.float32


def test_one_mode_by_rule_the_other_by_differences() -> None:
    """`derivative` fills in what there is no rule for."""
    f = fg.external(box, vjp=lambda p, out, ct: (100 * ct,), derivative="central")
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(f(x)))(X), np.full(3, 100.0))
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,))[1], 2 * np.cos(X) * X, rtol=1e-8)


def test_tensors() -> None:
    """Tensors in, Tensors out."""
    f = fg.external(box, derivative="central")
    assert isinstance(f(fg.tensor(X)), fg.Tensor)
    g = fg.grad(lambda x: np.sum(f(x)))(fg.tensor(X))
    assert isinstance(g, fg.Tensor)
    np.testing.assert_allclose(np.asarray(g), 2 * np.cos(X), rtol=1e-8)
    x = fg.Var(X)
    np.testing.assert_allclose(np.asarray(fg.backward(np.sum(f(x)))[x]), 2 * np.cos(X), rtol=1e-8)


def test_errors() -> None:
    """Something must say what the derivative is."""
    with pytest.raises(errors.ArgumentTypeError, match="external: box needs a `jvp`, a `vjp`, or derivative='central'"):
        fg.external(box)
    with pytest.raises(errors.ArgumentError, match="derivative must be 'central' or None, got 'forward'"):
        fg.external(box, derivative="forward")
    with pytest.raises(errors.ArgumentTypeError, match="differences are for real arguments"):
        fg.grad(lambda x: np.real(fg.external(lambda x: x * 1.0, derivative="central")(x)))(1.0 + 1j)
    with pytest.raises(errors.ArgumentTypeError, match="differences are for real arguments"):
        fg.grad(lambda x: np.real(fg.external(lambda x: x * 1j, derivative="central")(x)))(1.0)


def test_lane_by_lane() -> None:
    """Under vmap a black box sees one example at a time, and so do its differences."""
    f = fg.external(lambda x, n: {"y": np.array([math.exp(x) * n, x]), "n": n}, derivative="central")
    x = np.array([0.0, 0.5, 1.0])
    out = fg.vmap(f, in_axes=(0, None))(x, 3)
    np.testing.assert_allclose(out["y"], np.stack([3 * np.exp(x), x], axis=1))
    slopes = fg.vmap(fg.grad(lambda x: np.sum(f(x, 3)["y"])))(x)
    np.testing.assert_allclose(slopes, 3 * np.exp(x) + 1, rtol=1e-8)
    total = fg.grad(lambda x: np.sum(fg.vmap(f, in_axes=(0, None))(x, 3)["y"]))(x)
    np.testing.assert_allclose(total, 3 * np.exp(x) + 1, rtol=1e-8)


def test_closing_over_a_lane() -> None:
    """A black box may close over lanes, which it sees one at a time as well."""

    def exact(x, y):
        return fg.external(lambda x: math.sin(x) * float(y), jvp=lambda p, t: 7 * np.cos(p[0]) * t[0] * y)(x)

    def rough(x, y):
        return fg.external(lambda x: math.sin(x) * float(y), derivative="central")(x)

    y = np.array([1.0, 2.0, 2.0])
    np.testing.assert_allclose(fg.vmap(exact)(X, y), np.sin(X) * y)
    np.testing.assert_allclose(fg.vmap(lambda y: exact(0.3, y))(y), np.sin(0.3) * y)
    np.testing.assert_allclose(fg.vmap(lambda x: fg.vmap(lambda y: exact(x, y))(y))(X), np.outer(np.sin(X), y))
    np.testing.assert_allclose(fg.vmap(lambda y: fg.vmap(lambda x: exact(x, y))(X))(y), np.outer(y, np.sin(X)))
    for f, slope, tol in ((exact, 7 * np.cos(X) * y, 1e-12), (rough, np.cos(X) * y, 1e-8)):
        np.testing.assert_allclose(fg.vmap(fg.grad(f))(X, y), slope, rtol=tol)
        np.testing.assert_allclose(fg.grad(lambda x, f=f: np.sum(fg.vmap(f)(x, y)))(X), slope, rtol=tol)
