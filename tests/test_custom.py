"""Functions that bring their own derivative: every mode and order, trees, closures, and what rules may not give."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.laws.paths import PATHS

X = np.array([0.3, -0.7, 1.1])


@pytest.fixture(params=PATHS, autouse=True)
def path(request: Any) -> Iterator[None]:
    """Both paths of the machine."""
    with PATHS[request.param]():
        yield


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-12)


def cube_jvp() -> Any:
    """x³, whose rule says so in other words."""

    @fg.custom_jvp
    def f(x):
        return x**3

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), 3 * x**2 * t

    return f


def cube_vjp() -> Any:
    @fg.custom_vjp
    def f(x):
        return x**3

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (3 * x**2 * ct,))
    return f


def five() -> Any:
    """A rule that is not the derivative, to see which one is used: 5 forward, 7 in reverse."""

    @fg.custom_vjp
    def f(x):
        return 1.0 * x

    f.defjvp(lambda p, t: (1.0 * p[0], 5.0 * t[0]))
    f.defvjp(lambda x: (1.0 * x, None), lambda _, ct: (7.0 * ct,))
    return f


# ---- every mode and order


@pytest.mark.parametrize("make", [cube_jvp, cube_vjp])
def test_orders_of_reverse(make: Any) -> None:
    """Rules are differentiated themselves: x³ has 3x², 6x, 6 and 0, for numbers and arrays."""
    f = make()
    for n, expected in enumerate([3 * 2.0**2, 6 * 2.0, 6.0, 0.0], 1):
        g = functools.reduce(lambda g, _: fg.grad(g), range(n), f)
        close(g(2.0), expected)
    close(fg.grad(lambda x: np.sum(f(x)))(X), 3 * X**2)
    close(fg.hessian(lambda x: np.sum(f(x)))(X), np.diag(6 * X))
    close(fg.jacrev(f)(X), np.diag(3 * X**2))
    close(fg.jacfwd(f)(X), np.diag(3 * X**2))


def test_forward_modes_of_a_jvp_rule() -> None:
    """jvp, linearize, and their compositions with reverse mode."""
    f = cube_jvp()
    close(fg.jvp(f, (X,), (np.ones(3),))[1], 3 * X**2)
    close(fg.linearize(f, X)[1](np.ones(3)), 3 * X**2)
    close(fg.jvp(lambda x: fg.jvp(f, (x,), (np.ones(3),))[1], (X,), (np.ones(3),))[1], 6 * X)
    close(fg.grad(lambda x: fg.jvp(f, (x,), (1.0,))[1])(2.0), 12.0)
    close(fg.hvp(lambda x: np.sum(f(x)), (X,), (np.ones(3),)), 6 * X)


def test_forward_over_reverse_of_a_vjp_rule() -> None:
    """hvp differentiates the rules in forward mode, which needs no jvp rule as the rules are ordinary programs."""

    @fg.custom_vjp
    def f(x):
        return x**3

    f.defvjp(lambda x: (x**3, x), lambda x, ct: (3 * x**2 * ct,))
    close(fg.hvp(lambda x: np.sum(f(x)), (X,), (np.ones(3),)), 6 * X)


def test_the_rule_is_what_counts() -> None:
    """Each mode uses its own rule; a jvp rule serves reverse mode where it is alone."""
    f = five()
    assert fg.jvp(f, (2.0,), (1.0,))[1] == 5.0
    assert fg.grad(f)(2.0) == 7.0

    @fg.custom_jvp
    @fg.custom_vjp
    def g(x):
        return 1.0 * x

    g.defjvp(lambda p, t: (1.0 * p[0], 5.0 * t[0]))
    g._inner.defvjp(lambda x: (1.0 * x, None), lambda _, ct: (7.0 * ct,))
    assert fg.jvp(g, (2.0,), (1.0,))[1] == 5.0
    assert fg.grad(g)(2.0) == 7.0

    h = fg.custom_jvp(lambda x: 1.0 * x)
    h.defjvp(lambda p, t: (1.0 * p[0], 5.0 * t[0]))
    assert fg.grad(h)(2.0) == 5.0 == fg.jvp(h, (2.0,), (1.0,))[1]
    assert fg.grad(lambda x: h(x * x))(3.0) == 30.0


def test_the_value_on_an_outer_floor_is_by_rule_as_well() -> None:
    """The output of an inner transformation has the derivative of the rule, not that of what the rule computed it with."""
    f = cube_jvp()
    f.defjvp(lambda p, t: (p[0] ** 3, 5.0 * t[0]))
    assert fg.grad(lambda x: fg.value_and_grad(f)(x)[0])(2.0) == 5.0
    assert fg.grad(lambda x: fg.jvp(f, (x,), (1.0,))[0])(2.0) == 5.0


def test_on_the_tape() -> None:
    """A Var is recorded through custom rules."""
    x = fg.Var(X)
    close(fg.backward(np.sum(five()(x)))[x], np.full(3, 7.0))
    close(fg.backward(np.sum(cube_jvp()(x)))[x], 3 * X**2)


def test_untraced_it_is_the_function() -> None:
    """Without a transformation it runs on what it was given, rules or not."""
    seen = []
    f = fg.custom_jvp(seen.append)
    x = np.ones(2)
    f(x)
    assert seen[0] is x


# ---- arguments


def test_trees() -> None:
    """Arguments and outputs are pytrees; the tangents and cotangents have their structure."""

    @fg.custom_vjp
    def f(p, x):
        return {"y": p["w"] * x, "z": (x,)}

    f.defvjp(
        lambda p, x: ({"y": p["w"] * x, "z": (x,)}, (p, x)),
        lambda res, ct: ({"w": np.sum(ct["y"] * res[1]), "b": None}, ct["y"] * res[0]["w"] + 10 * ct["z"][0]),
    )
    p = {"w": 2.0, "b": np.ones(2)}
    gp, gx = fg.grad(lambda p, x: np.sum(f(p, x)["y"]), (0, 1))(p, X)
    close(gp["w"], np.sum(X))
    close(gp["b"], np.zeros(2))
    close(gx, np.full(3, 2.0))
    close(fg.grad(lambda x: np.sum(f(p, x)["z"][0]))(X), np.full(3, 10.0))

    @fg.custom_jvp
    def g(p):
        return [p["a"] * p["b"], p["a"]]

    g.defjvp(lambda primals, tangents: (g(*primals), [tangents[0]["a"] * primals[0]["b"] + primals[0]["a"] * tangents[0]["b"], None]))
    close(fg.jacrev(g)({"a": 2.0, "b": 3.0})[0]["a"], 3.0)
    close(fg.jacrev(g)({"a": 2.0, "b": 3.0})[1]["a"], 0.0)


def test_ints_and_other_things() -> None:
    """An int has a zero tangent and needs no cotangent; what is no number passes through."""

    @fg.custom_jvp
    def f(x, n, how):
        return x**n if how == "power" else x * n

    f.defjvp(lambda p, t: (f(*p), p[1] * p[0] ** (p[1] - 1) * t[0] + t[1]))
    assert fg.grad(f)(2.0, 3, "power") == 12.0

    @fg.custom_vjp
    def g(x, n, how):
        return x * n, n

    g.defvjp(lambda x, n, how: (g(x, n, how), n), lambda n, ct: (ct[0] * n, None, None))
    value, pull = fg.vjp(lambda x: g(x, 3, "times"), 2.0)
    assert value == (6.0, 3)
    assert pull((1.0, 0))[0] == 3.0


def test_defjvps() -> None:
    """A rule for each argument; None, and arguments that do not move, cost nothing and add nothing."""

    @fg.custom_jvp
    def power(x, y):
        return x**y

    power.defjvps(lambda t, out, x, y: t * y * x ** (y - 1), lambda t, out, x, y: t * out * np.log(x))
    assert fg.grad(power)(0.0, 2.0) == 0.0
    close(fg.grad(power, (0, 1))(2.0, 3.0), [12.0, 8 * np.log(2.0)])
    close(fg.jvp(power, (2.0, 3.0), (1.0, 1.0))[1], 12 + 8 * np.log(2.0))
    close(fg.grad(fg.grad(power))(2.0, 3.0), 12.0)
    half = fg.custom_jvp(lambda x, y: x * y)
    half.defjvps(lambda t, out, x, y: t * y, None)
    close(fg.grad(half, (0, 1))(2.0, 3.0), [3.0, 0.0])


def test_defaults_and_keywords() -> None:
    """Rules see all arguments by position, defaults included."""

    @fg.custom_jvp
    def f(x, scale=2.0):
        return x * scale

    f.defjvp(lambda p, t: (f(*p), t[0] * p[1] + p[0] * t[1]))
    assert fg.grad(lambda x: f(x))(3.0) == 2.0
    assert fg.grad(lambda s: f(scale=s, x=3.0))(5.0) == 3.0

    @fg.custom_jvp
    def only(x, *, scale=2.0):
        return x * scale

    only.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(errors.ArgumentTypeError, match="by keyword only"):
        fg.grad(lambda x: only(x, scale=3.0))(1.0)


def test_nondiff_argnums() -> None:
    """Arguments without a derivative may be anything, and come first in the rules."""

    @functools.partial(fg.custom_vjp, nondiff_argnums=(0, 2))
    def app(f, x, power):
        return f(x) ** power

    app.defvjp(lambda f, x, power: (app(f, x, power), x), lambda f, power, x, ct: (100.0 * ct * power,))
    assert fg.grad(lambda x: app(np.cos, x, 2))(0.5) == 200.0

    @functools.partial(fg.custom_jvp, nondiff_argnums=-1)
    def g(x, f):
        return f(x)

    g.defjvp(lambda f, p, t: (f(p[0]), 100.0 * t[0]))
    assert fg.grad(lambda x: g(x, np.cos))(0.5) == 100.0


def test_methods() -> None:
    """A method with rules is bound to its object, whose fields are arguments if it is a container."""

    @attrs.frozen
    class Model:
        w: Any

        @fg.custom_jvp
        def __call__(self, x):
            return self.w * x

    Model.__call__.defjvp(lambda p, t: (p[0].w * p[1], 10 * (t[0].w * p[1] + p[0].w * t[1])))
    assert fg.grad(lambda x: Model(3.0)(x))(2.0) == 30.0
    assert fg.grad(lambda m: m(2.0))(Model(3.0)).w == 20.0


def test_the_same_argument_twice() -> None:
    """Both contributions add up."""
    f = fg.custom_vjp(lambda a, b: a + b)
    f.defvjp(lambda a, b: (a + b, None), lambda _, ct: (2 * ct, 5 * ct))
    assert fg.grad(lambda x: f(x, x))(1.0) == 7.0
    assert fg.grad(lambda x: f(3 * x, x * x))(1.0) == 16.0


def test_control_flow_and_foreign_code() -> None:
    """On the lowest floor functions and rules get values, so they may branch, convert, and call what is not traced."""
    import math

    @fg.custom_jvp
    def f(x):
        return math.sin(x) if float(x) > 0 else math.cos(x)

    f.defjvp(lambda p, t: (f(*p), (math.cos(p[0]) if p[0] > 0 else -math.sin(p[0])) * t[0]))
    close(fg.grad(f)(0.5), math.cos(0.5))
    close(fg.grad(f)(-0.5), math.sin(0.5))
    close(fg.jvp(f, (0.5,), (2.0,))[1], 2 * math.cos(0.5))


def test_float32_stays() -> None:
    """Outputs, gradients and tangents keep their dtypes."""
    x = np.ones(3, np.float32)
    for f in (cube_jvp(), cube_vjp()):
        assert fg.grad(lambda x, f=f: np.sum(f(x)))(x).dtype == np.float32
    assert fg.jvp(cube_jvp(), (x,), (x,))[1].dtype == np.float32


def test_nothing_is_aliased() -> None:
    """A rule cannot write to what it is given, and what it returns is not the caller's memory."""
    kept = np.ones(3)
    f = fg.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (kept,))
    x = X.copy()
    y, pull = fg.vjp(f, x)
    (g,) = pull(np.ones(3))
    assert not np.shares_memory(y, x)
    assert not np.shares_memory(g, kept)
    assert kept.flags.writeable
    assert not g.flags.writeable
    assert not y.flags.writeable


def test_residuals_do_not_change() -> None:
    """A residual is what it was when the function ran."""
    buffer = np.ones(3)
    f = fg.custom_vjp(lambda x: x * buffer)
    f.defvjp(lambda x: (x * buffer, buffer), lambda b, ct: (ct * b,))
    _, pull = fg.vjp(f, X)
    buffer[:] = 100.0
    close(pull(np.ones(3))[0], np.ones(3))


# ---- closing over traced values


def test_closing_over_an_older_value() -> None:
    """A value of an outer transformation is an ordinary one to the rule, and gets its derivative."""

    def outer(y, make):
        return fg.grad(make(y))(2.0)

    def jvp_rule(y):
        f = fg.custom_jvp(lambda x: x * y**2)
        f.defjvp(lambda p, t: (p[0] * y**2, t[0] * y**2))
        return f

    def vjp_rule(y):
        f = fg.custom_vjp(lambda x: x * y**2)
        f.defvjp(lambda x: (x * y**2, None), lambda _, ct: (ct * y**2,))
        return f

    assert fg.grad(outer)(3.0, jvp_rule) == 6.0
    assert fg.grad(outer)(3.0, vjp_rule) == 6.0


def test_where_no_argument_is_traced() -> None:
    """The function runs as it is, and what it closes over is differentiated as in any function."""
    assert fg.grad(lambda y: _scaled(y)(2.0))(3.0) == 2.0


def _scaled(y: Any) -> Any:
    f = fg.custom_vjp(lambda x: x * y)
    f.defvjp(lambda x: (x * y, None), lambda _, ct: (ct * y,))
    return f


def test_a_leaked_tracer_in_a_rule() -> None:
    """The Law: a rule may not give a tracer of a transformation that has ended."""
    leaked: list[Any] = []
    fg.grad(lambda x: leaked.append(x) or x)(1.0)
    f = fg.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (leaked[0], t[0]))
    with pytest.raises(errors.LeakedTracerError, match="was used after it ended"):
        fg.grad(f)(1.0)


# ---- what rules may not give


def rule_error(transformed: Any, *args: Any) -> str:
    with pytest.raises(errors.RuleResultError) as caught:
        transformed(*args)
    return str(caught.value)


def with_jvp(rule: Any) -> Any:
    @fg.custom_jvp
    def f(x):
        return {"y": np.sum(x)}

    f.defjvp(rule)
    return fg.grad(lambda x: f(x)["y"])


def with_vjp(fwd: Any, bwd: Any) -> Any:
    @fg.custom_vjp
    def f(x, y):
        return np.sum(x) * y["s"]

    f.defvjp(fwd, bwd)
    return fg.grad(f, (0, 1))


FWD = lambda x, y: (np.sum(x) * y["s"], None)


@pytest.mark.parametrize(
    ("transformed", "args", "message"),
    [
        (
            with_jvp(lambda p, t: ({"y": np.sum(p[0])}, {"y": t[0]})),
            (X,),
            "the jvp rule of f: the tangent of the output['y'] must have shape [], got float64[3].",
        ),
        (
            with_jvp(lambda p, t: ({"y": np.sum(p[0])}, [np.sum(t[0])])),
            (X,),
            "the jvp rule of f: the tangent must have the structure of the output: got TreeDef([*]), expected TreeDef({'y': *}).",
        ),
        (
            with_jvp(lambda p, t: {"y": np.sum(p[0])}),
            (X,),
            "the jvp rule of f: it must return a pair (output, its tangent), got a dict.",
        ),
        (
            with_jvp(lambda p, t: ({"y": np.sum(p[0])}, {"y": 1j * np.sum(t[0])})),
            (X,),
            "the jvp rule of f: the tangent of the output['y'] is complex, but its primal is float64. Take its real part.",
        ),
        (
            with_vjp(FWD, lambda _, ct: (np.ones(2), None)),
            (X, {"s": 1.0}),
            "the bwd rule of f: the cotangent of x must have shape [3], got float64[2].",
        ),
        (
            with_vjp(FWD, lambda _, ct: (None, {"s": "one"})),
            (X, {"s": 1.0}),
            "the bwd rule of f: the cotangent of y['s'] must have shape [], got a str.",
        ),
        (
            with_vjp(FWD, lambda _, ct: (None, {"t": 1.0})),
            (X, {"s": 1.0}),
            "the bwd rule of f: the cotangent of y must have the structure of the argument: "
            "got TreeDef({'t': *}), expected TreeDef({'s': *}).",
        ),
        (
            with_vjp(FWD, lambda _, ct: ct),
            (X, {"s": 1.0}),
            "the bwd rule of f: it must return a tuple of length 2, a cotangent for each of 2 arguments, got float64.",
        ),
        (
            with_vjp(lambda x, y: np.sum(x), lambda _, ct: (None, None)),
            (X, {"s": 1.0}),
            "the fwd rule of f: it must return a pair (output, residuals), got float64.",
        ),
    ],
)
def test_what_rules_may_not_give(transformed: Any, args: Any, message: str) -> None:
    """Structures, shapes and dtypes that do not fit are told by their path."""
    assert rule_error(transformed, *args) == message


def test_missing_rules() -> None:
    """A mode without a rule says which, and what to do."""
    f = cube_vjp()
    with pytest.raises(errors.NoRuleError) as caught:
        fg.jvp(f, (1.0,), (1.0,))
    assert str(caught.value) == (
        "jvp(f): f has no custom rule for it. It has one for reverse mode: give it one with `defjvp`, or use `grad`, `vjp` or a Jacobian."
    )

    @fg.custom_jvp
    def g(x):
        return x

    with pytest.raises(errors.NoRuleError) as caught:
        fg.grad(g)(1.0)
    assert str(caught.value) == "grad(g): g has no custom rule for it. Give it one with `defjvp` or `defvjp`."
    with pytest.raises(errors.NoRuleError, match="Give it one with `defjvp`"):
        fg.jvp(g, (1.0,), (1.0,))


def test_what_is_no_function() -> None:
    """`custom_jvp` decorates functions."""
    with pytest.raises(errors.ArgumentTypeError, match="custom_jvp: expected a function, got float64"):
        fg.custom_jvp(np.float64(1.0))
    with pytest.raises(errors.ArgumentTypeError, match="defjvps does not go with nondiff_argnums"):
        fg.custom_jvp(lambda f, x: x, nondiff_argnums=0).defjvps(None)
    f = fg.custom_jvp(lambda x, y: x)
    f.defjvps(None)
    with pytest.raises(errors.RuleResultError, match="there are 1 for 2 arguments"):
        fg.grad(f)(1.0, 2.0)


def test_it_looks_like_the_function() -> None:
    """Name and docstring are those of the function."""

    @fg.custom_jvp
    def f(x):
        """Doc."""
        return x

    assert (f.__name__, f.__doc__, repr(f)) == ("f", "Doc.", "<custom_jvp f>")
