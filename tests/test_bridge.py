"""The bridge of section 8: what NumPy makes of lists of traced numbers, and where it becomes one traced array again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.core import Label, Traced
from funcgrad.numpy.bridge import array, bare, has_traced, stacked
from funcgrad.transforms.linearize import Linearize
from tests.laws.paths import PATHS

M = Linearize(Label("grad", "f", "here.py", 1))


@pytest.fixture(params=PATHS, autouse=True)
def path(request: Any) -> Iterator[None]:
    with PATHS[request.param]():
        yield


def derivatives(f: Callable[[Any], Any], t: float) -> tuple[Any, ...]:
    """Value, f' in both modes, f''."""
    value, forward = fg.jvp(f, (t,), (1.0,))
    reverse = fg.jacrev(f)(t)
    np.testing.assert_allclose(np.asarray(forward), np.asarray(reverse), rtol=1e-12, atol=1e-14)
    return np.asarray(value), np.asarray(reverse), np.asarray(fg.jacfwd(fg.jacrev(f))(t))


ROWS = np.array([[1.0, -2.0], [0.5, 3.0]])

WORKS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    # as users write it, and the same in closed form
    "np.array([x, y])": (lambda t: np.array([t**3, np.sin(t)]) * 2.0, lambda t: np.stack([2 * t**3, 2 * np.sin(t)])),
    "nested lists": (lambda t: ROWS @ np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]), lambda t: ROWS @ rotation(t)),
    "beside numbers": (lambda t: np.array([[t, 1.0], [0, t * t]]) @ np.ones(2), lambda t: np.stack([t + 1.0, t * t])),
    "on the left": (lambda t: np.array([t, t * t]) @ ROWS, lambda t: np.stack([t, t * t]) @ ROWS),
    "np.asarray(x)": (lambda t: np.asarray(t) ** 2 * np.ones(2), lambda t: t**2 * np.ones(2)),
    "np.asarray of an array": (lambda t: np.asarray(t * ROWS[0]) * t, lambda t: t * t * ROWS[0]),
    "np.full": (lambda t: np.full((2, 3), t) * t, lambda t: t * t * np.ones((2, 3))),
    "np.sum of a list": (lambda t: np.sum([t, t**2, 1.0]), lambda t: t + t**2 + 1),
    "np.sum of an array": (lambda t: np.sum(np.array([t, t**2])), lambda t: t + t**2),
    "np.dot": (lambda t: np.dot(np.array([t, 2 * t]), np.array([t, 3.0])), lambda t: t * t + 6 * t),
    "np.dot with an array": (lambda t: np.dot(ROWS, np.array([t, t * t])), lambda t: ROWS @ np.stack([t, t * t])),
    "np.concatenate": (lambda t: np.concatenate([[t], [t * t, 1.0]]) * t, lambda t: np.stack([t * t, t**3, t])),
    "np.exp": (lambda t: np.exp(np.array([t, 2 * t])), lambda t: np.stack([np.exp(t), np.exp(2 * t)])),
    "a ufunc of two": (lambda t: np.maximum(np.array([t, -t]), 0.0), lambda t: np.stack([np.maximum(t, 0.0), np.maximum(-t, 0.0)])),
    "np.where": (lambda t: np.where([True, False], np.array([t, t]), [t * t, 3 * t * t]), lambda t: np.stack([t, 3 * t * t])),
    "np.max": (lambda t: np.max(np.array([t, t**2, -t])), lambda t: np.maximum(t, np.maximum(t**2, -t))),
    "indexing it": (lambda t: np.array([t, t**2, t**3])[1:] * t, lambda t: np.stack([t**3, t**4])),
    "its methods": (lambda t: np.array([[t, t * t]]).T.reshape(-1).sum() * t, lambda t: t * t + t**3),
    "np.append": (lambda t: np.append(t * ROWS[0], t), lambda t: np.stack([t, -2.0 * t, t])),
    "np.outer": (lambda t: np.outer([t, 1.0], [t, 2.0]), lambda t: np.stack([np.stack([t * t, 2 * t]), np.stack([t, 2.0])])),
    "np.linalg.norm of a list": (lambda t: np.linalg.norm(t * np.stack([t, 2.0 * t])), lambda t: t * np.sqrt(5.0) * abs(t)),
    "np.block": (lambda t: np.block([[t * ROWS], [np.ones((1, 2))]]), lambda t: np.concatenate([t * ROWS, np.ones((1, 2))])),
    "a default dtype=object": (lambda t: np.array([t, t], dtype=object) * t, lambda t: np.stack([t * t, t * t])),
    "a comprehension": (lambda t: np.array([t**k for k in range(4)]) @ np.arange(4.0), lambda t: t + 2 * t**2 + 3 * t**3),
    "itself as an output": (lambda t: np.array([t, t * t]), lambda t: np.stack([t, t * t])),
}


def rotation(t: Any) -> Any:
    return np.stack([np.stack([np.cos(t), -np.sin(t)]), np.stack([np.sin(t), np.cos(t)])])


@pytest.mark.parametrize("name", WORKS)
def test_what_works(name: str) -> None:
    """Value and derivatives are those of the same thing written with `np.stack`."""
    written, meant = WORKS[name]
    for found, expected in zip(derivatives(written, 0.8), derivatives(meant, 0.8), strict=True):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14, strict=True)


def test_under_nested_transformations() -> None:
    """Tracers of two transformations in one array."""
    f = lambda x: fg.grad(lambda y: np.array([x * y, y**2]) @ np.array([x, x**2]))(2.0)  # x² + 2 y x² at y = 2
    assert fg.grad(f)(3.0) == pytest.approx(2 * 3 + 4 * 2 * 3)
    g = lambda x: np.sum(np.array([x, fg.grad(lambda y: y * np.sum(np.array([x, y])))(x)]) ** 2)  # x² + (3x)²
    assert fg.grad(g)(1.5) == pytest.approx(20 * 1.5)


def test_as_an_input_of_a_transformation() -> None:
    """An object array of tracers that meets a door is one traced leaf."""
    f = lambda x: np.sum(fg.grad(lambda v: np.sum(v**3))(np.array([x, 2 * x])))  # 3x² + 12x²
    assert fg.grad(f)(2.0) == pytest.approx(60.0)
    h = lambda x: fg.jvp(lambda v: v**2, (np.array([x, x]),), (np.array([x, 1.0]),))[1] @ np.ones(2)  # 2x² + 2x
    assert fg.grad(h)(3.0) == pytest.approx(14.0)


def test_as_an_output() -> None:
    """What comes out is an ordinary array, or a number, of floats; frozen."""
    (value, aux), g = fg.value_and_grad(lambda t: (np.sum(np.array([t, t])), np.array([t, 2.0])), has_aux=True)(1.5)
    assert (value, g) == (3.0, 2.0)
    assert (aux.dtype, aux.tolist(), aux.flags.writeable) == (np.float64, [1.5, 2.0], False)
    assert fg.vjp(lambda t: [np.array([[t, 1.0]])], 1.5)[0][0].tolist() == [[1.5, 1.0]]


def test_beside_a_tensor() -> None:
    """A Tensor is its array there."""
    t = fg.tensor([1.0, 2.0])
    assert fg.grad(lambda x: np.sum(np.array([x, x * x]) * t))(3.0) == 1 + 2 * 6.0
    assert fg.grad(lambda x: np.sum(t * np.array([x, x * x])))(3.0) == 1 + 2 * 6.0
    assert fg.grad(lambda x: fg.tensor([x, x * x]) @ t)(3.0) == 1 + 2 * 6.0


# ---- the limits


def test_a_large_array_is_not_taken_apart() -> None:
    """`np.asarray` of more than 4,096 traced elements raises, and says to drop it."""
    assert fg.grad(lambda x: np.sum(np.asarray(x) * 2))(np.ones(64)).tolist() == [2.0] * 64
    with pytest.raises(errors.TooLargeToStackError) as caught:
        fg.grad(lambda x: np.sum(np.asarray(x)))(np.ones(4097))
    assert "of 4097 elements would go element by element (limit: 4096)" in str(caught.value)


FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "item": lambda a, x: a.__setitem__(0, x),
    "slice": lambda a, x: a.__setitem__(slice(None), np.stack([x, x])),
    "fill": lambda a, x: a.fill(x),
    "in place": lambda a, x: a.__iadd__(x),
    "itself": lambda a, x: a.__imul__(np.array([x, x])),
}


@pytest.mark.parametrize("how", FILLS)
def test_filling_an_ndarray(how: str) -> None:
    """It cannot hold a traced value: an error in every way of trying, and nothing is written."""
    a = np.zeros(2)

    def f(x: Any) -> Any:
        FILLS[how](a, x)
        return np.sum(a) * x

    with pytest.raises((TypeError, ValueError)):
        fg.grad(f)(1.5)
    assert a.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: np.array([x, x], dtype=float),
        lambda x: np.asarray(x, dtype=np.float32),
        lambda x: np.full(2, x, dtype=float),
        lambda x: np.array([x, x]).astype(float),
        lambda x: np.fromiter([x, x], float),
        lambda x: math.fsum([x, x]),
    ],
)
def test_conversions_to_float(cut: Callable[[Any], Any]) -> None:
    """They would drop the gradient: our error, or NumPy's with ours as its cause."""
    with pytest.raises((TypeError, ValueError)) as caught:
        fg.grad(lambda x: np.sum(cut(x)))(1.5)
    error: BaseException | None = caught.value
    while error is not None and not isinstance(error, errors.FuncgradError):
        error = error.__cause__
    assert error is not None


@pytest.mark.parametrize("f", [lambda v: np.linalg.solve(ROWS, v), lambda v: np.linalg.inv(v), lambda v: np.linalg.det(v)])
def test_c_code_that_wants_ndarrays(f: Callable[[Any], Any]) -> None:
    """NumPy's own linear algebra gets an object array, and says so; `np.stack` is what to write."""
    with pytest.raises(TypeError):
        fg.grad(lambda x: np.sum(f(np.array([[x, 1.0], [0.0, x]]))))(1.5)
    fg.grad(lambda x: np.sum(f(np.stack([np.stack([x, 1.0]), np.stack([0.0, x])]))))(1.5)


def test_ragged_lists() -> None:
    """NumPy's error, or ours; never a guess."""
    with pytest.raises(ValueError, match=r"regular|inhomogeneous"):
        fg.grad(lambda x: np.sum(np.sum([[x], [x, x]])))(1.5)


# ---- the functions


def test_bare() -> None:
    """Tensors become their arrays, object arrays of tracers one tracer; containers keep their type; the rest is itself."""
    x, t, a = M.leaf(1.0), fg.tensor([1.0]), np.ones(2)
    assert bare(x) is x
    assert bare(a) is a
    assert type(bare(t)) is np.ndarray
    assert isinstance(bare(np.array([x, 2.0])), Traced)
    out = bare({"k": [t, (x, 3.0)]})
    assert type(out["k"][0]) is np.ndarray
    assert out["k"][1] == (x, 3.0) or out["k"][1][0] is x
    objects = np.array([None, "text"], dtype=object)
    assert bare(objects) is objects


def test_array_of_nested_lists() -> None:
    """Traced where any element is; else an ndarray; scalars and arrays as they are."""
    x = M.leaf(2.0)
    made = array([[x, 1.0], (2, x)])
    assert isinstance(made, Traced)
    assert made.shape == (2, 2)
    assert made._value.tolist() == [[2.0, 1.0], [2.0, 2.0]]
    assert array([x * np.ones(3), np.zeros(3)]).shape == (2, 3)
    assert type(array([[1, 2], [3, 4]])) is np.ndarray
    assert array(3.0) == 3.0


def test_has_traced() -> None:
    """At any depth, also in object arrays."""
    x = M.leaf(2.0)
    assert has_traced(x)
    assert has_traced([1.0, (2.0, [x])])
    assert has_traced(np.array([1.0, x]))
    assert not has_traced([1.0, "x", np.ones(2)])
    assert not has_traced(np.array([None]))


def test_stacked_keeps_the_shape() -> None:
    """Element by element, in C order; of any number of axes, and none."""
    x = M.leaf(2.0)
    made = stacked(np.array([[[x, 1.0], [3.0, x * 2]]]))
    assert made.shape == (1, 2, 2)
    assert made._value.ravel().tolist() == [2.0, 1.0, 3.0, 4.0]
    zero_d = np.empty((), object)
    zero_d[()] = x
    assert stacked(zero_d).shape == ()
    empty = np.empty((0,), object)
    assert stacked(empty) is empty
