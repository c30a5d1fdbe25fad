"""`jacfwd`, `jacrev`, `jacobian`, `hessian` and `hvp`."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

pytestmark = pytest.mark.usefixtures("both_paths")

LARGE = 20_000  # elements: above the size up to which arrays are copied

JACOBIANS = pytest.mark.parametrize("jac", [fg.jacfwd, fg.jacrev], ids=["jacfwd", "jacrev"])


class Pair(NamedTuple):
    w: Any
    b: Any


# ---- shapes and structures


@JACOBIANS
def test_array_of_array(jac: Any) -> None:
    """`T[*o, *i]`, of the input's dtype."""
    a = np.arange(6.0).reshape(2, 3)
    j = jac(lambda x: a @ np.sin(x))(np.array([0.1, 0.2, 0.3]))
    np.testing.assert_allclose(j, a * np.cos([0.1, 0.2, 0.3]), rtol=1e-15)
    assert jac(lambda x: np.outer(x, x))(np.ones(2, np.float32)).dtype == np.float32
    assert jac(lambda x: x.T)(np.ones((2, 3))).shape == (3, 2, 2, 3)
    np.testing.assert_array_equal(jac(lambda x: x.T)(np.ones((2, 3))), np.einsum("ik,jl->ijlk", np.eye(3), np.eye(2)))


@JACOBIANS
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0), (2, 2)])
@pytest.mark.parametrize("out", [(), (3,), (0,)])
def test_every_pair_of_shapes(jac: Any, shape: tuple[int, ...], out: tuple[int, ...]) -> None:
    """Scalars, empty arrays and matrices on both sides."""
    x = np.full(shape, 2.0)
    j = jac(lambda x: np.zeros(out) + np.sum(x**2))(x)
    assert np.shape(j) == out + shape
    np.testing.assert_array_equal(j, np.full(out + shape, 4.0))


@JACOBIANS
def test_types_of_scalars(jac: Any) -> None:
    """A scalar of a scalar has the type of the input; a scalar of an array is an array."""
    assert jac(lambda x: x**2)(3.0) == 6.0
    for x in (3.0, np.float64(3.0), np.float32(3.0)):
        assert type(jac(lambda x: x * x)(x)) is type(x)
    j = jac(lambda x: np.stack([x, 2 * x]))(3.0)
    assert (type(j), j.tolist()) == (np.ndarray, [1.0, 2.0])


@JACOBIANS
def test_trees_of_trees(jac: Any) -> None:
    """The output's structure outside, the input's inside, as in JAX."""
    p = Pair(np.ones((2, 3)), {"x": 1.0})
    j = jac(lambda p: {"y": p.w @ np.ones(3) * p.b["x"], "z": [p.b["x"] ** 2]})(p)
    assert type(j["y"]) is Pair
    assert (j["y"].w.shape, j["y"].b["x"].shape) == ((2, 2, 3), (2,))
    assert (j["z"][0].w.shape, j["z"][0].b) == ((2, 3), {"x": 2.0})
    assert type(j["z"][0].b["x"]) is float


@JACOBIANS
def test_argnums(jac: Any) -> None:
    """A tuple of argnums gives a tuple for each output."""

    def f(x: Any, y: Any) -> Any:
        return x * np.sum(y)

    x, y = np.ones(2), np.array([1.0, 2.0, 3.0])
    assert jac(f, 1)(x, y).shape == (2, 3)
    assert jac(f, argnums=-1)(x, y).shape == (2, 3)
    jx, jy = jac(f, (0, 1))(x, y)
    np.testing.assert_array_equal(jx, 6.0 * np.eye(2))
    np.testing.assert_array_equal(jy, np.ones((2, 3)))
    (alone,) = jac(f, (0,))(x, y)
    np.testing.assert_array_equal(alone, jx)
    assert jac(lambda x, y: {"f": f(x, y)}, (0, 1))(x, y)["f"][1].shape == (2, 3)


@JACOBIANS
def test_aux_and_keywords(jac: Any) -> None:
    """`(Jacobian, aux)`; JAX's keyword names; keyword arguments pass through."""
    thing = object()
    j, aux = jac(fun=lambda x, k: (x * k, [thing, x]), argnums=0, has_aux=True, holomorphic=False)(np.ones(2), k=3.0)
    assert (j.tolist(), aux[0] is thing, aux[1].tolist()) == ([[3.0, 0.0], [0.0, 3.0]], True, [1.0, 1.0])


@JACOBIANS
def test_outputs_that_do_not_depend(jac: Any) -> None:
    """Zeros of the right shape."""
    j = jac(lambda x: {"c": np.ones(2), "x": x})(np.ones(3))
    assert (j["c"].shape, j["c"].any()) == ((2, 3), False)
    np.testing.assert_array_equal(j["x"], np.eye(3))


def test_both_modes_agree() -> None:
    """On a function with several inputs and outputs."""
    rng = np.random.default_rng(0)
    p = {"a": rng.normal(size=(2, 3)), "b": rng.normal(size=3)}

    def f(p: Any) -> Any:
        h = np.tanh(p["a"] * p["b"])
        return [h @ p["b"], np.linalg.norm(h)]

    for one, two in zip(fg.tree.leaves(fg.jacfwd(f)(p)), fg.tree.leaves(fg.jacrev(f)(p)), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-13)


def test_allow_int() -> None:
    """Integer leaves have zero blocks; they are not traced."""
    j = fg.jacrev(lambda p: p["x"] * p["n"], allow_int=True)({"x": np.ones(2), "n": 3})
    np.testing.assert_array_equal(j["x"], 3 * np.eye(2))
    assert np.shape(j["n"]) == (2,)
    assert not np.any(j["n"])


@JACOBIANS
def test_complex(jac: Any) -> None:
    """Holomorphic functions have complex Jacobians, where asked for."""
    z = np.array([1.0 + 2.0j, 3.0j])
    np.testing.assert_allclose(jac(lambda z: z**2, holomorphic=True)(z), np.diag(2 * z), rtol=1e-15)
    with pytest.raises(errors.FuncgradError, match="holomorphic"):
        jac(lambda z: z**2)(z)
    with pytest.raises(errors.OutputError, match="every output must be complex, with holomorphic=True"):
        jac(np.abs, holomorphic=True)(z)


@JACOBIANS
def test_outputs_must_be_floats(jac: Any) -> None:
    """An integer or string output has no derivative."""
    with pytest.raises(errors.OutputError, match=r"every output must be a float, got int64\[2\]\. Return it as aux, or leave it away\."):
        jac(lambda x: {"x": x, "n": np.arange(2)})(np.ones(2))
    with pytest.raises(errors.OutputError, match="every output must be a float, got a str"):
        jac(lambda x: (x, "text"))(1.0)


@JACOBIANS
def test_integer_inputs_by_path(jac: Any) -> None:
    """As in `grad`."""

    def f(params: Any) -> Any:
        return params["x"]

    with pytest.raises(errors.InputError, match=r"\(f\): params\['x'\] is int64\[2\], which has no derivative"):
        jac(f)({"x": np.arange(2)})


def test_tensors_give_tensors() -> None:
    """A Tensor in, Tensors out."""
    x = fg.tensor([1.0, 2.0])
    for j in (fg.jacfwd(np.square)(x), fg.jacrev(np.square)(x), fg.hessian(lambda x: np.sum(x**3))(x)):
        assert type(j) is fg.Tensor
    assert fg.jacrev(np.square)(x).tolist() == [[2.0, 0.0], [0.0, 4.0]]


# ---- second derivatives


PAIRS: list[tuple[str, Callable[..., Any]]] = [
    ("hessian", fg.hessian),
    ("fwd-rev", lambda f: fg.jacfwd(fg.jacrev(f))),
    ("rev-fwd", lambda f: fg.jacrev(fg.jacfwd(f))),
    ("fwd-fwd", lambda f: fg.jacfwd(fg.jacfwd(f))),
    ("rev-rev", lambda f: fg.jacrev(fg.jacrev(f))),
    ("rev-grad", lambda f: fg.jacrev(fg.grad(f))),
    ("fwd-grad", lambda f: fg.jacfwd(fg.grad(f))),
]


@pytest.mark.parametrize("second", [p for _, p in PAIRS], ids=[n for n, _ in PAIRS])
def test_the_hessian_at_a_zero_residual(second: Any) -> None:
    """**Law** (DESIGN 6): strong zero is no select. The Hessian of sum((sqrt(x) - 1)²) at ones is diag(½), in all mode pairs."""
    np.testing.assert_array_equal(second(lambda x: np.sum((np.sqrt(x) - 1.0) ** 2))(np.ones(3)), 0.5 * np.eye(3))


@pytest.mark.parametrize("second", [p for _, p in PAIRS], ids=[n for n, _ in PAIRS])
def test_hessians_of_a_closed_form(second: Any) -> None:
    """The Hessian of log-sum-exp is diag(s) - s sᵀ."""
    x = np.array([0.3, -1.0, 2.0])
    s = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(second(lambda x: np.log(np.sum(np.exp(x))))(x), np.diag(s) - np.outer(s, s), rtol=1e-13, atol=1e-16)


def test_hessian_structures() -> None:
    """A tree of trees, as a Jacobian of a Jacobian; a tuple of tuples for a tuple of argnums."""
    p = {"a": np.ones(2), "b": 1.0}
    h = fg.hessian(lambda p: np.sum(p["a"] ** 2) * p["b"] ** 3)(p)
    assert {k: {m: np.shape(v) for m, v in row.items()} for k, row in h.items()} == {
        "a": {"a": (2, 2), "b": (2,)},
        "b": {"a": (2,), "b": ()},
    }
    np.testing.assert_array_equal(h["a"]["a"], 2 * np.eye(2))
    np.testing.assert_array_equal(h["a"]["b"], [6.0, 6.0])
    assert (h["b"]["b"], type(h["b"]["b"])) == (12.0, float)
    blocks = fg.hessian(lambda x, y: x**2 * y, (0, 1))(2.0, 3.0)
    assert blocks == ((6.0, 4.0), (4.0, 0.0))
    vector = fg.hessian(lambda x: x**3)(np.array([1.0, 2.0]))
    assert vector.shape == (2, 2, 2)


def test_hessian_with_aux_and_third_derivatives() -> None:
    """JAX's keywords; nesting."""
    h, aux = fg.hessian(lambda x: (x**3, "aux"), has_aux=True)(2.0)
    assert (h, aux) == (12.0, "aux")
    third = fg.jacfwd(fg.hessian(lambda x: np.sum(x**4)))(np.array([1.0, 2.0]))
    assert third.shape == (2, 2, 2)
    assert [third[0, 0, 0], third[1, 1, 1], third.sum()] == [24.0, 48.0, 72.0]


def test_hvp() -> None:
    """The Hessian times a vector, in the structure of the primals."""
    x, v = np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5])

    def f(x: Any) -> Any:
        return np.sum(np.sin(x)) * np.sum(x**2)

    np.testing.assert_allclose(fg.hvp(f, (x,), (v,)), fg.hessian(f)(x) @ v, rtol=1e-13)
    p, d = {"a": x, "b": 2.0}, {"a": v, "b": 1.0}
    out = fg.hvp(lambda p: np.sum(p["a"] ** 2) * p["b"], (p,), (d,))
    np.testing.assert_allclose(out["a"], 2 * 2.0 * v + 2 * x, rtol=1e-15)
    assert out["b"] == 2 * (x @ v)
    assert fg.hvp(lambda x, y: x**2 * y, (2.0, 3.0), (1.0, 10.0)) == (46.0, 4.0)


# ---- the door


@JACOBIANS
def test_closing_over_outer_tracers(jac: Any) -> None:
    """Jacobians are functions of what they close over, and of their argument."""
    assert fg.grad(lambda s: np.sum(jac(lambda x: s * x**2)(np.array([1.0, 2.0]))))(3.0) == 6.0
    assert fg.grad(lambda x: np.trace(jac(lambda y: y**3)(x)))(np.array([1.0, 2.0])).tolist() == [6.0, 12.0]
    value, tangent = fg.jvp(lambda x: jac(lambda y: y**3)(x), (2.0,), (1.0,))
    assert (value, tangent) == (12.0, 12.0)


@JACOBIANS
@pytest.mark.parametrize("n", [2, LARGE])
def test_no_output_shares_memory(jac: Any, n: int) -> None:
    """**Law**: read-only results of their own; what was captured is given back."""
    c, x = np.ones(n), np.ones(2)
    j, aux = jac(lambda x: (np.sum(x) * c if n == 2 else x * np.sum(c * x[0]), [x]), has_aux=True)(x)
    for a in (j, aux[0]):
        assert not a.flags.writeable
        assert not np.shares_memory(a, x)
        assert not np.shares_memory(a, c)
    assert c.flags.writeable
    assert gc.isenabled()


@JACOBIANS
def test_exceptions_leave_nothing_behind(jac: Any) -> None:
    """Neither in `f` nor in the check of its outputs."""
    c = np.ones(LARGE)

    def fails(x: Any) -> Any:
        y = x * c
        raise ZeroDivisionError(y is None)

    for f, error in ((fails, ZeroDivisionError), (lambda x: [x * c, "text"], errors.OutputError)):
        with pytest.raises(error):
            jac(f)(1.0)
        assert c.flags.writeable
        assert gc.isenabled()


@JACOBIANS
def test_name_docstring_and_methods(jac: Any) -> None:
    """The Jacobian looks like the function."""

    class Model:
        def forward(self, x: Any) -> Any:
            """Doubles."""
            return 2 * x

    j = jac(Model().forward)
    assert (j.__name__, j.__doc__) == ("forward", "Doubles.")
    assert j(np.ones(1)).tolist() == [[2.0]]
    assert fg.jacobian is fg.jacrev


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5, 100, None])
def test_chunks(chunk_size: int | None) -> None:
    """`chunk_size` bounds how many basis vectors go at a time, and changes nothing else."""
    f = lambda p: (np.sin(p["a"]) * p["b"], np.sum(p["a"]) * p["b"] ** 2)
    p = {"a": np.array([0.3, -1.0, 2.0, 0.1]), "b": 1.5}
    for jacobian in (fg.jacfwd, fg.jacrev):
        found, expected = jacobian(f, chunk_size=chunk_size)(p), jacobian(f)(p)
        for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
            assert type(a) is type(b)
    g = lambda x: np.sum(np.sin(x) * x[::-1])
    np.testing.assert_allclose(fg.hessian(g, chunk_size=chunk_size)(p["a"]), fg.hessian(g)(p["a"]), rtol=1e-14)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_chunks_that_are_none(wrong) -> None:
    """A chunk holds at least one basis vector."""
    with pytest.raises(ValueError, match="chunk_size must be a positive int or None"):
        fg.jacrev(np.sin, chunk_size=wrong)
