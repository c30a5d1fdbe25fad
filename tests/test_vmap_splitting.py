"""Python control flow on mapped values: lanes that take different paths are runs of their own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

pytestmark = pytest.mark.usefixtures("both_paths")

X = np.array([-2.0, -0.5, 0.0, 0.3, 1.0, 7.0, -3.0, 2.5])


def bent(x: Any) -> Any:
    if x < -1:
        return -3.0 * x
    if x < 1:
        return x**2
    return np.sin(x)


def newton(x: Any) -> Any:
    """The square root of 1 + x², until it stands."""
    a, r = 1 + x * x, 1.0 + 0 * x
    for _ in range(50):
        new = 0.5 * (r + a / r)
        if abs(new - r) < 1e-13 * abs(new):
            return new
        r = new
    return r


def escape_time(c: Any) -> Any:
    z, n = 0 * c, 0
    while abs(z) < 2 and n < 30:
        z = z * z + c
        n += 1
    return n


def bisect(y: Any) -> Any:
    """The x with x³ + x = y."""
    low, high = -10.0 + 0 * y, 10.0 + 0 * y
    while high - low > 1e-9:
        middle = (low + high) / 2
        if middle**3 + middle < y:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def tax(income: Any) -> Any:
    paid = 0.0
    for bound, rate in ((1.0, 0.1), (2.0, 0.2), (5.0, 0.4)):
        if income <= bound:
            break
        paid = paid + (income - bound) * rate
    return paid


def by_loop(f: Any, *arrays: Any) -> Any:
    return np.stack([np.asarray(f(*row)) for row in zip(*arrays, strict=True)])


@pytest.mark.parametrize("X", [X, np.repeat(X, 7), np.repeat(X, [1, 9, 1, 1, 12, 1, 2, 1])], ids=["few", "groups", "both"])
@pytest.mark.parametrize("f", [bent, newton, bisect, tax], ids=lambda f: f.__name__)
def test_branches_and_loops(f: Any, X: Any) -> None:
    """Values and gradients, from inside and outside, are those of a loop; whether lanes run together or alone."""
    np.testing.assert_allclose(fg.vmap(f)(X), by_loop(f, X), rtol=1e-13)
    if f is bisect:
        return
    slopes = [fg.grad(lambda x: f(x) + 0 * x)(x) for x in X]
    np.testing.assert_allclose(fg.vmap(fg.grad(lambda x: f(x) + 0 * x))(X), slopes, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.vmap(f)(x)))(X), slopes, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fg.jvp(fg.vmap(f), (X,), (np.ones(len(X)),))[1], slopes, rtol=1e-12, atol=1e-14)
    curves = [fg.grad(fg.grad(lambda x: f(x) + 0 * x**2))(x) for x in X]
    np.testing.assert_allclose(fg.vmap(fg.grad(fg.grad(lambda x: f(x) + 0 * x**2)))(X), curves, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.diag(fg.hessian(lambda x: np.sum(fg.vmap(f)(x)))(X)), curves, rtol=1e-10, atol=1e-12)


def test_counts() -> None:
    """Whole numbers that come out of loops are stacked."""
    c = np.linspace(-2, 1, 30) + 0.5j
    found = fg.vmap(escape_time)(c)
    np.testing.assert_array_equal(found, by_loop(escape_time, c))
    assert found.dtype == int


def size_of(x: Any) -> int:
    """In how many lanes at once a function runs."""
    return x._main.size if isinstance(x, fg.Tensor) else 1


def test_runs() -> None:
    """As many runs as there are paths; the most frequent answer goes first, so that most lanes run once."""
    sizes = []

    def f(x):
        if x > 0:
            sizes.append(size_of(x))
            return x
        sizes.append(size_of(x))
        return -x

    y = np.repeat([2.0, -1.0, 3.0], [5, 8, 4])
    np.testing.assert_array_equal(fg.vmap(f)(y), np.abs(y))
    assert sizes == [9, 8]
    sizes.clear()
    fg.vmap(f)(y[2:11])
    assert sizes == [1] * 9
    sizes.clear()
    fg.vmap(f)(y[4:])
    assert sizes == [8, 1, 1, 1, 1, 1]


def test_lanes_that_part_again_and_again() -> None:
    """Where each lane has a path of its own, few runs are for many lanes."""
    sizes = []

    def f(y):
        sizes.append(size_of(y))
        return bisect(y)

    y = np.linspace(-9, 9, 1000)
    with pytest.warns(UserWarning, match="more than 64 different paths"):
        np.testing.assert_allclose(fg.vmap(f)(y), [bisect(t) for t in y])
    assert len([size for size in sizes if size > 1]) < 6
    assert sizes.count(1) == 1000
    sizes.clear()
    fg.vmap(f)(np.repeat(y[::100], 50))
    assert len(sizes) == 10
    assert min(sizes) == 50


def test_what_a_lane_alone_gets() -> None:
    """NumPy's scalars, in their dtype; what is not mapped is the object that was passed."""
    seen = []

    def f(x, tree, note, same):
        if x < 2:
            return x
        seen.append((type(x), type(tree["a"]), type(tree["b"]), type(note["k"]), note["s"] is same["any"], same is given))
        return x + tree["a"]

    given = {"any": object()}
    tree = {"a": np.arange(3, dtype=np.int8), "b": np.array([True, False, True])}
    note = {"k": np.arange(3) * 1j, "s": given["any"]}
    found = fg.vmap(f, in_axes=(0, 0, {"k": 0, "s": None}, None))(np.arange(3, dtype=np.float32), tree, note, given)
    assert seen == [(np.float32, np.int8, np.bool_, np.complex128, True, True)]
    np.testing.assert_array_equal(found, [0, 1, 4])
    assert found.dtype == np.float32
    kinds = []
    fg.vmap(lambda x: kinds.append(type(x)) if x > 0 else None, out_axes=None)(X[:6])
    assert kinds == [np.float64] * 3


def test_arrays_and_tensors_stay_mapped() -> None:
    """`y = x; y += 1` leaves `x` alone in all lanes, and Tensors give Tensors."""

    def f(x):
        if x[0] > 0:
            y = x
            y += 1
            return x + y
        return x

    rows = np.stack([X, X], 1)
    np.testing.assert_array_equal(fg.vmap(f)(rows), np.where(rows > 0, 2 * rows + 1, rows))
    seen = []
    found = fg.vmap(lambda x: seen.append(type(x)) or (x if x > 0 else x.at[()].set(2.0)))(fg.tensor(X))
    assert isinstance(found, fg.Tensor)
    assert all(issubclass(kind, fg.Tensor) for kind in seen)
    np.testing.assert_array_equal(np.asarray(found), np.where(X > 0, X, 2))


def test_kinds_of_results() -> None:
    """Whether lanes run together or alone does not show in what comes out."""
    table = fg.tensor([1.0, 2.0, 4.0])
    for x in (X, np.repeat(X, 9)):
        found = fg.vmap(lambda x: x * table[1] if x > 0 else x * table[0])(x)
        assert type(found) is np.ndarray
        assert not found.flags.writeable
        f = lambda x: (float(x), 1, np.float32(2), x > 0, [x * np.ones(2)]) if x > 0 else (2, 1.5, 2, False, [(x, 1)])
        found = fg.pytree.leaves(fg.vmap(lambda x: tuple(map(np.asarray, f(x)[:2])) + f(x)[2:4])(x))  # noqa: B023
        assert [a.dtype for a in found] == [np.float64, np.float64, np.float64, np.bool_]


def test_what_scalars_cannot_do() -> None:
    """A lane whose path asks for more than NumPy's scalars have is mapped after all."""
    found = fg.vmap(lambda x: x if x > 0 else x.at[()].set(2.0))(X)
    np.testing.assert_array_equal(found, np.where(X > 0, X, 2))


def test_lanes_alone_over_older_values() -> None:
    """Derivatives and lanes outside of it see every operation of a lane that runs alone, and what it closes over."""

    def f(x, w):
        if x * w[0] > 0.2:
            return np.sin(x) * w[1]
        return x**2 * w[0] if x > -1 else x * x * x

    def loop(x, w):
        return np.stack([f(t, w) for t in x])

    w = np.array([0.5, 2.0])
    for x in (X[:3], X, np.repeat(X, 9)):
        over = lambda x, w: fg.vmap(lambda each: f(each, w))(x)
        given = lambda x, w: fg.vmap(f, in_axes=(0, None))(x, w)
        for mapped in (over, given):
            for k in range(2):
                np.testing.assert_allclose(fg.jacrev(mapped, k)(x, w), fg.jacrev(loop, k)(x, w), atol=1e-14)
                np.testing.assert_allclose(fg.jacfwd(mapped, k)(x, w), fg.jacrev(loop, k)(x, w), atol=1e-14)
            total = lambda x, w, mapped=mapped: np.sum(mapped(x, w) ** 2)
            np.testing.assert_allclose(fg.hessian(total, 1)(x, w), fg.hessian(lambda x, w: np.sum(loop(x, w) ** 2), 1)(x, w), atol=1e-12)
        slopes = fg.vmap(fg.grad(f, 1), in_axes=(0, None))(x, w)
        np.testing.assert_allclose(slopes, fg.jacrev(loop, 1)(x, w), atol=1e-14)
        cross = fg.jacrev(lambda w: fg.vmap(fg.grad(f), in_axes=(0, None))(x, w))(w)  # noqa: B023
        np.testing.assert_allclose(cross, np.stack([fg.jacrev(lambda w, t=t: fg.grad(f)(t, w))(w) for t in x]), atol=1e-13)
        ws = np.stack([w, -w, 3 * w])
        nested = fg.vmap(lambda w: fg.vmap(f, in_axes=(0, None))(x, w))(ws)  # noqa: B023
        np.testing.assert_allclose(nested, np.stack([loop(x, w) for w in ws]))
        both = fg.vmap(fg.vmap(f, in_axes=(0, None)), in_axes=(0, 0))(np.stack([x, -x, 2 * x]), ws)
        np.testing.assert_allclose(both, np.stack([loop(s * x, w) for s, w in zip([1, -1, 2], ws, strict=True)]))


def test_arrays_of_older_values_alone() -> None:
    """Lanes that are slices of a traced matrix."""

    def f(row):
        return np.sum(row**2) if row[0] > 0 else np.prod(row)

    rows = np.stack([X[:4], X[4:], X[2:6]])
    np.testing.assert_allclose(fg.grad(lambda a: np.sum(fg.vmap(f)(a)))(rows), np.stack([fg.grad(f)(r) for r in rows]))
    np.testing.assert_allclose(fg.vmap(fg.vmap(f))(np.stack([rows, -rows])), [[f(r) for r in rows], [f(-r) for r in rows]])
    a = fg.Var(rows)
    np.testing.assert_allclose(np.asarray(fg.backward(np.sum(fg.vmap(f)(a)))[a]), np.stack([fg.grad(f)(r) for r in rows]))


def test_catching_everything() -> None:
    """A function that catches even what stops a run gives what it gives without `vmap`."""

    def f(x):
        try:
            return x if x > 0 else -x
        except:  # noqa: E722
            return 7.0

    np.testing.assert_array_equal(fg.vmap(f)(X), np.abs(X))
    np.testing.assert_array_equal(fg.vmap(fg.vmap(f))(np.stack([X, -X])), np.abs([X, X]))


def test_cleanup() -> None:
    """A run that stops leaves its `with` and `finally` in order."""
    open_now = [0]

    def f(x):
        open_now[0] += 1
        try:
            with np.errstate(over="raise"):
                return fg.grad(bent)(x)
        finally:
            open_now[0] -= 1

    before = np.geterr()
    np.testing.assert_allclose(fg.vmap(f)(X), [fg.grad(bent)(x) for x in X])
    assert np.geterr() == before
    assert open_now == [0]


def test_calls_alone() -> None:
    """Custom rules, external code and checkpoints in lanes that run alone."""
    import math

    erf = fg.external(math.erf, jvp=lambda p, t: 2 / np.sqrt(np.pi) * np.exp(-(p[0] ** 2)) * t[0])
    f = lambda x: erf(x) if x > 0.2 else fg.checkpoint(np.sin)(x) * x
    slopes = [fg.grad(f)(x) for x in X]
    np.testing.assert_allclose(fg.vmap(f)(X), [f(x) for x in X])
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(X), slopes)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.vmap(f)(x)))(X), slopes)
    np.testing.assert_allclose(fg.jvp(fg.vmap(f), (X,), (np.ones(8),))[1], slopes)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.checkpoint(fg.vmap(f))(x)))(X), slopes)


def test_older_values_narrow_when_used() -> None:
    """What was computed before the lanes parted goes on with those that are left."""

    def f(x, y):
        square, early = x * x, np.stack([x, y])
        if x > 0:
            kept = square + y
            if y > 0:
                return kept * early[0] + square
            return kept - early[1]
        return square * y + np.sum(early)

    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    np.testing.assert_allclose(fg.vmap(f)(X, y), by_loop(f, X, y))
    grads = fg.vmap(fg.grad(f, (0, 1)))(X, y)
    for k in range(2):
        np.testing.assert_allclose(grads[k], by_loop(lambda a, b, k=k: fg.grad(f, (0, 1))(a, b)[k], X, y))


def test_nested() -> None:
    """Both the inner and the outer lanes part."""

    def f(x, y):
        n = 0
        while x * y > 1 and n < 5:
            x, n = x / 2, n + 1
        return x if y > 0 else x - y

    outer = fg.vmap(fg.vmap(f, in_axes=(None, 0)), in_axes=(0, None))
    expected = np.array([[f(x, y) for y in X] for x in X])
    np.testing.assert_allclose(outer(X, X), expected)
    np.testing.assert_allclose(fg.vmap(lambda x: fg.vmap(lambda y: f(x, y))(X[::2]) if x > 0 else x * X[::2])(X),
                               np.stack([expected[i, ::2] if x > 0 else x * X[::2] for i, x in enumerate(X)]))  # fmt: skip
    slope = fg.vmap(fg.vmap(fg.grad(f), in_axes=(None, 0)), in_axes=(0, None))(X, X)
    np.testing.assert_allclose(slope, [[fg.grad(f)(x, y) for y in X] for x in X])
    total = fg.grad(lambda x: np.sum(outer(x, X)))(X)
    np.testing.assert_allclose(total, slope.sum(1))


def test_pythons_functions_that_look() -> None:
    """`min`, `max`, `sorted`, `range`, `int`, `round`, indices of lists, `float` and `math` work lane by lane."""
    import math

    y = X[::-1].copy()
    np.testing.assert_allclose(fg.vmap(lambda x, y: max(x, y, 0.5) - min(x, y))(X, y), np.maximum(np.maximum(X, y), 0.5) - np.minimum(X, y))
    np.testing.assert_allclose(fg.vmap(lambda x, y: sorted([x, y, 0.1])[1])(X, y), np.median(np.stack([X, y, 0 * X + 0.1]), 0))
    n = np.array([3, 0, 1, 3])
    np.testing.assert_allclose(fg.vmap(lambda n: sum(range(n)) + ["a", "bb", "c", "dd"].index(["a", "bb", "c", "dd"][n]))(n), [6, 0, 1, 6])
    np.testing.assert_allclose(fg.vmap(lambda x: 2 ** int(x))(np.array([1.5, 3.0, 1.2])), [2, 8, 2])
    np.testing.assert_allclose(fg.vmap(lambda x: math.sin(x))(X), np.sin(X))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(fg.vmap(lambda x: 1 / np.float64(x.item()))(np.array([0.0, -0.0, 2.0])), [np.inf, -np.inf, 0.5])
    np.testing.assert_array_equal(fg.vmap(lambda x: float(x))(np.array([np.nan, 1.0, np.nan])), [np.nan, 1.0, np.nan])


def test_conversions_keep_gradients() -> None:
    """Where something is being differentiated, `float` is refused as ever."""
    with pytest.raises(errors.ConversionError, match="gradient"):
        fg.vmap(fg.grad(lambda x: float(x) * x))(X)
    with pytest.raises(errors.ConversionError, match="gradient"):
        fg.grad(lambda x: np.sum(fg.vmap(lambda y: float(y) * y)(x)))(X)


def test_joins() -> None:
    """Trees, bools, ints, aux and mixed dtypes of all paths are joined."""

    def f(x):
        if x > 0:
            return {"v": x, "n": 1, "b": True, "t": np.array([1, 2])}
        return {"v": 0, "n": 2, "b": False, "t": np.array([x, 2.0])}

    found = fg.vmap(f)(X)
    np.testing.assert_array_equal(found["v"], np.maximum(X, 0))
    np.testing.assert_array_equal(found["n"], np.where(X > 0, 1, 2))
    assert found["b"].dtype == bool
    np.testing.assert_array_equal(found["t"][:, 0], np.where(X > 0, 1, X))
    g, aux = fg.vmap(fg.grad(lambda x: (x * x, 1) if x > 0 else (x, 2), has_aux=True))(X)
    np.testing.assert_array_equal(g, np.where(X > 0, 2 * X, 1))
    np.testing.assert_array_equal(aux, np.where(X > 0, 1, 2))
    assert isinstance(fg.vmap(bent)(fg.tensor(X)), fg.Tensor)
    _, k = fg.vmap(lambda x: (bent(x), "name"), out_axes=(0, None))(X)
    assert k == "name"
    moved = fg.vmap(lambda x: x * np.ones(3) if x > 0 else np.zeros(3), out_axes=1)(X)
    np.testing.assert_array_equal(moved, np.maximum(X, 0) * np.ones((3, 1)))


def test_results_that_do_not_fit_together() -> None:
    """Structures, shapes and constants that differ between lanes are named."""
    with pytest.raises(errors.LaneResultsError, match="one structure in all lanes"):
        fg.vmap(lambda x: (x, x) if x > 0 else [x, x])(X)
    with pytest.raises(errors.LaneShapesError, match=r"the output\['a'\] gives shape"):
        fg.vmap(lambda x: {"a": x * np.ones(2) if x > 0 else x})(X)
    with pytest.raises(errors.LaneResultsError, match="differs between lanes, but its out_axes is None"):
        fg.vmap(lambda x: (x, "up" if x > 0 else "down"), out_axes=(0, None))(X)


def test_refusals() -> None:
    """on_divergence="error", and iterators, which a second run would find used up."""
    with pytest.raises(errors.LanesDifferError, match=r"bool\(\) in bent \(test_vmap_splitting.py:\d+\)"):
        fg.vmap(bent, on_divergence="error")(X)
    with pytest.raises(errors.LanesDifferError):
        fg.vmap(lambda x, it: x if x > 0 else x + next(it), in_axes=(0, None))(X, iter([1.0, 2.0]))
    with pytest.raises(ValueError, match="on_divergence must be"):
        fg.vmap(bent, on_divergence="maybe")
    with pytest.raises(errors.EmptyBatchError, match=r"bool\(\) in bent"):
        fg.vmap(bent)(X[:0])


def test_many_paths() -> None:
    """Past 64 runs one warning names the line; the answer is right all the same."""

    def count(n):
        i = 0
        while i < n:
            i += 1
        return i

    with pytest.warns(UserWarning, match=r"more than 64 different paths.*count \(test_vmap_splitting.py"):
        np.testing.assert_array_equal(fg.vmap(count)(np.arange(100)), np.arange(100))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.vmap(count)(np.arange(100) % 60)
        fg.vmap(count)(np.arange(1000) % 60)
    with pytest.warns(UserWarning, match="more than 64"):
        fg.vmap(count)(np.arange(1000) % 70)


def test_errors_of_a_path() -> None:
    """What one lane's path raises is raised."""

    def f(x):
        if x > 6:
            raise KeyError("too large")
        return x

    with pytest.raises(KeyError, match="too large"):
        fg.vmap(f)(X)
    assert fg.vmap(f)(X[:5]).shape == (5,)


def test_derivatives_with_branches_in_vjp() -> None:
    """Pulls and pushes of functions that branched, mapped."""
    found = fg.vmap(lambda x: fg.vjp(bent, x)[1](np.float64(1.0))[0])(X)
    np.testing.assert_allclose(found, by_loop(lambda x: fg.grad(bent)(x), X))
    rows = np.stack([X[:4], X[4:]])
    f = lambda v: np.stack([bent(v[0]), v[1] * bent(v[2])])
    for jacobian in (fg.jacfwd, fg.jacrev):
        np.testing.assert_allclose(fg.vmap(jacobian(f))(rows), np.stack([jacobian(f)(r) for r in rows]))


def test_errors_that_are_caught() -> None:
    """An error is a look too: only the lanes that have it take the way of `except`."""

    def f(a):
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return np.zeros((2, 2)) + np.sum(a)

    many = np.stack([np.eye(2), np.ones((2, 2)), 2 * np.eye(2), np.zeros((2, 2)), np.diag([3.0, 1.0])])
    np.testing.assert_array_equal(fg.vmap(f)(many), np.stack([f(a) for a in many]))
    np.testing.assert_allclose(fg.vmap(fg.jacrev(f))(many), np.stack([fg.jacrev(f)(a) for a in many]))
    np.testing.assert_allclose(fg.jacrev(lambda a: fg.vmap(f)(a).sum(0))(many), np.stack([fg.jacrev(f)(a) for a in many], 2))
    with pytest.raises(np.linalg.LinAlgError):
        fg.vmap(np.linalg.inv)(many)
    with pytest.raises(errors.LanesDifferError, match=r"inv\(\)"):
        fg.vmap(f, on_divergence="error")(many)

    def dividing(x):
        try:
            with np.errstate(divide="raise"):
                return 1 / x
        except FloatingPointError:
            return 0.0

    np.testing.assert_array_equal(fg.vmap(dividing)(X), [dividing(x) for x in X])

    def reading(x, i):
        try:
            return fg.tensor(x)[i]
        except IndexError:
            return -1.0

    i = np.array([0, 5, 2, 1, 9])
    np.testing.assert_array_equal(fg.vmap(reading, in_axes=(None, 0))(X[:3], i), [X[0], -1, X[2], X[1], -1])
