"""`scan`: a loop over the first axis of arrays, recorded once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import Borrows
from funcgrad.control.bodies import (
    agree,
    agreed,
    attempt,
    given_back,
    ground_of,
    grown,
    keep_type,
    operands_first,
    own,
    positive,
    repeats,
    tensors_among,
    values_of,
    warn_of_change,
)
from funcgrad.control.scan_call import ScanCall
from funcgrad.control.schedules import EVERYTHING, Every, Schedule
from funcgrad.core import Label, Traced, Value, dtype_of, shape_of
from funcgrad.ops.indexing import getitem
from funcgrad.ops.shaping import stack
from funcgrad.program.parts import Missed
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import describe, label_of
from funcgrad.transforms.calls import apply
from funcgrad.transforms.record import Recording


def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoint: int | Schedule | None = None,
) -> tuple[Any, Any]:
    """`carry, y = f(carry, x)` for each `x` along the first axis of `xs`; gives the last carry and the stacked ys.

    `f` is recorded at its first two steps and then runs as generated code; where it looks at values, raises, or does something else
    each time, it runs step by step. Traced values that it closes over are differentiated.

    Args:
        f: takes the carry and one `x`, gives the new carry, of the same structure, shapes and dtypes, and any pytree `y`.
        init: the first carry, any pytree of numbers.
        xs: a pytree of arrays with a common first axis; None for a loop of `length` steps.
        length: the number of steps; only needed without `xs`.
        reverse: take the steps, and give the ys, from the last to the first.
        unroll: how many steps stand in one turn of the generated loop. It changes no result.
        checkpoint: what reverse mode keeps: by default all that the steps' derivatives need; with a number, the carry every so many
            steps, and the steps between run again; with `fg.Binomial(snapshots)`, never more than so many carries.

    Raises:
        CarryError: the carry changes its shape or dtype, by its path.
        ArgumentError: lengths that differ.

    >>> import numpy as np
    >>> scan(lambda c, x: (c + x, c * x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 2., 9.]))
    """
    label = label_of("scan", f)
    loop = Loop(label, f, init, xs, length, reverse)
    keeps = schedule(label, checkpoint)
    recording = loop.recorded()
    if recording is not None:
        call = loop.call(recording, _turns(label, unroll, loop.length), keeps)
        try:
            return loop.finished(apply(call, [*recording.operands, *loop.carry, *loop.columns])[0], recording.out_def)
        except Missed:
            pass  # a gradient inside has met a nan
    return loop.by_steps()


def schedule(label: Label, checkpoint: Any) -> Schedule:
    if checkpoint is None or isinstance(checkpoint, Schedule):
        return checkpoint or EVERYTHING
    return Every(positive(label, "checkpoint", checkpoint, "number of steps, or `fg.Binomial(…)`"))


def _turns(label: Label, unroll: Any, length: int) -> int:
    if unroll is True:
        return max(1, length)
    return 1 if unroll is False else positive(label, "unroll", unroll, "number of steps, or a bool")


class Loop:
    """One call of `scan`: its flat operands, and the body as a function of flat values."""

    def __init__(self, label: Label, f: Any, init: Any, xs: Any, length: Any, reverse: bool) -> None:
        self.label, self.f, self.reverse = label, f, bool(reverse)
        leaves, self.carry_def = pytree.flatten(init)
        columns, self.xs_def = pytree.flatten(xs)
        self.tensors = tensors_among([*leaves, *columns])
        self.carry = values_of(label, "init", leaves, self.carry_def)
        self.columns = [np.asarray(x) if not isinstance(x, Traced) else x for x in values_of(label, "xs", columns, self.xs_def)]
        self.length = self._length(length)

    def _length(self, given: Any) -> int:
        sizes = {}
        for x, path in zip(self.columns, self.xs_def.paths, strict=True):
            if not shape_of(x):
                raise errors.ArgumentError(str(self.label), f"xs{path} is a single number, and has no axis to go along.")
            sizes[path] = shape_of(x)[0]
        if given is not None:
            try:
                given = operator.index(given)
            except TypeError:
                raise errors.ArgumentTypeError(str(self.label), f"length must be a whole number, got {describe(given)}.") from None
            if given < 0:
                raise errors.ArgumentError(str(self.label), f"length must not be negative, got {given}.")
        n = given if given is not None else next(iter(sizes.values()), None)
        if n is None:
            raise errors.ArgumentError(str(self.label), "without xs, it needs to know the number of steps. Pass length=…")
        for path, size in sizes.items():
            if size != n:
                first = next(iter(sizes))
                other = f"length={n}" if given is not None else f"xs{first} has {sizes[first]}"
                raise errors.ArgumentError(
                    str(self.label), f"the steps must be equally many: xs{path} has {size} along its first axis, {other}."
                )
        return n

    def step(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """The body, of the leaves of the carry and of x."""
        n = len(self.carry)
        out = self.f(self.carry_def.unflatten(values[:n]), self.xs_def.unflatten(values[n:]))
        if not isinstance(out, tuple) or len(out) != 2:
            rule, instead = "the function must return a pair (carry, y)", "Return (carry, None) where there is nothing to stack."
            raise errors.OutputError(str(self.label), rule, describe(out), instead)
        doors.check_tree(self.label, "new carry", "old one", pytree.structure(out[0]), self.carry_def)
        return out

    def row(self, x: Value, t: int) -> Value:
        """What the t-th step takes of an array."""
        t = self.length - 1 - t if self.reverse else t
        return x[t] if type(x) is np.ndarray else getitem(x, index=(t,))

    def rows(self, columns: Sequence[Value], t: int) -> list[Value]:
        if not self.length:
            return [np.zeros(shape_of(x)[1:], dtype_of(x))[()] for x in columns]
        return [self.row(x, min(t, self.length - 1)) for x in columns]

    def recorded(self) -> Recording | None:
        """The body's program, if the first two steps agree. The first carry gets the dtypes that it has from then on."""
        borrows = Borrows()
        try:
            return self._recorded(borrows)
        finally:
            borrows.release()

    def _recorded(self, borrows: Borrows) -> Recording | None:
        columns = ground_of(self.columns)
        n = len(self.carry)
        first = attempt(self.label, self.step, [*ground_of(self.carry), *self.rows(columns, 0)], borrows)
        if first is None:
            return None
        weak = [x for x in self.carry if type(x) in (int, float, complex, bool)]
        self.carry = [grown(x, y) for x, y in zip(self.carry, first.values, strict=False)]
        for x, y, path in zip(self.carry, first.values, self.carry_def.paths, strict=False):
            keep_type(self.label, "the carry", path, x, y)
        if (self.length < 2 and not weak) or agreed(self.f, first):
            return first
        second = attempt(self.label, self.step, [*first.values[:n], *self.rows(columns, 1)], borrows)
        if second is not None and weak and not repeats(first, second):
            first, second = second, attempt(self.label, self.step, [*second.values[:n], *self.rows(columns, 2)], borrows)
        if second is None:
            return None
        for x, y, path in zip(self.carry, second.values, self.carry_def.paths, strict=False):
            keep_type(self.label, "the carry", path, x, y)
        if not repeats(first, second):
            warn_of_change(self.label, first, second)
            return None
        agree(self.f, second)
        return second

    def call(self, recording: Recording, unroll: int, keeps: Schedule) -> ScanCall:
        body, consts = operands_first(recording), len(recording.operands)
        return ScanCall("scan", body, consts, len(self.carry), self.length, self.reverse, keeps, unroll)

    def finished(self, outs: Sequence[Value], out_def: pytree.TreeDef) -> tuple[Any, Any]:
        carry, ys = out_def.unflatten(given_back(outs, self.tensors))
        return carry, ys

    def by_steps(self) -> tuple[Any, Any]:
        """The plain loop."""
        carry, n = list(self.carry), len(self.carry)
        rows, out_def = [], None
        for t in range(self.length or 1):
            leaves, out_def = pytree.flatten(self.step([*carry, *self.rows(self.columns, t)]))
            values = list(map(own, leaves))
            if self.length:
                carry = [grown(x, y) for x, y in zip(carry, values, strict=False)]
                for x, y, path in zip(carry, values, self.carry_def.paths, strict=False):
                    keep_type(self.label, "the carry", path, x, y)
                carry = values[:n]
            rows.append(values[n:])
        assert out_def is not None
        return self.finished([*carry, *[self._stacked(column) for column in zip(*rows, strict=True)]], out_def)

    def _stacked(self, column: Sequence[Value]) -> Value:
        if not self.length:
            return np.zeros((0, *shape_of(column[0])), dtype_of(column[0]))
        parts = column[::-1] if self.reverse else column
        return stack(*parts, axis=-1 - len(shape_of(parts[0])))
