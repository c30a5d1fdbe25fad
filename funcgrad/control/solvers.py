"""How a user's solver runs: on plain values, and where it cannot take all lanes of `vmap` at once, on those of one lane after the other."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from funcgrad import errors, pytree
from funcgrad.control.still import constant, still
from funcgrad.core import Label, shape_of
from funcgrad.numpy.bridge import bare
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import describe, kind_of
from funcgrad.transforms.batch import Batch, BatchTracer
from funcgrad.transforms.batching import joined, lane_of
from funcgrad.transforms.closures import closed_over, rebuilt
from funcgrad.transforms.maps import stop_gradient
from funcgrad.transforms.rule_results import is_moving

Function = Callable[[Any], Any]


def solved(label: Label, solve: Callable[..., Any], f: Function, start: Any, has_aux: bool = False) -> tuple[Any, Any]:
    """What `solve` finds, and aux. It sees plain values; `f` may be differentiated in it."""
    x = _found(label, rebuilt(solve, constant), rebuilt(f, constant), stop_gradient(start))
    x, aux = doors.pair(label, x) if has_aux else (x, None)
    leaves, treedef = pytree.flatten(start)
    for path, y in zip(treedef.paths, same_shapes(label, "solve", x, treedef, leaves), strict=True):
        if not is_moving(bare(y)):
            raise errors.RuleResultError(str(label), "solve", f"the result{path} must be a float, got {describe(y)}.")
    return stop_gradient(x), stop_gradient(aux)


def same_shapes(label: Label, what: str, got: Any, treedef: pytree.TreeDef, like: list[Any]) -> list[Any]:
    """The leaves of what a function gave, which must have this structure and these shapes."""
    leaves, got_def = pytree.flatten(got)
    if got_def != treedef:
        raise errors.RuleResultError(str(label), what, f"the result must have the structure {treedef}, got {got_def}.")
    for path, x, y in zip(treedef.paths, map(bare, leaves), map(bare, like), strict=True):
        if not kind_of(x) or shape_of(x) != shape_of(y):
            raise errors.RuleResultError(str(label), what, f"the result{path} must have shape {list(shape_of(y))}, got {describe(x)}.")
    return leaves


def _found(label: Label, solve: Callable[..., Any], f: Function, start: Any) -> Any:
    """What `solve` finds in all lanes at once. Code in C, or looks at what differs, end in errors of many kinds: then lane by lane."""
    quiet = still(label, f)
    try:
        return solve(quiet, start)
    except errors.LeakedTracerError as error:
        raise errors.HiddenTracerError(str(label), error.transformation, error.place) from error
    except Exception:
        m = _lanes(solve, quiet, start)
        if m is None or not m.size:
            raise
    return _one_by_one(label, solve, f, start, m)


def _lanes(solve: Callable[..., Any], f: Function, start: Any) -> Batch | None:
    """The newest lanes in what a solver gets and uses."""
    out = None
    with contextlib.suppress(Exception):
        out = f(start)
    mains = [x._main for x in [*pytree.leaves((start, out)), *closed_over(solve)] if isinstance(x, BatchTracer)]
    return max(mains, key=lambda m: m.order, default=None)


def _one_by_one(label: Label, solve: Callable[..., Any], f: Function, start: Any, m: Batch) -> Any:
    outs = []
    for i in range(m.size):
        pick = functools.partial(_picked, m, i)
        lane = functools.partial(_of_lane, rebuilt(f, pick), pick)
        outs.append(pytree.flatten(_found(label, rebuilt(solve, pick), lane, pytree.map(pick, start))))
    columns = zip(*[[bare(x) for x in leaves] for leaves, _ in outs], strict=True)
    return outs[0][1].unflatten([m.trace(joined(m, str(label), c)) if kind_of(c[0]) else c[0] for c in columns])


def _of_lane(f: Function, pick: Function, x: Any) -> Any:
    return pytree.map(pick, f(x))


def _picked(m: Batch, i: int, x: Any) -> Any:
    """The value in one lane; what `rebuilt` does not find is computed in all of them."""
    value = bare(x)
    return lane_of(m.value_of(value), i) if isinstance(value, BatchTracer) and value._main is m else x
