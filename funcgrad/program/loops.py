"""Loops as generated code: the body stands inside the loop, and what does not change from step to step before it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.program.codegen import Source
from funcgrad.program.floats import either, float_loop
from funcgrad.program.passes import simplified
from funcgrad.program.program import GUARD, Equation, Program, variables


@functools.lru_cache(512)
def scan_code(body: Program, consts: int, carry: int, reverse: bool, unroll: int = 1) -> Callable[..., tuple[Any, ...]]:
    """`(length, consts…, carry…, xs…) -> (carry…, ys…)`, with `body` of `(consts…, carry…, x…) -> (carry…, y…)`."""
    body = simplified(body)
    quick = float_loop(body, consts, carry, reverse)
    if quick is None:
        return scan_by_numpy(body, consts, carry, reverse, unroll)
    return either(quick, lambda: scan_by_numpy(body, consts, carry, reverse, unroll))


@functools.lru_cache(512)
def scan_by_numpy(body: Program, consts: int, carry: int, reverse: bool, unroll: int) -> Callable[..., tuple[Any, ...]]:
    """The same, with NumPy's numbers and arrays in the loop."""
    to = Source()
    to.space["empty"] = np.empty
    given = to.named(body.inputs)
    steps = body.inputs[consts + carry :]
    columns = [f"xs{k}" for k in range(len(steps))]
    still, moving = split(body, consts)
    to.write(still, [v for e in moving for v in variables(e.inputs)] + list(variables(body.outputs)))
    ys = body.outputs[carry:]
    for k, y in enumerate(ys):
        to.add(f"ys{k} = empty((length, {''.join(f'{n}, ' for n in y.shape)}), {to.constant(y.dtype)})")
    for head, steps_inside in _turns(reverse, unroll):
        to.add(head)
        to.indent += 1
        before = len(to.lines)
        for k in range(steps_inside):
            if k:
                to.add("t -= 1" if reverse else "t += 1")
            for v, column in zip(steps, columns, strict=True):
                to.add(f"{to.names[v.number]} = {column}[t]")
            to.write(moving, variables(body.outputs))
            for j, y in enumerate(ys):
                to.add(f"ys{j}[t] = {to.atom(y, True)}")
            carried(to, given[consts : consts + carry], body.outputs[:carry])
        if len(to.lines) == before:
            to.add("pass")
        to.indent -= 1
    results = [*given[consts : consts + carry], *[f"ys{k}" for k in range(len(ys))]]
    to.add(f"return ({''.join(f'{r}, ' for r in results)})")
    return to.compile(f"def program({', '.join(['length', *given[: consts + carry], *columns])}):")


def _turns(reverse: bool, unroll: int) -> list[tuple[str, int]]:
    """The heads of the loops over `t`, and how many steps stand inside: what `unroll` does not divide comes first, or last."""
    if unroll == 1:
        return [("for t in range(length - 1, -1, -1):" if reverse else "for t in range(length):", 1)]
    rest = f"length - length % {unroll}"
    if reverse:
        return [(f"for t in range(length - 1, {rest} - 1, -1):", 1), (f"for t in range({rest} - 1, -1, -{unroll}):", unroll)]
    return [(f"for t in range(0, {rest}, {unroll}):", unroll), (f"for t in range({rest}, length):", 1)]


@functools.lru_cache(512)
def while_code(cond: Program, body: Program, cond_consts: int, body_consts: int) -> Callable[..., tuple[Any, ...]]:
    """`(cond_consts…, body_consts…, carry…) -> (carry…, steps, [column]…)`; what `body` gives behind the carry is collected."""
    cond, body = simplified(cond), simplified(body)
    to = Source()
    given = to.named(body.inputs)
    carry = given[body_consts:]
    names = to.names
    to.names = {}
    fixed = to.named(cond.inputs[:cond_consts])
    to.names.update(zip([v.number for v in cond.inputs[cond_consts:]], carry, strict=True))
    still, asked = split(cond, cond_consts)
    to.write(still, [v for e in asked for v in variables(e.inputs)] + list(variables(cond.outputs)))
    cond_names, to.names = to.names, names
    still, moving = split(body, body_consts)
    to.write(still, [v for e in moving for v in variables(e.inputs)] + list(variables(body.outputs)))
    columns = [f"ys{k}" for k in range(len(body.outputs) - len(carry))]
    for column in columns:
        to.add(f"{column} = []")
    to.add("n = 0")
    to.add("while True:")
    to.indent += 1
    to.names = cond_names
    to.write(asked, variables(cond.outputs))
    to.add(f"if not {to.atom(cond.outputs[0], True)}: break")
    to.names = names
    to.write(moving, variables(body.outputs))
    for column, y in zip(columns, body.outputs[len(carry) :], strict=True):
        to.add(f"{column}.append({to.atom(y, True)})")
    carried(to, carry, body.outputs[: len(carry)])
    to.add("n += 1")
    to.indent -= 1
    to.add(f"return ({''.join(f'{r}, ' for r in [*carry, 'n', *columns])})")
    return to.compile(f"def program({', '.join([*fixed, *given])}):")


def split(program: Program, consts: int) -> tuple[list[Equation], list[Equation]]:
    """The equations of the first `consts` inputs alone, and the others. (Guards stay in the loop, where they are not met in vain.)"""
    known = {v.number for v in program.inputs[:consts]}
    still, moving = [], []
    for e in program.equations:
        if e.primitive is not GUARD and all(v.number in known for v in variables(e.inputs)):
            known.update(v.number for v in e.outputs)
            still.append(e)
        else:
            moving.append(e)
    return still, moving


def carried(to: Source, names: Sequence[str], outputs: Sequence[Any]) -> None:
    """The carry of the next step; what is handed on unchanged needs no line."""
    pairs = [(name, to.atom(x, True)) for name, x in zip(names, outputs, strict=True)]
    pairs = [(name, text) for name, text in pairs if name != text]
    if pairs:
        to.add(f"{', '.join([name for name, _ in pairs])} = {', '.join([text for _, text in pairs])}")
