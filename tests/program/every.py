"""Every program that the suite records, or derives, keeps the rules, and its code gives the numbers of its equations."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad.program.check import check
from funcgrad.program.codegen import compiled
from funcgrad.program.examples import example
from funcgrad.program.parts import Missed
from funcgrad.program.program import GUARD, Program
from funcgrad.transforms import record
from tests.program.plain import run

LARGEST = 100
"""Equations; what is longer is checked, and not run again."""

SEEN = 2_000
"""Programs that are run again, in each process: the first ones, each once."""


@contextlib.contextmanager
def every_recording() -> Iterator[None]:
    made, seen = record._closed, set[int]()

    def checked(*args: Any) -> Any:
        program, operands = made(*args)
        program = check(program)
        if hash(program) not in seen and len(seen) < SEEN and is_small(program):
            seen.add(hash(program))
            same_numbers(program)
        return program, operands

    record._closed = checked
    try:
        yield
    finally:
        record._closed = made


def is_small(program: Program) -> bool:
    sizes = [int(np.prod(v.shape)) for v in program.inputs]
    return len(program.equations) <= LARGEST and sum(sizes) < 10_000 and not any(e.primitive is GUARD for e in program.equations)


def same_numbers(program: Program) -> None:
    """By the plain evaluator and by the generated code, on values that operations mostly accept."""
    values = list(map(example, program.inputs))
    with np.errstate(all="ignore"):
        try:
            expected = run(program, values)
        except AssertionError:
            raise
        except Exception:
            return  # these values mean nothing to it
        try:
            found = compiled(program)(*values)
        except Missed:
            return
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
