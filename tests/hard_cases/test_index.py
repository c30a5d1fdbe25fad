"""Gathering, scattering, slices, masks, `.at` updates."""

from __future__ import annotations

import re

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads
from tests.hard_cases.kit import close, gradient, numbers


def test_an_index_that_repeats() -> None:
    """Every use of an element counts."""
    f = lambda x: np.sum(x[np.array([3, 1, 3, 3])] * np.array([1.0, 2.0, 4.0, 8.0]))
    close(gradient(f, np.ones(4)), [0.0, 2.0, 0.0, 13.0])
    close(gradient(lambda x: np.sum(x[[0, 0], [1, 1]]), np.ones((2, 2))), [[0.0, 2.0], [0.0, 0.0]])


def test_boolean_masks() -> None:
    """The weights where the mask is true, also where the mask is made of the input."""
    mask = np.array([[False, True], [True, True]])
    close(gradient(lambda x: np.sum(x[mask] * np.array([5.0, 6.0, 7.0])), np.ones((2, 2))), [[0.0, 5.0], [6.0, 7.0]])
    close(gradient(lambda x: np.sum(x[x < 2] ** 3), np.array([1.0, 5.0, -2.0])), [3.0, 0.0, 12.0])


def test_new_axes_and_ellipsis() -> None:
    """The gradient has the shape of the input, whatever the index makes of it."""
    f = lambda x: np.sum(x[None, 2, ..., None] * np.array([[[3.0], [4.0]]]))
    close(gradient(f, np.ones((3, 2))), [[0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])


def test_advanced_indices_with_a_slice_between() -> None:
    """NumPy then moves their axes to the front."""
    i, j = np.array([1, 0, 1]), np.array([0, 3, 0])
    assert numbers(2, 5, 4)[i, 1:4, j].shape == (3, 3)
    check_grads(lambda x: x[i, 1:4, j] ** 2, (numbers(2, 5, 4),))


def test_adjacent_advanced_indices_that_repeat() -> None:
    """They stay where they are, and accumulate."""
    check_grads(lambda x: x[:, [0, 2, 0], [1, 1, 1]] ** 2, (numbers(2, 3, 2),))


def test_take() -> None:
    """Along an axis with repeats, and flat."""
    w = np.array([2.0, 3.0, 5.0])
    close(gradient(lambda x: np.sum(np.take(x, [1, 1, 3], axis=0) * w[:, None]), np.ones((4, 2))), [[0, 0], [5.0, 5.0], [0, 0], [5.0, 5.0]])
    close(gradient(lambda x: np.take(x, -2), np.ones((2, 3))), [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def test_take_along_axis() -> None:
    """Indices that repeat in a row accumulate in that row."""
    i = np.array([[1, 1, 0], [2, 0, 2]])
    w = np.array([[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]])
    close(gradient(lambda x: np.sum(np.take_along_axis(x, i, axis=1) * w), np.ones((2, 3))), [[100.0, 11.0, 0.0], [20.0, 0.0, 202.0]])


def test_where_of_one_argument_as_an_index() -> None:
    """The positions are constants, the values are not."""
    close(gradient(lambda x: np.sum(x[np.where(x < 0)] ** 2), np.array([3.0, -2.0, -5.0])), [0.0, -4.0, -10.0])
    close(gradient(lambda x: np.sum(x[np.nonzero(x)] * 2), np.array([3.0, 0.0])), [2.0, 0.0])


def test_add_at_an_index_that_repeats() -> None:
    """`.at[i].add` adds once for each time; base and updates both get their weight."""
    i = np.array([2, 2, 0])
    base = fg.tensor(np.array([1.0, 1.0, 1.0]))
    close(base.at[i].add(np.array([4.0, 5.0, 6.0])), [7.0, 1.0, 10.0])
    f = lambda x, v: np.sum((1 * x).at[i].add(v) * np.array([3.0, 7.0, 11.0]))
    close(gradient(f, np.ones(3), np.ones(3), argnums=(0, 1)), (np.array([3.0, 7.0, 11.0]), np.array([11.0, 11.0, 3.0])))


def test_set_keeps_the_dtype_and_the_base() -> None:
    """`.at[i].set` gives a copy of the dtype of the base."""
    base = fg.tensor(np.arange(3, dtype=np.float32))
    changed = base.at[2].set(0.1)
    assert changed.dtype == np.float32
    close(changed, np.array([0.0, 1.0, 0.1]), rtol=1e-6)
    close(base, [0.0, 1.0, 2.0])


def test_assigning_to_an_element() -> None:
    """A TypeError that names `.at`."""
    t = fg.tensor(np.ones(2))
    with pytest.raises(TypeError, match=re.escape("`x = x.at[i].set(v)`")):
        t[1] = 3.0
    close(t, [1.0, 1.0])


def test_multiply_at_an_index_that_repeats() -> None:
    """The product of all factors: ∂/∂x = w Πv, and ∂/∂vₖ = w x Π of the others."""
    i, w = np.array([1, 1]), np.array([1.0, 10.0])
    f = lambda x, v: np.sum((1 * x).at[i].multiply(v) * w)
    close(gradient(f, np.array([5.0, 3.0]), np.array([2.0, 7.0]), argnums=(0, 1)), (np.array([1.0, 140.0]), np.array([210.0, 60.0])))


def test_delete_and_insert() -> None:
    """The weights follow their elements."""
    w = np.array([1.0, 10.0, 100.0])
    close(gradient(lambda x: np.sum(np.delete(x, [0]) * w), np.ones(4)), [0.0, 1.0, 10.0, 100.0])
    f = lambda x, v: np.sum(np.insert(x, 2, v) * w)
    close(gradient(f, np.ones(2), 4.0, argnums=(0, 1)), (np.array([1.0, 10.0]), 100.0))


def test_diag_both_ways() -> None:
    """A vector onto an off-diagonal, and a diagonal out of a matrix."""
    w = np.arange(16.0).reshape(4, 4)
    close(gradient(lambda v: np.sum(np.diag(v, -1) * w), np.ones(3)), [4.0, 9.0, 14.0])
    close(gradient(lambda x: np.sum(np.diag(x, 1) * np.array([2.0, 3.0])), np.ones((2, 3))), [[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])


def test_trace_diagonal_and_triangles() -> None:
    """With offsets and on other axes."""
    check_grads(lambda x: np.trace(x, offset=-1, axis1=2, axis2=0) ** 2, (numbers(3, 2, 3),))
    check_grads(lambda x: np.diagonal(x, offset=1, axis1=0, axis2=2) ** 2, (numbers(2, 2, 3),))
    check_grads(lambda x: np.tril(x, 1) * x - 3 * np.triu(x, -1) ** 2, (numbers(3, 4),))
