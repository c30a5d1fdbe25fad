"""Cases of what recordings have in the place of other primitives: see `ops.canonical`."""

from __future__ import annotations

import numpy as np

from funcgrad.ops.canonical import fshare, has_form, scalar_absolute, scalar_multiply, scalar_power, share, wrapped
from tests.ops.kit import arr, case

case(scalar_multiply, lambda x: scalar_multiply(x[0], x[1]), arr(2), complex=True)
case(scalar_power, lambda x: (scalar_power(x[0], 3), scalar_power(2.0, x[1])), arr(2), complex=True)
case(scalar_absolute, lambda z: scalar_absolute(z[0]), np.array([3 - 4j]))
case(share, lambda x, y: share(x, y, np.maximum(x, y)), arr(3), arr(3, seed=1), smooth=False)
case(fshare, lambda x, y: fshare(x, y, np.fmax(x, y)), arr(3), arr(3, seed=1), smooth=False)
case(wrapped, lambda x: wrapped(np.argsort(x) - 2, size=4) * 1.0, arr(4), smooth=False)
case(has_form, lambda x: has_form(x, shape=(3,), dtype=np.dtype(float)), arr(3), smooth=False)
