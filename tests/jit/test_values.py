"""What a compiled function gives is what the function gives: types, memory, branches, errors."""

from __future__ import annotations

import traceback
import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.program.passes import simplified


def thrice(f: Any, *args: Any, **kwargs: Any) -> list[Any]:
    """Recorded, recorded, compiled."""
    return [f(*args, **kwargs) for _ in range(3)]


def compiled_paths(f: Any, *args: Any) -> int:
    return f.stats(*args).paths


# ---- results


def test_results_have_the_types_that_the_function_gives() -> None:
    """Python numbers, NumPy scalars, strings, None and constants stay what they are."""

    def f(x):
        return x, 1, None, "s", 2.5, True, x > 0, x.sum(), [x * 2], float(x.sum()), int(x[0]), {"k": (x[1], 3j)}

    x = np.arange(3.0)
    expected = f(x)
    for out in thrice(fg.jit(f), x):
        assert [type(a) for a in out] == [type(b) for b in expected]
        assert [type(y) for y in out[-1]["k"]] == [np.float64, complex]
        assert str(out) == str(expected)


def test_results_are_frozen_and_nobody_elses_memory() -> None:
    """Also where the function gives its input, a view of it, an array it closes over, or a constant of its own."""
    own = np.arange(4.0)
    x = np.ones(4)
    for out in thrice(fg.jit(lambda x: [x, x[1:], x * 2, own, own[::2], np.ones(3), (x, x)]), x):
        arrays = [*out[:-1], *out[-1]]
        assert not any(y.flags.writeable for y in arrays)
        assert not any(np.may_share_memory(y, z) for y in arrays for z in (x, own))
    assert x.flags.writeable
    assert own.flags.writeable


def test_tensors_in_tensors_out() -> None:
    """A Tensor among the arguments makes Tensors of the results."""
    f = fg.jit(lambda x: (x * 2, x.sum(), x))
    for out in thrice(f, fg.Tensor(np.ones(3))):
        assert all(isinstance(y, fg.Tensor) for y in out)
    for out in thrice(f, np.ones(3)):
        assert type(out[0]) is np.ndarray


def test_python_numbers_are_weak() -> None:
    """Beside float32 they take its dtype; NumPy's scalars do not."""
    f = fg.jit(lambda x, a: x * a)
    x = np.ones(2, np.float32)
    for out in thrice(f, x, 2.0):
        assert out.dtype == np.float32
    for out in thrice(f, x, np.float64(2.0)):
        assert out.dtype == np.float64
    for out in thrice(f, 2, 3):
        assert (out, type(out)) == (6, int)
    for out in thrice(f, True, 3):
        assert (out, type(out)) == (3, int)


@pytest.mark.filterwarnings("ignore:.* runs as it is:UserWarning")
def test_integers_of_any_size() -> None:
    """What int64 does not hold is Python's."""
    f = fg.jit(lambda n: n * n)
    assert [f(n) for n in (2, 2, 2**40, 2**70, 2**63, 3)] == [4, 4, 2**80, 2**140, 2**126, 9]


@pytest.mark.parametrize(
    "x",
    [np.ones(3, ">f8"), np.zeros((0, 3)), np.array(2.0), np.arange(6.0).reshape(2, 3).T, np.arange(10.0)[::2], np.ones(2, np.float16)],
    ids=["byte order", "empty", "0-d", "transposed", "strided", "float16"],
)
def test_arrays_of_every_kind(x: Any) -> None:
    """Another byte order, no elements, no axes, strides."""
    f = lambda x: (x * 2 + 1, np.sum(x, axis=-1) if x.ndim else x)
    expected = f(x)
    for out in thrice(fg.jit(f), x):
        for a, b in zip(out, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype.newbyteorder("=")


def test_object_arrays_of_tracers() -> None:
    """NumPy makes them of lists; they are stacked."""
    f = fg.jit(lambda x: np.sum(np.array([x[0], x[1] * 2]) ** 2))
    x = np.array([1.0, 3.0])
    assert thrice(f, x) == [37.0] * 3
    np.testing.assert_allclose(fg.grad(f)(x), [2.0, 24.0])


# ---- branches


def test_branches_on_values() -> None:
    """Each path is compiled, and left where a value says otherwise."""
    f = fg.jit(lambda x: np.sqrt(x) if x > 0 else -3 * x)
    assert [float(f(x)) for x in (4.0, -1.0, 4.0, -1.0, 9.0, -2.0)] == [2.0, 3.0, 2.0, 3.0, 3.0, 6.0]
    assert compiled_paths(f, 1.0) == 2
    assert [fg.grad(f)(x) for x in (4.0, -1.0)] == [0.25, -3.0]


def test_shapes_from_values() -> None:
    """`int(n)` is a guard."""
    f = fg.jit(lambda x, n: np.sum(x[: int(n)]))
    x = np.arange(5.0)
    assert [f(x, n) for n in (2.0, 2.0, 3.0, 2.0, 3.0, 3.0)] == [1.0, 1.0, 3.0, 1.0, 3.0, 3.0]


def test_loops_until_a_value() -> None:
    """`while` looks at values; a Newton iteration is compiled for each number of steps."""

    def root(a):
        x = a
        while abs(x * x - a) > 1e-9:
            x = 0.5 * (x + a / x)
        return x

    f = fg.jit(root)
    for a in (2.0, 3.0, 2.0, 3.0, 2.0, 50.0):
        assert f(a) == root(a)
        np.testing.assert_allclose(fg.grad(f)(a), 0.5 / np.sqrt(a), rtol=1e-6)


def test_ever_new_values() -> None:
    """After a number of paths the function runs as it is, with one warning that names both lines."""
    f = fg.jit(lambda x: np.sum(x[: int(x[0])]))
    with pytest.warns(UserWarning, match=r"ever new values \(test_values.py:\d+ in <lambda>\)") as found:
        out = [f(np.arange(40.0) + k) for k in range(30)]
    assert out == [np.sum((np.arange(40.0) + k)[:k]) for k in range(30)]
    assert len(found) == 1
    assert found[0].filename == __file__


# ---- errors


def test_exceptions_are_looks() -> None:
    """`try … except LinAlgError` takes the path that the values say, whichever was compiled first."""

    def chol(a):
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return np.eye(2)

    f = fg.jit(chol)
    assert [f(a)[0, 0] for a in (4 * np.eye(2), -np.eye(2), 9 * np.eye(2), -np.eye(2), 16 * np.eye(2), -np.eye(2))] == [2, 1, 3, 1, 4, 1]


def test_only_whether_it_raises() -> None:
    """An operation may be there for its error alone."""

    def is_positive(a):
        try:
            np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return 0.0
        return 1.0

    f = fg.jit(is_positive)
    assert [f(a) for a in (np.eye(2), np.eye(2), np.eye(2), -np.eye(2), np.eye(2))] == [1, 1, 1, 0, 1]


def test_errstate_is_a_look() -> None:
    """Where NumPy is asked to raise, it raises; where it is asked to be silent, it is."""

    def raising(x):
        with np.errstate(divide="raise"):
            try:
                return 1 / x
            except FloatingPointError:
                return np.full_like(x, 7.0)

    f = fg.jit(raising)
    assert [f(np.array([x]))[0] for x in (1.0, 1.0, 2.0, 0.0, 2.0)] == [1, 1, 0.5, 7, 0.5]

    def silent(x):
        with np.errstate(divide="ignore"):
            return np.where(x > 0, np.log(x), 0.0)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = fg.jit(silent)
        for _ in range(4):
            assert list(g(np.array([0.0, 1.0]))) == [0.0, 0.0]
            assert list(fg.grad(lambda x: np.sum(g(x)))(np.array([0.0, 2.0]))) == [0.0, 0.5]


def test_the_functions_own_error() -> None:
    """Its type, its words, its line, and nothing that came before; the next call is right."""

    def f(x):
        if x > 2:
            raise ValueError("too large")
        return x * 2

    g = fg.jit(f)
    for x in (1.0, 1.0, 3.0, 1.0, 3.0):
        if x > 2:
            with pytest.raises(ValueError, match="too large") as found:
                g(x)
            assert found.value.__context__ is None
            assert traceback.extract_tb(found.value.__traceback__)[-1].line == 'raise ValueError("too large")'
        else:
            assert g(x) == 2.0


def test_python_divides_as_python_does() -> None:
    """A Python number divided by zero raises."""
    f = fg.jit(lambda x: 1.0 / x)
    assert thrice(f, 2.0) == [0.5] * 3
    with pytest.raises(ZeroDivisionError):
        f(0.0)
    assert f(4.0) == 0.25


def test_warnings_of_numpy_as_errors() -> None:
    """Where warnings are errors, those of the function are."""
    f = fg.jit(lambda x: np.log(x))
    thrice(f, np.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            f(np.zeros(2))


# ---- what cannot be recorded


def test_what_changes_its_argument_runs_as_it_is() -> None:
    """With one warning, which says where and why."""

    def f(x):
        x[0] = 5.0
        return x * 2

    g = fg.jit(f)
    with pytest.warns(UserWarning, match=r"cannot be recorded \(test_values.py:\d+\)") as found:
        out = [list(g(np.ones(2))) for _ in range(3)]
    assert out == [[10.0, 2.0]] * 3
    assert len(found) == 1
    assert found[0].filename == __file__


def test_iterators_are_used_up_once() -> None:
    """A generator among the arguments is read by one call."""
    f = fg.jit(lambda xs: sum(x * 2 for x in xs))
    with pytest.warns(UserWarning, match="used up") as found:
        assert [f(iter([1.0, 2.0])) for _ in range(4)] == [6.0] * 4
    assert len(found) == 1


def test_generators_and_coroutines() -> None:
    """A function that gives one runs as it is: it does its work later."""

    def f(x):
        yield x
        yield 2 * x

    async def g(x):
        return 2 * x

    made = fg.jit(f)
    with pytest.warns(UserWarning, match="returns a generator"):
        assert [list(made(2.0)) for _ in range(4)] == [[2.0, 4.0]] * 4
    with pytest.warns(UserWarning, match="returns a coroutine"):
        waiting = fg.jit(g)(2.0)
    with pytest.raises(StopIteration) as found:
        waiting.send(None)
    assert found.value.value == 4.0


def test_functions_as_results() -> None:
    """A function that closes over its values is made anew at each call."""
    f = fg.jit(lambda x: lambda y: x * y)
    with pytest.warns(UserWarning, match="returns a function|returns"):
        assert [f(x)(3.0) for x in (1.0, 1.0, 2.0, 3.0)] == [3.0, 3.0, 6.0, 9.0]


# ---- recursion


def test_recursion() -> None:
    """A compiled function may call itself, and other compiled ones."""

    @fg.jit
    def power(x, n):
        return x if n <= 1 else x * power(x, n - 1)

    assert [power(2.0, 5) for _ in range(4)] == [32.0] * 4
    assert [fg.grad(power)(2.0, 5) for _ in range(4)] == [80.0] * 4
    twice = fg.jit(lambda x: power(x, 2) + power(x, 3))
    assert [twice(2.0) for _ in range(4)] == [12.0] * 4


def test_endless_recursion_is_pythons() -> None:
    """RecursionError comes from the function itself."""
    f = fg.jit(lambda x: f(x))
    with pytest.raises(RecursionError):
        f(1.0)


def test_disable_jit() -> None:
    """The function itself runs, with its own arrays."""
    seen = []
    f = fg.jit(lambda x: seen.append(type(x)) or x * 2)
    with fg.disable_jit():
        assert f(1.0) == 2.0
    assert seen == [float]


def test_static_without_hash() -> None:
    """The error says what to do instead."""
    with pytest.raises(errors.ArgumentTypeError, match="no hash: pass a tuple"):
        fg.jit(lambda x, n: x, static_argnums=1)(1.0, [1, 2])
    with pytest.raises(errors.ArgumentTypeError, match="leave it out of the static ones"):
        fg.jit(lambda x, n: x, static_argnums=1)(1.0, np.ones(2))


def test_what_may_raise_inside_a_loop_that_nobody_reads() -> None:
    """It stays in the code: the function asks just that of it."""

    def f(A: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            np.linalg.cholesky(A * x)
            return c, None

        try:
            fg.scan(body, 0.0, np.ones(3))
        except np.linalg.LinAlgError:
            return -1.0
        return np.sum(A)

    compiled = fg.jit(f)
    assert [compiled(s * np.eye(2)) for s in (1.0, 1.0, 1.0, -1.0, 2.0)] == [2.0, 2.0, 2.0, -1.0, 4.0]
    program = compiled.lower(np.eye(2))
    assert "scan" in [e.primitive.name for e in simplified(program.closed).equations]


def test_nothing_but_questions() -> None:
    """A function that gives no number is compiled for what it asks: in many lines, and in lanes."""

    def long(x: Any) -> Any:
        for _ in range(150):
            x = np.sin(x) * 1.01
        return 1.0 if np.sum(x) > 1e9 else None

    def in_lanes(p: Any) -> Any:
        y = np.sum(np.sin(p[:, :3] * p[:, 3:]) * p[:, :3], axis=1)
        z = sum(np.sum(p[:, :3] * p[:, c : c + 1], axis=1) * y for c in range(3))
        return 2.0 if np.isnan(np.sum(z)) else None

    for f, x in ((long, np.ones(4)), (in_lanes, np.random.default_rng(0).normal(size=(500, 6)))):
        compiled = fg.jit(f)
        for _ in range(4):
            assert compiled(x) is None
        assert compiled.stats(x).paths == 1
