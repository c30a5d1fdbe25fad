"""`check_rule` is silent about right rules, and names what is off of wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.testing import check_rule

X = np.array([0.3, -0.7, 1.1])


def cube(jvp: Any = None, vjp: Any = None, fwd: Any = None) -> Any:
    @fg.custom_vjp
    def f(x):
        return x**3

    if jvp is not None:
        f.defjvp(jvp)
    if vjp is not None:
        f.defvjp(fwd or (lambda x: (x**3, x)), vjp)
    return f


def right_jvp(primals: Any, tangents: Any) -> Any:
    return primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0]


def right_vjp(x: Any, ct: Any) -> Any:
    return (3 * x**2 * ct,)


@pytest.mark.parametrize("f", [cube(right_jvp), cube(None, right_vjp), cube(right_jvp, right_vjp), np.sin, fg.checkpoint(np.sin)])
@pytest.mark.parametrize("x", [2.0, X, X.astype(np.float32), np.float32(1.5), X + 1j, fg.tensor(X)], ids=repr)
def test_right_rules(f: Any, x: Any) -> None:
    """Whichever rules there are, for numbers and arrays, in both precisions, real and complex; and functions without rules."""
    check_rule(f, (x,))


def test_trees_and_ints() -> None:
    """Arguments and outputs are pytrees, of which the floats are checked."""

    @fg.custom_vjp
    def f(p, n):
        return {"y": p["w"] * n, "n": n}

    f.defvjp(lambda p, n: ({"y": p["w"] * n, "n": n}, n), lambda n, ct: ({"w": ct["y"] * n}, None))
    check_rule(f, ({"w": X}, 3))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (cube(lambda p, t: (p[0] ** 3, 4 * p[0] ** 2 * t[0])), "the tangent is 16.*by the jvp rule, 12.*by differences"),
        (cube(None, lambda x, ct: (4 * x**2 * ct,)), "a cotangent times a pushed tangent is .* by the vjp rule, .* by differences"),
        (cube(right_jvp, lambda x, ct: (4 * x**2 * ct,)), "the modes differ: a cotangent times a pushed tangent is .* by forward mode"),
        (cube(None, lambda x, ct: (3 * x**2 * np.clip(ct, -0.1, 0.1),)), "the vjp rule is not linear: at a combination it gives"),
        (cube(lambda p, t: (p[0] ** 3, 3 * p[0] ** 2 * t[0] ** 2)), "the jvp rule is not linear: at a combination it gives"),
        (cube(lambda p, t: (p[0] ** 4, 3 * p[0] ** 2 * t[0])), "the output of the jvp rule is 16.0, that of the function 8.0"),
        (cube(None, right_vjp, lambda x: (x**4, x)), "the output of the vjp rule is 16.0, that of the function 8.0"),
    ],
)
def test_wrong_rules(f: Any, message: str) -> None:
    """Each fault has its sentence."""
    with pytest.raises(errors.RuleError, match=f"^check_rule\\(f\\): {message}"):
        check_rule(f, (2.0,))


def test_rules_that_are_no_derivatives() -> None:
    """Linear ones pass where differences are not asked for."""
    f = fg.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (-ct,))
    check_rule(f, (X,), differences=False)
    with pytest.raises(errors.RuleError):
        check_rule(f, (X,))


def batched(rule: Any) -> Any:
    @fg.custom_jvp
    def f(x, w):
        return np.sum(x**2) * w

    f.defjvps(lambda t, out, x, w: 2 * np.sum(x * t) * w, lambda t, out, x, w: np.sum(x**2) * t)
    f.defbatch(rule)
    return f


def right_batch(size: int, marks: Any, x: Any, w: Any) -> Any:
    return np.sum(x**2, -1) * w, any(marks)


def test_a_right_batch_rule() -> None:
    """With all arguments batched, and with each of them alone."""
    check_rule(batched(right_batch), (X, 2.0))
    check_rule(batched(right_batch), (X.astype(np.float32), np.float32(2.0)))
    sine = fg.external(np.sin, jvp=lambda p, t: np.cos(p[0]) * t[0], batch=lambda size, marks, x: (np.sin(x), True))
    check_rule(sine, (X,))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda size, marks, x, w: (np.sum(x**2) * w, marks[1]), "the batch rule gives .*, a single call "),
        (
            lambda size, marks, x, w: (np.sum(x**2, -1) * w, marks[0]),
            "the batch rule gives shape \\[3\\] in each lane, a single call \\[\\]",
        ),
        (lambda size, marks, x, w: (np.sum(x**2, -1) * (w + 1e-6), any(marks)), "the batch rule gives 3.5800.*, a single call 3.58"),
    ],
)
def test_wrong_batch_rules(rule: Any, message: str) -> None:
    """One that sums over lanes, one that forgets that an argument may be batched alone, and one that is a little off."""
    with pytest.raises(errors.RuleError, match=f"^check_rule\\(f\\): {message}"):
        check_rule(batched(rule), (X, 2.0))


def test_arguments() -> None:
    """What cannot be checked is refused."""
    with pytest.raises(errors.ArgumentTypeError, match="args must be a tuple or list"):
        check_rule(np.sin, 1.0)
    with pytest.raises(errors.ArgumentTypeError, match="nothing to check"):
        check_rule(np.sin, (1,))
