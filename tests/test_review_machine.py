"""What a reviewer broke in the machine: each test is the shortest program that went wrong."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

LARGE = 20_000  # elements: above the size up to which arrays are copied


# ---- operands that are no numbers, and arrays that are not NumPy's

OBJECTS: dict[str, Callable[[Any], Any]] = {
    "object array": lambda x: x * np.array([1.0, 3.0], object),
    "reflected": lambda x: np.array([1.0, 3.0], object) * x,
    "fraction": lambda x: x * Fraction(1, 2),
    "concatenate": lambda x: np.concatenate([x, np.array([1.0], object)]),
    "where": lambda x: np.where([True, False], x, np.array([1.0, 3.0], object)),
}


@pytest.mark.parametrize("f", OBJECTS.values(), ids=OBJECTS)
def test_python_objects_do_not_drop_a_gradient(f: Callable[[Any], Any]) -> None:
    """NumPy's result would be an object array, which no derivative can pass: an error, and not a zero gradient."""
    x = np.array([1.0, 2.0])
    with pytest.raises(errors.ObjectOperandError, match=r"Convert it: `np\.asarray\(y, float\)`"):
        fg.grad(lambda x: np.sum(f(x)))(x)
    with pytest.raises(errors.ObjectOperandError):
        fg.jvp(lambda x: np.sum(f(x)), (x,), (x,))


def test_comparing_with_python_objects_drops_nothing() -> None:
    """A comparison has no derivative to lose."""
    assert fg.grad(lambda x: x * (x != None) * (x < Fraction(7, 2)))(3.0) == 1.0  # noqa: E711


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("make", [lambda: np.ma.array([1.0, 2.0], mask=[0, 1]), lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]])])
def test_arrays_with_operations_of_their_own_are_refused(make: Callable[[], Any]) -> None:
    """A masked array forgets elements and a matrix multiplies otherwise; elementwise rules would be silently wrong."""
    y = make()
    fs: list[Callable[[Any], Any]] = [lambda x: x * y, lambda x: np.add(x, y), lambda x: np.dot(x, y), lambda x: np.where(True, x, y)]
    for f in fs:
        with pytest.raises(errors.ForeignArrayError, match=r"Pass `np\.asarray\(y\)`"):
            fg.vjp(f, np.array([1.0, 2.0]))
        with pytest.raises(errors.ForeignArrayError):
            f(fg.tensor([1.0, 2.0]))


class Named(np.ndarray[Any, Any]):
    """A subclass that adds nothing to what an operation means."""


class Column:
    """Another library's array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([3.0, 4.0], dtype)


@pytest.mark.parametrize("y", [np.array([3.0, 4.0]).view(Named), Column(), memoryview(np.array([3.0, 4.0]))])
def test_array_likes_are_arrays(y: Any) -> None:
    """What NumPy would take as an array is one; nothing foreign is kept for the way back."""
    g = fg.grad(lambda x: np.sum(x * y))(np.ones(2))
    assert type(g) is np.ndarray
    assert g.tolist() == [3.0, 4.0]
    if not isinstance(y, memoryview):
        assert type(fg.vjp(lambda x: x * y, np.ones(2))[0]) is np.ndarray
        assert fg.jvp(lambda x: x**y, (np.ones(2),), (np.ones(2),))[1].tolist() == [3.0, 4.0]


# ---- the walk


def test_reading_a_scalar_array_twice() -> None:
    """The buffer of a 0-d operand becomes a scalar when something else is added, and cannot be written to again."""

    def f(x: Any) -> Any:
        a, b, c = x[None].sum(), x * 3, x[...] * 1.0
        return a * b * c

    for x in (np.array(2.0), np.float64(2.0)):
        assert fg.grad(f)(x) == 36.0
        assert fg.grad(fg.grad(f))(x) == 36.0


def test_zeros_of_where_are_strong_under_nesting() -> None:
    """**Law** (strong zero): an infinite cotangent of the walk within meets the zeros of `where`, and stays out."""

    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(x) * x, 0.0))

    x = np.array([0.0, 1.0])
    assert fg.grad(lambda x: np.sum(fg.grad(f)(x)))(x).tolist() == [0.0, 0.75]
    assert fg.hessian(f)(x).tolist() == fg.jacrev(fg.grad(f))(x).tolist() == [[0.0, 0.0], [0.0, 0.75]]


def test_forward_jacobians_keep_what_does_not_depend_apart() -> None:
    """**Law** (strong zero): a tangent of exactly zero is not spoiled by an infinite slope."""
    x = np.array([0.0, 1.0])
    assert fg.jacfwd(np.sqrt)(x).tolist() == fg.jacrev(np.sqrt)(x).tolist() == [[np.inf, 0.0], [0.0, 0.5]]
    assert fg.linearize(np.sqrt, x)[1](np.array([0.0, 1.0])).tolist() == [0.0, 0.5]


@pytest.mark.parametrize("n", [3, 64, 65, 200])
def test_iteration(n: int) -> None:
    """A short array is read item by item, a long one taken apart at once; derivatives of both orders are the same."""

    def f(x: Any) -> Any:
        total = 0.0
        for k, e in enumerate(x):
            total = total + k * e**3
        return total

    x, k = np.linspace(1.0, 2.0, n), np.arange(n)
    np.testing.assert_allclose(fg.grad(f)(x), 3 * k * x**2)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.grad(f)(x)))(x), 6 * k * x)
    np.testing.assert_allclose(fg.jvp(f, (x,), (np.ones(n),))[1], np.sum(3 * k * x**2))


def test_iteration_over_a_scalar() -> None:
    """NumPy's error, for tracers and Tensors."""
    with pytest.raises(TypeError, match=r"^iteration over a 0-d array$"):
        iter(fg.tensor(1.0))
    with pytest.raises(TypeError, match=r"^iteration over a 0-d array$"):
        fg.vjp(iter, 1.0)


# ---- stored tracers


def test_a_number_of_a_dead_tracer() -> None:
    """The error says what is wrong: that it was stored, and not that a gradient is lost."""
    kept: list[Any] = []
    fg.grad(lambda x: (kept.append(x), x * x)[1])(3.0)
    for use in (float, complex, lambda x: x.item(), lambda x: x.tolist()):
        with pytest.raises(errors.LeakedTracerError, match="was used after it ended"):
            use(kept[0])


def test_a_dead_generator_borrows_nothing() -> None:
    """Resumed after its transformation, it fails before it locks an array for ever."""
    c = np.ones(LARGE)

    def losses(x: Any) -> Iterator[Any]:
        while True:
            yield np.sum(x * c)

    steps: list[Any] = []

    def first(x: Any) -> Any:
        steps.append(losses(x))
        return next(steps[0])

    fg.grad(first)(np.ones(LARGE))
    assert c.flags.writeable
    with pytest.raises(errors.LeakedTracerError):
        next(steps[0])
    gc.collect()
    assert c.flags.writeable


# ---- Tensors among arrays


def test_augmented_assignment_to_an_array_stays_in_it() -> None:
    """`a += t` writes the caller's array and leaves it the caller's; so do `out=` and `np.add.at`."""
    t, a = fg.tensor([1.0, 2.0]), np.ones(2)
    b = a
    b += t
    assert b is a
    assert a.flags.writeable
    assert a.tolist() == [2.0, 3.0]
    assert np.multiply(t, 2.0, out=a) is a
    assert np.sum(fg.tensor([[1.0, 2.0]]), axis=0, out=a) is a
    np.add.at(a, fg.tensor([0, 0]), t)
    assert a.tolist() == [4.0, 2.0]
    assert a.flags.writeable


def test_a_tensor_is_never_a_view_of_what_can_be_written() -> None:
    """NumPy functions that give an argument back, or a view of it, give a Tensor of its own; views of Tensors are shared."""
    t = fg.tensor([1.0, 2.0])
    a = np.ones(2)
    made = [np.broadcast_arrays(a, t)[0], np.atleast_1d(a, t)[0], np.split(a, fg.tensor([1]))[0]]
    assert a.flags.writeable
    a[:] = 7.0
    assert [m.tolist() for m in made] == [[1.0, 1.0], [1.0, 1.0], [1.0]]
    assert np.shares_memory(np.asarray(np.reshape(t, (2, 1))), np.asarray(t))


def test_round_gives_an_int() -> None:
    """As `round` of a float or NumPy scalar does; with digits the result is of the dtype."""
    assert type(round(fg.tensor(2.6))) is int
    assert fg.grad(lambda x: x * round(x))(2.6) == 3.0
    assert fg.grad(lambda x: x * round(x, 1))(2.64) == 2.6


def test_tensor_of_traced_values() -> None:
    """`tensor` of a list of traced values is traced; `Tensor`, which cannot be, says so."""
    assert fg.grad(lambda x: np.sum(fg.tensor([x, [x][0] * 2])))(1.0) == 3.0
    x = fg.Var(2.0)
    assert fg.backward(np.sum(fg.tensor([x, x * x])))[x].tolist() == 5.0
    for f in (lambda x: fg.Tensor(x), lambda x: fg.Tensor([x, x])):
        with pytest.raises(errors.ArgumentTypeError, match=r"^Tensor: a traced value stays traced\. Use `fg\.tensor\(x\)`"):
            fg.vjp(f, 1.0)


# ---- maps


def test_outputs_that_are_no_numbers_have_any_cotangent() -> None:
    """They have their own place in the output, and nothing to pull back."""
    y, pull = fg.vjp(lambda x: (x, "name", 3), np.ones(2))
    assert y[1:] == ("name", 3)
    assert pull((np.ones(2), "name", 0))[0].tolist() == [1.0, 1.0]
    assert pull((np.ones(2), 0.0, 0))[0].tolist() == [1.0, 1.0]
