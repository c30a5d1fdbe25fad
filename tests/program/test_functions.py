"""Every case of the operations as a program: recorded, saved and loaded, it gives what the function gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.ops.cases import CASES
from tests.ops.kit import Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    """Values are the function's, bit for bit or within the case's tolerance; the text has a line for each equation; bytes come back."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want = case.f(*case.args)
        try:
            program = fg.trace(case.f)(*case.args)
        except errors.MissingRuleError:
            pytest.skip("takes no traced value, of whatever dtype")
        if case.name.startswith(("unique_all", "unique_counts", "unique_inverse")):  # tuple classes of NumPy's
            with pytest.raises(errors.NotDataError, match=r"Unique\w+ is no container of Python's own"):
                program.to_bytes()
            return
        loaded = fg.program.load(program.to_bytes())
        found = program(*case.args)
        again = loaded(*case.args)
    assert loaded == program
    assert loaded.signature == program.signature
    assert str(program).count("\n") >= len(program.equations)
    for a, b, c in zip(*map(fg.tree.leaves, (want, found, again)), strict=True):
        assert_same(np.asarray(a), np.asarray(b), case.tol)
        assert_same(np.asarray(b), np.asarray(c), 0.0)


def assert_same(a: Any, b: Any, tol: float) -> None:
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    if tol:
        np.testing.assert_allclose(b, a, rtol=10 * tol, atol=10 * tol)
    else:
        np.testing.assert_array_equal(b, a)
