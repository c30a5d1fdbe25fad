"""Padding, tiling, reshaping, joining, broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads
from tests.hard_cases.kit import close, gradient, numbers


def weighted(f: Any, w: Any) -> Any:
    return lambda *x: np.sum(f(*x) * w)


def test_padding_one_axis_only() -> None:
    """A width of 0 keeps the whole axis."""
    w = numbers(4, 5)
    close(gradient(weighted(lambda x: np.pad(x, ((2, 0), (0, 0))), w), np.ones((2, 5))), w[2:])


def test_widths_of_padding_in_all_their_forms() -> None:
    """A number, a pair, a pair of one axis; and a value to pad with."""
    w = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    close(gradient(weighted(lambda x: np.pad(x, 1, "constant"), w), np.ones(3)), [2.0, 4.0, 8.0])
    close(gradient(weighted(lambda x: np.pad(x, (0, 2)), w), np.ones(3)), [1.0, 2.0, 4.0])
    value, g = fg.value_and_grad(weighted(lambda x: np.pad(x, ((2, 1),), constant_values=10.0), w))(np.ones(2))
    close((value, g), (190 + 12.0, np.array([4.0, 8.0])))


def test_padding_with_the_edge() -> None:
    """The edge collects the weights of its copies."""
    w = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    close(gradient(weighted(lambda x: np.pad(x, (1, 2), mode="edge"), w), np.ones(3)), [3.0, 4.0, 56.0])


def test_rollaxis_from_the_end() -> None:
    """A negative axis counts from the end."""
    w = numbers(4, 2, 3)
    close(gradient(weighted(lambda x: np.rollaxis(x, -1), w), np.ones((2, 3, 4))), np.transpose(w, (1, 2, 0)))


def test_moving_and_permuting_axes() -> None:
    """The weights move back."""
    w = numbers(3, 4, 2)
    close(gradient(weighted(lambda x: np.moveaxis(x, (-1, 0), (0, 2)), w), np.ones((2, 4, 3))), np.transpose(w, (2, 1, 0)))
    close(gradient(weighted(lambda x: np.transpose(x, (1, -1, 0)), w), np.ones((2, 3, 4))), np.transpose(w, (2, 0, 1)))


def test_reshape_in_fortran_order() -> None:
    """The way back is in the same order."""
    w = numbers(2, 6)
    close(gradient(weighted(lambda x: np.reshape(x, (2, 6), order="F"), w), np.ones((4, 3))), w.reshape(4, 3, order="F"))
    close(gradient(weighted(lambda x: x.reshape(2, -1, order="F"), w), np.ones((4, 3))), w.reshape(4, 3, order="F"))


def test_ravel_in_fortran_order() -> None:
    """And the reshape of a transposed array."""
    w = numbers(12)
    close(gradient(weighted(lambda x: np.ravel(x, "F"), w), np.ones((3, 4))), w.reshape(3, 4, order="F"))
    check_grads(lambda x: np.reshape(x.T, (2, -1)) ** 2, (numbers(4, 3),))


def test_tile_with_more_repeats_than_axes() -> None:
    """The copies' weights add up."""
    w = numbers(2, 4, 6)
    close(gradient(weighted(lambda x: np.tile(x, (2, 4, 3)), w), np.ones(2)), w.reshape(2, 4, 3, 2).sum((0, 1, 2)))


def test_flips() -> None:
    """The weights are flipped back."""
    w = numbers(3, 2)
    close(gradient(weighted(np.flipud, w), np.ones((3, 2))), w[::-1])
    close(gradient(weighted(np.fliplr, w), np.ones((3, 2))), w[:, ::-1])
    close(gradient(weighted(np.flip, w), np.ones((3, 2))), w[::-1, ::-1])


def test_block() -> None:
    """Each block gets its part."""
    w = numbers(4, 3)
    f = lambda a, b: np.sum(np.block([[a], [np.zeros((1, 1)), b]]) * w)
    close(gradient(f, np.ones((3, 3)), np.ones((1, 2)), argnums=(0, 1)), (w[:3], w[3:, 1:]))


def test_uneven_parts() -> None:
    """The first parts are longer by one."""
    f = lambda x: sum((10.0**k * np.sum(part) for k, part in enumerate(np.array_split(x, 4))), 0.0)
    close(gradient(f, np.ones(6)), [1.0, 1.0, 10.0, 10.0, 100.0, 1000.0])
    close(gradient(lambda x: np.sum(np.vsplit(x, [1])[1] ** 2), np.ones((3, 2))), [[0.0, 0.0], [2.0, 2.0], [2.0, 2.0]])


def test_broadcast_to() -> None:
    """New axes and axes of length 1 are summed, the latter kept."""
    w = numbers(4, 3, 2)
    close(gradient(weighted(lambda x: np.broadcast_to(x, (4, 3, 2)), w), np.ones((3, 1))), w.sum((0, 2))[:, None])


def test_a_column_and_a_row() -> None:
    """Both broadcast, and both gradients have their own shape."""
    w = numbers(4, 2)
    f = lambda a, b: np.sum(a * b * w)
    a, b = numbers(4, 1, seed=1), numbers(1, 2, seed=2)
    close(gradient(f, a, b, argnums=(0, 1)), ((w * b).sum(1, keepdims=True), (w * a).sum(0, keepdims=True)))


def test_constants_like_a_traced_value() -> None:
    """Of its shape and dtype, without a derivative."""
    f = lambda x: np.sum(np.full_like(x, 2.0) * x + np.ones_like(x) - np.zeros_like(x))
    g = gradient(f, np.ones(3, np.float32))
    assert g.dtype == np.float32
    close(g, [2.0, 2.0, 2.0])


def test_linspace_between_traced_ends() -> None:
    """Each point is a weighted mean of the ends."""
    w, t = numbers(7), np.arange(7) / 6
    close(gradient(lambda a, b: np.sum(np.linspace(a, b, 7) * w), -1.0, 5.0, argnums=(0, 1)), (w @ (1 - t), w @ t))


@pytest.mark.parametrize("make", [lambda x: np.full((2, 2), x), lambda x: np.array([[x, x], [x, x]]), lambda x: np.asarray([x, x, x, x])])
def test_arrays_of_a_traced_number(make: Any) -> None:
    """What NumPy does not let us intercept is right all the same."""
    close(gradient(lambda x: np.sum(make(x) ** 2), 3.0), 24.0)
    close(gradient(lambda x: np.sum(np.asarray(x) * np.array(x)), np.array([1.0, 4.0])), [2.0, 8.0])
