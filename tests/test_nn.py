"""`fg.nn`: against mpmath far out, at infinity by hand, and the arguments of `jax.nn`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors, nn
from tests.ops.kit import arr

INF, NAN = np.inf, np.nan


def exact_gelu(x: Any) -> Any:
    return nn.gelu(x, approximate=False)


def mp_sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


FORMULAS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sigmoid": (nn.sigmoid, mp_sigmoid),
    "log_sigmoid": (nn.log_sigmoid, lambda x: -mp.log1p(mp.exp(-x))),
    "softplus": (nn.softplus, lambda x: mp.log1p(mp.exp(x))),
    "silu": (nn.silu, lambda x: x * mp_sigmoid(x)),
    "relu": (nn.relu, lambda x: max(x, 0)),
    "leaky_relu": (nn.leaky_relu, lambda x: x if x >= 0 else mp.mpf(0.01) * x),
    "elu": (nn.elu, lambda x: x if x > 0 else mp.expm1(x)),
    "gelu": (nn.gelu, lambda x: x * mp_sigmoid(mp.sqrt(8 / mp.pi) * (x + mp.mpf(0.044715) * x**3))),
    "exact_gelu": (exact_gelu, lambda x: x * mp.ncdf(x)),
}
POINTS = [-700.0, -41.0, -6.5, -3.3, -0.7, -1e-3, 1e-3, 0.7, 3.3, 6.5, 41.0, 700.0]


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_activations_keep_their_digits(name: str, order: int) -> None:
    """Values, slopes and curvatures to 12 digits, also where they are as small as e^-700."""
    f, exact = FORMULAS[name]
    g = [f, fg.grad(f), fg.grad(fg.grad(f))][order]
    with mp.workdps(700):  # mpmath's differences lose 300 digits beside a 1
        for x in POINTS:
            want = mp.diff(exact, mp.mpf(x), order) if order else exact(mp.mpf(x))
            found = float(g(x))
            assert abs(found - want) <= 1e-12 * abs(want) + mp.mpf(10) ** -307, (x, found, want)


AT_INFINITY: dict[str, tuple[float, float, float, float]] = {  # at -inf: value, slope; at inf: value, slope
    "sigmoid": (0, 0, 1, 0),
    "log_sigmoid": (-INF, 1, 0, 0),
    "softplus": (0, 0, INF, 1),
    "silu": (0, 0, INF, 1),
    "relu": (0, 0, INF, 1),
    "leaky_relu": (-INF, 0.01, INF, 1),
    "elu": (-1, 0, INF, 1),
    "gelu": (0, 0, INF, 1),
    "exact_gelu": (0, 0, INF, 1),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("far", [1e300, INF])
def test_activations_at_infinity(name: str, far: float) -> None:
    """Limits, in both modes, with a curvature of 0; nan stays nan."""
    f = FORMULAS[name][0]
    for x, value, slope in ((-far, *AT_INFINITY[name][:2]), (far, *AT_INFINITY[name][2:])):
        if far == INF:
            assert f(x) == value
        assert fg.grad(f)(x) == fg.jvp(f, (x,), (1.0,))[1] == slope
        assert fg.grad(fg.grad(f))(x) == 0
        assert fg.jvp(fg.grad(f), (x,), (1.0,))[1] == 0
    assert np.isnan(f(NAN))


def test_slopes_at_kinks() -> None:
    """As the docstrings state them."""
    assert fg.grad(nn.relu)(0.0) == 0.0
    assert fg.grad(nn.leaky_relu)(0.0) == 1.0
    assert fg.grad(lambda x: nn.elu(x, 2.0))(0.0) == 2.0
    assert fg.jvp(nn.relu, (0.0,), (1.0,))[1] == 0.0


def test_the_tanh_form_of_gelu() -> None:
    """It is ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))), and as near to the exact one as its docstring says."""
    x = np.linspace(-8, 8, 4001)
    tanh_form = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    np.testing.assert_allclose(nn.gelu(x), tanh_form, rtol=1e-12, atol=1e-15)
    assert np.max(np.abs(nn.gelu(x) - exact_gelu(x))) < 5e-4


def test_parameters_have_derivatives() -> None:
    """The slope of `leaky_relu` and the scale of `elu`."""
    x = np.array([-2.0, 3.0])
    np.testing.assert_allclose(fg.grad(lambda a: np.sum(nn.leaky_relu(x, a)))(0.1), -2.0)
    np.testing.assert_allclose(fg.grad(lambda a: np.sum(nn.elu(x, a)))(0.1), np.expm1(-2.0))


# ---- softmax

ROWS = np.array([[1.0, 2.0, 3.0], [1000.0, 1001.0, 0.0], [-1e4, -1e4, -1e4], [40.0, 0.0, -40.0]])


def test_softmax_against_mpmath() -> None:
    """To 15 digits, for large arguments too; the logarithm also where it is almost 0."""
    with mp.workdps(60):
        for row in ROWS:
            e = [mp.exp(mp.mpf(v)) for v in row]
            total = mp.fsum(e)
            np.testing.assert_allclose(nn.softmax(row), [float(v / total) for v in e], rtol=1e-15)
            np.testing.assert_allclose(nn.log_softmax(row), [float(mp.log(v / total)) for v in e], rtol=1e-15)
            np.testing.assert_allclose(nn.logsumexp(row), float(mp.log(total)), rtol=1e-15)


@pytest.mark.parametrize(
    ("row", "shares"),
    [
        ([INF, 0.0], [1.0, 0.0]),
        ([INF, 0.0, INF], [0.5, 0.0, 0.5]),
        ([INF, -INF], [1.0, 0.0]),
        ([-INF, 3.0], [0.0, 1.0]),
        ([-INF, -INF], [0.0, 0.0]),
        ([1e308, -1e308], [1.0, 0.0]),
        ([NAN, 1.0], [NAN, NAN]),
        ([INF, NAN], [NAN, NAN]),
    ],
)
def test_softmax_at_infinity(row: Any, shares: Any) -> None:
    """Those that are +inf share equally, nobody shares at -inf; the slope of logsumexp says the same."""
    x = np.array(row)
    np.testing.assert_array_equal(nn.softmax(x), shares)
    np.testing.assert_array_equal(nn.logsumexp(x), np.max(x))
    for derivative in (fg.grad, fg.jacfwd):
        np.testing.assert_array_equal(derivative(nn.logsumexp)(x), shares)
    if not np.isnan(row).any():
        with np.errstate(divide="ignore"):
            logs = np.log(shares)
        np.testing.assert_allclose(nn.log_softmax(x), logs)
        assert np.isfinite(fg.jacrev(nn.softmax)(x)).all()
        assert np.isfinite(fg.jacfwd(nn.log_softmax)(x)).all()


def test_logsumexp_over_axes() -> None:
    """`axis`, `keepdims`, `where`, and no elements at all."""
    x = arr(2, 3, 4)
    naive = lambda **kw: np.log(np.sum(np.exp(x), **kw))
    for axis in (None, 0, -1, (0, 2), (-1, 1, 0)):
        for keepdims in (False, True):
            found = nn.logsumexp(x, axis, keepdims=keepdims)
            np.testing.assert_allclose(found, naive(axis=axis, keepdims=keepdims), rtol=1e-14)
            assert np.shape(found) == np.shape(naive(axis=axis, keepdims=keepdims))
    mask = np.arange(4) % 2 == 0
    np.testing.assert_allclose(nn.logsumexp(x, -1, where=mask), naive(axis=-1, where=mask), rtol=1e-14)
    assert nn.logsumexp(np.zeros(0)) == -INF
    assert nn.logsumexp(2.0) == 2.0
    np.testing.assert_array_equal(nn.logsumexp(np.zeros((2, 0)), axis=1, where=True), [-INF, -INF])


def test_softmax_with_a_mask() -> None:
    """What is masked out is 0, and has no derivative, not even where it is nan."""
    x = np.array([1.0, NAN, 2.0])
    mask = np.array([True, False, True])
    share = 1 / (1 + np.exp(1.0))
    np.testing.assert_allclose(nn.softmax(x, where=mask), [share, 0.0, 1 - share])
    np.testing.assert_allclose(nn.log_softmax(x, where=mask), [np.log(share), -INF, np.log(1 - share)])
    np.testing.assert_array_equal(nn.softmax(x, where=np.zeros(3, bool)), 0.0)
    np.testing.assert_allclose(fg.jacrev(lambda x: nn.softmax(x, where=mask)[0])(x), [share * (1 - share), 0.0, -share * (1 - share)])


def test_axes_that_are_not_there() -> None:
    """NumPy's error."""
    for f in (nn.softmax, nn.log_softmax, nn.logsumexp):
        with pytest.raises(np.exceptions.AxisError):
            f(np.zeros(3), axis=1)


# ---- labels


def test_one_hot() -> None:
    """On a new axis anywhere; a label that names no class is all zeros."""
    np.testing.assert_array_equal(nn.one_hot([0, 2, 3, -1], 3), [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    labels = np.array([[0, 1], [2, 0]])
    for axis in (-1, 0, 1, 2, -3):
        expected = np.moveaxis(np.eye(3)[labels], -1, axis)
        np.testing.assert_array_equal(nn.one_hot(labels, 3, axis=axis), expected)
    assert nn.one_hot(1, 2).tolist() == [0.0, 1.0]
    assert nn.one_hot([1], 2, dtype=np.float32).dtype == np.float32
    assert nn.one_hot([1], 2).dtype == np.float64
    assert type(nn.one_hot(fg.tensor([1]), 2)) is fg.Tensor
    with pytest.raises(errors.ArgumentTypeError, match="labels must be ints, got float64"):
        nn.one_hot([1.0], 2)


def test_cross_entropy() -> None:
    """Of classes and of probabilities; a class without probability costs nothing, though its logarithm be -inf."""
    x = arr(3, 4)
    labels = np.array([2, 0, 3])
    expected = -np.log(np.exp(x) / np.exp(x).sum(-1, keepdims=True))[np.arange(3), labels]
    np.testing.assert_allclose(nn.cross_entropy(x, labels), expected, rtol=1e-14)
    np.testing.assert_allclose(nn.cross_entropy(x, nn.one_hot(labels, 4)), expected, rtol=1e-14)
    np.testing.assert_allclose(nn.cross_entropy(x.T, labels, axis=0), expected, rtol=1e-14)
    np.testing.assert_allclose(nn.cross_entropy(x[0], 2), expected[0], rtol=1e-14)
    assert nn.cross_entropy(np.array([0.0, -INF]), np.array([1.0, 0.0])) == 0.0
    assert nn.cross_entropy(np.array([41.0, 0.0]), 0) == pytest.approx(np.exp(-41.0), rel=1e-14)
    there = np.array([True, False, True, True])
    np.testing.assert_allclose(nn.cross_entropy(x, labels, where=there), nn.cross_entropy(x[:, there], [1, 0, 2]))


def test_derivatives_of_cross_entropy() -> None:
    """softmax less one-hot, and the Hessian diag(p) - p pᵀ; in the probabilities -log softmax."""
    x = arr(4)
    p = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(fg.grad(nn.cross_entropy)(x, 2), p - np.eye(4)[2], rtol=1e-12)
    for hessian in (fg.hessian(nn.cross_entropy)(x, 2), fg.hessian(nn.logsumexp)(x), fg.jacfwd(nn.softmax)(x)):
        np.testing.assert_allclose(hessian, np.diag(p) - np.outer(p, p), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(fg.grad(nn.cross_entropy, argnums=1)(x, p), -np.log(p), rtol=1e-12)


@pytest.mark.parametrize("labels", [[0, 4], [-1, 0]])
def test_labels_that_name_no_class(labels: Any) -> None:
    """-1 is not the last class here."""
    with pytest.raises(IndexError, match="outside of the 4 classes"):
        nn.cross_entropy(np.zeros((2, 4)), labels)


def test_labels_that_do_not_fit() -> None:
    """Of another shape, or floats that are no probabilities."""
    for labels in ([0.0, 1.0], [0], [[[0]]]):
        with pytest.raises(errors.ArgumentError, match=r"ints of shape \[2\] or probabilities of shape \[2, 4\]"):
            nn.cross_entropy(np.zeros((2, 4)), labels)


# ---- types

SIMPLE = [f for f, _ in FORMULAS.values()] + [nn.softmax, nn.log_softmax, nn.logsumexp]


@pytest.mark.parametrize("f", SIMPLE, ids=lambda f: f.__name__)
def test_types(f: Callable[[Any], Any]) -> None:
    """NumPy in, NumPy out; Tensor in, Tensor out; float32 and float16 stay, whole numbers become float64; inputs are not written to."""
    x = arr(3)
    before = x.copy()
    assert type(f(x)) in (np.ndarray, np.float64)
    assert type(f(fg.tensor(x))) is fg.Tensor
    assert type(f(list(x))) in (np.ndarray, np.float64)
    for dtype in (np.float32, np.float16):
        assert f(x.astype(dtype)).dtype == dtype
        assert fg.jvp(f, (x.astype(dtype),), (x.astype(dtype),))[1].dtype == dtype
        assert fg.grad(lambda x: np.sum(f(x)))(x.astype(dtype)).dtype == dtype
    assert f(np.array([0, 1])).dtype == np.float64
    assert f(np.array([True, False])).dtype == np.float64
    np.testing.assert_array_equal(x, before)
    with pytest.raises(errors.ArgumentTypeError, match="real numbers, got complex128"):
        f(np.array([1j]))


@pytest.mark.parametrize("f", [f for f, _ in FORMULAS.values()], ids=lambda f: f.__name__)
def test_numbers(f: Callable[[Any], Any]) -> None:
    """A number gives a scalar, as a ufunc does; no elements give none."""
    assert type(f(0.5)) is type(f(np.float64(0.5))) is np.float64
    assert type(f(np.float32(0.5))) is np.float32
    assert f(np.zeros((0, 2))).shape == (0, 2)
