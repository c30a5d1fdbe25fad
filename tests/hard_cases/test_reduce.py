"""Sums, products, running sums and products, statistics."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads
from tests.hard_cases.kit import close, gradient, numbers


def test_prod_with_a_zero() -> None:
    """The product of the others: nothing is divided by."""
    close(gradient(np.prod, np.array([5.0, -2.0, 0.0])), [0.0, 0.0, -10.0])
    close(gradient(np.prod, np.array([0.0, 4.0, 0.0])), [0.0, 0.0, 0.0])


def test_the_hessian_of_prod_with_zeros() -> None:
    """The product of what two leave, 0 on the diagonal."""
    close(fg.hessian(np.prod)(np.array([7.0, 0.0, 2.0])), [[0.0, 2.0, 0.0], [2.0, 0.0, 7.0], [0.0, 7.0, 0.0]])
    close(fg.hessian(np.prod)(np.array([0.0, 3.0, 0.0])), [[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])


def test_cumprod_with_a_zero() -> None:
    """Σ cumprod = a + ab + abc + abcd, expanded by hand at a zero first, and inside."""
    f = lambda x: np.sum(np.cumprod(x))
    close(gradient(f, np.array([0.0, 5.0, 2.0])), [16.0, 0.0, 0.0])
    close(gradient(f, np.array([4.0, 3.0, 0.0, 2.0])), [4.0, 4.0, 36.0, 0.0])


def test_cumsum() -> None:
    """The cotangent is summed from the other end."""
    close(gradient(lambda x: np.sum(np.cumsum(x) * np.array([4.0, 2.0, 1.0])), np.ones(3)), [7.0, 3.0, 1.0])


@pytest.mark.parametrize("keepdims", [False, True])
def test_sum_over_several_axes(keepdims: bool) -> None:
    """The weight of each sum goes to all of its elements."""
    w = np.array([2.0, -1.0, 4.0, 0.5])
    shaped = w.reshape(1, 4, 1) if keepdims else w
    g = gradient(lambda x: np.sum(np.sum(x, axis=(-1, 0), keepdims=keepdims) * shaped), np.ones((3, 4, 2)))
    close(g, np.broadcast_to(w[:, None], (3, 4, 2)))


def test_degrees_of_freedom() -> None:
    """var: 2(x - m)/(n - ddof); std: half of that over std."""
    x = np.array([2.0, 3.0, 7.0])
    close(gradient(lambda x: np.var(x, ddof=1), x), [-2.0, -1.0, 3.0])
    close(gradient(lambda x: np.std(x, ddof=1), x), np.array([-2.0, -1.0, 3.0]) / (2 * np.sqrt(7.0)))


def test_spread_along_an_axis() -> None:
    """Both modes and the second order, with keepdims, over several axes."""
    check_grads(lambda x: np.std(x, axis=0, keepdims=True) * x, (numbers(4, 3),))
    check_grads(lambda x: np.var(x, axis=(1, 0), ddof=3) ** 2, (numbers(3, 2),))


def test_where_leaves_elements_out() -> None:
    """Their slope is 0."""
    keep = np.array([False, True, True, False])
    x = np.array([4.0, 3.0, 2.0, 1.0])
    close(gradient(lambda x: np.sum(x**3, where=keep), x), [0.0, 27.0, 12.0, 0.0])
    close(gradient(lambda x: np.mean(x, where=keep), x), [0.0, 0.5, 0.5, 0.0])
    close(gradient(lambda x: np.prod(x, where=keep), x), [0.0, 2.0, 3.0, 0.0])


def test_a_sum_in_a_wider_dtype() -> None:
    """The value is float64, the gradient float32 as the input."""
    value, g = fg.value_and_grad(lambda x: np.sum(x**2, dtype=np.float64))(np.array([3.0, -4.0], np.float32))
    assert (value.dtype, g.dtype) == (np.float64, np.float32)
    close((value, g), (25.0, np.array([6.0, -8.0])), rtol=1e-6)


def test_ufunc_reduce() -> None:
    """As sum, prod, max and min, along axis 0 unless told otherwise."""
    x = np.array([[2.0, 5.0, 1.0], [3.0, 4.0, 6.0]])
    w = np.array([1.0, 2.0, 3.0])
    close(gradient(lambda x: np.sum(np.add.reduce(x) * w), x), [w.tolist(), w.tolist()])
    close(gradient(lambda x: np.sum(np.multiply.reduce(x) * w), x), [[3.0, 8.0, 18.0], [2.0, 10.0, 3.0]])
    close(gradient(lambda x: np.maximum.reduce(x, axis=None), x), [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    close(gradient(lambda x: np.sum(np.minimum.reduce(x, axis=1)), x), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])


def test_ufunc_accumulate_and_outer() -> None:
    """As cumsum and cumprod, and as products of all pairs."""
    close(gradient(lambda x: np.sum(np.add.accumulate(x) * np.array([5.0, 3.0])), np.ones(2)), [8.0, 3.0])
    close(gradient(lambda x: np.sum(np.multiply.accumulate(x)), np.array([2.0, 0.0, 9.0])), [1.0, 20.0, 0.0])
    w = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    a, b = np.array([2.0, 3.0]), np.array([5.0, 6.0, 7.0])
    close(gradient(lambda a, b: np.sum(np.multiply.outer(a, b) * w), a, b, argnums=(0, 1)), (w @ b, a @ w))
