"""`custom_linear_solve`: a linear system, solved by code of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.control.implicit import Solve, Solvers, equation, solution
from funcgrad.control.solvers import Function, solved
from funcgrad.transforms.arguments import label_of


def custom_linear_solve(
    matvec: Function,
    b: Any,
    solve: Callable[[Function, Any], Any],
    transpose_solve: Solve | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The `x` with `matvec(x) = b`, found by `solve` and differentiated as the solution that it is.

    Derivatives are by `b`, and by all traced values that `matvec` closes over; each costs one more linear system. The solvers see plain
    values, lanes of `vmap` aside, and may be any code.

    Args:
        matvec: a linear function; its result has the structure and the shapes of its argument.
        b: any pytree.
        solve: `solve(matvec, b)` gives `x`.
        transpose_solve: `transpose_solve(transposed, b)` solves the system with the transposed map (not conjugated), for reverse mode.
        symmetric: the map is its own transpose, so that `solve` serves for both.
        has_aux: the solvers give `(x, aux)`; the result is that of `solve`, and aux has no derivative.

    Raises:
        RuleResultError: `solve` or `matvec` gives something of another structure or shape than `b`.
        NoRuleError: reverse mode, without a `transpose_solve`.

    >>> import numpy as np
    >>> from funcgrad import grad
    >>> scaled = lambda a: custom_linear_solve(lambda x: a * x, 6.0, lambda matvec, b: b / matvec(1.0), symmetric=True)
    >>> scaled(2.0), grad(scaled)(2.0)
    (3.0, -1.5)
    """
    label = label_of("custom_linear_solve", matvec)
    x, aux = solved(label, solve, matvec, b, has_aux)
    solvers = Solvers(solve, transpose_solve, symmetric)
    if has_aux:
        solvers = Solvers(_first(solve), transpose_solve and _first(transpose_solve), symmetric)
    x = solution(label, equation(label, matvec, b), x, solvers)
    return (x, aux) if has_aux else x


def _first(solve: Solve) -> Solve:
    return lambda matvec, b: solve(matvec, b)[0]
