"""Convolution of two sequences. Nothing is conjugated."""

from __future__ import annotations

import numpy as np

from funcgrad.core import Spec, Value, shape_of
from funcgrad.ops.cumulative import reverse
from funcgrad.ops.kinds import Bilinear, bilinear

# z_k = Σ_i x_i y_(k-i). With every overlap ("full") the transpose in x is x̄_i = Σ_k z̄_k y_(k-i), of complete overlaps
# ("valid") with y reversed, and the other way round. Where x is the longer one, the transpose of "valid" in y slides z̄ along x.


def _back(ct: Value, theirs: Value, mine: Spec, mode: str) -> Value:
    """The transpose in the operand of shape `mine`; the other one is `theirs`."""
    if mode == "full":
        return convolve(ct, reverse(theirs, axis=-1), mode="valid")
    if mine.shape[0] >= shape_of(theirs)[0]:
        return convolve(ct, reverse(theirs, axis=-1), mode="full")
    return convolve(reverse(theirs, axis=-1), ct, mode="valid")


convolve: Bilinear = bilinear(
    "convolve",
    lambda x, y, *, mode: np.convolve(x, y, mode),
    lambda ct, x, y, *, mode: _back(ct, y, x, mode),
    lambda ct, x, y, *, mode: _back(ct, x, y, mode),
)
"""`mode` is "full" or "valid"."""
