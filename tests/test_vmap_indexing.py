"""Indices that differ between lanes: every form of index, with any operand mapped or not, against a loop."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

pytestmark = pytest.mark.usefixtures("both_paths")

N = 3
"""The batch size, which is also a dimension of `X`."""

X = np.random.default_rng(0).normal(size=(N, 3, 4, 3))
I = np.array([[0, 2], [1, 1], [2, -1]])
J = np.array([1, 0, 2])
K = np.array([[[0], [1]], [[2], [0]], [[1], [1]]])

INDICES: dict[str, Any] = {
    "number": lambda i, j, k: j,
    "array": lambda i, j, k: i,
    "column": lambda i, j, k: k,
    "behind": lambda i, j, k: (slice(None), i),
    "last": lambda i, j, k: (Ellipsis, i),
    "apart": lambda i, j, k: (i, slice(None), i),
    "apart with a number": lambda i, j, k: (0, slice(None), i),
    "apart by an ellipsis of nothing": lambda i, j, k: (slice(None), i, Ellipsis, i),
    "together": lambda i, j, k: (slice(None), i, k),
    "two ranks": lambda i, j, k: (k, j),
    "all": lambda i, j, k: (k, i, j),
    "new axis": lambda i, j, k: (None, slice(1, None), i, None),
    "number behind": lambda i, j, k: (i, 1),
    "numbers apart": lambda i, j, k: (j, slice(None, None, 2), j),
}  # fmt: skip


def lane(x: Any, mapped: bool, n: int) -> Any:
    return x[n] if mapped else x[0]


def axes(mapped: tuple[bool, ...]) -> tuple[int | None, ...]:
    return tuple([0 if is_mapped else None for is_mapped in mapped])


def given(values: tuple[Any, ...], mapped: tuple[bool, ...]) -> list[Any]:
    return [v if is_mapped else v[0] for v, is_mapped in zip(values, mapped, strict=True)]


SUBSETS = [m for m in itertools.product((True, False), repeat=4) if any(m)]


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_reading(index: Any) -> None:
    """`x[i]` in each lane, and its derivative from inside and from outside."""
    for mapped in SUBSETS:
        args = given((X, I, J, K), mapped)

        def read(x, i, j, k):
            return fg.tensor(x)[index(i, j, k)]

        lanes_of_i = [[lane(v, is_mapped, n) for v, is_mapped in zip((I, J, K), mapped[1:], strict=True)] for n in range(N)]
        expected = np.stack([lane(X, mapped[0], n)[index(*row)] for n, row in enumerate(lanes_of_i)])
        np.testing.assert_array_equal(fg.vmap(read, axes(mapped))(*args), expected, err_msg=str(mapped))
        weights = np.random.default_rng(1).normal(size=expected.shape[1:])

        def loss(x, i, j, k, weights=weights):
            return np.sum(read(x, i, j, k) ** 2 * weights)

        one = fg.grad(loss)
        inside = fg.vmap(one, axes(mapped))(*args)
        lanes = np.stack([one(*[lane(v, is_mapped, n) for v, is_mapped in zip((X, I, J, K), mapped, strict=True)]) for n in range(N)])
        np.testing.assert_allclose(inside, lanes, err_msg=str(mapped))
        mapped_loss = fg.vmap(loss, axes(mapped))
        outside = fg.grad(lambda *x, f=mapped_loss: np.sum(f(*x)))(*args)
        np.testing.assert_allclose(outside, lanes if mapped[0] else lanes.sum(0), err_msg=str(mapped))


@pytest.mark.parametrize("how", ["set", "add", "max", "min"])
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_updates(index: Any, how: str) -> None:
    """`x.at[i].set(v)` and friends in each lane, and their derivatives in both operands."""
    shape = X[0][index(I[0], J[0], K[0])].shape
    values = np.random.default_rng(2).normal(size=(N, *shape))
    for mapped in SUBSETS[:8] + [(False, True, True, False)]:
        for values_mapped in (True, False):
            both = (mapped[0], values_mapped, *mapped[1:])
            if not any(both):
                continue
            all_values = (X, values, I, J, K)
            args = given(all_values, both)

            def update(x, v, i, j, k):
                return getattr(fg.tensor(x).at[index(i, j, k)], how)(v)

            rows = [[lane(a, is_mapped, n) for a, is_mapped in zip(all_values, both, strict=True)] for n in range(N)]
            np.testing.assert_array_equal(fg.vmap(update, axes(both))(*args), np.stack([update(*row) for row in rows]), err_msg=str(both))
            derivative = fg.grad(lambda x, v, i, j, k: np.sum(np.sin(update(x, v, i, j, k)) * X[1]), argnums=(0, 1))
            found = fg.vmap(derivative, axes(both))(*args)
            for k, g in enumerate(found):
                np.testing.assert_allclose(g, np.stack([np.asarray(derivative(*row)[k]) for row in rows]), err_msg=str(both))


def test_masks() -> None:
    """A mask that is the same for all is an index; one that differs must name as many places in each lane."""
    mask = np.array([True, False, True])
    np.testing.assert_array_equal(fg.vmap(lambda x: x[mask])(X), X[:, mask])
    np.testing.assert_array_equal(fg.vmap(lambda x: x[:, :, mask])(X), X[..., mask])
    masks = np.array([[True, False, True], [True, True, False], [False, True, True]])
    np.testing.assert_array_equal(fg.vmap(lambda x, m: x[m])(X, masks), np.stack([x[m] for x, m in zip(X, masks, strict=True)]))
    masks[0] = True
    with pytest.raises(errors.LaneShapesError, match=r"\[3, 4, 3\] in the first lane, \[2, 4, 3\] in another"):
        fg.vmap(lambda x, m: x[m])(X, masks)


def test_an_array_read_by_a_mapped_index() -> None:
    """NumPy asks the index for a number, which it has in each lane alone; `fg.tensor` reads all lanes."""
    table = np.array([10.0, 20.0, 30.0])
    np.testing.assert_array_equal(fg.vmap(lambda i: fg.tensor(table)[i])(J), table[J])
    np.testing.assert_array_equal(fg.vmap(lambda i: table[i])(J), table[J])  # by one run for each index
    with pytest.raises(IndexError):
        fg.vmap(lambda i: table[i], on_divergence="error")(J)
    np.testing.assert_array_equal(fg.vmap(lambda i: table[i])(np.array([1, 1])), [20.0, 20.0])
