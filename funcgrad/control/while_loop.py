"""`while_loop` and `fori_loop`: loops of unknown length, recorded once, with reverse mode."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows
from funcgrad.control.bodies import (
    attempt,
    given_back,
    ground_of,
    grown,
    keep_type,
    operands_first,
    own,
    repeats,
    tensors_among,
    values_of,
    warn_of_change,
)
from funcgrad.control.scan import scan, schedule
from funcgrad.control.schedules import Schedule
from funcgrad.control.while_call import WhileCall
from funcgrad.core import Label, Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import bare
from funcgrad.program.parts import Missed
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import describe, label_of
from funcgrad.transforms.calls import apply
from funcgrad.transforms.record import Recording


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, *, checkpoint: int | Schedule | None = None
) -> Any:
    """`val = body_fun(val)` for as long as `cond_fun(val)` holds; gives the last `val`.

    Both functions are recorded once and run as generated code. Reverse mode works: it remembers what the steps' derivatives need.
    Under `vmap` the lanes that are finished keep their values.

    Args:
        cond_fun: takes the value, gives one bool.
        body_fun: takes the value and gives the next, of the same structure, shapes and dtypes.
        init_val: any pytree of numbers.
        checkpoint: what reverse mode keeps, as in `scan`.

    Raises:
        CarryError: the value changes its shape or dtype, by its path.

    >>> while_loop(lambda x: x < 100.0, lambda x: x * 2.0, 3.0)
    np.float64(192.0)
    """
    label = label_of("while_loop", body_fun)
    loop = Loop(label, cond_fun, body_fun, init_val)
    keeps = schedule(label, checkpoint)
    programs = loop.recorded()
    if programs is not None:
        asked, step = programs
        call = WhileCall("while_loop", operands_first(asked), operands_first(step), len(asked.operands), len(step.operands), keeps=keeps)
        try:
            return loop.finished(apply(call, [*asked.operands, *step.operands, *loop.carry])[0])
        except Missed:
            pass  # a gradient inside has met a nan
    return loop.by_steps()


class Loop:
    """One call of `while_loop`: its flat operands, and its functions as functions of flat values."""

    def __init__(self, label: Label, cond_fun: Any, body_fun: Any, init: Any) -> None:
        self.label, self.cond_fun, self.body_fun = label, cond_fun, body_fun
        leaves, self.treedef = pytree.flatten(init)
        self.tensors = tensors_among(leaves)
        self.carry = values_of(label, "init_val", leaves, self.treedef)

    def asked(self, values: Sequence[Any]) -> Any:
        """Whether to go on."""
        out = bare(self.cond_fun(self.treedef.unflatten(values)))
        if not isinstance(out, (Traced, np.generic, np.ndarray, bool, int, float)) or shape_of(out):
            rule, instead = "cond_fun must return one bool", "Use `np.all` or `np.any`."
            raise errors.OutputError(str(self.label), rule, describe(out), instead)
        return out if dtype_of(out).kind == "b" else out != 0

    def step(self, values: Sequence[Any]) -> Any:
        out = self.body_fun(self.treedef.unflatten(values))
        doors.check_tree(self.label, "new value", "old one", pytree.structure(out), self.treedef)
        return out

    def recorded(self) -> tuple[Recording, Recording] | None:
        """The programs of the condition and the body. The first carry gets the dtypes that it has from then on."""
        borrows = Borrows()
        try:
            return self._recorded(borrows)
        finally:
            borrows.release()

    def _recorded(self, borrows: Borrows) -> tuple[Recording, Recording] | None:
        examples = ground_of(self.carry)
        first = attempt(self.label, self.step, examples, borrows)
        if first is None:
            return None
        weak = any(type(x) in (int, float, complex, bool) for x in self.carry)
        self.carry = [grown(x, y) for x, y in zip(self.carry, first.values, strict=True)]
        self.check(self.carry, first.values)
        second = attempt(self.label, self.step, first.values, borrows)
        if second is not None and weak and not repeats(first, second):
            first, second = second, attempt(self.label, self.step, second.values, borrows)
        asked = attempt(self.label, self.asked, first.values, borrows)
        if second is None or asked is None:
            return None
        self.check(self.carry, second.values)
        if not repeats(first, second):
            warn_of_change(self.label, first, second)
            return None
        return asked, second

    def check(self, before: Sequence[Value], after: Sequence[Value]) -> None:
        for x, y, path in zip(before, after, self.treedef.paths, strict=True):
            keep_type(self.label, "the value", path, x, y)

    def finished(self, outs: Sequence[Value]) -> Any:
        return self.treedef.unflatten(given_back(outs, self.tensors))

    def by_steps(self) -> Any:
        """The plain loop."""
        carry = list(map(own, self.carry))
        while self.asked(carry):
            new = list(map(own, pytree.leaves(self.step(carry))))
            carry = [grown(x, y) for x, y in zip(carry, new, strict=True)]
            self.check(carry, new)
            carry = new
        return self.finished(carry)


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool = 1,
    checkpoint: int | Schedule | None = None,
) -> Any:
    """`val = body_fun(i, val)` for i from `lower` to `upper - 1`; gives the last `val`. Reverse mode works, also where a bound is traced.

    Args:
        lower: the first i, a whole number.
        upper: one more than the last i.
        body_fun: takes i and the value, gives the next value, of the same structure, shapes and dtypes.
        init_val: any pytree of numbers.
        unroll: how many steps stand in one turn of the generated loop, where the bounds are known. It changes no result.
        checkpoint: what reverse mode keeps, as in `scan`.

    >>> fori_loop(0, 5, lambda i, x: x * 2.0 + i, 1.0)
    np.float64(58.0)
    """
    label = label_of("fori_loop", body_fun)
    bounds = [_bound(label, name, x) for name, x in (("lower", lower), ("upper", upper))]
    if any(isinstance(x, Traced) for x in bounds):
        start, stop = bounds
        found = while_loop(
            lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1], body_fun(c[0], c[2])), (start, stop, init_val), checkpoint=checkpoint
        )
        return found[2]
    return scan(lambda c, i: (body_fun(i, c), None), init_val, np.arange(bounds[0], max(bounds)), unroll=unroll, checkpoint=checkpoint)[0]


def _bound(label: Label, name: str, x: Any) -> Any:
    x = bare(x)
    if isinstance(x, Traced) and x._dtype.kind in "iu" and not x._shape:
        return x
    try:
        return operator.index(x)
    except TypeError:
        raise errors.ArgumentTypeError(str(label), f"{name} must be a whole number, got {describe(x)}.") from None
