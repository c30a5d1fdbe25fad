"""`grad` and `value_and_grad` at the door: what goes in, what comes out, and in which form."""

from __future__ import annotations

import collections
import dataclasses
import functools
import gc
import inspect
import re
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

LARGE = 20_000  # elements: above the size up to which arrays are copied


def cube(x: Any) -> Any:
    """The sum of cubes."""
    return np.sum(x**3)


# ---- which arguments


def area(width: Any, height: Any, depth: Any = 1.0) -> Any:
    return width * width * height * depth


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 12.0),
        (1, 4.0),
        (-1, 12.0),
        (-3, 12.0),
        (np.int64(1), 4.0),
        ((0,), (12.0,)),
        ((0, 1), (12.0, 4.0)),
        ((1, 0), (4.0, 12.0)),
        ([0, -1], (12.0, 12.0)),
        ((), ()),
    ],
)
def test_argnums(argnums: Any, expected: Any) -> None:
    """An int gives a gradient; a tuple or list gives a tuple; negative ones count from the end of the call."""
    assert fg.grad(area, argnums)(2.0, 3.0, 1.0) == expected
    assert fg.value_and_grad(area, argnums)(2.0, 3.0, 1.0) == (12.0, expected)


@pytest.mark.parametrize("argnums", [2, -3, (0, 2), [5]])
def test_argnums_out_of_range(argnums: Any) -> None:
    """An argument the call does not have, though the function may have it by default."""
    with pytest.raises(errors.ArgumentError, match=r"^grad\(area\): argnums names argument -?\d, but the call has 2 positional\. "):
        fg.grad(area, argnums)(2.0, 3.0)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -2)])
def test_argnums_twice(argnums: Any) -> None:
    """The same argument under two numbers."""
    with pytest.raises(errors.ArgumentError, match=r"^grad\(area\): argnums names an argument twice: "):
        fg.grad(area, argnums)(2.0, 3.0)


@pytest.mark.parametrize(("argnums", "what"), [(True, "bool"), ("x", "a str"), (1.0, "float"), ((0, "x"), "a str"), ((False, 1), "bool")])
def test_argnums_must_be_ints(argnums: Any, what: str) -> None:
    """At once, not at the call."""
    with pytest.raises(errors.ArgumentTypeError) as caught:
        fg.grad(area, argnums)
    assert str(caught.value) == f"grad(area): argnums must be ints, got {what}."


def test_argnames() -> None:
    """Keyword arguments are differentiated by name; the gradient is then a pair."""
    g = fg.grad(area, argnames="depth")
    assert g(2.0, 3.0, depth=1.0) == (12.0, {"depth": 12.0})
    assert fg.grad(area, argnums=(), argnames=["height", "depth"])(2.0, height=3.0, depth=1.0) == ((), {"height": 4.0, "depth": 12.0})
    assert fg.grad(area, argnums=None, argnames=("depth",))(2.0, 3.0, depth=1.0) == ((), {"depth": 12.0})  # type: ignore[arg-type]
    with pytest.raises(errors.ArgumentError, match=r"^grad\(area\): argnames names 'depth', which the call does not pass by keyword\.$"):
        g(2.0, 3.0)


def test_keywords_and_defaults() -> None:
    """What is not differentiated is passed on as it is; defaults apply."""
    assert fg.grad(area)(2.0, 3.0) == 12.0
    assert fg.grad(area)(2.0, height=3.0, depth=2.0) == 24.0
    assert fg.grad(lambda x, *rest, scale=1.0, **more: x * sum(rest) * scale * len(more))(2.0, 3.0, 4.0, scale=2.0, a=0, b=0) == 28.0


def test_jax_keywords() -> None:
    """The names of JAX's own signature are accepted, all of them by keyword."""
    g = fg.grad(fun=area, argnums=1, has_aux=False, holomorphic=False, allow_int=False)
    assert g(2.0, 3.0) == 4.0
    assert fg.value_and_grad(fun=area, argnums=0, has_aux=False, holomorphic=False, allow_int=False)(2.0, 3.0) == (12.0, 12.0)


# ---- which functions


class Model:
    scale = 3.0

    def loss(self, x: Any) -> Any:
        return self.scale * x * x

    @staticmethod
    def free(x: Any) -> Any:
        return x * x

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return cls.scale * x

    def __call__(self, x: Any) -> Any:
        return self.scale * x**3


FUNCTIONS: list[tuple[Any, float]] = [
    (Model().loss, 12.0),
    (Model.free, 4.0),
    (Model().of_class, 3.0),
    (Model(), 36.0),
    (functools.partial(area, height=3.0), 12.0),
    (functools.partial(functools.partial(area), height=3.0), 12.0),
    (np.square, 4.0),
    (np.sin, float(np.cos(2.0))),
    (abs, 1.0),
    (lambda x: pow(x, 3), 12.0),
    (functools.wraps(area)(lambda x: x * x), 4.0),
]


@pytest.mark.parametrize(("f", "slope"), FUNCTIONS)
def test_every_callable_is_a_function(f: Any, slope: float) -> None:
    """Methods, partials, callable objects, ufuncs, builtins, decorated functions."""
    assert fg.grad(f)(2.0) == slope
    value, gradient = fg.value_and_grad(f)(2.0)
    assert (value, gradient) == (f(2.0), slope)


def test_name_docstring_and_signature_are_kept() -> None:
    """The derivative looks like the function."""
    for transform in (fg.grad, fg.value_and_grad):
        g = transform(area)
        assert (g.__name__, g.__qualname__, g.__module__) == ("area", "area", __name__)
        assert inspect.signature(g) == inspect.signature(area)
        assert transform(cube).__doc__ == "The sum of cubes."
        assert transform(Model()).__name__ == "Model"
        assert transform(functools.partial(area)).__name__ == "area"
        assert transform(np.sin).__name__ == "sin"


@pytest.mark.parametrize(("transform", "name"), [(fg.grad, "grad"), (fg.value_and_grad, "value_and_grad"), (fg.jacrev, "jacrev")])
def test_not_a_function(transform: Any, name: str) -> None:
    """`grad(f(x))` instead of `grad(f)(x)`, at once."""
    with pytest.raises(errors.ArgumentTypeError) as caught:
        transform(np.float64(3.0))
    assert str(caught.value) == f"{name}: expected a function, got float64. Write `{name}(f)(x)`, not `{name}(f(x))`."


def test_a_wrong_call_fails_as_the_function_would() -> None:
    """Missing and unknown arguments are Python's own TypeErrors."""
    with pytest.raises(TypeError, match="height"):
        fg.grad(area)(2.0)
    with pytest.raises(TypeError, match="nope"):
        fg.grad(area)(2.0, 3.0, nope=1)
    with pytest.raises(errors.ArgumentError, match=r"^grad\(area\): argnums names argument 0, but the call has 0 positional\."):
        fg.grad(area)(width=2.0, height=3.0)


# ---- what comes out is of the type of what went in


@attrs.frozen
class Layer:
    w: Any
    b: Any
    name: str = attrs.field(default="layer", metadata={"pytree": False})


@dataclasses.dataclass
class Point:
    x: Any
    y: Any


class Pair(NamedTuple):
    first: Any
    second: Any


LEAVES: list[Any] = [
    2.0,
    np.float64(2.0),
    np.float32(2.0),
    np.float16(2.0),
    np.longdouble(2.0),
    np.array(2.0),
    np.array([1.0, 2.0]),
    np.array([[1.0, 2.0]], np.float32),
    np.array([1.0], np.float16),
    np.array([1.0], np.longdouble),
    np.zeros((0, 3)),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(10.0)[::2],
]


@pytest.mark.parametrize("x", LEAVES, ids=lambda x: f"{type(x).__name__}-{np.asarray(x).dtype}-{np.shape(x)}")
def test_gradients_have_the_type_of_the_leaf(x: Any) -> None:
    """Python float, NumPy scalar and array: type, dtype, shape; the value is 3x²."""
    g = fg.grad(cube)(x)
    assert type(g) is type(x)
    assert (np.asarray(g).dtype, np.shape(g)) == (np.asarray(x).dtype, np.shape(x))
    np.testing.assert_allclose(np.asarray(g, float), 3 * np.asarray(x, float) ** 2, rtol=1e-3)


@pytest.mark.parametrize("x", LEAVES, ids=lambda x: f"{type(x).__name__}-{np.asarray(x).dtype}-{np.shape(x)}")
def test_values_are_as_the_function_returns_them(x: Any) -> None:
    """`type(value_and_grad(f)(x)[0]) is type(f(x))`, of the same dtype and the same bits."""
    for f in (cube, lambda x: np.sum(x * x), lambda x: np.sum(x).astype(np.float64)):
        value, _ = fg.value_and_grad(f)(x)
        plain = f(x)
        assert type(value) is type(plain)
        assert np.asarray(value).dtype == np.asarray(plain).dtype
        assert value == plain


def test_python_numbers_stay_python_numbers() -> None:
    """A float through Python operators is a float, as without us."""
    value, gradient = fg.value_and_grad(lambda x: x * 2 + 1)(2.0)
    assert (type(value), type(gradient)) == (float, float)
    value, gradient = fg.value_and_grad(lambda x: x)(2.0)
    assert (type(value), type(gradient)) == (float, float)


def test_tensors_give_tensors() -> None:
    """A Tensor in, Tensors out: value, gradient, and what is computed from it in aux."""
    x = fg.tensor([1.0, 2.0])
    (value, aux), g = fg.value_and_grad(lambda x: (np.sum(x**3), x * 2), has_aux=True)(x)
    assert (type(value), type(aux), type(g)) == (fg.Tensor, fg.Tensor, fg.Tensor)
    assert (float(value), aux.tolist(), g.tolist()) == (9.0, [2.0, 4.0], [3.0, 12.0])
    assert type(fg.grad(lambda x: 1.0)(x)) is fg.Tensor


def test_complex_leaves() -> None:
    """Complex inputs of a real function: JAX's convention, the conjugate of the steepest ascent."""
    for z in (1.0 + 2.0j, np.complex128(1.0 + 2.0j), np.array([1.0 + 2.0j]), np.complex64(1 + 2j)):
        g = fg.grad(lambda z: np.sum(np.abs(z) ** 2))(z)
        assert type(g) is type(z)
        np.testing.assert_allclose(g, np.conj(2 * np.asarray(z)), rtol=1e-6)


def test_containers_are_rebuilt() -> None:
    """attrs classes with static fields, dataclasses, namedtuples, dicts in their order, None, nested."""
    params = {
        "z": Layer(np.ones(2), 1.0, "deep"),
        "a": [Point(1.0, np.float32(2.0)), None, Pair(3.0, (np.ones(1),))],
        "m": collections.OrderedDict(q=1.0, p=2.0),
    }
    g = fg.grad(lambda p: sum(np.sum(leaf * leaf) for leaf in fg.tree.leaves(p)))(params)
    assert list(g) == ["z", "a", "m"]
    assert type(g["z"]) is Layer
    assert (g["z"].w.tolist(), g["z"].b, g["z"].name) == ([2.0, 2.0], 2.0, "deep")
    assert g["a"][0] == Point(2.0, np.float32(4.0))
    assert type(g["a"][0].y) is np.float32
    assert (g["a"][1], type(g["a"][2]), g["a"][2].first) == (None, Pair, 6.0)
    assert g["m"] == collections.OrderedDict(q=2.0, p=4.0)
    assert list(g["m"]) == ["q", "p"]


def test_an_empty_tree_has_an_empty_gradient() -> None:
    """Nothing to differentiate is no error."""
    assert fg.grad(lambda p: 1.0)({}) == {}
    assert fg.value_and_grad(lambda p, x: x)(None, 2.0) == (2.0, None)


def test_what_does_not_matter_has_zeros() -> None:
    """A leaf the value does not depend on: zeros of its type, shape and dtype."""
    g = fg.grad(lambda p: 3.0)({"a": np.ones(2, np.float32), "b": 1.0, "c": np.float16(1.0), "d": np.ones(LARGE)})
    assert g["a"].dtype == np.float32
    assert (g["a"].tolist(), g["b"], type(g["b"]), g["c"], type(g["c"])) == ([0.0, 0.0], 0.0, float, 0.0, np.float16)
    assert not g["d"].any()


def test_object_arrays_of_tracers_are_one_value() -> None:
    """What `np.array([x, y])` makes inside may be returned, and handed to another transformation."""
    assert fg.grad(lambda x: np.array([x, x * x]).sum())(3.0) == 7.0
    assert fg.grad(lambda x: fg.grad(lambda v: np.sum(v**2))(np.array([x, 2 * x])).sum())(1.0) == 6.0
    (_, aux), _ = fg.value_and_grad(lambda x: (x, np.array([x, 2 * x])), has_aux=True)(1.0)
    assert (aux.dtype, aux.tolist()) == (np.float64, [1.0, 2.0])


# ---- aux


def test_aux_is_any_pytree() -> None:
    """`(gradient, aux)` and `((value, aux), gradient)`; traced leaves become numbers and arrays."""

    def f(x: Any) -> Any:
        return x * x, {"twice": 2 * x, "array": np.stack([x, x])}

    g, aux = fg.grad(f, has_aux=True)(3.0)
    assert (g, aux["twice"], aux["array"].tolist()) == (6.0, 6.0, [3.0, 3.0])
    (value, aux), g = fg.value_and_grad(f, has_aux=True)(3.0)
    assert (value, type(aux["twice"]), g) == (9.0, float, 6.0)


def test_what_was_never_traced_passes_as_the_same_object() -> None:
    """aux objects, constants, strings, arrays: neither copied nor frozen."""
    thing, array = object(), np.ones(3)
    (_, aux), _ = fg.value_and_grad(lambda x: (x, [thing, array, "text", None, 7]), has_aux=True)(1.0)
    assert aux[0] is thing
    assert aux[1] is array
    assert array.flags.writeable
    assert aux[2:] == ["text", None, 7]


@pytest.mark.parametrize("out", [3.0, (1.0,), (1.0, 2.0, 3.0), [1.0, 2.0]])
def test_has_aux_wants_a_pair(out: Any) -> None:
    """Anything else is an error that says what to return."""
    with pytest.raises(errors.OutputError, match=r"with has_aux=True the output must be a pair \(value, aux\), got "):
        fg.grad(lambda x: out, has_aux=True)(1.0)


# ---- ints and complex


def test_allow_int() -> None:
    """Integer and bool leaves get zeros of their dtype, and are not traced."""
    params = {"w": np.ones(2), "n": 3, "i": np.arange(2), "b": True, "m": np.array([True, False]), "k": np.int8(2)}

    def f(p: Any) -> Any:
        assert type(p["n"]) is int
        assert type(p["i"]) is np.ndarray
        return np.sum(p["w"] * p["n"])

    g = fg.grad(f, allow_int=True)(params)
    assert g["w"].tolist() == [3.0, 3.0]
    assert (g["n"], type(g["n"]), g["b"], type(g["b"]), type(g["k"])) == (0, int, False, bool, np.int8)
    assert (g["i"].dtype, g["i"].tolist(), g["m"].dtype, g["m"].tolist()) == (np.arange(2).dtype, [0, 0], np.dtype(bool), [False, False])


def test_holomorphic() -> None:
    """The complex derivative of a holomorphic function."""
    z = 1.0 + 2.0j
    assert fg.grad(lambda z: z**3, holomorphic=True)(z) == pytest.approx(3 * z**2)
    with pytest.raises(errors.InputError, match="holomorphic=True is for complex inputs"):
        fg.grad(lambda z: z**3, holomorphic=True)(1.0)
    with pytest.raises(errors.OutputError, match="with holomorphic=True the output must be complex, got float64"):
        fg.grad(np.abs, holomorphic=True)(z)
    with pytest.raises(errors.OutputError, match="the output must be real, got complex128"):
        fg.grad(lambda z: z**3)(z)


# ---- memory


def identity_like(x: Any) -> list[Any]:
    return [x, x[:], x.T, x.reshape(-1), x.reshape(x.shape), x[::-1], np.broadcast_to(x, x.shape), np.real(x), x.astype(x.dtype), x + 0]


@pytest.mark.parametrize("n", [4, LARGE])
def test_no_output_shares_memory_with_the_inputs(n: int) -> None:
    """**Law**: values, aux and gradients are nobody's to write but ours, whatever the size."""
    x, c, unused = np.ones((2, n // 2)), np.ones((2, n // 2)), np.ones(n)
    (_, aux), (g, g2) = fg.value_and_grad(lambda x, u: (np.sum(x * c), identity_like(x)), (0, 1), has_aux=True)(x, unused)
    for array in [g, g2, *aux]:
        assert not any(np.shares_memory(array, other) for other in (x, c, unused))
        assert not array.flags.writeable
        assert array.base is None or not array.base.flags.writeable
    assert x.flags.writeable
    assert c.flags.writeable


@pytest.mark.parametrize("n", [4, LARGE])
def test_a_gradient_that_is_a_captured_array_is_a_copy(n: int) -> None:
    """The gradient of x·c is c: another array of the same numbers."""
    c, x = np.arange(float(n)), np.ones(n)
    for f in (lambda x: x @ c, lambda x: np.dot(c, x), lambda x: np.sum(x * c), lambda x: np.einsum("i,i", x, c)):
        g = fg.grad(f)(x)
        np.testing.assert_array_equal(g, c)
        assert not np.shares_memory(g, c)
        assert c.flags.writeable


@pytest.mark.parametrize("n", [4, LARGE])
def test_captured_arrays_may_be_written_to_afterwards(n: int) -> None:
    """A borrow ends with the call, also after an error."""
    c = np.ones(n)

    def fails(x: Any) -> Any:
        y = np.sum(x * c)
        raise KeyError(float(np.sum(c)), y is None)

    fg.grad(lambda x: np.sum(np.sin(x) * c))(np.ones(n))
    c[0] = 2.0
    with pytest.raises(KeyError):
        fg.grad(fails)(np.ones(n))
    c[0] = 3.0


def test_a_composite_derivative_gives_captured_arrays_back() -> None:
    """Its rule is linearized inside the walk: what the nodes hold already is not held again, for ever."""
    c = np.ones(LARGE)
    fg.grad(lambda x: np.sum((x * np.zeros(LARGE)).at[:].max(c)))(1.0)
    assert c.flags.writeable


def test_writing_to_a_large_captured_array_inside_raises() -> None:
    """While borrowed it is read-only; a small one is copied, and may be a buffer."""
    large, small = np.ones(LARGE), np.zeros(3)

    def writes(x: Any) -> Any:
        y = np.sum(x * large)
        large[0] = 2.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        fg.grad(writes)(np.ones(LARGE))
    large[0] = 5.0

    def fills(x: Any) -> Any:
        y = 0.0
        for t in range(3):
            small[:] = t
            y = y + np.sum(x * small)
        return y

    assert fg.grad(fills)(np.ones(3)).tolist() == [3.0, 3.0, 3.0]


def test_results_are_read_only() -> None:
    """Writing raises; a copy is writeable."""
    (_, aux), g = fg.value_and_grad(lambda x: (np.sum(x), x * 2), has_aux=True)(np.ones(3))
    for array in (g, aux):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
        with pytest.raises(ValueError, match=r"WRITEABLE|writeable"):
            array[:].flags.writeable = True
        assert array.copy().flags.writeable


def test_read_only_and_foreign_inputs() -> None:
    """Read-only, big-endian, Fortran-ordered, strided and broadcast inputs."""
    fixed = np.ones(3)
    fixed.flags.writeable = False
    assert fg.grad(cube)(fixed).tolist() == [3.0, 3.0, 3.0]
    g = fg.grad(cube)(np.array([1.0, 2.0], ">f8"))
    assert (g.dtype, g.tolist()) == (np.dtype(">f8"), [3.0, 12.0])
    assert fg.grad(cube)(np.broadcast_to(2.0, (2, 2))).tolist() == [[12.0, 12.0], [12.0, 12.0]]
    big = np.array([1.0, 2.0], ">f4")
    assert fg.grad(lambda x: np.sum(x * big))(np.ones(2, np.float32)).tolist() == [1.0, 2.0]


# ---- nesting


def test_nested_to_depth_four() -> None:
    """d⁴/dx⁴ of sin, and of x⁶."""
    f, g = np.sin, lambda x: x**6
    for _ in range(4):
        f, g = fg.grad(f), fg.grad(g)
    assert f(0.7) == pytest.approx(np.sin(0.7), rel=1e-14)
    assert g(2.0) == pytest.approx(360 * 4.0, rel=1e-14)


@pytest.mark.parametrize("code", [(a, b, c, d) for a in "rfl" for b in "rfl" for c in "rfl" for d in "rfl"], ids="".join)
def test_nested_in_any_order(code: tuple[str, ...]) -> None:
    """Reverse, forward and linearized first derivatives, composed in every order to depth four."""
    modes: dict[str, Any] = {
        "r": lambda f: fg.grad(f),
        "f": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[1],
        "l": lambda f: lambda x: fg.linearize(f, x)[1](1.0),
    }

    def f(x: Any) -> Any:
        return np.exp(2.0 * x) * x

    for mode in code:
        f = modes[mode](f)
    assert f(0.3) == pytest.approx(np.exp(0.6) * (16 * 0.3 + 32), rel=1e-13)


def test_closing_over_outer_tracers() -> None:
    """The inner derivative is a function of what it closes over: no confusion of perturbations."""
    assert fg.grad(lambda x: x * fg.grad(lambda y: x + y)(2.0))(1.0) == 1.0
    assert fg.grad(lambda x: x * fg.grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert fg.grad(lambda x: fg.value_and_grad(lambda y: x * x)(x)[0])(3.0) == 6.0
    assert fg.grad(lambda x: fg.grad(lambda y: x)(x) + x)(3.0) == 1.0


def test_a_second_derivative_has_the_type_of_the_leaf() -> None:
    """Also where the inner gradient passes through as a tracer."""
    for x in LEAVES:
        h = fg.grad(lambda x: np.sum(fg.grad(cube)(x)))(x)
        assert type(h) is type(x)
        np.testing.assert_allclose(np.asarray(h, float), 6 * np.asarray(x, float), rtol=1e-3)


# ---- nothing is left behind


def test_exceptions_leave_nothing_behind() -> None:
    """The collector is on, arrays are writeable, the next call works."""
    c = np.ones(LARGE)

    def fails(x: Any) -> Any:
        _ = np.sum(x * c)
        raise ZeroDivisionError

    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            fg.grad(lambda x: fg.grad(fails)(x).sum())(np.ones(LARGE))
        assert gc.isenabled()
        assert c.flags.writeable
    assert fg.grad(cube)(2.0) == 12.0


def test_the_collector_is_held_and_given_back() -> None:
    """Off while a door is open, on after the last one closed; where the user had it off, it stays off."""
    seen: list[bool] = []

    def f(x: Any) -> Any:
        seen.append(gc.isenabled())
        return x * x

    fg.grad(fg.grad(f))(1.0)
    assert seen == [False]
    assert gc.isenabled()
    gc.disable()
    try:
        fg.grad(f)(1.0)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_is_alive_after_the_call() -> None:
    """By reference counting alone."""
    refs: list[Any] = []

    def f(x: Any) -> Any:
        y = np.sin(x)
        refs.append(weakref.ref(y._value))
        return np.sum(y * y)

    gc.disable()
    try:
        fg.grad(f)(np.ones(100))
        assert [r() for r in refs] == [None]
    finally:
        gc.enable()


def test_threads_do_not_meet() -> None:
    """Nested gradients in several threads at once."""
    answers: list[float] = []

    def work() -> None:
        for _ in range(200):
            answers.append(fg.grad(fg.grad(lambda x: x**4))(2.0))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers == [48.0] * 800
    assert gc.isenabled()


# ---- leaked tracers


def test_a_stored_tracer_is_dead() -> None:
    """The message names transformation, function, file and line."""
    kept: list[Any] = []

    def stores(x: Any) -> Any:
        kept.append(x)
        return x * x

    g = fg.grad(stores)
    g(1.0)
    line = inspect.currentframe().f_lineno - 2  # type: ignore[union-attr]
    message = f"A tracer of grad(stores) (test_grad.py:{line}) was used after it ended. Return it from `stores` instead of storing it."
    uses: list[Callable[[Any], Any]] = [
        lambda t: t + 1,
        lambda t: 1 + t,
        lambda t: -t,
        lambda t: t * t,
        np.sin,
        lambda t: np.sum(t),
        lambda t: np.array([1.0]) * t,
        lambda t: fg.grad(lambda y: y * t)(1.0),
        lambda t: fg.grad(lambda y: t)(1.0),
        lambda t: fg.grad(lambda y: y * y)(t),
        lambda t: np.stack([t, t]),
        lambda t: t.reshape(1),
    ]
    for use in uses:
        with pytest.raises(errors.LeakedTracerError) as caught:
            use(kept[0])
        assert str(caught.value) == message


def test_a_tracer_in_aux_of_an_inner_transformation_passes_through() -> None:
    """An outer tracer is an ordinary value inside."""

    def f(x: Any) -> Any:
        g, aux = fg.grad(lambda y: (y * x, [x]), has_aux=True)(2.0)
        return g * aux[0]

    assert fg.grad(f)(3.0) == 6.0


def test_a_younger_tracer_does_not_leave_an_older_transformation() -> None:
    """Two transformations interleaved by threads: the older one hands out a value of the younger."""
    box: list[Any] = []
    stored, done = threading.Event(), threading.Event()

    def younger(y: Any) -> Any:
        box.append(y)
        stored.set()
        done.wait(10.0)
        return y * 1.0

    def older(x: Any) -> Any:
        thread.start()
        stored.wait(10.0)
        return box[0] * x

    thread = threading.Thread(target=lambda: fg.grad(younger)(1.0))

    try:
        with pytest.raises(errors.LeakedTracerError) as caught:
            fg.grad(older)(1.0)
    finally:
        done.set()
        thread.join()
    assert re.fullmatch(
        r"A tracer of grad\(younger\) \(test_grad.py:\d+\) came out of an older transformation\. A value may leave a transformation "
        "only through the function's return value, and not through generators, coroutines or threads that interleave two.",
        str(caught.value),
    )


def test_interleaved_generators() -> None:
    """The older transformation is handed a value of the younger one."""

    def coroutine() -> Any:
        box: list[Any] = []

        def older(x: Any) -> Any:
            fg.grad(lambda y: (box.append(y), y * x)[1])(1.0)
            return x * x

        fg.grad(older)(2.0)
        yield box[0]

    with pytest.raises(errors.LeakedTracerError, match="was used after it ended"):
        fg.grad(lambda z: z * next(coroutine()))(1.0)
