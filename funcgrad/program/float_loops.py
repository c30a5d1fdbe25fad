"""Loops of few numbers on Python's floats (see `floats` for the law).

What is not finite stays so from step to step, by sums and products, to the end of the loop: so the last carry and the ys are looked at;
and, at each step, what goes into a carry that the next step does not read. Where the loop gives up, it runs by NumPy; at once, where the
user wants to hear of underflow, and for few operations.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.program.codegen import Source
from funcgrad.program.floats import GIVEN_UP, SPACE, NotFiniteError, is_spelled, look, numpy_type, python_type, spelled, write
from funcgrad.program.hoisting import split
from funcgrad.program.numbers import idle_inputs, in_numbers
from funcgrad.program.parts import Atom, Var, variables
from funcgrad.program.program import Program

FEW = 128
"""Operations in all steps; up to here, what is saved is less than what it takes."""

BLOCK = 256
"""Steps whose numbers are Python's at a time: each of them takes four times the memory that it takes in an array."""

Run = Callable[..., tuple[Any, ...]]


def either(quick: Run, by_numpy: Callable[[], Run], operations: int) -> Run:
    """The quick loop of `(length, …)`, where it is the same, and quicker with so many operations in a step."""
    few = FEW // max(operations, 1)

    def program(length: int, *values: Any) -> tuple[Any, ...]:
        if length > few and np.geterr()["under"] == "ignore":
            try:
                with np.errstate(all="raise", under="ignore"):
                    return quick(length, *values)
            except GIVEN_UP:
                pass
        return by_numpy()(length, *values)

    return program


def blocks(length: int, reverse: bool) -> list[slice]:
    """The steps, a few at a time, in the order in which they are taken."""
    if not reverse:
        return [slice(lo, min(lo + BLOCK, length)) for lo in range(0, length, BLOCK)]
    return [slice(hi - 1, hi - BLOCK - 1 if hi > BLOCK else None, -1) for hi in range(length, 0, -BLOCK)]


def check(*values: Any) -> None:
    if not all(np.isfinite(x).all() if type(x) is np.ndarray else math.isfinite(x) for x in values):
        raise NotFiniteError


@functools.lru_cache(512)
def float_loop(body: Program, consts: int, carry: int, reverse: bool) -> Run | None:
    """`(length, consts…, carry…, xs…) -> (carry…, ys…)`, as `scan_code` has it; None where the body has no program of numbers."""
    numbers = in_numbers(body)
    has_order = any(len(x.shape) > 1 for x in body.outputs[:carry])  # of axes, which numbers forget
    return None if numbers is None or has_order or not is_spelled(numbers) else Loop(body, numbers, consts, carry).code(reverse)


class Loop:
    """A loop that is being written: the names of its operands, and of the numbers in each."""

    def __init__(self, body: Program, numbers: Program, consts: int, carry: int) -> None:
        self.to = to = Source()
        to.space |= SPACE | {"blocks": blocks, "check": check, "empty": np.empty, "array": np.array}
        self.body, self.numbers = body, numbers
        idle, names = idle_inputs(body), iter(to.named(numbers.inputs))
        given = [(v, [] if v in idle else [next(names) for _ in range(math.prod(v.shape))]) for v in body.inputs]
        k = consts + carry
        self.fixed, self.carry, self.rows = given[:consts], given[consts:k], given[k:]
        self.now = [name for _, mine in self.carry for name in mine]
        self.start = sum([len(mine) for _, mine in self.fixed])
        self.ys = body.outputs[carry:]

    def code(self, reverse: bool) -> Run:
        to = self.to
        args = [f"x{i}" for i in range(len(self.fixed) + len(self.carry))]
        columns = [f"xs{i}" for i in range(len(self.rows))]
        for arg, (v, mine) in zip(args, [*self.fixed, *self.carry], strict=True):
            if mine:
                to.add(f"{_targets(mine, v)} = {_listed(arg, v)}" if v.shape else f"{mine[0]} = {python_type(v)}({arg})")
        still, moving = split(self.numbers, self.start)
        write(to, still)
        results = [f"ys{i}" for i in range(len(self.ys))]
        for name, y in zip(results, self.ys, strict=True):
            to.add(f"{name} = empty((length, {''.join([f'{n}, ' for n in y.shape])}), {to.constant(y.dtype)})")
        to.add(f"for at in blocks(length, {reverse}):")
        to.indent += 1
        self.block(moving, columns)
        to.indent -= 1
        to.add(f"check({', '.join([*self.now, *results])})")
        to.add(f"return ({''.join([f'{x}, ' for x in [*[_packed(mine, v) for v, mine in self.carry], *results]])})")
        return to.compile(f"def program({', '.join(['length', *args, *columns])}):")

    def block(self, moving: Sequence[Any], columns: Sequence[str]) -> None:
        """A few steps, whose ys go into the arrays at once."""
        to = self.to
        cells = [f"ys{i}[{', '.join(['at', *map(str, index)])}]" for i, y in enumerate(self.ys) for index in np.ndindex(y.shape)]
        if cells:
            to.add("rows = []")
        to.add(_head([(v, mine, f"{column}[at]") for column, (v, mine) in zip(columns, self.rows, strict=True) if mine]))
        to.indent += 1
        before = len(to.lines)
        self.step(moving)
        if len(to.lines) == before:
            to.add("pass")
        to.indent -= 1
        if cells:
            to.add(f"{', '.join(cells)} = {'rows' if len(cells) == 1 else 'zip(*rows)'}")

    def step(self, moving: Sequence[Any]) -> None:
        to, n = self.to, len(self.now)
        write(to, moving)
        for x in self.ends():
            look(to, x)
        outs = [spelled(to, x) for x in self.numbers.outputs]
        if outs[n:]:
            to.add(f"rows.append({outs[n] if len(outs) == n + 1 else '(' + ', '.join(outs[n:]) + ')'})")
        changed = [(x, y) for x, y in zip(self.now, outs, strict=False) if x != y]
        if changed:
            to.add(f"{', '.join([x for x, _ in changed])} = {', '.join([y for _, y in changed])}")

    def ends(self) -> list[Atom]:
        """What goes into a carry that the next step does not read."""
        numbers, start = self.numbers, self.start
        read = {v.number for e in numbers.equations for v in variables(e.inputs)} | {v.number for v in variables(numbers.outputs)}
        pairs = zip(numbers.inputs[start : start + len(self.now)], numbers.outputs, strict=False)
        return [x for v, x in pairs if v.number not in read and isinstance(x, Var)]


def _targets(names: Sequence[str], v: Var) -> str:
    return f"({', '.join(names)},)" if v.shape else names[0]


def _listed(array: str, v: Var, rows: bool = False) -> str:
    """The elements as Python numbers, in a list for each row."""
    flat = len(v.shape) > 1
    if rows:
        return f"{array}.reshape(-1, {math.prod(v.shape)}).tolist()" if flat else f"{array}.tolist()"
    return f"{array}.ravel().tolist()" if flat else f"{array}.tolist()"


def _head(rows: Sequence[tuple[Var, Sequence[str], str]]) -> str:
    if not rows:
        return "for t in range(length)[at]:"
    targets = ", ".join([_targets(mine, v) for v, mine, _ in rows])
    lists = ", ".join([_listed(column, v, True) for v, _, column in rows])
    return f"for {targets} in {lists if len(rows) == 1 else f'zip({lists})'}:"


def _packed(names: Sequence[str], v: Var) -> str:
    return f"array(({', '.join(names)},), {numpy_type(v)})" if v.shape else f"{numpy_type(v)}({names[0]})"
