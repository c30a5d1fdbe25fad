"""Every case of the operations as a program that was saved and loaded: it gives what the recorded one and the function give."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad import errors
from tests.ops.cases import CASES
from tests.ops.kit import Case
from tests.program.test_laws import part, parts


@parts
def test_saved_and_loaded(n: int) -> None:
    """Values are the function's, bit for bit or within the case's tolerance; the text has a line for each equation; bytes come back."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in part(n, CASES):
            check(case)


def check(case: Case) -> None:
    want = case.f(*case.args)
    try:
        program = fg.trace(case.f)(*case.args)
    except errors.MissingRuleError:
        return
    loaded = fg.program.load(program.to_bytes())
    assert loaded == program, case.name
    assert loaded.signature == program.signature, case.name
    assert str(program).count("\n") >= len(program.equations), case.name
    found, again = program(*case.args), loaded(*case.args)
    for a, b, c in zip(*map(fg.tree.leaves, (want, found, again)), strict=True):
        assert_same(np.asarray(a), np.asarray(b), case.tol, case.name)
        assert_same(np.asarray(b), np.asarray(c), 0.0, case.name)


def assert_same(a: Any, b: Any, tol: float, name: str) -> None:
    assert (a.dtype, a.shape) == (b.dtype, b.shape), name
    if tol:
        np.testing.assert_allclose(b, a, rtol=10 * tol, atol=10 * tol, err_msg=name)
    else:
        np.testing.assert_array_equal(b, a, err_msg=name)
