"""Every operation inside a checkpoint is what it is outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.ops.cases import CASES
from tests.ops.kit import Case
from tests.ops.problem import problem, random_like

pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # NumPy's own, from inputs at edges
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),  # of np.imag of real numbers, checkpoint or not
]

POLICIES: tuple[Any, ...] = (None, lambda primitive, name: True)


def assert_same(found: Any, expected: Any) -> None:
    for a, b in zip(found, expected, strict=True):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        rtol = 1e4 * np.finfo(b.dtype).eps
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_checkpoint(case: Case) -> None:
    """The same value, cotangents and tangents, of the same types, when it is recomputed and when its result is kept."""
    f = problem(case)
    if case.values_only or not f.x or not f.floats:
        return
    y, pull = fg.vjp(f, *f.x)
    ct, t = list(random_like([np.asarray(a) for a in y], 1)), random_like(f.x, 2)
    g, moved = pull(ct), fg.jvp(f, f.x, t)[1]
    for policy in POLICIES:
        inside = fg.checkpoint(f, policy=policy)
        again, pull_again = fg.vjp(inside, *f.x)
        assert_same(again, y)
        assert_same(pull_again(ct), g)
    assert_same(fg.jvp(inside, f.x, t)[1], moved)
