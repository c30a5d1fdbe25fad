"""dtypes: NumPy's promotion on the way forward, the input's own dtype on the way back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.hard_cases.kit import close, gradient, numbers


def test_more_ties_than_float16_can_count() -> None:
    """90,000 equal elements share equally, in float16."""
    g = fg.grad(np.max)(np.full(90_000, 2.5, np.float16))
    assert g.dtype == np.float16
    close(g.astype(float), np.full(90_000, 1 / 90_000), rtol=2e-2)


@pytest.mark.parametrize(
    ("x", "what"), [(7, "x is int"), (np.arange(4), r"x is int64\[4\]"), (np.array([True]), r"x is bool\[1\]"), (np.uint8(3), "x is uint8")]
)
def test_integers_and_bools_have_no_derivative(x: Any, what: str) -> None:
    """Neither a rounded one nor zero: a TypeError that names the dtype."""
    with pytest.raises(TypeError, match=what):
        fg.grad(lambda x: np.sum(x * 0.5))(x)


def test_an_integer_among_the_parameters() -> None:
    """The error names its path."""
    with pytest.raises(TypeError, match=r"params\['layers'\]\[1\] is int, which has no derivative"):
        fg.grad(lambda params: params["w"])({"w": 1.0, "layers": [2.0, 3]})


def test_arguments_of_different_dtypes() -> None:
    """Each gradient in the dtype of its own argument."""
    a, b = np.array([1.5, -2.0], np.float32), np.array([0.5, 4.0])
    ga, gb = gradient(lambda a, b: np.sum((a * b) ** 2), a, b, argnums=(0, 1))
    assert (ga.dtype, gb.dtype) == (np.float32, np.float64)
    close(gb, [2 * 0.5 * 2.25, 2 * 4.0 * 4.0])


def test_python_scalars_are_weak() -> None:
    """float32 stays float32 beside them, forward and back."""
    f = lambda x: np.sum(0.5 * x**3 - 7 / x + (x + 1) ** 2.0 - abs(-x))
    value, g = fg.value_and_grad(f)(np.array([0.5, 3.0], np.float32))
    assert (value.dtype, g.dtype) == (np.float32, np.float32)


def test_numpy_scalars_and_integer_arrays_are_strong() -> None:
    """The value is float64, as NumPy says; the gradient float32, as the argument."""
    x = np.array([1.0, 4.0], np.float32)
    for other in (np.float64(3.0), np.array([3, 3]), np.full(2, 3.0)):
        value, g = fg.value_and_grad(lambda x, c=other: np.sum(x * c))(x)
        assert (value.dtype, g.dtype) == (np.float64, np.float32)
        close(g, [3.0, 3.0])


@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.array(1.5)])
def test_numbers_of_no_dimension(x: Any) -> None:
    """The gradient is of the type of the argument."""
    g = gradient(lambda x: x**4, x)
    assert type(g) is type(x)
    close(g, 13.5)


def test_views_as_inputs() -> None:
    """Strided, transposed, Fortran-ordered and read-only inputs: right, and untouched."""
    base = numbers(4, 6)
    before = base.copy()
    for x in (base.T, base[::-2, 1::2], np.asfortranarray(base), np.broadcast_to(base[0], (3, 6))):
        close(gradient(lambda x: np.sum(x**4) / 4, x), x**3)
    locked = base.copy()
    locked.flags.writeable = False
    close(gradient(lambda x: np.sum(np.exp(x)), locked), np.exp(before))
    np.testing.assert_array_equal(base, before)
    assert base.flags.writeable
    assert not locked.flags.writeable


@pytest.mark.parametrize("dtype", [">f8", ">f4", np.longdouble, np.float16])
def test_unusual_floats(dtype: Any) -> None:
    """Big-endian, extended and half precision."""
    g = fg.grad(lambda x: np.sum(x * x * x))(np.array([1.0, -2.0], dtype))
    assert g.dtype == np.dtype(dtype)
    close(g.astype(float), [3.0, 12.0])
