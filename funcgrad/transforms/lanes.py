"""Programs that a call brings with it, such as a rule, run in all lanes at once.

They may run when the `vmap` has long ended, so they have a batch interpreter of their own. Where lanes differ in what they answer to
a look, each lane is a run of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced, Value, shape_of
from funcgrad.numpy.bridge import bare
from funcgrad.ops import reductions
from funcgrad.ops.shaping import concatenate
from funcgrad.transforms.arguments import kind_of, name_of
from funcgrad.transforms.batch import Batch, BatchTracer, rows
from funcgrad.transforms.batching import joined, lane_of, spread
from funcgrad.transforms.calls import face, sealed
from funcgrad.transforms.closures import closed_over, replaced


def rows_of(m: Batch, x: Value) -> Value:
    """A number with its lanes along the first axis; it may be the same in all of them."""
    if isinstance(x, BatchTracer) and x._main is m:
        return m.value_of(x)
    return spread(x, m.size)


def total_of_lanes(x: Value) -> Value:
    x = bare(x)
    return reductions.sum(x, axis=(-len(shape_of(x)),))


class Marks:
    """Which leaves of a tree have a batch axis. (No pytree, so that residuals may have it among them.)"""

    __slots__ = ("mapped", "treedef")

    def __init__(self, mapped: list[bool], treedef: pytree.TreeDef) -> None:
        self.mapped, self.treedef = mapped, treedef


class Lanes:
    """Runs programs of the function `name` in the lanes that `m` has now."""

    def __init__(self, m: Batch, name: str) -> None:
        self.m, self.size, self.name = m, m.size, name

    def __eq__(self, other: object) -> bool:
        """Those of another `vmap` do the same, if they are as many; what has a lane among what is closed over is an operand."""
        return type(other) is Lanes and (self.size, self.name, self.m.queue is None) == (other.size, other.name, other.m.queue is None)

    def run(self, fun: Callable[[list[Any]], Any], leaves: Sequence[Any], mapped: Sequence[bool]) -> Any:
        """What `fun` gives for these leaves; all numbers have a batch axis."""
        found, marks = self._marked(fun, leaves, mapped)
        return marks.treedef.unflatten([self.whole(x, yes) for x, yes in zip(found, marks.mapped, strict=True)])

    def run_marked(self, fun: Callable[[list[Any]], tuple[Any, Any]], leaves: Sequence[Any], mapped: Sequence[bool]) -> Any:
        """Of a pair, the first as `run` gives it, and of the second the leaves with their marks."""
        found, marks = self._marked(fun, leaves, mapped)
        first, second = marks.treedef.children
        n = first.num_leaves
        whole = [self.whole(x, yes) for x, yes in zip(found[:n], marks.mapped[:n], strict=True)]
        return first.unflatten(whole), (found[n:], Marks(marks.mapped[n:], second))

    def whole(self, x: Any, mapped: bool) -> Any:
        return x if mapped or not kind_of(x) else spread(x, self.size)

    def _marked(self, fun: Callable[[list[Any]], Any], leaves: Sequence[Any], mapped: Sequence[bool]) -> tuple[list[Any], Marks]:
        inputs = list(map(bare, leaves))
        try:
            return self._once(fun, inputs, mapped, self.size)
        except errors.LanesDifferError:
            if self.m.queue is None:
                raise
        runs = []
        for i in range(self.size):
            lane = [rows(x, np.array([i])) if yes else x for x, yes in zip(inputs, mapped, strict=True)]
            runs.append(self._once(fun, lane, mapped, 1))
        treedef = runs[0][1].treedef
        if any(marks.treedef != treedef for _, marks in runs):
            raise errors.LaneResultsError(str(self.m.label), f"the results must have one structure in all lanes, such as {treedef}.")
        marked = [zip(found, marks.mapped, strict=True) for found, marks in runs]
        joined = [_joined(str(self.m.label), parts) for parts in zip(*marked, strict=True)]
        return [x for x, _ in joined], Marks([yes for _, yes in joined], treedef)

    def _once(self, fun: Callable[[list[Any]], Any], inputs: list[Any], mapped: Sequence[bool], size: int) -> tuple[list[Any], Marks]:
        m = Batch(self.m.label, size)
        try:
            given = [m.trace(x) if yes else x for x, yes in zip(inputs, mapped, strict=True)]
            with sealed(self.m, self.name):
                found, treedef = pytree.flatten(fun(given))
            mine = [isinstance(x, BatchTracer) and x._main is m for x in found]
            values = [m.value_of(x) if yes else bare(x) for x, yes in zip(found, mine, strict=True)]
        except errors.LeakedTracerError as error:
            its = self.m.label
            if (error.transformation, error.place) == (str(its), its.place):
                raise self._closed_over() from None
            raise
        finally:
            m.close()
        for x in values:
            self._check(x)
        return values, Marks(mine, treedef)

    def _check(self, x: Value) -> None:
        """What is closed over has no lane here."""
        while isinstance(x, Traced):
            if x._main is self.m:
                raise self._closed_over()
            x = x._value

    def _closed_over(self) -> errors.ClosedOverTracerError:
        return errors.ClosedOverTracerError(self.name, str(self.m.label), self.m.label.place)


def one_by_one(fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """`fun` of every lane alone, for code that cannot take traced values. Nothing but lanes may be traced.

    It may close over lanes.
    """
    leaves, treedef = pytree.flatten(args)
    inputs = list(map(bare, leaves))
    closed = [x for x in closed_over(fun) if isinstance(x, BatchTracer) and not x._main.closed]
    mains = [x._main for x in [*inputs, *closed] if isinstance(x, BatchTracer)]
    if not mains:
        return fun(*args)
    m = max(mains, key=lambda m: m.order)
    closed = [x for x in closed if x._main is m]
    mapped = [isinstance(x, BatchTracer) and x._main is m for x in [*inputs, *closed]]
    values = [m.value_of(x) if yes else x for x, yes in zip([*inputs, *closed], mapped, strict=True)]
    if not m.size:
        raise errors.EmptyBatchError(str(m.label), "call", (name_of(fun), m.label.place))
    found = []
    for i in range(m.size):
        lane = [face(lane_of(x, i)) if yes else x for x, yes in zip(values, mapped, strict=True)]
        of_lane = replaced(fun, closed, lane[len(inputs) :]) if closed else fun
        with sealed(m, name_of(fun)):
            found.append(pytree.flatten(one_by_one(of_lane, treedef.unflatten(lane[: len(inputs)]))))
    columns = zip(*[[bare(x) for x in outs] for outs, _ in found], strict=True)
    return found[0][1].unflatten([m.trace(joined(m, name_of(fun), c)) if kind_of(c[0]) else c[0] for c in columns])


def _joined(label: str, parts: Sequence[tuple[Value, bool]]) -> tuple[Value, bool]:
    """A leaf of all runs; one that is the same object in all of them stays as it is."""
    first = parts[0][0]
    if not any(yes for _, yes in parts) and (not kind_of(first) or all(x is first for x, _ in parts)):
        return first, False
    lanes = [x if yes else spread(x, 1) for x, yes in parts]
    for x in lanes:
        if shape_of(x) != shape_of(lanes[0]):
            raise errors.LaneShapesError(label, "a custom rule", shape_of(lanes[0])[1:], shape_of(x)[1:])
    return concatenate(*lanes, axis=-len(shape_of(lanes[0]))), True
