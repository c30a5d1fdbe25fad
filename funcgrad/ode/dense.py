"""States between the ends of steps, by the method's continuous extension."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs
import numpy as np

from funcgrad import errors
from funcgrad.core import Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array, bare
from funcgrad.ode.state import Form
from funcgrad.ode.stepping import Step
from funcgrad.ode.tableau import DENSE
from funcgrad.ops.shaping import cast, reshape
from funcgrad.tensor import tensor


def sampled(steps: Iterable[Step], times: list[float]) -> Iterator[Value]:
    """The states at all times but the first, along a first axis; those of one step together."""
    way = 1.0 if times[-1] >= times[0] else -1.0
    keys = [way * t for t in times]
    at = 1
    for step in steps:
        upto = bisect_right(keys, way * step.stop, at)
        if upto > at:
            yield _within(step, (np.array(times[at:upto]) - step.start) / step.h)
            at = upto


def _within(step: Step, theta: Value) -> Value:
    """The states at the parts θ of a step."""
    weights = theta[:, None] ** np.arange(1, 5) @ (step.h * DENSE.T)
    return step.y + np.tensordot(cast(weights, _real(step.y)), np.stack(step.slopes), 1)


def _real(x: Value) -> np.dtype[Any]:
    """The dtype of numbers that scale `x`."""
    return np.zeros(0, dtype_of(x)).real.dtype


@attrs.frozen(eq=False)
class Solution:
    """The solution of a differential equation at every time of a range, as `solve` gives it. A pytree.

    Between the ends of the steps it is a polynomial of degree 4, and it has one derivative everywhere.

    >>> from funcgrad.ode import solve
    >>> y = solve(lambda y, t: [y[1], -y[0]], np.array([0.0, 1.0]), 0.0, 3.0)
    >>> y(np.pi / 2).round(6) + 0.0
    array([1., 0.])
    """

    _starts: Value
    _lengths: Value
    _coefficients: list[Value]
    """Of the powers of θ, from 0 to 4; the first axis is that of the steps."""
    _form: Form = attrs.field(metadata={"pytree": False})
    _label: str = attrs.field(metadata={"pytree": False})
    t0: float = attrs.field(metadata={"pytree": False})
    t1: float = attrs.field(metadata={"pytree": False})

    def __call__(self, t: Any) -> Any:
        """The state at a time, or at an array of times: the axes of `t` come first in each leaf.

        Raises:
            ArgumentError: a time is outside of the range.
        """
        t = array(t)
        low, high = sorted((self.t0, self.t1))
        if np.any((t < low) | (t > high)):
            raise errors.ArgumentError(self._label, f"the solution reaches from t = {self.t0!r} to {self.t1!r}, and t is outside of it.")
        late = (reshape(t, shape=(*shape_of(t), 1)) - self._starts[1:]) / self._lengths[1:] >= 0
        at = np.sum(late, -1)
        part = (t - _picked(self._starts, at)) / _picked(self._lengths, at)
        a, b, c, d, e = [_picked(x, at) for x in self._coefficients]
        theta = cast(reshape(part, shape=shape_of(t) + (1,) * (len(shape_of(a)) - len(shape_of(t)))), self._form.real)
        return self._form.series(a + theta * (b + theta * (c + theta * (d + theta * e))))

    def __repr__(self) -> str:
        return f"<Solution of {self._label} from t = {self.t0!r} to {self.t1!r}>"


def _picked(x: Value, at: Value) -> Value:
    """The elements along the first axis; lanes of `vmap` may differ in which."""
    return bare(tensor(x)[at]) if isinstance(at, Traced) else x[at]


def solution(label: str, form: Form, steps: list[Step], moment: Callable[[float], Value]) -> Solution:
    """The solution that has these steps."""
    states, slopes = np.stack([s.y for s in steps]), np.stack([k for s in steps for k in s.slopes])
    lengths = np.array([s.h for s in steps])
    rows = reshape(slopes, shape=(len(steps), 7, *shape_of(states)[1:]))
    columns = np.moveaxis(np.tensordot(cast(DENSE, form.real), rows, (0, 1)), 1, -1) * cast(lengths, form.real)
    coefficients = [states, *[np.moveaxis(columns[k], -1, 0) for k in range(4)]]
    starts = np.stack([moment(s.start) for s in steps])
    return Solution(starts, lengths, coefficients, form, label, steps[0].start, steps[-1].stop)
