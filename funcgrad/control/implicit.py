"""The implicit function theorem: where `f(x, θ) = 0` defines `x`, the tangents obey `f_x ẋ + f_θ θ̇ = 0`.

`f` is written down where it was solved, as a line of operations; what it closes over is found so, and becomes an operand. A line is
right for one `x` alone, and derivatives, of any order, are taken nowhere else. Reverse mode solves the transposed system.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.control.solvers import Function, same_shapes, solved
from funcgrad.core import Label, Traced, Value
from funcgrad.numpy.bridge import bare
from funcgrad.transforms import doors
from funcgrad.transforms.closures import closed_over, replaced
from funcgrad.transforms.custom import custom_vjp
from funcgrad.transforms.maps import jvp, linearize, vjp
from funcgrad.transforms.replay import Line, Record, RecordTracer
from funcgrad.transforms.rule_results import is_moving

Solve = Callable[[Function, Any], Any]
"""`solve(matvec, b)` gives the `x` of `matvec(x) = b`."""

Flat = Callable[..., list[Value]]


@attrs.frozen(eq=False)
class Solvers:
    """How linear systems are solved, and those with the transposed map."""

    solve: Solve
    transpose_solve: Solve | None
    symmetric: bool = False

    @property
    def transposed(self) -> Solvers:
        if self.symmetric:
            return self
        assert self.transpose_solve is not None
        return Solvers(self.transpose_solve, self.solve)

    def closed_over(self) -> list[Traced]:
        return closed_over((self.solve, self.transpose_solve))

    def given(self, known: Sequence[Traced], values: Sequence[Value]) -> Solvers:
        """The same, of other values for what they close over."""
        solve, transpose_solve = replaced((self.solve, self.transpose_solve), known, list(map(bare, values)))
        return Solvers(solve, transpose_solve, self.symmetric)


# ---- what there is to solve


def equation(label: Label, matvec: Function, b: Any) -> Function:
    """`matvec(x) - b`, whose root is the solution."""
    return lambda x: difference(label, "matvec", matvec(x), b)


def difference(label: Label, what: str, got: Any, other: Any) -> Any:
    """`got - other`, leaf by leaf, for trees of one structure with the same shapes; `what` gave the first."""
    right, treedef = pytree.flatten(other)
    left = same_shapes(label, what, got, treedef, right)
    return treedef.unflatten([bare(a) - bare(c) for a, c in zip(left, right, strict=True)])


def linear_solution(label: Label, matvec: Function, b: Any, solvers: Solvers) -> Any:
    """The `x` of `matvec(x) = b`, as a function of all that `matvec` closes over, and of `b`."""
    return solution(label, equation(label, matvec, b), solved(label, solvers.solve, matvec, b)[0], solvers)


# ---- its derivative


def solution(label: Label, f: Function, x: Any, solvers: Solvers) -> Any:
    """`x`, which has no derivative, as the root of `f`, which has one by all that `f` closes over."""
    leaves, treedef = pytree.flatten(x)
    m = Record(label, None)
    try:
        inputs = [m.trace(bare(leaf)) for leaf in leaves]
        outs = [_owned(m, y) for y in same_shapes(label, "function", f(treedef.unflatten(inputs)), treedef, leaves)]
    except BaseException:
        m.borrows.release()
        raise
    finally:
        m.close()
    operands = list(m.operands.values())
    if not operands:
        m.borrows.release()
        return x
    ends = [y._at for y in outs if type(y) is RecordTracer]
    line = Line([*[t._at for t in inputs], *m.operands], m.equations, ends, m.borrows)
    fixed = [None if type(y) is RecordTracer else y for y in outs]
    problem = Problem(label, treedef, fixed, line, solvers, solvers.closed_over())
    return treedef.unflatten(root(problem, leaves, operands, problem.closed_over))


def _owned(m: Record, y: Any) -> Value:
    """A result of what is recorded: its own, or something that does not depend on `x`."""
    y = bare(y)
    if not isinstance(y, Traced):
        return y
    return y if y._main is m else m.operand(doors.older(m, y))


@attrs.frozen(eq=False)
class Problem:
    """`residual(x, operands) = 0`, of flat values. Results in `fixed` depend on neither; `closed_over` is what the solvers close over."""

    label: Label
    treedef: pytree.TreeDef
    fixed: list[Any]
    line: Line
    solvers: Solvers
    closed_over: list[Traced]

    def residual(self, x: Any, operands: Any) -> list[Value]:
        found = iter(self.line.run(list(map(bare, [*x, *operands]))))
        return [next(found) if y is None else y for y in self.fixed]

    def of_solution(self, operands: Any) -> Flat:
        return lambda *x: self.residual(x, operands)

    def of_operands(self, x: Any, operands: Any) -> tuple[Flat, Callable[[Any], list[Any]]]:
        """The residual as a function of those operands that have a derivative, and what chooses them."""

        def residual(*new: Any) -> list[Value]:
            given = iter(new)
            return self.residual(x, [next(given) if is_moving(y) else y for y in operands])

        return residual, lambda values: [v for v, y in zip(values, operands, strict=True) if is_moving(y)]

    def slope(self, x: Any, operands: Any) -> Flat:
        """The residual's derivative by `x`."""
        matvec: Flat = linearize(self.of_solution(operands), *x)[1]
        return matvec

    def transposed(self, x: Any, operands: Any) -> Flat:
        if self.solvers.symmetric:
            return self.slope(x, operands)
        _, back = vjp(self.of_solution(operands), *x)
        return lambda *v: list(back(list(v)))

    def linear(self, matvec: Flat, b: Any, solvers: Solvers) -> list[Any]:
        """The solution of a linear system, in trees for the solvers, which may write to what they get."""

        def tree(leaves: Any) -> Any:
            return self.treedef.unflatten([x.copy() if type(x) is np.ndarray else x for x in map(bare, leaves)])

        return pytree.leaves(linear_solution(self.label, lambda v: tree(matvec(*pytree.leaves(v))), tree(b), solvers))


# Rules see values of one floor down, where `x` is a function of the operands as well.


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def root(problem: Problem, x: Any, operands: Any, others: Any) -> Any:
    """`x`, which is by rule a function of the operands. `others` are values for what the solvers close over."""
    return x


@root.defjvp
def _push(problem: Problem, primals: Any, tangents: Any) -> Any:
    _, operands, others = primals
    x = root(problem, *primals)
    residual, moving = problem.of_operands(x, operands)
    _, moved = jvp(residual, moving(operands), moving(tangents[1]))
    solvers = problem.solvers.given(problem.closed_over, others)
    return x, problem.linear(problem.slope(x, operands), [-t for t in moved], solvers)


def _keep(problem: Problem, x: Any, operands: Any, others: Any) -> Any:
    if problem.solvers.transpose_solve is None and not problem.solvers.symmetric:
        instead = "Give it a `transpose_solve`, or symmetric=True where the matrix is its own transpose."
        raise errors.NoRuleError(str(problem.label), "reverse mode", instead)
    x = root(problem, x, operands, others)
    return x, (x, operands, others)


def _pull(problem: Problem, kept: Any, ct: Any) -> Any:
    x, operands, others = kept
    solvers = problem.solvers.given(problem.closed_over, others).transposed
    weights = problem.linear(problem.transposed(x, operands), ct, solvers)
    residual, moving = problem.of_operands(x, operands)
    _, back = vjp(residual, *moving(operands))
    found = iter(back([-w for w in weights]))
    return None, [next(found) if is_moving(y) else None for y in operands], None


root.defvjp(_keep, _pull)
