"""Every case of the registry as a program: it keeps the rules, two evaluators give the function's numbers, and so do its derived ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors, pytree
from funcgrad.core import Label
from funcgrad.program.check import check
from funcgrad.program.codegen import compiled
from funcgrad.program.evaluate import evaluate
from funcgrad.transforms import derive
from funcgrad.transforms.record import Recording, record
from tests.ops.cases import CASES
from tests.ops.kit import Case
from tests.ops.problem import Problem, copied, problem, random_like
from tests.program import plain

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's own, from inputs at edges

LABEL = Label("trace", "f", "here.py", 1)

PARTS = 16
"""A test is a part of the cases: one test per case would take longer to collect and report than to run."""


def part(n: int, cases: Iterable[Case]) -> list[Case]:
    return list(cases)[n::PARTS]


parts = pytest.mark.parametrize("n", range(PARTS))


def numbers(tree: Any) -> list[Any]:
    """The leaves that are numbers."""
    return [y for y in pytree.leaves(tree) if isinstance(y, (np.ndarray, np.generic, bool, int, float, complex, fg.Tensor))]


def recorded(p: Problem, f: Any) -> Recording | None:
    """None where NumPy lets nobody intercept a traced integer."""
    try:
        return record(LABEL, lambda xs: f(*xs), [copied(x) for x in p.x])
    except errors.MissingRuleError:
        return None


def assert_bits(found: Any, expected: Any, what: str) -> None:
    """Same dtype, shape and bits, but for the payload of a nan."""
    found, expected = list(found), list(expected)
    assert len(found) == len(expected), what
    for a, b in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{what}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        if a.tobytes() == b.tobytes():
            continue
        np.testing.assert_array_equal(a, b, err_msg=what)
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(a) & (a == 0), np.signbit(b) & (b == 0), err_msg=f"{what}: the sign of 0")


@parts
def test_programs_give_the_functions_numbers(n: int) -> None:
    """Bit for bit, by `bind`, by plain NumPy and by generated code; and the program keeps the rules."""
    for case in part(n, CASES):
        p = problem(case)
        r = recorded(p, lambda *xs, p=p: numbers(p.call(*xs)))
        if r is None:
            continue
        check(r.program)
        # What is a composition here, with a tolerance, has the numbers of the composition.
        expected = numbers(fg.vjp(p.call, *map(copied, p.x))[0] if case.tol and p.x else p.out)
        values = [*p.x, *r.operands]
        assert_bits(evaluate(r.program, values), expected, f"{case.name} by bind")
        assert_bits(plain.run(r.program, values), expected, f"{case.name} by plain NumPy")
        assert_bits(compiled(r.program)(*values), expected, f"{case.name} by generated code")


@parts
def test_recording_twice_gives_the_same_program(n: int) -> None:
    """Equal and of one hash: nothing of the process is in a program."""
    for case in part(n, CASES)[::4]:
        p = problem(case)
        made = [recorded(p, lambda *xs, p=p: numbers(p.call(*xs))) for _ in range(2)]
        if made[0] is not None and made[1] is not None:
            assert made[0].program == made[1].program, case.name
            assert hash(made[0].program) == hash(made[1].program), case.name


# ---- derived programs

WITHOUT_EXAMPLES = "quantile-whole-weights"
"""Cases whose captured weights are whole numbers and may not all be 0, which is what a derived program is recorded on."""


def straight(p: Problem) -> Recording | None:
    """A derived program is recorded on values of its own: guards may not hold for them."""
    if p.case.name.startswith(WITHOUT_EXAMPLES) or not p.x:
        return None
    r = recorded(p, p)
    return r if r is not None and r.is_straight else None


def assert_close(found: Any, expected: Any, what: str) -> None:
    """Within rounding: sums may be taken in another order. NaNs of the plain walk are the strict walk's business."""
    found, expected = list(found), list(expected)
    assert len(found) == len(expected), what
    for a, b in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{what}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        b = np.where(np.isnan(a), np.nan, b)
        scale = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
        eps = np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0
        np.testing.assert_allclose(a, b, rtol=0, atol=1e4 * eps * scale + 1e-300, err_msg=what)


smooth = [c for c in CASES if c.smooth and not c.values_only]


@parts
def test_pushed_programs(n: int) -> None:
    """Outputs and tangents are those of jvp."""
    for case in part(n, smooth):
        p = problem(case)
        r = straight(p)
        if r is None:
            continue
        mask, wanted = masks(p, r)
        made = derive.pushed(r.program, mask, wanted)
        check(made.program)
        t = random_like(p.x, 2)
        values = [*p.x, *r.operands, *t, *made.constants]
        expected = [y for ys in fg.jvp(p, p.x, t) for y in ys]
        assert_close(evaluate(made.program, values), expected, case.name)
        assert_close(plain.run(made.program, values), expected, case.name)


@parts
def test_paired_programs(n: int) -> None:
    """What crosses the cut is all that the pull needs, and cotangents are those of vjp."""
    for case in part(n, smooth):
        p = problem(case)
        r = straight(p)
        if r is None:
            continue
        pair = derive.paired(r.program, *masks(p, r))
        check(pair.forward)
        check(pair.pull)
        expected, pull = fg.vjp(p, *p.x)
        ct = list(random_like(expected, 5))
        for run in (evaluate, plain.run):
            given = [*p.x, *r.operands, *pair.constants]
            outs = run(pair.forward, given)
            assert_close(outs[: len(expected)], expected, case.name)
            hand = [*given, *outs[len(expected) :]]
            assert_close(run(pair.pull, [*[hand[i] for i in pair.crossing], *ct]), pull(ct), case.name)


@parts
def test_batched_programs(n: int) -> None:
    """In lanes as many as one of the dimensions, where a wrong alignment shows: the stack of all lanes."""
    for case in part(n, smooth):
        p = problem(case)
        r = straight(p)
        if r is None:
            continue
        mask, wanted = masks(p, r)
        size = next((k for x in p.x for k in np.shape(x) if 2 <= k <= 4), 3)
        made, _ = derive.batched(r.program, mask, size, wanted)
        check(made.program)
        xs = [np.stack([np.asarray(x * (1 + 0.01 * i), np.asarray(x).dtype) for i in range(size)]) for x in p.x]
        expected = [np.stack([np.asarray(y) for y in ys]) for ys in zip(*[p(*[x[i] for x in xs]) for i in range(size)], strict=True)]
        values = [*xs, *r.operands, *made.constants]
        assert_close(evaluate(made.program, values), expected, case.name)
        assert_close(plain.run(made.program, values), expected, case.name)


def masks(p: Problem, r: Recording) -> tuple[derive.Mask, derive.Mask]:
    """All inputs that were given, and all outputs."""
    return (True,) * len(p.x) + (False,) * len(r.operands), (True,) * len(r.program.outputs)
