"""`vmap`: a function of one example, applied to all examples at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, Traced, Value, shape_of
from funcgrad.numpy.bridge import stacked
from funcgrad.ops.shaping import broadcast_to, transpose
from funcgrad.pytree.prefix import parts_at
from funcgrad.tensor import Tensor, of_fresh
from funcgrad.transforms import (
    batch_indexing,  # noqa: F401  fills the table of rules
    doors,
    maps,  # noqa: F401  has primitives of its own
)
from funcgrad.transforms.arguments import argument_name, describe, dress, kind_of, label_of
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.batching import batches, itself

batches(itself, "stop_gradient")

Axis = int | None


def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None) -> Callable[..., Any]:
    """A function that applies `fun` to every example along an axis, in one pass, and stacks the results.

    Args:
        fun: a function of one example.
        in_axes: along which axis each argument has its examples, from the end if negative; None: the same for all. One for all
            arguments, or a tuple with one for each, which may be a tree that goes as far as the argument's own. Keyword arguments are mapped
            over axis 0.
        out_axes: where the results get their new axis; one for all, or a tree as above. None: a result that is the same for all.
        axis_size: how many examples there are, where no argument tells.

    Raises:
        BatchAxisError: an axis that is not there, or axes of different sizes.
        LanesDifferError: `if`, `while` or `int` on a value that is not the same for all examples.

    >>> vmap(lambda x, y: x @ y)(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 4.])
    """
    label = label_of("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    for axis in [*_axes_in(label, "in_axes", in_axes), *_axes_in(label, "out_axes", out_axes)]:
        _check_axis(label, axis)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, treedef = pytree.flatten((args, kwargs))
        axes = _spread_in(label, in_axes, args, kwargs)
        inputs = [_entered(label, fun, treedef, k, leaf, axis) for k, (leaf, axis) in enumerate(zip(leaves, axes, strict=True))]
        m = Batch(label, _size(label, fun, treedef, inputs, axes, axis_size))
        m.tensors = any(map(doors.is_tensor, leaves))
        try:
            given = [x if axis is None else m.trace(_moved(x, axis, 0)) for x, axis in zip(inputs, axes, strict=True)]
            new_args, new_kwargs = treedef.unflatten(given)
            same = [x if _is_whole(in_axes, n) else new for n, (x, new) in enumerate(zip(args, new_args, strict=True))]
            outs, out_def = pytree.flatten(fun(*same, **new_kwargs))
            found = _spread(label, "out_axes", "the output", out_axes, out_def)
            results = [_left(m, x, axis, path) for x, axis, path in zip(outs, found, out_def.paths, strict=True)]
        finally:
            m.close()
        return out_def.unflatten(results)

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
        raise errors.BatchAxisError(str(label), f"{what} must go along with {of}: at {error.path or 'the root'} it has {error.left}, they {error.right}.") from None  # fmt: skip
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


def _entered(label: Label, fun: Any, treedef: pytree.TreeDef, k: int, leaf: Any, axis: Axis) -> Any:
    """The value of a leaf that is mapped; others stay as they are."""
    if axis is None:
        return leaf
    value = doors.entered(leaf, lambda array: array)
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


def _left(m: Batch, x: Any, axis: Axis, path: str) -> Any:
    """The results of all lanes, along this axis."""
    if type(x) is np.ndarray and x.dtype.hasobject:
        x = stacked(x)
    mine = isinstance(x, BatchTracer) and x._main is m
    where = f"the output{path}"
    if axis is None:
        if mine:
            raise errors.BatchAxisError(str(m.label), f"{where} is mapped, but its out_axes is None. Give it an axis.")
        return doors.leave_value(m, x)
    if not mine:
        if isinstance(x, Traced):
            doors.older(m, x)
        elif kind_of(x) == "":
            raise errors.OutputError(str(m.label), f"{where} must be numbers to be stacked", describe(x), "Give it out_axes=None.")
    shape = shape_of(x)
    if not -len(shape) - 1 <= axis <= len(shape):
        raise errors.BatchAxisError(str(m.label), f"{where} has shape {list(shape)} in one lane, so it cannot get its new axis at {axis}.")
    if mine:
        value = x._value
    else:
        bare = x._array if doors.is_tensor(x) else x
        value = broadcast_to(bare if isinstance(bare, Traced) else np.asarray(bare), shape=(m.size, *shape))
    value = _moved(value, 0, axis)
    if isinstance(value, Traced):
        return value
    array = np.asarray(value)
    array = doors.frozen(array.copy() if mine else np.array(array))
    return of_fresh(array) if m.tensors or (isinstance(x, Tensor) and not mine) else array
