"""Fourier transforms: gradients that other libraries conjugate, cut to the wrong length, or scale by the wrong factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads
from tests.hard_cases.kit import close, gradient, numbers

F = np.fft


def test_power_spectrum() -> None:
    """HIPS/autograd#185: 2 n x by Parseval's theorem; with a mask, the part of x in these bins."""
    x = np.array([1.0, -2.0, 0.5, 3.0, 1.5])
    close(gradient(lambda x: np.sum(np.abs(F.fft(x)) ** 2), x), 10 * x)
    mean = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    close(gradient(lambda x: np.sum(np.abs(F.fft(x)) ** 2 * mean), x), np.full(5, 2 * np.sum(x)))


@pytest.mark.parametrize("f", [F.fft, F.rfft, F.ihfft])
@pytest.mark.parametrize("n", [3, 8])
def test_another_number_of_points(f: Any, n: int) -> None:
    """tensorflow#108479: the gradient has the length of the input, and is zero where the input is cut off."""
    x = numbers(5)
    g = gradient(lambda x: np.sum(np.abs(f(x, n)) ** 2), x)
    assert g.shape == (5,)
    close(g[n:], np.zeros(max(5 - n, 0)))
    check_grads(lambda x: f(x, n), (x,), order=2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.fftn(x, axes=(0, 1)),
        lambda x: F.ifft2(x[0]).real,
        lambda x: F.fft(x, axis=0, norm="ortho"),
        lambda x: F.fftshift(F.fft(x, norm="forward"), axes=0),
        lambda x: F.rfft2(x, axes=(0, 2)),
        lambda x: F.irfftn(F.rfftn(x) ** 2, (2, 3, 3), (0, 1, 2)),
        lambda x: F.hfft(x + 1j * x[::-1], 5, axis=1),
    ],
)
def test_axes_and_norms(f: Any) -> None:
    """Every factor and every axis is undone on the way back."""
    check_grads(lambda x: np.abs(f(np.sin(x))) ** 2, (numbers(2, 3, 3),), order=2)


def test_odd_and_even() -> None:
    """The last bin of an even number of points has no partner; that of an odd number has one."""
    for n in (4, 5):
        x = numbers(n)
        close(fg.jacrev(lambda x, n=n: F.irfft(F.rfft(x), n))(x), np.eye(n))
        close(fg.jacfwd(lambda x, n=n: F.irfft(F.rfft(x), n))(x), np.eye(n))


def test_in_lanes() -> None:
    """As many signals as points: each is transformed along its own axis."""
    x = numbers(3, 3)
    close(fg.vmap(lambda v: np.abs(F.rfft(v)))(x), np.abs(F.rfft(x)))
    power = fg.grad(lambda v: np.sum(np.abs(F.rfft(v)) ** 2))
    close(fg.vmap(power)(x), np.stack([power(v) for v in x]))
