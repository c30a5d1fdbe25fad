"""The ufuncs at their edges: ties, kinks, infinities, zeros; keywords and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

INF, NAN = np.inf, np.nan
EDGES = np.array([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN])
BINARY = """
    add multiply divide power float_power hypot arctan2 logaddexp logaddexp2
    maximum minimum fmax fmin copysign remainder fmod heaviside
"""


@pytest.mark.parametrize("name", BINARY.split())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_at_edges(name: str) -> None:
    """Infinities, signed zeros and nan come out as from NumPy."""
    f = getattr(np, name)
    np.testing.assert_array_equal(fg.vjp(f, EDGES[:, None], EDGES)[0], f(EDGES[:, None], EDGES))


@pytest.mark.parametrize(
    ("name", "x", "y", "expected"),
    [
        ("hypot", 0.0, 0.0, (0.0, 0.0)),
        ("hypot", -3.0, 0.0, (-1.0, 0.0)),
        ("hypot", 3e200, 4e200, (0.6, 0.8)),
        ("arctan2", 2.0, 0.0, (0.0, -0.5)),
        ("arctan2", 3e200, 4e200, (4 / 25 * 1e-200, -3 / 25 * 1e-200)),
        ("logaddexp", -INF, 2.0, (0.0, 1.0)),
        ("logaddexp", INF, 2.0, (1.0, 0.0)),
        ("logaddexp", INF, INF, (0.5, 0.5)),
        ("logaddexp", -INF, -INF, (0.0, 0.0)),
        ("logaddexp", 1000.0, -1000.0, (1.0, 0.0)),
        ("logaddexp2", -INF, 2.0, (0.0, 1.0)),
        ("logaddexp2", INF, INF, (0.5, 0.5)),
        ("maximum", 1.0, 1.0, (0.5, 0.5)),
        ("maximum", NAN, 1.0, (1.0, 0.0)),
        ("maximum", NAN, NAN, (0.5, 0.5)),
        ("minimum", 0.0, -0.0, (0.5, 0.5)),
        ("minimum", INF, INF, (0.5, 0.5)),
        ("fmax", NAN, 1.0, (0.0, 1.0)),
        ("fmin", 1.0, NAN, (1.0, 0.0)),
        ("fmax", 2.0, 2.0, (0.5, 0.5)),
        ("copysign", 0.0, -1.0, (0.0, 0.0)),
        ("copysign", -3.0, 1.0, (-1.0, 0.0)),
        ("power", 0.0, 2.0, (0.0, 0.0)),
        ("power", 0.0, 1.0, (1.0, 0.0)),
        ("power", 0.0, 0.5, (INF, 0.0)),
        ("power", 2.0, 0.0, (0.0, np.log(2.0))),
        ("float_power", 0.0, 2.0, (0.0, 0.0)),
        ("heaviside", 0.0, 0.3, (0.0, 1.0)),
        ("heaviside", 2.0, 0.3, (0.0, 0.0)),
        ("fmod", -7.5, 2.0, (1.0, 3.0)),
        ("remainder", -7.5, 2.0, (1.0, 4.0)),
        ("fmod", 5.0, INF, (1.0, 0.0)),
        ("divide", 0.0, 2.0, (0.5, 0.0)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slopes_at_edges(name: str, x: float, y: float, expected: tuple[float, float]) -> None:
    """Both modes give the slope of the convention, for Python floats and for arrays."""
    f = getattr(np, name)
    np.testing.assert_allclose(fg.grad(f, (0, 1))(x, y), expected, rtol=1e-14, atol=0)
    by_array = fg.grad(lambda a, b: np.sum(f(a, b)), (0, 1))(np.array([x]), np.array([y]))
    np.testing.assert_allclose(np.ravel(by_array), expected, rtol=1e-14, atol=0)
    if np.isfinite(expected).all():
        for t, slope in zip(((1.0, 0.0), (0.0, 1.0)), expected, strict=True):
            np.testing.assert_allclose(fg.jvp(f, (x, y), t)[1], slope, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (np.abs, 0.0, 0.0),
        (np.fabs, 0.0, 0.0),
        (np.abs, -0.0, 0.0),
        (np.sqrt, 0.0, INF),
        (np.cbrt, 0.0, INF),
        (np.sign, 0.0, 0.0),
        (np.tanh, 1000.0, 0.0),
        (np.log1p, 0.0, 1.0),
        (np.arcsin, 1.0, INF),
        (np.reciprocal, 2.0, -0.25),
        (lambda x: np.modf(x)[0], -2.5, 1.0),
        (lambda x: np.frexp(x)[0], 12.0, 1 / 16),
        (lambda x: np.nextafter(x, 9.0), 1.0, 1.0),
        (lambda x: np.ldexp(x, 3), 1.5, 8.0),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slopes_of_one_operand(f: Any, x: float, expected: float) -> None:
    """The conventions at kinks; what is infinite is infinite."""
    assert fg.grad(f)(x) == expected
    assert fg.jvp(f, (x,), (1.0,))[1] == expected


def test_complex_abs_at_zero() -> None:
    """The slope of |z| at 0 is 0, the subgradient of least norm, and finite to second order."""
    z = np.array([0j, 3 + 4j])
    np.testing.assert_allclose(fg.grad(lambda z: np.sum(np.abs(z)))(z), [0, 0.6 - 0.8j])
    np.testing.assert_array_equal(fg.vjp(np.sign, z)[1](np.ones(2, complex))[0][0], 0)


@pytest.mark.parametrize("side", [0.0, -0.0])
@pytest.mark.parametrize("f", [np.arcsin, np.arccos, np.arccosh, np.arctanh, np.arcsinh, np.arctan])
@pytest.mark.parametrize("x", [2.0, -2.0])
def test_branch_cuts(f: Any, x: float, side: float) -> None:
    """On a cut the derivative is that of NumPy's side of it, as differences along the cut show."""
    h, imaginary = 1e-5, f in (np.arcsinh, np.arctan)
    at = lambda x: complex(side, x) if imaginary else complex(x, side)
    z, along = at(x), 1j if imaginary else 1
    expected = (f(at(x + h)) - f(at(x - h))) / (2 * h * along)
    np.testing.assert_allclose(fg.grad(f, holomorphic=True)(z), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, bool])
@pytest.mark.parametrize("name", "add multiply divide arctan2 hypot power logaddexp maximum remainder".split())
def test_integer_operands_keep_precision(name: str, dtype: Any) -> None:
    """Squares of small integers do not wrap around, and their logarithms are not of low precision."""
    f, k, x = getattr(np, name), np.array([1, 100], dtype), np.array([1.5, 0.7])
    for g in (lambda x, k: np.sum(f(x, k)), lambda x, k: np.sum(f(k, x))):
        np.testing.assert_allclose(fg.grad(g)(x, k), fg.grad(g)(x, k.astype(float)), rtol=1e-14)


@pytest.mark.parametrize("f", [np.float_power, lambda x, y: np.multiply(x, y, dtype=np.float64)])
def test_ufuncs_that_widen(f: Any) -> None:
    """float32 operands of a float64 result have float32 gradients."""
    x = np.float32([1.5, 2.5])
    value, pull = fg.vjp(f, x, x)
    assert value.dtype == np.float64
    assert [g.dtype for g in pull(np.ones(2))] == [np.float32] * 2


def test_aliases_are_the_same_ufuncs() -> None:
    """`np.abs`, `np.pow`, `np.mod` and the others need no entry of their own."""
    assert fg.grad(np.abs)(-2.0) == -1.0
    assert fg.grad(np.pow)(3.0, 2) == 6.0
    assert fg.grad(np.mod)(3.5, 2.0) == fg.grad(np.true_divide)(3.5, 1.0) == fg.grad(np.asinh)(0.0) == 1.0


def test_dtype_keyword_is_checked_as_numpy_does() -> None:
    """A loop that would drop the fraction raises NumPy's error."""
    with pytest.raises(TypeError, match="Cannot cast"):
        fg.grad(lambda x: np.add(x, 1.0, dtype=int) * 1.0)(2.0)
    assert fg.grad(lambda x: np.add(x, 1.0, dtype=np.float32, casting="same_kind"))(2.0) == 1.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.add.reduceat(x, [0, 1]),
        lambda x: np.subtract.reduce(x),
        lambda x: np.divide.accumulate(x),
        lambda x: np.hypot.reduce(x),
    ],
)
def test_methods_without_a_rule(f: Any) -> None:
    """Methods of ufuncs that are not known raise; they are never taken for constants."""
    with pytest.raises(errors.MissingRuleError):
        fg.vjp(f, np.ones(3))


def test_where_and_out_are_refused() -> None:
    """`where=` without `out=` leaves elements undefined."""
    x = np.ones(3)
    with pytest.raises(errors.WhereArgumentError):
        fg.vjp(lambda x: np.exp(x, where=x > 0), x)
    with pytest.raises(errors.OutArgumentError):
        fg.vjp(lambda x: np.exp(x, out=np.empty(3)), x)


def test_integer_ufuncs_raise_numpys_error() -> None:
    """A traced float is no integer."""
    with pytest.raises(TypeError, match="gcd"):
        fg.grad(lambda x: np.gcd(x, 2) * 1.0)(2.0)
