"""Compiled functions under derivatives, and derivatives under `jit`: order, dtypes, zeros that are strong, lanes, tapes, loops."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import pytree


def poison(x: Any) -> Any:
    """Whose slope is infinite where it is not taken."""
    return np.sum(np.where(x > 0, np.sqrt(x), 0.0) + np.where(x > 0, np.log(x), x))


@pytest.mark.parametrize("order", ["grad(jit)", "jit(grad)", "jit(grad(jit))"])
def test_zeros_are_strong(order: str) -> None:
    """A zero cotangent stays zero beside an infinite slope, without a warning."""
    compiled = fg.jit(poison)
    g = {"grad(jit)": fg.grad(compiled), "jit(grad)": fg.jit(fg.grad(poison)), "jit(grad(jit))": fg.jit(fg.grad(compiled))}[order]
    x = np.array([0.0, 4.0, -1.0])
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("error")
        for _ in range(4):
            np.testing.assert_array_equal(g(x), fg.grad(poison)(x))
        assert np.isfinite(g(x)).all()


def test_gradients_that_are_nan() -> None:
    """Stay nan, and infinite ones infinite, whichever were compiled first."""
    f = lambda x: np.sum(np.sqrt(x - 1))
    for g in (fg.grad(fg.jit(f)), fg.jit(fg.grad(f))):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for x in ([2.0, 3.0, 5.0], [0.0, 2.0, 1.0]) * 3:
                np.testing.assert_array_equal(g(np.array(x)), fg.grad(f)(np.array(x)))


@pytest.mark.parametrize("compile_at", range(4))
def test_third_derivatives(compile_at: int) -> None:
    """With `jit` at any depth."""
    f: Any = lambda x: np.sin(x) * x**3
    expected = fg.grad(fg.grad(fg.grad(f)))(0.7)
    for k in range(4):
        f = fg.jit(f) if k == compile_at else f
        f = fg.grad(f) if k < 3 else f
    for _ in range(4):
        np.testing.assert_allclose(f(0.7), expected, rtol=1e-13)


def test_hessians() -> None:
    """Forward over reverse of a compiled function, and compiled."""
    f = lambda x: np.sum(np.sin(x) * x[0]) * x[1]
    x = np.array([0.3, 0.7, -0.2])
    expected = fg.hessian(f)(x)
    for h in (fg.hessian(fg.jit(f)), fg.jit(fg.hessian(f)), fg.jacfwd(fg.grad(fg.jit(f))), fg.jacrev(fg.grad(fg.jit(f)))):
        for _ in range(3):
            np.testing.assert_allclose(h(x), expected, rtol=1e-12, atol=1e-14)


def test_dtypes() -> None:
    """float32 stays, complex numbers have their convention, integers are refused or have zeros."""
    f = fg.jit(lambda x: np.sum(x * np.float32(2)))
    squares = lambda z: np.sum(np.abs(z) ** 2)
    compiled = fg.jit(squares)
    cube = fg.jit(lambda z: z**3)
    product = fg.jit(lambda p: np.sum(p["w"]) * p["n"])
    z = np.array([1 + 2j, 3.0])
    for _ in range(4):
        assert fg.grad(f)(np.ones(2, np.float32)).dtype == np.float32
        np.testing.assert_array_equal(fg.grad(compiled)(z), fg.grad(squares)(z))
        np.testing.assert_allclose(fg.grad(cube, holomorphic=True)(1 + 2j), 3 * (1 + 2j) ** 2)
        g = fg.grad(product, allow_int=True)({"w": np.ones(2), "n": 3})
        assert list(g["w"]) == [3.0, 3.0]
        assert g["n"] == 0
        with pytest.raises(fg.errors.InputError, match=r"\['n'\]"):
            fg.grad(product)({"w": np.ones(2), "n": 3})


def test_aux() -> None:
    """What comes beside the value comes out of a compiled function as well."""
    f = fg.jit(lambda x: (np.sum(x**2), {"a": x * 2, "s": "k"}))
    for _ in range(4):
        (value, aux), g = fg.value_and_grad(f, has_aux=True)(np.ones(2))
        assert (value, list(g), list(aux["a"]), aux["s"]) == (2.0, [2.0, 2.0], [2.0, 2.0], "k")
    h = fg.jit(fg.value_and_grad(lambda x: (np.sum(x**2), x), has_aux=True))
    for _ in range(4):
        (value, aux), g = h(np.ones(2))
        assert (value, list(g), list(aux)) == (2.0, [2.0, 2.0], [1.0, 1.0])


def test_tapes() -> None:
    """`backward` goes through a compiled function."""
    f = fg.jit(lambda x, y: np.sum(np.sin(x) * y))
    x, y = fg.Var(np.array([0.1, 0.2])), fg.Var(np.array([1.0, 2.0]))
    for _ in range(4):
        grads = fg.backward(f(x, y))
        np.testing.assert_allclose(grads[x], np.cos([0.1, 0.2]) * [1.0, 2.0])
        np.testing.assert_allclose(grads[y], np.sin([0.1, 0.2]))


def test_lanes_that_part() -> None:
    """Each takes its own path, at every call, under a derivative or not; a compiled `vmap` as well."""
    f = lambda x: np.sin(x) if x > 0 else x**2
    x = np.array([1.0, -1.0, 2.0, -3.0])
    compiled = fg.jit(f)
    for _ in range(30):
        np.testing.assert_array_equal(fg.vmap(compiled)(x), fg.vmap(f)(x))
    for _ in range(4):
        np.testing.assert_allclose(fg.vmap(fg.grad(compiled))(x), [np.cos(1.0), -2.0, np.cos(2.0), -6.0])
        np.testing.assert_allclose(fg.grad(lambda x: np.sum(fg.vmap(compiled)(x)))(x), [np.cos(1.0), -2.0, np.cos(2.0), -6.0])
    both = fg.jit(fg.vmap(f))
    for _ in range(4):
        np.testing.assert_array_equal(both(x), fg.vmap(f)(x))
        np.testing.assert_array_equal(both(-x), fg.vmap(f)(-x))
    assert compiled.stats(1.0).paths <= 2


def test_loops() -> None:
    """In a scan, a `while_loop`, a branch of `cond`; and these in a compiled function."""
    step = fg.jit(lambda c, x: (np.sin(c) + x, c * x))
    xs = np.linspace(0.0, 1.0, 5)
    plain = lambda c: np.sum(fg.scan(lambda c, x: (np.sin(c) + x, c * x), c, xs)[1])
    inside = lambda c: np.sum(fg.scan(step, c, xs)[1])
    outside = fg.jit(plain)
    for _ in range(4):
        for f in (inside, outside):
            np.testing.assert_allclose(f(0.3), plain(0.3), rtol=1e-13)
            np.testing.assert_allclose(fg.grad(f)(0.3), fg.grad(plain)(0.3), rtol=1e-13)
    halve = fg.jit(lambda x: x / 2)
    small = lambda x: fg.while_loop(lambda x: x > 1.0, halve, x)
    either = fg.jit(lambda x: fg.cond(x > 0, halve, lambda x: -x, x))
    for _ in range(4):
        assert [small(5.0), fg.jit(small)(5.0), fg.grad(small)(5.0)] == [0.625, 0.625, 0.125]
        assert [either(4.0), either(-4.0), fg.grad(either)(4.0), fg.grad(either)(-4.0)] == [2.0, 4.0, 0.5, -1.0]


def test_compiled_in_compiled() -> None:
    """One program; also where the inner one was compiled before, and under a derivative."""
    inner = fg.jit(lambda x: np.sum(np.sin(x)))
    x = np.ones(3)
    for _ in range(3):
        inner(x)
    outer = fg.jit(lambda x: fg.grad(inner)(x) * inner(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            np.testing.assert_allclose(outer(x), np.cos(1.0) * 3 * np.sin(1.0))
            np.testing.assert_allclose(fg.jacrev(outer)(x)[0], np.cos(1.0) ** 2 - np.array([3, 0, 0]) * np.sin(1.0) ** 2)
    assert outer.stats(x).paths == 1


def test_what_no_cotangent_comes_to() -> None:
    """An output that a compiled pull does not need has zeros of its own dtype."""
    x = np.array([0.3, 0.7])
    f = fg.jit(lambda x: np.sum(np.sin(x)))
    g = fg.jacfwd(fg.jacfwd(lambda x: [f(x) for _ in range(3)][-1]))
    np.testing.assert_allclose(fg.jacfwd(lambda x: np.sum(g(x)))(x), -np.cos(x))


@pytest.mark.parametrize(
    "derivative", [fg.jacfwd, fg.jacrev, lambda f: fg.vmap(fg.grad(lambda x: np.sum(f(x))))], ids=["jacfwd", "jacrev", "vmap"]
)
def test_recomputed_in_lanes(derivative: Any) -> None:
    """What a checkpoint runs again in all lanes at once is the same at each call, and is compiled."""
    x = np.array([[0.3, 0.7], [0.2, -0.4]])
    f = derivative(fg.checkpoint(lambda x: np.sin(x) * np.cos(x)))
    compiled = fg.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13)
    assert compiled.stats(x).paths == 1


@pytest.mark.parametrize("closes", [False, True])
@pytest.mark.parametrize("rule", ["jvp", "vjp"])
def test_custom_functions_in_lanes(rule: str, closes: bool) -> None:
    """Each `vmap` makes the rules in lanes anew: they are the same rules, and what is closed over in a lane is an operand."""

    def g(u: Any, y: Any) -> Any:
        if rule == "jvp":
            f = fg.custom_jvp(lambda u: np.sin(u) * y)
            f.defjvp(lambda p, t: (f(*p), np.cos(*p) * t[0] * y))
        else:
            f = fg.custom_vjp(lambda u: np.sin(u) * y)
            f.defvjp(lambda u: (np.sin(u) * y, np.cos(u)), lambda res, ct: (ct * res * y,))
        return f(u)

    x = np.array([0.3, -0.7, 1.1])
    f = (lambda x: np.sum(fg.vmap(lambda u: g(u, u))(x))) if closes else (lambda x: np.sum(fg.vmap(lambda u: g(u, 2.0))(x)))
    slope = np.cos(x) * x + np.sin(x) if closes else 2 * np.cos(x)
    compiled, pulled = fg.jit(f), fg.jit(fg.grad(f))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            np.testing.assert_allclose(compiled(x), np.sum(np.sin(x) * (x if closes else 2)), rtol=1e-14)
            np.testing.assert_allclose(fg.grad(compiled)(x), slope, rtol=1e-14)
            np.testing.assert_allclose(pulled(x), slope, rtol=1e-14)
    assert compiled.stats(x).paths == 1


def test_what_a_checkpoint_gives_is_ground() -> None:
    """The run that is recorded is written down by the checkpoint as well: its results are those of neither record."""
    compiled = fg.jit(fg.checkpoint(lambda x: (np.sin(x), x * 2)))
    for _ in range(3):
        y, z = compiled(0.5)
        assert (type(y), type(z)) == (np.float64, float)
        assert (y, z) == (np.sin(0.5), 1.0)


@pytest.mark.parametrize("f", [fg.grad, fg.value_and_grad, lambda f: fg.jacrev(fg.grad(f)), lambda f: lambda x: fg.vjp(f, x)[1](1.0)])
def test_gradients_have_the_types_of_their_arguments(f: Any) -> None:
    """A Python float has a Python float, which promotes less than NumPy's."""
    g = f(lambda p: np.sin(p["a"]) * p["b"] * p["c"][0])
    compiled = fg.jit(g)
    p = {"a": 2.0, "b": np.float32(3.0), "c": np.ones(2, np.float32)}
    expected = list(map(type, pytree.leaves(g(p))))
    for _ in range(3):
        assert list(map(type, pytree.leaves(compiled(p)))) == expected
    halved = fg.jit(lambda x, y: fg.grad(lambda x: x * np.sin(x))(x) * y)
    for _ in range(3):
        assert halved(2.0, np.ones(2, np.float32)).dtype == np.float32
