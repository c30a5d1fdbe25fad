"""Reductions and cumulative operations at their edges: zeros, ties, nan, empty operands; NumPy's errors and warnings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.summing import summed

NAN, INF = np.nan, np.inf


def total(f: Any) -> Any:
    return lambda x: np.sum(f(x))


# ---- products at zeros


@pytest.mark.parametrize("zeros", [(), (1,), (0, 2), (0, 1, 3), (0, 1, 2, 3)])
def test_prod_at_zeros(zeros: tuple[int, ...]) -> None:
    """First and second derivatives of a product are products of the other elements."""
    x = np.array([2.0, -3.0, 0.5, 4.0])
    x[list(zeros)] = 0
    first = [np.prod(np.delete(x, i)) for i in range(4)]
    second = [[0.0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(4)] for i in range(4)]
    g = fg.grad(np.prod)
    np.testing.assert_allclose(g(x), first)
    for i, e in enumerate(np.eye(4)):
        np.testing.assert_allclose(fg.jvp(g, (x,), (e,))[1], second[i])
        np.testing.assert_allclose(fg.grad(lambda x, e=e: np.dot(g(x), e))(x), second[i])


@pytest.mark.parametrize("zeros", [(), (0,), (1,), (0, 2), (0, 1, 3)])
def test_cumprod_at_zeros(zeros: tuple[int, ...]) -> None:
    """Each partial of each cumulative product, to second order."""
    x, w = np.array([2.0, -3.0, 0.5, 4.0]), np.array([1.0, 10.0, 100.0, 1000.0])
    x[list(zeros)] = 0

    def partial(*held: int) -> float:
        return float(sum(w[k] * np.prod(np.delete(x[: k + 1], held)) for k in range(max(held), 4)))

    g = fg.grad(lambda x: np.dot(np.cumprod(x), w))
    np.testing.assert_allclose(g(x), [partial(i) for i in range(4)])
    for i, e in enumerate(np.eye(4)):
        row = [0.0 if i == j else partial(i, j) for j in range(4)]
        np.testing.assert_allclose(fg.jvp(g, (x,), (e,))[1], row)
        np.testing.assert_allclose(fg.grad(lambda x, e=e: np.dot(g(x), e))(x), row)


def test_third_derivative_of_prod() -> None:
    """Zeros need no care at any order."""
    d = fg.grad(lambda a, b, c: np.prod(np.stack([a, b, c])), 0)
    assert fg.grad(fg.grad(d, 1), 2)(0.0, 0.0, 0.0) == 1.0


# ---- ties and kinks


@pytest.mark.parametrize("f", [np.max, np.maximum.reduce, np.nanmax])
def test_max_shares_ties(f: Any) -> None:
    """All elements that are the largest share equally, along an axis and over all."""
    np.testing.assert_allclose(fg.grad(f)(np.array([1.0, 3.0, 3.0, 3.0])), [0, 1 / 3, 1 / 3, 1 / 3])
    x = np.array([[1.0, 2.0], [1.0, 0.0]])
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(f(x, axis=0)))(x), [[0.5, 1], [0.5, 0]])


def test_float16_ties() -> None:
    """70,000 equal entries: the count does not overflow float16, nor does the mean's."""
    x = np.ones(70_000, np.float16)
    for f in (np.max, np.min, np.mean):
        g = fg.grad(f)(x)
        assert g.dtype == np.float16
        np.testing.assert_allclose(g, 1 / 70_000, rtol=1e-2)


def test_running_extrema_share_ties() -> None:
    """Elements so far that equal the running extremum share it."""
    x = np.array([1.0, 2.0, 2.0, 1.0, 3.0])
    jacobian = [fg.grad(lambda x, k=k: np.maximum.accumulate(x)[k])(x) for k in range(5)]
    expected = [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0, 0], [0, 0, 0, 0, 1]]
    np.testing.assert_allclose(jacobian, expected)
    np.testing.assert_allclose(fg.grad(total(np.minimum.accumulate))(-x), np.sum(expected, axis=0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_in_extrema() -> None:
    """A nan is the result of max, and gets its cotangent; nanmax passes it by."""
    x = np.array([1.0, NAN, 3.0])
    np.testing.assert_array_equal(fg.grad(np.max)(x), [0, 1, 0])
    np.testing.assert_array_equal(fg.grad(np.nanmax)(x), [0, 0, 1])
    np.testing.assert_array_equal(fg.grad(total(np.maximum.accumulate))(x), [1, 2, 0])


@pytest.mark.parametrize("f", [np.std, np.nanstd, lambda x: np.std(x, where=[True, True, True]), lambda x: np.std(x, ddof=1)])
def test_std_of_equal_elements_is_flat(f: Any) -> None:
    """std has slope 0 where it is 0, and so has its second derivative."""
    x = np.full(3, 1.5)
    np.testing.assert_array_equal(fg.grad(f)(x), 0)
    np.testing.assert_array_equal(fg.jvp(f, (x,), (np.arange(3.0),))[1], 0)
    assert np.isfinite(fg.jvp(fg.grad(f), (x,), (np.arange(3.0),))[1]).all()


def test_logsumexp_at_infinity() -> None:
    """`np.logaddexp.reduce` gives the softmax; -inf has no share, and inf takes all."""
    f = fg.grad(np.logaddexp.reduce)
    np.testing.assert_allclose(f(np.array([-INF, 1.0, 1.0])), [0, 0.5, 0.5])
    np.testing.assert_allclose(f(np.array([INF, 1.0, INF])), [0.5, 0, 0.5])
    np.testing.assert_allclose(f(np.full(2, -INF)), [0, 0])
    np.testing.assert_allclose(f(np.array([1000.0, 1000.0])), [0.5, 0.5])


# ---- where=, initial=


def test_max_with_initial() -> None:
    """An initial value that wins takes the slope; what `where=` leaves out has none."""
    f = lambda x, i, where=True: np.max(x, initial=i, where=where)
    x = np.array([1.0, 7.0, 3.0])
    for initial, where, expected in [(5.0, True, ([0, 1, 0], 0)), (9.0, True, ([0, 0, 0], 1)), (2.0, [True, False, True], ([0, 0, 1], 0))]:
        g, gi = fg.grad(lambda x, i, where=where: f(x, i, where), (0, 1))(x, initial)
        np.testing.assert_allclose(g, expected[0])
        assert gi == expected[1]
    assert fg.grad(lambda i: np.max(np.stack([i])[:0], initial=i))(4.0) == 1.0


@pytest.mark.parametrize("f", [np.sum, np.prod, np.mean, np.var, np.std, np.nansum, np.nanmean])
def test_where_hides_nan(f: Any) -> None:
    """Elements that a mask leaves out get exactly 0, even if they are nan or inf; to second order too."""
    x, mask = np.array([1.0, NAN, 3.0, INF, 7.0]), np.array([True, False, True, False, True])
    h = lambda x: f(x, where=mask)
    g = fg.grad(h)(x)
    np.testing.assert_allclose(g[mask], fg.grad(f)(x[mask]))
    np.testing.assert_array_equal(g[~mask], 0)
    assert np.isfinite(fg.jvp(fg.grad(h), (x,), (np.arange(5.0),))[1]).all()
    assert np.isfinite(fg.grad(lambda x: np.dot(np.arange(5.0), fg.grad(h)(x)))(x)).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ddof", [0, 1, 2, 3])
def test_nan_statistics_of_sparse_rows(ddof: int) -> None:
    """Rows with too few numbers give NumPy's nan; the others have the gradients of what is there."""
    x = np.array([[1.0, NAN, 4.0], [NAN, NAN, NAN], [1.0, 2.0, 6.0], [5.0, NAN, NAN]])
    for f in (np.nanvar, np.nanstd):
        h = lambda x, f=f: f(x, axis=1, ddof=ddof)
        np.testing.assert_array_equal(fg.vjp(h, x)[0], h(x))
    for f in (np.nanmean, np.nansum, np.nanprod, np.nanmax, np.nanmin):
        np.testing.assert_array_equal(fg.vjp(lambda x, f=f: f(x, axis=1), x)[0], f(x, axis=1))
    g = fg.grad(lambda x: np.sum(np.nanmean(x, axis=1)[[0, 2, 3]]))(x)
    np.testing.assert_allclose(g, [[0.5, 0, 0.5], [0] * 3, [1 / 3] * 3, [1, 0, 0]])


# ---- values


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64])
@pytest.mark.parametrize("f", [np.sum, np.mean, np.prod, np.max, np.var, np.std, np.nansum, np.cumsum, np.cumprod, np.ptp, np.average])
def test_values_of_large_arrays(f: Any, dtype: Any) -> None:
    """Bit for bit NumPy's, in every precision, over all and along axes."""
    x = np.random.default_rng(0).normal(size=(301, 67)).astype(dtype)
    for axis in (None, 0, 1):
        h = lambda x, axis=axis: f(x, axis=axis)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(fg.vjp(h, x)[0], h(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_dtype_keyword(dtype: Any) -> None:
    """`dtype=` says in what is computed; gradients come in the dtype of the operand."""
    x = np.linspace(0.1, 1, 7)
    for f in (np.sum, np.prod, np.mean, np.var, np.cumsum, np.nansum, np.nanmean, np.add.reduce):
        for a, to in ((x, dtype), (x.astype(dtype), np.float64)):
            value, pull = fg.vjp(lambda a, f=f, to=to: f(a, dtype=to), a)
            assert value.dtype == to
            np.testing.assert_allclose(value, f(a, dtype=to), rtol=1e-2 if to is np.float16 else 1e-6)
            assert pull(np.ones(np.shape(value), to)[()])[0].dtype == a.dtype


def test_integer_dtype_is_locally_constant() -> None:
    """A sum in integers has derivative 0, and NumPy's value."""
    value, g = fg.value_and_grad(lambda x: np.sum(x, dtype=int) * 1.0)(np.array([1.7, 2.2]))
    assert value == 3.0
    np.testing.assert_array_equal(g, 0)


def test_python_floats() -> None:
    """A number is a 0-d array."""
    for f in (np.sum, np.mean, np.prod, np.max, np.nanmax, np.nansum, np.nanmean, lambda x: np.cumsum(x)[0], lambda x: np.add.reduce(x)):
        assert fg.grad(f)(3.0) == 1.0
    for f in (np.var, np.std, np.ptp):
        assert fg.grad(f)(3.0) == 0.0


# ---- NumPy's errors and warnings


ERRORS = [
    lambda x: np.sum(x, axis=2),
    lambda x: np.sum(x, axis=(0, 0)),
    lambda x: np.sum(x, axis=[0]),
    lambda x: np.mean(x, axis=0.0),
    lambda x: np.max(x, axis=-3),
    lambda x: np.max(x[:0]),
    lambda x: np.nanmin(x[:0]),
    lambda x: np.argmax(x, axis=5),
    lambda x: np.argmax(x[:0]),
    lambda x: np.argmax(x, axis=(0, 1)),
    lambda x: np.cumsum(x, axis=2),
    lambda x: np.add.accumulate(x[0, 0]),
    lambda x: np.max(x, where=x > 0),
    lambda x: np.sum(x, where=np.ones((3, 2, 2), bool)),
    lambda x: np.sum(x, where=[True, False, True]),
    lambda x: np.sum(x, initial=[1.0, 2.0]),
    lambda x: np.var(x, ddof=1, correction=1),
    lambda x: np.average(x, weights=[1, 2]),
    lambda x: np.average(x, axis=0, weights=[1, 2, 3]),
    lambda x: np.average(x, axis=0, weights=[1, -1]),
    lambda x: np.mean(x[0, 0], axis=0),
]
if hasattr(np, "cumulative_sum"):  # from NumPy 2.1 on
    ERRORS.append(lambda x: np.cumulative_sum(x))


@pytest.mark.parametrize("f", ERRORS)
def test_errors_are_numpys(f: Any) -> None:
    """What NumPy refuses is refused with the same kind of error."""
    x = np.ones((2, 2))
    with pytest.raises(Exception) as theirs:
        f(x)
    kind = next(k for k in (ValueError, TypeError, IndexError, ZeroDivisionError) if isinstance(theirs.value, k))
    with pytest.raises(kind):
        fg.vjp(f, x)


@pytest.mark.parametrize(("f", "value"), [(np.sum, 0), (np.prod, 1), (np.cumsum, []), (np.nansum, 0), (np.any, False), (np.all, True)])
def test_empty(f: Any, value: Any) -> None:
    """Reductions of nothing give their identity."""
    np.testing.assert_array_equal(fg.vjp(f, np.zeros(0))[0], value)


@pytest.mark.parametrize("f", [np.mean, np.var, np.std, np.average])
def test_empty_means_warn(f: Any) -> None:
    """nan, with the warning that NumPy gives."""
    with pytest.warns(RuntimeWarning):
        assert np.isnan(fg.vjp(f, np.zeros(0))[0])


def test_average_gives_the_weights() -> None:
    """`returned=True` gives the sum of weights, with its derivative."""
    f = lambda x, w: np.average(x, axis=1, weights=w, returned=True)
    x, w = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 4.0])
    (value, scale), pull = fg.vjp(f, x, w)
    for a, b in zip((value, scale), f(x, w), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(pull((np.zeros(2), np.ones(2)))[1], [2, 2, 2])


def test_every_axis_of_prod() -> None:
    """The others of a product are found along any axes."""
    x = np.random.default_rng(0).uniform(0.5, 2, (2, 3, 4))
    for n in range(4):
        for axis in itertools.combinations(range(3), n):
            g = fg.grad(lambda x, axis=axis: np.sum(np.prod(x, axis=axis)))(x)
            np.testing.assert_allclose(g, np.prod(x, axis=axis, keepdims=True) / x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", range(1, 17))
def test_sums_along_a_short_axis(n: int, dtype: Any) -> None:
    """Term by term they are NumPy's, bit for bit: in one block and in several, of views, of infinities and of zeros of either sign."""
    for rows in (3, 400, 20_000):
        wide = np.random.default_rng(n).normal(size=(rows, 3, 18)).astype(dtype)
        x = np.ascontiguousarray(wide[..., :n])
        special = np.where(x > 1.5, dtype(np.inf), np.where(x < 0.5, dtype(-0.0), x))
        for a in (
            x,
            wide[..., 2 : 2 + n],
            np.asfortranarray(x),
            x.transpose(1, 0, 2),
            x[..., ::-1],
            np.broadcast_to(x[:1], x.shape),
            special,
        ):
            with np.errstate(invalid="ignore"):
                found, expected = summed(a, (-1,)), np.add.reduce(a, axis=(-1,))
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(25, 100, 10), (4, 1, 300, 2), (7, 3000, 15), (2, 3, 999, 3), (500, 1, 4), (30, 60, 1), (3, 900, 4)])
def test_sums_beside_a_short_axis(shape: tuple[int, ...], dtype: Any) -> None:
    """Row by row they are NumPy's, bit for bit: in one block and in several, of views, of infinities and of zeros of either sign."""
    x = np.random.default_rng(1).normal(size=shape).astype(dtype)
    special = np.where(x > 3.5, dtype(np.inf), np.where(x < 2, dtype(-0.0), x))
    for a in (x, special, -np.zeros_like(x), np.asfortranarray(x), x[:, ::-1]):
        with np.errstate(invalid="ignore"):
            found, expected = summed(a, (-2,)), np.add.reduce(a, axis=(-2,))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
        assert found.strides == expected.strides
