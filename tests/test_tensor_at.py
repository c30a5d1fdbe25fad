"""`x.at[i]`: changed copies of Tensors and of traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.testing.differences import richardson
from tests.ops.kit import arr

AT: dict[str, Callable[..., None]] = {
    "add": np.add.at,
    "subtract": np.subtract.at,
    "multiply": np.multiply.at,
    "divide": np.divide.at,
    "power": np.power.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}

INDICES: dict[str, Any] = {
    "slice": slice(1, 3),
    "int": 1,
    "element": (2, 3),
    "column": (..., 1),
    "steps": (slice(None, None, -2), slice(1, None, 2)),
    "mask": np.arange(20).reshape(4, 5) % 3 == 0,
    "empty-mask": np.zeros((4, 5), bool),
    "distinct": ([0, 2], [1, 3]),
    "repeated": ([0, 0, 2, 0], [1, 1, 3, 1]),
    "repeated-rows": [1, 1, 1],
    "list-and-slice": ([3, 0, 3], slice(None, None, 2)),
    "newaxis": (None, 1),
}


def expected(how: str, x: Any, index: Any, v: Any) -> Any:
    """What NumPy's in-place update makes of a copy."""
    out = np.array(x)
    if how == "set":
        out[index] = v
    else:
        AT[how](out, index, v)
    return out


def base_of(how: str) -> Any:
    """Of a negative number the power is nan."""
    return arr(4, 5, low=0.5) if how == "power" else arr(4, 5)


def value_at(index: Any) -> Any:
    return arr(*np.shape(np.zeros((4, 5))[index]), seed=3)[()]


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("how", ["set", *AT])
def test_values_are_those_of_numpys_in_place_updates(how: str, index: Any) -> None:
    """Once for each time the index names an element, bit for bit, as `ufunc.at` does; the base stays as it was.

    NumPy's own powers differ in the last bit between a vector and one element.
    """
    x = base_of(how)
    t = fg.tensor(x)
    for v in (0.5, value_at(index)):
        out = getattr(t.at[index], how)(v)
        assert type(out) is fg.Tensor
        np.testing.assert_allclose(out, expected(how, x, index, v), rtol=1e-15 if how == "power" else 0)
    np.testing.assert_array_equal(t, x)


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("how", ["set", *AT])
def test_derivatives_in_the_base_and_in_the_value(how: str, index: Any) -> None:
    """Both modes and the second order agree with differences of NumPy's update."""
    x, v = base_of(how), np.asarray(value_at(index))
    weights = arr(4, 5, seed=5)

    def f(x: Any, v: Any) -> Any:
        return np.sum(getattr(x.at[index], how)(v) ** 2 * weights)

    def plain(x: Any, v: Any) -> Any:
        return np.sum(expected(how, x, index, v) ** 2 * weights)

    t = (arr(4, 5, seed=6), np.asarray(arr(*v.shape, seed=7)))
    slope = richardson(lambda a: [plain(*a)], [x, v], list(t), 2.0**-9)[0][0]
    g = fg.grad(f, (0, 1))
    np.testing.assert_allclose(fg.jvp(f, (x, v), t)[1], slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(sum(np.sum(a * b) for a, b in zip(g(x, v), t, strict=True)), slope, rtol=1e-7, atol=1e-9)
    curvature = richardson(lambda a: list(g(*a)), [x, v], list(t), 2.0**-9)[0]
    for found, by_differences in zip(fg.jvp(g, (x, v), t)[1], curvature, strict=True):
        np.testing.assert_allclose(found, by_differences, rtol=1e-7, atol=1e-9)


def test_only_the_base_or_only_the_value_may_be_traced() -> None:
    """A Tensor with a traced value and a traced base with a plain value both give traced results."""
    t = fg.tensor(np.ones(3))
    np.testing.assert_array_equal(fg.grad(lambda v: np.sum(t.at[[0, 2]].set(v) * np.arange(3.0)))(5.0), 2.0)
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x.at[1].set(7) * np.arange(3.0)))(np.ones(3)), [0.0, 0.0, 2.0])
    np.testing.assert_array_equal(fg.grad(lambda v: np.sum(t.at[:2].set([v, 2 * v])))(5.0), 3.0)


def test_of_values_set_twice_the_last_one_counts() -> None:
    """The derivative goes to the value that stays."""
    g = fg.grad(lambda v: np.sum(fg.tensor(np.zeros(2)).at[[0, 0, 1]].set(v)))(np.ones(3))
    np.testing.assert_array_equal(g, [0.0, 1.0, 1.0])


def test_ties_of_min_and_max_share_equally() -> None:
    """Between the base and every value that goes to one place."""
    gx, gv = fg.grad(lambda x, v: np.sum(x.at[[0, 0]].max(v)), (0, 1))(np.ones(2), np.array([1.0, 1.0]))
    np.testing.assert_allclose(gx, [1 / 3, 1.0])
    np.testing.assert_allclose(gv, [1 / 3, 1 / 3])


def test_multiply_is_right_at_zeros() -> None:
    """Where a quotient of products would be 0/0."""
    gx, gv = fg.grad(lambda x, v: np.sum(x.at[[0, 0]].multiply(v)), (0, 1))(np.array([5.0, 1.0]), np.array([0.0, 3.0]))
    np.testing.assert_array_equal(gx, [0.0, 1.0])
    np.testing.assert_array_equal(gv, [15.0, 0.0])


def test_apply_once_for_each_time() -> None:
    """A function of what is there, as often as the index names it; both modes, and the second order."""
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fg.tensor(x).at[[0, 0, 2]].apply(np.exp), [np.exp(np.exp(1.0)), 2.0, np.exp(3.0)])
    np.testing.assert_array_equal(fg.tensor(x).at[1:].apply(np.square), [1.0, 4.0, 9.0])

    def f(x: Any) -> Any:
        return np.sum(x.at[[0, 0, 2]].apply(np.square))  # x0⁴ + x1 + x2²

    np.testing.assert_allclose(fg.grad(f)(x), [4.0, 1.0, 6.0])
    np.testing.assert_allclose(fg.hessian(f)(x), np.diag([12.0, 0.0, 2.0]))
    np.testing.assert_allclose(fg.jvp(f, (x,), (np.ones(3),))[1], 11.0)


def test_power_and_divide_are_right_at_zeros() -> None:
    """The slope of 0² is 0; a division of 0 has the slope 1/v."""
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x.at[0].power(2)))(np.zeros(2)), [0.0, 1.0])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x.at[[0, 0]].divide([2.0, 4.0])))(np.zeros(2)), [0.125, 1.0])


def test_whole_numbers_are_not_divided() -> None:
    """The quotient is no int; NumPy refuses it in place as well."""
    with pytest.raises(errors.ArgumentTypeError, match="does not fit into int64"):
        fg.tensor(np.arange(3)).at[1].divide(2)


def test_get_reads() -> None:
    """`x.at[i].get()` is `x[i]`."""
    np.testing.assert_array_equal(fg.tensor(np.arange(4.0)).at[1:3].get(), [1.0, 2.0])


def test_the_dtype_is_that_of_the_base() -> None:
    """Wider floats are rounded, as in an assignment."""
    t = fg.tensor(np.zeros(3, np.float32))
    for v in (2, 2.5, np.float64(2.5), np.int64(2)):
        assert t.at[1].set(v).dtype == np.float32
        assert t.at[[1, 1]].add(v).dtype == np.float32
    assert fg.tensor(np.zeros(3, np.uint8)).at[0].set(7).dtype == np.uint8


@pytest.mark.parametrize(("base", "value"), [(np.zeros(3, int), 1.5), (np.zeros(3), 1j), (np.zeros(3, bool), 2)])
def test_a_value_that_does_not_fit_is_refused(base: Any, value: Any) -> None:
    """NumPy would cut off the fraction or the imaginary part, and with it the derivative."""
    with pytest.raises(errors.ArgumentTypeError, match="does not fit"):
        fg.tensor(base).at[0].set(value)


def test_a_traced_float_does_not_go_into_an_integer_base() -> None:
    """Its derivative would silently be zero."""
    with pytest.raises(errors.ArgumentTypeError, match=r"x\.astype"):
        fg.grad(lambda v: fg.tensor(np.arange(3)).at[0].set(v)[0] * 1.0)(2.0)


@pytest.mark.parametrize("how", ["set", *AT])
@pytest.mark.parametrize("index", [7, [0, 7], (0, 0), 0.5, "a"])
def test_a_bad_index_raises_numpys_error(how: str, index: Any) -> None:
    """Nothing is dropped or clipped."""
    with pytest.raises(IndexError):
        getattr(fg.tensor(np.zeros(3)).at[index], how)(1.0)


# ---- where the index points outside

OUTSIDE: dict[str, tuple[Any, Any, Any]] = {  # an index of a (4, 5) array, the clipped index, where it points inside
    "int": (7, 3, False),
    "negative": (-9, 0, False),
    "last": (-1, 3, True),
    "element": ((1, 5), (1, 4), False),
    "list": ([0, 4, -5, -4], [0, 3, 0, 0], [[True], [False], [False], [True]]),
    "column": ((slice(None), [5, 1]), (slice(None), [4, 1]), [[False, True]]),
    "ellipsis": ((..., -6), (..., 0), False),
    "pairs": (([0, 9, 2], [1, 1, -8]), ([0, 3, 2], [1, 1, 0]), [True, False, False]),
    "table": (([[0], [9]], [1, 7]), ([[0], [3]], [1, 4]), [[True, False], [False, False]]),
    "newaxis": ((None, 4, slice(0, 2)), (None, 3, slice(0, 2)), False),
    "mask-and-list": ((np.array([True, False, True, False]), [1, 6]), ([0, 2], [1, 4]), [True, False]),
    "split": ((4, slice(1, 3)), (3, slice(1, 3)), False),
    "uint8": (np.array([3, 255], np.uint8), [3, 3], [[True], [False]]),
    "int8": (np.array([-1, -128], np.int8), [3, 0], [[True], [False]]),
    "slice": (slice(2, 99), slice(2, 99), True),
}


@pytest.mark.parametrize(("index", "near", "inside"), OUTSIDE.values(), ids=OUTSIDE)
def test_modes(index: Any, near: Any, inside: Any) -> None:
    """`clip` takes the nearest element; `drop` and `fill` leave out what is outside, and read `fill_value` there."""
    x = arr(4, 5)
    t = fg.tensor(x)
    inside = np.broadcast_to(inside, x[near].shape)
    v = np.asarray(arr(*x[near].shape, seed=3))
    np.testing.assert_array_equal(t.at[index].get(mode="clip"), x[near])
    for how in ("set", *AT):
        if how == "power":
            continue
        np.testing.assert_array_equal(getattr(t.at[index], how)(v, mode="clip"), expected(how, x, near, v))
        places = np.arange(20).reshape(4, 5)[near][inside]
        only = expected(how, x.reshape(-1), places, v[inside]).reshape(4, 5)
        for mode in ("drop", "fill"):
            np.testing.assert_array_equal(getattr(t.at[index], how)(v, mode=mode), only)
    for mode in ("drop", "fill"):
        np.testing.assert_array_equal(t.at[index].get(mode=mode), np.where(inside, x[near], np.nan))
        np.testing.assert_array_equal(t.at[index].get(mode=mode, fill_value=7), np.where(inside, x[near], 7.0))
    g = fg.grad(lambda x: np.sum(x.at[index].get(mode="fill", fill_value=0.0) * v))(x)
    np.testing.assert_allclose(g, expected("add", np.zeros((4, 5)), near, v * inside))
    gx, gv = fg.grad(lambda x, v: np.sum(x.at[index].add(v, mode="drop") ** 2), (0, 1))(x, v)
    after = expected("add", x, near, v * inside)
    np.testing.assert_allclose(gx, 2 * after)
    np.testing.assert_allclose(gv, 2 * after[near] * inside)


@pytest.mark.parametrize("index", [7, [0, 7], (1, 5)])
def test_outside_raises_unless_said_otherwise(index: Any) -> None:
    """The default is NumPy's error, for reading and writing."""
    t = fg.tensor(arr(4, 5))
    for mode in (None, "raise"):
        with pytest.raises(IndexError):
            t.at[index].get(mode=mode)
        with pytest.raises(IndexError):
            t.at[index].add(1.0, mode=mode)


@pytest.mark.parametrize(("dtype", "fill"), [(np.float32, np.nan), (np.int8, -128), (np.uint8, 255), (bool, True), (complex, np.nan)])
def test_what_fills_by_default(dtype: Any, fill: Any) -> None:
    """As in JAX, in the dtype of the array."""
    t = fg.tensor(np.zeros(2, dtype))
    found = t.at[[0, 2]].get(mode="fill")
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array([0, fill], dtype))


def test_modes_of_an_empty_array() -> None:
    """Everything is outside."""
    t = fg.tensor(np.zeros(0))
    np.testing.assert_array_equal(t.at[[0, 1]].get(mode="fill", fill_value=3.0), [3.0, 3.0])
    np.testing.assert_array_equal(t.at[[0, 1]].set(1.0, mode="drop"), np.zeros(0))
    with pytest.raises(IndexError):
        t.at[[0, 1]].get(mode="clip")


def test_an_unknown_mode_is_refused() -> None:
    """With the ones there are."""
    with pytest.raises(errors.ArgumentError, match="raise, clip, drop, fill"):
        fg.tensor(np.zeros(3)).at[0].set(1.0, mode="wrap")


def test_a_value_of_another_shape_raises() -> None:
    """As an assignment does; extra leading ones are allowed, as there."""
    with pytest.raises(ValueError, match="broadcast"):
        fg.tensor(np.zeros(3)).at[:2].set(np.zeros(3))
    np.testing.assert_array_equal(fg.tensor(np.zeros(3)).at[:2].set(np.ones((1, 1, 2))), [1.0, 1.0, 0.0])


def test_writing_names_at() -> None:
    """Both on a Tensor and on a traced value."""
    t = fg.tensor(np.zeros(3))
    with pytest.raises(errors.FrozenError, match=r"\.at\[i\]\.set"):
        t[0] = 1.0

    def f(x: Any) -> Any:
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(errors.FrozenError, match=r"\.at\[i\]\.set"):
        fg.grad(f)(np.zeros(3))


def test_index_arrays_may_be_overwritten_afterwards() -> None:
    """The gradient uses the indices of the forward pass."""
    i = np.array([0, 2])

    def f(x: Any) -> Any:
        y = np.sum(x[i] * np.array([2.0, 3.0])) + np.sum(x.at[i].add(1.0) ** 2)
        i[:] = 1
        return y

    np.testing.assert_array_equal(fg.grad(f)(np.ones(3)), [6.0, 2.0, 7.0])


def test_a_traced_float_is_no_index() -> None:
    """NumPy's IndexError, not a silent cut."""
    with pytest.raises(IndexError, match="integer"):
        fg.grad(lambda x: np.sum(x[x]))(np.zeros(3))
    with pytest.raises(IndexError, match="integer"):
        fg.grad(lambda x: x[x[0]])(np.zeros(3))


@pytest.mark.parametrize("of", [np.quantile, np.percentile])
def test_traced_levels_are_refused(of: Any) -> None:
    """The derivative in `q` is not built, so it is not zero either."""
    with pytest.raises(errors.ArgumentTypeError, match="q is traced"):
        fg.grad(lambda q: of(np.arange(4.0), q))(0.5)
