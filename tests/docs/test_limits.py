"""The limits that README.md states: each is as it says, and what it says to write instead works."""

from __future__ import annotations

import math

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.borrow import COPY_LIMIT
from funcgrad.testing import check_grads

X = np.array([1.0, 2.0, 3.0])


def large(fill: float = 1.0) -> np.ndarray:
    return np.full(COPY_LIMIT // 8 + 1, fill)


def test_filling_an_ndarray() -> None:
    """NumPy itself refuses to put a traced value into an ndarray; stacking and `.at` do what was meant."""

    def element(x):
        a = np.zeros(3)
        a[0] = x[0]
        return np.sum(a)

    def slice(x):
        a = np.zeros(3)
        a[:] = x
        return np.sum(a)

    def augmented(x):
        a = np.zeros(3)
        a += x
        return np.sum(a)

    with pytest.raises(ValueError, match="setting an array element") as caught:
        fg.grad(element)(X)
    assert isinstance(caught.value.__cause__, errors.ConversionError)
    for f in (slice, augmented):
        with pytest.raises(errors.FuncgradError):
            fg.grad(f)(X)

    def buffered(x):
        a = fg.buffer(3)
        a[0] = x[0]
        return np.sum(a.freeze())

    np.testing.assert_array_equal(fg.grad(buffered)(X), [1, 0, 0])
    a = np.zeros(3)
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(fg.tensor(a).at[0].set(x[0]) ** 2))(X), [2, 0, 0])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.stack([x[0], x[0] * x[1]])))(X), [3, 1, 0])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.array([x[0], x[0] * x[1]])))(X), [3, 1, 0])


@pytest.mark.parametrize(
    "convert",
    [float, math.sin, complex, lambda x: x.item(), lambda x: np.array(x, dtype=float), lambda x: np.asarray([x, x], dtype=float)],
    ids=["float", "math.sin", "complex", "item", "array", "list"],
)
def test_conversion_to_a_number(convert) -> None:
    """What would leave a plain number, without its derivative, raises and names the user's line."""
    with pytest.raises(errors.ConversionError, match=r"test_limits\.py:\d+"):
        fg.grad(lambda x: convert(x) * x)(1.0)


def test_compiled_code_that_wants_ndarrays() -> None:
    """NumPy's linear algebra does not ask the elements of a list; given a stacked array it does."""
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    with pytest.raises(TypeError, match="Cannot cast ufunc 'solve1'"):
        fg.grad(lambda x: np.sum(np.linalg.solve(a, [x, x])))(1.0)
    g = fg.grad(lambda x: np.sum(np.linalg.solve(a, np.stack([x, x]))))(1.0)
    assert g == pytest.approx(np.linalg.solve(a, [1.0, 1.0]).sum())
    with pytest.raises(TypeError, match="Cannot cast ufunc 'inv'"):
        fg.grad(lambda x: np.trace(np.linalg.inv(np.array([[x, 0.0], [1.0, x]]))))(2.0)
    assert fg.grad(lambda x: np.trace(np.linalg.inv(np.block([[x, 0.0], [1.0, x]]))))(2.0) == pytest.approx(-0.5)


def test_type_checks() -> None:
    """A traced value is no ndarray, so that `isinstance` leads elsewhere."""
    seen = []
    fg.grad(lambda x: seen.append(isinstance(x, np.ndarray)) or np.sum(x))(X)
    assert seen == [False]


def test_arrays_made_of_traced_numbers() -> None:
    """`np.array([…])` of traced numbers is an object array, which is right; a large `np.asarray` is refused."""
    kinds = []

    def rotated(t):
        r = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
        kinds.append((type(r), r.dtype))
        return (r @ np.array([1.0, 2.0]))[0]

    assert fg.grad(rotated)(0.3) == pytest.approx(-math.sin(0.3) - 2 * math.cos(0.3))
    assert kinds == [(np.ndarray, np.dtype(object))]
    a = np.array([[1.0, 2.0, 3.0]])
    for product in (lambda x: a.dot(x), lambda x: a @ x, lambda x: np.dot(a, x)):
        np.testing.assert_array_equal(fg.grad(lambda x, product=product: np.sum(product(x)))(X), a[0])
    for f in (np.isfinite, lambda v: np.logaddexp(v, 0.0)):
        with pytest.raises(TypeError, match="not supported for the input types"):
            fg.grad(lambda x, f=f: np.sum(f(np.array([x[0], x[1]]))))(X)
        fg.grad(lambda x, f=f: np.sum(f(np.stack([x[0], x[1]]))) + x[0])(X)
    with pytest.raises(errors.TooLargeToStackError):
        fg.grad(lambda x: np.sum(np.asarray(x)))(np.ones(4097))
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.asarray(x)))(np.ones(4096)), np.ones(4096))


def test_augmented_assignment() -> None:
    """`y += 1` makes a new value where `x` is traced, changes `x` where it is not, and `check_grads` says so."""

    def f(x):
        y = x
        y += 1
        return np.sum(x * y)

    assert fg.value_and_grad(f)(X)[0] == np.sum(X * (X + 1))
    assert f(X.copy()) == np.sum((X + 1) ** 2)
    with pytest.raises(errors.ChangedArgumentError):
        check_grads(f, (X,))


def test_results_are_read_only() -> None:
    """What comes out cannot be written to, down to the owner of its memory; a copy can."""
    for g in (fg.grad(np.sum)(X), fg.jacobian(np.sin)(X), fg.vjp(np.sin, X)[1](X)[0], fg.jvp(np.sin, (X,), (X,))[1]):
        with pytest.raises(ValueError, match="read-only"):
            g *= 0.5
        with pytest.raises(ValueError, match="read-only"):
            g[0] = 0.0
        assert g.base is None or not g.base.flags.writeable
        g.copy()[0] = 0.0


def test_small_captured_arrays_are_copied() -> None:
    """A small array that `f` captured may be written to before the derivative is taken; the values at the time of use count."""
    buffer = X.copy()

    def f(x):
        y = np.sum(x * buffer)
        buffer[:] = 7.0
        return y

    np.testing.assert_array_equal(fg.grad(f)(X), X)


def test_large_captured_arrays_are_read_only() -> None:
    """A large array that `f` captured cannot be written to until the derivative is there, and can afterwards."""
    buffer = large()

    def f(x):
        y = np.sum(x * buffer)
        buffer[0] = 7.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        fg.grad(f)(large())
    buffer[0] = 7.0
    _, pull = fg.vjp(lambda x: x * buffer, large())
    assert not buffer.flags.writeable
    del pull
    assert buffer.flags.writeable


def test_older_views_can_still_write() -> None:
    """The hole in that: a view taken earlier is not seen. (If this fails, the hole is closed: change the README.)"""
    buffer = large()
    view = buffer[:1]

    def f(x):
        y = np.sum(x * buffer)
        view[0] = 7.0
        return y

    assert fg.grad(f)(large())[0] == 7.0


def test_custom_rules() -> None:
    """What a function closes over is differentiated by its code, what is hidden raises; and reverse rules have no forward mode."""

    def scaled(y):
        f = fg.custom_vjp(lambda x: x * y)
        f.defvjp(lambda x: (x * y, None), lambda _, ct: (ct * y,))
        return f

    assert fg.grad(lambda y: fg.grad(scaled(y))(2.0))(3.0) == 1.0
    assert fg.grad(lambda x, y: scaled(y)(x), (0, 1))(2.0, 3.0) == (3.0, 2.0)

    class Hidden:
        y = None

    def hiding(x, y):
        Hidden.y = y
        f = fg.custom_vjp(lambda x: x * Hidden.y)
        f.defvjp(lambda x: (x * Hidden.y, None), lambda _, ct: (ct * Hidden.y,))
        return f(x)

    with pytest.raises(errors.ClosedOverTracerError):
        fg.grad(hiding, (0, 1))(2.0, 3.0)
    with pytest.raises(errors.NoRuleError):
        fg.jvp(scaled(3.0), (2.0,), (1.0,))


def test_looks_under_vmap() -> None:
    """Python's `if` and `table[i]` have as many runs as there are paths, or examples; shapes that differ between examples raise."""
    runs = []

    def f(x, i):
        runs.append(x)
        return [x * 2, -x][i] if x > 0 else x

    x, i = np.array([1.0, -1.0, 2.0, 3.0]), np.array([0, 1, 1, 0])
    np.testing.assert_array_equal(fg.vmap(f)(np.tile(x, 9), np.tile(i, 9)), np.tile([2, -1, -2, 6], 9))
    assert len(runs) == 3
    np.testing.assert_array_equal(fg.vmap(f)(x, i), [2, -1, -2, 6])
    assert len(runs) == 3 + 1 + 4
    with pytest.raises(errors.LaneShapesError):
        fg.vmap(lambda x: x[x > 0])(np.array([[1.0, -1.0], [2.0, 3.0]]))
    for order in "AK":
        with pytest.raises(errors.LaneLayoutError):
            fg.vmap(lambda x, order=order: np.ravel(x.T, order=order))(np.ones((2, 3, 4)))


def test_bodies_of_loops() -> None:
    """A body runs at its first steps alone, unless it looks at values or writes; then at each step, and what comes out is the same."""
    printed: list[int] = []
    table = [2.0, 3.0, 4.0]

    def straight(c, x):
        printed.append(1)
        return c + x, c

    def looking(c, x):
        printed.append(1)
        return (c + x if c >= 0 else c), c

    def writing(c, x):
        printed.append(1)
        a = np.zeros(1)
        y = a + c
        a[0] = x
        return c + a[0] * y[0] ** 0, c

    counts = []
    for f in (straight, looking, writing):
        printed.clear()
        assert fg.scan(f, np.float64(0.0), np.arange(50.0))[0] == 1225
        counts.append(len(printed))
    assert counts[0] == 2
    assert counts[1] > 50
    assert counts[2] > 50
    assert fg.scan(lambda c, i: (c * table[int(i)], None), 1.0, np.arange(3))[0] == 24


def test_scipy_functions() -> None:
    """SciPy's functions without a rule raise: ufuncs by our error, the others by one of their own."""
    special = pytest.importorskip("scipy.special")
    with pytest.raises(errors.MissingRuleError, match="struve"):
        fg.grad(lambda x: special.struve(0, x))(1.0)
    with pytest.raises(TypeError):
        fg.grad(special.logsumexp)(X)


def test_functions_without_a_rule() -> None:
    """A NumPy function that has no rule raises; its gradient is never silently zero."""
    with pytest.raises(errors.MissingRuleError, match=r"np\.add\.reduceat"):
        fg.grad(lambda x: np.sum(np.add.reduceat(x, [0, 1])))(X)
