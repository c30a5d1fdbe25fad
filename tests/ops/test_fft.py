"""Fourier transforms against mathematics, and against what NumPy refuses."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.ops.kit import arr

F = np.fft
RNG = np.random.default_rng(3)
SIZES = pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
NORMS = pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
FACTOR: dict[str, Callable[[int], float]] = {"backward": lambda n: n, "ortho": lambda n: 1.0, "forward": lambda n: 1.0 / n}


def close(found: Any, expected: Any, tol: float = 1e-12) -> None:
    np.testing.assert_allclose(found, expected, rtol=tol, atol=tol)


def dft(n: int) -> np.ndarray:
    """The matrix of `np.fft.fft`."""
    k = np.arange(n)
    return np.exp(-2j * np.pi * np.outer(k, k) / n)


# ---- closed forms


@SIZES
@NORMS
def test_parseval(n: int, norm: str) -> None:
    """The energy of a spectrum is that of the signal, so its gradient is twice the signal, times the factor of the norm."""
    x = RNG.normal(size=n)
    close(fg.grad(lambda x: np.sum(np.abs(F.fft(x, norm=norm)) ** 2))(x), 2 * FACTOR[norm](n) * x)
    z = x + 1j * RNG.normal(size=n)
    close(fg.grad(lambda z: np.sum(np.abs(F.fft(z, norm=norm)) ** 2))(z), 2 * FACTOR[norm](n) * np.conj(z))


@SIZES
def test_parseval_of_half_a_spectrum(n: int) -> None:
    """Of `rfft`, the bins with a partner count twice."""

    def energy(x: Any) -> Any:
        power = np.abs(F.rfft(x)) ** 2
        return power[0] + 2 * np.sum(power[1 : (n + 1) // 2]) + (np.sum(power[n // 2 :]) if n % 2 == 0 else 0.0)

    x = RNG.normal(size=n)
    close(energy(x), n * np.sum(x**2))
    close(fg.grad(energy)(x), 2 * n * x)
    close(fg.hessian(energy)(x), 2 * n * np.eye(n), 1e-11)


@SIZES
def test_power_of_one_bin(n: int) -> None:
    """|W_k x|² has the gradient 2 Re(conj(W_k) (W_k x)), with W_k a row of the matrix."""
    x, w = RNG.normal(size=n), dft(n)
    for k in range(n // 2 + 1):
        expected = 2 * np.real(np.conj(w[k]) * (w[k] @ x))
        for f in (F.fft, F.rfft):
            close(fg.grad(lambda x, f=f, k=k: np.abs(f(x)[k]) ** 2)(x), expected)


@SIZES
def test_convolution_theorem(n: int) -> None:
    """The gradient of a circular convolution is a circular correlation."""
    x, y, ct = RNG.normal(size=(3, n))
    shifted = np.array([[y[(i - j) % n] for j in range(n)] for i in range(n)])
    for f in (
        lambda x: F.ifft(F.fft(x) * F.fft(y)).real,
        lambda x: F.irfft(F.rfft(x) * F.rfft(y), n),
        lambda x: F.hfft(F.ihfft(x) * F.ihfft(y), n) * n,
    ):
        out, pull = fg.vjp(f, x)
        close(out, shifted @ x)
        close(pull(ct)[0], shifted.T @ ct)
        close(fg.jvp(f, (x,), (ct,))[1], shifted @ ct)


def test_linear_convolution() -> None:
    """With zeros behind, a product of spectra is `np.convolve`, and so are the derivatives."""
    x, y = RNG.normal(size=5), RNG.normal(size=4)
    n = len(x) + len(y) - 1

    def loss(convolve: Any) -> Any:
        return lambda x, y: np.sum(np.sin(convolve(x, y)))

    def by_fft(x: Any, y: Any) -> Any:
        return F.irfft(F.rfft(x, n) * F.rfft(y, n), n)

    for k in (0, 1):
        close(fg.grad(loss(by_fft), argnums=k)(x, y), fg.grad(loss(np.convolve), argnums=k)(x, y))
        close(fg.hessian(loss(by_fft), argnums=k)(x, y), fg.hessian(loss(np.convolve), argnums=k)(x, y))


@pytest.mark.parametrize("n", [8, 9])
def test_spectral_derivative(n: int) -> None:
    """Multiplied by iω, the spectrum of a trigonometric polynomial is that of its derivative, whose matrix is antisymmetric."""
    t = 2 * np.pi * np.arange(n) / n
    omega = 1j * F.rfftfreq(n, 1 / n)
    omega[n // 2] *= n % 2  # the alternating signal of an even number of points has no derivative on the grid

    def derivative(u: Any) -> Any:
        return F.irfft(omega * F.rfft(u), n)

    close(derivative(np.sin(2 * t) + np.cos(t)), 2 * np.cos(2 * t) - np.sin(t))
    matrix = fg.jacfwd(derivative)(np.sin(t))
    close(matrix, -matrix.T)
    close(fg.jacrev(derivative)(np.sin(t)), matrix)
    energy = fg.grad(lambda u: 0.5 * np.sum(derivative(u) ** 2))
    close(energy(np.sin(2 * t)), 4 * np.sin(2 * t))  # the variation of ½∫u'² is -u''


@NORMS
@SIZES
def test_inverses_undo_derivatives(n: int, norm: str) -> None:
    """What is transformed and back is itself, and has the derivative 1, whichever pair."""
    x = RNG.normal(size=n)
    for f in (
        lambda x: F.ifft(F.fft(x, norm=norm), norm=norm).real,
        lambda x: F.fft(F.ifft(x, norm=norm), norm=norm).real,
        lambda x: F.irfft(F.rfft(x, norm=norm), n, norm=norm),
        lambda x: F.hfft(F.ihfft(x, norm=norm), n, norm=norm),
        lambda x: F.ifftshift(F.fftshift(x)),
    ):
        close(fg.jacrev(f)(x), np.eye(n))
        close(fg.jacfwd(f)(x), np.eye(n))


@SIZES
def test_linear_transposes(n: int) -> None:
    """`fft` and `ifft` are their own transposes: nothing is conjugated."""
    z, ct = RNG.normal(size=(2, n)) + 1j * RNG.normal(size=(2, n))
    for f in (F.fft, F.ifft):
        close(fg.linear_transpose(f, z)(ct)[0], f(ct))
    close(fg.jacfwd(F.fft, holomorphic=True)(z), dft(n), 1e-11)
    close(fg.jacrev(F.fft, holomorphic=True)(z), dft(n), 1e-11)


@pytest.mark.parametrize("n", [1, 4, 5])
@pytest.mark.parametrize("f", [F.irfft, F.hfft])
def test_ignored_imaginary_parts(n: int, f: Any) -> None:
    """The bins without a partner are real: what NumPy ignores of them has slope 0. The others count twice."""
    z = RNG.normal(size=n // 2 + 1) + 1j * RNG.normal(size=n // 2 + 1)
    g = fg.grad(lambda z: np.sum(f(z, n, norm="ortho") ** 2))(z)
    weight = np.full(n // 2 + 1, 4.0)
    alone = [0, -1] if n % 2 == 0 else [0]
    weight[alone] = 2.0
    expected = weight * np.conj(z)
    expected[alone] = expected[alone].real
    close(g, expected)


def test_what_is_cut_off_has_slope_zero() -> None:
    """A smaller n ignores the rest; a larger one adds zeros, which are no part of the gradient."""
    x = np.array([1.0, -2.0, 0.5, 3.0, 1.5])
    power = lambda n: fg.grad(lambda x: np.sum(np.abs(F.fft(x, n)) ** 2))(x)
    close(power(3), [6.0, -12.0, 3.0, 0.0, 0.0])
    close(power(8), 16 * x)


def test_traced_spacing() -> None:
    """`fftfreq` is k / (n d) for a traced d as well, although NumPy asks nobody."""
    for f in (F.fftfreq, F.rfftfreq):
        d = 0.5
        value, slope = fg.jvp(lambda d, f=f: f(6, d), (d,), (1.0,))
        np.testing.assert_array_equal(value, f(6, d))
        close(slope, -f(6, d) / d)
        rows = fg.vmap(lambda d, f=f: f(6, d))(np.array([0.5, 2.0]))
        close(rows, [f(6, 0.5), f(6, 2.0)])


# ---- dtypes and batches


@pytest.mark.parametrize("f", [F.fft, F.ifft, F.rfft, F.ihfft, F.irfft, F.hfft, F.fftn, F.rfftn, F.irfftn])
def test_precision_stays(f: Any) -> None:
    """float32 goes to complex64 and back, and so do its derivatives."""
    x = arr(2, 4).astype(np.float32)
    out, pull = fg.vjp(f, x)
    assert out.dtype == f(x).dtype in (np.float32, np.complex64)
    assert pull(np.ones_like(out))[0].dtype == np.float32
    assert fg.jvp(f, (x,), (x,))[1].dtype == out.dtype
    assert fg.hessian(lambda x: np.sum(np.abs(f(x)) ** 2))(x).dtype == np.float32


@pytest.mark.parametrize("n", [2, 3])
def test_batch_of_the_size_of_an_axis(n: int) -> None:
    """A square batch of squares is transformed along the right axis, in and outside of derivatives."""
    x = RNG.normal(size=(n, n, n))
    for f in (
        lambda x: F.fft(x, axis=0),
        lambda x: F.rfft(x, axis=0),
        lambda x: F.irfft(x + 1j, n, axis=0),
        lambda x: F.rfft2(x),
        lambda x: F.fftn(x, axes=(1, 0)),
        lambda x: F.fftshift(x, 0),
        lambda x: F.fftshift(x),
        lambda x: F.hfft(x + 1j, 2 * n + 1, 0),
    ):
        for axis in (0, 1, 2):
            expected = np.stack([f(row) for row in np.moveaxis(x, axis, 0)])
            close(fg.vmap(f, axis)(x), expected)
        g = fg.grad(lambda x, f=f: np.sum(np.abs(f(x)) ** 4))
        close(fg.vmap(g)(x), np.stack([g(row) for row in x]))
        close(fg.grad(lambda x, f=f: np.sum(np.abs(fg.vmap(f)(x)) ** 4))(x), np.stack([g(row) for row in x]))
        close(fg.vmap(fg.hessian(lambda x, f=f: np.sum(np.abs(f(x)) ** 4)))(x)[1], fg.jacfwd(g)(x[1]), 1e-10)


def test_integers_in_lanes() -> None:
    """Whole numbers under `vmap` are transformed as by NumPy."""
    x = np.arange(6).reshape(2, 3)
    for f in (F.fft, F.rfft, F.irfft, F.hfft, F.ihfft, F.fftshift, F.fftn):
        np.testing.assert_array_equal(fg.vmap(f)(x), np.stack([f(row) for row in x]))


# ---- what NumPy refuses

WRONG: list[dict[str, Any]] = [
    {"n": 0}, {"n": -1}, {"n": 2.5}, {"n": "a"}, {"axis": 2}, {"axis": -3}, {"axis": None}, {"axis": 0.0}, {"n": 2, "axis": 2},
    {"norm": "x"}, {"norm": 1},
]  # fmt: skip
WRONG_ND: list[dict[str, Any]] = [
    {"s": (2,), "axes": (0, 1)}, {"s": (0, 2), "axes": (0, 1)}, {"s": (2, -2), "axes": (0, 1)}, {"s": 2}, {"axes": 0}, {"axes": (0, 2)},
    {"axes": (2,)}, {"s": (2,), "axes": (2,)}, {"s": (2.5,), "axes": (0,)}, {"norm": "x"}, {"s": ("a",), "axes": (0,)},
]  # fmt: skip
ONE = (F.fft, F.ifft, F.rfft, F.irfft, F.hfft, F.ihfft)
MANY = (F.fftn, F.ifftn, F.rfftn, F.irfftn, F.fft2, F.ifft2, F.rfft2, F.irfft2)


@pytest.mark.parametrize(("f", "wrong"), [*itertools.product(ONE, WRONG), *itertools.product(MANY, WRONG_ND)])
def test_numpys_errors(f: Any, wrong: dict[str, Any]) -> None:
    """A wrong argument raises the class of error that NumPy raises; a ValueError in its words."""
    x = np.ones((3, 4))
    with pytest.raises((ValueError, TypeError, IndexError)) as theirs:
        f(x, **wrong)
    with pytest.raises(type(theirs.value)) as ours:
        fg.vjp(lambda x: f(x, **wrong), x)
    if isinstance(theirs.value, ValueError):
        assert str(ours.value).replace(" ", "") == str(theirs.value).replace(" ", "")


@pytest.mark.parametrize("f", [F.rfft, F.ihfft, F.rfftn, F.rfft2])
def test_complex_input_of_real_transforms(f: Any) -> None:
    """NumPy does not drop an imaginary part here, and neither do we."""
    with pytest.raises(TypeError, match="safe"):
        fg.vjp(f, np.ones((2, 2), complex))


def test_too_few_axes() -> None:
    """Numbers have no axis, no bins give no points, and no axes are an error where one must be real."""
    for f in ONE:
        with pytest.raises(IndexError):
            fg.vjp(f, 1.0)
    for f in (F.irfft, F.hfft, F.irfftn):
        with pytest.raises(ValueError, match=r"\(0\)"):
            fg.vjp(f, np.ones(1))
    for f in (F.rfftn, F.irfftn):
        with pytest.raises(IndexError):
            fg.vjp(lambda x, f=f: f(x, axes=()), np.ones(2))
    with pytest.raises(IndexError):
        fg.vjp(lambda x: F.fftshift(x, 1), np.ones(2))


@pytest.mark.parametrize("f", MANY)
@pytest.mark.parametrize("more", [{"s": (2, 2), "axes": None}, {"s": (None, 2), "axes": (0, 1)}])
def test_deprecated(f: Any, more: dict[str, Any]) -> None:
    """NumPy's deprecations are ours, at the user's line, and what is deprecated still has NumPy's values."""
    x = np.ones((3, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = fg.vjp(lambda x: f(x, **more), x)[0]
        assert [(w.category, w.filename) for w in caught] == [(DeprecationWarning, __file__)]
        close(out, f(x, **more))


def test_lists_of_traced_numbers() -> None:
    """NumPy does not ask what is in a list; `np.stack` is what to write."""
    with pytest.raises(TypeError):
        fg.grad(lambda x: np.abs(F.fft([x, 2 * x])[1]))(1.0)
    close(fg.grad(lambda x: np.abs(F.fft(np.stack([x, 2 * x]))[0]))(1.0), 3.0)


def test_out_is_refused() -> None:
    """Writing a traced value into an array would drop its gradient."""
    out = np.zeros(2, complex)
    with pytest.raises(errors.OutArgumentError):
        fg.grad(lambda x: np.abs(F.fft(x, out=out)).sum())(np.ones(2))
    with pytest.raises(errors.OutArgumentError):
        fg.grad(lambda x: np.abs(F.fftn(x, None, None, None, out)).sum())(np.ones(2))
