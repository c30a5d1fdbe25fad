"""The transformations users call: `grad` and its family, all made of `jvp` and `vjp` at the doors."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, Traced, Value, bind, dtype_of, shape_of
from funcgrad.ops.elementwise import add
from funcgrad.ops.kinds import constant
from funcgrad.transforms import doors
from funcgrad.transforms.forward import Forward, ForwardTracer
from funcgrad.transforms.linearize import Linearize, LinTracer, Node, walk

_ = add, bind


def _has_nan(x: Any) -> bool:
    s = np.vdot(x, x)
    return bool(s != s)


has_nan = constant(_has_nan, name="has_nan")


def pull_back(seeds: Sequence[tuple[Node, Value]], wanted: Sequence[int]) -> list[Value | None]:
    """The cotangents of the leaves `wanted`. Walk plainly; only where a nan comes out, walk again with strong zeros."""
    with np.errstate(all="ignore"):
        acc = walk(seeds)
        found = [acc.get(i) for i in wanted]
        if any(g is not None and has_nan(g) for g in found):
            acc = walk(seeds, strict=True)
            found = [acc.get(i) for i in wanted]
    return found


# ---- grad


def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
) -> Callable[..., Any]:
    """A function that gives `(fun(*args), gradient)`; the gradient has the structure and types of the chosen arguments.

    Args:
        fun: gives a scalar, or `(scalar, aux)` with `has_aux`.
        argnums: the positional argument(s) to differentiate; negative ones count from the end.
        has_aux: whether `fun` returns auxiliary data too; the value is then `(value, aux)`.
        holomorphic: complex inputs and a complex output of a holomorphic function.
        allow_int: integer and bool leaves are accepted, and get zeros.
        argnames: keyword argument(s) to differentiate; the gradient is then `(by position, {name: gradient})`.

    Raises:
        TypeError: for inputs that have no derivative, and outputs that are no real scalar.
    """
    return _grad_like("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, argnames, lambda v, g, aux: ((v, aux), g) if has_aux else (v, g))


def grad(
    fun: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
) -> Callable[..., Any]:
    """A function that gives the gradient of `fun`, or `(gradient, aux)` with `has_aux`. Arguments as in `value_and_grad`."""
    return _grad_like("grad", fun, argnums, has_aux, holomorphic, allow_int, argnames, lambda v, g, aux: (g, aux) if has_aux else g)


def _grad_like(name: str, fun: Any, argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool, argnames: Any, give: Any) -> Callable[..., Any]:
    doors.check_callable(name, fun)
    label = doors.label(name, fun)

    @doors.wraps(fun, name)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        nums, names = doors.chosen(str(label), argnums, argnames, fun, args, kwargs)
        leaves, treedef, called = doors.flat_args(fun, args, kwargs, nums, names)
        m = Linearize(label)
        doors.hold_collector()
        try:
            inputs = []
            for k, leaf in enumerate(leaves):
                doors.check_leaf(str(label), leaf, functools.partial(doors.path_of, treedef, called, k), holomorphic, allow_int)
                inputs.append(m.leaf(doors.enter(leaf, m.borrows)) if doors.kind_of(leaf) in "fcO" else leaf)
            out = _call(fun, args, kwargs, nums, names, treedef.unflatten(inputs))
            out, aux = _with_aux(label, out) if has_aux else (out, None)
            value = _scalar(m, label, out, holomorphic)
            seeds = [(value._node, value._dtype.type(1))] if isinstance(value, LinTracer) and value._main is m else []
            found = pull_back(seeds, [t._node[0] if isinstance(t, LinTracer) else -1 for t in inputs])
            g = treedef.unflatten([doors.leave_like(_real_if(ct, leaf), leaf) for ct, leaf in zip(found, leaves, strict=True)])
            values = [t._value for t in inputs if isinstance(t, LinTracer)]
            tensors = any(isinstance(x, doors.Tensor) and not isinstance(x, Traced) for x in leaves)
            value = doors.leave_value(m, value, values, tensors)
            aux = _leave_tree(m, aux, values, tensors) if has_aux else None
        finally:
            doors.release_collector()
            m.close()
            m.borrows.release()
        return give(value, _as_asked(g, argnums, argnames, names), aux)

    return gradient


def _real_if(ct: Value | None, leaf: Any) -> Value | None:
    return ct


def _call(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any], nums: tuple[int, ...], names: tuple[str, ...], traced: tuple[Any, ...]) -> Any:
    """`fun` of the arguments, with the chosen ones replaced by their tracers."""
    given = list(args)
    for n, x in zip(nums, traced, strict=False):
        given[n] = x
    if names:
        kwargs = {**kwargs, **dict(zip(names, traced[len(nums) :], strict=True))}
    return fun(*given, **kwargs)


def _as_asked(g: tuple[Any, ...], argnums: Any, argnames: Any, names: tuple[str, ...]) -> Any:
    by_position = g[: len(g) - len(names)]
    first: Any = by_position if isinstance(argnums, tuple) else by_position[0] if by_position else None
    return first if argnames is None else (first, dict(zip(names, g[len(g) - len(names) :], strict=True)))


def _with_aux(label: Label, out: Any) -> tuple[Any, Any]:
    if not isinstance(out, tuple) or len(out) != 2:
        raise errors.OutputError(str(label), "with has_aux=True the output must be a pair (value, aux)", _kind(out), "Return both, or leave has_aux away.")
    return out


def _kind(out: Any) -> str:
    if isinstance(out, (np.ndarray, np.generic, doors.Tensor)):
        return doors.describe(out)
    return "None" if out is None else f"a {type(out).__name__}"


def _scalar(m: Linearize, label: Label, out: Any, holomorphic: bool) -> Any:
    """The output as a tracer or number, if it is one that `grad` can begin from."""
    if type(out) is np.ndarray and out.dtype.hasobject:
        out = doors.stacked(out)
    kind = doors.kind_of(out)
    if kind == "" or kind not in "fcbiu":
        raise errors.OutputError(str(label), "the output must be a scalar", _kind(out), "Return one number; with more to return, use has_aux=True.")
    if shape_of(out):
        raise errors.OutputError(str(label), "the output must be a scalar", doors.describe(out), "Reduce it (`.sum()`), or use `jacrev`.")
    if kind == "c" and not holomorphic:
        raise errors.OutputError(str(label), "the output must be real", doors.describe(out), "Take `.real` or `abs`, or pass holomorphic=True.")
    if holomorphic and kind != "c":
        raise errors.OutputError(str(label), "with holomorphic=True the output must be complex", doors.describe(out), "Leave holomorphic away.")
    if kind in "biu":
        raise errors.OutputError(str(label), "the output must be a float", doors.describe(out), "An integer or bool has no derivative.")
    return out


def _leave_tree(m: Any, tree: Any, inputs: Sequence[Value], tensors: bool) -> Any:
    leaves, treedef = pytree.flatten(tree)
    if not any(isinstance(x, Traced) or (type(x) is np.ndarray and x.dtype.hasobject) for x in leaves):
        return tree
    return treedef.unflatten([doors.leave_value(m, x, inputs, tensors) for x in leaves])


# ---- jvp, vjp, linearize


def _primals(name: str, label: Label, fun: Any, primals: tuple[Any, ...]) -> tuple[list[Any], pytree.TreeDef]:
    leaves, treedef, called = doors.flat_args(fun, primals, {}, tuple(range(len(primals))), ())
    for k, leaf in enumerate(leaves):
        doors.check_leaf(str(label), leaf, functools.partial(doors.path_of, treedef, called, k))
    return leaves, treedef


def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> tuple[Any, ...]:
    """`(fun(*primals), J tangents)`, and aux where `has_aux`: forward mode.

    Args:
        primals, tangents: tuples or lists of the same structure, shapes and dtypes.
    """
    doors.check_callable("jvp", fun)
    label = doors.label("jvp", fun)
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise errors.ArgumentTypeError(str(label), f"{what} must be a tuple or list of arguments, got {_kind(given)}. Write ({what[:-1]},).")
    leaves, treedef = _primals("jvp", label, fun, tuple(primals))
    moves, t_def = pytree.flatten(tuple(tangents))
    _check_tree(label, "tangents", "primals", t_def, treedef)
    m = Forward(label)
    doors.hold_collector()
    try:
        pairs = [(doors.enter(x, None), _like(label, "tangent", t, x, k, t_def)) for k, (x, t) in enumerate(zip(leaves, moves, strict=True))]
        with np.errstate():
            out = fun(*treedef.unflatten([m.trace(x, t) for x, t in pairs]))
        out, aux = _with_aux(label, out) if has_aux else (out, None)
        values = [v for pair in pairs for v in pair]
        tensors = any(isinstance(x, doors.Tensor) and not isinstance(x, Traced) for x in leaves)
        out_leaves, out_def = pytree.flatten(out)
        out_leaves = [doors.stacked(x) if type(x) is np.ndarray and x.dtype.hasobject else x for x in out_leaves]
        primal_out = [doors.leave_value(m, x, values, tensors) for x in out_leaves]
        tangent_out = [_tangent_of(m, x, p, tensors) for x, p in zip(out_leaves, primal_out, strict=True)]
        aux = _leave_tree(m, aux, values, tensors) if has_aux else None
    finally:
        doors.release_collector()
        m.close()
    made = (out_def.unflatten(primal_out), out_def.unflatten(tangent_out))
    return (*made, aux) if has_aux else made


def _tangent_of(m: Forward, x: Any, primal: Any, tensors: bool) -> Any:
    """The tangent of an output leaf; zeros where it does not depend on the primals."""
    if isinstance(x, ForwardTracer) and x._main is m:
        t = x._tangent
        return t if isinstance(t, Traced) else doors.leave_like(t, primal)
    if isinstance(primal, Traced) or doors.kind_of(primal) in tuple("fc"):
        return doors.leave_like(None, np.zeros(shape_of(primal), dtype_of(primal)) if isinstance(primal, Traced) else primal)
    return doors.leave_like(None, primal) if doors.kind_of(primal) else None


def _check_tree(label: Label, what: str, of: str, got: pytree.TreeDef, want: pytree.TreeDef) -> None:
    if got != want:
        raise errors.ArgumentTypeError(str(label), f"{what} must have the structure of {of}: got {got}, expected {want}.")


def _like(label: Label, what: str, t: Any, x: Any, k: int, treedef: pytree.TreeDef) -> Value:
    """A tangent or cotangent for `x`: checked, copied where the caller could write to it, and in the dtype of `x`."""
    shape, dtype = shape_of(x), dtype_of(x)
    value = doors.enter(t, None)
    if doors.kind_of(t) == "" or shape_of(value) != shape:
        raise errors.ArgumentError(str(label), f"the {what} at {treedef.paths[k] or 'the output'} must have shape {list(shape)}, got {_kind(t)}.")
    if dtype_of(value).kind == "c" and dtype.kind != "c":
        raise errors.ArgumentTypeError(str(label), f"the {what} at {treedef.paths[k] or 'the output'} is complex, but its primal is {dtype}.")
    if isinstance(value, Traced):
        from funcgrad.ops.shaping import cast

        return cast(value, dtype)
    return np.asarray(value).astype(dtype, copy=False)[()]


class _Linear:
    """The nodes of a function that has run, between its inputs and its outputs."""

    def __init__(self, label: Label, fun: Any, primals: tuple[Any, ...], has_aux: bool) -> None:
        self.label = label
        self.leaves, self.in_def = _primals(label.transformation, label, fun, primals)
        m = self.m = Linearize(label)
        doors.hold_collector()
        try:
            inputs = [m.leaf(doors.enter(x, None)) for x in self.leaves]
            out = fun(*self.in_def.unflatten(inputs))
            out, aux = _with_aux(label, out) if has_aux else (out, None)
            self.wanted = [t._node[0] for t in inputs]
            values = [t._value for t in inputs]
            tensors = any(isinstance(x, doors.Tensor) and not isinstance(x, Traced) for x in self.leaves)
            outs, self.out_def = pytree.flatten(out)
            outs = [doors.stacked(x) if type(x) is np.ndarray and x.dtype.hasobject else x for x in outs]
            self.nodes = [x._node if isinstance(x, LinTracer) and x._main is m else None for x in outs]
            self.outs = [doors.leave_value(m, x, values, tensors) for x in outs]
            self.aux = _leave_tree(m, aux, values, tensors) if has_aux else None
        except BaseException:
            m.borrows.release()
            raise
        finally:
            doors.release_collector()
            m.close()

    def pull(self, ct: Any) -> tuple[Any, ...]:
        cts, ct_def = pytree.flatten(ct)
        _check_tree(self.label, "the cotangent", "the output", ct_def, self.out_def)
        seeds = []
        for k, (node, c, y) in enumerate(zip(self.nodes, cts, self.outs, strict=True)):
            c = _like(self.label, "cotangent", c, y, k, self.out_def)
            if node is not None:
                seeds.append((node, c))
        found = pull_back(seeds, self.wanted)
        made: tuple[Any, ...] = self.in_def.unflatten([doors.leave_like(g, x) for g, x in zip(found, self.leaves, strict=True)])
        return made


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(fun(*primals), pull)`, and aux where `has_aux`: `pull(ct)` gives the cotangents of the primals, as a tuple.

    `pull` may be called any number of times, later, and in other threads. Large captured arrays stay read-only while it lives.
    """
    doors.check_callable("vjp", fun)
    lin = _Linear(doors.label("vjp", fun), fun, primals, has_aux)

    def pull(ct: Any) -> tuple[Any, ...]:
        return lin.pull(ct)

    weakref.finalize(pull, lin.m.borrows.release).atexit = False
    out = lin.out_def.unflatten(lin.outs)
    return (out, pull, lin.aux) if has_aux else (out, pull)
