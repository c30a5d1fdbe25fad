"""Transformations on top of each other: axes of `vmap`, loops and branches, checkpoints, linear maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.hard_cases.kit import close, gradient, numbers

ROWS = numbers(4, 3)


def test_axes_in_a_tree() -> None:
    """`in_axes` in the form of the arguments: a dict whose matrix is mapped along its columns and whose shift is shared."""
    f = lambda p, x: p["w"] @ x + p["b"]
    w, x = numbers(3, 5, seed=1), numbers(3, seed=2)
    close(fg.vmap(f, ({"w": 1, "b": None}, None))({"w": w, "b": 2.0}, x), w.T @ x + 2.0)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_axes_of_results(axis: int) -> None:
    """The examples' axis goes where it is told, another one for each leaf."""
    f = lambda x: {"m": np.outer(x, x), "s": np.sum(x)}
    found = fg.vmap(f, out_axes={"m": axis, "s": 0})(ROWS)
    close(found, {"m": np.moveaxis(ROWS[:, :, None] * ROWS[:, None], 0, axis), "s": ROWS.sum(1)})


def test_batch_sizes_that_differ() -> None:
    """Both are named."""
    with pytest.raises(errors.BatchAxisError, match=r"size 3 .* size 4"):
        fg.vmap(np.add)(np.ones(3), np.ones(4))


def test_gradients_of_each_example() -> None:
    """2 (x @ w - y) x."""
    w, y = numbers(3, seed=1), numbers(4, seed=2)
    found = fg.vmap(fg.grad(lambda w, x, y: (x @ w - y) ** 2), (None, 0, 0))(w, ROWS, y)
    close(found, 2 * (ROWS @ w - y)[:, None] * ROWS)


@pytest.mark.parametrize("branch", [lambda x: fg.cond(x > 0, np.square, np.negative, x), lambda x: x * x if x > 0 else -x])
def test_slopes_of_branches(branch: Any) -> None:
    close(fg.vmap(fg.grad(branch))(np.array([-2.0, 3.0, 0.5, -0.1])), [-1.0, 6.0, 1.0, -1.0])


def test_counts_that_differ() -> None:
    """x doubled n times: 2ⁿ x, and 2ⁿ for its slope, whichever loop it is."""
    n, x = np.array([0, 3, 1, 5]), np.array([1.0, 2.0, -1.0, 0.5])

    def python(x: Any, n: Any) -> Any:
        for _ in range(int(n)):
            x = x * 2
        return x

    counted = lambda x, n: fg.fori_loop(0, n, lambda _, x: x * 2, x)
    waited = lambda x, n: fg.while_loop(lambda c: c[1] > 0, lambda c: (c[0] * 2, c[1] - 1), (x, n))[0]
    for f in (python, counted, waited):
        close(fg.vmap(f)(x, n), x * 2.0**n)
        close(fg.vmap(fg.grad(f))(x, n), 2.0**n)


def test_indices_of_each_example() -> None:
    """Picked entries, and their scattered gradient."""
    i = np.array([2, 0, 1, 2])
    pick = lambda x, i: x[i] ** 2
    close(fg.vmap(pick)(ROWS, i), ROWS[np.arange(4), i] ** 2)
    expected = np.zeros((4, 3))
    expected[np.arange(4), i] = 2 * ROWS[np.arange(4), i]
    close(fg.vmap(fg.grad(pick))(ROWS, i), expected)
    close(fg.grad(lambda x: np.sum(fg.vmap(pick, (None, 0))(x, i)))(ROWS[0]), 2 * ROWS[0] * np.bincount(i))


def test_slopes_of_norms() -> None:
    """x / |x| for each row."""
    norm = lambda x: np.linalg.norm(x)
    expected = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    for d in (fg.grad, fg.jacrev, fg.jacfwd):
        close(fg.vmap(d(norm))(ROWS), expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.solve(a @ a.T + np.eye(3), a[0]),
        lambda a: np.linalg.det(a),
        lambda a: np.linalg.cholesky(a @ a.T + np.eye(3)),
        lambda a: np.einsum("ij,jk->ki", a, a),
        lambda a: np.tensordot(a, a, 1),
        lambda a: np.concatenate([a, a.T[:1]]),
        lambda a: np.sort(a, axis=None),
        lambda a: np.argmax(a, axis=1),
        lambda a: fg.scan(lambda c, row: (np.tanh(c @ a) + row, c * row), a[0], a)[1],
        lambda a: fg.jvp(lambda x: x @ x, (a,), (a.T,)),
        lambda a: fg.vmap(lambda row: np.outer(row, row), out_axes=1)(a),
    ],
    ids="solve det cholesky einsum tensordot concatenate sort argmax scan jvp vmap".split(),
)
def test_examples_at_once(f: Any) -> None:
    """As one after the other, with as many examples as there are rows."""
    many = numbers(3, 3, 3, seed=3)
    found, alone = fg.vmap(f)(many), [f(a) for a in many]
    close(found, fg.tree.map(lambda *rows: np.stack(rows), *alone))


def test_scan_in_what_it_gets_and_closes_over() -> None:
    """The product of xs, times aⁿ: gradients P/x and n P/a; the ys are the partial products."""
    x = np.array([1.5, -2.0, 0.5])
    f = lambda a, x: fg.scan(lambda c, x: (c * x * a, c), 1.0, x)[0]
    close(f(2.0, x), 8 * np.prod(x))
    close(gradient(f, 2.0, x, argnums=(0, 1)), (12 * np.prod(x), 8 * np.prod(x) / x))
    close(fg.scan(lambda c, x: (c * x, c), 1.0, x)[1], [1.0, 1.5, -3.0])


def test_a_while_of_conds_in_a_scan() -> None:
    """Four multiplications, of which a loop that is bounded by `cond` makes one at a time: x⁴, whose slope at 3 is 108."""

    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            y, n = c
            return fg.cond(n < 4, lambda y: (y * x, n + 1), lambda y: (y, n), y), None

        return fg.scan(step, (1.0, 0), None, 10)[0][0]

    close(f(3.0), 81.0)
    close(gradient(f, 3.0), 108.0)
    close(fg.grad(fg.grad(f))(3.0), 108.0)


def test_loops_of_no_steps() -> None:
    """The carry as it was, and ys of length 0 in the form of the ys."""
    carry, ys = fg.scan(lambda c, x: ({"c": c["c"] + x["x"]}, (x["x"], {"two": np.ones(2)})), {"c": 1.5}, {"x": np.zeros(0)})
    assert carry == {"c": 1.5}
    assert ys[0].shape == (0,)
    assert ys[1]["two"].shape == (0, 2)


@pytest.mark.parametrize("lanes", [False, True])
def test_the_branch_that_is_not_taken(lanes: bool) -> None:
    """1/x and log at 0 in the other branch: slope 0, and no nan."""
    f = lambda x: fg.cond(x > 0, lambda x: np.log(x) / x, lambda x: x * 0.0, x)
    with np.errstate(all="ignore"):
        found = fg.vmap(fg.grad(f))(np.zeros(3)) if lanes else fg.grad(f)(0.0)
    close(found, np.zeros(3) if lanes else 0.0)


def test_squaring_until_it_is_enough() -> None:
    """Three squarings: x⁸, slope 8 x⁷, in both modes, which need not know how often."""
    f = lambda x: fg.while_loop(lambda c: c < 100.0, lambda c: c * c, x)
    close(gradient(f, 2.0), 8 * 2.0**7)
    close(fg.grad(fg.grad(f))(2.0), 56 * 2.0**6)


def test_counted_powers() -> None:
    f = lambda x: fg.fori_loop(0, 5, lambda i, c: c * x, 1.0)
    close(gradient(f, 1.3), 5 * 1.3**4)


def test_checkpoint_of_a_list() -> None:
    """A function that returns a list has a gradient that is not zero."""
    close(gradient(lambda x: fg.checkpoint(lambda x: [x, 2 * x])(x)[0], 3.0), 1.0)


def test_checkpoint_of_what_it_closes_over() -> None:
    """d/dx xy = y and d/dy = x, although y is no argument."""
    close(fg.grad(lambda x, y: fg.checkpoint(lambda x: x * y)(x), (0, 1))(2.0, 5.0), (5.0, 2.0))
    close(fg.grad(lambda y: fg.grad(fg.checkpoint(lambda x: x * x * y))(3.0))(5.0), 6.0)


def test_a_linear_map_that_lasts() -> None:
    """cos(x) dx, as often as wanted."""
    x = numbers(3)
    y, push = fg.linearize(np.sin, x)
    close(y, np.sin(x))
    for scale in (1.0, -2.0, 0.0):
        close(push(scale * x), np.cos(x) * scale * x)


@pytest.mark.parametrize(
    ("ct", "said"),
    [({"a": np.ones(3)}, "structure"), ({"a": np.ones(2), "b": 1.0}, r"shape \[3\]"), (np.ones(3), "structure")],
    ids=["a leaf too few", "shape", "an array"],
)
def test_cotangents_that_do_not_fit(ct: Any, said: str) -> None:
    """An error that names what was expected."""
    _, pull = fg.vjp(lambda x: {"a": x, "b": np.sum(x)}, np.ones(3))
    with pytest.raises(errors.FuncgradError, match=said):
        pull(ct)
