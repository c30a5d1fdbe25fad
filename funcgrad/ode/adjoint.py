"""The derivative by the adjoint equation: another differential equation, solved backwards, which keeps the solution's outputs alone.

Along y' = f(y, t, p) the cotangent of the state follows a' = -aᵀ ∂f/∂y, and what flows to p is ∫ aᵀ ∂f/∂p dt. At an output
time its cotangent is added to a; going back to the time before, y itself is computed again, from the output.
The derivative by an output time is aᵀ f there, of the cotangent that comes in, and by the first time -aᵀ f of all that arrives.
Source: Pontryagin et al. (1962); Chen et al. (2018), Neural Ordinary Differential Equations, appendix B.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from funcgrad import pytree
from funcgrad.core import Traced, Value, dtype_of
from funcgrad.numpy.bridge import bare
from funcgrad.ode.closures import opened
from funcgrad.ode.problem import Problem
from funcgrad.ode.state import formed
from funcgrad.ops.shaping import cast
from funcgrad.transforms.arguments import kind_of, name_of
from funcgrad.transforms.custom import custom_vjp
from funcgrad.transforms.maps import jvp, vjp
from funcgrad.transforms.nodes import zero


@attrs.frozen(eq=False)
class Family:
    """The problem for any values of what is traced in it: times, arguments, and what the function closes over."""

    problem: Problem
    leaves: list[Any]
    moving: list[int]
    rebuild: Any

    def member(self, t: Value | None, moving: list[Value]) -> Problem:
        leaves = list(self.leaves)
        for k, x in zip(self.moving, moving, strict=True):
            leaves[k] = x
        func, args = self.rebuild(leaves)
        return attrs.evolve(self.problem, func=func, args=args, t=self.problem.t if t is None else bare(t))


def solved(problem: Problem, y: Value) -> Value:
    """The states at all times, along a first axis."""
    leaves, rebuild = opened((problem.func, problem.args))
    moving = [k for k, x in enumerate(leaves) if kind_of(x) in ("f", "c") and isinstance(bare(x), Traced)]
    t = problem.t if isinstance(problem.t, Traced) else None
    if not moving and t is None and not isinstance(y, Traced):
        return problem.solved(y)
    family = Family(problem, leaves, moving, rebuild)

    def by_steps(y: Value, t: Value | None, moving: list[Value]) -> Value:
        return family.member(t, moving).solved(bare(y))

    def fwd(*operands: Any) -> Any:
        ys = solution(*operands)
        return ys, (ys, *operands[1:])

    def bwd(kept: Any, ct: Any) -> Any:
        ys, t, moving = pytree.map(bare, kept)
        return pulled(family, ys, t, moving, bare(ct))

    by_steps.__name__ = name_of(problem.func)
    solution = custom_vjp(by_steps)
    solution.defvjp(fwd, bwd)
    solution.defjvp(lambda primals, tangents: jvp(by_steps, primals, tangents))
    found: Value = bare(solution(y, t, [leaves[k] for k in moving]))
    return found


def pulled(family: Family, ys: Value, t: Value | None, moving: list[Value], ct: Value) -> tuple[Any, ...]:
    """The cotangents of the first state, the times and what is moving."""
    problem = family.member(t, moving)
    times = problem.times
    a, sums = ct[-1], list(map(zero, moving))
    by_time = [np.sum(ct[k] * problem.slope(ys[k], t[k])) for k in range(len(times))] if t is not None else []
    for k in range(len(times) - 1, 0, -1):
        if times[k] != times[k - 1]:
            a, sums = _back(family, k, t, moving, (ys[k], a, sums))
        if k == 1 and t is not None:
            by_time[0] = -np.sum(a * problem.slope(ys[0], t[0]))
        a = a + ct[k - 1]
    return a, np.stack(by_time) if by_time else None, sums


def _back(family: Family, k: int, t: Value | None, moving: list[Value], state: Any) -> tuple[Value, list[Value]]:
    """The cotangents at the time before the k-th, of the state and of those of what is moving."""
    problem = family.member(t, moving)

    def slope(state: Any, s: Value) -> Any:
        y, a, _ = state
        out, pull = vjp(lambda y, moving: family.member(None, moving).slope(y, s), y, moving)
        by_y, by_moving = pull(cast(a, dtype_of(out)))
        return out, -by_y, [-g for g in by_moving]

    form, flat = formed(problem.control.label, state, ())
    times = problem.times[k - 1 : k + 1][::-1]
    back = attrs.evolve(problem, func=slope, args=(), form=form, times=times, t=problem.t[k - 1 : k + 1][::-1])
    _, a, sums = pytree.map(lambda x: bare(x)[-1], form.series(back.solved(flat)))
    return a, sums
