"""Complex numbers: for real f of z = x + iy, the gradient is ∂f/∂x - i ∂f/∂y; nothing is conjugated on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.hard_cases.kit import close


def test_the_square_of_the_absolute_value() -> None:
    """2 conj(z)."""
    z = np.array([3.0 - 1.0j, 2.0j, -0.25])
    close(fg.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * np.conj(z))
    close(fg.grad(lambda z: np.sum((z * np.conj(z)).real))(z), 2 * np.conj(z))


@pytest.mark.parametrize(
    ("f", "slope"),
    [(np.sin, np.cos), (lambda z: z**3, lambda z: 3 * z**2), (np.log, np.reciprocal), (lambda z: 1 / z, lambda z: -1 / z**2)],
)
def test_a_holomorphic_function(f: Any, slope: Any) -> None:
    """The pullback of 1 is f'(z), as is what `grad` gives with holomorphic=True."""
    z = 0.8 - 1.3j
    close(fg.vjp(f, z)[1](1.0 + 0j)[0], slope(z))
    close(fg.grad(f, holomorphic=True)(z), slope(z))
    close(fg.jvp(f, (z,), (1.0 + 0j,))[1], slope(z))


def test_angle() -> None:
    """(-y - ix)/r²."""
    close(fg.grad(np.angle)(5.0 - 12.0j), (12.0 - 5.0j) / 169)


def test_a_real_parameter_of_a_complex_computation() -> None:
    """Its gradient is real: |e^{ix} + 2|² = 5 + 4 cos x."""
    x = np.array([0.4, 2.0])
    g = fg.grad(lambda x: np.sum(np.abs(np.exp(1j * x) + 2) ** 2))(x)
    assert g.dtype == np.float64
    close(g, -4 * np.sin(x))


def test_a_complex_output() -> None:
    """It has no gradient: a TypeError that says so."""
    with pytest.raises(TypeError, match="the output must be real, got complex"):
        fg.grad(lambda x: x * 2j)(1.0)


def test_contractions() -> None:
    """matmul, einsum and division: as differences along 1 and along i."""
    rng = np.random.default_rng(3)
    m, z = [rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((2, 2), (2,))]

    def f(z: Any) -> Any:
        return np.sum(np.abs(m @ z / (z[1] - 4.0)) ** 2) + np.imag(np.einsum("i,ij,j", z, m, np.conj(z)))

    expected = []
    for e in np.eye(2):
        along = [(f(z + 1e-5 * u * e) - f(z - 1e-5 * u * e)) / 2e-5 for u in (1, 1j)]
        expected.append(along[0] - 1j * along[1])
    close(fg.grad(f)(z), expected, rtol=1e-7)


def test_parts_as_attributes() -> None:
    """`z.real`, `z.imag`, `z.conj()` and `z.conjugate()`: f = 5x - 7y + x² + y² at 2 - i."""
    f = lambda z: 5 * z.real - 7 * z.imag + (z.conj() * z).real
    close(fg.grad(f)(2.0 - 1.0j), (5 + 4) - 1j * (-7 - 2))
    close(fg.grad(lambda z: z.conjugate().imag)(2.0 - 1.0j), 1j)
