"""`fg.trace`: what goes into a recording, and what comes of it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.core import Traced

X = np.array([1.0, 2.0, 3.0])


def test_inputs_are_numbers_and_captures_come_last() -> None:
    """Every number in the arguments is an input, strings and functions are not, and an array from outside is a captured input."""
    w = np.ones(3)
    program = fg.trace(lambda p, how, *, n: how(p["x"] * w) * p["k"] + n)({"x": X, "k": 2, "name": "me"}, np.sum, n=True)
    assert [(v.shape, str(v.dtype)) for v in program.inputs] == [((), "int64"), ((3,), "float64"), ((), "bool"), ((3,), "float64")]
    assert program.captures == (w,)
    assert program.captures[0] is w
    assert program.signature is not None
    assert program.signature.words == ("p['k']", "p['x']", "n")


def test_captured_arrays_are_read_when_called() -> None:
    """A captured array is an input by reference: what is written to it later counts, as it does for the function."""
    w = np.ones(3)
    program = fg.trace(lambda x: np.sum(x * w))(X)
    w[:] = 10.0
    assert program(X) == 60.0
    assert w.flags.writeable


def test_python_control_flow_is_one_path() -> None:
    """`if`, `for` and `range(n)` take the path of the arguments, which guards remember."""

    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x / 2 if x > 1 else x + 1
        return x

    program = fg.trace(f)(3.0, 3)
    assert program(3.5, 3) == f(3.5, 3)
    with pytest.raises(errors.GuardError, match=r"the integer of a traced value in f \(test_trace\.py:\d+\) is 4, but was 3"):
        program(3.0, 4)


def test_outer_tracers_are_captured() -> None:
    """What belongs to an outer transformation becomes a hidden input, and its derivative is not lost."""

    def f(y: float) -> Any:
        program = fg.trace(lambda x: x * y**2)(3.0)
        assert isinstance(program.captures[0], Traced)
        return program(5.0)

    assert fg.grad(f)(2.0) == 20.0


def test_tracing_traced_arguments() -> None:
    """An argument may itself be traced: the recording takes its shape and dtype, and its ground value for looks."""

    def f(x: Any) -> Any:
        return x * 3 if x > 0 else x

    assert fg.grad(lambda x: fg.trace(f)(x)(x))(2.0) == 3.0
    np.testing.assert_array_equal(fg.vmap(lambda x: fg.trace(np.sin)(x)(x))(X), np.sin(X))
    assert fg.trace(lambda x: fg.trace(f)(x)(x))(2.0).closed == fg.trace(f)(2.0).closed


def test_what_is_recorded_is_what_the_function_is() -> None:
    """Two recordings of the same are equal, and have one hash; other dtypes, shapes or equations make another program."""

    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * 2)

    a, b = fg.trace(f)(X), fg.trace(f)(X + 1)
    assert a == b
    assert hash(a) == hash(b)
    assert a != fg.trace(f)(X.astype(np.float32))
    assert a != fg.trace(f)(X[:2])
    assert a != fg.trace(lambda x: np.sum(np.sin(x) * 2))(X)
    assert a.closed == fg.trace(lambda x: np.sum(np.sin(x) * 2))(X).closed
    assert a.closed != fg.trace(lambda x: np.sum(np.sin(x) * -2))(X).closed


def test_zeros_of_both_signs_are_two_literals() -> None:
    """-0.0 is not 0.0 in a program, and nan is nan."""
    assert fg.trace(lambda x: x + 0.0)(X).closed != fg.trace(lambda x: x + -0.0)(X).closed
    assert fg.trace(lambda x: x + np.nan)(X).closed == fg.trace(lambda x: x + np.nan)(X).closed


def test_captures_are_compared_by_content() -> None:
    """Programs with equal captured arrays are equal, whoever owns these."""

    def make(w: Any) -> fg.Program:
        def f(x: Any) -> Any:
            return x * w

        return fg.trace(f)(X)

    assert make(X) == make(X.copy())
    assert make(X) != make(X + 1)
    assert hash(make(X)) == hash(make(X + 1))


@pytest.mark.parametrize(
    "x", [np.array(["a"]), np.ma.array(X), np.array([object()]), np.datetime64("2020-01-01")], ids=["str", "masked", "object", "date"]
)
def test_arrays_of_no_numbers(x: Any) -> None:
    """Arrays of strings or objects are refused by their path; whether two are the same cannot be told."""

    def f(p: Any) -> None: ...

    with pytest.raises(errors.InputError, match=r"trace\(f\): p\['k'\] is "):
        fg.trace(f)({"k": x})


def test_callables() -> None:
    """Methods, partials and callable objects are functions; what is none is refused."""

    class Model:
        def __call__(self, x: Any) -> Any:
            return x * 2

        def method(self, x: Any) -> Any:
            return x * 3

    assert fg.trace(Model())(2.0)(5.0) == 10.0
    assert fg.trace(Model().method)(2.0)(5.0) == 15.0
    assert fg.trace(functools.partial(lambda a, x: a * x, 4.0))(2.0)(5.0) == 20.0
    assert fg.trace(np.sin)(2.0)(5.0) == np.sin(5.0)
    with pytest.raises(errors.ArgumentTypeError, match="expected a function, got float"):
        fg.trace(3.0)  # type: ignore[arg-type]


def test_errors_are_the_function_s_own() -> None:
    """What the function raises comes out as it is, and leaves nothing behind."""
    with pytest.raises(ZeroDivisionError):
        fg.trace(lambda x: x / 0.0)(1.0)
    assert fg.trace(lambda x: x * 2)(1.0)(3.0) == 6.0


def test_lines_are_the_user_s() -> None:
    """Also of what operators do that are generated code themselves."""
    program = fg.trace(fg.grad(lambda x: np.sum(np.sin(x * 2.0) * x / (1.0 + x * x))))(np.ones(2))
    assert {e.line.filename for e in program.equations if e.line} == {__file__}
