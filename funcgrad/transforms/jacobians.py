"""`jacfwd`, `jacrev`, `hessian` and `hvp`: a linear map applied to all basis vectors at once, each of them a lane."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import bare
from funcgrad.ops.shaping import broadcast_to, concatenate, dense, reshape, transpose, window
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import Chosen, describe, dress, kind_of, label_of
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.derivatives import grad
from funcgrad.transforms.maps import Linearization, jvp
from funcgrad.transforms.nodes import zero
from funcgrad.transforms.signatures import Hvp, Jacobian, Jacrev, typed


def over_basis(
    label: Label, apply: Callable[[list[Value]], list[Value]], spaces: Sequence[Value], images: Sequence[Value], chunk_size: Any
) -> list[list[Value]]:
    """A linear map of every basis vector of the product of `spaces`, as lanes of one pass; `chunk_size` of them at a time.

    Returns, for each space of shape `s` and image of shape `t`, an array of shape `[*s, *t]`.
    """
    sizes = [math.prod(shape_of(space)) for space in spaces]
    count = sum(sizes)
    if count == 1:  # one vector needs no lanes
        found = apply([np.full(shape_of(space), size, dtype_of(space))[()] for space, size in zip(spaces, sizes, strict=True)])
        return [[_block(x, space, image) for x, image in zip(found, images, strict=True)] for space in spaces]
    step = max(count if chunk_size is None else chunk_size, 1)
    parts = [_some(label, apply, spaces, images, sizes, start, min(start + step, count)) for start in range(0, count, step)]
    columns: list[Value] = [_joined_rows(column) for column in zip(*parts, strict=True)] if parts else [None] * len(images)
    table, start = [], 0
    for space, size in zip(spaces, sizes, strict=True):
        table.append([_grid(rows, start, size, shape_of(space), image) for rows, image in zip(columns, images, strict=True)])
        start += size
    return table


def _block(x: Value, space: Value, image: Value) -> Value:
    """The image of the only basis vector, as one array."""
    own, inner = shape_of(space), shape_of(image)
    if 0 in own:
        return np.zeros(own + inner, dtype_of(image))
    x = dense(bare(x), inner)
    return reshape(x, shape=own + inner) if own else x


def _some(
    label: Label, apply: Any, spaces: Sequence[Value], images: Sequence[Value], sizes: list[int], start: int, stop: int
) -> list[Value]:
    """The images of the basis vectors from `start` to `stop`: for each image an array with one row per vector."""
    m = Batch(label, stop - start)
    lanes, offset = [], 0
    for space, size in zip(spaces, sizes, strict=True):
        first, last = max(start, offset), min(stop, offset + size)
        if first < last:
            e = np.zeros((stop - start, size), dtype_of(space))
            e[np.arange(first, last) - start, np.arange(first, last) - offset] = 1
            lanes.append(m.trace(e.reshape((stop - start, *shape_of(space)))))
        else:
            lanes.append(zero(space))
        offset += size
    try:
        found = apply(lanes)
        return [_rows(m, row, shape_of(image), stop - start) for row, image in zip(found, images, strict=True)]
    finally:
        m.close()


def _rows(m: Batch, row: Value, shape: tuple[int, ...], n: int) -> Value:
    """The lanes of an image, each with all its elements."""
    if isinstance(row, BatchTracer) and row._main is m:
        return dense(row, shape)._value
    return broadcast_to(dense(row, shape), shape=(n, *shape))


def _joined_rows(parts: Sequence[Value]) -> Value:
    return parts[0] if len(parts) == 1 else concatenate(*parts, axis=-len(shape_of(parts[0])))


def _grid(rows: Value | None, start: int, size: int, shape: tuple[int, ...], image: Value) -> Value:
    """The rows of one space as one array."""
    inner = shape_of(image)
    if rows is None or not size:
        return np.zeros(shape + inner, dtype_of(image))
    n = shape_of(rows)[0]
    own = rows if size == n else window(rows, axis=-1 - len(inner), start=start, stop=start + size)
    return reshape(own, shape=shape + inner)


def _last_first(x: Value, n: int) -> Value:
    """The first `n` axes moved behind the others."""
    ndim = len(shape_of(x))
    return transpose(x, axes=(*range(n - ndim, 0), *range(-ndim, n - ndim))) if 0 < n < ndim else x


def _jacobian(
    name: str, fun: Any, argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool, forward: bool, chunk_size: Any
) -> Callable[..., Any]:
    label = label_of(name, fun)
    if chunk_size is not None and (isinstance(chunk_size, bool) or not isinstance(chunk_size, (int, np.integer)) or chunk_size < 1):
        raise errors.ArgumentError(str(label), f"chunk_size must be a positive int or None, got {chunk_size!r}.")
    chosen = Chosen(label, fun, argnums, None)

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        picked = chosen.take(args, kwargs)
        leaves, in_def = pytree.flatten(picked)
        for k, leaf in enumerate(leaves):
            _check_input(label, leaf, lambda k=k: chosen.path(in_def, k), holomorphic, allow_int, forward)  # type: ignore[misc]
        floats = [k for k, leaf in enumerate(leaves) if kind_of(leaf) in ("f", "c", "O")]

        def of_floats(*new: Any) -> Any:
            full = list(leaves)
            for k, x in zip(floats, new, strict=True):
                full[k] = x
            return chosen.call(args, kwargs, in_def.unflatten(full))

        lin = Linearization(label, of_floats, tuple([leaves[k] for k in floats]), has_aux, False)
        try:
            _check_outputs(label, lin, holomorphic)
            blocks = _blocks(lin, forward, chunk_size)
        finally:
            lin.m.release()
        tensors = lin.m.tensors
        trees = []
        for row, y in zip(blocks, lin.values, strict=True):
            entries: list[Any] = [np.zeros(shape_of(y) + shape_of(x), dtype_of(x)) for x in leaves]
            for k, block in zip(floats, row, strict=True):
                entries[k] = block
            tree = in_def.unflatten([_finished(b, leaf, tensors) for b, leaf in zip(entries, leaves, strict=True)])
            trees.append(chosen.give(tree, False))
        made = lin.out_def.unflatten(trees)
        return (made, lin.aux) if has_aux else made

    return dress(jacobian, fun)


def _blocks(lin: Linearization, forward: bool, chunk_size: Any) -> list[list[Value]]:
    """For each output leaf and each input leaf an array of shape `[*o, *i]`."""
    if not forward:
        return over_basis(lin.label, lin.pull, lin.values, lin.leaves, chunk_size)
    table = over_basis(lin.label, lin.push, lin.leaves, lin.values, chunk_size)
    return [[_last_first(table[i][j], len(shape_of(x))) for i, x in enumerate(lin.leaves)] for j in range(len(lin.values))]


def _check_input(label: Label, leaf: Any, path: Callable[[], str], holomorphic: bool, allow_int: bool, forward: bool) -> None:
    doors.check_leaf(label, leaf, path, holomorphic, allow_int)
    if forward and not holomorphic and kind_of(leaf) == "c":
        raise errors.InputError(str(label), path(), describe(leaf), "Forward Jacobians of complex inputs need holomorphic=True.")


def _check_outputs(label: Label, lin: Linearization, holomorphic: bool) -> None:
    for y in lin.values:
        kind = kind_of(y)
        if kind not in ("f", "c"):
            raise errors.OutputError(str(label), "every output must be a float", describe(y), "Return it as aux, or leave it away.")
        if (kind == "c") != holomorphic:
            want = "complex, with holomorphic=True" if holomorphic else "real"
            raise errors.OutputError(str(label), f"every output must be {want}", describe(y), "Take `.real`, or see holomorphic.")


def _finished(block: Value, leaf: Any, tensors: bool) -> Any:
    """A block in the form of a result: a number of the leaf's type for a scalar of a scalar, else a frozen array."""
    if not shape_of(block) and not shape_of(leaf):
        return doors.leave_like(block, leaf)
    if doors.is_traced(block):
        return block
    return doors.wrapped(doors.full(block, shape_of(block), dtype_of(block)), tensors)


@typed(Jacobian)
def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian, column by column: for few inputs and many outputs. See `jacrev`."""
    return _jacobian("jacfwd", fun, argnums, has_aux, holomorphic, False, True, chunk_size)


@typed(Jacrev)
def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The Jacobian, row by row: for few outputs and many inputs.

    Args:
        chunk_size: how many rows at a time, which bounds the memory; all in one pass by default.

    Returns:
        A function giving, for each output leaf `T[*o]`, a tree like the argument (a tuple of them for a tuple of argnums)
        with leaves `T[*o, *i]`; `(Jacobian, aux)` with `has_aux`.

    >>> jacrev(lambda x: x**2)(3.0)
    6.0
    """
    return _jacobian("jacrev", fun, argnums, has_aux, holomorphic, allow_int, False, chunk_size)


jacobian = jacrev


@typed(Jacobian)
def hessian(
    fun: Callable[..., Any],
    argnums: int | list[int] | tuple[int, ...] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The dense second derivative, forward over reverse: leaves `T[*o, *i, *j]`, nested as a Jacobian of a Jacobian.

    >>> hessian(lambda x: x**3)(2.0)
    12.0
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic, chunk_size=chunk_size)


@typed(Hvp)
def hvp(fun: Callable[..., Any], primals: list[Any] | tuple[Any, ...], tangents: list[Any] | tuple[Any, ...]) -> Any:
    """The Hessian of a scalar function times a vector, without the Hessian: forward over reverse.

    Args:
        fun: gives a real scalar.
        primals: a tuple or list of arguments, all of which are differentiated.
        tangents: the vector, of the same structure and shapes.

    Returns:
        The product, in the structure of the primals: of the only one, or of the tuple of them.

    >>> hvp(lambda x: x**3, (2.0,), (1.0,))
    np.float64(12.0)
    """
    nums: Any = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(fun, nums), primals, tangents)[1]
