"""`jacfwd`, `jacrev`, `hessian` and `hvp`: a linear map applied to every basis vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, Value, dtype_of, shape_of
from funcgrad.ops.shaping import dense, reshape, stack, transpose
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import Chosen, describe, dress, kind_of, label_of
from funcgrad.transforms.derivatives import grad
from funcgrad.transforms.maps import Linearization, jvp
from funcgrad.transforms.nodes import zero
from funcgrad.transforms.signatures import Hvp, Jacobian, Jacrev, typed


def over_basis(apply: Callable[[list[Value]], list[Value]], spaces: Sequence[Value], images: Sequence[Value]) -> list[list[Value]]:
    """A linear map of every basis vector of the product of `spaces`.

    Returns, for each space of shape `s` and image of shape `t`, an array of shape `[*s, *t]`.
    """
    table = []
    for k, space in enumerate(spaces):
        shape, dtype = shape_of(space), dtype_of(space)
        rows = []
        for i in range(int(np.prod(shape, dtype=int))):
            e = np.zeros(shape, dtype)
            e.flat[i] = 1
            rows.append(apply([e[()] if j == k else zero(z) for j, z in enumerate(spaces)]))
        table.append([_grid([row[j] for row in rows], shape, image) for j, image in enumerate(images)])
    return table


def _grid(rows: list[Value], shape: tuple[int, ...], image: Value) -> Value:
    """The images of one space's basis vectors as one array."""
    inner = shape_of(image)
    if not rows:
        return np.zeros(shape + inner, dtype_of(image))
    if not shape:
        return dense(rows[0], inner)
    return reshape(stack(*[dense(row, inner) for row in rows], axis=-1 - len(inner)), shape=shape + inner)


def _last_first(x: Value, n: int) -> Value:
    """The first `n` axes moved behind the others."""
    ndim = len(shape_of(x))
    return transpose(x, axes=(*range(n - ndim, 0), *range(-ndim, n - ndim))) if 0 < n < ndim else x


def _jacobian(name: str, fun: Any, argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool, forward: bool) -> Callable[..., Any]:
    label = label_of(name, fun)
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
            blocks = _blocks(lin, forward)
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


def _blocks(lin: Linearization, forward: bool) -> list[list[Value]]:
    """For each output leaf and each input leaf an array of shape `[*o, *i]`."""
    if not forward:
        return over_basis(lin.pull, lin.values, lin.leaves)
    table = over_basis(lin.push, lin.leaves, lin.values)
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
    if doors.is_traced(block):
        return block
    if not shape_of(block) and not shape_of(leaf):
        return doors.leave_like(block, leaf)
    return doors.wrapped(doors.full(block, shape_of(block), dtype_of(block)), tensors)


@typed(Jacobian)
def jacfwd(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian, column by column: for few inputs and many outputs. See `jacrev`."""
    return _jacobian("jacfwd", fun, argnums, has_aux, holomorphic, False, True)


@typed(Jacrev)
def jacrev(
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Callable[..., Any]:
    """The Jacobian, row by row: for few outputs and many inputs.

    Returns:
        A function giving, for each output leaf `T[*o]`, a tree like the argument (a tuple of them for a tuple of argnums)
        with leaves `T[*o, *i]`; `(Jacobian, aux)` with `has_aux`.

    >>> jacrev(lambda x: x**2)(3.0)
    6.0
    """
    return _jacobian("jacrev", fun, argnums, has_aux, holomorphic, allow_int, False)


jacobian = jacrev


@typed(Jacobian)
def hessian(
    fun: Callable[..., Any], argnums: int | list[int] | tuple[int, ...] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The dense second derivative, forward over reverse: leaves `T[*o, *i, *j]`, nested as a Jacobian of a Jacobian.

    >>> hessian(lambda x: x**3)(2.0)
    12.0
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


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
