"""Cases of matrices with more rows than a leaf of a triangle: derivatives by substitution, and by blocks."""

import numpy as np

from tests.ops.case_linalg import positive
from tests.ops.kit import arr, case

L = np.linalg

for _a, _b in [((40, 40), (40,)), ((40, 40), (40, 2)), ((2, 35, 35), (2, 35, 1)), ((35, 35), (2, 35, 1))]:
    for _part in (np.tril, np.triu):
        f = lambda a, b, part=_part: L.solve(part(a) / 9 + 3 * np.eye(a.shape[-1]), b)
        case(L.solve, f, arr(*_a), arr(*_b, seed=1), complex=True, name=f"solve-{_part.__name__}-{_a}-{_b}")
for _a in [(0, 0), (40, 40), (2, 35, 35)]:
    case(L.cholesky, lambda x: L.cholesky(positive(x)), arr(*_a), complex=True)
case(L.qr, lambda x: L.qr(x / 9 + 3 * np.eye(40)), arr(40, 40), complex=True)
