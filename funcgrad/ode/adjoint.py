"""The derivative by the adjoint equation: another differential equation, solved backwards, which keeps the solution's outputs alone.

Along y' = f(y, t, p) the cotangent of the state follows a' = -aᵀ ∂f/∂y, and what flows to p is ∫ aᵀ ∂f/∂p dt. At an output
time its cotangent is added to a; going back to the time before, y itself is computed again, from the output.
The derivative by an output time is aᵀ f there, of the cotangent that comes in, and by the first time -aᵀ f of all that arrives.
Source: Chen et al. (2018), Neural Ordinary Differential Equations, appendix B; in JAX, `jax.experimental.ode`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import pytree
from funcgrad.borrow import HELD, Borrows
from funcgrad.core import Label, Traced, Value
from funcgrad.numpy.bridge import bare
from funcgrad.ode.closures import opened
from funcgrad.ode.problem import Problem
from funcgrad.ode.state import formed
from funcgrad.ode.stepping import Pace
from funcgrad.ops.shaping import cast, dense
from funcgrad.transforms.arguments import label_of, name_of
from funcgrad.transforms.custom import custom_vjp
from funcgrad.transforms.derivatives import pull_back
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.maps import jvp
from funcgrad.transforms.nodes import zero
from funcgrad.transforms.rule_results import is_moving


@attrs.frozen(eq=False)
class Family:
    """The problem for any values of what is traced in it: arguments, and what the function closes over. Arrays in it stay as they are."""

    problem: Problem
    leaves: list[Any]
    traced: list[int]
    rebuild: Callable[[list[Any]], Any]
    label: Label

    def member(self, given: Sequence[Value], t: Value | None = None) -> Problem:
        leaves = list(self.leaves)
        for k, x in zip(self.traced, given, strict=True):
            leaves[k] = x
        func, args = self.rebuild(leaves)
        return attrs.evolve(self.problem, func=func, args=args, t=self.problem.t if t is None else bare(t))


def solved(problem: Problem, y: Value) -> Value:
    """The states at all times, along a first axis."""
    leaves, rebuild = opened((problem.func, problem.args))
    leaves = [bare(x) if type(x) is np.ndarray else x for x in leaves]
    traced = [k for k, x in enumerate(leaves) if isinstance(x, Traced)]
    t = problem.t if isinstance(problem.t, Traced) else None
    if not traced and t is None and not isinstance(y, Traced):
        return problem.solved(y)
    borrows = Borrows()
    kept = [borrows.hold(x) if type(x) is np.ndarray else x for x in leaves]
    family = Family(problem, kept, traced, rebuild, label_of("odeint", problem.func))
    borrows.guard(family)

    found: Value = bare(_solution(family)(y, t, [leaves[k] for k in traced]))
    return found


def _solution(family: Family) -> Callable[..., Any]:
    """The solution as a function with rules. (Its rules make it anew: a cycle would keep the arrays it holds until the collector runs.)"""

    def by_steps(y: Value, t: Value | None, given: list[Value]) -> Value:
        return family.member(given, t).solved(bare(y))

    def fwd(*operands: Any) -> Any:
        ys = _solution(family)(*operands)
        return ys, (ys, *operands[1:])

    def bwd(kept: Any, ct: Any) -> Any:
        ys, t, given = pytree.map(bare, kept)
        return pulled(family, ys, t, given, bare(ct))

    by_steps.__name__ = name_of(family.problem.func)
    solution = custom_vjp(by_steps)
    solution.defvjp(fwd, bwd)
    solution.defjvp(lambda primals, tangents: jvp(by_steps, primals, tangents))
    return solution


def pulled(family: Family, ys: Value, t: Value | None, given: list[Value], ct: Value) -> tuple[Any, ...]:
    """The cotangents of the first state, the times and what was traced."""
    problem = family.member(given, t)
    times, pace = problem.times, Pace()
    a, sums = ct[-1], [zero(x) for x in given if is_moving(x)]
    by_time = [np.float64(0)] * len(times)
    for k in range(len(times) - 1, 0, -1):
        if t is not None:
            by_time[k] = np.sum(ct[k] * problem.slope(ys[k], t[k]))
        if times[k] != times[k - 1]:
            a, sums = _back(family, k, t, given, (ys[k], a, sums), pace)
        if k == 1 and t is not None:
            by_time[0] = -np.sum(a * problem.slope(ys[0], t[0]))
        a = a + ct[k - 1]
    rest = iter(sums)
    return a, None if t is None else np.stack(by_time), [next(rest) if is_moving(x) else None for x in given]


def _back(family: Family, k: int, t: Value | None, given: list[Value], state: Any, pace: Pace) -> tuple[Value, list[Value]]:
    """The cotangents at the time before the k-th, of the state and of those of what was traced."""
    problem = family.member(given, t)
    moving = [j for j, x in enumerate(given) if is_moving(x)]

    def slope(state: Any, s: Value) -> Any:
        y, a, _ = state

        def forward(x: Value, *values: Value) -> Value:
            merged = list(given)
            for j, value in zip(moving, values, strict=True):
                merged[j] = value
            return family.member(merged).slope(x, s)

        out, (by_y, *rest) = _pullback(family.label, forward, [y, *[given[j] for j in moving]], a)
        return out, -by_y, [-g for g in rest]

    form, flat = formed(problem.control.label, state, ())
    times = problem.times[k - 1 : k + 1][::-1]
    back = attrs.evolve(problem, func=slope, args=(), form=form, times=times, t=problem.t[k - 1 : k + 1][::-1])
    _, a, sums = pytree.map(lambda x: bare(x)[-1], form.series(back.solved(flat, pace)))
    return a, sums


def _pullback(label: Label, f: Callable[..., Value], xs: list[Value], ct: Value) -> tuple[Value, list[Value]]:
    """The value of `f`, and the cotangents of its arguments, which stay as they are until then."""
    m = Linearize(label)
    m.borrows = HELD
    inputs = [m.leaf(x) for x in xs]
    try:
        out = f(*inputs)
    finally:
        m.close()
    if not (type(out) is LinTracer and out._main is m):
        return out, [zero(x) for x in xs]
    found = pull_back([(out._node, cast(ct, out._dtype))], [x._node[0] for x in inputs])
    return out._value, [zero(x._value) if g is None else cast(dense(g, x._shape), x._dtype) for g, x in zip(found, inputs, strict=True)]
