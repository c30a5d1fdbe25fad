"""Equations that generated code writes as one statement.

A `slice` of single positions and the `reshape` that drops their axes is one index. A sum of `pad`s is one buffer, into which all of
them are added: **bit for bit the same**, since what lies between is 0.0, and nothing is added to a value but in the order of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from funcgrad.program.parts import stays
from funcgrad.program.program import Atom, Equation, Var, variables


@attrs.frozen(eq=False)
class Item:
    """`slice` and the axes it loses."""

    source: Equation
    dropped: tuple[int, ...]
    output: Var


@attrs.frozen(eq=False)
class Buffer:
    """What is added up in one array: `base`, or zeros, and then each operand at its place."""

    base: Atom | None
    parts: Sequence[tuple[Equation, Atom, tuple[int, ...]]]
    output: Var


Statement = Equation | Item | Buffer


def inputs_of(s: Statement) -> Sequence[Atom]:
    if isinstance(s, Equation):
        return s.inputs
    if isinstance(s, Item):
        return s.source.inputs
    return [*([s.base] if s.base is not None else []), *[x for _, x, _ in s.parts]]


def outputs_of(s: Statement) -> Sequence[Var]:
    return s.outputs if isinstance(s, Equation) else [s.output]


def statements(equations: Sequence[Equation], kept: set[int]) -> list[Statement]:
    """The equations, as statements in the order in which they can be written; variables of `kept` have to be there."""
    made = {e.outputs[0].number: e for e in equations if len(e.outputs) == 1}
    uses: dict[int, int] = dict.fromkeys(kept, 2)
    for e in equations:
        for v in variables(e.inputs):
            uses[v.number] = uses.get(v.number, 0) + 1
    alone = {i for i, n in uses.items() if n == 1}
    found: dict[int, Statement] = {}
    for e in equations:
        if e.primitive.name == "reshape":
            item = _item(e, made)
            if item is not None:
                found[e.outputs[0].number] = item
        elif e.primitive.name == "add":
            buffer = _buffer(e, made, alone, found)
            if buffer is not None:
                found[e.outputs[0].number] = buffer
    out = [found.get(e.outputs[0].number, e) if len(e.outputs) == 1 else e for e in equations]
    return _needed(out, kept)


def dropped(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...] | None:
    """The axes of length 1 that a reshape takes away; None where it does something else."""
    gone, k = [], 0
    for axis, n in enumerate(before):
        if k < len(after) and after[k] == n and (n != 1 or len(before) - axis <= len(after) - k):
            k += 1
        elif n == 1:
            gone.append(axis)
        else:
            return None
    return tuple(gone) if k == len(after) else None


def _item(e: Equation, made: dict[int, Equation]) -> Item | None:
    x = e.inputs[0]
    source = made.get(x.number) if isinstance(x, Var) else None
    if source is None or source.primitive.name != "slice":
        return None
    gone = dropped(x.shape, e.outputs[0].shape)
    return Item(source, gone, e.outputs[0]) if gone else None


def _pad(x: Atom, made: dict[int, Equation], alone: set[int]) -> tuple[Equation, Atom, tuple[int, ...]] | None:
    """A `pad` that nothing else reads, with its operand before the reshape that gave it axes of length 1."""
    e = made.get(x.number) if isinstance(x, Var) and x.number in alone else None
    if e is None or e.primitive.name != "pad":
        return None
    inner = e.inputs[0]
    shaped = made.get(inner.number) if isinstance(inner, Var) and inner.number in alone else None
    if shaped is not None and shaped.primitive.name == "reshape":
        gone = dropped(inner.shape, shaped.inputs[0].shape)
        if gone and all(inner.shape[a] == 1 for a in gone):
            return e, shaped.inputs[0], gone
    return e, inner, ()


def _buffer(e: Equation, made: dict[int, Equation], alone: set[int], found: dict[int, Any]) -> Buffer | None:
    for sum_so_far, term in (e.inputs, e.inputs[::-1]):
        part = _pad(term, made, alone)
        if part is None or sum_so_far.shape != e.outputs[0].shape or term.shape != sum_so_far.shape:
            continue
        before = found.get(sum_so_far.number) if isinstance(sum_so_far, Var) and sum_so_far.number in alone else None
        if isinstance(before, Buffer) and isinstance(before.parts, list):
            before.parts.append(part)  # nobody else reads it: a long sum is one list
            return Buffer(before.base, before.parts, e.outputs[0])
        first = _pad(sum_so_far, made, alone)
        if first is not None:
            return Buffer(None, [first, part], e.outputs[0])
    return None


def _needed(out: Sequence[Statement], kept: set[int]) -> list[Statement]:
    """Without what has become part of another statement."""
    wanted = set(kept)
    left = []
    for s in reversed(out):
        outs = outputs_of(s)
        if not outs or any(v.number in wanted for v in outs) or (isinstance(s, Equation) and stays(s)):
            wanted.update(v.number for v in variables(inputs_of(s)))
            left.append(s)
    return left[::-1]
