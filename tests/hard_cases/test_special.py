"""Special functions of SciPy: where other libraries had nan, zero, or nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.hard_cases.kit import close, derivatives, gradient

sp = pytest.importorskip("scipy.special", reason="SciPy is not installed")


@pytest.mark.parametrize(("x", "trigamma"), [(-16.5, 9.810797812993575), (-2.5, 9.539246644989124), (0.5, math.pi**2 / 2)])
def test_digamma_left_of_zero(x: float, trigamma: float) -> None:
    """jax#37635: the slope of digamma between its poles."""
    close(gradient(sp.digamma, x), trigamma)


def test_digamma_far_left() -> None:
    """By reflection, as a sum over all poles in between would take for ever."""
    close(gradient(sp.digamma, -1e12 + 0.5), math.pi**2, rtol=1e-6)


def test_a_saturated_sigmoid() -> None:
    """jax#777: no nan at ±800, to second order."""
    for x in (800.0, -800.0):
        close(derivatives(sp.expit, x, 2), np.zeros(2))
    close(gradient(sp.expit, 0.0), 0.25)


def test_incomplete_functions_have_densities_as_slopes() -> None:
    """betainc and gammainc in their argument; in their shapes they raise, and are never 0."""
    close(gradient(lambda x: sp.betainc(1.0, 2.0, x), 0.5), 1.0)
    close(gradient(lambda x: sp.betainc(2.0, 3.0, x), 0.5), 1.5)
    close(gradient(lambda x: sp.gammainc(2.0, x), 1.5), 1.5 * math.exp(-1.5))
    close(gradient(lambda x: sp.gammaincc(2.0, x), 1.5), -1.5 * math.exp(-1.5))
    for f in (lambda a: sp.gammainc(a, 1.0), lambda a: sp.betainc(a, 2.0, 0.5), lambda b: sp.betainc(2.0, b, 0.5)):
        with pytest.raises(errors.MissingPartialError):
            fg.grad(f)(1.5)


def test_bessel_functions_of_the_first_kind() -> None:
    """-J₁ and J₀ - J₁/x; at 0, where the latter is 0/0, it is ½."""
    close(gradient(sp.j0, 1.3), -sp.j1(1.3))
    close(gradient(sp.j1, 1.3), sp.j0(1.3) - sp.j1(1.3) / 1.3)
    close(gradient(sp.j1, 0.0), 0.5)


@pytest.mark.parametrize("x", [1.3, -1.3])
def test_modified_bessel_functions(x: float) -> None:
    """On both sides of 0."""
    close(gradient(sp.i0, x), sp.i1(x))
    close(gradient(sp.i0e, x), sp.i1e(x) - math.copysign(1.0, x) * sp.i0e(x))
    close(gradient(sp.i1, x), sp.i0(x) - sp.i1(x) / x)
    close(gradient(sp.i1e, x), sp.i0e(x) - sp.i1e(x) / x - math.copysign(1.0, x) * sp.i1e(x))


def test_beta_zeta_and_exponential_integrals() -> None:
    """Closed forms; `zeta` is a Python function that calls a ufunc."""
    difference = sp.digamma(1.5) - sp.digamma(4.0)
    close(gradient(sp.betaln, 1.5, 2.5), difference)
    close(gradient(sp.beta, 1.5, 2.5), sp.beta(1.5, 2.5) * difference)
    close(gradient(lambda q: sp.zeta(3.0, q), 1.5), -3.0 * sp.zeta(4.0, 1.5))
    close(gradient(sp.exp1, 1.3), -math.exp(-1.3) / 1.3)
    close(gradient(sp.expi, 1.3), math.exp(1.3) / 1.3)


def test_x_log_y_at_zero() -> None:
    """tensorflow#56873: the slope in x at x = 0 is the logarithm, and that in y is 0."""
    close(gradient(lambda x: sp.xlog1py(x, 1.0), 0.0), math.log(2.0))
    close(gradient(lambda y: sp.xlogy(0.0, y), 0.5), 0.0)
    close(gradient(lambda y: sp.xlogy(0.0, y), 0.0), 0.0)
