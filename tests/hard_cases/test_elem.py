"""Element-wise functions: none is missing, and none has a wrong slope."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads
from tests.hard_cases.kit import close, gradient, numbers

EVERYWHERE = (
    "sin cos tan arctan sinh cosh tanh arcsinh exp exp2 expm1 square negative positive absolute fabs deg2rad rad2deg degrees radians "
    "reciprocal conjugate"
).split()
POSITIVE = "log log2 log10 log1p sqrt cbrt".split()
UNARY = {**dict.fromkeys(EVERYWHERE, 0.6), **dict.fromkeys(POSITIVE, 1.4), "arcsin": -0.4, "arccos": -0.4, "arctanh": -0.4, "arccosh": 2.2}


@pytest.mark.parametrize("name", UNARY)
def test_ufuncs_of_one_argument(name: str) -> None:
    """Both modes agree with differences, to second order."""
    check_grads(getattr(np, name), (np.array([UNARY[name], UNARY[name] * 1.1]),))


BINARY = "add subtract multiply divide true_divide power float_power arctan2 hypot logaddexp logaddexp2 maximum minimum fmax fmin".split()


@pytest.mark.parametrize("name", BINARY)
def test_ufuncs_of_two_arguments(name: str) -> None:
    """Both modes agree with differences in both arguments, which broadcast against each other."""
    check_grads(getattr(np, name), (np.array([[0.6], [1.9]]), np.array([1.1, 0.3, 2.4])))


@pytest.mark.parametrize("name", "floor ceil rint trunc sign heaviside".split())
def test_locally_constant_functions(name: str) -> None:
    """A gradient of zeros, of the input's shape and dtype, and no obstacle for what stands beside it."""
    f = getattr(np, name) if name != "heaviside" else lambda x: np.heaviside(x, 0.5)
    x = numbers(2, 3).astype(np.float32) + np.float32(1.5)
    g = gradient(lambda x: np.sum(f(x)), x)
    assert g.dtype == np.float32
    close(g, np.zeros((2, 3)))
    close(gradient(lambda x: np.sum(f(x) * x), x), f(x), rtol=1e-6)


def test_functions_with_two_outputs() -> None:
    """modf: the fraction has slope 1, the whole part 0. divmod: the quotient 0, the remainder 1 and -q."""
    close(gradient(lambda x: 4 * np.modf(x)[0] - 9 * np.modf(x)[1], -3.25), 4.0)
    f = lambda x, y: 6 * np.divmod(x, y)[0] + 5 * np.divmod(x, y)[1]
    close(gradient(f, 11.5, 3.0, argnums=(0, 1)), (5.0, -15.0))
    by_builtin: Any = lambda x, y: divmod(x, y)[1]
    close(gradient(by_builtin, 11.5, 3.0, argnums=(0, 1)), (1.0, -3.0))


def test_clip_lets_the_cotangent_through_once() -> None:
    """The weight inside the bounds, 0 outside."""
    f = lambda x: np.sum(7 * np.clip(x, 0.0, 2.0))
    close(gradient(f, np.array([-0.5, 0.5, 1.5, 2.5])), [0.0, 7.0, 7.0, 0.0])
    close(fg.grad(lambda x: np.sum(x.clip(0.0, 2.0) ** 2))(np.array([-0.5, 1.5, 3.0])), [0.0, 3.0, 0.0])
