"""The direct solution of a linear system that is given as a function: its matrix, and `np.linalg.solve`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import pytree
from funcgrad.core import Label, Value, shape_of
from funcgrad.transforms.jacobians import over_basis


def dense_solve(label: Label) -> Callable[[Callable[[Any], Any], Any], Any]:
    """Applies the map to all basis vectors in one batched pass."""

    def solve(matvec: Callable[[Any], Any], b: Any) -> Any:
        leaves, treedef = pytree.flatten(b)
        image = lambda lanes: pytree.leaves(matvec(treedef.unflatten(lanes)))
        table = over_basis(label, image, leaves, leaves, None)
        shapes = list(map(shape_of, leaves))
        sizes = list(map(math.prod, shapes))
        transpose = np.concatenate([np.concatenate(_matrices(row, n, sizes), axis=1) for row, n in zip(table, sizes, strict=True)])
        x = np.linalg.solve(transpose.T, np.concatenate([np.reshape(y, (-1,)) for y in leaves]))
        ends = np.cumsum(sizes)[:-1]
        return treedef.unflatten([np.reshape(part, shape) for part, shape in zip(np.split(x, ends), shapes, strict=True)])

    return solve


def _matrices(row: Sequence[Value], n: int, sizes: Sequence[int]) -> list[Value]:
    return [np.reshape(block, (n, size)) for block, size in zip(row, sizes, strict=True)]
