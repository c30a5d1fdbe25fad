"""`cond` and `switch` are Python's `if` and `branches[i]`, also in recordings and where lanes differ."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.borrow import COPY_LIMIT
from tests.control.plain import COMPOSITIONS, ONE, close, loop, same

X = np.array([1.0, 2.0, 3.0])
PREDS = np.array([True, False, True, False])


def chosen(p: Any, f: Any, g: Any, *operands: Any) -> Any:
    return f(*operands) if p else g(*operands)


def picked(i: Any, branches: Any, *operands: Any) -> Any:
    return branches[min(max(int(i), 0), len(branches) - 1)](*operands)


def scanned(f: Any) -> Any:
    """A function of a predicate and a number, where `cond` is recorded: in the body of a loop."""
    return lambda p, x: fg.scan(lambda c, p: (f(p, c), None), x, p)[0]


# ---- outside of recordings


@pytest.mark.parametrize("pred", [True, False, np.True_, np.False_, 1, 0.0, np.array(1), np.array(False), fg.tensor(True)])
def test_plain(pred: Any) -> None:
    """One branch runs, with operands as they are: trees, strings, anything."""
    ran = []
    f = lambda x, s: ran.append(1) or {"x": x + 1, "s": s}
    g = lambda x, s: ran.append(2) or [x, s]
    assert fg.cond(pred, f, g, 2, "s") == chosen(bool(pred), f, g, 2, "s")
    assert ran == [1, 1] if bool(pred) else [2, 2]
    assert fg.cond(pred, lambda: 1, lambda: 2) == (1 if bool(pred) else 2)


def test_differentiated_predicates() -> None:
    """A look at a value that is differentiated is a look; the branch that is taken is differentiated."""
    f = lambda cond: lambda x: cond(x > 0.5, np.sin, lambda x: x**3, x)
    for x in (0.3, 0.9):
        for d in (fg.grad, lambda f: fg.grad(fg.grad(f)), fg.hessian):
            close(d(f(fg.cond))(x), d(f(chosen))(x))


@pytest.mark.parametrize("i", [-5, 0, 1, 2, 9, np.int8(1), True])
def test_switch(i: Any) -> None:
    """An index out of range takes the nearest branch."""
    branches = [np.sin, np.cos, np.tan]
    same(fg.switch(i, branches, 0.5), picked(i, branches, 0.5))
    assert fg.grad(lambda x: fg.switch(i, branches, x))(0.5) == fg.grad(branches[min(max(int(i), 0), 2)])(0.5)


# ---- where lanes differ


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions(name: str) -> None:
    """By operands and by what branches close over, in lanes too."""

    def f(cond: Any, switch: Any) -> Any:
        def g(x: Any) -> Any:
            y = cond(np.sum(x) > 0.5, lambda y: np.sin(y) * x, lambda y: y**2 + x[::-1], np.cos(x))
            return switch((x[0] > 0.3) * 1 + (x[1] > 0) * 1, [lambda y: y * x[0], lambda y: np.tanh(y), lambda y: np.cumsum(y)], y)

        return g

    close(COMPOSITIONS[name](f(fg.cond, fg.switch)), COMPOSITIONS[name](f(chosen, picked)))


def test_lanes() -> None:
    """By predicate, by operand, by both; bit for bit."""
    f = lambda cond: lambda p, x: cond(p, lambda x: {"y": (x**2, None)}, lambda x: {"y": (-x, None)}, x)
    x = np.array([1.0, -2.0, 3.0, 0.5])
    expected = {"y": (np.where(PREDS, x**2, -x), None)}
    same(fg.vmap(f(fg.cond))(PREDS, x), expected)
    same(fg.vmap(f(fg.cond), (0, None))(PREDS, 3.0), {"y": (np.where(PREDS, 9.0, -3.0), None)})
    same(fg.vmap(f(fg.cond), (None, 0))(True, x), {"y": (x**2, None)})
    same(fg.vmap(lambda p: fg.cond(p, lambda: X, lambda: -X))(PREDS), np.where(PREDS[:, None], X, -X))
    i = np.array([-1, 0, 1, 2, 7])
    same(fg.vmap(lambda i: fg.switch(i, [np.sin, np.cos, np.tan], 0.5))(i), np.array([picked(k, [np.sin, np.cos, np.tan], 0.5) for k in i]))
    close(fg.grad(lambda a: np.sum(fg.vmap(lambda p, x: fg.cond(p, lambda: a * x, lambda: a**2))(PREDS, x)))(3.0), 4.0 + 12.0)


def test_infinite_partials_of_the_other_branch() -> None:
    """What a lane did not take adds no nan."""
    f = lambda x: fg.cond(x > 0, np.sqrt, lambda x: x * 0.0, x)
    x = np.array([0.0, 4.0, -1.0])
    with np.errstate(all="ignore"):
        same(fg.vmap(f)(x), np.array([0.0, 2.0, -0.0]))
        same(fg.vmap(fg.grad(f))(x), np.array([0.0, 0.25, 0.0]))
        same(fg.grad(lambda x: np.sum(fg.vmap(f)(x)))(x), np.array([0.0, 0.25, 0.0]))
        close(fg.vmap(lambda x: fg.jvp(f, (x,), (1.0,))[1])(x), np.array([0.0, 0.25, 0.0]))


def test_branches_without_a_program() -> None:
    """A branch that looks or raises parts the lanes, as `if` does; what is not taken may raise."""
    f = lambda cond: lambda x: cond(x > 1.5, lambda x: x if x > 2.5 else 2 * x, lambda x: -x, x)
    same(fg.vmap(f(fg.cond))(X), np.array([f(chosen)(x) for x in X]))
    same(fg.vmap(lambda x: fg.cond(x > 0, lambda x: x, lambda x: 1 / 0, x))(X), X)
    with pytest.raises(ZeroDivisionError):
        fg.vmap(lambda x: fg.cond(x > 1, lambda x: x, lambda x: 1 / 0, x))(X)


# ---- in recordings


def test_in_loops() -> None:
    """One operation of the body, of which one branch runs at each step."""
    f = lambda cond: lambda p, c: cond(p, lambda c: np.sin(c) * 2, lambda c: c**2 + 1, c)
    plain = lambda x: loop(lambda c, p: (f(chosen)(p, c), None), x, PREDS)[0]
    mine = lambda x: scanned(f(fg.cond))(PREDS, x)
    same(mine(0.3), plain(0.3))
    close(fg.grad(mine)(0.3), fg.grad(plain)(0.3))
    close(fg.grad(fg.grad(mine))(0.3), fg.grad(fg.grad(plain))(0.3))
    close(fg.vmap(mine)(X), np.array([plain(x) for x in X]))
    close(fg.vmap(scanned(f(fg.cond)), (0, None))(np.stack([PREDS, ~PREDS]), 0.3)[0], plain(0.3))


def test_one_branch_runs() -> None:
    """The other costs nothing, and raises nothing."""
    ran: list[int] = []

    def told(k: int) -> Any:
        f = fg.custom_jvp(lambda x: ran.append(k) or x)
        f.defjvp(lambda p, t: (p[0], t[0]))
        return f

    mine, other = told(0), told(1)
    scanned(lambda p, c: fg.cond(p, mine, other, c))(np.ones(50, bool), 1.0)
    assert ran.count(0) >= 50
    assert ran.count(1) < 10  # when it was recorded


def test_arrays_that_branches_write() -> None:
    kept = np.ones(3)

    def f(x: Any) -> Any:
        kept[:] = 2.0
        y = kept * x
        kept[:] = 1.0
        return y

    same(fg.vmap(lambda x: fg.cond(x > 1.5, f, lambda x: kept * x, x))(X), np.outer([1.0, 4.0, 6.0], np.ones(3)))
    big = np.ones(COPY_LIMIT)
    same(fg.vmap(lambda x: fg.cond(x > 1.5, lambda x: big[:1] * x, lambda x: -big[:1] * x, x))(X)[:, 0], np.array([-1.0, 2.0, 3.0]))
    big[:] = 2.0


def test_gradients_in_branches() -> None:
    f = lambda cond: lambda x: cond(x > 1.5, fg.grad(np.sin), lambda x: fg.grad(lambda y: x * y**3)(x), x)
    same(fg.vmap(f(fg.cond))(X), np.array([f(chosen)(x) for x in X]))
    close(fg.vmap(fg.grad(f(fg.cond)))(X), np.array([fg.grad(f(chosen))(x) for x in X]))


def test_dtypes() -> None:
    for dtype in ("float32", "complex128", "int64", "bool"):
        x = np.array([1, 0, 1, 0]).astype(dtype)
        found = fg.vmap(lambda p, x: fg.cond(p, lambda x: x, lambda x: x & True if x.dtype == bool else x * 2, x))(PREDS, x)
        same(found, np.where(PREDS, x, x & True if dtype == "bool" else x * 2))


def test_tensors() -> None:
    assert isinstance(fg.vmap(lambda p, x: fg.cond(p, np.sin, np.cos, x))(PREDS[:3], fg.tensor(ONE)), fg.Tensor)


def test_threads() -> None:
    f = fg.vmap(fg.grad(lambda x: fg.cond(x > 1.5, np.sin, np.cos, x)))
    expected, found = f(X), []
    threads = [threading.Thread(target=lambda: found.append([f(X) for _ in range(10)])) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for values in found:
        same(values, [expected] * 10)
    assert len(found) == 8


# ---- errors


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda p: fg.cond(p, lambda: {"a": 1.0}, lambda: {"a": X}), TypeError, r"the output\['a'\] is float64\[3\] in the first branch"),
        (lambda p: fg.cond(p, lambda: (1, 2.0), lambda: (1, 2)), TypeError, r"the output\[1\] is int64 .* and float64 in another"),
        (lambda p: fg.cond(p, lambda: {"a": X}, lambda: {"b": X}), TypeError, r"the output is TreeDef\({'b': \*}\) in the first"),
        (lambda p: fg.switch(p * 1, [lambda: 1.0, lambda: 1.0, lambda: 2]), TypeError, "float64 in the first branch and int64 in another"),
        (lambda p: fg.cond(p, lambda: "a", lambda: "b"), TypeError, "must be a number or an array of numbers, got a str"),
        (lambda p: fg.cond(p, lambda x: 1, lambda x: 2, {"a": "b"}), TypeError, r"operands\[0\]\['a'\] is a str"),
        (lambda p: fg.cond(X > 0, lambda: 1, lambda: 2), TypeError, r"pred must be one bool or number, got bool\[3\]"),
        (lambda p: fg.cond("a", lambda: 1, lambda: 2), TypeError, "pred must be one bool or number, got a str"),
        (lambda p: fg.cond(None, lambda: 1, lambda: 2), TypeError, "pred must be one bool or number, got None"),
        (lambda p: fg.switch(0.5, [np.sin], 1.0), TypeError, "the index must be a whole number, got float"),
        (lambda p: fg.switch(0, []), ValueError, "at least one branch"),
    ],
)  # fmt: skip
def test_mistakes(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        fg.vmap(call)(PREDS)
    assert isinstance(caught.value, errors.FuncgradError)
