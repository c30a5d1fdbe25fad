"""Lanes that take different paths: each path is a run of the function, for its lanes together; few lanes run one by one, in plain Python.

**Law:** what a lane gives alone is what the function gives for that example without `vmap`, one floor down.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, Traced, Value, shape_of
from funcgrad.numpy.bridge import stacked
from funcgrad.ops.shaping import broadcast_to, concatenate, unstack
from funcgrad.tensor import Tensor
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import describe, kind_of
from funcgrad.transforms.batch import Batch, BatchTracer, rows

Axis = int | None

FEW, FEW_TRACED = 6, 2
"""Lanes. Up to here they are quicker one by one: a NumPy scalar computes twenty times as fast as a mapped value, a traced one twice."""

MANY = 64
"""Paths; from here on a warning says that there are many."""


@attrs.frozen(eq=False)
class Work:
    """A function of the leaves of its arguments. Those that are mapped have `size` lanes along their first axes."""

    label: Label
    call: Callable[[list[Any]], Any]
    leaves: list[Any]
    mapped: list[bool]
    size: int
    axes_of: Callable[[pytree.TreeDef], list[Axis]]
    tensors: bool

    def together(self, m: Batch) -> Any:
        """What the function gives in all lanes of `m` at once."""
        whole = m.size == self.size
        pairs = zip(self.leaves, self.mapped, strict=True)
        return self.call([m.trace(x if whole else rows(x, m.lanes)) if yes else x for x, yes in pairs])

    def one_by_one(self, lanes: Any) -> Iterator[tuple[Any, ...]]:
        """The leaves in each lane."""
        pairs = zip(self.leaves, self.mapped, strict=True)
        return zip(*[_each(rows(x, lanes)) if yes else [x] * len(lanes) for x, yes in pairs], strict=True)

    def few(self) -> int:
        """How many lanes are few; none where a lane is an ndarray, which `y = x; y += 1` would change, or a Tensor, which is slow."""
        values = [x for x, yes in zip(self.leaves, self.mapped, strict=True) if yes]
        if self.tensors or any(len(shape_of(x)) > 1 and not isinstance(x, Traced) for x in values):
            return 0
        return FEW_TRACED if any(isinstance(x, Traced) for x in values) else FEW


def _each(x: Value) -> Sequence[Any]:
    return list(x) if type(x) is np.ndarray else unstack(x, axis=-len(shape_of(x)))


def all_lanes(work: Work, queue: list[Any] | None) -> Run:
    """The function in all lanes: a run for as many as stay together, and more for the groups that part from it, the largest first."""
    few = enough = work.few()
    runs: list[Run] = []
    small: list[Any] = []
    lanes: Any = np.arange(work.size)
    warned, place = False, ("", "")
    while lanes is not None:
        m = Parting(work, queue, lanes, few)
        run = _run(work, m)
        if run is not None:
            runs.append(run)
        else:
            small.append(m.lanes)
        place = m.place if m.kept else place
        # Lanes that part until few are left share little: then only much larger groups are worth a run.
        enough = few if m.size > few else 4 * enough
        lanes = _largest(queue, enough)
        if not warned and len(runs) + len(small) + len(queue or []) >= MANY and lanes is not None:
            warned = True
            _warn(work.label, place)
    small += queue or []
    if not warned and len(runs) + sum([len(those) if len(those) > few else 1 for those in small]) > MANY:
        _warn(work.label, place)
    if small:
        runs += _alone(work, np.sort(np.concatenate(small)))
    return runs[0] if len(runs) == 1 else _join(work.label, runs)


def _largest(queue: list[Any] | None, enough: int) -> Any:
    """The largest group, if it has more lanes than are enough to run one by one."""
    if not queue:
        return None
    queue.sort(key=len)
    return queue.pop() if len(queue[-1]) > enough else None


def _warn(label: Label, place: tuple[str, str]) -> None:
    said = (
        f"{label}: the lanes take more than {MANY} different paths, the last of which parted in {place[0]} ({place[1]}); each is a "
        "run of its own. Use `np.where`, or a plain Python loop over the examples."
    )
    warnings.warn(said, stacklevel=4)


# ---- lanes together


class FewLeftError(BaseException):
    """Stops a run in which few lanes are left. (No `Exception`, which the function might catch.)"""


class Parting(Batch):
    """Stops where `few` lanes are left, or less."""

    __slots__ = ("few",)

    def __init__(self, work: Work, queue: list[Any] | None, lanes: Any, few: int) -> None:
        super().__init__(work.label, len(lanes), queue, lanes)
        self.tensors, self.looks_at_errors, self.few = work.tensors, True, few

    def _narrow(self, groups: list[Any]) -> Any:
        first = super()._narrow(groups)
        if self.stopped():
            raise FewLeftError
        return first

    def stopped(self) -> bool:
        return self.size <= self.few and bool(self.kept)


@attrs.frozen(eq=False)
class Same:
    """A result that is not mapped, and is to be returned as it is."""

    value: Any


@attrs.frozen(eq=False)
class Rows:
    """A result along its batch axis; `tensor` says that the function made a Tensor of it."""

    value: Value
    tensor: bool


@attrs.frozen(eq=False)
class Run:
    """What the function gave, and in which lanes."""

    lanes: Any
    values: list[Same | Rows]
    axes: list[Axis]
    out_def: pytree.TreeDef


def _run(work: Work, m: Parting) -> Run | None:
    """The function in the lanes of `m`; None where few were left."""
    try:
        outs, out_def = pytree.flatten(work.together(m))
        if m.stopped():  # and the function caught even that
            return None
        axes = work.axes_of(out_def)
        values = [_left(m, x, axis, path) for x, axis, path in zip(outs, axes, out_def.paths, strict=True)]
    except (FewLeftError, Exception):
        if m.stopped():
            return None
        raise
    finally:
        m.close()
    return Run(m.lanes, values, axes, out_def)


def _left(m: Batch, x: Any, axis: Axis, path: str) -> Same | Rows:
    """One result in the lanes of `m`."""
    if type(x) is np.ndarray and x.dtype.hasobject:
        x = stacked(x)
    mine = isinstance(x, BatchTracer) and x._main is m
    where = f"the output{path}"
    if axis is None:
        if mine:
            raise errors.BatchAxisError(str(m.label), f"{where} is mapped, but its out_axes is None. Give it an axis.")
        return Same(doors.leave_value(m, x))
    if not mine:
        if isinstance(x, Traced):
            doors.older(m, x)
        elif kind_of(x) == "":
            raise errors.OutputError(str(m.label), f"{where} must be numbers to be stacked", describe(x), "Give it out_axes=None.")
    shape = shape_of(x)
    if not -len(shape) - 1 <= axis <= len(shape):
        raise errors.BatchAxisError(str(m.label), f"{where} has shape {list(shape)} in one lane, so it cannot get its new axis at {axis}.")
    if mine:
        return Rows(m.value_of(x), False)
    bare = x._array if doors.is_tensor(x) else x
    return Rows(broadcast_to(bare if isinstance(bare, Traced) else np.asarray(bare), shape=(m.size, *shape)), isinstance(x, Tensor))


# ---- lanes one by one


def _alone(work: Work, lanes: Any) -> list[Run]:
    """The function in each of these lanes. Where it raises, as it may because NumPy's scalars have not all methods that mapped values
    have, the lane is a run like any other, which may raise.
    """
    m = Batch(work.label, 1)  # the floor that results must not come from
    m.close()
    runs: list[Run] = []
    done: list[int] = []
    found: list[tuple[list[Any], pytree.TreeDef]] = []
    for i, leaves in zip(lanes, work.one_by_one(lanes), strict=True):
        try:
            found.append(pytree.flatten(work.call(list(leaves))))
            done.append(i)
            continue
        except Exception:
            pass
        run = _run(work, Parting(work, [], np.array([i]), 0))
        assert run is not None
        runs.append(run)
    if done:
        out_def = _one_structure(work.label, [treedef for _, treedef in found])
        columns = zip(*[outs for outs, _ in found], strict=True)
        axes = work.axes_of(out_def)
        values = [_column(m, xs, axis, path) for xs, axis, path in zip(columns, axes, out_def.paths, strict=True)]
        runs.append(Run(np.array(done), values, axes, out_def))
    return runs


_STACKS = [{t} for t in (np.float64, float, np.bool_, bool, np.int64)]


def _column(m: Batch, xs: Sequence[Any], axis: Axis, path: str) -> Same | Rows:
    """One result of every lane. A Tensor may come of a lane that met one, and a mapped value would not have become one there."""
    if axis in (0, -1) and set(map(type, xs)) in _STACKS:
        return Rows(np.array(xs), False)
    together = _joined(m.label, [_left(m, x, axis, path) for x in xs], path)
    return Rows(together.value, False) if isinstance(together, Rows) else together


# ---- several runs


def _join(label: Label, runs: list[Run]) -> Run:
    """The results of all runs, each lane in its place."""
    out_def = _one_structure(label, [run.out_def for run in runs])
    lanes = np.concatenate([run.lanes for run in runs])
    order = np.empty(len(lanes), np.intp)
    order[lanes] = np.arange(len(lanes))
    columns = zip(*[run.values for run in runs], strict=True)
    values = [_joined(label, column, path) for column, path in zip(columns, out_def.paths, strict=True)]
    placed = [Rows(rows(x.value, order), x.tensor) if isinstance(x, Rows) else x for x in values]
    return Run(lanes[order], placed, runs[0].axes, out_def)


def _one_structure(label: Label, found: list[pytree.TreeDef]) -> pytree.TreeDef:
    first = found[0]
    for other in found:
        if other is not first and other != first:
            what = f"the results must have one structure in all lanes: {first} in one, {other} in another."
            raise errors.LaneResultsError(str(label), what)
    return first


def _joined(label: Label, parts: Sequence[Same | Rows], path: str) -> Same | Rows:
    """One result of several runs, in their order."""
    first = parts[0]
    if isinstance(first, Same):
        if not all(_equal(part.value, first.value) for part in parts):
            what = f"the output{path} differs between lanes, but its out_axes is None. Give it an axis."
            raise errors.LaneResultsError(str(label), what)
        return first
    shapes = [shape_of(part.value)[1:] for part in parts]
    for shape in shapes:
        if shape != shapes[0]:
            raise errors.LaneShapesError(str(label), f"the output{path}", shapes[0], shape)
    together = concatenate(*[part.value for part in parts], axis=-1 - len(shapes[0]))
    return Rows(together, any(part.tensor for part in parts if isinstance(part, Rows)))


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, Traced) or isinstance(b, Traced):
        return False
    return type(a) is type(b) and bool(np.all(a == b))
