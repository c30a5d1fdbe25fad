"""`grad` and `value_and_grad`: the pullback at 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.collector import hold_collector, release_collector
from funcgrad.core import Traced, Value, shape_of, tick
from funcgrad.numpy.bridge import stacked
from funcgrad.ops.elementwise import scale
from funcgrad.ops.kinds import constant
from funcgrad.pytree import LEAF, flatten
from funcgrad.transforms import (
    composite,  # noqa: F401  fills the tables of Linearize
    doors,
    shortcuts,  # noqa: F401  likewise
)
from funcgrad.transforms.arguments import Chosen, describe, dress, kind_of, label_of
from funcgrad.transforms.doors import DOUBLE, SINGLE, leave_like, leave_value, older
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.signatures import Grad, ValueAndGrad, typed
from funcgrad.transforms.walk import Node, Product, carries, walk

_ndarray, _float64, _vdot = np.ndarray, np.float64, np.vdot
ONE = np.float64(1.0)


@typed(ValueAndGrad)
def value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
) -> Callable[..., Any]:
    """A function that gives `(fun(*args), gradient)`; the gradient has the structure, types, shapes and dtypes of the argument.

    Args:
        fun: gives a real scalar, or `(scalar, aux)` with `has_aux`.
        argnums: the positional arguments to differentiate, from the end if negative; a tuple gives a tuple of gradients.
        has_aux: the value is then the pair `(value, aux)`; `aux` is any pytree.
        holomorphic: `fun` is holomorphic, with complex inputs and a complex output.
        allow_int: integer and bool leaves are accepted, and get zeros of their dtype.
        argnames: keyword arguments to differentiate as well; the gradient is then `(by position, {name: gradient})`.

    Raises:
        InputError: a leaf that has no derivative, by its path.
        OutputError: the output is no real scalar.

    >>> value_and_grad(lambda x: x**3)(2.0)
    (8.0, 12.0)
    """
    return _differentiate("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, argnames)


@typed(Grad)
def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: str | Sequence[str] | None = None,
) -> Callable[..., Any]:
    """A function that gives the gradient of `fun`, or `(gradient, aux)` with `has_aux`. Arguments as in `value_and_grad`.

    >>> grad(grad(lambda x: x**3))(2.0)
    12.0
    """
    return _differentiate("grad", fun, argnums, has_aux, holomorphic, allow_int, argnames)


def _differentiate(
    name: str, fun: Any, argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool, argnames: Any
) -> Callable[..., Any]:
    """Both transformations: they differ in what they give back."""
    label = label_of(name, fun)
    chosen = Chosen(label, fun, argnums, argnames)
    alone = chosen.argnums == (0,) and not chosen.many and argnames is None
    with_value = name == "value_and_grad"

    def gradient(*args: Any, **kwargs: Any) -> Any:
        m = Linearize(label)
        aux = None
        hold_collector()
        try:
            leaves, treedef = flatten(args[0] if alone and args else chosen.take(args, kwargs))
            inputs, ids = _enter(m, leaves, treedef, chosen, alone, holomorphic, allow_int)
            traced = inputs[0] if treedef is LEAF else treedef.unflatten(inputs)
            out = fun(traced, *args[1:], **kwargs) if alone else chosen.call(args, kwargs, traced)
            if has_aux:
                out, aux = doors.pair(label, out)
            if type(out) is LinTracer and out._main is m and out._dtype is DOUBLE and not out._shape and not holomorphic:
                seeds: tuple[Any, ...] = ((out._node, ONE),)
            else:  # the same in general
                out = _scalar(m, out, holomorphic)
                seeds = ((out._node, out._dtype.type(1)),) if type(out) is LinTracer and out._main is m else ()
            results = list(map(leave_like, pull_back(seeds, ids), leaves))
            if with_value:
                out = leave_value(m, out)
            if has_aux:
                aux = doors.leave_tree(m, aux)
        except ValueError as error:
            doors.explain(error, label, m.borrows)
            raise
        finally:
            release_collector()
            m.close()
            if m.borrows is not None:
                m.borrows.release()
        found = results[0] if treedef is LEAF else treedef.unflatten(results)
        if not alone:
            found = chosen.give(found, argnames is not None)
        if with_value:
            return ((out, aux), found) if has_aux else (out, found)
        return (found, aux) if has_aux else found

    return dress(gradient, fun)


def _enter(
    m: Linearize, leaves: list[Any], treedef: Any, chosen: Chosen, alone: bool, holomorphic: bool, allow_int: bool
) -> tuple[list[Any], list[int]]:
    """A tracer for each leaf that has a derivative, and its node's id. The usual leaves, real and alone, need no questions."""
    out: list[Any] = []
    ids: list[int] = []
    k = -1
    for leaf in leaves:
        k += 1
        kind = type(leaf)
        i = tick()
        if kind is float and not holomorphic:
            t = LinTracer()
            t._main, t._value, t._node, t._shape, t._dtype = m, leaf, (i, None, None, None), (), DOUBLE
        elif kind is _ndarray and (leaf.dtype is DOUBLE or leaf.dtype is SINGLE) and not holomorphic:
            t = LinTracer()
            t._main, t._value, t._node, t._shape, t._dtype = m, m.hold(leaf), (i, None, None, None), leaf.shape, leaf.dtype
        elif doors.check_leaf(m.label, leaf, lambda k=k: chosen.path(treedef, k, alone), holomorphic, allow_int):  # type: ignore[misc]
            m.tensors |= doors.is_tensor(leaf)
            t = m.trace(doors.entered(leaf, m.hold), (i, None, None, None))
        else:
            t = leaf
        out.append(t)
        ids.append(i)
    return out, ids


def _has_nan(x: Any) -> bool:
    return _array_has_nan(x) if type(x) is _ndarray else bool(x != x)


def _array_has_nan(x: Any) -> bool:
    """By a product with itself while that takes one thread; a sum is as quick for more, but nan also for inf - inf."""
    s = np.add.reduce(x, None) if x.size >= ONE_THREAD else x.dot(x) if x.ndim == 1 else _vdot(x, x)
    return bool(s != s)


ONE_THREAD = 10_000
"""Elements; from here on OpenBLAS wakes its other threads, which takes milliseconds where they are busy."""


has_nan = constant(_has_nan, name="has_nan")
"""Whether nan stands anywhere in a gradient: one pass, no temporary."""


def pull_back(seeds: Sequence[tuple[Node, Value]], wanted: Sequence[int], product: Product = scale) -> list[Value | None]:
    """The cotangents of the leaves `wanted`: walk plainly, and only where a nan comes out once more, with strong zeros."""
    token = hush()
    try:
        acc = walk(seeds)
        found = list(map(acc.get, wanted))
        for g in found:
            if g is not None and (_array_has_nan(g) if type(g) is _ndarray else g != g if type(g) is _float64 else carries(has_nan, g)):
                acc = walk(seeds, product)
                return list(map(acc.get, wanted))
    finally:
        speak(token)
    return found


def _scalar(m: Linearize, out: Any, holomorphic: bool) -> Any:
    """The output, if it is one that `grad` can begin from."""
    label = m.label
    if type(out) is np.ndarray and out.dtype.hasobject:
        out = stacked(out)
    kind = kind_of(out)
    if kind == "" or shape_of(out):
        instead = "Reduce it (`.sum()`), or use `jacrev`."
        if not kind:
            instead = "Return one number; what else there is to return goes into aux (has_aux=True)."
        raise errors.OutputError(str(label), "the output must be a scalar", describe(out), instead)
    if kind in "biu":
        instead = "Integers and bools have no derivative: return a float."
        raise errors.OutputError(str(label), "the output must be a float", describe(out), instead)
    if kind == "c" and not holomorphic:
        instead = "Take its `.real` or `abs`, or pass holomorphic=True."
        raise errors.OutputError(str(label), "the output must be real", describe(out), instead)
    if kind != "c" and holomorphic:
        rule, instead = "with holomorphic=True the output must be complex", "Leave holomorphic away."
        raise errors.OutputError(str(label), rule, describe(out), instead)
    return older(m, out) if isinstance(out, Traced) and out._main is not m else out
