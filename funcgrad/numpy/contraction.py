"""Products and sums over shared axes: dot, matmul, tensordot, einsum and their kin."""

from __future__ import annotations

import numpy as np

from funcgrad.numpy.dispatch import UFUNCS
from funcgrad.ops import contraction as ops

UFUNCS[np.matmul] = ops.matmul
