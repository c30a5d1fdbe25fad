"""For NumPy, a slice and a reshape that only moves axes of length 1 are one index again: `x[2, :, None]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from funcgrad.core import Primitive
from funcgrad.program.program import Equation, Shape, Var, variables
from funcgrad.program.vocabulary import SLICE

READ = Primitive("read", lambda x, *, index: x[index])
"""Stands in no program; what generated code has in place of two equations."""


def with_reads(equations: Sequence[Equation], kept: Iterable[Var]) -> list[Equation]:
    """The equations, with a `READ` in the place of slices that are only reshaped so."""
    slices = {e.outputs[0].number: e for e in equations if e.primitive is SLICE}
    others = {v.number for v in kept}
    others.update(v.number for e in equations if not _moves_ones(e) for v in variables(e.inputs))
    merged = slices.keys() - others
    made = []
    for e in equations:
        if e.primitive is SLICE and e.outputs[0].number in merged:
            continue
        whole = slices.get(next(variables(e.inputs)).number) if _moves_ones(e) else None
        whole = whole if whole is not None and whole.outputs[0].number in merged else None
        made.append(e if whole is None else Equation(READ, whole.inputs, e.outputs, (("index", _index(whole, e["shape"])),), e.line))
    return made


def _moves_ones(e: Any) -> bool:
    return bool(e.primitive.name == "reshape" and type(e.inputs[0]) is Var and e["ones"])


def _index(e: Equation, shape: Shape) -> tuple[Any, ...]:
    """An int where an axis goes, a slice where it stays, None where a new one comes."""
    wanted = list(shape)
    made: list[Any] = []
    for n, size, start, stop, step in zip(e.inputs[0].shape, e.outputs[0].shape, e["starts"], e["stops"], e["steps"], strict=True):
        if size == 1 and wanted[:1] != [1]:
            made.append(start)
            continue
        while wanted[0] != size:
            made.append(None)
            del wanted[0]
        del wanted[0]
        made.append(slice(start or None, None if stop == n else stop, None if step == 1 else step))
    return (*made, *[None] * len(wanted))
