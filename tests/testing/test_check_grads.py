"""Tests of the test: `check_grads` passes what is right and names what is wrong, word for word."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.ops import kinds
from funcgrad.testing import check_grads

RNG = np.random.default_rng(0)
W, X = RNG.normal(size=(3, 4)), RNG.normal(size=4)


def layer(p: Any, s: Any) -> Any:
    return {"a": np.tanh(p["w"] @ p["x"]) * s, "n": 3}


def fails(error: type[Exception], sentence: str, f: Any, args: Any, **more: Any) -> Any:
    """The exception, whose message is this sentence."""
    with pytest.raises(error, match=f"^{re.escape(sentence)}$") as caught:
        check_grads(f, args, **more)
    assert isinstance(caught.value, AssertionError)
    return caught.value


# ---- what passes


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_right_derivatives_pass(dtype):
    """Pytrees of arguments and outputs, in every precision, to third order, in both modes."""
    check_grads(layer, ({"w": W.astype(dtype), "x": X.astype(dtype)}, dtype(1.5)), order=3)


def test_mixed_precisions_pass():
    """The tolerance is that of the least precise dtype."""
    check_grads(layer, ({"w": W.astype(np.float32), "x": X}, 2.0))


def test_a_function_that_rounds_passes():
    """Where `f` itself rounds to float32 the step is larger."""
    check_grads(lambda x: np.sin(x).astype(np.float32), (X,))


def test_other_leaves_are_left_alone():
    """Integers, bools and strings in the arguments are handed to `f` as they are."""
    check_grads(lambda x, i, flag, how: x[i] ** 2 if flag and how == "square" else x, (X, np.array([0, 2, 0]), True, "square"))


def test_tensors_pass():
    """Tensors in, Tensors out."""
    check_grads(lambda t: np.sin(t) * t, (fg.tensor(X),))


@pytest.mark.parametrize("f", [lambda z: np.exp(z) * z, lambda z: np.conj(z) * z, lambda z: z * z[::-1]])
def test_complex_passes(f):
    """Holomorphic or not: derivatives along both axes are checked."""
    check_grads(f, (X + 1j * X[::-1],))


def test_empty_and_zero_dimensional_arguments_pass():
    """An empty array has nothing to check; a 0-d one has no index."""
    check_grads(lambda x, y: (np.sin(x), np.cos(y)), (np.zeros((0, 3)), np.array(0.5)))


def test_one_mode_alone():
    """`modes` restricts what is asked."""
    check_grads(twice_forward, (X,), order=1, modes=("fwd",))
    with pytest.raises(errors.GradientError, match="reverse mode"):
        check_grads(twice_forward, (X,), order=1, modes=("rev",))


def test_arguments_are_not_touched():
    """The caller's arrays are as they were, and still writeable."""
    x = X.copy()
    check_grads(np.sin, (x,))
    np.testing.assert_array_equal(x, X)
    assert x.flags.writeable


# ---- wrong rules: primitives made on the spot, not registered

bad_sin = kinds.Elementwise("bad_sin", np.sin, (kinds.rule(lambda t, x: t * x),))
twice_forward = kinds.Linear("twice", lambda x: 2 * x, lambda ct, x: 3 * ct)
bad_cos = kinds.Elementwise("bad_cos", np.cos, (kinds.rule(lambda t, x: t * 0.5),))
sin_then_bad = kinds.Elementwise("sin_then_bad", np.sin, (kinds.rule(lambda t, x: t * bad_cos(x)),))
one_entry = kinds.Elementwise("one_entry", lambda x: np.where(abs(x - 5) < 0.1, 7 * x, x)[()], (kinds.rule(lambda t: t),))


def test_a_wrong_rule_is_named_by_path_and_both_values():
    """Both modes share the wrong rule, and the report says so."""
    e = fails(
        errors.WrongDerivativeError,
        "check_grads(loss): ∂out['y']/∂args[0]['x'] is 2.0 by forward mode, -0.4161468365 by the complex step (order 1). "
        "Both modes are off: a derivative rule is wrong, or the function is not smooth here.",
        _named("loss", lambda p: {"y": bad_sin(p["x"])}),
        ({"x": 2.0},),
    )
    assert (e.path, e.out, e.mode, e.order, e.found, e.expected) == ("args[0]['x']", "out['y']", "forward mode", 1, 2.0, -0.4161468365)


def test_the_side_that_is_off_is_named():
    """A wrong transpose: forward mode is right."""
    fails(
        errors.WrongDerivativeError,
        "check_grads(f): ∂out[1]/∂args[0][1] is 12.0 by reverse mode, 8.0 by the complex step (order 1). "
        "Forward mode agrees with differences: the reverse side of a rule is off.",
        _named("f", lambda x, y: np.array([1.0, 2.0]) + twice_forward(x) * y),
        (np.ones(2), 4.0),
    )


def test_the_index_is_found_by_halving():
    """One wrong entry among 10,000 is found and named."""
    x = np.arange(10_000.0).reshape(100, 100) + 0.25
    x[37, 11] = 5.0
    with pytest.raises(errors.WrongDerivativeError) as caught:
        check_grads(lambda p: (1.0, one_entry(p["w"])), ({"b": np.ones(3), "w": x},), order=1)
    assert (caught.value.path, caught.value.out) == ("args[0]['w'][37, 11]", "out[1][37, 11]")


def test_a_wrong_second_derivative_is_named():
    """Right at order 1, wrong at order 2: the entry has two inputs, the mode says which is over which."""
    fails(
        errors.WrongDerivativeError,
        "check_grads(f): ∂²out[1]/∂args[0][1]∂args[0][1] is 0.5 by reverse over reverse, -0.9092974268 by the complex step (order 2). "
        "Both modes are off: a derivative rule is wrong, or the function is not smooth here.",
        _named("f", lambda x: sin_then_bad(x)),
        (np.array([1.0, 2.0]),),
        modes=("rev",),
    )
    check_grads(lambda x: sin_then_bad(x), (np.array([1.0, 2.0]),), order=1)


def test_complex_entries_have_parts():
    """A complex entry is two: the report says which part of which."""
    sentence = "∂out[0].real/∂args[0][0].imag is -1.0 by forward mode, 0.9888977058 by differences"
    with pytest.raises(errors.WrongDerivativeError, match=re.escape(sentence)):
        check_grads(lambda z: bad_sin(z), (np.array([1 + 1j]),))


def test_a_slope_that_jumps_is_reported():
    """`abs` at 0 has a first derivative by convention, which differences agree with, but no second."""
    check_grads(np.abs, (np.array([1.0, 0.0]),), order=1)
    with pytest.raises(errors.WrongDerivativeError, match="or the function is not smooth here"):
        check_grads(np.abs, (np.array([1.0, 0.0]),), order=2)


# ---- code that is no function of its arguments


def test_augmented_assignment_to_an_argument_is_reported():
    """`y = x; y += 1` changes `x` under NumPy, and only there."""

    def f(p: Any) -> Any:
        y = p["x"]
        y += 1
        return np.sum(p["x"] * y)

    fails(
        errors.ChangedArgumentError,
        "check_grads(f): it changes args[0]['x'][1] from 2.0 to 3.0 under plain NumPy, as `y = x; y += 1` does. "
        "On traced values augmented assignment makes a new value and leaves `x` alone. Write `y = y + 1`.",
        f,
        ({"x": np.array([np.nan, 2.0])},),
    )


def test_augmented_assignment_inside_is_reported():
    """Aliases of intermediate values change under NumPy alone."""

    def f(x: Any) -> Any:
        y = x * 2
        z = y
        z += 1
        return y * z

    fails(
        errors.ValueMismatchError,
        "check_grads(f): out[1] is 20.0 traced by forward mode, 25.0 under plain NumPy. "
        "An augmented assignment does that (`z = y; z += 1` changes `y` too under NumPy alone): write `z = z + 1`. "
        "If there is none, an operation's value is wrong.",
        f,
        (np.array([1.0, 2.0]),),
    )


def test_hidden_inputs_are_reported():
    """Two calls with equal arguments must agree."""
    count = iter(range(1, 100))
    fails(
        errors.NondeterministicError,
        "check_grads(f): out is 2.0 in one call and 4.0 in the next, with equal arguments. "
        "Only a function of its arguments has a derivative. Draw random numbers outside and pass them in.",
        _named("f", lambda x: x * next(count)),
        (2.0,),
    )


# ---- the face


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: check_grads(np.sin, 1.0), "check_grads(sin): args must be a tuple or list of arguments, got a float. Write (x,)."),
        (
            lambda: check_grads(np.sin, (1,)),
            "check_grads(sin): no argument holds a float, so there is nothing to check. Pass floats, as in `(1.0,)`.",
        ),
        (
            lambda: check_grads(np.isnan, (1.0,)),
            "check_grads(isnan): no output is a float, so there is nothing to check. Return the value of interest.",
        ),
        (lambda: check_grads(np.sin, (1.0,), order=0), "check_grads(sin): order must be at least 1, got 0."),
        (lambda: check_grads(np.sin, (1.0,), modes="fwd"), "check_grads(sin): modes must be a tuple of 'fwd' and 'rev', got 'fwd'."),
        (lambda: check_grads(np.sin, (1.0,), modes=("all",)), "check_grads(sin): modes must be a tuple of 'fwd' and 'rev', got ('all',)."),
    ],
)
def test_wrong_calls_are_explained(call, sentence):
    """What to write instead, as of any transformation."""
    with pytest.raises(errors.FuncgradError) as caught:
        call()
    assert str(caught.value) == sentence


def _named(name: str, f: Any) -> Any:
    f.__name__ = name
    return f
