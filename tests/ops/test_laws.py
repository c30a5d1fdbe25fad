"""Every law on every case: values, first and second derivatives, dtypes, memory; and no entry of the registry without a case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import pytree
from funcgrad.core import Traced
from tests.ops.cases import CASES
from tests.ops.kit import Case
from tests.ops.problem import (
    Problem,
    assert_close,
    assert_same_bits,
    copied,
    differences,
    is_inexact,
    magnitude,
    pairing,
    problem,
    random_like,
)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's own, from inputs at edges


def those(wanted: Callable[[Case], bool]) -> Any:
    """The cases that a law is about, each a test of its name."""
    return pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES if wanted(c)])


every_case = those(lambda c: True)
smooth_case = those(lambda c: c.smooth and not c.values_only)
second_order_case = those(lambda c: c.smooth and not c.values_only and c.order >= 2)
constant_case = those(lambda c: not c.smooth and not c.values_only)
complex_case = those(lambda c: c.complex and not c.values_only)
float32_case = those(lambda c: c.float32 and not c.values_only)
differentiable_case = those(lambda c: not c.values_only)


@every_case
def test_value_is_numpys(case: Case) -> None:
    """Both modes give NumPy's value bit for bit, in its type, dtype and shape, or within the tolerance the case states."""
    p = problem(case)
    before = [copied(x) for x in p.x]
    by_jvp = fg.jvp(p.call, p.x, random_like(p.x, 1))[0] if p.x else p.out
    by_vjp = fg.vjp(p.call, *p.x)[0]
    assert_same_value(by_vjp, p, "vjp")
    assert_same_value(by_jvp, p, "jvp")
    for x, same in zip(p.x, before, strict=True):
        assert_same_bits(x, same, 0, "an input")


def assert_same_value(found: Any, p: Problem, what: str) -> None:
    leaves, treedef = pytree.flatten(found)
    expected, expected_def = pytree.flatten(p.out)
    assert treedef == expected_def, what
    for k, (a, b) in enumerate(zip(leaves, expected, strict=True)):
        assert_same_bits(a, b, p.case.tol, f"{what}, output {k}")
        assert not any(np.may_share_memory(a, x) for x in p.x if isinstance(a, np.ndarray)), f"{what}: output {k} is an input's memory"


@smooth_case
def test_first_derivatives(case: Case) -> None:
    """jvp is the limit of differences, and vjp its transpose: ⟨ct, J t⟩ = ⟨Jᵀ ct, t⟩."""
    check_first(problem(case))


@second_order_case
def test_second_derivatives(case: Case) -> None:
    """Forward over reverse, reverse over forward, reverse over reverse and forward over forward are the differences of the first."""
    check_second(problem(case))


@complex_case
def test_complex(case: Case) -> None:
    """First and second derivatives on complex inputs, along the real and the imaginary axis, paired without conjugation."""
    p = problem(case, lambda x, k: x if x.dtype.kind == "c" else x + 1j * np.random.default_rng(k).uniform(0.2, 0.8, np.shape(x)))
    assert_same_value(fg.vjp(p.call, *p.x)[0], p, "vjp")
    check_first(p)
    if case.order >= 2:
        check_second(p)


def directions(p: Problem) -> list[tuple[Any, ...]]:
    v = random_like([np.real(x) for x in p.x], 2)
    return [v, tuple(1j * t if x.dtype.kind == "c" else t for x, t in zip(p.x, random_like([np.real(x) for x in p.x], 3), strict=True))]


def check_first(p: Problem) -> None:
    traced: list[bool] = []

    def watched(*x: Any) -> list[Any]:
        out = p(*x)
        traced[:] = [isinstance(y, Traced) for y in out]
        return out

    out, pull = fg.vjp(watched, *p.x)
    assert_frozen([y for y, t in zip(out, traced, strict=True) if t])  # what was never traced passes through as the same object
    ct = list(random_like(out, 5))
    g = pull(ct)
    assert_like(g, p.x, "gradient")
    noise, eps = noise_of(out), precision_of([*p.x, *out])
    for v in directions(p):
        tangents = fg.jvp(p, p.x, v)[1]
        assert_like(tangents, out, "tangent")
        expected = differences(p, p.x, v)  # which say nothing where the value is no number
        expected = [np.where(np.isfinite(y), e, t) for y, e, t in zip(out, expected, tangents, strict=True)]
        assert_close(tangents, expected, max(p.case.rtol, 1e3 * eps), "jvp against differences", noise)
        left, right, size = pairing(ct, tangents), pairing(g, v), magnitude(ct, tangents) + magnitude(g, v)
        assert abs(left - right) <= max(1e6 * eps, 1e-4 * p.case.rtol) * size + 1e-300, f"⟨ct, J t⟩ = {left}, ⟨Jᵀ ct, t⟩ = {right}"


def precision_of(xs: Any) -> float:
    """The rounding of the least precise array."""
    return max([float(np.finfo(x.dtype).eps) for x in xs], default=0.0)


def noise_of(out: Any) -> float:
    """What rounding alone does to differences of values of this size, or in terms of intermediate values of size 1."""
    size = max([float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))) for y in out], default=0.0)
    return precision_of(out) * (1e5 * size + 1e3)


def check_second(p: Problem) -> None:
    out = p(*p.x)
    ct = list(random_like(out, 5))
    g = p.pull(ct)
    v, w = random_like(p.x, 2), random_like(p.x, 3)
    first = g(*p.x)
    expected = differences(g, p.x, v)
    noise, rtol = noise_of(first), max(p.case.rtol, 1e3 * precision_of([*p.x, *out]))
    assert_close(fg.jvp(g, p.x, v)[1], expected, rtol, "forward over reverse", noise)
    by_hand = pairing(w, expected)
    size = magnitude(w, expected)
    bound = rtol * size + noise * (1 + sum(np.size(x) for x in p.x))
    for what, found in {
        "reverse over reverse": pairing(fg.vjp(g, *p.x)[1](w), v),
        "reverse over forward": pairing(fg.vjp(p.push(w), *p.x)[1](ct), v),
        "forward over forward": pairing(ct, fg.jvp(p.push(w), p.x, v)[1]),
    }.items():
        assert abs(found - by_hand) <= bound, f"{what}: {found}, by differences {by_hand}"


@constant_case
def test_locally_constant(case: Case) -> None:
    """Where a function is locally constant both modes give zeros."""
    p = problem(case)
    out = p(*p.x)
    g = fg.vjp(p, *p.x)[1](list(random_like(out, 5)))
    assert_like(g, p.x, "gradient")
    for zero in (*g, *(fg.jvp(p, p.x, random_like(p.x, 2))[1] if p.x else [])):
        np.testing.assert_array_equal(zero, 0)


@float32_case
def test_float32(case: Case) -> None:
    """float32 in gives NumPy's dtype out and float32 gradients, close to those of float64."""
    small = {"f": np.float32, "c": np.complex64}
    p = problem(case, lambda x, k: x.astype(small[x.dtype.kind]))
    wide = problem(case, lambda x, k: x.astype(small[x.dtype.kind]).astype(x.dtype))
    out, pull = fg.vjp(p, *p.x)
    for a, b in zip(out, p(*p.x), strict=True):
        assert_same_bits(a, b, case.tol and 1e-5, "value")
    ct = list(random_like(out, 5))
    g = pull(ct)
    assert_like(g, p.x, "gradient")
    t = random_like(p.x, 2)
    tangents = fg.jvp(p, p.x, t)[1] if p.x else []
    assert_like(tangents, out, "tangent")
    expected = wide.pull([c.astype(y.dtype) for c, y in zip(ct, wide(*wide.x), strict=True)])(*wide.x)
    assert_close(g, expected, 1e-3, "gradient in float32")
    assert abs(pairing(ct, tangents) - pairing(g, t)) <= 1e-3 * (magnitude(ct, tangents) + magnitude(g, t))


def strided(x: Any, k: int) -> Any:
    """The same elements, read-only, every other one of a larger array with its axes reversed in memory."""
    if not isinstance(x, np.ndarray) or not x.ndim:
        return x
    whole = np.full([2 * n for n in x.shape], np.nan, x.dtype, order="F")
    view = whole[tuple(slice(None, None, 2) for _ in x.shape)]
    view[...] = x
    view.flags.writeable = False
    return view


@differentiable_case
def test_layout_does_not_matter(case: Case) -> None:
    """Non-contiguous and read-only inputs have the value and the gradient of contiguous ones."""
    p, q = problem(case), problem(case, strided)
    (out, pull), (out2, pull2) = fg.vjp(p, *p.x), fg.vjp(q, *q.x)
    eps = precision_of([*p.x, *out])
    assert_close(out2, q(*q.x), 1e4 * eps, "value")
    if all(np.allclose(a, b, equal_nan=True) for a, b in zip(out, out2, strict=True)):  # but for order="K", which asks for the layout
        ct = list(random_like(out, 5))
        assert_close(pull2(ct), pull(ct), 1e7 * eps, "gradient", 1e-300)


def assert_frozen(tree: Any) -> None:
    for x in pytree.leaves(tree):
        if isinstance(x, np.ndarray):
            assert not x.flags.writeable


def assert_like(found: Any, expected: Any, what: str) -> None:
    """Frozen, and leaf for leaf of the same type, shape and dtype."""
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b), f"{what}: {type(a)}, expected {type(b)}"
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{what}: {a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
        assert is_inexact(a)
    assert_frozen(list(found))
