"""`odeint` and `solve`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.numpy.bridge import array
from funcgrad.ode import adjoint, dense
from funcgrad.ode.problem import posed
from funcgrad.transforms.arguments import name_of

TOLERANCE = 1.4e-8
"""That of `jax.experimental.ode.odeint`."""


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = TOLERANCE,
    atol: float = TOLERANCE,
    mxstep: int = 100_000,
    hmax: float = np.inf,
    derivative: str = "steps",
) -> Any:
    """The solution of y' = func(y, t, *args) at the times `t`, from y(t[0]) = y0 on; its derivative by y0, t, args and closed-over values.

    By the method of Dormand and Prince, of order 5, with steps whose error is at most atol + rtol · |y| each. It is not for stiff
    problems. The state comes first in `func`, as in the functions of this name in SciPy and JAX: it is what the equation is about.
    Under `vmap` all lanes take the same steps, which are short enough for each.

    Args:
        func: gives the derivative of the state, of the structure of `y0`; of one array a list of numbers will do.
        y0: any pytree of numbers and arrays; ints become floats.
        t: a vector of times, all increasing or all decreasing.
        args: any pytrees.
        rtol: relative tolerance; at least 10 units of the last digit of the state's dtype.
        atol: absolute tolerance.
        mxstep: how many steps to try.
        hmax: the longest step.
        derivative: `"steps"` differentiates the numbers that were computed, with the step lengths held constant, and remembers all
            steps. `"adjoint"` solves the adjoint equation backwards, as accurately, and remembers what comes out and no more; it
            takes longer, and forward mode goes through the steps.

    Returns:
        A pytree as `y0`, whose leaves have an axis of the length of `t` in front.

    Raises:
        IntegrationError: it did not get to the end.

    Source: Dormand and Prince (1980); Hairer, Nørsett and Wanner (1993), sections II.4 to II.6.

    >>> odeint(lambda y, t, k: -k * y, 1.0, [0.0, 0.5, 1.0], 2.0).round(6)
    array([1.      , 0.367879, 0.135335])
    """
    label = _label("odeint", func)
    if derivative not in ("steps", "adjoint"):
        raise errors.ArgumentError(label, f"derivative must be 'steps' or 'adjoint', got {derivative!r}.")
    problem, y = posed(label, func, y0, t, args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax)
    return problem.form.series(adjoint.solved(problem, y) if derivative == "adjoint" else problem.solved(y))


def solve(
    func: Callable[..., Any],
    y0: Any,
    t0: Any,
    t1: Any,
    *args: Any,
    rtol: float = TOLERANCE,
    atol: float = TOLERANCE,
    mxstep: int = 100_000,
    hmax: float = np.inf,
) -> dense.Solution:
    """The solution of y' = func(y, t, *args) from y(t0) = y0 on to the time `t1`, as a function of any time between them.

    Its derivative by the time is that of the polynomials it is made of; all others are those of `odeint`, whose arguments it has.

    >>> y = solve(lambda y, t: -y, 1.0, 0.0, 2.0)
    >>> y([0.25, 1.0]).round(6)
    array([0.778801, 0.367879])
    """
    label = _label("solve", func)
    problem, y = posed(label, func, y0, array([t0, t1]), args, rtol=rtol, atol=atol, mxstep=mxstep, hmax=hmax)
    if problem.times[0] == problem.times[1]:
        raise errors.ArgumentError(label, f"t0 and t1 are both {problem.times[0]!r}. The range must have a length.")
    return dense.solution(label, problem.form, list(problem.steps(y)), problem.moment)


def _label(verb: str, func: Any) -> str:
    return f"{verb}({name_of(func)})" if callable(func) else verb
