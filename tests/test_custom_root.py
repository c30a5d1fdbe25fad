"""`custom_root`: every mode and order, trees, closures, and any code as a solver."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.testing import check_grads
from tests.laws.paths import PATHS
from tests.solvers import bisect, close, gauss, newton, newton_of_systems


@pytest.fixture(params=PATHS, autouse=True)
def path(request: Any) -> Iterator[None]:
    """Both paths of the machine."""
    with PATHS[request.param]():
        yield


# ---- one number


def cubic(a: Any, b: Any, solve: Any = newton) -> Any:
    """The x with x³ + a x = b. Its derivatives: x_b = 1/d, x_a = -x/d, x_bb = -6 x/d³ with d = 3 x² + a."""
    return fg.custom_root(lambda x: x**3 + a * x - b, 1.0, solve)


A, B = 2.0, 12.0  # x = 2, d = 14


def test_values() -> None:
    """The value is the solver's own, of the solver's type."""
    assert cubic(A, B) == 2.0
    assert type(cubic(A, B)) is float
    value, _ = fg.value_and_grad(cubic)(A, B)
    assert value == 2.0
    assert type(value) is float


def test_both_modes() -> None:
    """The derivative is that of the implicit function theorem, however the root was found."""
    for solve in (newton, bisect):
        f = functools.partial(cubic, solve=solve)
        close(fg.grad(f, (0, 1))(A, B), (-2 / 14, 1 / 14))
        close(fg.jvp(f, (A, B), (1.0, 0.0))[1], -2 / 14)
        close(fg.jvp(f, (A, B), (0.0, 1.0))[1], 1 / 14)
        close(fg.linearize(f, A, B)[1](0.0, 2.0), 2 / 14)
        close(fg.vjp(f, A, B)[1](2.0), (-4 / 14, 2 / 14))


def test_higher_orders() -> None:
    """Every pair of modes gives x_bb = -6 x/d³; the third is (108 x² - 6 d)/d⁵."""
    by_b = functools.partial(cubic, A)
    modes = (fg.grad, fg.jacfwd, fg.jacrev, lambda f: lambda b: fg.jvp(f, (b,), (1.0,))[1])
    for outer, inner in itertools.product(modes, repeat=2):
        close(outer(inner(by_b))(B), -6 * 2 / 14**3)
    close(fg.hessian(by_b)(B), -6 * 2 / 14**3)
    close(fg.hvp(by_b, (B,), (1.0,)), -6 * 2 / 14**3)
    close(fg.grad(fg.grad(fg.grad(by_b)))(B), (108 * 4 - 6 * 14) / 14**5)
    check_grads(cubic, (A, B), order=2)


def test_derivatives_do_not_go_through_the_solver() -> None:
    """A solver that only rounds to a root has the root's derivative, and the initial guess has none."""
    f = lambda a, guess: fg.custom_root(lambda x: x * x - a, guess, lambda f, x: np.round(x))
    close(fg.grad(f, (0, 1))(4.0, 2.2), (0.25, 0.0))
    assert fg.jvp(lambda guess: f(4.0, guess), (2.2,), (1.0,))[1] == 0.0


def test_nothing_is_traced() -> None:
    """Then it is the solver alone."""
    x = np.array([1.0, 2.0])
    assert fg.custom_root(lambda y: y - x, x, lambda f, y: x) is x


# ---- systems


def circle(a: Any, solve: Any = None, tangent_solve: Any = None) -> Any:
    """Where the circle of radius √a₀ meets the line x₀ = a₁ x₁."""
    f = lambda x: np.stack([x[0] ** 2 + x[1] ** 2 - a[0], x[0] - a[1] * x[1]])
    return fg.custom_root(f, np.ones(2), solve or newton_of_systems, tangent_solve)


def circle_in_closed_form(a: Any) -> Any:
    y = np.sqrt(a[0] / (1 + a[1] ** 2))
    return np.stack([a[1] * y, y])


def test_system() -> None:
    """The Jacobian is -f_x⁻¹ f_a, and the second derivatives are those of the closed form."""
    a = np.array([5.0, 2.0])
    x, y = circle(a)
    close((x, y), (2, 1))
    expected = -np.linalg.inv([[2 * x, 2 * y], [1, -a[1]]]) @ np.array([[-1, 0], [0, -y]])
    for tangent_solve in (None, gauss):
        f = functools.partial(circle, tangent_solve=tangent_solve)
        close(fg.jacrev(f)(a), expected)
        close(fg.jacfwd(f)(a), expected)
        close(fg.hessian(f)(a), fg.hessian(circle_in_closed_form)(a))
    check_grads(circle, (a,), order=2)


def test_trees() -> None:
    """Unknowns, right sides and parameters are pytrees, and the default solver takes them together."""
    params = {"a": np.array([3.0, 4.0]), "b": (2.0,)}

    def root(params: Any) -> Any:
        f = lambda x: {"u": x["u"] ** 2 - params["a"], "v": (x["v"][0] * params["b"][0] - x["u"][1],)}
        u = np.sqrt(params["a"])
        return fg.custom_root(f, {"u": np.ones(2), "v": (1.0,)}, lambda f, x: {"u": u, "v": (u[1] / params["b"][0],)})

    x = root(params)
    close(x["u"], np.sqrt([3, 4]))
    close(x["v"], [1])
    jacobian = fg.jacrev(root)(params)
    close(jacobian["u"]["a"], np.diag(0.5 / np.sqrt([3, 4])))
    close(jacobian["v"][0]["a"], [0, 0.25 / 2])
    close(jacobian["v"][0]["b"], [-2 / 4])
    check_grads(root, (params,), order=2)


def test_only_some_unknowns_depend_on_all() -> None:
    """A component of `f` may depend on the parameters alone, or on none, as long as the matrix is regular."""
    f = lambda a: fg.custom_root(lambda x: (x[0] - 2.0, a * x[1] - 6.0), (0.0, 1.0), lambda f, x: (2.0, 3.0))
    close(fg.jacrev(f)(2.0), (0.0, -1.5))
    with pytest.raises(np.linalg.LinAlgError):
        fg.grad(lambda a: fg.custom_root(lambda x: a - 2.0, 1.0, lambda f, x: x))(2.0)


def test_lanes() -> None:
    """Mapped outside and inside of derivatives, by solvers whose branches differ between lanes."""
    b = np.array([1.0, 12.0, 33.0])  # the second and third have the roots 2 and 3
    for solve in (newton, bisect):
        f = lambda b, solve=solve: cubic(A, b, solve)
        x = fg.vmap(f)(b)
        close(x[1:], [2, 3])
        d = 3 * x**2 + A
        total = lambda b, f=f: np.sum(fg.vmap(f)(b))
        close(fg.grad(total)(b), 1 / d)
        close(fg.vmap(fg.grad(f))(b), 1 / d)
        close(fg.jvp(fg.vmap(f), (b,), (np.ones(3),))[1], 1 / d)
        close(fg.vmap(fg.hessian(f))(b), -6 * x / d**3)
        close(fg.hessian(total)(b), np.diag(-6 * x / d**3))
        close(fg.vmap(fg.vmap(f))(np.stack([b, b])), [x, x])
    table = np.array([1.0, 12.0])
    of_index = lambda i, a: fg.custom_root(lambda x: x**3 + a * x - fg.tensor(table)[i], 1.0, newton)
    both = fg.vmap(of_index, (0, None))
    close(fg.grad(lambda a: both(np.array([1, 0, 1]), a)[0])(A), -2 / 14)


def test_lanes_of_systems() -> None:
    """As many lanes as unknowns, so that no axis is taken for another."""
    a = np.array([[5.0, 2.0], [10.0, 3.0]])
    for tangent_solve in (None, gauss):
        f = functools.partial(circle, tangent_solve=tangent_solve)
        close(fg.vmap(f)(a), [[2, 1], [3, 1]])
        close(fg.vmap(fg.jacrev(f))(a), fg.vmap(fg.jacrev(circle_in_closed_form))(a))
        close(fg.jacrev(fg.vmap(f))(a), fg.jacrev(fg.vmap(circle_in_closed_form))(a))
        close(fg.jacfwd(fg.vmap(f, 1))(a.T), fg.jacfwd(fg.vmap(circle_in_closed_form, 1))(a.T))
        close(fg.hessian(fg.vmap(f))(a), fg.hessian(fg.vmap(circle_in_closed_form))(a))


def test_shapes_at_the_edge() -> None:
    """No unknowns, 0-d arrays, and unknowns beside None."""
    empty = lambda a: fg.custom_root(lambda x: x - a, a, lambda f, x: x)
    assert fg.jacrev(empty)(np.ones(0)).shape == (0, 0)
    zero_d = lambda a: fg.custom_root(lambda x: {"x": x["x"] - a, "no": None}, {"x": np.array(0.0), "no": None}, lambda f, x: x)["x"]
    close(fg.grad(zero_d)(np.array(0.0)), 1.0)
    close(fg.jacfwd(zero_d)(0.0), 1.0)
    nothing = lambda a: fg.custom_root(lambda x: x, (), lambda f, x: x)
    assert nothing(1.0) == ()


# ---- what `f` and the solvers reach


def test_solvers_see_plain_values() -> None:
    """A solver may be any code: under both modes it gets numbers and arrays, and the function that it gets gives such."""
    seen = []

    def solve(f: Any, x: Any) -> Any:
        seen.append((type(x), type(f(x))))
        return np.sqrt(np.array([4.0, 9.0]))

    def linear(g: Any, y: Any) -> Any:
        seen.append((type(y), type(g(y))))
        return y / g(np.ones(2))

    f = lambda a, guess: np.sum(fg.custom_root(lambda x: x * x - a, guess, solve, linear))
    a, guess = np.array([4.0, 9.0]), np.ones(2)
    close(fg.grad(f)(a, guess), [1 / 4, 1 / 6])
    fg.grad(f, (0, 1))(a, guess)
    fg.jvp(f, (a, guess), (a, guess))
    fg.grad(lambda a: np.sum(fg.grad(f)(a, guess)))(a)
    assert len(seen) > 6
    assert set(seen) == {(np.ndarray, np.ndarray)}


def test_scipy_as_a_solver() -> None:
    """SciPy may find the root, given derivatives of the function that it gets."""
    optimize = pytest.importorskip("scipy.optimize")
    solve = lambda f, x: optimize.root(f, x, jac=fg.jacobian(f), tol=1e-14).x
    a = np.array([5.0, 2.0])
    f = functools.partial(circle, solve=solve)
    close(fg.jacrev(f)(a), fg.jacrev(circle_in_closed_form)(a))
    close(fg.hessian(f)(a), fg.hessian(circle_in_closed_form)(a))


class Hidden:
    """An object that is no pytree."""

    def __init__(self, a: Any) -> None:
        self.a = a

    def residual(self, x: Any) -> Any:
        return x * x - self.a

    def solve(self, f: Any, x: Any) -> Any:
        return np.sqrt(self.a)

    def tangent_solve(self, g: Any, y: Any) -> Any:
        return y / (2 * np.sqrt(self.a))


@attrs.frozen
class Open:
    """A pytree with methods."""

    a: Any

    def residual(self, x: Any) -> Any:
        return x * x - self.a

    def solve(self, f: Any, x: Any) -> Any:
        return np.sqrt(self.a)

    def tangent_solve(self, g: Any, y: Any) -> Any:
        return y / (2 * np.sqrt(self.a))


def by_default(a: Any) -> Any:
    def residual(x: Any, a: Any = a) -> Any:
        return x * x - a

    def tangent_solve(g: Any, y: Any, *, a: Any = a) -> Any:
        return y / (2 * np.sqrt(a))

    return residual, lambda f, x: np.sqrt(a), tangent_solve


def by_helper(a: Any) -> Any:
    """Through functions that hold each other."""

    def root_of(n: int) -> Any:
        return np.sqrt(a) if n == 0 else root_of(n - 1)

    return lambda x: x * x - root_of(2) ** 2, lambda f, x: root_of(3), lambda g, y: y / (2 * root_of(1))


def by_partial(a: Any) -> Any:
    half = lambda a, g, y: y / (2 * np.sqrt(a))
    return functools.partial(lambda a, x: x * x - a, a), functools.partial(lambda f, x, b: np.sqrt(b), b=a), functools.partial(half, a)


def by_tree(a: Any) -> Any:
    held = {"a": [a]}
    return lambda x: x * x - held["a"][0], lambda f, x: np.sqrt(held["a"][0]), lambda g, y: y / (2 * np.sqrt(held["a"][0]))


def by_object(cls: Any, a: Any) -> Any:
    it = cls(a)
    return it.residual, it.solve, it.tangent_solve


WAYS = {
    "default": by_default,
    "helper": by_helper,
    "partial": by_partial,
    "tree": by_tree,
    "pytree object": functools.partial(by_object, Open),
    "object": functools.partial(by_object, Hidden),
}


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_close_over(way: str) -> None:
    """However a traced value gets into the functions, its derivative is there; that of √a is ½ a^-½, then -¼ a^-3⁄2."""

    def f(a: Any) -> Any:
        residual, solve, tangent_solve = WAYS[way](a)
        return fg.custom_root(residual, 1.0, solve, tangent_solve)

    close(fg.grad(f)(4.0), 0.25)
    close(fg.jvp(f, (4.0,), (1.0,)), (2.0, 0.25))
    close(fg.jvp(fg.grad(f), (4.0,), (1.0,)), (0.25, -1 / 32))
    close(fg.vjp(f, 4.0)[1](1.0), (0.25,))
    close(fg.hessian(f)(4.0), -1 / 32)
    a = np.array([1.0, 4.0, 9.0])
    close(fg.grad(lambda a: np.sum(fg.vmap(f)(a)))(a), 0.5 / np.sqrt(a))
    close(fg.hessian(lambda a: np.sum(fg.vmap(f)(a)))(a), np.diag(-0.25 * a**-1.5))


def test_a_function_in_an_object() -> None:
    """What `f` uses is found when it runs, wherever it is kept; this includes derivatives in the solver, and lanes."""

    def f(a: Any) -> Any:
        return fg.custom_root(Hidden(a).residual, 1.0, newton)

    close(fg.vjp(f, 4.0)[1](1.0), (0.25,))
    close(fg.hessian(f)(4.0), -1 / 32)
    a = np.array([1.0, 4.0, 9.0])
    close(fg.hessian(lambda a: np.sum(fg.vmap(f)(a)))(a), np.diag(-0.25 * a**-1.5))


def test_nested() -> None:
    """A root in the equation of another: y³ + y = a x and x + y = b, so with x = b - y it is y³ + (1 + a) y = a b."""

    def f(a: Any, b: Any) -> Any:
        inner = lambda x: fg.custom_root(lambda y: y**3 + y - a * x, 0.5, newton)
        return fg.custom_root(lambda x: x + inner(x) - b, 0.5, newton)

    def alone(a: Any, b: Any) -> Any:
        return b - cubic_of((1 + a, a * b))

    cubic_of = lambda c: fg.custom_root(lambda y: y**3 + c[0] * y - c[1], 0.5, newton)
    a, b = 2.0, 6.0
    close(f(a, b), alone(a, b))
    close(fg.grad(f, (0, 1))(a, b), fg.grad(alone, (0, 1))(a, b))
    close(fg.grad(fg.grad(f))(a, b), fg.grad(fg.grad(alone))(a, b))
    many = np.array([1.0, 2.0])
    close(fg.grad(lambda a: np.sum(fg.vmap(f, (0, None))(a, b)))(many), [fg.grad(alone)(x, b) for x in many])


def test_other_transformations() -> None:
    """Recomputed, on a tape, inside of a function with a rule of its own, and as the body of one."""
    by_b = lambda b: cubic(A, b)
    close(fg.grad(fg.checkpoint(by_b))(B), 1 / 14)
    close(fg.hessian(fg.checkpoint(by_b))(B), -12 / 14**3)
    b = fg.Var(B)
    close(fg.backward(by_b(b) ** 2)[b], 4 / 14)
    boxed = fg.custom_jvp(by_b)
    boxed.defjvp(lambda p, t: (boxed(*p), 14 * fg.jvp(by_b, p, t)[1]))
    close(fg.grad(boxed)(B), 1.0)

    def through(b: Any) -> Any:
        return fg.custom_root(lambda x: boxed(x) - b, 3.0, lambda f, x: B)

    close(fg.grad(through)(2.0), 1.0)


def test_aux() -> None:
    """What else the solver gives is handed on, without a derivative."""

    def f(a: Any) -> Any:
        return fg.custom_root(lambda x: x * x - a, 1.0, lambda f, x: (2.0, {"left": f(2.0), "name": "exact"}), has_aux=True)

    assert f(4.0) == (2.0, {"left": 0.0, "name": "exact"})
    g, aux = fg.grad(f, has_aux=True)(4.0)
    close(g, 0.25)
    assert aux["name"] == "exact"
    assert aux["left"] == 0.0
    assert fg.jvp(lambda a: f(a)[1]["left"], (4.0,), (1.0,))[1] == 0.0


def test_number_types() -> None:
    """float32 stays float32, a complex root is holomorphic in what it depends on, and Tensors give Tensors."""
    root = lambda a: fg.custom_root(lambda x: x * x - a, a, lambda f, x: np.sqrt(x))
    g = fg.grad(root)(np.float32(4))
    assert type(g) is np.float32
    close(g, 0.25, 1e-6)
    a = 3.0 + 4.0j  # √a = 2 + i
    close(fg.grad(root, holomorphic=True)(a), 0.5 / (2 + 1j))
    close(fg.jvp(root, (a,), (1j,))[1], 0.5j / (2 + 1j))
    t = fg.tensor([4.0, 9.0])
    assert isinstance(root(t), fg.Tensor)
    assert isinstance(fg.grad(lambda a: np.sum(root(a)))(t), fg.Tensor)
    assert isinstance(fg.jvp(root, (t,), (t,))[1], fg.Tensor)


def test_memory_is_not_shared() -> None:
    """A result is nobody else's array, even where the solver gives one that is."""
    start = np.ones(2)
    y, _ = fg.vjp(lambda a: fg.custom_root(lambda x: x - a, start, lambda f, x: start), np.ones(2))
    start[:] = 7.0
    np.testing.assert_array_equal(y, [1, 1])


# ---- errors


def test_wrong_shapes_and_structures() -> None:
    """Of what the solver and the function give, by path."""
    x0 = {"a": np.ones(2)}
    with pytest.raises(errors.RuleResultError, match=r"the solve of custom_root\(<lambda>\): the result\['a'\] must have shape \[2\]"):
        fg.custom_root(lambda x: x, x0, lambda f, x: {"a": np.ones(3)})
    with pytest.raises(errors.RuleResultError, match=r"the function of .*: the result\['a'\] must have shape \[2\], got float64"):
        fg.custom_root(lambda x: {"a": np.sum(x["a"])}, x0, lambda f, x: x)
    with pytest.raises(errors.RuleResultError, match=r"the solve of .*: the result must have the structure .*, got"):
        fg.custom_root(lambda x: x, x0, lambda f, x: (x["a"],))
    with pytest.raises(errors.RuleResultError, match=r"the function of .*: the result must have the structure"):
        fg.custom_root(lambda x: x["a"], x0, lambda f, x: x)
    with pytest.raises(errors.RuleResultError, match="the result must be a float, got int"):
        fg.custom_root(lambda x: x - 2.0, 1, lambda f, x: 2)
    with pytest.raises(errors.OutputError, match="pair"):
        fg.custom_root(lambda x: x - 2.0, 1.0, lambda f, x: 2.0, has_aux=True)
    with pytest.raises(errors.ArgumentTypeError, match="expected a function"):
        fg.custom_root(1.0, 1.0, newton)


def test_hidden_tracers() -> None:
    """A solver that reaches an outer value in a class cannot do so later, or in other lanes, and says so."""

    class Store:
        a: Any = None

    def f(a: Any) -> Any:
        Store.a = a
        return fg.custom_root(lambda x: x * x - a, 1.0, lambda f, x: np.sqrt(Store.a), lambda g, y: y / (2 * np.sqrt(Store.a)))

    with pytest.raises(errors.HiddenTracerError, match=r"vjp\(f\)"):
        fg.vjp(f, 4.0)[1](1.0)
    with pytest.raises(errors.HiddenTracerError, match=r"vmap\(f\)"):
        fg.grad(lambda a: np.sum(fg.vmap(f)(a)))(np.array([1.0, 4.0]))
