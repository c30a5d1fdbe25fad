"""Calling programs: as the function itself, under every transformation, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.program.kit import FUNCTIONS, W, X, bits


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_the_function_s(name: str) -> None:
    """Values, dtypes, shapes, types and structure are those that the function itself gives."""
    f, args = FUNCTIONS[name]
    program = fg.trace(f)(*args)
    assert bits(program(*args)) == bits(f(*args))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_the_function_s(name: str) -> None:
    """Forward, reverse, second order, lanes and a recording of the program agree with those of the function."""
    f, args = FUNCTIONS[name]
    program = fg.trace(f)(*args)

    def close(transformed: Any) -> None:
        found, wanted = (fg.tree.flatten(transformed(g)) for g in (program, f))
        assert found[1] == wanted[1]
        for a, b in zip(found[0], wanted[0], strict=True):
            if b is not None:
                np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6 if name == "float32" else 1e-12, atol=1e-14)

    def total(g: Any) -> Any:
        return lambda *xs: sum(np.sum(np.abs(y) ** 2) for y in fg.tree.leaves(g(*xs)) if not isinstance(y, int))

    close(lambda g: fg.jvp(g, args, args))
    close(lambda g: fg.vjp(g, *args)[1](f(*args)) if name not in ("tree",) else ())
    close(lambda g: fg.grad(total(g), tuple(range(len(args))))(*args))
    close(lambda g: fg.grad(lambda *xs: total(fg.grad(total(g)))(*xs))(*args))
    close(lambda g: fg.trace(g)(*args)(*args))
    if name != "while and cond":
        close(lambda g: fg.vmap(g)(*fg.tree.map(lambda x: np.stack([x, x]), args)))
    close(lambda g: fg.grad(total(fg.trace(g)(*args)))(*args))


def test_jacobian_and_hessian() -> None:
    """The transformations that are built of others take programs as well."""

    def f(x: Any) -> Any:
        return np.sin(W @ x) * x

    program, scalar = fg.trace(f)(X), fg.trace(lambda x: np.sum(f(x)))(X)
    np.testing.assert_allclose(fg.jacobian(program)(X), fg.jacobian(f)(X), rtol=1e-13)
    np.testing.assert_allclose(fg.jacfwd(program)(X), fg.jacfwd(f)(X), rtol=1e-13)
    np.testing.assert_allclose(fg.hessian(scalar)(X), fg.hessian(lambda x: np.sum(f(x)))(X), rtol=1e-12)


def test_a_called_program_is_inlined() -> None:
    """A program within a recording leaves its equations there."""
    inner = fg.trace(lambda x: np.sin(x) * W[0])(X)
    outer = fg.trace(lambda x: inner(x) + 1)(X)
    assert [e.primitive.name for e in outer.equations] == ["sin", "multiply", "add"]


def test_tensors_in_tensors_out() -> None:
    """Where a Tensor comes, Tensors go; programs do not remember which came when they were recorded."""
    program = fg.trace(lambda x: (x * 2, np.sum(x)))(X)
    made = program(fg.tensor(X))
    assert all(type(y) is fg.Tensor for y in made)
    assert type(fg.trace(lambda x: x * 2)(fg.tensor(X))(X)) is np.ndarray


def test_results_are_frozen_and_nobody_else_s() -> None:
    """No output shares memory with arguments or captured arrays, and none can be written to."""
    w = W.copy()
    program = fg.trace(lambda x: (x, x[1:], w, w.T, x.reshape(3, 1), np.ones(3)))(X)
    x = X.copy()
    for y in program(x):
        assert not y.flags.writeable
        assert not np.shares_memory(y, x)
        assert not np.shares_memory(y, w)
        assert y.base is None or not y.base.flags.writeable
    x[0] = 7.0
    assert w.flags.writeable


def test_python_numbers() -> None:
    """A Python number may come where a number of its dtype was recorded; what the function gave as one, comes back as one."""
    program = fg.trace(lambda x, n, b: (x * 2, n + 1, not b, x * 1j))(1.0, 3, True)
    assert [type(y) for y in program(2.5, 4, True)] == [float, int, bool, complex]
    assert program(2.5, 4, True)[:2] == (5.0, 5)
    assert program(np.float64(2.5), np.int64(4), np.True_)[0] == 5.0
    with pytest.raises(errors.ProgramArgumentError, match="x is int, but it was float64"):
        program(2, 4, True)


REFUSED: dict[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "shape": (({"w": np.ones(4), "k": [1.0]}, "sum"), {"n": 1}, r"p\['w'\] is float64\[4\], but it was float64\[3\]"),
    "dtype": (({"w": np.ones(3, np.float32), "k": [1.0]}, "sum"), {"n": 1}, r"p\['w'\] is float32\[3\], but it was float64\[3\]"),
    "deep": (({"w": X, "k": [1]}, "sum"), {"n": 1}, r"p\['k'\]\[0\] is int, but it was float64"),
    "no number": (({"w": X, "k": ["a"]}, "sum"), {"n": 1}, r"p\['k'\]\[0\] is a str, but it was float64"),
    "static": (({"w": X, "k": [1.0]}, "mean"), {"n": 1}, r"how is 'mean', but it was 'sum'"),
    "keyword": (({"w": X, "k": [1.0]}, "sum"), {"n": 1.0}, r"n is float, but it was int64"),
    "missing keyword": (({"w": X, "k": [1.0]}, "sum"), {}, r"the keyword arguments is \{\}, but it was \{'n': \*\}"),
    "list": (({"w": X, "k": (1.0,)}, "sum"), {"n": 1}, r"p\['k'\] is \(\*,\), but it was \[\*\]"),
    "count": (({"w": X, "k": [1.0]},), {"n": 1}, r"the call has 1 positional arguments, but it had 2 positional"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_arguments_are_refused(name: str) -> None:
    """Another structure, shape, dtype or static value is an error that names the argument."""
    program = fg.trace(lambda p, how, *, n: getattr(np, how)(p["w"]) * p["k"][0] + n)({"w": X, "k": [1.0]}, "sum", n=1)
    args, kwargs, message = REFUSED[name]
    with pytest.raises(errors.ProgramArgumentError, match=message):
        program(*args, **kwargs)
    with pytest.raises(TypeError):
        program(*args, **kwargs)


def test_captured_arrays_of_another_shape() -> None:
    """A captured array may change what is in it, but not its shape."""
    w = np.ones(3)
    program = fg.trace(lambda x: x * w)(X)
    w.resize((1,), refcheck=False)
    with pytest.raises(errors.ProgramArgumentError, match=r"a captured array is now float64\[1\]"):
        program(X)


def test_guards() -> None:
    """A value that answers otherwise raises: the error has the line, what was recorded, and what it is now."""

    def f(x: Any) -> Any:
        if x > 0:
            return x
        return float(x) * x

    for program, arg, kind, recorded, now in (
        (fg.trace(f)(1.0), -1.0, "bool", True, False),
        (fg.trace(f)(-1.0), -2.0, "float", -1.0, -2.0),
    ):
        calls = [program, fg.grad(program), lambda x, p=program: fg.jvp(p, (x,), (1.0,))]
        for call in calls if kind == "bool" else calls[:1]:  # as in `f` itself, `float` of a traced value is refused
            with pytest.raises(errors.GuardError) as caught:
                call(arg)
            error = caught.value
            assert (error.function, error.kind, error.recorded, error.now) == ("f", kind, recorded, now)
            assert error.place[0] == "f"
            assert error.place[1].startswith("test_calls.py:")
            assert isinstance(error, ValueError)


def test_guards_in_lanes() -> None:
    """Under `vmap` the lanes that answer as recorded go on; where one does not, the error is the same."""
    program = fg.trace(lambda x: x * 2 if x > 0 else x)(1.0)
    np.testing.assert_array_equal(fg.vmap(program)(np.array([1.0, 2.0])), [2.0, 4.0])
    with pytest.raises(errors.GuardError):
        fg.vmap(program)(np.array([1.0, -2.0]))


def test_what_stands_within_another_is_not_called() -> None:
    """The body of a loop has no arguments of its own."""
    program = fg.trace(lambda x: fg.scan(lambda c, r: (c + r, c), 0.0, x))(X)
    with pytest.raises(errors.ArgumentTypeError, match="stands within another"):
        program.equations[0]["body"](0.0, 1.0)


def test_guards_of_nan_and_zeros() -> None:
    """A nan answers as a nan did, and -0.0 does not answer as 0.0 did; in generated code and out of it."""

    def f(x: Any, flag: Any) -> Any:
        return (flag + 1.0, float(x))[0]

    for value in (np.nan, 0.0, -0.0):
        program = fg.trace(f)(value, 2.0)
        assert program(value, 3.0) == 4.0
        assert fg.grad(lambda y, p=program, v=value: p(v, y))(3.0) == 1.0
    for call in (lambda y: fg.trace(f)(0.0, 2.0)(-0.0, y), fg.grad(lambda y: fg.trace(f)(0.0, 2.0)(-0.0, y))):
        with pytest.raises(errors.GuardError, match=r"float\(\) of a traced value in f .* is -0\.0, but was 0\.0"):
            call(3.0)


def test_the_guard_that_missed_is_named() -> None:
    """Of several guards, the error is about the one that missed, also where it stands in a loop."""

    def f(x: Any) -> Any:
        if x > 0:
            x = x * 2
        if x > 100:
            return x
        return x + 1

    program = fg.trace(f)(1.0)
    with pytest.raises(errors.GuardError) as caught:
        program(60.0)
    first = f.__code__.co_firstlineno
    assert caught.value.place == ("f", f"test_calls.py:{first + 3}")
    assert (caught.value.recorded, caught.value.now) == (False, True)
