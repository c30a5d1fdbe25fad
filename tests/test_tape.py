"""The tape face: `Var`, `backward`, `Gradients`."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad import errors

# ---- the four lines


def test_the_four_lines_of_the_design() -> None:
    """Var, plain NumPy, backward, look-up: the gradient of dot(sin(x), x²), and x is untouched."""
    start = np.random.default_rng(0).random(10)
    x = fg.Var(start)
    y = np.sin(x)
    z = x**2
    grads = fg.backward(np.dot(y, z))
    np.testing.assert_allclose(np.asarray(grads[x]), np.cos(start) * start**2 + np.sin(start) * 2 * start, rtol=1e-14)
    assert x.tolist() == start.tolist()


def test_backward_is_a_method_too() -> None:
    """`loss.backward()` is `fg.backward(loss)`; so it is for a Var itself, whose gradient is 1."""
    x = fg.Var(3.0)
    assert float((x * x).backward()[x]) == 6.0
    assert float(x.backward()[x]) == 1.0


# ---- the law


UNARY: list[Any] = [np.sin, np.tanh, np.square, np.negative, lambda v: v + 1.5, lambda v: v[::-1], lambda v: v - v.mean()]
BINARY: list[Any] = [
    np.add,
    np.multiply,
    np.subtract,
    np.maximum,
    np.hypot,
    lambda a, b: np.dot(a, b) * a,
    lambda a, b: np.where(a > b, a, b),
]


@st.composite
def programs(draw: st.DrawFn) -> Any:
    """A random program from an array to a number; every value may be used again."""
    steps = draw(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=12))

    def program(x: Any) -> Any:
        values = [x]
        for unary, which, i, j in steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values.append(UNARY[which](a) if unary else BINARY[which](a, b))
        return np.sum(values[-1] * x)

    return program


@given(programs(), st.integers(0, 2**32 - 1))
def test_law_tape_is_grad(f: Any, seed: int) -> None:
    """**Law** (DESIGN 13): `fg.backward(f(x))[x] == fg.grad(f)(x)`, bit for bit, on random programs."""
    x = np.random.default_rng(seed).normal(size=5)
    var = fg.Var(x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(fg.backward(f(var))[var]), fg.grad(f)(x))


def test_law_holds_for_arrays_of_scalars() -> None:
    """A matrix written by `np.array` of recorded scalars is recorded: nothing is lost between Var and loss."""

    def f(t: Any) -> Any:
        c, s = np.cos(t), np.sin(t)
        return (np.array([[c, -s], [s, c]]) @ np.array([1.0, 2.0])) @ np.array([3.0, -1.0])

    t = fg.Var(0.3)
    assert float(fg.backward(f(t))[t]) == fg.grad(f)(np.float64(0.3))


def test_strong_zero_holds_on_the_tape() -> None:
    """A branch that `where` did not take cannot poison the gradient."""
    x = fg.Var([0.0, 4.0])
    loss = np.where(x > 1, np.sqrt(x), 0.0).sum()
    assert fg.backward(loss)[x].tolist() == [0.0, 0.25]


# ---- nothing is written


def test_backward_may_be_called_again() -> None:
    """Any number of calls on the same graph give the same answer; nothing accumulates."""
    x = fg.Var([1.0, 2.0])
    loss = (np.exp(x) * x).sum()
    answers = [fg.backward(loss)[x].tolist() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]


def test_a_var_has_no_grad() -> None:
    """`x.grad` is an AttributeError that says where the gradient is; `hasattr` says no."""
    x = fg.Var(1.0)
    with pytest.raises(AttributeError) as caught:
        _ = x.grad
    assert str(caught.value) == "a Var has no `.grad`: nothing is ever written to it. Use `grads = fg.backward(loss)`, then `grads[x]`."
    assert not hasattr(x, "grad")


def test_vars_gradients_and_results_are_frozen() -> None:
    """No attribute of a Var or of Gradients can be set, and no element written."""
    x = fg.Var([1.0, 2.0])
    grads = fg.backward((x * x).sum())
    for write in (lambda: setattr(x, "grad", 1), lambda: setattr(x, "name", "y"), lambda: setattr(grads, "x", 1)):
        with pytest.raises((AttributeError, TypeError)):
            write()
    for tensor in (x, grads[x], x * 2):
        with pytest.raises(errors.FrozenError):
            tensor[0] = 1.0
    with pytest.raises(TypeError):
        grads[x] = 1.0  # type: ignore[index]
    assert not np.asarray(grads[x]).flags.writeable


def test_set_makes_a_new_var() -> None:
    """`x.set(t)` has the same name, another id, its own value; graphs built before keep theirs."""
    x = fg.Var([1.0, 2.0], "x")
    loss = (x * x).sum()
    new = x.set([5.0, 6.0])
    assert (new.name, new.tolist(), x.tolist()) == ("x", [5.0, 6.0], [1.0, 2.0])
    assert new.id != x.id
    assert fg.backward(loss)[x].tolist() == [2.0, 4.0]
    assert fg.backward((new * new).sum())[new].tolist() == [10.0, 12.0]


def test_set_keeps_shape_and_dtype() -> None:
    """A step in float64 does not turn a float32 parameter into another kind of parameter."""
    x = fg.Var(np.ones(2, np.float32))
    assert x.set(np.array([1.0, 2.0])).dtype == np.float32
    with pytest.raises(ValueError, match=r"Var\.set: the new value must have shape \[2\], got float64\[3\]\."):
        x.set(np.ones(3))
    with pytest.raises(TypeError, match="the new value is complex, but the Var is float32"):
        x.set(np.array([1j, 1j]))


def test_set_does_not_chain_the_steps() -> None:
    """`w.set(w - 0.1 * g)` begins anew: the graph of the step before is not kept."""
    w = fg.Var([1.0, 2.0])
    for _ in range(3):
        loss = (w * w).sum()
        old = w
        w = w.set(w - 0.25 * fg.backward(loss)[w])
    assert w.tolist() == [0.125, 0.25]
    grads = fg.backward((w * 1.0).sum())
    assert w in grads
    assert old not in grads


def test_training_loop_looks_at_the_loss() -> None:
    """float, item, tolist, format, print and conversion to a float array work on recorded values, every iteration."""
    x = fg.Var([1.0, 2.0], "x")
    loss = (x * x).sum()
    assert (float(loss), loss.item(), loss.tolist(), complex(loss), int(loss)) == (5.0, 5.0, 5.0, 5.0 + 0j, 5)
    assert (f"{loss:.2f}", str(loss), repr(loss)) == ("5.00", "5.0", "Traced(5., float64, recorded)")
    assert np.asarray(loss, dtype=float) == 5.0
    assert np.asarray((x * 2), dtype=np.float32).dtype == np.float32
    assert (x * 2).tolist() == [2.0, 4.0]
    history = np.zeros(2)
    history[1] = float(loss)
    assert history.tolist() == [0.0, 5.0]
    assert repr(x) == "Var('x', [1., 2.], float64[2])"
    assert repr(fg.backward(loss)) == "Gradients({Var('x', [1., 2.], float64[2]): Tensor([2., 4.], float64[2])})"


def test_a_recorded_value_is_not_written_into_an_ndarray() -> None:
    """A look loses nothing, but code that fills an array and computes with it would get no gradient: it says what to write."""
    loss = (fg.Var([1.0, 2.0]) * 2.0).sum()
    history = np.zeros(2)
    with pytest.raises(ValueError, match="setting an array element") as caught:
        history[0] = loss
    assert isinstance(caught.value.__cause__, errors.ConversionError)
    assert str(caught.value.__cause__).endswith("or `np.stack`. To note its value, write `a[i] = float(x)`.")
    assert history[0] == 0.0


def test_what_is_seen_is_nobodys_memory_to_write() -> None:
    """A look gives a copy."""
    x = fg.Var([1.0, 2.0])
    y = x * 2
    seen = np.asarray(y, dtype=float)
    seen[0] = 99.0
    assert y.tolist() == [2.0, 4.0]


# ---- data in


def test_data_is_copied() -> None:
    """Writing to the array a Var was made of changes nothing."""
    data = np.array([1.0, 2.0])
    x = fg.Var(data)
    loss = (x * x).sum()
    data[:] = 100.0
    assert x.tolist() == [1.0, 2.0]
    assert fg.backward(loss)[x].tolist() == [2.0, 4.0]


@pytest.mark.parametrize("n", [10, 100_000])
def test_captured_arrays_are_copied_and_never_locked(n: int) -> None:
    """The tape never ends, so it takes copies: the user goes on writing, and graphs keep their values."""
    data = np.arange(float(n))
    x = fg.Var(np.ones(n))
    loss = (x * data).sum()
    assert data.flags.writeable
    data[:] = -1.0
    np.testing.assert_array_equal(np.asarray(fg.backward(loss)[x]), np.arange(float(n)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64, ">f8"])
def test_dtypes_are_kept(dtype: Any) -> None:
    """The gradient has the shape and (native) dtype of its Var."""
    x = fg.Var(np.ones((2, 3), dtype))
    g = fg.backward(np.real(x * x).sum())[x]
    assert type(g) is fg.Tensor
    assert (g.shape, g.dtype, x.dtype) == ((2, 3), np.dtype(dtype).newbyteorder("="), np.dtype(dtype).newbyteorder("="))


@pytest.mark.parametrize("data", [1, [1, 2], True, "a", None, np.array([None])])
def test_only_floats_have_gradients(data: Any) -> None:
    """A Var of integers, bools or no numbers is an error that says what to pass."""
    with pytest.raises(errors.InputError, match=r"^Var: the data is .*, which has no derivative\. Pass it as a float\.$"):
        fg.Var(data)


# ---- Gradients


def test_gradients_is_a_mapping_by_id() -> None:
    """In the order in which the Vars were born; equal values do not make equal Vars."""
    a, b, c = fg.Var(1.0, "a"), fg.Var(1.0, "b"), fg.Var(1.0, "c")
    grads = fg.backward(2.0 * b + 3.0 * a)
    assert [v.name for v in grads] == ["a", "b"]
    assert [float(g) for g in grads.values()] == [3.0, 2.0]
    assert [(v.name, float(g)) for v, g in grads.items()] == [("a", 3.0), ("b", 2.0)]
    assert (len(grads), a in grads, c in grads) == (2, True, False)
    assert grads.get(c, "none") == "none"
    assert all(v.set(v - 0.1 * g).name == v.name for v, g in grads.items())


def test_missing_vars_say_why() -> None:
    """A Var the loss does not depend on, one that `set` has replaced, and what is no Var."""
    x, other, nameless = fg.Var(1.0, "x"), fg.Var(1.0, "other"), fg.Var([1.0, 2.0])
    grads = fg.backward(x * x)
    messages = []
    for key in (other, nameless, x.set(2.0), 5):
        with pytest.raises(KeyError) as caught:
            grads[key]  # type: ignore[index]
        messages.append(str(caught.value))
    assert messages == [
        "backward: the loss does not depend on the Var 'other'. If that is meant, use `grads.get(x, default)`.",
        "backward: the loss does not depend on this Var of shape [2]. If that is meant, use `grads.get(x, default)`.",
        "backward: the loss does not depend on the Var 'x'. It depends on another Var named 'x': "
        "`set` makes a new one, look up the one it was computed from.",
        "backward: the loss does not depend on int. Only a Var has a gradient here.",
    ]


def test_gradients_are_a_pytree() -> None:
    """`fg.tree.map` over them, alone and in pairs of one structure."""
    x = fg.Var([1.0, 2.0])
    loss = (x * x).sum()
    one, two = fg.backward(loss), fg.backward(loss)
    assert fg.tree.map(lambda g: g * 0.5, one)[x].tolist() == [1.0, 2.0]
    assert fg.tree.map(np.add, one, two)[x].tolist() == [4.0, 8.0]
    assert fg.tree.structure(one) == fg.tree.structure(two)
    assert fg.tree.structure(one) != fg.tree.structure(fg.backward(fg.Var([1.0, 2.0]).sum()))
    assert [leaf.tolist() for leaf in fg.tree.leaves({"g": one})] == [[2.0, 4.0]]


def test_a_var_is_a_leaf() -> None:
    """Parameters in containers are mapped over like arrays."""
    params = {"w": fg.Var([1.0, 2.0], "w"), "b": fg.Var(0.5, "b")}
    grads = fg.backward((params["w"] * 3 + params["b"]).sum())
    new = fg.tree.map(lambda p: p.set(p - 0.1 * grads[p]), params)
    assert {k: v.tolist() for k, v in new.items()} == {"w": [0.7, 1.7], "b": 0.3}


# ---- identity


def test_copies_and_pickles_are_the_same_var() -> None:
    """copy, deepcopy and pickle keep the id, so that a gradient is found under any of them, and theirs add up."""
    x = fg.Var([1.0, 2.0], "x")
    again = pickle.loads(pickle.dumps(x))
    assert copy.copy(x) is x
    assert copy.deepcopy(x) is x
    assert (again.id, again.name, again.tolist()) == (x.id, "x", [1.0, 2.0])
    grads = fg.backward((x * 3 + again * 2).sum())
    assert len(grads) == 1
    assert grads[x].tolist() == grads[again].tolist() == [5.0, 5.0]
    assert pickle.loads(pickle.dumps(grads))[x].tolist() == [5.0, 5.0]


def test_ids_of_other_processes_differ() -> None:
    """A forked child counts under a token of its own."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    x = fg.Var(1.0)
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        os.write(send, pickle.dumps(fg.Var(1.0).id))
        os._exit(0)
    os.waitpid(pid, 0)
    token, _ = pickle.loads(os.read(receive, 1000))
    os.close(receive)
    os.close(send)
    assert token != x.id[0]


# ---- the loss


def test_a_loss_that_is_no_scalar_needs_a_cotangent() -> None:
    """Without one the error says so; with one it is the pullback."""
    x = fg.Var([1.0, 2.0])
    y = x**2
    with pytest.raises(errors.OutputError) as caught:
        fg.backward(y)
    assert str(caught.value) == (
        "backward: the loss must be a scalar, got float64[2]. Reduce it (`.sum()`), or pass its cotangent: `fg.backward(y, ct)`."
    )
    assert fg.backward(y, np.array([1.0, 10.0]))[x].tolist() == [2.0, 40.0]
    assert y.backward(fg.tensor([1.0, 10.0]))[x].tolist() == [2.0, 40.0]
    with pytest.raises(ValueError, match=r"the cotangent of the loss must have shape \[2\], got float64\[3\]\."):
        fg.backward(y, np.ones(3))


def test_a_complex_loss_needs_a_cotangent() -> None:
    """There is no steepest direction of a complex number."""
    z = fg.Var(1.0 + 2.0j)
    with pytest.raises(errors.OutputError, match="backward: the loss must be real, got complex128"):
        fg.backward(z * z)
    assert complex(fg.backward(z * z, 1.0 + 0j)[z]) == 2.0 + 4.0j


def test_only_recorded_values_have_gradients() -> None:
    """A number, a Tensor, and a value of another transformation."""
    messages = []
    for attempt in (
        lambda: fg.backward(3.0),
        lambda: fg.tensor([1.0]).backward(),
        lambda: fg.grad(lambda t: fg.backward(t * t))(2.0),
        lambda: fg.jvp(lambda t: t.backward(), (2.0,), (1.0,)),
    ):
        with pytest.raises(errors.NotRecordedError) as caught:
            attempt()
        messages.append(str(caught.value))
    assert messages == [
        "backward: got float, which the tape has not recorded. Compute the loss from a `fg.Var`.",
        "backward: got a Tensor that no Var led to, which the tape has not recorded. Compute the loss from a `fg.Var`.",
        "backward: got a value of grad(<lambda>), which the tape has not recorded. Use grad alone, or make the Var inside the function.",
        "backward: got a value of jvp(<lambda>), which the tape has not recorded. Use jvp alone, or make the Var inside the function.",
    ]


def test_a_cotangent_of_the_same_tape_is_refused() -> None:
    """What depends on x through the nodes' values would be lost: second derivatives are taken otherwise."""
    x = fg.Var([1.0, 2.0])
    with pytest.raises(errors.ArgumentError) as caught:
        fg.backward(x * x, x)
    assert str(caught.value) == (
        "backward: the cotangent is recorded on the same tape. Second derivatives are taken by `fg.grad` of `fg.grad`, or `fg.hvp`."
    )


# ---- with the transformations


def test_a_var_made_inside_grad_has_a_tape_of_its_own() -> None:
    """`backward` inside `grad` gives second derivatives: the new tape is newer than the tracer."""

    def slope(t: Any) -> Any:
        v = fg.Var(t)
        return fg.backward(v**3)[v]

    assert fg.grad(slope)(2.0) == 12.0
    assert fg.grad(fg.grad(slope))(2.0) == 6.0
    assert fg.jvp(slope, (2.0,), (1.0,)) == (12.0, 12.0)


def test_looks_through_a_tape_inside_grad_are_refused() -> None:
    """A look is allowed only as far down as nothing is lost."""
    with pytest.raises(errors.ConversionError):
        fg.grad(lambda t: float(fg.Var(t) * 2))(2.0)


def test_a_recorded_value_does_not_leave_grad() -> None:
    """Values of the younger tape are no values of the function."""

    def leak(t: Any) -> Any:
        return fg.Var(t) * 2

    with pytest.raises(errors.LeakedTracerError, match=r"A tracer of backward\(leak\) \(test_tape.py:\d+\) came out of an older"):
        fg.grad(leak)(2.0)


def test_transformations_of_recorded_values_are_recorded() -> None:
    """grad, jvp, vjp and hessian at a Var, or closing over one, are computations like others."""
    x = fg.Var([1.0, 2.0])

    def cubes(p: Any) -> Any:
        return (p**3).sum()

    for derivative in (
        lambda: fg.grad(cubes)(x).sum(),
        lambda: fg.jvp(cubes, (x,), (np.ones(2),))[1],
        lambda: fg.vjp(cubes, x)[1](1.0)[0].sum(),
        lambda: fg.grad(lambda s: cubes(x * s))(1.0),
    ):
        g = fg.backward(derivative())[x].tolist()
        assert g in ([6.0, 12.0], [9.0, 36.0])
    assert fg.backward(np.trace(fg.hessian(cubes)(x)))[x].tolist() == [6.0, 6.0]


def test_stop_gradient_of_a_var() -> None:
    """Its value, as a Tensor, with no way back."""
    x = fg.Var([1.0, 2.0])
    stopped = fg.stop_gradient(x)
    assert type(stopped) is fg.Tensor
    assert fg.backward((x * stopped).sum())[x].tolist() == [1.0, 2.0]


def test_operators_methods_and_functions_of_a_var_are_recorded() -> None:
    """Whatever the spelling, and whoever stands on the left."""
    x = fg.Var([1.0, 2.0, 4.0])
    a = np.array([1.0, 2.0, 3.0])
    values = [x + a, a + x, x - a, x * 2, a * x, a / x, x / a, x**2, -x, abs(x), x @ x, a @ x, x[1:], x.sum(), x.reshape(3, 1), x.T]
    values += [np.sin(x), np.add(a, x), np.stack([x, a]), np.concatenate([[x[0]], x]), x.astype(np.float32), x.at[0].set(5.0)]
    values += [fg.tensor(a) * x, x * fg.tensor(a)]
    for y in values:
        assert x in fg.backward(np.sum(y))
    assert ((x > 1).tolist(), len(x), x.ndim, bool(x[0] == 1), [float(v) for v in x]) == ([False, True, True], 3, 1, True, [1.0, 2.0, 4.0])


# ---- memory and threads


def test_the_graph_dies_with_the_loss() -> None:
    """By reference counting alone: no cycles between values, nodes, Vars and Gradients."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        x = fg.Var(np.ones(1000))
        data = np.ones(1000)
        y = np.sin(x) * data
        loss = (y * y).sum()
        value = weakref.ref(y._value)
        grads = fg.backward(loss)
        assert value() is not None
        del y, loss
        assert value() is None
        held = weakref.ref(x._array._value)
        del x
        assert held() is not None
        del grads
        assert held() is None
    finally:
        if enabled:
            gc.enable()


def test_backward_gives_the_collector_back() -> None:
    """Also after an error."""
    x = fg.Var(1.0)
    fg.backward(x * x)
    with pytest.raises(errors.OutputError):
        fg.backward(fg.Var([1.0]) * 2)
    assert gc.isenabled()


def test_a_long_tape() -> None:
    """100,000 recorded scalar operations: the walk is iterative, and so is the death of the graph."""
    x = fg.Var(1.0)
    y = x * 1.0
    for _ in range(100_000):
        y = y * 1.0
    assert float(fg.backward(y)[x]) == 1.0
    del y


def test_threads_share_the_tape() -> None:
    """Graphs built at the same time do not meet."""
    answers: list[float] = []

    def work(k: int) -> None:
        for _ in range(200):
            x = fg.Var(float(k))
            answers.append(float(fg.backward(np.sin(x) * x)[x]) - (np.cos(k) * k + np.sin(k)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(answers) == 800
    assert max(map(abs, answers)) < 1e-15
