"""Which part of each array a tile needs: tiles overlap by what slices and pads shift."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from funcgrad.program.maps import TILE, is_slice, start_along
from funcgrad.program.merging import Buffer, Statement, inputs_of, outputs_of
from funcgrad.program.program import Atom, Equation, Var, variables

if TYPE_CHECKING:
    from funcgrad.program.clusters import Cluster

ALIGNED = 64
"""Elements; tiles begin at multiples, so that lines of the cache are not torn."""


def bounds(n: int, rest: int) -> tuple[tuple[int, int], ...]:
    """Tiles of nearly the same size: none is so short that NumPy would take another way for it."""
    count = max(1, round(n * rest / TILE))
    step = ALIGNED if rest < ALIGNED and n > count * ALIGNED else 1
    cuts = [n * k // count // step * step for k in range(count)] + [n]
    return tuple([(i, j) for i, j in itertools.pairwise(cuts) if i < j])


@attrs.frozen
class Extent:
    """From `i + before` to `j + behind` for the tile from i to j, within an array that is `n` long."""

    before: int
    behind: int
    n: int

    def joined(self, other: Extent) -> Extent:
        return Extent(min(self.before, other.before), max(self.behind, other.behind), self.n)


def length(cluster: Cluster) -> int:
    """How far the tiles go: as far as what others read."""
    asked = [x for s in cluster.statements for x in inputs_of(s) if isinstance(s, Equation) and s.primitive.name == "has_nan"]
    return max(x.shape[cluster.axis] for x in (*cluster.outputs, *asked))


def tiles(cluster: Cluster) -> tuple[tuple[int, int], ...]:
    made = [v for s in cluster.statements for v in outputs_of(s) if v.shape]
    return bounds(length(cluster), max(math.prod(v.shape) // v.shape[cluster.axis] for v in made))


def is_compact(cluster: Cluster) -> bool:
    """Whether what tiles reach beyond their own is little of them: else too much would be computed twice."""
    least = min(j - i for i, j in tiles(cluster))
    n, found = length(cluster), extents(cluster)
    sums = [s for s in cluster.statements if isinstance(s, Buffer)]
    parts = [Extent(before, behind, x.shape[cluster.axis]) for s in sums for x, before, behind in reading(s, cluster.axis, found)]
    return all(8 * max(e.behind - e.before, abs(e.before), abs(e.behind), n - e.n) <= least for e in [*found.values(), *parts])


def extents(cluster: Cluster) -> dict[int, Extent]:
    """For each variable that is made in the cluster, what is read of it."""
    axis = cluster.axis
    made = {v.number for s in cluster.statements for v in outputs_of(s)}
    found = {v.number: Extent(0, 0, v.shape[axis]) for v in cluster.outputs}
    for s in reversed(cluster.statements):
        for x, before, behind in reading(s, axis, found):
            if isinstance(x, Var) and x.number in made:
                part = Extent(before, behind, x.shape[axis])
                found[x.number] = part.joined(found.get(x.number, part))
    return found


def reading(s: Statement, axis: int, found: dict[int, Extent]) -> Iterator[tuple[Atom, int, int]]:
    (v,) = outputs_of(s)
    if not v.shape:
        yield from [(x, 0, 0) for x in inputs_of(s)]
        return
    mine = found[v.number]
    if isinstance(s, Buffer):
        if s.base is not None:
            yield s.base, mine.before, mine.behind
        for e, x, _ in s.parts:
            start = start_along(e, axis)
            yield x, mine.before - start, mine.behind - start
    else:
        start = start_along(s, axis) if is_slice(s) and isinstance(s, Equation) else 0
        for x in variables(inputs_of(s)):
            yield x, mine.before + start, mine.behind + start
