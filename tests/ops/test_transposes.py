"""A transpose written by hand is that of the tangent rule."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

import funcgrad as fg
from funcgrad.ops.kinds import PRIMITIVES, Differentiable, Semilinear
from tests.ops.cases import CASES
from tests.ops.kit import Case
from tests.ops.problem import assert_close, problem, random_like

BY_HAND = {Differentiable: "transpose", Semilinear: "together"}
LINEAR = {"split", "unpile", "unstack"}
"""These have several outputs, and are their own tangent: nothing is left to derive from."""


@contextlib.contextmanager
def derived() -> Iterator[None]:
    """Every transpose is derived from the tangent rule."""
    saved = [(prim, BY_HAND[type(prim)]) for prim in PRIMITIVES.values() if type(prim) in BY_HAND and prim.name not in LINEAR]
    by_hand = [getattr(prim, name) for prim, name in saved]
    try:
        for prim, name in saved:
            object.__setattr__(prim, name, None)
        yield
    finally:
        for (prim, name), f in zip(saved, by_hand, strict=True):
            object.__setattr__(prim, name, f)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES if not c.values_only])
def test_transposes_by_hand(case: Case) -> None:
    """Of first order, and where the transpose is itself differentiated."""
    p = problem(case)
    out, pull = fg.vjp(p, *p.x)
    if not p.x:
        return
    ct, t = list(random_like(out, 5)), random_like(p.x, 2)
    g = pull(ct)
    h = fg.jvp(p.pull(ct), p.x, t)[1] if case.order >= 2 else ()
    with derived():
        assert_close(g, fg.vjp(p, *p.x)[1](ct), 1e-9, "gradient")
        if case.order >= 2:
            assert_close(h, fg.jvp(p.pull(ct), p.x, t)[1], 1e-7, "second order")
