"""What functions with custom rules close over: lanes and traced values, in all orders of transformations.

The function is always `sin(x) y²`; its rule has the slope `7 cos(x) y²` in `x`, so that it is seen at work, and none in `y`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

X = np.array([[0.3, -0.7], [1.1, 0.4], [-0.2, 0.9]])
Y = np.array([[2.0, 3.0], [0.5, -1.0], [1.5, 4.0]])
BY_X, BY_Y, BY_BOTH = 7 * np.cos(X) * Y**2, 2 * np.sin(X) * Y, 14 * np.cos(X) * Y
BY_X_X = -7 * np.sin(X) * Y**2


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-12)


# ---- where a function may keep what it closes over


def by_vjp(x, y):
    f = fg.custom_vjp(lambda x: np.sin(x) * y**2)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (7 * np.cos(x) * ct * y**2,))
    return f(x)


def by_residual(x, y):
    f = fg.custom_vjp(lambda x: np.sin(x) * y**2)
    f.defvjp(lambda x: (np.sin(x) * y**2, (x, y)), lambda r, ct: (7 * np.cos(r[0]) * ct * r[1] ** 2,))
    return f(x)


def by_jvp(x, y):
    f = fg.custom_jvp(lambda x: np.sin(x) * y**2)
    f.defjvp(lambda p, t: (f(*p), 7 * np.cos(p[0]) * t[0] * y**2))
    return f(x)


def by_jvp_spelled_out(x, y):
    f = fg.custom_jvp(lambda x: np.sin(x) * y**2)
    f.defjvp(lambda p, t: (np.sin(p[0]) * y**2, 7 * np.cos(p[0]) * t[0] * y**2))
    return f(x)


def by_jvps(x, y):
    f = fg.custom_jvp(lambda x: np.sin(x) * y**2)
    f.defjvps(lambda t, out, x: 7 * np.cos(x) * t * y**2)
    return f(x)


class Scaled:
    """An object with methods, which is no container."""

    def __init__(self, y: Any) -> None:
        self.y = y

    def value(self, x):
        return np.sin(x) * self.y**2

    def fwd(self, x):
        return self.value(x), x

    def bwd(self, factor, x, ct):
        return (factor * np.cos(x) * ct * self.y**2,)


class Slots(Scaled):
    __slots__ = ("y",)


def by_methods(x, y, cls=Scaled):
    s = cls(y)
    f = fg.custom_vjp(s.value)
    f.defvjp(s.fwd, functools.partial(s.bwd, 7))
    return f(x)


def by_slots(x, y):
    return by_methods(x, y, Slots)


def by_a_static_function(x, y):
    f = fg.custom_jvp(lambda g, x: g(np.sin(x)), nondiff_argnums=0)
    f.defjvp(lambda g, p, t: (f(g, *p), 7 * np.cos(p[0]) * t[0] * g(1.0)))
    return f(lambda s: s * y**2, x)


@attrs.frozen
class Box:
    content: Any


def by_containers(x, y):
    box = Box({"a": [y, 1.0], "b": None})

    def times(v, scale=y, *, root=(y,)):
        return v * scale * root[0]

    f = fg.custom_vjp(lambda x: np.sin(x) * box.content["a"][0] ** 2)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (times(7 * np.cos(x) * ct),))
    return f(x)


def by_recursion(x, y):
    def power(n):
        return y * power(n - 1) if n else 1.0

    f = fg.custom_jvp(lambda x: np.sin(x) * power(2))
    f.defjvps(lambda t, out, x: 7 * np.cos(x) * t * power(2))
    return f(x)


def by_another_rule(x, y):
    inner = fg.custom_jvp(lambda x: np.sin(x) * y)
    inner.defjvps(lambda t, out, x: 7 * np.cos(x) * t * y)
    f = fg.custom_jvp(lambda x: inner(x) * y)
    f.defjvp(lambda p, t: (f(*p), fg.jvp(inner, p, t)[1] * y))
    return f(x)


def in_a_checkpoint(x, y):
    return fg.checkpoint(lambda x: by_vjp(x, y))(x)


def through_a_checkpoint(x, y):
    return fg.checkpoint(lambda x, y: by_jvp(x, y * 1.0))(x, y)


FORWARD = [by_jvp, by_jvp_spelled_out, by_jvps, by_a_static_function, by_recursion, by_another_rule, through_a_checkpoint]
ALL = [*FORWARD, by_vjp, by_residual, by_methods, by_slots, by_containers, in_a_checkpoint]
each = pytest.mark.parametrize("g", ALL)


def of_code(g: Any) -> float:
    """∂²/∂x∂y / cos(x) at y = 2, where the derivative by `y` comes first: by the code, of which half may have a rule for `x`."""
    return 2 * (7 + 1) if g is by_another_rule else 4


def total(g: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: np.sum(g(*args))


# ---- lanes


@each
def test_lanes_in_all_orders(g: Any) -> None:
    """A lane is an operand of the rule, wherever the derivative is."""
    close(fg.vmap(g)(X, Y), np.sin(X) * Y**2)
    close(fg.vmap(fg.grad(total(g)))(X, Y), BY_X)
    close(fg.grad(total(fg.vmap(g)))(X, Y), BY_X)
    close(fg.vmap(fg.vmap(fg.grad(g)))(X, Y), BY_X)
    close(fg.vmap(fg.grad(total(fg.vmap(g))))(X, Y), BY_X)
    close(fg.grad(total(fg.vmap(fg.vmap(g))))(X, Y), BY_X)
    close(fg.grad(total(fg.grad(total(fg.vmap(g)))))(X, Y), BY_X_X)
    close(fg.grad(total(fg.vmap(fg.grad(total(g)))))(X, Y), BY_X_X)
    close(fg.vmap(fg.jacrev(fg.grad(total(g))))(X, Y), [np.diag(row) for row in BY_X_X])


@each
def test_lanes_that_the_argument_has_not(g: Any) -> None:
    """The argument is differentiated below lanes that only what is closed over has."""
    close(fg.grad(lambda x: np.sum(fg.vmap(lambda y: g(x, y))(Y)))(X[0]), 7 * np.cos(X[0]) * np.sum(Y**2, 0))
    crossed = lambda x: fg.vmap(lambda y: fg.vmap(lambda x: g(x, y))(x))(Y)
    close(fg.grad(total(crossed))(X), 7 * np.cos(X) * np.sum(Y**2, 0))
    crossed = lambda x: fg.vmap(lambda x: fg.vmap(lambda y: g(x, y))(Y))(x)
    close(fg.grad(total(crossed))(X), 7 * np.cos(X) * np.sum(Y**2, 0))


@pytest.mark.parametrize("g", FORWARD)
def test_lanes_in_forward_mode(g: Any) -> None:
    """The same."""
    close(fg.jvp(lambda x: fg.vmap(g)(x, Y), (X,), (X,))[1], BY_X * X)
    close(fg.vmap(lambda x, y: fg.jvp(lambda x: g(x, y), (x,), (x,))[1])(X, Y), BY_X * X)
    close(fg.jvp(lambda x: fg.grad(total(fg.vmap(g)))(x, Y), (X,), (X,))[1], BY_X_X * X)
    close(fg.vmap(fg.hessian(total(g)))(X, Y), [np.diag(row) for row in BY_X_X])


def test_lanes_that_differ() -> None:
    """A rule that branches on a lane it closes over runs once for each."""

    def f(x, y):
        f = fg.custom_vjp(lambda x: x if y > 1 else 2 * x)
        f.defvjp(lambda x: (f(x), None), lambda _, ct: (3 * ct if y > 1 else 4 * ct,))
        return f(x)

    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 3.0])
    close(fg.vmap(f)(x, y), [1.0, 4.0, 3.0])
    close(fg.vmap(fg.grad(f))(x, y), [3.0, 4.0, 3.0])
    close(fg.grad(lambda x: np.sum(fg.vmap(f)(x, y)))(x), [3.0, 4.0, 3.0])


def test_pulls_in_threads() -> None:
    """A pull may run when the `vmap` has ended, and in several threads at once."""
    _, pull = fg.vjp(lambda x: fg.vmap(by_vjp)(x, Y), X)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(pull(np.ones(X.shape))[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    for g in found:
        close(g, BY_X)


# ---- traced values


@each
def test_closed_over_values_are_differentiated(g: Any) -> None:
    """By the function's own code, for the rule says nothing of them; the rule still is the derivative by the arguments."""
    close(fg.grad(g, (0, 1))(0.3, 2.0), (7 * np.cos(0.3) * 4, 4 * np.sin(0.3)))
    close(fg.grad(lambda x: g(x, x))(0.3), 7 * np.cos(0.3) * 0.3**2 + 2 * np.sin(0.3) * 0.3)
    for got in (fg.grad(total(fg.vmap(g)), (0, 1))(X, Y), fg.vmap(fg.grad(total(g), (0, 1)))(X, Y)):
        close(got, (BY_X, BY_Y))
    close(fg.grad(lambda x: np.sum(fg.vmap(g)(x, x)))(X), 7 * np.cos(X) * X**2 + 2 * np.sin(X) * X)
    close(fg.grad(lambda y: np.sum(fg.vmap(lambda x: g(x, y))(X)))(Y[0]), 2 * np.sum(np.sin(X), 0) * Y[0])
    value, pull = fg.vjp(g, X, Y)
    close(value, np.sin(X) * Y**2)
    close(pull(np.ones(X.shape)), (BY_X, BY_Y))


@each
def test_values_of_older_and_younger_transformations(g: Any) -> None:
    """Mixed derivatives, whichever is taken first, also where the argument depends on what is closed over."""
    close(fg.grad(lambda y: fg.grad(g)(0.3, y))(2.0), 28 * np.cos(0.3))
    close(fg.grad(lambda z: fg.grad(lambda x: g(x, z))(z))(0.3), 14 * np.cos(0.3) * 0.3 - 7 * np.sin(0.3) * 0.09)
    close(fg.grad(lambda x: fg.grad(lambda y: g(x, y))(2.0))(0.3), of_code(g) * np.cos(0.3))
    close(fg.grad(lambda y: np.sum(fg.vmap(fg.grad(total(g)))(X, y)))(Y), BY_BOTH)
    close(fg.grad(lambda y: np.sum(fg.grad(total(fg.vmap(g)))(X, y)))(Y), BY_BOTH)
    close(fg.vmap(lambda x: fg.grad(lambda y: g(x, y))(2.0))(X[0]), 4 * np.sin(X[0]))
    close(fg.grad(lambda x: np.sum(fg.vmap(lambda x: fg.grad(lambda y: g(x, y))(2.0))(x)))(X[0]), of_code(g) * np.cos(X[0]))


@pytest.mark.parametrize("g", FORWARD)
def test_closed_over_values_in_forward_mode(g: Any) -> None:
    """The same."""
    close(fg.jvp(g, (X, Y), (X, Y))[1], BY_X * X + BY_Y * Y)
    close(fg.jvp(fg.vmap(g), (X, Y), (X, Y))[1], BY_X * X + BY_Y * Y)
    close(fg.jvp(lambda y: fg.grad(g)(0.3, y), (2.0,), (1.0,))[1], 28 * np.cos(0.3))
    close(fg.jvp(lambda x: fg.jvp(lambda y: g(x, y), (2.0,), (1.0,))[1], (0.3,), (1.0,))[1], of_code(g) * np.cos(0.3))


def test_what_the_value_does_not_depend_on() -> None:
    """A slope may be closed over, as of a gradient that is scaled: the function does not change with it."""

    def f(x, slope):
        f = fg.custom_vjp(lambda x: 1.0 * x)
        f.defvjp(lambda x: (1.0 * x, None), lambda _, ct: (ct * slope,))
        return f(x)

    assert fg.grad(f, (0, 1))(2.0, 3.0) == (3.0, 0.0)
    assert fg.grad(lambda slope: fg.grad(f)(2.0, slope))(3.0) == 1.0


def test_several_outputs() -> None:
    """Each has the derivative that it has: by rule, by code, by both, or none."""

    def f(x, y):
        f = fg.custom_vjp(lambda x: {"both": x * y, "x": 1.0 * x, "y": 1.0 * y, "n": 3})
        f.defvjp(lambda x: (f(x), None), lambda _, ct: (7 * ct["both"] * y + 5 * ct["x"],))
        return f(x)

    assert fg.grad(lambda x, y: f(x, y)["both"], (0, 1))(2.0, 3.0) == (21.0, 2.0)
    assert fg.grad(lambda x, y: f(x, y)["x"], (0, 1))(2.0, 3.0) == (5.0, 0.0)
    assert fg.grad(lambda x, y: f(x, y)["y"], (0, 1))(2.0, 3.0) == (0.0, 1.0)
    assert f(2.0, 3.0)["n"] == 3


def test_code_that_cannot_be_traced() -> None:
    """It would lose the derivative, and says so."""
    f = lambda x, y: fg.external(lambda x: float(x) * float(y), vjp=lambda p, out, ct: (ct,))(x)
    with pytest.raises(errors.ConversionError, match="would drop its gradient"):
        fg.grad(f, (0, 1))(2.0, 3.0)


GLOBAL: Any = None


def test_global_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the function's module are found, also in what it calls and in functions inside of it."""

    def f(x, y):
        monkeypatch.setitem(globals(), "GLOBAL", y)
        f = fg.custom_vjp(lambda x: np.sin(x) * (lambda: _square_of_global())())
        f.defvjp(lambda x: (f(x), x), lambda x, ct: (7 * np.cos(x) * ct * GLOBAL**2,))
        return f(x)

    close(fg.grad(f, (0, 1))(0.3, 2.0), (7 * np.cos(0.3) * 4, 4 * np.sin(0.3)))
    close(fg.grad(total(fg.vmap(f)), (0, 1))(X, Y), (BY_X, BY_Y))


def _square_of_global():
    return GLOBAL**2


def test_what_is_shared_with_the_copy() -> None:
    """A variable that a rule counts with is the user's own."""

    def f(x, y):
        runs = 0

        def value(x):
            nonlocal runs
            runs += 1
            return np.sin(x) * y**2

        f = fg.custom_jvp(value)
        f.defjvps(lambda t, out, x: 7 * np.cos(x) * t * y**2)
        f(x)
        assert runs
        return f(x)

    close(fg.grad(total(fg.vmap(f)))(X, Y), BY_X)


def test_much_data() -> None:
    """A long list is not searched, and harms nobody; nor does an object that holds itself."""

    class Node:
        def __init__(self, y: Any) -> None:
            self.me, self.y, self.data = self, y, [0.0] * 20_000

    def f(x, y):
        node = Node(y)
        f = fg.custom_jvp(lambda x: np.sin(x) * node.me.me.y**2)
        f.defjvps(lambda t, out, x: 7 * np.cos(x) * t * node.me.y**2)
        return f(x)

    close(fg.grad(total(fg.vmap(f)), (0, 1))(X, Y), (BY_X, BY_Y))


def test_on_the_tape() -> None:
    """A Var is found as well, also inside a `vmap` of recorded values."""
    x, y = fg.Var(X), fg.Var(Y)
    for g in (by_vjp, by_jvps):
        gradients = fg.backward(np.sum(g(x, y)))
        close(gradients[x], BY_X)
        close(gradients[y], BY_Y)
        gradients = fg.backward(np.sum(fg.vmap(g)(x, y)))
        close(gradients[x], BY_X)
        close(gradients[y], BY_Y)


def test_object_arrays_and_tensors() -> None:
    """What NumPy makes of a list of traced values is searched, and an ordinary Tensor left alone."""

    def f(x, y):
        pair, two = np.array([y, 1.0], dtype=object), fg.tensor(2.0)
        f = fg.custom_jvp(lambda x: np.sin(x) * pair[0] ** two)
        f.defjvps(lambda t, out, x: 7 * np.cos(x) * t * pair[0] ** two)
        return f(x)

    close(fg.grad(f, (0, 1))(0.3, 2.0), (7 * np.cos(0.3) * 4, 4 * np.sin(0.3)))
    close(fg.grad(lambda x: np.sum(fg.vmap(f)(x, Y[0])))(X[0]), BY_X[0])


# ---- what is not found


class Hidden:
    """A class keeps it: nobody looks there."""

    y: Any = None


def test_what_is_hidden() -> None:
    """A traced value that stands where nobody looks is an error by name and never a silent zero."""

    def f(x, y):
        Hidden.y = y
        f = fg.custom_vjp(lambda x: x * Hidden.y)
        f.defvjp(lambda x: (x * Hidden.y, None), lambda _, ct: (ct * Hidden.y,))
        return f(x)

    def late(x, y):
        Hidden.y = y
        f = fg.custom_vjp(lambda x: 1.0 * x)
        f.defvjp(lambda x: (1.0 * x, None), lambda _, ct: (ct * Hidden.y,))
        return f(x)

    def of_jvp(x, y):
        Hidden.y = y
        f = fg.custom_jvp(lambda x: 1.0 * x)
        f.defjvps(lambda t, out, x: t * Hidden.y)
        return f(x)

    def looks(x, y):
        Hidden.y = y
        f = fg.custom_vjp(lambda x: x if Hidden.y > 1 else -x)
        f.defvjp(lambda x: (x, None) if Hidden.y > 1 else (-x, None), lambda _, ct: (ct,))
        return f(x)

    close(fg.vmap(fg.grad(f))(X[0], Y[0]), Y[0])
    with pytest.raises(errors.ClosedOverTracerError) as caught:
        fg.grad(f, (0, 1))(2.0, 3.0)
    assert str(caught.value).startswith("<lambda> uses a traced value of grad(f) (test_closures.py:")
    assert str(caught.value).endswith("Pass it to <lambda> as an argument.")
    for g in (late, of_jvp):
        with pytest.raises(errors.ClosedOverTracerError):
            fg.grad(g, (0, 1))(2.0, 3.0)
    with pytest.raises(errors.ClosedOverTracerError):
        fg.jvp(of_jvp, (2.0, 3.0), (1.0, 1.0))
    for g in (f, late, of_jvp, looks):
        with pytest.raises(errors.ClosedOverTracerError, match=rf"uses a traced value of vmap\({g.__name__}\)"):
            fg.grad(lambda x, g=g: np.sum(fg.vmap(g)(x, Y[0] - 1.0)))(X[0])
    Hidden.y = None


def test_a_cell_that_is_empty_yet() -> None:
    """A name that is bound later is no harm."""

    def outer(x, y):
        f = fg.custom_jvp(lambda x: x * y if x is not None else later)
        f.defjvps(lambda t, out, x: 7 * t * y)
        out = f(x)
        later = 1.0
        return out * later

    close(fg.grad(lambda x: np.sum(fg.vmap(outer)(x, Y)))(X), 7 * Y)
