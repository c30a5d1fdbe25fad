"""`external`: code that cannot be traced, with a derivative from outside or by differences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced
from funcgrad.pytree.prefix import leaves_or_none
from funcgrad.tensor import Tensor, wrap
from funcgrad.transforms.arguments import kind_of, name_of
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.closures import closed_over
from funcgrad.transforms.custom import Custom, O, P
from funcgrad.transforms.lanes import one_by_one
from funcgrad.transforms.rule_results import OUTPUT_AND_MARKS, pair
from funcgrad.transforms.rules import Rules


class External(Custom[P, O]):
    """A function that only ever sees plain NumPy values."""

    _verb = "external"


def external(
    f: Callable[P, O],
    jvp: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
    derivative: str | None = None,
    batch: Callable[..., Any] | None = None,
) -> Callable[P, O]:
    """`f`, which may be any code at all, as a function with a derivative. It gets numbers and read-only arrays, never traced ones.

    Args:
        f: takes and gives pytrees, and has no side effects.
        jvp: `jvp(primals, tangents)` gives the output's tangent. Written in NumPy it serves reverse mode as well.
        vjp: `vjp(primals, output, cotangent)` gives a tuple with a cotangent for each argument, or None for zeros.
        derivative: `"central"` takes central differences for the modes that have no rule. A tangent then costs two runs of `f`,
            a cotangent two for each number among the arguments; about 10 digits are right, and 5 of second derivatives.
        batch: `batch(axis_size, in_batched, *args)` gives `(output, out_batched)` of all examples of a `vmap` at once, as in
            `custom_jvp.defbatch`. Without it `f` runs once for each example, and so do differences.

    Higher derivatives differentiate `jvp` and `vjp`, so for them these must be NumPy code, or external themselves.

    >>> import math
    >>> from funcgrad import grad
    >>> erf = external(math.erf, jvp=lambda p, t: 2 / np.sqrt(np.pi) * np.exp(-(p[0] ** 2)) * t[0])
    >>> round(grad(erf)(0.5), 6)
    0.878783
    """
    if derivative not in (None, "central"):
        raise errors.ArgumentError("external", f"derivative must be 'central' or None, got {derivative!r}.")
    if jvp is None and vjp is None and derivative is None:
        raise errors.ArgumentTypeError("external", f"{name_of(f)} needs a `jvp`, a `vjp`, or derivative='central'.")
    box: External[P, O] = External(_closed(f))
    if batch is not None:
        box.defbatch(functools.partial(_all_at_once, batch, name_of(f)))
    again: Callable[..., Any] = box
    if derivative is not None:
        jvp = jvp or functools.partial(_slope, f)
        vjp = vjp or functools.partial(_slopes, f)
    if jvp is not None:
        push = jvp
        box.defjvp(lambda primals, tangents: (again(*primals), push(_plain(primals), _plain(tangents))))
    if vjp is not None:
        pull = vjp
        box.defvjp(lambda *args: ((out := again(*args)), (args, out)), lambda kept, ct: pull(_plain(kept[0]), _plain(kept[1]), _plain(ct)))
    return box


def _closed(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of plain values; Tensors in, Tensors out."""

    @functools.wraps(f)
    def closed(*args: Any) -> Any:
        leaves = pytree.leaves(args)
        if any(isinstance(x, BatchTracer) for x in [*leaves, *closed_over(f)]):
            return one_by_one(closed, args)
        out = f(*_plain(args))
        return pytree.map(wrap, out) if any(isinstance(x, Tensor) for x in leaves) else out

    return closed


def _all_at_once(batch: Callable[..., Any], name: str, size: int, batched: Any, *args: Any) -> Any:
    """The batch rule of plain values; lanes of an older `vmap` are its own examples, one after the other."""
    if not any(isinstance(x, BatchTracer) for x in pytree.leaves(args)):
        return batch(size, batched, *_plain(args))
    said: list[Any] = []

    def one(*lane: Any) -> Any:
        out, marks = pair(Rules(name, batch), "batch rule", _all_at_once(batch, name, size, batched, *lane), OUTPUT_AND_MARKS)
        said.append(marks)
        return out

    return one_by_one(one, args), said[0]


def _plain(tree: Any) -> Any:
    """Tensors as read-only arrays; traced values stay."""
    return pytree.map(lambda x: np.asarray(x) if isinstance(x, Tensor) and not isinstance(x, Traced) else x, tree)


# ---- by differences


def _slope(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The derivative of `f` along the tangents, itself a function that is differentiated by differences."""
    n = len(primals)

    def along(*both: Any) -> Any:
        return _central(f, both[:n], both[n:])

    along.__name__ = name_of(f)
    return external(along, derivative="central")(*primals, *tangents)


def _slopes(f: Callable[..., Any], primals: Any, out: Any, ct: Any) -> Any:
    """The cotangents of the primals: a slope for each number."""

    def pulled(ct: Any, *primals: Any) -> Any:
        leaves, treedef = pytree.flatten(primals)
        _check_real(leaves)
        found = list(map(_still, leaves))
        for k, x in enumerate(leaves):
            if kind_of(x) == "f":
                g = np.zeros(np.shape(x), np.asarray(x).dtype)
                for i in np.ndindex(g.shape):
                    e = np.zeros_like(g)
                    e[i] = 1
                    direction = [e[()] if j == k else z for j, z in enumerate(map(_still, leaves))]
                    g[i] = _paired(ct, _central(f, primals, treedef.unflatten(direction)))
                found[k] = g[()]
        return treedef.unflatten(found)

    pulled.__name__ = name_of(f)
    return external(pulled, derivative="central")(ct, *primals)


def _still(x: Any) -> Any:
    return np.zeros(np.shape(x), np.asarray(x).dtype)[()] if kind_of(x) else None


def _paired(ct: Any, tangent: Any) -> float:
    pairs = zip(pytree.leaves(ct), pytree.leaves(tangent), strict=True)
    return float(sum([np.sum(np.multiply(c, t)) for c, t in pairs if kind_of(c) == "f"]))


def _central(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """`(f(x + h t) - f(x - h t)) / 2h`; what is no float has a zero.

    The step, the cube root of the precision, balances rounding and the third derivative. (Numerical Recipes, 5.7)
    """
    leaves, treedef = pytree.flatten(primals)
    moves = leaves_or_none("external", treedef, tangents)
    floats = [k for k, x in enumerate(leaves) if kind_of(x) == "f" and moves[k] is not None]
    _check_real(leaves)
    largest, size = (max([float(np.max(np.abs(xs[k]), initial=0.0)) for k in floats], default=0.0) for xs in (moves, leaves))
    eps = max([float(np.finfo(np.asarray(leaves[k]).dtype).eps) for k in floats], default=0.0)
    h = float(np.cbrt(eps)) * max(1.0, size) / largest if largest else 0.0
    up, down = (f(*treedef.unflatten(_moved(leaves, moves, floats, s * h))) for s in (1, -1))
    _check_real(pytree.leaves(up))
    return pytree.map(lambda a, b: _quotient(a, b, h), up, down)


def _check_real(leaves: list[Any]) -> None:
    if any(kind_of(x) == "c" for x in leaves):
        raise errors.ArgumentTypeError("external", "differences are for real arguments and outputs. Give complex functions a `jvp`.")


def _moved(leaves: list[Any], moves: list[Any], floats: list[int], h: float) -> list[Any]:
    out = list(leaves)
    for k in floats:
        out[k] = np.asarray(leaves[k] + h * moves[k]).astype(np.asarray(leaves[k]).dtype)[()]
    return out


def _quotient(a: Any, b: Any, h: float) -> Any:
    if kind_of(a) != "f":
        return _still(a)
    return np.asarray((a - b) / (2 * h) if h else np.multiply(a, 0.0)).astype(np.asarray(a).dtype)[()]
