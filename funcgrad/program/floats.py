"""Loops of few numbers on Python's floats, which take a third of the time of NumPy's.

**Law:** the results of the loop by NumPy, bit for bit, and its warnings. Sums, differences, products and signs of Python floats have the
bits of float64's, and so have quotients and roots where Python does not raise. They are silent where NumPy warns; but then something is
not finite, and so is all that comes of it by sums and products, to the end of the loop. So the results are looked at, and where a
number ends without a trace (as a divisor, or in a carry that the next step does not read) it is looked at there. Whoever finds one that
is not finite, or is told by Python, gives up, and the loop runs by NumPy. It does so at once where the user wants to hear of underflow,
and for very few steps.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.program.codegen import Source
from funcgrad.program.numbers import atoms_of, in_numbers
from funcgrad.program.parts import Atom, Equation, Literal, Var, variables
from funcgrad.program.program import Program

FEW = 8
"""Steps; up to here, what is saved is less than what it takes."""

BLOCK = 256
"""Steps whose numbers are Python's at a time: each of them takes four times the memory that it takes in an array."""

SPELLED = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "negative": "-{}",
    "positive": "{}",
    "square": "{0} * {0}",
    "absolute": "abs({})",
    "sqrt": "sqrt({})",
}


class NotFiniteError(Exception):
    """What NumPy may have warned of."""


GIVEN_UP = (NotFiniteError, ZeroDivisionError, ValueError)
"""The last is what `math` raises outside of a domain."""

Run = Callable[..., tuple[Any, ...]]


def either(quick: Run, by_numpy: Callable[[], Run]) -> Run:
    """The quick loop of `(length, …)` where it is the same."""

    def program(length: int, *values: Any) -> tuple[Any, ...]:
        if length > FEW and np.geterr()["under"] == "ignore":
            try:
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
    k = consts + carry
    if numbers is None or not _is_spelled(numbers, body.outputs[:carry]):
        return None
    to = Source()
    to.space |= {"blocks": blocks, "check": check, "empty": np.empty, "array": np.array, "float64": np.float64, "sqrt": math.sqrt}
    to.space["NotFiniteError"] = NotFiniteError
    names = iter(to.named(numbers.inputs))
    given = [[next(names) for _ in range(math.prod(v.shape))] for v in body.inputs]
    columns = [f"xs{i}" for i in range(len(body.inputs) - k)]
    args = [f"x{i}" for i in range(k)]
    for arg, v, mine in zip(args, body.inputs, given, strict=False):
        to.add(f"{_targets(mine, v)} = {_listed(arg, v)}" if v.shape else f"{mine[0]} = float({arg})")
    still, moving = _still(numbers, sum(map(len, given[:consts])))
    _write(to, still)
    rows = body.outputs[carry:]
    for i, y in enumerate(rows):
        to.add(f"ys{i} = empty({('length', *y.shape)}, float64)".replace("'", ""))
    to.add(f"for at in blocks(length, {reverse}):")
    to.indent += 1
    cells = [f"ys{i}[{', '.join(['at', *map(str, index)])}]" for i, y in enumerate(rows) for index in np.ndindex(y.shape)]
    if cells:
        to.add("rows = []")
    to.add(_head(given[k:], body.inputs[k:], columns))
    to.indent += 1
    before = len(to.lines)
    _write(to, moving)
    outs = [_atom(to, x) for x in numbers.outputs]
    now = [name for mine in given[consts:k] for name in mine]
    for x in _ends(numbers, sum(map(len, given[:consts])), len(now)):
        _look(to, x)
    after, made = outs[: len(now)], outs[len(now) :]
    if cells:
        to.add(f"rows.append({made[0] if len(made) == 1 else '(' + ', '.join(made) + ')'})")
    changed = [(x, y) for x, y in zip(now, after, strict=True) if x != y]
    if changed:
        to.add(f"{', '.join([x for x, _ in changed])} = {', '.join([y for _, y in changed])}")
    if len(to.lines) == before:
        to.add("pass")
    to.indent -= 1
    if cells:
        to.add(f"{', '.join(cells)} = {'rows' if len(cells) == 1 else 'zip(*rows)'}")
    to.indent -= 1
    results = [f"ys{i}" for i in range(len(rows))]
    to.add(f"check({', '.join([*now, *results])})")
    ends = [_packed(mine, v) for mine, v in zip(given[consts:k], body.inputs[consts:k], strict=True)]
    to.add(f"return ({''.join([f'{x}, ' for x in [*ends, *results]])})")
    return to.compile(f"def program({', '.join(['length', *args, *columns])}):")


def _is_spelled(numbers: Program, carry: Sequence[Atom]) -> bool:
    """Whether Python can say it; and a carry has no order of axes."""
    literals = [x for x in atoms_of(numbers) if type(x) is Literal]
    known = all(e.primitive.name in SPELLED for e in numbers.equations) and all(math.isfinite(x.value) for x in literals)
    return known and all(len(x.shape) < 2 for x in carry)


def _ends(numbers: Program, start: int, n: int) -> list[Atom]:
    """What goes into a carry that the next step does not read."""
    read = {v.number for e in numbers.equations for v in variables(e.inputs)} | {v.number for v in variables(numbers.outputs)}
    pairs = zip(numbers.inputs[start : start + n], numbers.outputs, strict=False)
    return [x for v, x in pairs if v.number not in read and isinstance(x, Var)]


def _still(numbers: Program, consts: int) -> tuple[list[Equation], list[Equation]]:
    """The equations of the constants alone, and the others."""
    known = {v.number for v in numbers.inputs[:consts]}
    still, moving = [], []
    for e in numbers.equations:
        if all(v.number in known for v in variables(e.inputs)):
            known.update(v.number for v in e.outputs)
            still.append(e)
        else:
            moving.append(e)
    return still, moving


def _write(to: Source, equations: Sequence[Equation]) -> None:
    for e in equations:
        args = [_atom(to, x) for x in e.inputs]
        if e.primitive.name == "divide" and isinstance(e.inputs[1], Var):
            _look(to, e.inputs[1])
        to.add(f"{to.named(e.outputs)[0]} = {SPELLED[e.primitive.name].format(*args)}")


def _look(to: Source, x: Atom) -> None:
    """The difference from itself is nan of what is not finite, which is no zero."""
    to.add(f"if {_atom(to, x)} - {_atom(to, x)}: raise NotFiniteError")


def _atom(to: Source, x: Atom) -> str:
    """A number that no operator stands before: `-1.0` in brackets."""
    return to.names[x.number] if isinstance(x, Var) else f"({x.value.item()!r})" if np.signbit(x.value) else repr(x.value.item())


def _targets(names: Sequence[str], v: Var) -> str:
    return f"({', '.join(names)},)" if v.shape else names[0]


def _listed(array: str, v: Var, rows: bool = False) -> str:
    """The elements as Python numbers, in a list for each row."""
    flat = len(v.shape) > 1
    if rows:
        return f"{array}.reshape(-1, {math.prod(v.shape)}).tolist()" if flat else f"{array}.tolist()"
    return f"{array}.ravel().tolist()" if flat else f"{array}.tolist()"


def _head(given: Sequence[Sequence[str]], variables: Sequence[Var], columns: Sequence[str]) -> str:
    if not given:
        return "for t in range(length)[at]:"
    targets = ", ".join([_targets(mine, v) for mine, v in zip(given, variables, strict=True)])
    lists = ", ".join([_listed(f"{column}[at]", v, True) for column, v in zip(columns, variables, strict=True)])
    return f"for {targets} in {lists if len(given) == 1 else f'zip({lists})'}:"


def _packed(names: Sequence[str], v: Var) -> str:
    return f"array(({', '.join(names)},), float64)" if v.shape else f"float64({names[0]})"
