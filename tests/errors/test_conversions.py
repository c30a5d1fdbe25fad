"""What asks a traced value for a number would drop its gradient: the messages, word for word."""

from __future__ import annotations

import inspect
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

from .kit import said

X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("loss", "what"),
    [
        (lambda x: float(x[0]), "float()"),
        (lambda x: complex(x[0]), "complex()"),
        (lambda x: math.sin(x[0]), "float()"),
        (lambda x: x[0].item(), "item()"),
        (lambda x: x.item(0), "item()"),
        (lambda x: x.tolist(), "tolist()"),
    ],
)
def test_numbers(loss: Any, what: str) -> None:
    """float, complex, the functions of `math`, item and tolist: the function and its line, and what to use."""
    assert said(TypeError, fg.grad(loss), X) == (
        f"{what} of a traced value in <lambda> (test_conversions.py:LINE) would drop its gradient. "
        "Use `np` functions, or `fg.stop_gradient` first."
    )


def test_the_line_is_the_users() -> None:
    """Not that of the transformation, nor one of ours."""

    def loss(x: Any) -> Any:
        return float(x[0])

    line = inspect.getsourcelines(loss)[1] + 1
    with pytest.raises(errors.ConversionError, match=rf"^float\(\) of a traced value in loss \(test_conversions\.py:{line}\) "):
        fg.grad(loss)(X)


@pytest.mark.parametrize("convert", [lambda x: np.asarray(x, dtype=float), lambda x: np.array([x[0], x[1]], dtype=float)])
def test_arrays_of_a_dtype(convert: Any) -> None:
    """`np.asarray(x, dtype=float)`: without dtype the bridge takes it."""
    assert said(TypeError, fg.grad(lambda x: convert(x).sum()), X) == (
        "Conversion to float64 of a traced value in <lambda> (test_conversions.py:LINE) would drop its gradient. "
        "Use `np.stack([x, y])` instead of a list, or `x.astype`."
    )


ASSIGNMENT = (
    "Assignment into an ndarray (`a[i] = x`) of a traced value in loss (test_conversions.py:LINE) would drop its gradient. "
    "Use `a = fg.buffer(shape)` and in the end `a.freeze()`, or `np.stack`."
)


def test_filling_a_slice_of_an_ndarray() -> None:
    """`a[:] = x` says what to write instead."""

    def loss(x: Any) -> Any:
        a = np.zeros(3)
        a[:] = x
        return a.sum()

    assert said(errors.ConversionError, fg.grad(loss), X) == ASSIGNMENT


def test_filling_an_element_of_an_ndarray() -> None:
    """`a[i] = x`: NumPy puts its own error in front; ours is the cause, shown above it."""

    def loss(x: Any) -> Any:
        a = np.zeros(3)
        a[0] = x[0]
        return a.sum()

    with pytest.raises(ValueError, match="setting an array element with a sequence") as caught:
        fg.grad(loss)(X)
    assert isinstance(caught.value.__cause__, errors.ConversionError)

    assert re.sub(r":\d+", ":LINE", str(caught.value.__cause__)) == ASSIGNMENT


def test_what_the_message_says_instead_of_filling_works() -> None:
    """`np.stack`, and `.at`."""
    assert fg.grad(lambda x: np.stack([x[0], 2 * x[1]]).sum())(X).tolist() == [1.0, 2.0, 0.0]

    def loss(x: Any) -> Any:
        a = np.zeros(3)
        for i in range(3):
            a = fg.tensor(a).at[i].set(i * x[i])
        return a.sum()

    assert fg.grad(loss)(X).tolist() == [0.0, 1.0, 2.0]


def test_a_large_array_is_not_taken_apart() -> None:
    """`np.asarray` of more than 4,096 traced elements."""
    assert said(TypeError, fg.grad(lambda x: np.asarray(x).sum()), np.ones(5000)) == (
        "np.asarray, np.array or a.dot(x) of a traced array of 5000 elements would go element by element (limit: 4096). "
        "NumPy functions take the traced array as it is, and `a @ x` takes the place of `a.dot(x)`."
    )
    assert fg.grad(lambda x: np.asarray(x).sum())(np.ones(100)).tolist() == [1.0] * 100


def test_pickle() -> None:
    """A traced value is a moment of a computation."""
    assert said(TypeError, fg.grad(lambda x: pickle.dumps(x)), X) == (
        "A pickle of a traced value in <lambda> (test_conversions.py:LINE) would drop its gradient. Pickle what the transformation returns."
    )


def test_hash() -> None:
    """Neither traced values nor Tensors are keys."""
    assert said(TypeError, fg.grad(lambda x: {x: 1}), X) == (
        "A traced value has no hash: == compares element by element, as with arrays. Use a name, or `id(x)`, as the key."
    )
    assert said(TypeError, hash, fg.tensor(X)) == (
        "A Tensor has no hash: == compares element by element, as with arrays. Use a name, or `id(x)`, as the key."
    )


def test_index() -> None:
    """A traced value as an index of a list: Python would accept only ints."""
    assert said(TypeError, fg.grad(lambda x: [1, 2, 3][x[0]]), X) == (
        "only integers can be used as an index; a traced value is inexact. Use `int(x)`."
    )
    with pytest.raises(IndexError, match="only integers"):
        fg.grad(lambda x: X[x[0]])(X)


def test_what_is_allowed() -> None:
    """int, bool, comparisons, format, print, round and isinstance need no gradient."""

    def loss(x: Any) -> Any:
        seen = f"{x[0]:.1f} {x} {x!r} {bool(x[0])} {round(x[0])}"
        assert "1.0 [1. 2. 3.]" in seen
        assert isinstance(x, fg.Tensor)
        return x.sum() * int(x[1]) if x[0] > 0 else x.sum()

    assert fg.grad(loss)(X).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("solve", [lambda x: np.linalg.solve(np.eye(2), [x[0], x[1]]), lambda x: np.linalg.inv([[x[0], 0], [0, x[1]]])])
def test_linear_algebra_of_lists_is_refused(solve: Any) -> None:
    """NumPy asks no one about lists; its own error is all that can be had, and nothing is silent."""
    with pytest.raises(TypeError, match=r"Cannot cast ufunc .* from dtype\('O'\) to dtype\('float64'\)"):
        fg.grad(lambda x: solve(x).sum())(X)
    assert fg.grad(lambda x: np.linalg.solve(np.eye(2), np.stack([x[0], x[1]])).sum())(X).tolist() == [1.0, 1.0, 0.0]
