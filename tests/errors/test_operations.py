"""NumPy functions that have no derivative here, and writing to what is immutable: the messages, word for word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

from .kit import said

X = np.array([1.0, 2.0, 3.0])


def missing(name: str) -> str:
    return (
        f"{name} of a traced value has no derivative rule in funcgrad. "
        "Write it in terms of functions that have one, or apply it to `fg.stop_gradient(x)` if its derivative does not matter."
    )


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: np.add.reduceat(x, [0, 1]), "np.add.reduceat"),
    ],
)
def test_functions_without_a_rule(f: Any, name: str) -> None:
    """By the name the user wrote."""
    assert said(NotImplementedError, fg.grad(f), X) == missing(name)


def test_scipy_ufuncs_without_a_rule() -> None:
    """They dispatch, and are named by their home."""
    special = pytest.importorskip("scipy.special")
    assert said(NotImplementedError, fg.grad(lambda x: special.struve(0, x).sum()), X) == (
        "scipy.special.struve of a traced value has no derivative rule in funcgrad. "
        "Write it in terms of functions that have one, or give it a rule of your own with `fg.custom_jvp`."
    )


def test_scipy_arguments_without_a_rule() -> None:
    """A function may have a derivative in one argument, and none in another."""
    special = pytest.importorskip("scipy.special")
    assert said(NotImplementedError, fg.grad(lambda v: special.jv(v, 1.0)), 1.5) == (
        "scipy.special.jv: no derivative rule is known for its argument `v`. "
        "Pass `fg.stop_gradient(v)` if that derivative does not matter, or write a rule with `fg.custom_jvp`."
    )


def test_scipy_functions_that_coerce_raise() -> None:
    """SciPy asks no one: its own error is all that can be had, and nothing is silent."""
    linalg = pytest.importorskip("scipy.linalg")
    with pytest.raises(ValueError, match="object arrays are not supported"):
        fg.grad(lambda x: linalg.inv(np.outer(x, x) + np.eye(3)).sum())(X)


def test_out() -> None:
    """`out=` of functions, ufuncs and their methods."""
    for loss, name in (
        (lambda x: np.sin(x, out=np.zeros(3)), "np.sin"),
        (lambda x: np.sum(x, out=np.zeros(())), "np.sum"),
        (lambda x: np.sum(x, None, None, np.zeros(())), "np.sum"),
        (lambda x: np.add.reduce(x, out=np.zeros(())), "np.add.reduce"),
    ):
        assert said(TypeError, fg.grad(loss), X) == (
            f"{name}: out= would write a traced value into an array, which cannot hold it. Use the returned value."
        )


def test_augmented_assignment_to_an_ndarray() -> None:
    """`a += x` is `out=` in disguise; the message says which operator to write out."""

    def adds(x: Any) -> Any:
        a = np.zeros(3)
        a += x
        return a.sum()

    def scales(x: Any) -> Any:
        a = np.ones(3)
        a *= x[0]
        return a.sum()

    for loss, name, sign in ((adds, "np.add", "+"), (scales, "np.multiply", "*")):
        assert said(errors.OutArgumentError, fg.grad(loss), X) == (
            f"{name}: out= (or `a {sign}= x`) would write a traced value into an array, which cannot hold it. "
            f"Use the returned value, as in `a = a {sign} x`."
        )


def test_where() -> None:
    """A ufunc's `where=` alone leaves elements undefined."""
    assert said(TypeError, fg.grad(lambda x: np.log(x, where=x > 1).sum()), X) == (
        "np.log: where= leaves elements undefined unless out= is given, which traced values cannot have. Use np.where(mask, …, …)."
    )


def write(x: Any) -> None:
    x[0] = 1.0


def delete(x: Any) -> None:
    del x[0]


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (write, "x[i] = v: tensors and traced values are immutable. Use `x = x.at[i].set(v)`."),
        (delete, "del x[i]: tensors and traced values are immutable. Use `x = np.delete(x, i)`."),
    ],
)
def test_writing_to_immutable_values(f: Any, message: str) -> None:
    """Tensors and traced values alike."""
    assert said(TypeError, fg.grad(f), X) == message
    assert said(TypeError, f, fg.tensor(X)) == message
    assert said(TypeError, f, fg.Var(X)) == message


def test_writing_functions_of_a_tensor() -> None:
    """`out=` a Tensor, and `ufunc.at` of one."""
    t = fg.tensor(X)
    assert said(TypeError, lambda: np.add(X, X, out=t)) == (
        "np.add(out=…): tensors and traced values are immutable. Use the returned value instead."
    )
    assert said(TypeError, np.add.at, t, 0, 1.0) == "np.add.at: tensors and traced values are immutable. Use `x.at[i].add(v)` and friends."


def test_ufunc_at_of_an_ndarray_with_a_traced_value() -> None:
    """It would write the traced value into the array."""
    assert said(TypeError, fg.grad(lambda x: np.add.at(np.zeros(3), 0, x[0])), X) == (
        "np.add.at with a traced value: tensors and traced values are immutable. Use `x = fg.tensor(x).at[i].add(v)` and friends."
    )


def test_foreign_arrays() -> None:
    """Classes whose operators mean something else."""
    assert said(TypeError, fg.grad(lambda x: (x * np.ma.array(X)).sum()), X) == (
        "a traced value or Tensor met a MaskedArray, whose operations are its own. Pass `np.asarray(y)`, if that is meant."
    )


def test_object_arrays() -> None:
    """Python objects in an array would swallow the gradient."""
    assert said(TypeError, fg.grad(lambda x: (x * np.array([1, 2, 3], object)).sum()), X) == (
        "multiply: a traced value met an array of Python objects, which would drop its gradient. Convert it: `np.asarray(y, float)`."
    )


def test_tensors_hold_numbers() -> None:
    """No strings, no objects."""
    assert said(TypeError, fg.tensor, ["a"]) == "tensor: a Tensor holds numbers, got an array of dtype <U1."


def test_errors_of_numpy_stay_numpys() -> None:
    """Wrong shapes and axes raise what they raise without us."""
    for loss in (lambda x: x + np.ones(4), lambda x: x.reshape(2, 2), lambda x: np.sum(x, axis=3), lambda x: x @ np.ones(4)):
        with pytest.raises(Exception) as plain:
            loss(X)
        with pytest.raises(type(plain.value)) as ours:
            fg.grad(loss)(X)
        assert str(ours.value) == str(plain.value)
