"""`while_loop` and `fori_loop` are Python loops: the same numbers, derivatives in both modes, and in lanes that end apart."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.control.plain import COMPOSITIONS, MANY, ONE, close, same

X = np.array([1.0, 2.0, 3.0])
CHECKPOINTS = [None, 1, 3, 50, fg.Binomial(1), fg.Binomial(3, 2)]


def loop(cond: Any, body: Any, init: Any, **_: Any) -> Any:
    while cond(init):
        init = body(init)
    return init


def counted(lower: Any, upper: Any, body: Any, init: Any, **_: Any) -> Any:
    for i in range(lower, upper):
        init = body(i, init)
    return init


def root(run: Any, **keywords: Any) -> Any:
    """Newton's square root of |x| + 1, for as many steps as each number wants."""

    def f(a: Any) -> Any:
        cond = lambda s: np.abs(s["x"] * s["x"] - a) > 1e-9
        body = lambda s: {"x": 0.5 * (s["x"] + a / s["x"]), "n": s["n"] + 1}
        return run(cond, body, {"x": a, "n": 0}, **keywords)["x"]

    return f


# ---- values


def test_values() -> None:
    """Bit for bit, for trees with numbers of all kinds."""
    cond, body = lambda s: s["x"] < 100, lambda s: {"x": s["x"] * 1.7, "n": s["n"] + 1, "z": (s["z"][0] * 1j, None)}
    for x in (3.0, np.float32(3), 300.0):
        init = {"x": x, "n": 0, "z": (1 + 0j, None)}
        found, expected = fg.while_loop(cond, body, init), loop(cond, body, init)
        same(found, expected)
    same(fg.while_loop(lambda s: 10 - s, lambda s: s + 1, 0), np.int64(10))  # a number is as good as a bool
    t = fg.while_loop(lambda x: np.sum(x) < 100, lambda x: x * 2, fg.tensor(X))
    assert isinstance(t, fg.Tensor)


def test_no_steps() -> None:
    """The first value; its body need not work."""
    for checkpoint in CHECKPOINTS:
        f = lambda x, checkpoint=checkpoint: fg.while_loop(lambda s: s < 0, lambda s: s * s, x, checkpoint=checkpoint)
        assert f(3.0) == 3.0
        assert fg.grad(f)(3.0) == 1.0
        close(fg.vmap(f)(X), X)
    assert fg.while_loop(lambda s: s < 0, lambda s: s + 1 / 0, 3.0) == 3.0


@pytest.mark.parametrize("checkpoint", CHECKPOINTS, ids=str)
def test_reverse_mode(checkpoint: Any) -> None:
    """Which JAX refuses: by what is carried and by what is closed over, in the condition too."""

    def f(x: Any, a: Any, run: Any, **k: Any) -> Any:
        return np.sum(run(lambda s: np.sum(s) < 40 * a, lambda s: s * a + np.sin(s[::-1]), x, **k) ** 2)

    every = (0, 1)
    expected = fg.value_and_grad(f, every)(ONE + 1, 1.3, loop)
    close(fg.value_and_grad(f, every)(ONE + 1, 1.3, fg.while_loop, checkpoint=checkpoint), expected)
    second = fg.grad(lambda x, a, *r, **k: np.sum(fg.grad(f)(x, a, *r, **k)), every)
    close(second(ONE + 1, 1.3, fg.while_loop, checkpoint=checkpoint), second(ONE + 1, 1.3, loop))


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("checkpoint", [None, 2, fg.Binomial(2)], ids=str)
def test_compositions(name: str, checkpoint: Any) -> None:
    """Of loops whose length depends on the data."""

    def f(run: Any, **k: Any) -> Any:
        def g(x: Any) -> Any:
            cond = lambda s: (np.sum(s[0] ** 2) < 30.0) & (s[1] < 8)
            body = lambda s: (s[0] * 1.4 + np.sin(s[0][::-1] * x), s[1] + 1)
            return run(cond, body, (x, 0), **k)[0]

        return g

    close(COMPOSITIONS[name](f(fg.while_loop, checkpoint=checkpoint)), COMPOSITIONS[name](f(loop)), 1e-8)


@pytest.mark.parametrize("checkpoint", CHECKPOINTS, ids=str)
def test_lanes_that_end_apart(checkpoint: Any) -> None:
    """Each lane stops by itself, forwards and backwards."""
    a = np.array([1.0, 2.0, 500.0, 9e4])
    f = root(fg.while_loop, checkpoint=checkpoint)
    same(fg.vmap(f)(a), np.array([root(loop)(x) for x in a]))
    expected = np.array([fg.grad(root(loop))(x) for x in a])
    close(fg.vmap(fg.grad(f))(a), expected)
    close(fg.grad(lambda a: np.sum(fg.vmap(f)(a)))(a), expected)
    close(fg.vmap(fg.grad(fg.grad(f)))(a), np.array([fg.grad(fg.grad(root(loop)))(x) for x in a]))
    close(fg.vmap(lambda x: fg.jvp(f, (x,), (2.0,))[1])(a), 2 * expected)


@pytest.mark.parametrize("checkpoint", CHECKPOINTS, ids=str)
def test_infinite_partials_in_finished_lanes(checkpoint: Any) -> None:
    """A lane that has ended is not poisoned by what its state would give: 1 / 0 and sqrt'(0) there are no nan."""

    def f(x: Any) -> Any:
        return fg.while_loop(lambda s: s > 0.5, lambda s: np.sqrt(s - 0.5) / 2 + 0.0 / s, x, checkpoint=checkpoint)

    def by_hand(x: float) -> Any:
        while x > 0.5:
            x = np.sqrt(x - 0.5) / 2 + 0.0 / x
        return x

    a = np.array([0.0, 0.5, 0.75, 10.0])
    with np.errstate(all="ignore"):
        same(fg.vmap(f)(a), np.array(list(map(by_hand, a))))
        found = [fg.vmap(fg.grad(f))(a), fg.grad(lambda a: np.sum(fg.vmap(f)(a)))(a), fg.vmap(lambda x: fg.jvp(f, (x,), (1.0,))[1])(a)]
        for g in found:
            close(g, np.array([fg.grad(by_hand)(x) for x in a]))


def test_bodies_that_look_or_raise() -> None:
    """They run step by step: right, and without a warning."""
    body = lambda s: s * 2 if s > 10 else s + 1
    same(fg.while_loop(lambda s: s < 100, body, 0.0), np.float64(loop(lambda s: s < 100, body, 0.0)))
    same(fg.while_loop(lambda s: bool(s < 100), body, 0.0), np.float64(176.0))
    close(fg.grad(lambda x: fg.while_loop(lambda s: s < 100, body, x))(0.5), 16.0)
    close(fg.vmap(lambda x: fg.while_loop(lambda s: s < 100, body, x))(X), np.array([loop(lambda s: s < 100, body, x) for x in X]))
    with pytest.raises(KeyError):
        fg.while_loop(lambda s: s < 3, lambda s: {}[0], 0.0)


def test_impure_bodies() -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match=r"while_loop.*something else at each step.*test_while_loop.py") as caught:
        fg.while_loop(lambda s: s < 10, lambda s: s + rng.uniform(), 0.0)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_results_are_ones_own() -> None:
    """Frozen, in nobody else's memory; and what was given stays writeable."""
    init, kept = np.zeros(3), np.ones(3)
    for cond in (lambda s: s[0] < 0.5, lambda s: s[0] < -1):
        for body in (lambda s: kept, lambda s: kept if s[0] < 5 else s):
            y = fg.while_loop(cond, body, init)
            assert not y.flags.writeable
            assert not np.shares_memory(y, init)
            assert not np.shares_memory(y, kept)
    assert init.flags.writeable
    assert kept.flags.writeable


def test_threads() -> None:
    a = np.linspace(1, 50, 20)
    g = fg.vmap(fg.grad(root(fg.while_loop)))
    expected, found = g(a), []
    threads = [threading.Thread(target=lambda: found.append([g(a) for _ in range(8)])) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 8
    for values in found:
        same(values, [expected] * 8)


# ---- fori_loop


@pytest.mark.parametrize("bounds", [(0, 5), (2, 5), (-3, 2), (5, 2), (3, 3), (np.int8(1), np.int64(4))])
def test_counted(bounds: Any) -> None:
    body = lambda i, x: x * 1.5 + i
    same(fg.fori_loop(*bounds, body, 1.0), np.float64(counted(*bounds, body, 1.0)))
    close(fg.grad(lambda x: fg.fori_loop(*bounds, body, x))(1.0), 1.5 ** max(0, int(bounds[1]) - int(bounds[0])))


def test_counted_indices() -> None:
    """The counter may be an index, and a power."""
    f = lambda run: lambda x: run(0, 3, lambda i, s: s + x[i] ** 2 * (i + 1), 0.0)
    close(fg.grad(f(fg.fori_loop))(X), fg.grad(f(counted))(X))
    close(fg.hessian(f(fg.fori_loop))(X), fg.hessian(f(counted))(X))


@pytest.mark.parametrize("checkpoint", CHECKPOINTS, ids=str)
def test_traced_bounds(checkpoint: Any) -> None:
    """Under vmap by a bound, and in the body of another loop."""
    n = np.array([0, 1, 4])
    f = lambda run, **k: lambda x, n: run(0, n, lambda i, s: np.sin(s * x) + i, x, **k)
    mine, plain = f(fg.fori_loop, checkpoint=checkpoint), f(counted)
    same(fg.vmap(mine)(X, n), np.array([plain(*row) for row in zip(X, n, strict=True)]))
    close(fg.vmap(fg.grad(mine))(X, n), np.array([fg.grad(plain)(*row) for row in zip(X, n, strict=True)]))
    close(fg.vmap(mine, (None, 0))(0.3, n), np.array([plain(0.3, k) for k in n]))

    def outer(x: Any) -> Any:
        return fg.scan(lambda s, k: (mine(s, k), s), x, np.arange(4))[0]

    def outer_plain(x: Any) -> Any:
        for k in range(4):
            x = plain(x, k)
        return x

    close(fg.value_and_grad(outer)(0.3), fg.value_and_grad(outer_plain)(0.3))
    close(fg.vmap(fg.grad(outer))(X), np.array([fg.grad(outer_plain)(x) for x in X]))
    close(fg.grad(fg.grad(outer))(0.3), fg.grad(fg.grad(outer_plain))(0.3))


# ---- nests


def test_scan_in_scan_in_while_in_cond() -> None:
    def nest(scan: Any, run: Any, cond: Any) -> Any:
        inner = lambda s, x: (np.tanh(s + x), s * x)
        outer = lambda s, r: (scan(inner, s, r)[0], None)
        body = lambda s: (scan(outer, s[0], MANY * s[0])[0] + s[0], s[1] + 1)
        going = lambda x: run(lambda s: (s[0] < 5) & (s[1] < 4), body, (x, 0))[0]
        return lambda x: cond(x > 0, going, lambda x: x * x, x)

    def plain_scan(f: Any, s: Any, xs: Any) -> Any:
        for x in xs:
            s, _ = f(s, x)
        return s, None

    mine = nest(fg.scan, fg.while_loop, fg.cond)
    plain = nest(plain_scan, loop, lambda p, f, g, x: f(x) if p else g(x))
    a = np.array([-1.0, 0.2, 0.9, 3.0])
    close(fg.vmap(mine)(a), np.array([plain(x) for x in a]))
    for d in (fg.grad, lambda f: fg.grad(fg.grad(f)), lambda f: lambda y: fg.jvp(f, (y,), (1.0,))[1]):
        close(np.array([d(mine)(x) for x in a]), np.array([d(plain)(x) for x in a]))
        close(fg.vmap(d(mine))(a), np.array([d(plain)(x) for x in a]))


# ---- errors


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fg.while_loop(lambda s: True, lambda s: {"x": s["x"] * 2.0}, {"x": np.int64(3)}), TypeError, r"value\['x'\] is int64"),
        (lambda: fg.while_loop(lambda s: True, lambda s: s + 1 if s < 1 else s + X, 0.0), TypeError, r"float64 before .* float64\[3\]"),
        (lambda: fg.while_loop(lambda s: True, lambda s: (s, s), 0.0), TypeError, "the new value must have the structure of the old one"),
        (lambda: fg.while_loop(lambda s: s < 9, lambda s: s, X), TypeError, r"must return one bool, got bool\[3\]"),
        (lambda: fg.while_loop(lambda s: None, lambda s: s, X), TypeError, "must return one bool, got None"),
        (lambda: fg.while_loop(lambda s: True, lambda s: s, {"a": "b"}), TypeError, r"init_val\['a'\] is a str"),
        (lambda: fg.while_loop(lambda s: True, lambda s: s, X, checkpoint=-1), ValueError, "checkpoint must be a positive"),
        (lambda: fg.fori_loop(0, 5.0, lambda i, s: s, X), TypeError, "upper must be a whole number, got float"),
        (lambda: fg.fori_loop("a", 5, lambda i, s: s, X), TypeError, "lower must be a whole number, got a str"),
        (lambda: fg.vmap(lambda n: fg.fori_loop(0, n, lambda i, s: s, 1.0))(X), TypeError, "upper must be a whole number"),
    ],
)  # fmt: skip
def test_mistakes(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert isinstance(caught.value, errors.FuncgradError)
