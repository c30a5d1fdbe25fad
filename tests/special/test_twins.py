"""`fg.scipy.special`: the values of SciPy's own functions, and derivatives."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.scipy import special as twins
from funcgrad.testing import check_grads

sp = pytest.importorskip("scipy.special", reason="SciPy is not installed")

X = np.random.default_rng(0).normal(size=(3, 4))
B = np.random.default_rng(1).normal(size=(3, 4))
B[0, 0] = 0.0

SUMS: tuple[dict[str, Any], ...] = (
    {},
    {"axis": 0},
    {"axis": 1, "keepdims": True},
    {"axis": (0, 1)},
    {"b": np.abs(B), "axis": 0},
    {"b": B, "return_sign": True},
    {"b": B, "axis": 1, "return_sign": True, "keepdims": True},
    {"b": B[0], "axis": -1, "return_sign": True},
    {"b": 2, "axis": 0},
    {"return_sign": True, "axis": 0},
)


@pytest.mark.parametrize("name", twins.__all__)
def test_signatures_are_scipys(name: str) -> None:
    """The same parameters, in the same order, with the same defaults."""
    ours, theirs = (inspect.signature(getattr(m, name)).parameters.values() for m in (twins, sp))
    assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]


@pytest.mark.parametrize("keywords", SUMS, ids=lambda k: " ".join(k) or "none")
def test_logsumexp(keywords: dict[str, Any]) -> None:
    """With factors, signs, axes; in both modes, in the factors too."""
    found, wanted = twins.logsumexp(X, **keywords), sp.logsumexp(X, **keywords)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        np.testing.assert_allclose(a, b, rtol=1e-13)
    first = lambda y: y[0] if keywords.get("return_sign") else y
    check_grads(lambda x: first(twins.logsumexp(x, **keywords)), (X,))
    if isinstance(keywords.get("b"), np.ndarray):
        rest = {k: v for k, v in keywords.items() if k != "b"}
        check_grads(lambda b: first(twins.logsumexp(X, b=b, **rest)), (keywords["b"] + 0.01,))


@pytest.mark.parametrize(
    ("a", "b"), [([np.inf, 1.0], [1.0, -1.0]), ([np.inf, 1.0], [-1.0, 1.0]), ([-np.inf, -np.inf], None), ([1000.0, 2.0], [0.0, 1.0])]
)
def test_logsumexp_at_infinity(a: Any, b: Any) -> None:
    """Infinite sums have a sign, empty ones the sign 0; what has a factor of 0 may be as large as it likes."""
    np.testing.assert_array_equal(twins.logsumexp(a, b=b, return_sign=True), sp.logsumexp(a, b=b, return_sign=True))


def test_a_factor_of_zero_has_a_slope() -> None:
    """The sum depends on it as on any other."""
    g = fg.grad(lambda b: twins.logsumexp(X, b=b, return_sign=True)[0])(B)
    np.testing.assert_allclose(g, np.exp(X) / np.sum(B * np.exp(X)), rtol=1e-10)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_softmax(name: str, axis: Any) -> None:
    """Over all axes, unless one is named."""
    f = getattr(twins, name)
    np.testing.assert_allclose(f(X, axis), getattr(sp, name)(X, axis), rtol=1e-13)
    check_grads(lambda x: f(x, axis=axis), (X,))


@pytest.mark.parametrize("n", [0, 1, 3, [[0], [1], [2]]])
def test_polygamma(n: Any) -> None:
    """SciPy's numbers bit for bit, and the next order as the derivative."""
    x = np.array([0.5, 1.0, 2.5])
    np.testing.assert_array_equal(twins.polygamma(n, x), sp.polygamma(n, x))
    g = fg.jvp(lambda x: twins.polygamma(n, x), (x,), (np.ones(3),))[1]
    np.testing.assert_allclose(g, sp.polygamma(np.asarray(n) + 1, x), rtol=1e-12)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(twins.polygamma(n, x)))(x), np.sum(np.atleast_2d(g), axis=0), rtol=1e-12)


def test_multigammaln() -> None:
    """SciPy's numbers, errors, and the sum of digammas as the derivative."""
    a = np.array([3.5, 5.0])
    np.testing.assert_allclose(twins.multigammaln(a, 4), sp.multigammaln(a, 4), rtol=1e-14)
    g = fg.grad(lambda a: np.sum(twins.multigammaln(a, 4)))(a)
    np.testing.assert_allclose(g, sum(sp.psi(a - j / 2) for j in range(4)), rtol=1e-13)
    with pytest.raises(ValueError, match="positive integer"):
        twins.multigammaln(a, 1.5)
    with pytest.raises(ValueError, match="not met"):
        fg.grad(lambda a: twins.multigammaln(a, 4))(1.0)


def test_faces() -> None:
    """Tensors give Tensors, lists of traced numbers are arrays, integers become floats; complex numbers are refused."""
    t = fg.tensor([1.0, 2.0])
    assert all(isinstance(y, fg.Tensor) for y in (*twins.logsumexp(t, return_sign=True), twins.softmax(t), twins.polygamma(1, t)))
    assert fg.grad(lambda x: twins.logsumexp([x, 0.0], b=[2.0, 1.0]))(0.0) == pytest.approx(2 / 3)
    assert twins.logsumexp([1, 2], b=[1, 1]) == pytest.approx(sp.logsumexp([1, 2]))
    with pytest.raises(errors.ArgumentTypeError, match="real numbers"):
        twins.logsumexp([1j], b=[1.0])


def test_compiled_and_mapped() -> None:
    """jit gives the bits of eager, vmap the stack."""
    f = fg.grad(lambda x: twins.logsumexp(x, b=B[0], return_sign=True)[0] + np.sum(twins.polygamma(1, x * x)) + twins.multigammaln(9.0, 2))
    g = fg.jit(f)
    assert [g(x).tolist() for x in X] == [f(x).tolist() for x in X]
    np.testing.assert_array_equal(fg.vmap(f)(X), np.stack([f(x) for x in X]))
