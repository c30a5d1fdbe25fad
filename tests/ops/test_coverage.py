"""Nothing without a case: every primitive is met while the cases run, and every listed NumPy function is covered by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import funcgrad as fg
from funcgrad.core import Primitive
from funcgrad.numpy.dispatch import FUNCTIONS, METHODS, UFUNCS
from funcgrad.ops.kinds import BY_UFUNC, PRIMITIVES
from tests.laws.paths import generic_path
from tests.ops.cases import CASES
from tests.ops.kit import entry_name
from tests.ops.problem import problem, random_like

COVERED = {entry for c in CASES for entry in c.covers}


@contextlib.contextmanager
def watched(met: set[str]) -> Iterator[None]:
    """Notes the names of the primitives whose NumPy computation runs."""
    saved = {prim: prim.impl for prim in PRIMITIVES.values()}

    def watch(prim: Primitive, impl: Any) -> Any:
        def run(*args: Any, **params: Any) -> Any:
            met.add(prim.name)
            return impl(*args, **params)

        return run

    try:
        for prim, impl in saved.items():
            object.__setattr__(prim, "impl", watch(prim, impl))
        yield
    finally:
        for prim, impl in saved.items():
            object.__setattr__(prim, "impl", impl)


def test_every_primitive_is_met() -> None:
    """A primitive that no case covers by name, and that no derivative of a case runs, has no test."""
    met = {prim.name for prim in PRIMITIVES.values() if prim in COVERED or prim.impl in COVERED}
    with generic_path(), watched(met):  # generated code would keep the watchers
        for case in CASES:
            with contextlib.suppress(Exception):  # what fails here fails in the laws, with its name
                p = problem(case)
                ct = list(random_like(p(*p.x), 5))
                fg.jvp(p.pull(ct), p.x, random_like(p.x, 2))
    missing = sorted(PRIMITIVES.keys() - met)
    assert not missing, f"primitives without a case: {', '.join(missing)}"


@pytest.mark.parametrize("table", [FUNCTIONS, UFUNCS, METHODS, BY_UFUNC], ids=["FUNCTIONS", "UFUNCS", "METHODS", "BY_UFUNC"])
def test_every_listed_function_has_a_case(table: dict[Any, Any]) -> None:
    """A NumPy function that works on traced values is in the `covers` of a case."""
    missing = sorted(entry_name(f) for f in table.keys() - COVERED)
    assert not missing, f"functions without a case: {', '.join(missing)}"


def test_names_are_unique() -> None:
    """A failing case is found by its name."""
    names = [c.name for c in CASES]
    assert sorted(set(names)) == sorted(names)
