"""Which results of a cluster are written over arrays that nobody needs any more: fewer whole arrays are made, and read from far away.

**Law:** an element is written where nobody reads it any more. So the array is the program's own, with no views of it; the cluster is its
last reader; and a tile reads of it what it writes itself, before that or in the statement that writes, element by element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from funcgrad.program.buffers import copies
from funcgrad.program.clusters import Cluster, Line, makes, reads
from funcgrad.program.extents import Extent, extents, reading
from funcgrad.program.maps import IN_PLACE, ufunc_of
from funcgrad.program.merging import Statement, outputs_of
from funcgrad.program.program import Equation, Var


def overwritten(lines: Sequence[Line], stay: set[int]) -> dict[int, dict[int, Var]]:
    """By the place of a cluster, and then by the number of a result: the variable whose array it takes."""
    last = {v.number: k for k, s in enumerate(lines) for v in reads(s)}
    seen = stay | {v.number for s in lines if not copies(s) for v in reads(s)}
    owned = {v.number for s in lines if is_fresh(s) for v in makes(s)} - seen
    plan: dict[int, dict[int, Var]] = {}
    for k, s in enumerate(lines):
        if isinstance(s, Cluster):
            spent = {v.number: v for v in s.inputs if v.number in owned and last[v.number] == k}
            plan[k] = {v.number: x for v, x in _pairs(s, list(spent.values()))}
    return plan


def is_fresh(s: Line) -> bool:
    return isinstance(s, Cluster) or (isinstance(s, Equation) and ufunc_of(s) is not None)


def _pairs(cluster: Cluster, spent: list[Var]) -> Iterator[tuple[Var, Var]]:
    if not spent:
        return
    found = extents(cluster)
    for k, s in enumerate(cluster.statements):
        for v in outputs_of(s):
            whole = Extent(0, 0, v.shape[cluster.axis]) if v.shape else None
            if v.number in {o.number for o in cluster.outputs} and found[v.number] == whole:
                x = next((x for x in spent if (x.shape, x.dtype) == (v.shape, v.dtype) and _is_read_before(cluster, x, k, found)), None)
                if x is not None:
                    spent.remove(x)
                    yield v, x


def _is_read_before(cluster: Cluster, x: Var, k: int, found: dict[int, Extent]) -> bool:
    """Whether each tile reads its own part alone, before statement `k` writes there, or as it does."""
    for i, s in enumerate(cluster.statements):
        for read, before, behind in reading(s, cluster.axis, found):
            if isinstance(read, Var) and read.number == x.number and (before or behind or i > k or (i == k and not _may_overwrite(s))):
                return False
    return True


def _may_overwrite(s: Statement) -> bool:
    return isinstance(s, Equation) and s.primitive.name in IN_PLACE
