"""Cases for Fourier transforms: odd and even, cut off and with zeros behind, every norm, along every axis."""

from __future__ import annotations

import numpy as np

from funcgrad.ops import fft as ops
from tests.ops.kit import arr, case

F = np.fft
NORMS = (None, "backward", "ortho", "forward")


def bins(*shape: int, seed: int = 0) -> np.ndarray:
    """Complex numbers."""
    return arr(*shape, seed=seed) + 1j * arr(*shape, seed=seed + 1)


# ---- along one axis

for f in (F.fft, F.ifft):
    for n in (1, 2, 5):
        case(f, f, arr(n), complex=True)
    for n in (1, 3, 6):
        case(f, lambda x, f=f, n=n: f(x, n), arr(2, 4), complex=True)
    case(f, lambda x, f=f: f(x, n=np.int64(4), axis=0), arr(3, 2), complex=True)
    for norm in NORMS:
        case(f, lambda x, f=f, norm=norm: f(x, 5, 1, norm), arr(2, 3, 2), complex=True)
    case(f, lambda x, f=f: f(np.abs(f(x, axis=0, norm="ortho")) ** 2), arr(3, 2), complex=True)

for f in (F.rfft, F.ihfft):
    for n in (1, 2, 3, 4, 5):
        case(f, f, arr(n))
    for n in (1, 3, 4, 7, 8):
        case(f, lambda x, f=f, n=n: f(x, n), arr(2, 5))
    for norm in NORMS:
        case(f, lambda x, f=f, norm=norm: f(x, 5, -2, norm), arr(2, 3, 2))
        case(f, lambda x, f=f, norm=norm: f(x, axis=0, norm=norm), arr(4, 3))
    case(f, lambda x, f=f: np.abs(f(np.exp(x), axis=0)) ** 2, arr(4, 2))

for f in (F.irfft, F.hfft):
    for n in (2, 3):
        case(f, f, bins(n))
    case(f, f, arr(3))  # the bins may be real
    for n in (1, 2, 3, 4, 5, 8, 9):
        case(f, lambda z, f=f, n=n: f(z, n), bins(2, 3))
    for norm in NORMS:
        case(f, lambda z, f=f, norm=norm: f(z, 5, -2, norm), bins(2, 3, 2))
        case(f, lambda z, f=f, norm=norm: f(z, axis=0, norm=norm), bins(4, 3))
    case(f, lambda z, f=f: f(np.exp(z), 6, axis=0) ** 2, bins(4, 2))
    case(f, lambda x, f=f: f(np.exp(x), 5) ** 2, arr(2, 3))

for f in (F.fft, F.ifft, F.rfft, F.ihfft, F.irfft, F.hfft):
    case(f, lambda x, f=f: f(x, 4), np.zeros((0, 3)))
    if f not in (F.irfft, F.hfft):  # which read memory that is not theirs where there are no bins
        case(f, lambda x, f=f: f(x, 3), np.zeros((2, 0)))
    case(f, lambda x, f=f: f(x.astype(np.float16)), arr(4), tol=1e-2, why="float16", values_only=True)
    case(f, lambda x, f=f: f(np.sign(x).astype(int)), arr(4), smooth=False)
    case(f, lambda x, f=f: f(x > 0), arr(4), smooth=False)

# ---- along several axes

for f in (F.fftn, F.ifftn):
    case(f, f, arr(2, 3, 2), complex=True)
    case(f, lambda x, f=f: f(x, axes=(0, 1)), arr(2, 3, 2), complex=True)
    case(f, lambda x, f=f: f(x, (3, -1), (-1, 0), "ortho"), arr(2, 3, 2), complex=True)
    case(f, lambda x, f=f: f(x, s=np.array([2, 2]), axes=np.array([0, 1]), norm="forward"), arr(3, 3), complex=True)
    case(f, lambda x, f=f: f(x, axes=[0, 0]), arr(3, 2), complex=True)
    case(f, lambda x, f=f: f(x, axes=()) * 2, arr(3, 2), complex=True)
    case(f, lambda x, f=f: f(x) * 2, arr(1)[0], complex=True)
    case(f, lambda x, f=f: np.abs(f(np.cos(x))) ** 2, arr(2, 3), complex=True)

for f in (F.fft2, F.ifft2):
    case(f, f, arr(3, 2), complex=True)
    case(f, lambda x, f=f: f(x, (2, 4), norm="ortho"), arr(2, 3, 3), complex=True)
    case(f, lambda x, f=f: f(x, axes=(0, -1), norm="forward"), arr(3, 2, 2), complex=True)
    case(f, lambda x, f=f: f(x, axes=None), arr(2, 2, 2), complex=True)

for f in (F.rfftn, F.rfft2):
    for call, x in [
        (f, arr(3, 4)),
        (lambda x, f=f: f(x, (3, -1), (-1, 0), "ortho"), arr(4, 3, 2)),
        (lambda x, f=f: f(x, (2, 5), (0, 1), "forward"), arr(3, 3)),
        (lambda x, f=f: f(x, axes=(0, 1, 2)), arr(2, 3, 4)),
        (lambda x, f=f: np.abs(f(np.sin(x))) ** 2, arr(3, 4)),
    ]:
        case(f, call, x, tol=1e-13, why="NumPy 2.0 takes the other axes in the opposite order")

for f in (F.irfftn, F.irfft2):
    case(f, f, bins(3, 3))
    case(f, f, arr(3, 3))
    case(f, lambda z, f=f: f(z, (3, 5), (-1, 0), "ortho"), bins(4, 3, 2))
    case(f, lambda z, f=f: f(z, (2, -1), (0, 1), "forward"), bins(3, 3))
    case(f, lambda z, f=f: f(z, axes=(0, 1, 2)), bins(2, 3, 2))
    case(f, lambda z, f=f: f(np.exp(z), (3, 4), (0, 1)) ** 2, bins(3, 3))

for f in (F.fft2, F.ifft2, F.rfft2, F.irfft2):
    case(f, f, np.zeros((0, 2, 3)))

# ---- frequencies, and the order of the bins

for f in (F.fftshift, F.ifftshift):
    for n in (1, 4, 5):
        case(f, f, arr(n), complex=True)
    case(f, f, arr(3, 4))
    case(f, lambda x, f=f: f(x, 0), arr(3, 2))
    case(f, lambda x, f=f: f(x, axes=np.int64(-1)), arr(2, 5))
    case(f, lambda x, f=f: f(x, (1, -3)), arr(3, 5, 2))
    case(f, lambda x, f=f: f(x, [0, 0]), arr(3, 2))
    case(f, lambda x, f=f: f(x, ()) * 2, arr(3))
    case(f, f, np.zeros((0, 3)))
    case(f, lambda x, f=f: f(x * x) ** 2, arr(2, 3))

for f in (F.fftfreq, F.rfftfreq):
    for n in (1, 4, 5):
        case(f, lambda d, f=f, n=n: f(n, d), arr(1, low=0.5, high=2.0)[0])
    case(f, lambda d, f=f: np.sin(f(np.int64(6), d=d)), arr(1, low=0.5, high=2.0)[0])

# ---- transforms in use

case(ops.fft, lambda x, y: F.ifft(F.fft(x, 7) * F.fft(y, 7)), arr(4), arr(4, seed=1), complex=True)
case(ops.ifft, lambda x: F.ifft(1j * F.fftfreq(5) * F.fft(x)).real ** 2, arr(3, 5))
case(ops.rfft, lambda x, y: F.irfft(F.rfft(x, 8) * F.rfft(y, 8), 8), arr(2, 5), arr(4, seed=1))
case(ops.irfft, lambda x, z: F.irfft(F.rfft(x) * z, 5) ** 2, arr(5), bins(3))
