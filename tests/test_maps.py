"""`jvp`, `vjp`, `linearize`, `linear_transpose` and `stop_gradient`: a derivative as a linear map, both ways."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

LARGE = 20_000  # elements: above the size up to which arrays are copied


class Pair(NamedTuple):
    a: Any
    b: Any


def f(p: Any, s: Any) -> Any:
    """Two outputs of one pytree and one number."""
    return {"dot": np.sin(p.a) @ p.b, "scaled": [p.a * s, s**2]}


POINT = (Pair(np.array([1.0, 2.0]), np.array([3.0, 4.0])), 0.5)
MOVE = (Pair(np.array([0.1, 0.2]), np.array([-1.0, 1.0])), 2.0)
CT = {"dot": 2.0, "scaled": [np.array([1.0, -1.0]), 3.0]}


def plain_jvp() -> Any:
    (a, b), s = POINT
    (da, db), ds = MOVE
    return {"dot": np.cos(a) * da @ b + np.sin(a) @ db, "scaled": [da * s + a * ds, 2 * s * ds]}


def plain_vjp() -> Any:
    (a, b), s = POINT
    dot, (scaled, square) = CT["dot"], CT["scaled"]  # type: ignore[misc]
    return Pair(dot * np.cos(a) * b + scaled * s, dot * np.sin(a)), scaled @ a + square * 2 * s


def close(got: Any, want: Any) -> None:
    assert fg.tree.structure(got) == fg.tree.structure(want)
    for g, w in zip(fg.tree.leaves(got), fg.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-14)


# ---- the maps


def test_jvp_of_a_pytree() -> None:
    """Value and directional derivative, in the structure of the output."""
    value, tangent = fg.jvp(f, POINT, MOVE)
    close(value, f(*POINT))
    close(tangent, plain_jvp())
    close(fg.jvp(f, list(POINT), list(MOVE))[1], plain_jvp())


def test_linearize_of_a_pytree() -> None:
    """The same map as a function of the tangents, which does not run `f` again."""
    calls: list[int] = []

    def counted(*args: Any) -> Any:
        calls.append(1)
        return f(*args)

    value, push = fg.linearize(counted, *POINT)
    close(value, f(*POINT))
    for _ in range(3):
        close(push(*MOVE), plain_jvp())
    assert calls == [1]


def test_vjp_of_a_pytree() -> None:
    """The transpose, as a tuple with one entry per primal."""
    value, pull = fg.vjp(f, *POINT)
    close(value, f(*POINT))
    for _ in range(3):
        close(pull(CT), plain_vjp())


def test_the_maps_are_transposes_of_each_other() -> None:
    """⟨ct, J t⟩ = ⟨Jᵀ ct, t⟩."""

    def inner(x: Any, y: Any) -> Any:
        return sum(np.sum(a * b) for a, b in zip(fg.tree.leaves(x), fg.tree.leaves(y), strict=True))

    assert inner(CT, fg.jvp(f, POINT, MOVE)[1]) == pytest.approx(inner(fg.vjp(f, *POINT)[1](CT), MOVE), rel=1e-14)


def test_aux() -> None:
    """The third of three; what was never traced is the same object."""
    thing = object()

    def g(x: Any) -> Any:
        return x * x, [thing, 2 * x]

    for made in (
        fg.jvp(g, (3.0,), (1.0,), has_aux=True),
        fg.vjp(g, 3.0, has_aux=True),
        fg.linearize(g, 3.0, has_aux=True),
    ):
        value, _, aux = made
        assert (value, aux[0] is thing, aux[1]) == (9.0, True, 6.0)
    with pytest.raises(errors.OutputError, match="with has_aux=True the output must be a pair"):
        fg.vjp(lambda x: x, 1.0, has_aux=True)


def test_jax_keywords() -> None:
    """The names of JAX's own signature."""
    assert fg.jvp(fun=lambda x: x * x, primals=(3.0,), tangents=(1.0,), has_aux=False) == (9.0, 6.0)


# ---- types


SCALARS = [2.0, np.float64(2.0), np.float32(2.0), np.float16(2.0), np.longdouble(2.0)]


@pytest.mark.parametrize("x", [*SCALARS, np.array([1.0, 2.0]), np.array([1.0], np.float32), np.array(2.0)], ids=repr)
def test_types_follow_the_value(x: Any) -> None:
    """The value is of the type `f` returns; the tangent has its shape and dtype; the cotangent is of the primal's type."""

    def square(x: Any) -> Any:
        return x * x

    plain = square(x)
    ones = np.ones_like(x) if isinstance(x, np.ndarray) else type(x)(1)
    value, tangent = fg.jvp(square, (x,), (ones,))
    linearized, push = fg.linearize(square, x)
    pulled_value, pull = fg.vjp(square, x)
    for v in (value, linearized, pulled_value):
        assert type(v) is type(plain)
        np.testing.assert_array_equal(v, plain)
    for t in (tangent, push(ones)):
        assert (np.shape(t), np.asarray(t).dtype) == (np.shape(plain), np.asarray(plain).dtype)
    (ct,) = pull(ones if isinstance(plain, np.ndarray) else type(plain)(1))
    assert type(ct) is type(x)
    np.testing.assert_array_equal(ct, 2 * np.asarray(x))


def test_tensors_give_tensors() -> None:
    """A Tensor among the primals makes all results of theirs Tensors."""
    x = fg.tensor([1.0, 2.0])
    value, tangent = fg.jvp(np.square, (x,), (np.ones(2),))
    linearized, push = fg.linearize(np.square, x)
    pulled, pull = fg.vjp(np.square, x)
    for t in (value, tangent, linearized, push(np.ones(2)), pulled, pull(np.ones(2))[0]):
        assert type(t) is fg.Tensor
    assert pull(fg.tensor([1.0, 1.0]))[0].tolist() == [2.0, 4.0]


def test_outputs_that_do_not_depend_on_the_primals() -> None:
    """Constants, ints and strings among the outputs: zero tangents of their dtype, or themselves."""
    out = {"c": np.ones(2, np.float32), "i": 3, "s": "text", "n": None, "x": 1.0}

    def g(x: Any) -> Any:
        return out | {"x": x}

    value, tangent = fg.jvp(g, (2.0,), (1.0,))
    assert value["c"] is out["c"]
    assert (value["s"], tangent["s"], tangent["i"], tangent["x"]) == ("text", "text", 0, 1.0)
    assert (tangent["c"].dtype, tangent["c"].tolist()) == (np.float32, [0.0, 0.0])
    value, push = fg.linearize(g, 2.0)
    assert value["c"] is out["c"]
    assert push(1.0)["x"] == 1.0
    assert push(1.0)["c"].tolist() == [0.0, 0.0]
    assert (push(1.0)["s"], push(1.0)["i"]) == ("text", 0)


def test_tangents_and_cotangents_take_the_dtype_of_their_primal() -> None:
    """A float64 direction for a float32 primal, a Python int for a float."""
    assert fg.jvp(np.sin, (np.ones(2, np.float32),), (np.ones(2),))[1].dtype == np.float32
    assert fg.jvp(np.sin, (1.0,), (1,))[1] == np.cos(1.0)
    assert fg.vjp(np.sin, np.ones(2, np.float32))[1](np.ones(2))[0].dtype == np.float32
    assert fg.vjp(np.square, 2.0)[1](1) == (4.0,)
    assert fg.vjp(np.square, np.array([2.0]))[1](np.array([1], ">i4"))[0].tolist() == [4.0]


def test_complex() -> None:
    """No conjugation anywhere: the pullback is the transpose."""
    z = np.array([1.0 + 2.0j, 3.0])
    c = np.array([2.0j, 1.0 - 1.0j])
    _, pull = fg.vjp(lambda z: z * c, z)
    np.testing.assert_array_equal(pull(np.array([1.0, 1.0j]))[0], np.array([1.0, 1.0j]) * c)
    np.testing.assert_array_equal(fg.jvp(lambda z: z * c, (z,), (np.array([1.0j, 1.0]),))[1], np.array([1.0j, 1.0]) * c)
    _, push = fg.linearize(np.real, z)
    assert push(np.array([1.0 + 5.0j, 2.0])).tolist() == [1.0, 2.0]


# ---- what does not fit


def test_primals_and_tangents_must_be_sequences() -> None:
    """A tuple or list of arguments, as in JAX."""
    for args, what in (((2.0, (1.0,)), "primals"), (((2.0,), np.ones(1)), "tangents")):
        with pytest.raises(errors.ArgumentTypeError, match=rf"^jvp\(sin\): {what} must be a tuple or list of arguments, got "):
            fg.jvp(np.sin, *args)


def test_trees_that_do_not_match() -> None:
    """The message shows both structures."""
    _, push = fg.linearize(lambda p: p["a"] * 2, {"a": 1.0})
    _, pull = fg.vjp(lambda p: {"out": p["a"] * 2}, {"a": 1.0})
    with pytest.raises(TypeError) as caught:
        fg.jvp(lambda p: p["a"], ({"a": 1.0},), ({"b": 1.0},))
    assert str(caught.value) == (
        "jvp(<lambda>): the tangents must have the structure of the primals: got TreeDef(({'b': *},)), expected TreeDef(({'a': *},))."
    )
    with pytest.raises(TypeError, match=r"^linearize\(<lambda>\): the tangents must have the structure of the primals"):
        push({"a": 1.0}, 2.0)
    with pytest.raises(TypeError, match=r"^vjp\(<lambda>\): the cotangent must have the structure of the output"):
        pull(1.0)


def test_shapes_that_do_not_match() -> None:
    """The message gives the path, both shapes; nothing is broadcast."""
    p = {"w": np.ones((2, 3))}
    _, push = fg.linearize(lambda p: p["w"] * 2, p)
    _, pull = fg.vjp(lambda p: [p["w"] * 2], p)

    def loss(params: Any) -> Any:
        return params["w"]

    with pytest.raises(ValueError, match=r"^jvp\(loss\): the tangent of params\['w'\] must have shape \[2, 3\], got float64\[3\]\.$"):
        fg.jvp(loss, (p,), ({"w": np.ones(3)},))
    with pytest.raises(ValueError, match=r"the tangent of p\['w'\] must have shape \[2, 3\], got float\.$"):
        push({"w": 1.0})
    with pytest.raises(ValueError, match=r"the cotangent of the output\[0\] must have shape \[2, 3\], got float64\[2\]\.$"):
        pull([np.ones(2)])
    with pytest.raises(TypeError, match=r"^vjp\(sin\): the cotangent must have the structure of the output: got TreeDef\(None\)"):
        fg.vjp(np.sin, 1.0)[1](None)
    with pytest.raises(TypeError, match=r"the cotangent of the output is complex, but its primal is float64\. Take its real part\.$"):
        fg.vjp(np.sin, 1.0)[1](1j)


@pytest.mark.parametrize("x", [1, True, np.arange(3), "a", object()])
def test_inputs_without_a_derivative(x: Any) -> None:
    """In every map, by the name of the argument."""

    def g(first: Any, second: Any) -> Any:
        return first

    for attempt in (lambda: fg.jvp(g, (1.0, x), (1.0, x)), lambda: fg.vjp(g, 1.0, x), lambda: fg.linearize(g, 1.0, x)):
        with pytest.raises(errors.InputError, match=r"\(g\): second is "):
            attempt()


# ---- memory


@pytest.mark.parametrize("n", [4, LARGE])
def test_no_output_shares_memory(n: int) -> None:
    """**Law**, for values, tangents, cotangents: not with primals, tangents, cotangents, captured arrays; all read-only."""
    x, t, ct, c = (np.arange(float(n)) + k for k in range(4))

    def identities(x: Any) -> Any:
        return [x, x[:], x[::-1], x.reshape(2, -1), x + c, x * c]

    theirs = (x, t, ct, c)
    cts = [ct, ct, ct, ct.reshape(2, -1), ct, ct]
    value, tangent = fg.jvp(identities, (x,), (t,))
    value2, push = fg.linearize(identities, x)
    value3, pull = fg.vjp(identities, x)
    _, lone = fg.vjp(lambda x: x, x)
    _, lone_push = fg.linearize(lambda x: x, x)
    ours = [*value, *tangent, *value2, *push(t), *value3, *pull(cts), *lone(ct), lone_push(t)]
    for a in ours:
        assert not a.flags.writeable
        assert a.base is None or not a.base.flags.writeable
        assert not any(np.shares_memory(a, b) for b in theirs)
    del push, pull
    assert all(b.flags.writeable for b in theirs)


@pytest.mark.parametrize("n", [4, LARGE])
def test_primals_may_be_written_to_at_once(n: int) -> None:
    """They are copied: a pullback gives the same answer later."""
    x = np.ones(n)
    _, pull = fg.vjp(lambda x: np.sum(x**2), x)
    _, push = fg.linearize(lambda x: np.sum(x**2), x)
    x[:] = 100.0
    assert pull(1.0)[0][0] == 2.0
    assert push(np.ones(n)) == 2.0 * n


def test_captured_arrays_are_borrowed_until_the_function_dies() -> None:
    """Large ones are read-only as long as the pullback lives; `snapshot=True` copies instead."""
    c = np.ones(LARGE)
    for make in (fg.vjp, fg.linearize):
        _, function = make(lambda x: x * c, np.ones(LARGE))
        assert not c.flags.writeable
        del function
        assert c.flags.writeable
        _, function = make(lambda x: x * c, np.ones(LARGE), snapshot=True)
        c[:] = 5.0
        out = function(np.ones(LARGE))
        assert (out[0] if make is fg.vjp else out)[0] == 1.0
        c[:] = 1.0


def test_exceptions_leave_nothing_behind() -> None:
    """Neither borrows nor a collector that is off."""
    c = np.ones(LARGE)

    def fails(x: Any) -> Any:
        _ = x * c
        raise ZeroDivisionError

    for attempt in (fg.vjp, fg.linearize, fg.linear_transpose, lambda f, x: fg.jvp(f, (x,), (x,))):
        with pytest.raises(ZeroDivisionError):
            attempt(fails, c)
        assert c.flags.writeable
        assert gc.isenabled()


def test_pullbacks_die_by_reference_counting() -> None:
    """No cycles: what a pullback held is free when it is gone."""
    refs: list[Any] = []

    def g(x: Any) -> Any:
        y = np.sin(x)
        refs.append(weakref.ref(y._value))
        return y * y

    gc.disable()
    try:
        for make in (fg.vjp, fg.linearize):
            _, function = make(g, np.ones(10))
            function(np.ones(10))
            assert refs[-1]() is not None
            del function, _
            assert refs[-1]() is None
    finally:
        gc.enable()


# ---- composition


def test_maps_may_be_used_in_other_threads_and_transformations() -> None:
    """A pullback is an ordinary function: of tracers too, and later."""
    _, pull = fg.vjp(lambda x: x**3, 2.0)
    _, push = fg.linearize(lambda x: x**3, 2.0)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.extend([pull(1.0), push(1.0)]))
    thread.start()
    thread.join()
    assert answers == [(12.0,), 12.0]
    assert fg.grad(lambda t: pull(t)[0] ** 2)(1.0) == 288.0
    assert fg.grad(lambda t: push(t) ** 2)(1.0) == 288.0
    assert fg.jvp(lambda t: push(t) ** 2, (1.0,), (1.0,))[1] == 288.0


def test_derivatives_of_maps() -> None:
    """With the maps made inside, everything is differentiated."""
    assert fg.grad(lambda x: fg.vjp(lambda y: y**3, x)[1](1.0)[0])(2.0) == 12.0
    assert fg.grad(lambda x: fg.linearize(lambda y: y**3, x)[1](1.0))(2.0) == 12.0
    assert fg.grad(lambda x: fg.jvp(lambda y: y**3, (x,), (x,))[1])(2.0) == 36.0
    assert fg.jvp(lambda x: fg.jvp(lambda y: y**3, (x,), (1.0,))[1], (2.0,), (1.0,)) == (12.0, 12.0)
    x = np.array([1.0, 2.0])
    mixed = fg.grad(lambda x: np.sum(fg.vjp(lambda y: np.outer(y, y) @ x, x)[1](x)[0]))(x)
    eps = 1e-6

    def value(x: Any) -> Any:  # ∇_y of x·(y yᵀ x) at y = x is 2 (x·x) x
        return np.sum(2 * (x @ x) * x)

    differences = [(value(x + eps * e) - value(x - eps * e)) / (2 * eps) for e in np.eye(2)]
    np.testing.assert_allclose(mixed, differences, rtol=1e-8)


def test_a_leaked_tracer_names_the_map() -> None:
    """jvp, vjp and linearize close their interpreter as grad does."""
    kept: list[Any] = []

    def stores(x: Any) -> Any:
        kept.append(x)
        return x * x

    for name, attempt in (
        ("jvp", lambda: fg.jvp(stores, (1.0,), (1.0,))),
        ("vjp", lambda: fg.vjp(stores, 1.0)),
        ("linearize", lambda: fg.linearize(stores, 1.0)),
    ):
        attempt()
        with pytest.raises(errors.LeakedTracerError, match=rf"^A tracer of {name}\(stores\) \(test_maps\.py:\d+\) was used after "):
            np.sin(kept[-1])


def test_methods_and_partials() -> None:
    """Any callable; keywords by partial or lambda."""
    assert fg.jvp(functools.partial(np.power, 2.0), (3.0,), (1.0,))[0] == 8.0
    assert fg.vjp(np.multiply, 2.0, 3.0)[1](1.0) == (3.0, 2.0)


# ---- linear_transpose


def test_linear_transpose() -> None:
    """⟨ct, f(x)⟩ = ⟨fᵀ(ct), x⟩; only shapes and dtypes of the examples matter."""
    a = np.arange(6.0).reshape(2, 3)
    transpose = fg.linear_transpose(lambda x: a @ x, np.full(3, np.nan))
    np.testing.assert_array_equal(transpose(np.array([1.0, 10.0]))[0], a.T @ np.array([1.0, 10.0]))
    two = fg.linear_transpose(lambda x, y: {"s": x + y, "d": [x - 2 * y]}, 1.0, np.float32(1.0))
    x, y = two({"s": 1.0, "d": [10.0]})
    assert (x, y, type(x), type(y)) == (11.0, -19.0, float, np.float32)
    complex_transpose = fg.linear_transpose(lambda z: 2j * z, 1j)
    assert complex_transpose(1.0 + 0j) == (2j,)


@pytest.mark.parametrize("g", [lambda x: x + 1.0, lambda x: x * x, np.sin, np.abs, lambda x: np.maximum(x, 0.0), lambda x: 1.0])
def test_linear_transpose_refuses_what_is_not_linear(g: Any) -> None:
    """Checked at a random point."""
    with pytest.raises(errors.ArgumentError, match=r"^linear_transpose\(.*\): the function is not linear\. Use `vjp`"):
        fg.linear_transpose(g, np.ones(8))


def test_a_refused_function_gives_captured_arrays_back() -> None:
    """Also while the error is being handled."""
    c = np.ones(LARGE)
    with pytest.raises(errors.ArgumentError):
        fg.linear_transpose(lambda x: x * c + 1.0, np.ones(LARGE))
    assert c.flags.writeable


def test_linear_transpose_is_differentiable() -> None:
    """It is linear itself: its transpose is the function."""
    a = np.arange(6.0).reshape(2, 3)
    t = fg.linear_transpose(lambda x: a @ x, np.ones(3))
    back = fg.linear_transpose(lambda ct: t(ct)[0], np.ones(2))
    np.testing.assert_array_equal(back(np.array([1.0, 2.0, 3.0]))[0], a @ np.array([1.0, 2.0, 3.0]))
    assert fg.grad(lambda s: np.sum(fg.linear_transpose(lambda x: s * x, np.ones(2))(np.ones(2))[0]))(3.0) == 2.0


# ---- stop_gradient


def test_stop_gradient() -> None:
    """A constant under every transformation; the value inside is the value outside."""
    assert fg.grad(lambda x: x * fg.stop_gradient(x))(3.0) == 3.0
    assert fg.jvp(lambda x: x * fg.stop_gradient(x), (3.0,), (1.0,))[1] == 3.0
    assert fg.grad(fg.grad(lambda x: x**2 * fg.stop_gradient(x)))(3.0) == 6.0
    assert fg.grad(lambda x: fg.grad(lambda y: y * fg.stop_gradient(x * y))(x))(3.0) == 0.0


def test_stop_gradient_of_pytrees_and_plain_values() -> None:
    """Any pytree; what is not traced is the same object."""
    p = {"a": np.ones(2), "b": ["text", 1.0]}
    stopped = fg.stop_gradient(p)
    assert stopped["a"] is p["a"]
    assert stopped["b"] == ["text", 1.0]
    g = fg.grad(lambda p: np.sum(fg.stop_gradient(p)["a"] * p["a"]))({"a": np.array([2.0, 3.0])})
    assert g["a"].tolist() == [2.0, 3.0]


def test_stop_gradient_allows_what_would_drop_it() -> None:
    """float, math, item and functions without a rule."""
    assert fg.grad(lambda x: x * float(fg.stop_gradient(x)))(3.0) == 3.0
    assert fg.grad(lambda x: np.sum(x * np.abs(np.fft.fft(fg.stop_gradient(x)))))(np.array([1.0, 2.0])).tolist() == [3.0, 1.0]


@pytest.mark.parametrize("n", [2, LARGE])
def test_a_stopped_value_is_a_copy(n: int) -> None:
    """Its owner may write to it; the tracer, and the caller's own array, keep what they have."""
    x = np.ones(n)

    def g(x: Any) -> Any:
        y = x * 2
        for traced in (x, y):
            fg.stop_gradient(traced)[:] = 100.0
        return np.sum(y * y)

    assert fg.value_and_grad(g)(x)[0] == 4.0 * n
    assert fg.grad(g)(x)[0] == 8.0
    assert x[0] == 1.0
