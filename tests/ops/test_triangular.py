"""Triangular systems and Cholesky factors of many rows, against definitions by full matrices."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.cholesky import cholesky_pull
from funcgrad.ops.linalg import resolve
from funcgrad.ops.triangular import LEAF, is_lower, solved

SIZES = [1, LEAF, LEAF + 1, 3 * LEAF - 5, 4 * LEAF + 2]


def lower(n: int, *, seed: int = 0, dtype: str = "d", stack: tuple[int, ...] = ()) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(*stack, n, n)) + (1j * rng.normal(size=(*stack, n, n)) if dtype in "FD" else 0)
    return (np.tril(x, -1) / n + (2 + np.abs(rng.normal(size=(*stack, 1, n)))) * np.eye(n)).astype(dtype)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("n", SIZES)
def test_solutions(n: int, dtype: str) -> None:
    """Of triangles and of what is none, of vectors, matrices and stacks; in the dtype of NumPy's."""
    tol = 1e-4 if dtype in "fF" else 1e-12
    low, b = lower(n, dtype=dtype, stack=(2,)), lower(n, seed=1, dtype=dtype)
    for a in (low, low.swapaxes(-1, -2), low + low.swapaxes(-1, -2), low[:, ::-1]):
        for sides in (b, b[:, :3], b[::-1, ::2]):
            x, want = solved(a, sides), np.linalg.solve(a, sides)
            assert x.dtype == want.dtype
            np.testing.assert_allclose(a @ x, np.broadcast_to(sides, x.shape), rtol=tol, atol=tol)
        np.testing.assert_allclose(solved(a[0], b[0]), np.linalg.solve(a[0], b[0]), rtol=tol, atol=tol)


def test_what_is_no_triangle_is_eliminated() -> None:
    """With NumPy's own bits. One nan or one least number above the diagonal is enough, -0.0 is none."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200, 200))
    np.testing.assert_array_equal(solved(a, b), np.linalg.solve(a, b))
    low = lower(200)
    for i, j in ((0, 199), (0, 1), (198, 199), (99, 100), (40, 41)):
        for value, no in ((np.nan, True), (5e-324, True), (-0.0, False)):
            full = low.copy()
            full[i, j] = value
            assert is_lower(full) is not no
            assert is_lower(np.stack([low, full])) is not no


def test_singular_triangles_raise() -> None:
    low = lower(100)
    low[70, 70] = 0
    with pytest.raises(np.linalg.LinAlgError):
        solved(low, np.ones(100))


def test_substitution_is_as_exact_as_elimination() -> None:
    """Rows that differ by 12 orders of magnitude, where an inverse has no digits left: the residual of each row is small."""
    n = 200
    scale = 10.0 ** -np.linspace(0, 12, n)[:, None]
    a, x = lower(n) * scale, np.random.default_rng(2).normal(size=(n, 3))
    for m, rows in ((a, scale), (a.T, 1.0)):
        b = m @ x
        assert np.all(abs(m @ solved(m, b) - b) <= 1e-13 * (abs(m) @ abs(x) + rows * 1e-300))


# ---- Cholesky factors


def by_matrices(low: Any, g: Any) -> Any:
    """Murray's equation 10."""
    inverse = np.linalg.inv(low)
    middle = np.tril(low.swapaxes(-1, -2) @ g)
    s = inverse.swapaxes(-1, -2) @ (middle - middle * np.eye(low.shape[-1]) / 2) @ inverse.conj()
    return (s + s.conj().swapaxes(-1, -2)) / 2


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("n", SIZES)
def test_pull_by_blocks(n: int, dtype: str) -> None:
    """Nothing above the diagonal is read; stacks broadcast."""
    tol = 1e-4 if dtype in "fF" else 1e-12
    low, rng = lower(n, dtype=dtype), np.random.default_rng(3)
    g = rng.normal(size=(2, n, n)).astype(dtype)
    if dtype in "FD":
        low, g = low - 1j * np.diag(np.diagonal(low).imag).astype(dtype), g + 1j * rng.normal(size=(2, n, n)).astype(dtype)
    made = cholesky_pull(low, g)
    assert made.dtype == dtype
    np.testing.assert_allclose(made, by_matrices(low, g), rtol=tol, atol=tol)
    np.testing.assert_array_equal(made, cholesky_pull(low, np.tril(g)))
    np.testing.assert_array_equal(made[1], cholesky_pull(low, g[1]))


@pytest.mark.parametrize("n", [3, 70])
def test_programs(n: int) -> None:
    """Of first and second order, in both modes: compiled, they have the bits that they have without."""
    rng = np.random.default_rng(4)
    m, y, v = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=n)

    def f(x: Any) -> Any:
        factor = np.linalg.cholesky(m @ (x[:, None] ** 2 * m.T) + n * np.eye(n))
        a = np.linalg.solve(factor, y)
        return np.sum(a * a) + np.sum(np.log(np.diagonal(factor)))

    gradient = fg.grad(f)
    hvp = lambda x, v: fg.jvp(gradient, (x,), (v,))[1]
    back = fg.grad(lambda x: np.sum(gradient(x) * v))
    x = rng.uniform(1, 2, n)
    for g in (gradient, back, lambda x: hvp(x, v), fg.jacfwd(f)):
        compiled = fg.jit(g)
        np.testing.assert_array_equal(compiled(x), g(x))
        np.testing.assert_array_equal(compiled(x + 1), g(x + 1))
    np.testing.assert_allclose(fg.jacfwd(f)(x), gradient(x), rtol=1e-10)
    np.testing.assert_allclose(hvp(x, v), back(x), rtol=1e-9)
    h = 1e-5
    np.testing.assert_allclose((gradient(x + h * v) - gradient(x - h * v)) / (2 * h), back(x), rtol=1e-5, atol=1e-7)


def test_rules_of_resolve_are_those_of_solve() -> None:
    rng = np.random.default_rng(5)
    a, b, w = lower(40), rng.normal(size=40), rng.normal(size=40)
    for got, want in zip(
        fg.grad(lambda a, b: np.sum(w * resolve(a, b) ** 2), (0, 1))(a, b),
        fg.grad(lambda a, b: np.sum(w * np.linalg.solve(a, b) ** 2), (0, 1))(a, b),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)
