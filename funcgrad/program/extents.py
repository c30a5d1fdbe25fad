"""Which part of each array a tile needs: tiles overlap by what slices and pads shift."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from funcgrad.program.clusters import Cluster, is_slice, window
from funcgrad.program.merging import Buffer, Statement, inputs_of, outputs_of
from funcgrad.program.program import Atom, Equation, Var, variables

FARTHEST = 1 << 11
"""Elements that a tile may reach beyond its own; with more, too much would be computed twice."""


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


def extents(cluster: Cluster) -> dict[int, Extent]:
    """For each variable that is made in the cluster, what is read of it."""
    axis = cluster.axis
    made = {v.number for s in cluster.statements for v in outputs_of(s)}
    found = {v.number: Extent(0, 0, v.shape[axis]) for v in cluster.outputs}
    for s in reversed(cluster.statements):
        for x, before, behind in _reads(s, axis, found):
            if isinstance(x, Var) and x.number in made:
                part = Extent(before, behind, x.shape[axis])
                found[x.number] = part.joined(found.get(x.number, part))
    return found


def _reads(s: Statement, axis: int, found: dict[int, Extent]) -> Iterator[tuple[Atom, int, int]]:
    (v,) = outputs_of(s)
    if not v.shape:
        yield from [(x, 0, 0) for x in inputs_of(s)]
        return
    mine = found[v.number]
    if isinstance(s, Buffer):
        if s.base is not None:
            yield s.base, mine.before, mine.behind
        for e, x, _ in s.parts:
            start = window(e, axis)[0]
            yield x, mine.before - start, mine.behind - start
    else:
        start = window(s, axis)[0] if is_slice(s) and isinstance(s, Equation) else 0
        for x in variables(inputs_of(s)):
            yield x, mine.before + start, mine.behind + start
