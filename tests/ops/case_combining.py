"""Cases of weighted sums."""

import numpy as np

from funcgrad.ops.combining import combination, misfit
from tests.ops.kit import arr, case

for _shape in ((3,), (2, 2), (), (0, 2), (3000,)):
    _args = [np.float64(arr(1, seed=k)[0]) if not _shape else arr(*_shape, seed=k) for k in range(3)]
    case(combination, lambda x, y, z: combination(x * y, y, z, weights=(1.0, -0.5, 0.0)), *_args, complex=True)
    _options = {"weights": (0.5, 2.0), "rtol": 0.1, "atol": 0.2, "rank": len(_shape)}
    case(misfit, lambda x, y, z, o=_options: misfit(x, y, z, x, **o), *_args, smooth=False)
