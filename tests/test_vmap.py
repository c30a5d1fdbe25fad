"""The door of `vmap`: axes, sizes, trees, types; its errors; its composition with everything else."""

from __future__ import annotations

import threading
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

pytestmark = pytest.mark.usefixtures("both_paths")

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
W = RNG.normal(size=4)


def same(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    assert isinstance(found, np.ndarray)
    assert not found.flags.writeable
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-14)


# ---- axes


def test_axes_of_arguments() -> None:
    """Each argument has its own axis, from the end if negative; None is the same for all."""
    same(fg.vmap(lambda x, y: x @ y)(A, B), (A * B).sum(1))
    same(fg.vmap(lambda x, y: x * y, in_axes=(0, None))(A, W), A * W)
    same(fg.vmap(lambda x, y: x @ y, in_axes=(1, -1))(A, B), (A * B).sum(0))
    same(fg.vmap(lambda x, y: x @ y, in_axes=-1)(A, B), (A * B).sum(0))
    same(fg.vmap(lambda x, y: x @ y, in_axes=[None, 0])(W, A), A @ W)
    cube = RNG.normal(size=(2, 3, 4))
    same(fg.vmap(lambda x: x.T, in_axes=1)(cube), np.stack([cube[:, i].T for i in range(3)]))


def test_axes_of_results() -> None:
    """The new axis comes where it is asked for, in each result."""
    for axis in (0, 1, -1, -2):
        same(fg.vmap(lambda x: 2 * x, out_axes=axis)(A), np.stack(2 * A, axis))
    x, y = fg.vmap(lambda x: (x, np.sum(x)), out_axes=(-1, 0))(A)
    same(x, A.T)
    same(y, A.sum(1))
    found = fg.vmap(lambda x: {"a": x, "b": [x, x]}, out_axes={"a": 0, "b": 1})(A)
    same(found["a"], A)
    same(found["b"][1], A.T)


def test_trees_of_axes() -> None:
    """A tree of axes goes as far as it needs to."""
    params = {"w": A, "b": (W, 2.0)}
    found = fg.vmap(lambda p, x: p["w"] * x + p["b"][0] * p["b"][1], in_axes=({"w": 0, "b": None}, None))(params, 3.0)
    same(found, A * 3 + W * 2)
    found = fg.vmap(lambda p: np.sum(p["w"]) + p["b"][0], in_axes=({"w": 1, "b": (0, None)},))(params)
    same(found, A.sum(0) + W)

    @attrs.frozen
    class Model:
        w: Any
        b: Any

    made = fg.vmap(lambda m: Model(m.w * 2, m.b))(Model(A, B))
    assert isinstance(made, Model)
    same(made.w, 2 * A)


def test_keywords_are_mapped() -> None:
    """Keyword arguments are mapped over axis 0, whatever in_axes says of the others."""
    same(fg.vmap(lambda x, *, y: x * y)(A, y=B), A * B)
    same(fg.vmap(lambda x, *, y: x * y, in_axes=None)(W, y=A), W * A)


def test_size() -> None:
    """`axis_size` says how many lanes there are where no argument does; results that are the same for all are repeated."""
    same(fg.vmap(lambda: np.ones(2), axis_size=3)(), np.ones((3, 2)))
    same(fg.vmap(lambda x: (x, 1.0), in_axes=None, axis_size=2)(W)[0], np.stack([W, W]))
    found = fg.vmap(lambda x: (x, 1, True, 2.5))(A)
    assert [f.dtype for f in found] == [A.dtype, np.dtype(int), np.dtype(bool), np.dtype(float)]
    assert fg.vmap(lambda x: (x, "name"), out_axes=(0, None))(A)[1] == "name"


def test_an_argument_that_is_not_mapped_is_passed_on() -> None:
    """What in_axes leaves out arrives as the same object, whatever it is."""
    kept = object()
    seen = []

    def f(x, y, z):
        seen.extend([y, z])
        return x

    fg.vmap(f, in_axes=(0, None, None))(A, kept, {"a": [1, "text"]})
    assert seen[0] is kept
    assert seen[1] == {"a": [1, "text"]}


def test_types_and_dtypes() -> None:
    """Tensors give Tensors, dtypes stay, and the name and documentation of the function as well."""

    def f(x):
        """Twice."""
        return 2 * x

    assert fg.vmap(f).__name__ == "f"
    assert fg.vmap(f).__doc__ == "Twice."
    assert isinstance(fg.vmap(f)(fg.tensor(A)), fg.Tensor)
    assert isinstance(fg.vmap(lambda x, w: x * w, in_axes=(0, None))(A, fg.tensor(W)), fg.Tensor)
    for dtype in (np.float32, np.float16, np.int8, np.uint16, bool, np.complex64):
        x = A.astype(dtype)
        found = fg.vmap(lambda x: x + x)(x)
        assert found.dtype == (x + x).dtype
        assert fg.vmap(np.sum)(x).dtype == np.sum(x[0]).dtype
        assert fg.vmap(lambda x: x * 2.0)(x[:, 0]).dtype == (x[0, 0] * 2.0).dtype
    assert fg.vmap(np.argmax)(A).dtype == np.intp


def test_results_are_nobody_elses_memory() -> None:
    """Results are frozen copies; what came in stays writeable."""
    x = A.copy()
    for out in fg.vmap(lambda x: (x, x[1:], x.T, W))(x):
        assert not out.flags.writeable
        assert not np.may_share_memory(out, x)
        assert not np.may_share_memory(out, W)
    x[0] = 1.0
    assert W.flags.writeable


# ---- errors


def test_sizes_that_differ() -> None:
    """The message names both arguments, their axes and sizes."""

    def f(p, y):
        return p["w"] * y

    with pytest.raises(errors.BatchAxisError, match=r"p\['w'\] has size 3 along axis 0; y has size 4 along axis 1"):
        fg.vmap(f, in_axes=(0, 1))({"w": A}, B)
    with pytest.raises(ValueError, match=r"x has size 3 along axis 0, but axis_size=5"):
        fg.vmap(lambda x: x, axis_size=5)(A)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: fg.vmap(lambda x: x)(2.0), errors.BatchAxisError, r"x has shape \[\], which has no axis 0"),
        (lambda: fg.vmap(lambda x: x, in_axes=2)(A), errors.BatchAxisError, r"x has shape \[3, 4\], which has no axis 2"),
        (lambda: fg.vmap(lambda x: x, in_axes=None)(A), errors.BatchAxisError, "no argument is mapped"),
        (lambda: fg.vmap(lambda x, y: x)(A, "text"), errors.InputError, "y is a str"),
        (lambda: fg.vmap(lambda x: x, in_axes=(0, 0))(A), errors.BatchAxisError, "in_axes has 2 entries for 1 positional"),
        (lambda: fg.vmap(lambda x: x, in_axes=({"a": 0},))({"b": A}), errors.BatchAxisError, "in_axes must go along with the arguments"),
        (lambda: fg.vmap(lambda x: x, out_axes=(0, 0))(A), errors.BatchAxisError, "out_axes must go along with the output"),
        (lambda: fg.vmap(lambda x: x, out_axes=None)(A), errors.BatchAxisError, "the output is mapped, but its out_axes is None"),
        (lambda: fg.vmap(lambda x: {"a": x}, out_axes=3)(A), errors.BatchAxisError, r"the output\['a'\] has shape \[4\] in one lane"),
        (lambda: fg.vmap(lambda x: "text")(A), errors.OutputError, "the output must be numbers"),
        (lambda: fg.vmap(lambda x: x, in_axes=1.5), errors.ArgumentTypeError, "axes are ints or None, got float"),
        (lambda: fg.vmap(A), errors.ArgumentTypeError, "expected a function"),
        (lambda: fg.vmap(lambda x: x @ A)(A), ValueError, "matmul"),
    ],
)
def test_errors(call: Any, error: type, match: str) -> None:
    """Each names what is wrong, in the user's words."""
    with pytest.raises(error, match=match):
        call()


def test_leaks() -> None:
    """A mapped value that outlives its vmap is refused when it is used."""
    kept = []
    fg.vmap(lambda x: kept.append(x) or x)(A)
    with pytest.raises(errors.LeakedTracerError, match="vmap"):
        kept[0] + 1


# ---- composition


def loss(w: Any, x: Any, y: Any) -> Any:
    return (np.tanh(x @ w) - y) ** 2


def test_per_example_gradients() -> None:
    """vmap of grad is the gradient of each example."""
    y = RNG.normal(size=3)
    found = fg.vmap(fg.grad(loss), in_axes=(None, 0, 0))(W, A, y)
    same(found, np.stack([fg.grad(loss)(W, A[i], y[i]) for i in range(3)]))
    value, g = fg.vmap(fg.value_and_grad(loss, argnums=(0, 1)), in_axes=(None, 0, 0))(W, A, y)
    same(value, [loss(W, A[i], y[i]) for i in range(3)])
    same(g[1], np.stack([fg.grad(loss, 1)(W, A[i], y[i]) for i in range(3)]))


def test_gradient_of_vmap() -> None:
    """grad of a sum over lanes is the sum of the gradients."""
    y = RNG.normal(size=3)
    found = fg.grad(lambda w: np.sum(fg.vmap(loss, in_axes=(None, 0, 0))(w, A, y)))(W)
    same(found, sum(fg.grad(loss)(W, A[i], y[i]) for i in range(3)))


def f3(x: Any) -> Any:
    return np.sum(np.sin(x) * x[::-1]) + np.prod(x) + np.max(x) * np.linalg.norm(x) + np.cumsum(x)[2]


TRANSFORMATIONS: dict[str, Any] = {
    "grad": fg.grad,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (np.cos(x),))[1],
    "vjp": lambda f: lambda x: fg.vjp(f, x)[1](np.float64(2.0))[0],
    "jacfwd": fg.jacfwd,
    "jacrev": fg.jacrev,
    "hessian": fg.hessian,
    "linearize": lambda f: lambda x: fg.linearize(f, x)[1](np.cos(x)),
    "hvp": lambda f: lambda x: fg.hvp(f, (x,), (np.cos(x),)),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_vmap_of_every_derivative(name: str) -> None:
    """The derivative in each lane."""
    g = TRANSFORMATIONS[name](f3)
    same(fg.vmap(g)(A), np.stack([g(x) for x in A]))
    same(fg.vmap(fg.vmap(g))(np.stack([A, B])), np.stack([[g(x) for x in y] for y in (A, B)]))


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_every_derivative_of_vmap(name: str) -> None:
    """A sum of lanes, differentiated."""
    by_lane = TRANSFORMATIONS[name](lambda x: f3(x) + f3(x * W) + f3(x + 1.0))
    at_once = TRANSFORMATIONS[name](lambda x: np.sum(fg.vmap(f3)(np.stack([x, x * W, x + 1.0]))))
    found, expected = at_once(B[0]), by_lane(B[0])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_nested() -> None:
    """Two axes, each of its own vmap; the inner function sees neither."""
    outer = fg.vmap(fg.vmap(lambda x, y: x * y, in_axes=(None, 0)), in_axes=(0, None))
    same(outer(W, A[0]), np.outer(W, A[0]))
    square = RNG.normal(size=(3, 3, 3))
    f = lambda x: np.sort(x)[::-1] @ x
    same(fg.vmap(fg.vmap(f))(square), np.array([[f(x) for x in y] for y in square]))
    same(fg.vmap(fg.vmap(f, in_axes=1), in_axes=2)(square), np.array([[f(square[:, j, i]) for j in range(3)] for i in range(3)]))


def test_closed_over_values() -> None:
    """Inner functions use the values of outer transformations, mapped, differentiated or both."""
    found = fg.vmap(lambda x: fg.grad(lambda y: np.sum(x * y**2))(x))(A)
    same(found, 2 * A * A)
    found = fg.vmap(lambda x: np.sum(fg.vmap(lambda y: x @ y)(A)))(B)
    same(found, (B @ A.T).sum(1))
    found = fg.grad(lambda x: np.sum(fg.vmap(lambda y: np.exp(x @ y))(A)))(W)
    same(found, np.exp(A @ W) @ A)
    found = fg.vmap(fg.grad(lambda x: fg.grad(lambda y: np.sum(x * y) ** 2)(x) @ x))(A)
    same(found, np.stack([fg.grad(lambda x: fg.grad(lambda y: np.sum(x * y) ** 2)(x) @ x)(a) for a in A]))


def test_batch_of_nothing() -> None:
    """No lanes are no work: results have the shapes that lanes would have."""
    empty = np.zeros((0, 4))
    same(fg.vmap(lambda x: np.outer(x, x))(empty), np.zeros((0, 4, 4)))
    same(fg.vmap(lambda x: np.convolve(x, x))(empty), np.zeros((0, 7)))
    same(fg.vmap(fg.grad(lambda x: np.sum(x**2)))(empty), empty)
    with pytest.raises(errors.EmptyBatchError, match="bool"):
        fg.vmap(lambda x: 1 if x[0] > 0 else 2)(empty)


def test_strong_zero() -> None:
    """A branch that `where` did not take poisons no lane's gradient."""
    x = np.array([-1.0, 0.0, 4.0])
    same(fg.vmap(fg.grad(lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 0.0)), 0.0)))(x), [0, 0, 0.25])


def test_lists_of_scalars() -> None:
    """The bridge works on mapped values too."""
    x = np.array([0.1, 0.2, 0.3])
    rotate = lambda t: np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]) @ np.array([1.0, 2.0])
    same(fg.vmap(rotate)(x), np.stack([rotate(t) for t in x]))
    same(fg.vmap(fg.jacfwd(rotate))(x), np.stack([fg.jacfwd(rotate)(t) for t in x]))


def test_whole_numbers() -> None:
    """Mapped integers and bools are values like others."""
    i = np.array([[3, 1], [0, 2], [5, 5]])
    same(fg.vmap(lambda i: np.bitwise_and(i, 1) + i // 2)(i), (i & 1) + i // 2)
    same(fg.vmap(lambda x: np.ravel(x)[np.ravel_multi_index(np.unravel_index(np.argmax(x), (2, 2)), (2, 2))])(A), A.max(1))
    same(fg.vmap(lambda x: np.packbits(x > 0))(A), np.stack([np.packbits(a > 0) for a in A]))


def test_looks_that_agree() -> None:
    """Where all lanes give the same answer, Python's `if`, `int` and `float` have it."""
    x = np.abs(A) + 1
    same(fg.vmap(lambda x: x * 2 if np.sum(x) > 0 else x)(x), 2 * x)
    same(fg.vmap(lambda x, n: x[int(n)] + range(5)[n])(x, np.array([1, 1, 1])), x[:, 1] + 1)
    same(fg.vmap(lambda x, n: x * float(n))(x, np.full(3, 2.5)), x * 2.5)
    with pytest.raises(ValueError, match="ambiguous"):
        fg.vmap(lambda x: 1 if x > 0 else 2)(x)


def test_threads() -> None:
    """Nothing is shared: every thread has its own lanes."""
    found: list[Any] = [None] * 4

    def work(k: int) -> None:
        for _ in range(20):
            found[k] = fg.vmap(fg.grad(f3))(A + k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        same(found[k], np.stack([fg.grad(f3)(x + k) for x in A]))


def test_inputs_do_not_change_meanwhile() -> None:
    """What is mapped is a copy, or if it is large read-only until the call returns; so gradients see the values that came in."""
    small, large = np.ones((2, 3)), np.ones((2, 20_000))

    def writes_small(x: Any) -> Any:
        y = np.sum(x * x)
        small[:] = 5.0
        return y

    same(fg.vmap(fg.grad(writes_small))(small), np.full((2, 3), 2.0))

    def writes_large(x: Any) -> Any:
        large[:] = 5.0
        return np.sum(x)

    with pytest.raises(ValueError, match="read-only"):
        fg.vmap(writes_large)(large)
    large[:] = 2.0
    same(fg.vmap(lambda x: x)(large), large)
    assert large.flags.writeable


def test_with_the_rest_of_the_library() -> None:
    """Buffers, models, the tape and Tensors under vmap."""

    def filled(x: Any) -> Any:
        a = fg.buffer(4)
        for i in range(4):
            a[i] = x[i] * i
        return a.freeze()

    same(fg.vmap(filled)(A), A * np.arange(4.0))
    same(fg.vmap(fg.jacrev(filled))(A), np.stack([np.diag(np.arange(4.0))] * 3))
    same(fg.vmap(fg.nn.softmax)(A), np.stack([fg.nn.softmax(a) for a in A]))
    labels = np.array([0, 3, 1])
    cross = fg.vmap(fg.grad(lambda z, y: fg.nn.cross_entropy(z, y)))(A, labels) if hasattr(fg.nn, "cross_entropy") else None
    if cross is not None:
        same(cross, np.stack([fg.grad(lambda z, y=y: fg.nn.cross_entropy(z, y))(a) for a, y in zip(A, labels, strict=True)]))
    x = fg.Var(A)
    g = fg.backward(np.sum(fg.vmap(lambda r: np.sum(np.sin(r)) ** 2)(x)))[x]
    np.testing.assert_allclose(np.asarray(g), 2 * np.sin(A).sum(1, keepdims=True) * np.cos(A))
    at = fg.vmap(lambda r, i: fg.tensor(r).at[i].set(0.0))(A, np.array([0, 1, 2]))
    assert at[1][1] == 0.0


def test_scalars_that_were_mapped() -> None:
    """A vmap of functions of numbers gives arrays, whatever the function returns."""
    found = fg.vmap(lambda x: 1.0)(A)
    same(found, np.ones(3))
    same(fg.vmap(lambda x: x[0] if x.ndim else x)(A), A[:, 0])


@pytest.mark.parametrize("exponent", [2, 3, 2.0, 0.5, -1])
def test_powers(exponent: Any) -> None:
    """For arrays and some of Python's numbers NumPy has other ufuncs than `np.power`: the dtype and all bits are the same here."""
    bools = [A[:2] > 0] if exponent in (2, 3) and type(exponent) is int else []  # where versions of NumPy agree
    for x in (*bools, np.abs(A), A.astype(np.float32) ** 2, A + 1j * B, np.arange(1, 7).reshape(2, 3)):
        for f in (lambda x: x**exponent, lambda x: x[0] ** exponent):
            try:
                expected = np.asarray(f(x[0]))
            except ValueError:  # whole numbers to the power of -1
                continue
            found = [fg.vmap(f)(x)[0], fg.trace(f)(x[0])(x[0]), fg.trace(f)(x[0] * x[0])(x[0]), f(fg.tensor(x[0]))]
            if x.dtype.kind in "fc":
                found += [fg.vjp(f, x[0])[0], fg.jvp(f, (x[0],), (x[0],))[0]]
            for y in found:
                assert (np.asarray(y).dtype, np.shape(y)) == (expected.dtype, expected.shape)
                if expected.shape:
                    assert np.asarray(y).tobytes() == expected.tobytes()
