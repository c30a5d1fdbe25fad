"""The steps of the method, each as long as the tolerances allow.

Step lengths are plain numbers, chosen from values alone: a derivative takes them as constant. Lanes of `vmap` take the same steps,
which are short enough for each of them.
Source: Hairer, Nørsett and Wanner (1993), Solving Ordinary Differential Equations I, section II.4, and their program dopri5.f.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import attrs
import numpy as np

from funcgrad import errors
from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.ode.tableau import ERROR, A, C
from funcgrad.ops.combining import combination, misfit
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.batching import batches, together

batches(together, "combination misfit")

Slope = Callable[[Value, float], Value]
"""The derivative of the state by time, at a state and a time."""

SAFETY, SHORTEST, LONGEST = 0.9, 0.2, 10.0
"""A step's length is between these two times that of the step before."""

MEMORY = 0.04
"""How much the error of the step before counts (β of the PI controller)."""


@attrs.frozen
class Control:
    """What steps must keep to; errors begin with the label."""

    label: str
    rtol: float
    atol: float
    mxstep: float
    hmax: float

    def size(self, x: Value, y: Value, parts: list[Value], weights: tuple[float, ...]) -> float:
        """Σ wᵢ partsᵢ in units of what is allowed beside `x` and `y`: at most 1 is good. Of several lanes, the largest."""
        found = misfit(x, y, *parts, weights=weights, rtol=self.rtol, atol=self.atol, rank=len(shape_of(x)))
        while isinstance(found, BatchTracer):
            found = found._main.value_of(found)
        return float(found) if type(found) is np.float64 else float(np.max(found, initial=0.0))

    def stuck(self, t: float, steps: int, why: str) -> errors.IntegrationError:
        return errors.IntegrationError(self.label, t, steps, why)


@attrs.frozen(eq=False)
class Step:
    """From the state `y` at `start` to the state `out` at `stop`; `slopes` are those of all stages."""

    start: float
    stop: float
    h: float
    y: Value
    out: Value
    slopes: list[Value]


@attrs.define
class Pace:
    """The length for the next step; 0 where none was taken yet."""

    length: float = 0.0


def controlled(label: str, y: Value, rtol: float, atol: float, mxstep: float, hmax: float) -> Control:
    """With a relative tolerance that the precision of `y` can reach."""
    return Control(label, max(float(rtol), 10 * float(np.finfo(dtype_of(y)).eps)), float(atol), mxstep, float(hmax))


def march(f: Slope, y: Value, start: float, end: float, control: Control, pace: Pace) -> Iterator[Step]:
    """The steps from `start` to `end`, which the last one meets exactly; `pace` is of the steps before, and gets that of these."""
    way = 1.0 if end >= start else -1.0
    t, k, before, tried, was_rejected = start, f(y, start), 1e-4, 0, False
    h = pace.length or first_length(f, y, k, start, end, control)
    while t != end:
        left = abs(end - t)
        if 1.01 * h >= left:
            pace.length, h = h, left
        if tried >= control.mxstep:
            raise control.stuck(t, tried, f"The end is t = {end!r}: allow more than mxstep={control.mxstep} steps, or larger tolerances.")
        if h < 10 * math.ulp(t) and h != left:
            raise control.stuck(t, tried, "No step is short enough: there is a pole, a nan, or tolerances that ask too much.")
        tried += 1
        out, slopes = stages(f, y, k, t, way * h)
        error = control.size(y, out, slopes, tuple([h * w for w in ERROR]))
        if error <= 1:
            arrived = end if h == left else t + way * h
            yield Step(t, arrived, way * h, y, out, slopes)
            t, y, k = arrived, out, slopes[-1]
            factor = SAFETY / max(error, 1e-10) ** (0.2 - 0.75 * MEMORY) * before**MEMORY
            h *= min(max(factor, SHORTEST), 1.0 if was_rejected else LONGEST)
            h, before, was_rejected = min(h, control.hmax), max(error, 1e-4), False
            pace.length = max(pace.length, h) if t == end else h
        else:
            h *= max(SAFETY / error ** (0.2 - 0.75 * MEMORY), SHORTEST) if math.isfinite(error) else SHORTEST
            was_rejected = True


def stages(f: Slope, y: Value, k: Value, t: float, h: float) -> tuple[Value, list[Value]]:
    """The state after `h`, and the slopes of all stages; the first is `k`."""
    slopes = [k]
    for c, row in zip(C, A, strict=True):
        y_now = combination(y, *slopes, weights=(1.0, *[h * a for a in row]))
        slopes.append(f(y_now, t + c * h))
    return y_now, slopes


def first_length(f: Slope, y: Value, k: Value, start: float, end: float, control: Control) -> float:
    """One that makes an explicit step of Euler change little, and with which the second derivative counts little."""
    span = abs(end - start)
    large, slope = control.size(y, y, [y], (1.0,)), control.size(y, y, [k], (1.0,))
    if not (math.isfinite(large) and math.isfinite(slope)):
        raise control.stuck(start, 0, "y0, or its derivative there, is nan or infinite.")
    h0 = min(1e-6 if min(large, slope) < 1e-5 else 0.01 * large / slope, span, control.hmax)
    if not h0:
        return span
    step = math.copysign(h0, end - start)
    later = f(combination(y, k, weights=(1.0, step)), start + step)
    bend = control.size(y, y, [later, k], (1 / h0, -1 / h0))
    most = max(slope, bend)
    h1 = max(1e-6, h0 * 1e-3) if most <= 1e-15 else (0.01 / most) ** 0.2 if math.isfinite(most) else h0 * 1e-3
    return min(100 * h0, h1, span, control.hmax)
