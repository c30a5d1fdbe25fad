"""vmap = stack: every case, every subset of mapped arguments, the first, a middle and the last axis, derivatives inside and outside."""

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
from tests.ops.problem import Problem, is_inexact, is_number, problem, random_like

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # NumPy's own, from inputs at edges
    pytest.mark.usefixtures("both_paths"),
]

ALL_SUBSETS, SAMPLED = 4, 6
"""Up to so many arguments every subset of them is mapped; of more, so many at random, besides each alone and all."""

every_case = pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES])
smooth_case = pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES if c.smooth and not c.values_only])


def size_of(p: Problem) -> int:
    """A batch size equal to a dimension, which is what a wrong alignment would not notice; 3 where no dimension is small."""
    return next((n for x in p.x for n in np.shape(x) if 2 <= n <= 4), 3)


def subsets(n: int) -> list[tuple[int, ...]]:
    """All arguments, each alone, and others."""
    if n <= ALL_SUBSETS:
        return [s for k in range(n, 0, -1) for s in itertools.combinations(range(n), k)]
    rng = np.random.default_rng(n)
    some = [tuple(np.flatnonzero(rng.random(n) < 0.5).tolist()) for _ in range(SAMPLED)]
    return list(dict.fromkeys(s for s in [tuple(range(n)), *itertools.combinations(range(n), 1), *some] if s))


def lanes(x: Any, n: int, spread: float) -> list[Any]:
    """Values that a case permits, other ones in each lane; whole numbers and bools are the same ones in another order."""
    if not is_inexact(x):
        return [np.roll(x, i if spread else 0)[()] for i in range(n)]
    return [np.array(x * (1 + spread * i), np.asarray(x).dtype, order="C")[()] for i in range(n)]


def calls(p: Problem, mapped: Sequence[int], n: int, spread: float) -> list[tuple[Any, ...]]:
    """The arguments in each lane."""
    made = {k: lanes(p.x[k], n, spread) for k in mapped}
    return [tuple([made[k][i] if k in made else x for k, x in enumerate(p.x)]) for i in range(n)]


def place(axis: str, x: Any) -> int:
    """Where the lanes of `x` stand."""
    return {"first": 0, "middle": (np.ndim(x) + 1) // 2, "last": -1}[axis]


def stacked(rows: Sequence[Any], axis: str) -> list[Any]:
    """The leaves of the lanes' results, along one axis."""
    columns = zip(*[pytree.leaves(r) for r in rows], strict=True)
    return [np.stack([np.asarray(x) for x in column], place(axis, column[0])) for column in columns]


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
    """The value of every lane, in its dtype, whichever arguments are mapped, whole numbers and bools among them."""
    p = problem(case, wanted=is_number)
    for k, mapped in enumerate(subsets(len(p.x))):
        for axis in ("first", "middle", "last") if not k or len(mapped) == 1 else ("first",):
            check_value(p, mapped, axis)


@every_case
def test_whole_numbers(case: Case) -> None:
    """So it is where the arguments are whole numbers or bools, if NumPy takes these."""
    for kind in (np.int64, np.int8, np.bool_):
        try:
            p = problem(case, lambda x, k, kind=kind: whole(x, kind))
        except Exception:
            continue
        n = len(p.x)
        for mapped in dict.fromkeys([tuple(range(n)), *itertools.combinations(range(n), 1)]):
            check_whole(p, mapped)


def check_whole(p: Problem, mapped: tuple[int, ...]) -> None:
    try:
        check_value(p, mapped, "first")
    except Exception:
        if not computes_objects(p.case):
            floats = problem(p.case)
            with pytest.raises(Exception):  # noqa: B017  # NumPy lets nobody intercept a traced value there, whatever its dtype
                pull_of(numeric(floats, floats.call), floats.x, mapped)


def computes_objects(case: Case) -> bool:
    """Whether NumPy computes it on Python's numbers, whose dtypes are not those of arrays."""
    return case.name in ("min-list", "max-list") or np.frompyfunc in case.covers


def whole(x: Any, kind: type) -> Any:
    return (x > 0 if kind is np.bool_ else np.round(3 * x).astype(kind))[()]


def check_value(p: Problem, mapped: tuple[int, ...], axis: str, spread: float = 0.05) -> None:
    n = size_of(p)
    f = numeric(p, p.call)
    rows = calls(p, mapped, n, spread)
    args = [np.stack([row[k] for row in rows], place(axis, x)) if k in mapped else x for k, x in enumerate(p.x)]
    axes = tuple([place(axis, x) if k in mapped else None for k, x in enumerate(p.x)])
    rows = [tuple([np.moveaxis(x, axes[k], 0)[i] if k in mapped else x for k, x in enumerate(args)]) for i in range(n)]
    try:
        outs = [f(*row) for row in rows]
        expected = stacked(outs, axis)
    except (ValueError, IndexError, np.linalg.LinAlgError):  # a shape or an error that depends on the values
        if spread:
            check_value(p, mapped, axis, 0.0)
        return
    try:
        found = fg.vmap(f, axes, [place(axis, out) for out in outs[0]])(*args)
    except (errors.LanesDifferError, errors.LaneShapesError):  # a branch that depends on the values
        assert spread, f"{mapped} of {len(p.x)}: lanes that are the same do not differ"
        check_value(p, mapped, axis, 0.0)
        return
    except errors.LaneLayoutError:
        return
    except Exception:
        mapped = tuple([k for k in mapped if is_inexact(p.x[k])])
        if not mapped:
            raise
        with pytest.raises(Exception):  # noqa: B017  # NumPy lets nobody intercept a traced value there
            pull_of(f, rows[0], mapped)
        return
    precise = np.finfo(np.result_type(*[x for x in p.x if is_inexact(x)], np.float16)).eps
    assert_stack(found, expected, max(p.case.tol, 1e3 * float(precise)), f"{mapped} of {len(p.x)} along the {axis} axis")


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
        expected = stacked([p.pull(ct)(*row) for ct, row in zip(cts, rows, strict=True)], "first")
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
    assert_stack(pushed, stacked([fg.jvp(p, row, row)[1] for row in rows], "first"), rtol, "vmap of jvp")


def test_rules_are_of_primitives() -> None:
    """No rule is left over for a primitive that has another name by now."""
    assert not RULES.keys() - PRIMITIVES.keys()
