"""`defbatch`: a rule of one's own for `vmap`, beside derivatives by rule and by code.

The function is `sum sin(x) w`; its derivative rules have a factor 7 in `x` and 5 in `w`, so that they are seen at work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.core import Traced

X = np.array([[0.3, -0.7], [1.1, 0.4], [-0.2, 0.9]])
W = np.array([1.0, 2.0])
BY_X, BY_W = 7 * np.cos(X) * W, 5 * X
BY_X_X = [np.diag(row) for row in -7 * np.sin(X) * W]


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-10, atol=1e-12)


Seen = list[tuple[int, Any]]


def with_batch(f: Any) -> tuple[Any, Seen]:
    """`f` with a batch rule that takes notes."""
    seen: Seen = []

    @f.defbatch
    def rule(size, batched, x, w):
        seen.append((size, batched))
        x, w = (v if b else np.broadcast_to(v, (size, *v.shape)) for v, b in zip((x, w), batched, strict=True))
        return np.sum(np.sin(x) * w, -1), True

    return f, seen


def by_jvp() -> Any:
    f = fg.custom_jvp(lambda x, w: np.sin(x) @ w)
    f.defjvp(lambda p, t: (f(*p), 7 * (np.cos(p[0]) * t[0]) @ p[1] + 5 * p[0] @ t[1]))
    return f


def by_jvps() -> Any:
    f = fg.custom_jvp(lambda x, w: np.sin(x) @ w)
    f.defjvps(lambda t, out, x, w: 7 * (np.cos(x) * t) @ w, lambda t, out, x, w: 5 * x @ t)
    return f


def by_vjp() -> Any:
    f = fg.custom_vjp(lambda x, w: np.sin(x) @ w)
    f.defvjp(lambda x, w: (f(x, w), (x, w)), lambda r, ct: (7 * np.cos(r[0]) * r[1] * ct, 5 * r[0] * ct))
    return f


MADE = pytest.mark.parametrize("make", [by_jvp, by_jvps, by_vjp])


@MADE
def test_values(make: Callable[[], Any]) -> None:
    """The rule computes them, and is told which arguments are batched; alone, the function computes its own."""
    f, seen = with_batch(make())
    close(fg.vmap(f, (0, None))(X, W), np.sin(X) @ W)
    close(fg.vmap(f, (None, 0))(X[0], np.stack([W, 2 * W])), np.sin(X[0]) @ W * np.array([1, 2]))
    close(fg.vmap(f, (1, 0))(X.T, np.stack([W] * 3)), np.sin(X) @ W)
    assert seen == [(3, (True, False)), (2, (False, True)), (3, (True, True))]
    close(f(X[0], W), np.sin(X[0]) @ W)
    assert len(seen) == 3


@MADE
def test_derivatives_are_by_their_own_rules(make: Callable[[], Any]) -> None:
    """In all orders, while the batch rule computes the values."""
    f, seen = with_batch(make())
    total = lambda x, w: np.sum(fg.vmap(f, (0, None))(x, w))
    for compute in (
        lambda: fg.vmap(fg.grad(f), (0, None))(X, W),
        lambda: fg.grad(total)(X, W),
        lambda: fg.vmap(fg.jacrev(f), (0, None))(X, W),
        lambda: fg.vmap(fg.vmap(fg.grad(f), (0, None)), (0, None))(X[:, None], W)[:, 0],
    ):
        close(compute(), BY_X)
        assert seen
        seen.clear()
    close(fg.grad(total, 1)(X, W), np.sum(BY_W, 0))
    close(fg.vmap(fg.jacrev(fg.grad(f)), (0, None))(X, W), BY_X_X)
    close(fg.grad(lambda x: np.sum(fg.vmap(fg.grad(f), (0, None))(x, W)))(X), -7 * np.sin(X) * W)
    close(fg.grad(lambda x: np.sum(fg.grad(total)(x, W)))(X), -7 * np.sin(X) * W)


@pytest.mark.parametrize("make", [by_jvp, by_jvps])
def test_forward_mode(make: Callable[[], Any]) -> None:
    """The same."""
    f, seen = with_batch(make())
    close(fg.jvp(fg.vmap(f, (0, None)), (X, W), (X, W))[1], np.sum(BY_X * X + BY_W * W, 1))
    assert seen
    close(fg.vmap(lambda x: fg.jvp(f, (x, W), (x, W))[1])(X), np.sum(BY_X * X + BY_W * W, 1))
    close(fg.vmap(fg.hessian(f), (0, None))(X, W), BY_X_X)


@MADE
def test_nested_lanes(make: Callable[[], Any]) -> None:
    """The rule batches the innermost lanes, and is an ordinary program to the others."""
    f, seen = with_batch(make())
    both = fg.vmap(lambda x: fg.vmap(lambda w: f(x, w))(np.stack([W, 2 * W])))
    close(both(X), np.stack([np.sin(X) @ W, 2 * np.sin(X) @ W], 1))
    assert seen == [(2, (False, True))]
    close(fg.grad(lambda x: np.sum(both(x)))(X), 3 * BY_X)


def test_trees_static_arguments_and_shared_outputs() -> None:
    """`in_batched` has the structure of the arguments, and `out_batched` goes as far as it needs to."""
    seen: list[Any] = []
    f = fg.custom_vjp(lambda g, p, n: {"y": g(p["a"]) * p["b"], "b": p["b"] * n}, nondiff_argnums=0)
    f.defvjp(lambda g, p, n: (f(g, p, n), p["b"]), lambda g, b, ct: ({"a": 9.0 * ct["y"] * b, "b": None}, None))

    @f.defbatch
    def rule(size, batched, g, p, n):
        seen.append(batched)
        return {"y": g(p["a"]) * p["b"], "b": p["b"] * n}, {"y": True, "b": False}

    mapped = fg.vmap(lambda p: f(np.exp, p, 3), ({"a": 0, "b": None},), {"y": 0, "b": None})
    out = mapped({"a": X, "b": W})
    close(out["y"], np.exp(X) * W)
    close(out["b"], 3 * W)
    assert seen == [(False, {"a": True, "b": False}, False)]
    close(fg.grad(lambda a: np.sum(fg.vmap(lambda a: f(np.exp, {"a": a, "b": W}, 3))(a)["y"]))(X), np.broadcast_to(9.0 * W, X.shape))


def test_a_rule_that_says_nothing_of_a_lane() -> None:
    """Where the function closes over a lane, it is run itself; a rule that closes over one must not."""

    def f(x, y):
        f, _ = with_batch(by_vjp())
        g = fg.custom_vjp(lambda x: f(x, W) * y)
        g.defvjp(lambda x: (g(x), x), lambda x, ct: (9 * ct * y * W,))
        g.defbatch(lambda size, batched, x: (np.sum(np.sin(x) * W, -1), True))
        return g(x)

    y = np.array([1.0, 2.0, 3.0])
    close(fg.vmap(f)(X, y), np.sin(X) @ W * y)
    close(fg.grad(lambda x, y: np.sum(fg.vmap(f)(x, y)), (0, 1))(X, y)[0], 9 * np.outer(y, W))
    close(fg.grad(lambda x, y: np.sum(fg.vmap(f)(x, y)), (0, 1))(X, y)[1], np.sin(X) @ W)


def test_wrapping_keeps_it() -> None:
    """A custom function around another has its batch rule, as it has its other rules."""
    f, seen = with_batch(by_jvp())
    close(fg.vmap(fg.custom_vjp(f), (0, None))(X, W), np.sin(X) @ W)
    assert seen


def test_an_empty_batch() -> None:
    """The rule is told that there is nothing."""
    f, seen = with_batch(by_vjp())
    none = np.zeros((0, 2))
    assert fg.vmap(f, (0, None))(none, W).shape == (0,)
    assert seen == [(0, (True, False))]
    assert fg.grad(lambda x: np.sum(fg.vmap(f, (0, None))(x, W)))(none).shape == (0, 2)


def test_in_a_checkpoint() -> None:
    """The rules are kept."""
    f, seen = with_batch(by_vjp())
    kept = fg.checkpoint(f)
    close(fg.vmap(fg.grad(kept), (0, None))(X, W), BY_X)
    close(fg.grad(lambda x: np.sum(fg.vmap(kept, (0, None))(x, W)))(X), BY_X)
    assert seen


# ---- custom_vmap


def by_code() -> tuple[Any, Seen]:
    return with_batch(fg.custom_vmap(lambda x, w: np.sin(x) @ w))


def test_custom_vmap() -> None:
    """Values by the rule, and derivatives by code: the rule's outside of a `vmap`, the function's inside."""
    f, seen = by_code()
    total = lambda x, w: np.sum(fg.vmap(f, (0, None))(x, w))
    close(fg.vmap(f, (0, None))(X, W), np.sin(X) @ W)
    close(fg.grad(total, (0, 1))(X, W)[0], np.cos(X) * W)
    close(fg.grad(total, (0, 1))(X, W)[1], np.sum(np.sin(X), 0))
    close(fg.jvp(total, (X, W), (X, W))[1], np.sum(np.cos(X) * W * X + np.sin(X) * W))
    close(fg.vmap(lambda w: fg.vmap(f, (0, None))(X, w))(np.stack([W, 2 * W])), np.stack([np.sin(X) @ W, 2 * np.sin(X) @ W]))
    close(fg.hessian(total)(X, W).reshape(6, 6), np.diag((-np.sin(X) * W).ravel()))
    assert seen
    seen.clear()
    close(fg.vmap(fg.grad(f), (0, None))(X, W), np.cos(X) * W)
    close(fg.vmap(fg.hessian(f), (0, None))(X, W), [np.diag(row) for row in -np.sin(X) * W])
    close(fg.jvp(f, (X[0], W), (X[0], W))[1], np.sum(np.cos(X[0]) * W * X[0] + np.sin(X[0]) * W))
    assert not seen


def test_custom_vmap_closing_over() -> None:
    """Lanes and traced values are found as by all custom functions."""

    def f(x, y):
        f = fg.custom_vmap(lambda x: np.sin(x) * y)
        f.defbatch(lambda size, batched, x: (np.sin(x) * y, True))
        return f(x)

    y = np.array([1.0, 2.0])
    for transformed in (fg.grad(lambda x, y: np.sum(fg.vmap(f)(x, y)), (0, 1)), fg.vmap(fg.grad(f, (0, 1)))):
        close(transformed(X[0], y), (np.cos(X[0]) * y, np.sin(X[0])))
    close(fg.grad(lambda x, y: np.sum(fg.vmap(lambda x: f(x, y))(x)), (0, 1))(X[0], 2.0)[1], np.sum(np.sin(X[0])))
    assert fg.grad(lambda x: fg.grad(lambda y: f(x, y))(2.0))(0.3) == np.cos(0.3)


def test_custom_vmap_has_no_derivative_rules() -> None:
    """It says which function has."""
    f, _ = by_code()
    for define in (lambda: f.defjvp(None), lambda: f.defjvps(None), lambda: f.defvjp(None, None)):
        with pytest.raises(errors.ArgumentTypeError, match=r"custom_vmap: it has no `def.*`: .* Write `@custom_.*`, with `defbatch`\."):
            define()


# ---- what a rule may not give


def twice(rule: Callable[..., Any]) -> Any:
    f = fg.custom_jvp(lambda p: {"y": p["a"] * 2, "z": 1.0})
    f.defjvps(lambda t, out, p: {"y": t["a"] * 2, "z": None})
    f.defbatch(rule)
    return fg.vmap(f)


HAVE = [
    (lambda n, b, p: p["a"], "it must return a pair (output, which of it is batched), got float64[3, 2]."),
    (lambda n, b, p: ({"y": p["a"]}, True, 1), "it must return a pair (output, which of it is batched), got a tuple of length 3."),
    (
        lambda n, b, p: ({"y": p["a"][0], "z": 1.0}, {"y": True, "z": False}),
        "the output['y'] is said to be batched, so its first axis must have size 3, got float64[2].",
    ),
    (
        lambda n, b, p: ({"y": p["a"], "z": "a word"}, True),
        "the output['z'] is said to be batched, so its first axis must have size 3, got a str.",
    ),
    (
        lambda n, b, p: ({"y": p["a"], "z": 1.0}, {"y": True}),
        "what says which of the output is batched must have its structure: got TreeDef({'y': *}), expected TreeDef({'y': *, 'z': *}).",
    ),
    (lambda n, b, p: ({"y": p["a"], "z": 1.0}, {"y": 0, "z": False}), "whether the output['y'] is batched must be True or False, got int."),
]


@pytest.mark.parametrize(("rule", "message"), HAVE)
def test_what_a_rule_may_not_give(rule: Any, message: str) -> None:
    """Above and below derivatives, in the user's words."""
    f = twice(rule)
    for transformed in (f, fg.grad(lambda p: np.sum(f(p)["y"]))):
        with pytest.raises(errors.RuleResultError) as caught:
            transformed({"a": X})
        assert str(caught.value) == f"the batch rule of <lambda>: {message}"


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (lambda x: [x * 2], "its output must have the structure of the function's: got TreeDef(*), expected TreeDef([*])."),
        (
            lambda x: np.float32(2.0) * x.astype(np.float32),
            "the output must be as the function gives it: got float64[2], expected float32[2].",
        ),
        (lambda x: np.sum(x), "the output must be as the function gives it: got float64[2], expected float64[]."),
    ],
)
def test_derivative_rules_give_the_output_of_the_function(own: Any, message: str) -> None:
    """Where the function itself runs as well, in lanes or by its batch rule, both must agree."""
    f = fg.custom_jvp(own)
    f.defjvp(lambda p, t: (p[0] * 2, t[0] * 2))
    with pytest.raises(errors.RuleResultError) as caught:
        fg.vmap(fg.grad(lambda x: np.sum(f(x))))(X)
    assert str(caught.value) == f"the jvp rule of <lambda>: {message}"


def test_no_derivative_rule() -> None:
    """A batch rule is none."""
    f = fg.custom_jvp(np.sin)
    f.defbatch(lambda n, b, x: (np.sin(x), True))
    with pytest.raises(errors.NoRuleError):
        fg.vmap(fg.grad(f))(W)


# ---- external


def test_external() -> None:
    """The batch rule of a black box sees plain values alone, and all examples in one call; older lanes are calls of their own."""
    calls: list[str] = []

    def one(x, w):
        assert type(x) is np.ndarray
        calls.append("one")
        return float(np.array([math.sin(v) for v in x.tolist()]) @ w)

    def all_at_once(size, batched, x, w):
        assert not isinstance(x, Traced)
        assert type(x) is np.ndarray
        calls.append("all")
        x, w = (v if b else np.broadcast_to(v, (size, *v.shape)) for v, b in zip((x, w), batched, strict=True))
        return np.sum(np.sin(x) * w, -1), True

    f = fg.external(one, vjp=lambda p, out, ct: (7 * np.cos(p[0]) * p[1] * ct, 5 * p[0] * ct), batch=all_at_once)
    close(fg.vmap(f, (0, None))(X, W), np.sin(X) @ W)
    close(fg.vmap(fg.grad(f), (0, None))(X, W), BY_X)
    close(fg.grad(lambda x: np.sum(fg.vmap(f, (0, None))(x, W)))(X), BY_X)
    assert calls == ["all"] * 3
    calls.clear()
    close(fg.vmap(lambda w: fg.vmap(f, (0, None))(X, w))(np.stack([W, 2 * W])), np.stack([np.sin(X) @ W, 2 * np.sin(X) @ W]))
    assert calls == ["all"] * 2
    calls.clear()
    f(X[0], W)
    assert calls == ["one"]
    bad = fg.external(one, derivative="central", batch=lambda size, batched, x, w: x)
    for wrong in (lambda: fg.vmap(bad, (0, None))(X, W), lambda: fg.vmap(lambda w: fg.vmap(bad, (0, None))(X, w))(np.stack([W, W]))):
        with pytest.raises(errors.RuleResultError, match="the batch rule of one: it must return a pair"):
            wrong()
    plain = fg.external(one, derivative="central", batch=all_at_once)
    np.testing.assert_allclose(fg.vmap(fg.grad(plain), (0, None))(X, W), np.cos(X) * W, rtol=1e-8)
