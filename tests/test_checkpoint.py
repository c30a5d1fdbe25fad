"""`checkpoint`: the same derivatives in every mode and order, from the arguments alone."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.laws.paths import PATHS

X = np.array([0.3, -0.7, 1.1])
RNG = np.random.default_rng(0)
WIDE = 48
LAYERS = [RNG.normal(size=(WIDE, WIDE)) / np.sqrt(WIDE) for _ in range(36)]
BATCH = RNG.normal(size=(240, WIDE))


@pytest.fixture(params=PATHS, autouse=True)
def path(request: Any) -> Iterator[None]:
    """Both paths of the machine."""
    with PATHS[request.param]():
        yield


def block(x: Any) -> Any:
    y = np.tanh(x)
    for _ in range(3):
        y = np.sin(y * x) + y
    return y


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("policy", [None, "everything", "products", fg.checkpoint_policies.names("y")])
def test_every_mode_and_order(policy: Any) -> None:
    """Gradients, tangents, Jacobians, Hessians and third derivatives are those of the function."""
    f = fg.checkpoint(block, policy=policy)
    loss, same = (lambda x: np.sum(block(x))), (lambda x: np.sum(f(x)))
    t = np.array([1.0, 2.0, -1.0])
    close(fg.grad(same)(X), fg.grad(loss)(X))
    close(fg.jvp(f, (X,), (t,)), fg.jvp(block, (X,), (t,)))
    close(fg.vjp(f, X)[1](t)[0], fg.vjp(block, X)[1](t)[0])
    close(fg.linearize(f, X)[1](t), fg.linearize(block, X)[1](t))
    close(fg.jacfwd(f)(X), fg.jacfwd(block)(X))
    close(fg.jacrev(f)(X), fg.jacrev(block)(X))
    close(fg.hessian(same)(X), fg.hessian(loss)(X))
    close(fg.hvp(same, (X,), (t,)), fg.hvp(loss, (X,), (t,)))
    close(fg.grad(lambda x: np.sum(fg.grad(same)(x) ** 2))(X), fg.grad(lambda x: np.sum(fg.grad(loss)(x) ** 2))(X))
    close(fg.grad(lambda x: fg.jvp(same, (x,), (t,))[1])(X), fg.grad(lambda x: fg.jvp(loss, (x,), (t,))[1])(X))
    third = [fg.grad(fg.grad(fg.grad(g)))(0.4) for g in (f, block)]
    close(*third)
    close(fg.value_and_grad(same)(X)[0], loss(X))


def test_nested() -> None:
    """A checkpoint inside a checkpoint, and a checkpoint of a transformed function."""
    inner = fg.checkpoint(block)
    outer = fg.checkpoint(lambda x: inner(inner(x)) * x)
    plain = lambda x: block(block(x)) * x
    close(fg.grad(lambda x: np.sum(outer(x)))(X), fg.grad(lambda x: np.sum(plain(x)))(X))
    close(fg.hessian(lambda x: np.sum(outer(x)))(X), fg.hessian(lambda x: np.sum(plain(x)))(X))
    slope = fg.checkpoint(lambda x: fg.grad(lambda x: np.sum(block(x)))(x))
    close(fg.jacrev(slope)(X), fg.hessian(lambda x: np.sum(block(x)))(X))


def test_closing_over_traced_values() -> None:
    """What the function closes over is differentiated, by whichever transformation it belongs to."""

    def f(x, y):
        return fg.checkpoint(lambda t: np.sin(t) * y)(x)

    close(fg.grad(f, (0, 1))(0.5, 3.0), [3 * np.cos(0.5), np.sin(0.5)])
    close(fg.jvp(f, (0.5, 3.0), (0.0, 1.0))[1], np.sin(0.5))
    close(fg.grad(lambda x: fg.grad(lambda y: f(x, y))(3.0))(0.5), np.cos(0.5))
    close(fg.grad(lambda y: fg.grad(lambda x: f(x, y))(0.5))(3.0), np.cos(0.5))
    close(fg.grad(lambda y: f(0.5, y))(3.0), np.sin(0.5))


def test_trees_and_constants() -> None:
    """Any pytree in and out; what does not depend on the arguments comes out as it is."""
    marker = object()
    f = fg.checkpoint(lambda p, n, scale=1.0: {"a": [p["w"] * n * scale, 2 * p["w"]], "b": marker, "c": 1.0, "d": p["w"] > 0})

    def loss(p):
        out = f(p, 3, scale=2.0)
        assert out["b"] is marker
        assert out["c"] == 1.0
        assert out["d"].dtype == bool
        return np.sum(out["a"][0])

    close(fg.grad(loss)({"w": X})["w"], np.full(3, 6.0))
    close(fg.grad(lambda x: np.sum(fg.checkpoint(lambda x: [x, 2 * x])(x)[0]))(np.ones(1)), [1.0])
    close(fg.grad(lambda x: np.sum(fg.checkpoint(lambda x: np.stack(np.split(x, 3)[::-1]))(x) * X[:, None]))(X), X[::-1])


def test_it_runs_once() -> None:
    """Random numbers and branches are those of the one run."""
    runs: list[int] = []
    rng = np.random.default_rng(0)

    @fg.checkpoint
    def noisy(x):
        runs.append(1)
        return x * rng.normal(size=3) if np.sum(x) > 0 else -x

    value, g = fg.value_and_grad(lambda x: np.sum(noisy(x)))(X)
    assert len(runs) == 1
    close(value, np.sum(X * g))
    noise = np.random.default_rng(0).normal(size=3)
    close(g, noise)


def test_captured_arrays_do_not_change() -> None:
    """The second run sees arrays as they were in the first."""
    buffer = np.ones(3)
    _, pull = fg.vjp(fg.checkpoint(lambda x: x * x * buffer), X)
    buffer[:] = 100.0
    close(pull(np.ones(3))[0], 2 * X)
    large = np.ones(10_000)
    _, pull = fg.vjp(fg.checkpoint(lambda x: np.sum(x * x * large)), np.ones(10_000))
    with pytest.raises(ValueError, match="read-only"):
        large[0] = 2.0
    del pull
    gc.collect()
    large[0] = 2.0


def test_on_the_tape() -> None:
    """Vars, as arguments and closed over."""
    x, y = fg.Var(X), fg.Var(2.0)
    grads = fg.backward(np.sum(fg.checkpoint(lambda x: np.sin(x) * y)(x)))
    close(grads[x], 2 * np.cos(X))
    close(grads[y], np.sum(np.sin(X)))


def test_with_custom_rules() -> None:
    """Inside, a function with a custom rule keeps it; outside, a checkpoint is an ordinary function."""
    f = fg.custom_vjp(lambda x: 1.0 * x)
    f.defvjp(lambda x: (1.0 * x, None), lambda _, ct: (7.0 * ct,))
    f.defjvp(lambda p, t: (1.0 * p[0], 5.0 * t[0]))
    inside = fg.checkpoint(lambda x: np.sum(f(x) * x))
    close(fg.grad(inside)(X), 8.0 * X)
    close(fg.jvp(inside, (X,), (np.ones(3),))[1], np.sum(6.0 * X))
    close(fg.grad(fg.checkpoint(lambda x: np.sum(f(block(x)))))(X), 7 * fg.grad(lambda x: np.sum(block(x)))(X))

    def closing(x, y):
        g = fg.custom_vjp(lambda x: x * y**2)
        g.defvjp(lambda x: (g(x), None), lambda _, ct: (7 * ct * y**2,))
        return fg.checkpoint(lambda x: g(x))(x)

    assert fg.grad(closing, (0, 1))(2.0, 3.0) == (63.0, 12.0)


def test_a_rule_that_closes_over_a_value_made_inside() -> None:
    """It is computed again with the rest, and differentiated."""

    @fg.checkpoint
    def inside(x, y):
        s = np.sin(y)
        g = fg.custom_jvp(lambda x: x * s)
        g.defjvps(lambda t, out, x: 7 * t * s)
        return g(np.exp(x))

    close(fg.grad(inside, (0, 1))(0.5, 0.7), (7 * np.exp(0.5) * np.sin(0.7), np.exp(0.5) * np.cos(0.7)))
    close(fg.jvp(inside, (0.5, 0.7), (1.0, 1.0))[1], np.exp(0.5) * (7 * np.sin(0.7) + np.cos(0.7)))
    close(fg.grad(lambda y: fg.grad(inside)(0.5, y))(0.7), 7 * np.exp(0.5) * np.cos(0.7))


# ---- memory and policies


def network(x: Any, layers: Any, wrap: Any) -> Any:
    def group(h, weights):
        for w in weights:
            h = np.tanh(np.sin(h @ w) + h)
        return h

    for k in range(0, len(layers), 6):
        x = wrap(group)(x, layers[k : k + 6])
    return np.mean(x**2)


def peak(f: Any, *args: Any) -> int:
    """Bytes."""
    f(*args)
    gc.collect()
    tracemalloc.start()
    f(*args)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_memory() -> None:
    """A deep network needs less than half of the memory, for the same gradient, and each policy lies in between."""
    wraps = {
        "plain": lambda f: f,
        "products": lambda f: fg.checkpoint(f, policy="products"),
        "nothing": fg.checkpoint,
    }
    grads = {name: fg.grad(lambda x, layers, wrap=wrap: network(x, layers, wrap), 1) for name, wrap in wraps.items()}
    found = {name: g(BATCH, LAYERS) for name, g in grads.items()}
    for a, b, c in zip(*found.values(), strict=True):
        close(a, b)
        close(a, c)
    peaks = {name: peak(g, BATCH, LAYERS) for name, g in grads.items()}
    assert peaks["nothing"] < peaks["products"] < peaks["plain"]
    assert peaks["nothing"] < 0.5 * peaks["plain"], peaks


def test_a_policy_by_name() -> None:
    """A policy is asked about each operation once, by its name and that of `checkpoint_name`."""
    counted: list[int] = []

    def kept(primitive, name):
        counted.append(name == "h")
        return name == "h"

    def loss(x):
        h = fg.checkpoint_name(np.sin(x), "h")
        return np.sum(np.exp(h) * h)

    g = fg.grad(lambda x: fg.checkpoint(loss, policy=kept)(x))(X)
    close(g, fg.grad(loss)(X))
    assert sum(counted) == 1
    close(fg.hessian(lambda x: fg.checkpoint(loss, policy=kept)(x))(X), fg.hessian(loss)(X))


def test_kept_results_are_not_computed_again(monkeypatch: Any) -> None:
    """`names` keeps what the named value came from as well: the matrix product runs once, not twice."""
    from funcgrad.ops import contraction

    products: list[int] = []
    counting = lambda x, y: products.append(1) or np.matmul(x, y)
    original = contraction.matmul.impl
    w = np.ones((3, 3))

    def loss(x):
        return np.sum(np.sin(fg.checkpoint_name(x @ w, "h")))

    runs = {}
    try:
        object.__setattr__(contraction.matmul, "impl", counting)
        for name, policy in {"nothing": None, "named": fg.checkpoint_policies.names("h")}.items():
            products.clear()
            fg.jacrev(fg.checkpoint(loss, policy=policy))(np.ones((2, 3)))
            runs[name] = len(products)
    finally:
        object.__setattr__(contraction.matmul, "impl", original)
    assert runs["named"] == runs["nothing"] - 1


def test_checkpoint_name_outside() -> None:
    """Without a checkpoint a name does nothing, and no result is the caller's own array."""
    x = X.copy()
    assert fg.checkpoint_name(x, "h") is x
    y, pull = fg.vjp(lambda x: fg.checkpoint_name({"a": x}, "h"), x)
    assert not np.shares_memory(y["a"], x)
    assert x.flags.writeable
    close(pull({"a": np.ones(3)})[0], np.ones(3))
    close(fg.jvp(lambda x: fg.checkpoint_name(x, "h"), (x,), (x,))[1], x)


# ---- errors


def test_errors() -> None:
    """Policies that are none, values that leak, and what a tracer refuses."""
    with pytest.raises(errors.ArgumentTypeError) as caught:
        fg.checkpoint(block, policy="dots")
    assert str(caught.value) == (
        "checkpoint: policy must be 'nothing', 'everything', 'products', or a function, got 'dots'. "
        "Use `fg.checkpoint_policies.names('…')` for names."
    )
    with pytest.raises(errors.ArgumentTypeError, match="expected a function"):
        fg.checkpoint(3.0)
    leaked: list[Any] = []
    fg.grad(fg.checkpoint(lambda x: leaked.append(x) or x * x))(1.0)
    with pytest.raises(errors.LeakedTracerError, match="checkpoint"):
        leaked[0] + 1
    with pytest.raises(errors.ConversionError):
        fg.grad(fg.checkpoint(lambda x: x * float(x)))(1.0)


def test_it_looks_like_the_function() -> None:
    """Name and docstring stay, with and without parentheses."""

    @fg.checkpoint(policy="products")
    def f(x):
        """Doc."""
        return x

    assert (f.__name__, f.__doc__) == ("f", "Doc.")
    assert fg.checkpoint(f)(3.0) == 3.0
