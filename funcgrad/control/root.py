"""`custom_root`: the root of a function, found by code of one's own."""

from __future__ import annotations

from typing import Any

from funcgrad.control.dense import dense_solve
from funcgrad.control.implicit import Solve, Solvers, solution
from funcgrad.control.solvers import Function, solved
from funcgrad.transforms.arguments import label_of


def custom_root(f: Function, initial_guess: Any, solve: Solve, tangent_solve: Solve | None = None, has_aux: bool = False) -> Any:
    """The `x` with `f(x) = 0`, found by `solve` and differentiated as the root that it is, by the implicit function theorem.

    Derivatives are by all traced values that `f` closes over; each costs one linear system, whatever `solve` cost. By the initial guess
    it is zero. The solvers see plain values, lanes of `vmap` aside, and may be any code; `solve` may differentiate `f`.

    Args:
        f: its result has the structure and the shapes of its argument.
        initial_guess: any pytree.
        solve: `solve(f, initial_guess)` gives `x`.
        tangent_solve: `tangent_solve(g, y)` gives the `v` with `g(v) = y`, for the linear `g` that it gets: the derivative of `f`, or
            in reverse mode its transpose. By default the matrix of `g` is made, and solved by `np.linalg.solve`.
        has_aux: `solve` gives `(x, aux)`, and so does this; aux has no derivative.

    Raises:
        RuleResultError: `solve` or `f` gives something of another structure or shape than the initial guess.

    >>> from funcgrad import grad
    >>> def newton(f, x):
    ...     while abs(f(x)) > 1e-12:
    ...         x = x - f(x) / grad(f)(x)
    ...     return x
    >>> round(grad(lambda a: custom_root(lambda x: x * x - a, 1.0, newton))(4.0), 12)
    0.25
    """
    label = label_of("custom_root", f)
    x, aux = solved(label, solve, f, initial_guess, has_aux)
    linear = tangent_solve or dense_solve(label)
    x = solution(label, f, x, Solvers(linear, linear))
    return (x, aux) if has_aux else x
