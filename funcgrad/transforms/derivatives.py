"""`grad` and `value_and_grad`: the pullback at 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, Value, shape_of, tick
from funcgrad.numpy.bridge import stacked
from funcgrad.ops.kinds import constant
from funcgrad.transforms import doors, shortcuts
from funcgrad.transforms.doors import DOUBLE, SINGLE, Chosen
from funcgrad.transforms.linearize import Linearize, LinTracer, Node, walk

_ndarray, _float64 = np.ndarray, np.float64


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
    both = _differentiate("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, argnames)

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        value, aux, gradient = both(args, kwargs)
        return ((value, aux), gradient) if has_aux else (value, gradient)

    return doors.dress(value_and_gradient, fun)


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
    both = _differentiate("grad", fun, argnums, has_aux, holomorphic, allow_int, argnames)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        _, aux, gradient = both(args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return doors.dress(gradient, fun)


def _differentiate(
    name: str, fun: Any, argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool, argnames: Any
) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, Any, Any]]:
    """A function of `(args, kwargs)` that gives value, aux and gradient."""
    label = doors.label(name, fun)
    chosen = Chosen(label, fun, argnums, argnames)
    alone = chosen.argnums == (0,) and not chosen.many and argnames is None

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
        m = Linearize(label)
        aux = None
        doors.hold_collector()
        try:
            leaves, treedef = pytree.flatten(args[0] if alone and args else chosen.take(args, kwargs))
            inputs = _enter(m, leaves, treedef, chosen, alone, holomorphic, allow_int)
            traced = inputs[0] if treedef is pytree.LEAF else treedef.unflatten(inputs)
            out = fun(traced, *args[1:], **kwargs) if alone else chosen.call(args, kwargs, traced)
            if has_aux:
                out, aux = doors.pair(label, out)
            if type(out) is not LinTracer or out._main is not m or out._shape or out._dtype is not DOUBLE or holomorphic:
                out = _scalar(label, out, holomorphic)
            seeds = [(out._node, out._dtype.type(1))] if type(out) is LinTracer and out._main is m else []
            found = pull_back(seeds, [t._node[0] if type(t) is LinTracer else -1 for t in inputs])
            results = [doors.leave_like(g, leaf) for g, leaf in zip(found, leaves, strict=True)]
            gradient = results[0] if treedef is pytree.LEAF else treedef.unflatten(results)
            out = doors.leave_value(m, out)
            if has_aux:
                aux = doors.leave_tree(m, aux)
        finally:
            doors.release_collector()
            m.close()
            if m.borrows is not None:
                m.borrows.release()
        return out, aux, gradient if alone else chosen.give(gradient, argnames is not None)

    return run


def _enter(m: Linearize, leaves: list[Any], treedef: Any, chosen: Chosen, alone: bool, holomorphic: bool, allow_int: bool) -> list[Any]:
    """A tracer for each leaf that has a derivative. The usual leaves, real and alone, need no questions."""
    out: list[Any] = []
    for k, leaf in enumerate(leaves):
        kind = type(leaf)
        if kind is float and not holomorphic:
            t = LinTracer()
            t._value, t._shape, t._dtype = leaf, (), DOUBLE
        elif kind is _ndarray and (leaf.dtype is DOUBLE or leaf.dtype is SINGLE) and not holomorphic:
            t = LinTracer()
            t._value, t._shape, t._dtype = m.hold(leaf), leaf.shape, leaf.dtype
        elif doors.check_leaf(m.label, leaf, lambda k=k: chosen.path(treedef, k, alone), holomorphic, allow_int):  # type: ignore[misc]
            m.tensors |= doors.is_tensor(leaf)
            out.append(m.leaf(doors.entered(leaf, m.hold)))
            continue
        else:
            out.append(leaf)
            continue
        t._main, t._node = m, (tick(), None, None, None)
        out.append(t)
    return out


def _has_nan(x: Any) -> bool:
    s = np.vdot(x, x)
    return bool(s != s)


has_nan = constant(_has_nan, name="has_nan")
"""Whether nan stands anywhere in a gradient: one pass, no temporary."""


def pull_back(seeds: Sequence[tuple[Node, Value]], wanted: Sequence[int]) -> list[Value | None]:
    """The cotangents of the leaves `wanted`: walk plainly, and only where a nan comes out once more, with strong zeros."""
    with np.errstate(all="ignore"):
        acc = walk(seeds)
        found = [acc.get(i) for i in wanted]
        for g in found:
            if g is not None and (g != g if type(g) is _float64 else has_nan(g)):
                acc = walk(seeds, strict=True)
                return [acc.get(i) for i in wanted]
    return found


def _scalar(label: Label, out: Any, holomorphic: bool) -> Any:
    """The output, if it is one that `grad` can begin from."""
    if type(out) is np.ndarray and out.dtype.hasobject:
        out = stacked(out)
    kind = doors.kind_of(out)
    if kind == "" or shape_of(out):
        instead = "Reduce it (`.sum()`), or use `jacrev`." if kind else "Return one number; what else there is to return goes into aux (has_aux=True)."
        raise errors.OutputError(str(label), "the output must be a scalar", doors.describe(out), instead)
    if kind in "biu":
        raise errors.OutputError(str(label), "the output must be a float", doors.describe(out), "Integers and bools have no derivative.")
    if kind == "c" and not holomorphic:
        raise errors.OutputError(str(label), "the output must be real", doors.describe(out), "Take its `.real` or `abs`, or pass holomorphic=True.")
    if kind != "c" and holomorphic:
        raise errors.OutputError(str(label), "with holomorphic=True the output must be complex", doors.describe(out), "Leave holomorphic away.")
    return out


