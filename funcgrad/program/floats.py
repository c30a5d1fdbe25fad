"""Loops of few numbers on Python's floats, which take a third of the time of NumPy's.

**Law:** the results of the loop by NumPy, bit for bit, and its warnings. Sums, differences, products and signs of Python floats have the
bits of float64's, and so have quotients and roots where Python does not raise; functions are NumPy's own. Python is silent where NumPy
warns; but then something is not finite, and so is all that comes of it by sums and products, to the end of the loop. So the results are
looked at, and where a number may end without a trace (as a divisor, in a comparison, in a carry that the next step does not read) it is
looked at there. Whoever finds one that is not finite, or is told by Python or NumPy, gives up, and the loop runs by NumPy. It does so at
once where the user wants to hear of underflow, and for very few steps.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.program.codegen import Source
from funcgrad.program.numbers import atoms_of, idle_inputs, in_numbers
from funcgrad.program.parts import Atom, Equation, Literal, Var, variables
from funcgrad.program.program import Program

FEW = 8
"""Steps; up to here, what is saved is less than what it takes."""

LARGEST = 2**63 - 1

BLOCK = 256
"""Steps whose numbers are Python's at a time: each of them takes four times the memory that it takes in an array."""

FLOATS = {
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
"""Of floats, and not finite where one of them is not (or as a divisor)."""

QUESTIONS = {
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "greater": "{} > {}",
    "greater_equal": "{} >= {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
}
"""Of numbers of one kind."""

OTHERS = {
    "where bff>f": "{1} if {0} else {2}",
    "logical_and bb>b": "{} and {}",
    "logical_or bb>b": "{} or {}",
    "logical_not b>b": "not {}",
    "astype b>f": "float({})",
    "astype i>f": "float({})",
    "astype f>f": "{}",
    "add ii>i": "{} + {}",
    "subtract ii>i": "{} - {}",
    "multiply ii>i": "{} * {}",
}
"""By the kinds of the operands and of the result."""

PYTHON = {"f": "float", "i": "int", "b": "bool"}
NUMPY = {"f": "float64", "i": "int64", "b": "bool_"}


class NotFiniteError(Exception):
    """What NumPy may have warned of."""


GIVEN_UP = (NotFiniteError, ArithmeticError, ValueError)
"""The last is what `math` raises outside of a domain."""

Run = Callable[..., tuple[Any, ...]]


def either(quick: Run, by_numpy: Callable[[], Run]) -> Run:
    """The quick loop of `(length, …)` where it is the same."""

    def program(length: int, *values: Any) -> tuple[Any, ...]:
        if length > FEW and np.geterr()["under"] == "ignore":
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
    k = consts + carry
    if numbers is None or not _is_spelled(numbers, body.outputs[:carry]):
        return None
    to = Source()
    to.space |= {"blocks": blocks, "check": check, "empty": np.empty, "array": np.array, "sqrt": math.sqrt}
    to.space |= {"NotFiniteError": NotFiniteError, "float64": np.float64, "int64": np.int64, "bool_": np.bool_}
    names = iter(to.named(numbers.inputs))
    idle = idle_inputs(body)
    given = [[] if v in idle else [next(names) for _ in range(math.prod(v.shape))] for v in body.inputs]
    columns = [f"xs{i}" for i in range(len(body.inputs) - k)]
    args = [f"x{i}" for i in range(k)]
    for arg, v, mine in zip(args, body.inputs, given, strict=False):
        if mine:
            to.add(f"{_targets(mine, v)} = {_listed(arg, v)}" if v.shape else f"{mine[0]} = {_python(v)}({arg})")
    still, moving = _still(numbers, sum(map(len, given[:consts])))
    _write(to, still)
    rows = body.outputs[carry:]
    for i, y in enumerate(rows):
        to.add(f"ys{i} = empty((length, {''.join([f'{n}, ' for n in y.shape])}), {to.constant(y.dtype)})")
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
    """Whether Python says most of it; and a carry has no order of axes."""
    finite = all(math.isfinite(x.value) for x in atoms_of(numbers) if type(x) is Literal)
    called = sum([spelling(e) is None for e in numbers.equations])
    return finite and 2 * called <= len(numbers.equations) and all(len(x.shape) < 2 for x in carry)


def spelling(e: Equation) -> str | None:
    """As an expression of Python's; None where NumPy is called."""
    name, kinds = e.primitive.name, "".join([x.dtype.kind for x in e.inputs])
    if name in QUESTIONS and len(set(kinds)) == 1:
        return QUESTIONS[name]
    other = OTHERS.get(f"{name} {kinds}>{e.outputs[0].dtype.kind}")
    return FLOATS[name] if name in FLOATS and set(kinds) == {"f"} else other


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
        for x in _ending(e):
            _look(to, x)
        text = spelling(e)
        made = _called(to, e) if text is None else text.format(*[_atom(to, x) for x in e.inputs])
        (name,) = to.named(e.outputs)
        to.add(f"{name} = {made}")
        if text is not None and e.outputs[0].dtype.kind == "i":
            to.add(f"if not {-LARGEST} <= {name} <= {LARGEST}: raise NotFiniteError")


def _ending(e: Equation) -> set[Var]:
    """The numbers that may leave no trace in the result."""
    name = e.primitive.name
    at_risk = e.inputs[1:] if name == "divide" else () if name in FLOATS else e.inputs
    return {x for x in variables(at_risk) if x.dtype.kind == "f"}


def _called(to: Source, e: Equation) -> str:
    """NumPy's function of its own numbers; ufuncs take Python's as well."""
    names = to.names
    if not isinstance(e.primitive.impl, np.ufunc):
        to.names = names | {v.number: f"{_numpy(v)}({names[v.number]})" for v in variables(e.inputs)}
    text = f"{_python(e.outputs[0])}({to.expression(e)})"
    to.names = names
    return text


def _python(v: Var) -> str:
    return PYTHON[v.dtype.kind]


def _numpy(v: Var) -> str:
    return NUMPY[v.dtype.kind]


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
    rows = [(mine, v, f"{column}[at]") for mine, v, column in zip(given, variables, columns, strict=True) if mine]
    if not rows:
        return "for t in range(length)[at]:"
    targets = ", ".join([_targets(mine, v) for mine, v, _ in rows])
    lists = ", ".join([_listed(column, v, True) for _, v, column in rows])
    return f"for {targets} in {lists if len(rows) == 1 else f'zip({lists})'}:"


def _packed(names: Sequence[str], v: Var) -> str:
    return f"array(({', '.join(names)},), {_numpy(v)})" if v.shape else f"{_numpy(v)}({names[0]})"
