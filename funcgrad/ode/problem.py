"""What is integrated: the function, its arguments, the times and the form of the state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from funcgrad import errors
from funcgrad.core import Value, shape_of
from funcgrad.numpy.bridge import array
from funcgrad.ode.dense import sampled
from funcgrad.ode.state import Form, formed
from funcgrad.ode.stepping import Control, Pace, Step, controlled, march
from funcgrad.ops.shaping import cast, reshape
from funcgrad.transforms.arguments import describe, kind_of
from funcgrad.transforms.doors import is_traced
from funcgrad.transforms.maps import stop_gradient


@attrs.frozen(eq=False)
class Problem:
    """y' = func(y, t, *args). `times` are the plain numbers in `t`, which may be traced."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    form: Form
    control: Control
    times: list[float]
    t: Value

    def moment(self, s: float) -> Value:
        """A time as what is differentiated: the step lengths before it are constant, but not where the first one starts."""
        return self.t[0] + (s - self.times[0]) if is_traced(self.t) else s

    def slope(self, y: Value, time: Value) -> Value:
        return self.form.slope_of(self.control.label, self.func(self.form.tree(y), time, *self.args))

    def steps(self, y: Value, pace: Pace | None = None) -> Iterator[Step]:
        slope = self.slope if not is_traced(self.t) else lambda y, s: self.slope(y, self.moment(s))
        return march(slope, y, self.times[0], self.times[-1], self.control, pace or Pace())

    def solved(self, y: Value, pace: Pace | None = None) -> Value:
        """The states at all times, along a first axis. Their derivative is that of these numbers, with the step lengths held."""
        first = reshape(y, shape=(1, *shape_of(y)))
        rest = sampled(self.steps(y, pace), self.times) if self.times[0] != self.times[-1] else [first] * (len(self.times) - 1)
        ys = np.concatenate([first, *rest])
        if not is_traced(self.t):
            return ys
        return np.stack([y, *[self.moved(ys[k], k) for k in range(1, len(self.times))]])

    def moved(self, y: Value, k: int) -> Value:
        """The state `y` at the k-th time, as a function of that time: after a step of Kutta's method whose length is zero.

        An interpolant has the slope as well, but its second derivative has few digits.
        """
        s = self.times[k]
        length = (self.t[k] - self.t[0]) - (s - self.times[0])
        h, time = cast(length, self.form.real), self.moment(s)
        k1 = self.slope(y, time)
        k2 = self.slope(y + h / 2 * k1, time + length / 2)
        k3 = self.slope(y + h / 2 * k2, time + length / 2)
        k4 = self.slope(y + h * k3, time + length)
        return y + h / 6 * (k1 + 2 * (k2 + k3) + k4)


def posed(label: str, func: Any, y0: Any, t: Any, args: tuple[Any, ...], **limits: Any) -> tuple[Problem, Value]:
    """The problem and the state it starts from."""
    if not callable(func):
        what = f"expected a function of the state and the time, got {describe(func)}. Write `odeint(func, y0, t)`."
        raise errors.ArgumentTypeError(label, what)
    for what, x in limits.items():
        if kind_of(x) not in ("f", "i") or is_traced(x):
            raise errors.ArgumentError(label, f"{what} must be a number, got {describe(x)}.")
        if not (x >= 0 if what == "rtol" else x > 0):
            raise errors.ArgumentError(label, f"{what} must {'not be negative' if what == 'rtol' else 'be positive'}, got {x!r}.")
    form, y = formed(label, y0, (t, args))
    values, times = _times(label, t)
    return Problem(func, args, form, controlled(label, y, **limits), times, values), y


def _times(label: str, t: Any) -> tuple[Value, list[float]]:
    """The times, as they are and as numbers. In lanes that have times of their own, each goes its own way."""
    values = array(t)
    if kind_of(values) not in ("f", "i", "u") or len(shape_of(values)) != 1 or not shape_of(values)[0]:
        raise errors.ArgumentError(label, f"t must be a vector of times, the first of which is that of y0, got {describe(values)}.")
    values = cast(values, np.dtype(float))
    still = stop_gradient(values)
    times = [float(still[k]) for k in range(shape_of(values)[0])]
    values = values if is_traced(values) else values.copy()
    for k, x in enumerate(times):
        if not math.isfinite(x):
            raise errors.ArgumentError(label, f"t[{k}] is {x}. All times must be finite.")
    way = math.copysign(1.0, times[-1] - times[0])
    for k in range(1, len(times)):
        if way * times[k] < way * times[k - 1]:
            what = f"t[{k - 1}] = {times[k - 1]} and t[{k}] = {times[k]}, but t[0] = {times[0]} and t[-1] = {times[-1]}"
            raise errors.ArgumentError(label, f"{what}. All times must increase, or all decrease: sort them.")
    return values, times
