"""`vmap`: a function of one example, applied to all examples at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows
from funcgrad.core import Label, Traced, shape_of
from funcgrad.ops.shaping import moved
from funcgrad.pytree.prefix import parts_at
from funcgrad.tensor import of_fresh
from funcgrad.transforms import (
    batch_fast,  # noqa: F401  gives mapped values their operators
    batch_fused,  # noqa: F401  and this the rest of their fast path
    batch_indexing,  # noqa: F401  fills the table of rules
    doors,
    maps,  # noqa: F401  has primitives of its own
)
from funcgrad.transforms.arguments import argument_name, describe, dress, kind_of, label_of
from funcgrad.transforms.batching import batches, itself
from funcgrad.transforms.paths import Axis, Rows, Same, Work, all_lanes
from funcgrad.transforms.signatures import Vmap, typed

batches(itself, "stop_gradient")


@typed(Vmap)
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

    def of_all(*args: Any, **kwargs: Any) -> Any:
        borrows = Borrows()
        try:
            leaves, treedef = pytree.flatten((args, kwargs))
            axes = _spread_in(label, in_axes, args, kwargs)
            inputs = [
                leaf if axis is None else _entered(label, fun, treedef, k, leaf, axis, borrows)
                for k, (leaf, axis) in enumerate(zip(leaves, axes, strict=True))
            ]
            size = _size(label, fun, treedef, inputs, axes, axis_size)
            batches = [x if axis is None else moved(x, axis, 0) for x, axis in zip(inputs, axes, strict=True)]

            def call(given: list[Any]) -> Any:
                new_args, new_kwargs = treedef.unflatten(given)
                return fun(*[x if _is_whole(in_axes, n) else new_args[n] for n, x in enumerate(args)], **new_kwargs)

            def axes_of(out_def: pytree.TreeDef) -> list[Axis]:
                return _spread(label, "out_axes", "the output", out_axes, out_def)

            tensors = any(map(doors.is_tensor, leaves))
            work = Work(label, call, batches, [axis is not None for axis in axes], size, axes_of, tensors)
            run = all_lanes(work, queue_of(leaves))
            results = [_finished(x, axis, inputs, tensors) for x, axis in zip(run.values, run.axes, strict=True)]
            return run.out_def.unflatten(results)
        except ValueError as error:
            doors.explain(error, label, borrows)
            raise
        finally:
            borrows.release()

    return dress(of_all, fun)


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


# ---- out


def _finished(x: Same | Rows, axis: Axis, inputs: list[Any], tensors: bool) -> Any:
    """A result with its new axis in place, and nobody else's memory."""
    if isinstance(x, Same):
        return x.value
    assert axis is not None
    value = moved(x.value, 0, axis)
    if isinstance(value, Traced):
        return value
    array = np.asarray(value)
    if array.base is not None or any(array is given for given in inputs):
        array = array.copy()
    doors.frozen(array)
    return of_fresh(array) if tensors or x.tensor else array


def _queues(label: Label, on_divergence: str) -> Callable[[list[Any]], list[Any] | None]:
    """What makes the queue of a call: none where lanes must not differ."""
    if on_divergence not in ("split", "error"):
        raise errors.ArgumentError(str(label), f'on_divergence must be "split" or "error", got {on_divergence!r}.')

    def queue_of(leaves: list[Any]) -> list[Any] | None:
        if on_divergence == "error" or any(isinstance(x, Iterator) for x in leaves):  # a second run would find an iterator used up
            return None
        return []

    return queue_of
