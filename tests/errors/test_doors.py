"""What may not come in at a door, or go out: the messages, word for word."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

from .kit import said


def loss(params: Any, x: Any = 1.0) -> Any:
    return 1.0


# ---- inputs


@attrs.frozen
class Layer:
    w: Any
    steps: Any


class Net:
    """A plain class: nothing says which of its attributes are parameters."""

    def __init__(self) -> None:
        self.w = 1.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (3, "params is int, which has no derivative. Pass it as a float, or mark it static."),
        (True, "params is bool, which has no derivative. Pass it as a float, or mark it static."),
        (np.arange(3), "params is int64[3], which has no derivative. Pass it as a float, or mark it static."),
        (np.uint8(3), "params is uint8, which has no derivative. Pass it as a float, or mark it static."),
        (fg.tensor([1, 2]), "params is int64[2], which has no derivative. Pass it as a float, or mark it static."),
        ({"steps": 3}, "params['steps'] is int, which has no derivative. Pass it as a float, or mark it static."),
        (
            {"layers": [Layer(1.0, (np.ones(2), np.array(True)))]},
            "params['layers'][0].steps[1] is bool, which has no derivative. Pass it as a float, or mark it static.",
        ),
        ("text", "params is a str. Only numbers and arrays of numbers have derivatives; pass it as another argument."),
        ([1.0, object()], "params[1] is an object. Only numbers and arrays of numbers have derivatives; pass it as another argument."),
        (
            {"net": Net()},
            "params['net'] is a Net. "
            "If it holds parameters, make its class a dataclass or use `fg.tree.register`; if not, pass it as another argument.",
        ),
        (
            {"activation": np.sign},
            "params['activation'] is a ufunc. Only numbers and arrays of numbers have derivatives; pass it as another argument.",
        ),
    ],
)
def test_inputs(params: Any, message: str) -> None:
    """An input without a derivative, by its path in the user's words."""
    assert said(TypeError, fg.grad(loss), params) == f"grad(loss): {message}"
    assert said(errors.InputError, fg.value_and_grad(loss), params) == f"value_and_grad(loss): {message}"
    assert said(errors.InputError, fg.vjp, loss, params) == f"vjp(loss): {message}"


def test_inputs_by_position_and_name() -> None:
    """The argument's name in the signature, or the keyword."""
    end = "is int, which has no derivative. Pass it as a float, or mark it static."
    assert said(TypeError, fg.grad(loss, 1), 1.0, 2) == f"grad(loss): x {end}"
    assert said(TypeError, fg.grad(loss, (0, -1)), 1.0, [2]) == f"grad(loss): x[0] {end}"
    assert said(TypeError, lambda: fg.grad(loss, argnames="x")(1.0, x={"a": 2})) == f"grad(loss): x['a'] {end}"
    assert said(TypeError, fg.grad(lambda *args: 1.0, 1), 1.0, 2) == f"grad(<lambda>): argument 1 {end}"
    assert said(TypeError, fg.grad(np.sum), 1) == f"grad(sum): a {end}"


def test_holomorphic_inputs() -> None:
    """Only complex inputs."""
    assert said(TypeError, fg.grad(loss, holomorphic=True), 1.0) == (
        "grad(loss): params is float. holomorphic=True is for complex inputs: pass it as complex."
    )


# ---- outputs


NO_NUMBER = "Return one number; what else there is to return goes into aux (has_aux=True)."


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.ones(5), "the output must be a scalar, got float64[5]. Reduce it (`.sum()`), or use `jacrev`."),
        (np.ones((1, 1), np.float32), "the output must be a scalar, got float32[1, 1]. Reduce it (`.sum()`), or use `jacrev`."),
        (3, "the output must be a float, got int. Integers and bools have no derivative: return a float."),
        (np.True_, "the output must be a float, got bool. Integers and bools have no derivative: return a float."),
        (1j, "the output must be real, got complex. Take its `.real` or `abs`, or pass holomorphic=True."),
        (None, f"the output must be a scalar, got None. {NO_NUMBER}"),
        ((1.0, 2.0), f"the output must be a scalar, got a tuple. {NO_NUMBER}"),
        ("a", f"the output must be a scalar, got a str. {NO_NUMBER}"),
    ],
)
def test_outputs(out: Any, message: str) -> None:
    """What a gradient cannot begin from, traced or not."""

    def f(x: Any) -> Any:
        return out * x if isinstance(out, np.ndarray) else out

    assert said(TypeError, fg.grad(f), 1.0) == f"grad(f): {message}"
    assert said(errors.OutputError, fg.value_and_grad(f), 1.0) == f"value_and_grad(f): {message}"


def test_holomorphic_output() -> None:
    """A real output of a complex input is not holomorphic."""
    assert said(TypeError, fg.grad(np.abs, holomorphic=True), 1j) == (
        "grad(absolute): with holomorphic=True the output must be complex, got float64. Leave holomorphic away."
    )


def test_has_aux() -> None:
    """A pair was promised."""
    assert said(TypeError, fg.grad(loss, has_aux=True), 1.0) == (
        "grad(loss): with has_aux=True the output must be a pair (value, aux), got float. Return both, or leave has_aux away."
    )


def test_outputs_of_jacobians() -> None:
    """Every output leaf is differentiated."""
    assert said(TypeError, fg.jacrev(lambda x: (x, 3)), 1.0) == (
        "jacrev(<lambda>): every output must be a float, got int. Return it as aux, or leave it away."
    )
    assert said(TypeError, fg.jacrev(lambda x: x * 1j), 1.0) == (
        "jacrev(<lambda>): every output must be real, got complex128. Take `.real`, or see holomorphic."
    )
    assert said(TypeError, fg.jacfwd(lambda z: z), 1j) == (
        "jacfwd(<lambda>): z is complex. Forward Jacobians of complex inputs need holomorphic=True."
    )


# ---- arguments of the transformations


def test_not_a_function() -> None:
    """`grad(f(x))` in place of `grad(f)(x)`."""
    for transform, name in ((fg.grad, "grad"), (fg.jacfwd, "jacfwd"), (fg.linearize, "linearize")):
        assert said(TypeError, transform, 3.0) == f"{name}: expected a function, got float. Write `{name}(f)(x)`, not `{name}(f(x))`."


def test_argnums() -> None:
    """Which arguments."""
    assert said(TypeError, fg.grad, loss, "x") == "grad(loss): argnums must be ints, got a str."
    assert said(ValueError, fg.grad(loss, 2), 1.0, 1.0) == (
        "grad(loss): argnums names argument 2, but the call has 2 positional. Pass it by position, or use argnames."
    )
    assert said(ValueError, fg.grad(loss, (0, -2)), 1.0, 1.0) == "grad(loss): argnums names an argument twice: (0, -2)."
    assert said(ValueError, fg.grad(loss, argnames="y"), 1.0) == (
        "grad(loss): argnames names 'y', which the call does not pass by keyword."
    )


def test_tangents_and_cotangents() -> None:
    """Structure, shape, and real or complex."""
    assert said(TypeError, fg.jvp, np.sin, 1.0, (1.0,)) == (
        "jvp(sin): primals must be a tuple or list of arguments, got float. Write `(x,)`."
    )
    assert said(TypeError, fg.jvp, np.sin, (1.0,), ([1.0],)) == (
        "jvp(sin): the tangents must have the structure of the primals: got TreeDef(([*],)), expected TreeDef((*,))."
    )
    assert said(ValueError, fg.jvp, lambda x: x, (np.ones(2),), (np.ones(3),)) == (
        "jvp(<lambda>): the tangent of x must have shape [2], got float64[3]."
    )
    _, pull = fg.vjp(lambda x: {"y": [x]}, np.ones(2))
    assert said(ValueError, pull, {"y": [1.0]}) == "vjp(<lambda>): the cotangent of the output['y'][0] must have shape [2], got float."
    assert said(TypeError, pull, {"y": [np.ones(2) * 1j]}) == (
        "vjp(<lambda>): the cotangent of the output['y'][0] is complex, but its primal is float64. Take its real part."
    )


def test_linear_transpose() -> None:
    """Only of linear functions."""
    assert said(ValueError, fg.linear_transpose, np.sin, 1.0) == (
        "linear_transpose(sin): the function is not linear. Use `vjp` for the transpose of its derivative."
    )


# ---- leaked tracers


def test_leaked_tracer() -> None:
    """A stored tracer names its transformation, function, file and line."""
    kept: list[Any] = []

    def stores(x: Any) -> Any:
        kept.append(x)
        return x * x

    fg.grad(stores)(1.0)
    assert said(RuntimeError, lambda: kept[0] + 1.0) == (
        "A tracer of grad(stores) (test_doors.py:LINE) was used after it ended. Return it from `stores` instead of storing it."
    )


def test_every_error_is_also_a_builtin_one() -> None:
    """A user catches TypeError, ValueError, NotImplementedError, RuntimeError, KeyError, AttributeError or ImportError; and the base catches all."""
    builtin = (TypeError, ValueError, NotImplementedError, RuntimeError, KeyError, AttributeError, AssertionError, ImportError)
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.FuncgradError)]
    assert len(classes) > 20
    for cls in classes:
        assert cls is errors.FuncgradError or issubclass(cls, builtin), cls
