"""vmap = stack: every case, several subsets of mapped arguments, the first and the last axis, derivatives inside and outside."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors, pytree
from funcgrad.ops.kinds import PRIMITIVES
from funcgrad.transforms.batching import RULES
from tests.ops.cases import CASES
from tests.ops.kit import Case
from tests.ops.problem import Problem, is_inexact, problem, random_like

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # NumPy's own, from inputs at edges
    pytest.mark.usefixtures("both_paths"),
]

MAPPED_AT_MOST = 4
"""Subsets of the arguments per case."""

every_case = pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES])
smooth_case = pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES if c.smooth and not c.values_only])


def size_of(p: Problem) -> int:
    """A batch size equal to a dimension, which is what a wrong alignment would not notice; 3 where no dimension is small."""
    return next((n for x in p.x for n in np.shape(x) if 2 <= n <= 4), 3)


def subsets(n: int) -> list[tuple[int, ...]]:
    """All arguments, then each alone, then pairs."""
    found = [tuple(range(n)), *itertools.combinations(range(n), 1), *itertools.combinations(range(n), 2)]
    return list(dict.fromkeys(s for s in found if s))[:MAPPED_AT_MOST]


def lanes(x: Any, n: int, spread: float) -> list[Any]:
    """Values that a case permits, other ones in each lane."""
    return [np.array(x * (1 + spread * i), np.asarray(x).dtype, order="C")[()] for i in range(n)]


def calls(p: Problem, mapped: Sequence[int], n: int, spread: float) -> list[tuple[Any, ...]]:
    """The arguments in each lane."""
    made = {k: lanes(p.x[k], n, spread) for k in mapped}
    return [tuple([made[k][i] if k in made else x for k, x in enumerate(p.x)]) for i in range(n)]


def stacked(rows: Sequence[Any], axis: int) -> list[Any]:
    """The leaves of the lanes' results, along one axis."""
    return [np.stack([np.asarray(x) for x in column], axis) for column in zip(*[pytree.leaves(r) for r in rows], strict=True)]


def in_axes_of(p: Problem, mapped: Sequence[int], axis: int) -> tuple[int | None, ...]:
    return tuple([axis if k in mapped else None for k in range(len(p.x))])


def assert_stack(found: Any, expected: list[Any], rtol: float, what: str) -> None:
    leaves = pytree.leaves(found)
    assert len(leaves) == len(expected), what
    for k, (a, b) in enumerate(zip(leaves, expected, strict=True)):
        assert isinstance(a, np.ndarray), f"{what}, leaf {k}"
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{what}, leaf {k}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        assert not a.flags.writeable
        scale = np.max(np.abs(b), initial=0.0, where=np.isfinite(b)) if b.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(a, b, rtol=0, atol=rtol * scale + 1e-300, err_msg=f"{what}, leaf {k}")


def numeric(p: Problem, call: Any) -> Any:
    """Outputs that are numbers."""
    return lambda *x: [y for y in pytree.leaves(call(*x)) if isinstance(y, (np.ndarray, np.generic, int, float, complex, fg.Tensor))]


@every_case
def test_vmap_is_stack(case: Case) -> None:
    """The value of every lane, in its dtype, whichever arguments are mapped."""
    p = problem(case)
    for mapped in subsets(len(p.x)):
        for axis in (0, -1):
            check_value(p, mapped, axis)


def check_value(p: Problem, mapped: tuple[int, ...], axis: int, spread: float = 0.05) -> None:
    n = size_of(p)
    f = numeric(p, p.call)
    rows = calls(p, mapped, n, spread)
    args = [np.stack([row[k] for row in rows], axis) if k in mapped else x for k, x in enumerate(p.x)]
    rows = [tuple([np.moveaxis(x, axis, 0)[i] if k in mapped else x for k, x in enumerate(args)]) for i in range(n)]
    try:
        expected = stacked([f(*row) for row in rows], axis)
    except (ValueError, IndexError, np.linalg.LinAlgError):  # a shape or an error that depends on the values
        if spread:
            check_value(p, mapped, axis, 0.0)
        return
    try:
        found = fg.vmap(f, in_axes_of(p, mapped, axis), axis)(*args)
    except (errors.LanesDifferError, errors.LaneShapesError):  # a branch that depends on the values
        assert spread, f"{mapped} of {len(p.x)}: lanes that are the same do not differ"
        check_value(p, mapped, axis, 0.0)
        return
    except errors.LaneLayoutError:
        return
    except Exception:
        with pytest.raises(Exception):  # noqa: B017  # NumPy lets nobody intercept a traced value there
            pull_of(f, rows[0], mapped)
        return
    precise = np.finfo(np.result_type(*[x for x in p.x if is_inexact(x)], np.float16)).eps
    assert_stack(found, expected, max(p.case.tol, 1e3 * float(precise)), f"{mapped} of {len(p.x)} along {axis}")


def pull_of(f: Any, x: Sequence[Any], mapped: Sequence[int]) -> Any:
    """The function, differentiated in the same arguments."""

    def of_mapped(*new: Any) -> Any:
        given = dict(zip(mapped, new, strict=True))
        return f(*[given.get(k, v) for k, v in enumerate(x)])

    return fg.vjp(of_mapped, *[x[k] for k in mapped])


@smooth_case
def test_vmap_of_vjp_and_vjp_of_vmap(case: Case) -> None:
    """The derivative in each lane, from inside and from outside."""
    check_derivative(problem(case), 0.05)


def check_derivative(p: Problem, spread: float) -> None:
    if not p.x:
        return
    n, mapped = size_of(p), tuple(range(len(p.x)))
    rows = calls(p, mapped, n, spread)
    try:
        outs = [p(*row) for row in rows]
        args = [np.stack(column) for column in zip(*rows, strict=True)]
        cts = [list(random_like(out, 5 + i)) for i, out in enumerate(outs)]
        expected = stacked([p.pull(ct)(*row) for ct, row in zip(cts, rows, strict=True)], 0)
        ct = [np.stack(column) for column in zip(*cts, strict=True)]
    except (ValueError, IndexError):
        if spread:
            check_derivative(p, 0.0)
        return
    try:
        inside = fg.vmap(lambda c, x: fg.vjp(p, *x)[1](c))(ct, args)
        outside = fg.vjp(lambda *x: fg.vmap(p)(*x), *args)[1](ct)
        pushed = fg.vmap(lambda x: fg.jvp(p, x, x)[1])(args)
    except (errors.LanesDifferError, errors.LaneShapesError):
        assert spread, "lanes that are the same do not differ"
        check_derivative(p, 0.0)
        return
    except errors.LaneLayoutError:
        return
    rtol = max(p.case.rtol * 1e-2, 1e6 * max(float(np.finfo(x.dtype).eps) for x in p.x))
    assert_stack(inside, expected, rtol, "vmap of vjp")
    assert_stack(list(outside), expected, rtol, "vjp of vmap")
    assert_stack(pushed, stacked([fg.jvp(p, row, row)[1] for row in rows], 0), rtol, "vmap of jvp")


def test_rules_are_of_primitives() -> None:
    """No rule is left over for a primitive that has another name by now."""
    assert not RULES.keys() - PRIMITIVES.keys()
