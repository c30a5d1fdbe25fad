"""`vmap`: a function of one example, applied to all examples at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows
from funcgrad.core import Label, Traced, Value, shape_of
from funcgrad.numpy.bridge import stacked
from funcgrad.ops.shaping import broadcast_to, concatenate, transpose
from funcgrad.pytree.prefix import parts_at
from funcgrad.tensor import Tensor, of_fresh
from funcgrad.transforms import (
    batch_fast,  # noqa: F401  gives mapped values their operators
    batch_fused,  # noqa: F401  and this the rest of their fast path
    batch_indexing,  # noqa: F401  fills the table of rules
    doors,
    maps,  # noqa: F401  has primitives of its own
)
from funcgrad.transforms.arguments import argument_name, describe, dress, kind_of, label_of
from funcgrad.transforms.batch import Batch, BatchTracer, rows
from funcgrad.transforms.batching import batches, itself

batches(itself, "stop_gradient")

Axis = int | None


def vmap(
    fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None, *, on_divergence: str = "split"
) -> Callable[..., Any]:
    """A function that applies `fun` to every example along an axis, in one pass, and stacks the results.

    Args:
        fun: a function of one example.
        in_axes: along which axis each argument has its examples, from the end if negative; None: the same for all. One for all
            arguments, or a tuple with one for each, which may be a tree that goes as far as the argument's own. Keyword arguments
            are mapped over axis 0.
        out_axes: where the results get their new axis; one for all, or a tree as above. None: a result that is the same for all.
        axis_size: how many examples there are, where no argument tells.
        on_divergence: what to do where `if`, `while` or `int` look at a value that differs between examples: "split" runs the function
            once for each path that examples take, which must not change anything outside; "error" raises.

    Raises:
        BatchAxisError: an axis that is not there, or axes of different sizes.
        LanesDifferError: examples differ where they must not.
        LaneResultsError: results of different paths do not fit together.

    >>> vmap(lambda x, y: x @ y)(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    label = label_of("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    for axis in [*_axes_in(label, "in_axes", in_axes), *_axes_in(label, "out_axes", out_axes)]:
        _check_axis(label, axis)

    queue_of = _queues(label, on_divergence)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        borrows = Borrows()
        try:
            leaves, treedef = pytree.flatten((args, kwargs))
            axes = _spread_in(label, in_axes, args, kwargs)
            inputs = [
                leaf if axis is None else _entered(label, fun, treedef, k, leaf, axis, borrows)
                for k, (leaf, axis) in enumerate(zip(leaves, axes, strict=True))
            ]
            size = _size(label, fun, treedef, inputs, axes, axis_size)
            batches = [x if axis is None else _moved(x, axis, 0) for x, axis in zip(inputs, axes, strict=True)]

            def call(m: Batch, lanes: Any) -> Any:
                given = [
                    x if axis is None else m.trace(x if lanes is None else rows(x, lanes)) for x, axis in zip(batches, axes, strict=True)
                ]
                new_args, new_kwargs = treedef.unflatten(given)
                return fun(*[x if _is_whole(in_axes, n) else new_args[n] for n, x in enumerate(args)], **new_kwargs)

            run = _all_lanes(label, call, size, out_axes, queue_of(leaves), any(map(doors.is_tensor, leaves)))
            results = [_finished(x, axis, inputs, run.tensors) for x, axis in zip(run.values, run.axes, strict=True)]
            return run.out_def.unflatten(results)
        except ValueError as error:
            doors.explain(error, label, borrows)
            raise
        finally:
            borrows.release()

    return dress(mapped, fun)


# ---- axes


def _is_none(x: Any) -> bool:
    return x is None


def _axes_in(label: Label, what: str, axes: Any) -> list[Any]:
    return pytree.flatten(axes, _is_none)[0]


def _check_axis(label: Label, axis: Any) -> None:
    if axis is not None and (isinstance(axis, bool) or not isinstance(axis, (int, np.integer))):
        raise errors.ArgumentTypeError(str(label), f"axes are ints or None, got {describe(axis)}.")


def _is_whole(in_axes: Any, n: int) -> bool:
    """Whether the n-th argument is not mapped at all: it is passed on as the object it is."""
    return in_axes is None or (type(in_axes) is tuple and n < len(in_axes) and in_axes[n] is None)


def _spread_in(label: Label, in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Axis]:
    """The axis of every leaf of the arguments."""
    if type(in_axes) is not tuple:
        positional = _spread(label, "in_axes", "the arguments", in_axes, pytree.flatten(args)[1])
    else:
        if len(in_axes) != len(args):
            raise errors.BatchAxisError(str(label), f"in_axes has {len(in_axes)} entries for {len(args)} positional arguments.")
        positional = _spread(label, "in_axes", "the arguments", in_axes, pytree.flatten(args)[1])
    return positional + [0] * pytree.flatten(kwargs)[1].num_leaves


def _spread(label: Label, what: str, of: str, axes: Any, treedef: pytree.TreeDef) -> list[Axis]:
    """The axis of every leaf: what the prefix `axes` has there or above."""
    found, prefix = pytree.flatten(axes, _is_none)
    if prefix is pytree.LEAF:
        return found * treedef.num_leaves
    try:
        parts = parts_at(what, prefix, treedef.unflatten(list(range(treedef.num_leaves))))
    except errors.TreeMismatchError as error:
        at = f"at {error.path or 'the root'} it has {error.left}, they {error.right}"
        raise errors.BatchAxisError(str(label), f"{what} must go along with {of}: {at}.") from None
    return [axis for axis, part in zip(found, parts, strict=True) for _ in pytree.leaves(part)]


# ---- in


def _path(fun: Any, treedef: pytree.TreeDef, k: int) -> str:
    """The k-th leaf in the user's words."""
    path = treedef.paths[k]
    rest = path[3:]
    if path.startswith("[1]"):
        name, _, below = rest[2:].partition("']")
        return name + below
    head, _, below = rest[1:].partition("]")
    return argument_name(fun, int(head)) + below


def _entered(label: Label, fun: Any, treedef: pytree.TreeDef, k: int, leaf: Any, axis: int, borrows: Borrows) -> Any:
    """The value of a leaf that is mapped. It must not change before the last lane has run, nor while a gradient needs it."""
    value = doors.entered(leaf, borrows.hold)
    if kind_of(leaf) == "" or (type(value) is np.ndarray and value.dtype.hasobject):
        raise errors.InputError(str(label), _path(fun, treedef, k), describe(leaf), "It cannot be mapped: give it in_axes=None.")
    shape = shape_of(value)
    if not -len(shape) <= axis < len(shape):
        what = f"{_path(fun, treedef, k)} has shape {list(shape)}, which has no axis {axis} to map. Give it in_axes=None."
        raise errors.BatchAxisError(str(label), what)
    return value


def _size(label: Label, fun: Any, treedef: pytree.TreeDef, inputs: list[Any], axes: Sequence[Axis], given: int | None) -> int:
    """The size that all mapped axes have."""
    sizes = {k: shape_of(x)[axis] for k, (x, axis) in enumerate(zip(inputs, axes, strict=True)) if axis is not None}
    first = next(iter(sizes), None)
    if first is None and given is None:
        raise errors.BatchAxisError(str(label), "no argument is mapped. Give one of them an axis in in_axes, or pass axis_size.")
    size = given if given is not None else sizes[first]  # type: ignore[index]
    if all(n == size for n in sizes.values()):
        return size
    said = "; ".join([f"{_path(fun, treedef, k)} has size {n} along axis {axes[k]}" for k, n in sizes.items() if n != size or k == first])
    also = f", but axis_size={given}" if given is not None else ""
    raise errors.BatchAxisError(str(label), f"the mapped axes must have one size: {said}{also}.")


def _moved(x: Value, source: int, to: int) -> Value:
    """One axis moved to another place; what may be negative is counted from the end."""
    n = len(shape_of(x))
    source, to = source % n, to % n
    if source == to:
        return x
    order = [i for i in range(n) if i != source]
    order.insert(to, source)
    axes = tuple([i - n for i in order])
    return transpose(x, axes=axes)


# ---- out


@attrs.frozen(eq=False)
class Run:
    """What one run of the function gave, and in which lanes. Each value has its lanes along the first axis, or is `Same` for all."""

    lanes: Any
    values: list[Any]
    axes: list[Axis]
    out_def: pytree.TreeDef
    tensors: bool


@attrs.frozen(eq=False)
class Same:
    """A result that is not mapped, and is to be returned as it is."""

    value: Any


@attrs.frozen(eq=False)
class Rows:
    """A result along its batch axis; `tensor` says that the function made a Tensor of it."""

    value: Value
    tensor: bool


def _left(m: Batch, x: Any, axis: Axis, path: str) -> Same | Rows:
    """One result of a run."""
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


def _finished(x: Same | Rows, axis: Axis, inputs: list[Any], tensors: bool) -> Any:
    """A result with its new axis in place, and nobody else's memory."""
    if isinstance(x, Same):
        return x.value
    assert axis is not None
    value = _moved(x.value, 0, axis)
    if isinstance(value, Traced):
        return value
    array = np.asarray(value)
    if array.base is not None or any(array is given for given in inputs):
        array = array.copy()
    doors.frozen(array)
    return of_fresh(array) if tensors or x.tensor else array


# ---- several runs, for lanes that took different paths


def _all_lanes(label: Label, call: Callable[[Batch, Any], Any], size: int, out_axes: Any, queue: list[Any] | None, tensors: bool) -> Run:
    """One run, and as many more as there are paths in the queue."""
    runs: list[Run] = []
    place = ("", "")
    lanes: Any = None
    while True:
        m = Batch(label, size if lanes is None else len(lanes), queue, np.arange(size) if lanes is None else lanes)
        m.tensors, m.looks_at_errors = tensors, True
        try:
            outs, out_def = pytree.flatten(call(m, lanes))
            axes = _spread(label, "out_axes", "the output", out_axes, out_def)
            values = [_left(m, x, axis, path) for x, axis, path in zip(outs, axes, out_def.paths, strict=True)]
        finally:
            m.close()
        runs.append(Run(m.lanes, values, axes, out_def, tensors))
        place = m.place if m.kept else place
        if not queue:
            return runs[0] if len(runs) == 1 else _join(label, runs)
        if len(runs) == MANY:
            warnings.warn(_many(label, place), stacklevel=3)
        lanes = queue.pop()


MANY = 64
"""Runs; from here on a warning says that there are many paths."""


def _many(label: Label, place: tuple[str, str]) -> str:
    return (
        f"{label}: the lanes take more than {MANY} different paths, the last of which parted in {place[0]} ({place[1]}); each is a "
        "run of its own. Use `np.where`, or a plain Python loop over the examples."
    )


def _queues(label: Label, on_divergence: str) -> Callable[[list[Any]], list[Any] | None]:
    """What makes the queue of a call: none where lanes must not differ."""
    if on_divergence not in ("split", "error"):
        raise errors.ArgumentError(str(label), f'on_divergence must be "split" or "error", got {on_divergence!r}.')

    def queue_of(leaves: list[Any]) -> list[Any] | None:
        if on_divergence == "error" or any(isinstance(x, Iterator) for x in leaves):  # a second run would find an iterator used up
            return None
        return []

    return queue_of


def _join(label: Label, runs: list[Run]) -> Run:
    """The results of all runs, each lane in its place."""
    first = runs[0]
    for run in runs:
        if run.out_def != first.out_def:
            what = f"the results must have one structure in all lanes: {first.out_def} in one, {run.out_def} in another."
            raise errors.LaneResultsError(str(label), what)
    lanes = np.concatenate([run.lanes for run in runs])
    order = np.empty(len(lanes), np.intp)
    order[lanes] = np.arange(len(lanes))
    columns = zip(*[run.values for run in runs], strict=True)
    values = [_joined(label, column, order, path) for column, path in zip(columns, first.out_def.paths, strict=True)]
    return Run(lanes[order], values, first.axes, first.out_def, first.tensors)


def _joined(label: Label, parts: tuple[Any, ...], order: Any, path: str) -> Same | Rows:
    if isinstance(parts[0], Same):
        if not all(_equal(part.value, parts[0].value) for part in parts):
            what = f"the output{path} differs between lanes, but its out_axes is None. Give it an axis."
            raise errors.LaneResultsError(str(label), what)
        return parts[0]
    shapes = [shape_of(part.value)[1:] for part in parts]
    for shape in shapes:
        if shape != shapes[0]:
            raise errors.LaneShapesError(str(label), f"the output{path}", shapes[0], shape)
    together = concatenate(*[part.value for part in parts], axis=-1 - len(shapes[0]))
    return Rows(rows(together, order), any(part.tensor for part in parts))


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, Traced) or isinstance(b, Traced):
        return False
    return type(a) is type(b) and bool(np.all(a == b))
