"""`jvp`, `vjp`, `linearize`, `linear_transpose`: the derivative of a function as a linear map, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import HELD
from funcgrad.collector import hold_collector, release_collector
from funcgrad.core import Label, Traced, Value, bind, dtype_of, shape_of
from funcgrad.numpy.bridge import bare, stacked
from funcgrad.ops.elementwise import meet
from funcgrad.ops.kinds import constant
from funcgrad.ops.shaping import dense
from funcgrad.tensor import wrap
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import Chosen, describe, kind_of, label_of
from funcgrad.transforms.derivatives import pull_back
from funcgrad.transforms.forward import Forward, ForwardTracer, tangent_of
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.nodes import zero
from funcgrad.transforms.signatures import Jvp, Linearized, LinearTranspose, T, Vjp, typed
from funcgrad.transforms.walk import walk


def _flat_primals(label: Label, fun: Any, primals: tuple[Any, ...]) -> tuple[list[Any], pytree.TreeDef, Callable[[int], str]]:
    """The leaves of the primals, each of which must have a derivative."""
    leaves, treedef = pytree.flatten(primals)
    chosen = Chosen(label, fun, tuple(range(len(primals))), None)
    for k, leaf in enumerate(leaves):
        doors.check_leaf(label, leaf, lambda k=k: chosen.path(treedef, k))  # type: ignore[misc]
    return leaves, treedef, lambda k: chosen.path(treedef, k)


def _flat_output(out: Any) -> tuple[list[Any], pytree.TreeDef]:
    leaves, treedef = pytree.flatten(out)
    return [stacked(x) if type(x) is np.ndarray and x.dtype.hasobject else x for x in leaves], treedef


# ---- forward


@typed(Jvp)
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> tuple[Any, ...]:
    """`(fun(*primals), its tangent)`, and aux with `has_aux`: the directional derivative, in forward mode.

    Args:
        fun: gives any pytree, or `(pytree, aux)` with `has_aux`.
        primals: a tuple or list of arguments.
        tangents: the directions, of the same structure and shapes.

    >>> jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0))
    (6.0, np.float64(3.0))
    """
    label = label_of("jvp", fun)
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            rule = f"{what} must be a tuple or list of arguments, got {describe(given)}. Write `(x,)`."
            raise errors.ArgumentTypeError(str(label), rule)
    leaves, treedef, path = _flat_primals(label, fun, tuple(primals))
    moves, moves_def = pytree.flatten(tuple(tangents))
    doors.check_tree(label, "tangents", "primals", moves_def, treedef)
    values = [doors.entered(x, doors.copied) for x in leaves]
    moved = [doors.beside(label, "tangent", t, x, lambda k=k: path(k)) for k, (t, x) in enumerate(zip(moves, values, strict=True))]  # type: ignore[misc]
    m = Forward(label)
    m.tensors = any(map(doors.is_tensor, leaves))
    hold_collector()
    try:
        out = fun(*treedef.unflatten([m.trace(x, t) for x, t in zip(values, moved, strict=True)]))
        out, aux = doors.pair(label, out) if has_aux else (out, None)
        outs, out_def = _flat_output(out)
        primal_out = [doors.leave_value(m, x) for x in outs]
        tangent_out = [_tangent_out(m, x) for x in outs]
        aux = doors.leave_tree(m, aux) if has_aux else None
    finally:
        release_collector()
        m.close()
    made = (out_def.unflatten(primal_out), out_def.unflatten(tangent_out))
    return (*made, aux) if has_aux else made


def _tangent_out(m: Forward, x: Any) -> Any:
    """The tangent of an output leaf, of its type; zeros of its dtype where it does not depend on the primals."""
    if isinstance(x, ForwardTracer) and x._main is m:
        t = doors.leave_value(m, m.trace(tangent_of(x), None))
        return doors.full(t, (), x._dtype) if type(x._value) is np.ndarray and isinstance(t, np.generic) else t
    if kind_of(x) == "":
        return x
    return doors.full(None, x.shape, x.dtype) if type(x) is np.ndarray else zero(x)


# ---- reverse


class Linearization:
    """The nodes of a function that has run, between its inputs and its outputs: a linear map, and its transpose."""

    def __init__(self, label: Label, fun: Any, primals: tuple[Any, ...], has_aux: bool, snapshot: bool) -> None:
        self.label = label
        self.leaves, self.in_def, self.in_path = _flat_primals(label, fun, primals)
        self.like = [_blank(x) for x in self.leaves]
        self.m = m = Linearize(label)
        if snapshot:
            m.borrows = doors.Snapshot()
        hold_collector()
        try:
            inputs = [m.leaf(doors.entered(x, doors.copied)) for x in self.leaves]
            out = fun(*self.in_def.unflatten(inputs))
            out, aux = doors.pair(label, out) if has_aux else (out, None)
            self._take(inputs, out, aux)
        except BaseException as error:
            if isinstance(error, ValueError):
                doors.explain(error, label, m.borrows)
            m.release()
            raise
        finally:
            release_collector()
            m.close()
        if m.borrows is not None:
            m.borrows.guard(self)  # borrowed arrays are given back when the function that holds this dies

    def _take(self, inputs: list[LinTracer], out: Any, aux: Any) -> None:
        m = self.m
        self.wanted = [t._node[0] for t in inputs]
        m.tensors = any(map(doors.is_tensor, self.leaves))
        outs, self.out_def = _flat_output(out)
        self.nodes = [x._node if type(x) is LinTracer and x._main is m else None for x in outs]
        self.values = [doors.leave_value(m, x) for x in outs]
        self.aux = doors.leave_tree(m, aux)
        self.leaves = self.like
        self._transposed: Any = None

    def out(self) -> Any:
        return self.out_def.unflatten(self.values)

    def pull(self, cts: Sequence[Value]) -> list[Any]:
        """The transpose: cotangents of the output leaves to those of the inputs."""
        seeds = [(node, ct) for node, ct in zip(self.nodes, cts, strict=True) if node is not None]
        return [doors.leave_like(g, x) for g, x in zip(pull_back(seeds, self.wanted), self.leaves, strict=True)]

    def push(self, tangents: Sequence[Value]) -> list[Value]:
        """The map itself, as the transpose of the transpose, whose nodes are grown once."""
        if self._transposed is None:
            m = Linearize(self.label)
            m.borrows = HELD
            cts = [None if node is None else m.leaf(zero(y)) for node, y in zip(self.nodes, self.values, strict=True)]
            with np.errstate(all="ignore"):
                acc = walk([(node, ct) for node, ct in zip(self.nodes, cts, strict=True) if node is not None])
                found = [dense(acc[i], shape_of(x)) if i in acc else None for i, x in zip(self.wanted, self.leaves, strict=True)]
            self._transposed = cts, found
            m.close()
        cts, found = self._transposed
        seeds = [(g._node, t) for g, t in zip(found, tangents, strict=True) if type(g) is LinTracer]
        moved = pull_back(seeds, [-1 if ct is None else ct._node[0] for ct in cts], meet)
        return [_still(y) if ct is None else zero(y) if t is None else t for ct, y, t in zip(cts, self.values, moved, strict=True)]

    def cotangents(self, ct: Any) -> list[Value]:
        """The leaves of a cotangent, checked against the output; beside what is no number, anything will do."""
        cts, ct_def = pytree.flatten(ct)
        doors.check_tree(self.label, "cotangent", "output", ct_def, self.out_def)
        where = "the output"
        paths = self.out_def.paths
        return [
            doors.beside(self.label, "cotangent", c, y, lambda k=k: f"{where}{paths[k]}") if kind_of(y) else c  # type: ignore[misc]
            for k, (c, y) in enumerate(zip(cts, self.values, strict=True))
        ]


def _still(y: Any) -> Any:
    """The tangent of an output that does not depend on the primals; what is no number is its own."""
    return zero(y) if kind_of(y) else y


def _blank(leaf: Any) -> Any:
    """What stands for a leaf once its value is not needed: of its type, shape and dtype, but no memory of the caller's."""
    if type(leaf) is np.ndarray and not leaf.dtype.hasobject:
        return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)
    return stacked(leaf) if type(leaf) is np.ndarray else leaf


@typed(Vjp)
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, snapshot: bool = False) -> tuple[Any, ...]:
    """`(fun(*primals), pull)`, and aux with `has_aux`. `pull(ct)` gives the cotangents of the primals, as a tuple.

    `pull` may be called again, later, and in other threads. While it lives, large arrays that `fun` captured are read-only;
    with `snapshot` they are copied instead.

    >>> y, pull = vjp(lambda x: x**2, 3.0)
    >>> pull(1.0)
    (6.0,)
    """
    lin = Linearization(label_of("vjp", fun), fun, primals, has_aux, snapshot)

    def pull(ct: Any) -> Any:
        return lin.in_def.unflatten(lin.pull(lin.cotangents(ct)))

    return (lin.out(), pull, lin.aux) if has_aux else (lin.out(), pull)


@typed(Linearized)
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, snapshot: bool = False) -> tuple[Any, ...]:
    """`(fun(*primals), push)`, and aux with `has_aux`. `push(*tangents)` gives the output's tangent without running `fun` again.

    >>> y, push = linearize(lambda x: x**2, 3.0)
    >>> push(1.0)
    np.float64(6.0)
    """
    label = label_of("linearize", fun)
    lin = Linearization(label, fun, primals, has_aux, snapshot)
    tensors = lin.m.tensors

    def push(*tangents: Any) -> Any:
        moves, moves_def = pytree.flatten(tangents)
        doors.check_tree(label, "tangents", "primals", moves_def, lin.in_def)
        path = lin.in_path
        moved = [doors.beside(label, "tangent", t, x, lambda k=k: path(k)) for k, (t, x) in enumerate(zip(moves, lin.leaves, strict=True))]  # type: ignore[misc]
        return lin.out_def.unflatten([_given(t, y, tensors) for t, y in zip(lin.push(moved), lin.values, strict=True)])

    return (lin.out(), push, lin.aux) if has_aux else (lin.out(), push)


def _given(t: Value, y: Any, tensors: bool) -> Any:
    """A tangent beside the output leaf `y`: whole, frozen, and a Tensor where `y` is one."""
    if isinstance(t, Traced) or kind_of(y) == "":
        return t
    shape, dtype = shape_of(y), dtype_of(y)
    if not shape and not tensors and type(y) is not np.ndarray:
        return dtype.type(t)
    return doors.wrapped(doors.full(t, shape, dtype), tensors)


@typed(LinearTranspose)
def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function, without conjugation: `transpose(ct)` gives a tuple with a cotangent per primal.

    Args:
        fun: linear in all its arguments together; checked at one random point.
        primals: examples of the arguments; only their structure, shapes and dtypes matter.

    Raises:
        ArgumentError: `fun` is not linear.

    >>> linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
    (6.0,)
    """
    label = label_of("linear_transpose", fun)
    leaves, treedef, _ = _flat_primals(label, fun, primals)
    origin = [zero(x) if isinstance(x, Traced) else doors.leave_like(None, x) for x in leaves]
    lin = Linearization(label, fun, treedef.unflatten(origin), False, False)
    try:
        _check_linear(label, fun, lin, treedef)
    except BaseException:
        lin.m.release()
        raise

    def transpose(ct: Any) -> Any:
        return treedef.unflatten(lin.pull(lin.cotangents(ct)))

    return transpose


def _check_linear(label: Label, fun: Any, lin: Linearization, treedef: pytree.TreeDef) -> None:
    """`f(0) = 0`, and `f(x) = J x` at a random `x`."""
    rng = np.random.default_rng(0)
    point = [np.asarray(rng.normal(size=shape_of(x))).astype(dtype_of(x))[()] for x in lin.leaves]
    outs, _ = pytree.flatten(fun(*treedef.unflatten(point)))
    with np.errstate(all="ignore"):
        for at_zero, out, moved in zip(lin.values, outs, lin.push(point), strict=True):
            tol = 1e3 * float(np.finfo(dtype_of(moved)).eps)
            if np.any(at_zero != 0) or not np.allclose(out, moved, rtol=tol, atol=tol):
                raise errors.ArgumentError(str(label), "the function is not linear. Use `vjp` for the transpose of its derivative.")


# ---- neither


_stop = constant(lambda x: x.copy() if type(x) is np.ndarray else x, name="stop_gradient")
"""A copy: a tracer still needs the value, which may be the caller's own array, and the result goes anywhere."""


def stop_gradient(x: T) -> T:
    """`x` (any pytree) as a constant: its derivative is zero under every transformation.

    >>> from funcgrad import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    stopped: T = pytree.map(_stopped_leaf, x)
    return stopped


def _stopped_leaf(leaf: Any) -> Any:
    value = bare(leaf)
    if not isinstance(value, Traced):
        return leaf
    stopped = bind(_stop, (value,), {})
    return stopped if value is leaf else wrap(stopped)
