"""Discrete Fourier transforms along one axis, as linear maps.

With W = exp(-2πi/n), `fft` gives y_k = Σ_j x_j W^(jk), and `ifft` the same with 1/W. Both matrices are symmetric: each is its own
transpose, which does not conjugate. `norm` says which factor stands before a sum, as in NumPy.
"""

from __future__ import annotations

import numpy as np

from funcgrad.core import Spec, Value, dtype_of
from funcgrad.ops.elementwise import conjugate
from funcgrad.ops.kinds import Linear, linear
from funcgrad.ops.shaping import cast

SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm with which the inverse transform has the factor that the transform has with this one."""

fft: Linear = linear(
    "fft",
    lambda x, *, axis, norm: np.fft.fft(x, None, axis, norm),
    lambda ct, x, *, axis, norm: cast(fft(ct, axis=axis, norm=norm), x.dtype),
)

ifft: Linear = linear(
    "ifft",
    lambda x, *, axis, norm: np.fft.ifft(x, None, axis, norm),
    lambda ct, x, *, axis, norm: cast(ifft(ct, axis=axis, norm=norm), x.dtype),
)

# ---- real on one side: the n // 2 + 1 bins that are there stand for all n, bin n - k being the conjugate of bin k


def _weighted(bins: Value, n: int, axis: int, middle: float) -> Value:
    """The bins times `middle`, but for those that have no partner: bin 0 and, of an even number, bin n / 2."""
    weights = np.full((n // 2 + 1,) + (1,) * (-axis - 1), middle, np.finfo(dtype_of(bins)).dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return bins * weights


def _rfft_transpose(ct: Value, x: Spec, *, axis: int, norm: str) -> Value:
    """Re Σ_k ct_k W^(jk) over the bins that are there. `irfft` of the conjugate adds the partners, so they get half each."""
    n = x.shape[axis]
    halves = conjugate(_weighted(ct, n, axis, 0.5))
    return cast(irfft(halves, n=n, axis=axis, norm=SWAPPED[norm]), x.dtype)


def _irfft_transpose(ct: Value, x: Spec, *, n: int, axis: int, norm: str) -> Value:
    """y_j = Re Σ_k z_k W^(-jk), where a bin with a partner counts twice; the imaginary part of one without counts nothing."""
    bins = conjugate(rfft(ct, axis=axis, norm=SWAPPED[norm]))
    return cast(_weighted(bins, n, axis, 2.0), x.dtype)


rfft: Linear = linear("rfft", lambda x, *, axis, norm: np.fft.rfft(x, None, axis, norm), _rfft_transpose)

irfft: Linear = linear("irfft", lambda x, *, n, axis, norm: np.fft.irfft(x, n, axis, norm), _irfft_transpose)
"""From n // 2 + 1 bins to n real numbers."""
