"""`fixed_point`: where a function gives back what it was given."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.control.dense import dense_solve
from funcgrad.control.implicit import Solve, Solvers, difference, solution
from funcgrad.control.solvers import Function, same_shapes, solved
from funcgrad.core import Label, dtype_of, ground
from funcgrad.numpy.bridge import bare
from funcgrad.transforms.arguments import label_of
from funcgrad.transforms.batch import BatchTracer


def fixed_point(
    f: Callable[..., Any],
    x0: Any,
    args: Sequence[Any] = (),
    xtol: float | None = None,
    maxiter: int = 500,
    tangent_solve: Solve | None = None,
) -> Any:
    """The `x` with `f(x, *args) = x`, by repeating `x = f(x, *args)`, differentiated by the implicit function theorem.

    Derivatives are by `args` and by all traced values that `f` closes over. They do not go through the iteration: each costs one linear
    system, and no step is remembered. By `x0` the derivative is zero.

    Args:
        f: its result has the structure and the shapes of `x`.
        x0: any pytree, from which the iteration begins.
        args: further arguments of `f`, any pytrees.
        xtol: stops when no number changes by more than `xtol` times the largest of them, or `xtol` if that is below 1. By default the
            power 3/4 of the precision: 2e-12 for float64.
        maxiter: the most steps there may be.
        tangent_solve: `tangent_solve(g, y)` gives the `v` with `g(v) = y`, for the linear `g` that it gets: the derivative of
            `x - f(x)`, or its transpose. See `custom_root`.

    Raises:
        ConvergenceError: `maxiter` steps were not enough, or led to nan.
        RuleResultError: `f` gives something of another structure or shape than `x0`.

    >>> import numpy as np
    >>> from funcgrad import grad
    >>> fixed_point(lambda x: np.cos(x), 1.0).round(6)
    np.float64(0.739085)
    >>> round(grad(lambda a: fixed_point(lambda x: np.sqrt(a + x), 1.0))(2.0), 12)  # x = (1 + √(1 + 4a)) / 2
    0.333333333333
    """
    label = label_of("fixed_point", f)
    if maxiter < 1:
        raise errors.ArgumentError(str(label), f"maxiter must be at least 1, got {maxiter!r}.")

    def of_x(x: Any) -> Any:
        return f(x, *args)

    def repeat(f: Function, x: Any) -> Any:
        return _repeated(label, f, x, xtol, maxiter)

    x, _ = solved(label, repeat, of_x, x0)
    linear = tangent_solve or dense_solve(label)
    residual = lambda x: pytree.map(operator.neg, difference(label, "function", of_x(x), x))
    return solution(label, residual, x, Solvers(linear, linear))


def _repeated(label: Label, f: Function, x: Any, xtol: float | None, maxiter: int) -> Any:
    """Lanes that have come to rest stay as they are, so that each has what it would have alone."""
    leaves, treedef = pytree.flatten(x)
    change, tol, done = np.inf, xtol or 0.0, False
    for step in range(maxiter):
        new = same_shapes(label, "function", f(treedef.unflatten(leaves)), treedef, leaves)
        tol = _tolerance(new) if xtol is None else xtol
        change = _change(new, leaves)
        leaves = [np.where(done, x, y) for x, y in zip(leaves, new, strict=True)] if isinstance(done, BatchTracer) else new
        done = np.logical_or(done, change <= tol)
        if _in_all_lanes(done):
            return treedef.unflatten(leaves)
        if not _in_all_lanes(np.isfinite(change)):
            raise errors.ConvergenceError(str(label), step + 1, np.nan, tol)
    raise errors.ConvergenceError(str(label), maxiter, float(np.max(ground(change), initial=0.0)), tol)


def _tolerance(leaves: list[Any]) -> float:
    return max([float(np.finfo(dtype_of(bare(x))).eps) ** 0.75 for x in leaves if dtype_of(bare(x)).kind in "fc"], default=0.0)


def _change(new: list[Any], old: list[Any]) -> Any:
    """The largest change, beside the largest number."""
    moved, size = 0.0, 1.0
    for x, y in zip(new, old, strict=True):
        moved = np.maximum(moved, np.max(np.abs(x - y), initial=0.0))
        size = np.maximum(size, np.max(np.abs(x), initial=0.0))
    return moved / size


def _in_all_lanes(x: Any) -> bool:
    """Whether it is so in every lane: one look for all of them, which does not part them."""
    while isinstance(x, BatchTracer):
        x = np.all(x._main.value_of(x))
    return bool(x)
