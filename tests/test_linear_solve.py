"""`custom_linear_solve`: every mode and order, direct and iterative solvers, trees, and arrays that are not ours."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.borrow import COPY_LIMIT
from funcgrad.testing import check_grads
from tests.laws.paths import PATHS
from tests.solvers import cg, close, gauss

RNG = np.random.default_rng(0)
M = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
C = RNG.normal(size=3)


@pytest.fixture(params=PATHS, autouse=True)
def path(request: Any) -> Iterator[None]:
    """Both paths of the machine."""
    with PATHS[request.param]():
        yield


def direct(matrix: Any, b: Any) -> Any:
    """As ported code has it: the solvers close over what they use."""
    return fg.custom_linear_solve(
        lambda x: matrix @ x, b, lambda matvec, b: np.linalg.solve(matrix, b), lambda matvec, b: np.linalg.solve(matrix.T, b)
    )


def indirect(matrix: Any, b: Any) -> Any:
    return fg.custom_linear_solve(lambda x: matrix @ x, b, gauss, gauss)


@pytest.mark.parametrize("solve", [direct, indirect])
def test_derivatives(solve: Any) -> None:
    """With W = A⁻¹: ∂x_i/∂b_j = W_ij, ∂x_i/∂A_jk = -W_ij x_k, ∂²x_i/∂A_jk∂A_lm = W_il W_mj x_k + W_ij W_kl x_m."""
    inverse = np.linalg.inv(M)
    x = inverse @ C
    for jacobian in (fg.jacrev, fg.jacfwd):
        by_matrix, by_b = jacobian(solve, (0, 1))(M, C)
        close(by_b, inverse)
        close(by_matrix, -np.einsum("ij,k->ijk", inverse, x))
    _, pull = fg.vjp(solve, M, C)
    close(pull(np.ones(3))[1], inverse.T @ np.ones(3))
    second = np.einsum("il,mj,k->ijklm", inverse, inverse, x) + np.einsum("ij,kl,m->ijklm", inverse, inverse, x)
    close(fg.hessian(solve)(M, C), second)
    check_grads(solve, (M, C), order=2)


@pytest.mark.parametrize("solve", [direct, indirect])
def test_lanes(solve: Any) -> None:
    """Mapped over the matrix, the right side, or both, in any order of transformations; as many lanes as rows."""
    matrices, sides = np.stack([M, M.T, M + np.eye(3)]), RNG.normal(size=(3, 3))
    for in_axes in [(0, 0), (0, None), (None, 0), (None, 1), (2, 1)]:
        given = (matrices if in_axes[0] is not None else M, sides if in_axes[1] is not None else C)
        mapped = lambda f, in_axes=in_axes: lambda a, b: fg.vmap(f, in_axes)(a, b)
        close(mapped(solve)(*given), mapped(np.linalg.solve)(*given))
        loss, expected = (lambda a, b, f=f, mapped=mapped: np.sum(mapped(f)(a, b) ** 3) for f in (solve, np.linalg.solve))
        for k in (0, 1):
            close(fg.grad(loss, k)(*given), fg.grad(expected, k)(*given))
            close(fg.jvp(fg.grad(loss, k), given, given)[1], fg.jvp(fg.grad(expected, k), given, given)[1])
        inner, its = (fg.grad(lambda a, b, f=f: np.sum(f(a, b) ** 3)) for f in (solve, np.linalg.solve))
        close(mapped(inner)(*given), mapped(its)(*given))
    close(fg.hessian(lambda a: np.sum(fg.vmap(solve)(a, sides) ** 2))(matrices), _hessian_of_lanes(matrices, sides))
    twice = fg.vmap(fg.vmap(solve, (None, 0)), (0, None))
    close(
        fg.grad(lambda a: np.sum(twice(a, sides)))(matrices), [fg.grad(lambda a: np.sum(np.linalg.solve(a, sides.T)))(a) for a in matrices]
    )


def _hessian_of_lanes(matrices: Any, sides: Any) -> Any:
    return fg.hessian(lambda a: np.sum(np.linalg.solve(a, sides[..., None]) ** 2))(matrices)


def test_transposes_are_not_conjugated() -> None:
    """Complex systems: the pullback of b is A⁻ᵀ ct."""
    matrix, b = M + 1j * M.T, C + 2j
    close(fg.vjp(lambda b: indirect(matrix, b), b)[1](b)[0], np.linalg.solve(matrix.T, b))
    close(fg.jacrev(indirect, holomorphic=True)(matrix, b), fg.jacrev(np.linalg.solve, holomorphic=True)(matrix, b))
    close(fg.jacfwd(indirect, holomorphic=True)(matrix, b), fg.jacfwd(np.linalg.solve, holomorphic=True)(matrix, b))


def test_float32() -> None:
    """All along."""
    matrix, b = M.astype(np.float32), C.astype(np.float32)
    for g in fg.grad(lambda a, b: np.sum(indirect(a, b)), (0, 1))(matrix, b):
        assert g.dtype == np.float32
    close(fg.jacrev(indirect, 1)(matrix, b), np.linalg.inv(M), 1e-5)


# ---- conjugate gradients

DATA = Path(__file__).parents[1] / "docs" / "examples" / "data"


def diabetes() -> tuple[Any, Any]:
    """Standardised measurements, and the progression of the disease less its mean."""
    x = np.loadtxt(DATA / "diabetes_data_raw.csv.gz")
    y = np.loadtxt(DATA / "diabetes_target.csv.gz")
    return (x - x.mean(0)) / x.std(0), y - y.mean()


def test_ridge_regression() -> None:
    """w = (XᵀX + λ)⁻¹ Xᵀy by conjugate gradients; w' = -(XᵀX + λ)⁻¹ w and w'' = 2 (XᵀX + λ)⁻² w by eigenvalues."""
    x, y = diabetes()

    def coefficients(penalty: Any) -> Any:
        return fg.custom_linear_solve(lambda w: x.T @ (x @ w) + penalty * w, x.T @ y, cg, symmetric=True)

    values, vectors = np.linalg.eigh(x.T @ x)
    power = lambda k: vectors @ ((vectors.T @ (x.T @ y)) / (values + 10.0) ** k)
    close(coefficients(10.0), power(1))
    close(fg.jacfwd(coefficients)(10.0), -power(2))
    close(fg.jacrev(coefficients)(10.0), -power(2))
    close(fg.jvp(coefficients, (10.0,), (2.0,))[1], -2 * power(2))
    for second in (fg.hessian, lambda f: fg.jacrev(fg.jacfwd(f)), lambda f: fg.jacfwd(fg.jacfwd(f))):
        close(second(coefficients)(10.0), 2 * power(3))
    penalties = np.array([1.0, 10.0, 100.0])
    close(fg.vmap(coefficients)(penalties)[1], power(1))
    close(fg.vmap(fg.jacrev(coefficients))(penalties)[1], -power(2))
    close(fg.jacrev(fg.vmap(coefficients))(penalties)[1, :, 1], -power(2))


def test_trees() -> None:
    """A right side and unknowns that are trees, for a solver that takes them as they are."""
    matrix = M @ M.T

    def solve(scale: Any, b: Any) -> Any:
        def matvec(x: Any) -> Any:
            y = scale * (matrix @ np.concatenate([x["u"], [x["v"]]]))
            return {"u": y[:2], "v": y[2]}

        return fg.custom_linear_solve(matvec, b, cg, symmetric=True)

    b = {"u": C[:2], "v": C[2]}
    found = solve(2.0, b)
    expected = np.linalg.solve(2 * matrix, C)
    close(found["u"], expected[:2])
    close(found["v"], expected[2])
    close(fg.jacfwd(solve)(2.0, b)["u"], -expected[:2] / 2)
    by_b = fg.jacrev(solve, 1)(2.0, b)
    close(by_b["u"]["v"], np.linalg.inv(2 * matrix)[:2, 2])
    check_grads(solve, (2.0, b), order=2)


def test_steps_that_differ_between_lanes() -> None:
    """In lanes of one pass the solver takes as many steps as each needs: here one for b = e₀, and three for others."""
    matrix = np.diag([1.0, 2.0, 3.0])
    f = lambda b: fg.custom_linear_solve(lambda x: matrix @ x, b, cg, symmetric=True)
    mix = np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 1]])
    for jacobian in (fg.jacfwd, fg.jacrev):
        close(jacobian(lambda b: mix @ f(mix @ b))(C), mix @ np.linalg.inv(matrix) @ mix)
    sides = np.array([[1.0, 0, 0], [1, 1, 1], [0, 0, 0]])
    close(fg.vmap(f)(sides), sides / [1, 2, 3])
    close(fg.grad(lambda b: np.sum(fg.vmap(f)(b) ** 2))(sides), 2 * sides / np.array([1, 2, 3]) ** 2)


def test_scipy_as_a_solver() -> None:
    """Code in C takes one lane after the other."""
    linalg = pytest.importorskip("scipy.sparse.linalg")

    def gmres(matvec: Any, b: Any) -> Any:
        return linalg.gmres(linalg.LinearOperator((3, 3), matvec, dtype=float), b, rtol=1e-13)[0]

    solve = lambda a, b: fg.custom_linear_solve(lambda x: a @ x, b, gmres, gmres)
    for jacobian in (fg.jacfwd, fg.jacrev):
        for g, expected in zip(jacobian(solve, (0, 1))(M, C), jacobian(np.linalg.solve, (0, 1))(M, C), strict=True):
            close(g, expected)
    matrices = np.stack([M, 2 * M])
    close(fg.vmap(solve, (0, None))(matrices, C), [np.linalg.solve(a, C) for a in matrices])
    expected = fg.grad(lambda a: sum([np.sum(np.linalg.solve(a[k], C) ** 2) for k in range(2)]))(matrices)
    close(fg.grad(lambda a: np.sum(fg.vmap(solve, (0, None))(a, C) ** 2))(matrices), expected)
    twice = fg.vmap(fg.vmap(solve, (None, 0)), (0, None))
    close(twice(matrices, np.eye(3)), np.linalg.inv(matrices).mT)


def test_errors_of_a_solver() -> None:
    """Its own error comes out, with lanes as without."""

    def solve(matvec: Any, b: Any) -> Any:
        raise ZeroDivisionError("mine")

    f = lambda b: fg.custom_linear_solve(lambda x: M @ x, b, solve, solve)
    for run in (f, fg.vmap(f), fg.jacfwd(f)):
        with pytest.raises(ZeroDivisionError, match="mine"):
            run(np.eye(3))


# ---- the rest


def test_aux() -> None:
    """That of the forward solve is handed on; the others' is dropped."""

    def f(b: Any) -> Any:
        counted = lambda matvec, b: (gauss(matvec, b), {"steps": 1})
        return fg.custom_linear_solve(lambda x: M @ x, b, counted, counted, has_aux=True)

    x, aux = f(C)
    close(x, np.linalg.solve(M, C))
    assert aux == {"steps": 1}
    close(fg.jacrev(f, has_aux=True)(C)[0], np.linalg.inv(M))
    close(fg.jacfwd(lambda b: f(b)[0])(C), np.linalg.inv(M))


def test_without_a_transposed_solver() -> None:
    """Forward mode needs none; reverse mode says what is missing."""
    f = lambda b: fg.custom_linear_solve(lambda x: M @ x, b, gauss)
    close(fg.jvp(f, (C,), (C,))[1], np.linalg.solve(M, C))
    with pytest.raises(errors.NoRuleError, match="Give it a `transpose_solve`, or symmetric=True"):
        fg.grad(lambda b: np.sum(f(b)))(C)


def test_wrong_shapes_and_structures() -> None:
    """Of what the solver and the function give, by path."""
    b = {"a": C}
    with pytest.raises(errors.RuleResultError, match=r"the solve of custom_linear_solve\(.*\): the result\['a'\] must have shape"):
        fg.custom_linear_solve(lambda x: x, b, lambda matvec, b: {"a": np.ones(2)})
    with pytest.raises(errors.RuleResultError, match=r"the matvec of .*: the result\['a'\] must have shape \[3\]"):
        fg.custom_linear_solve(lambda x: {"a": np.sum(x["a"])}, b, lambda matvec, b: b)
    with pytest.raises(errors.RuleResultError, match=r"the matvec of .*: the result must have the structure"):
        fg.custom_linear_solve(lambda x: x["a"], b, lambda matvec, b: b)


def test_large_arrays_are_given_back() -> None:
    """An array of more than 64 kB is borrowed while a derivative needs it, and writeable again afterwards."""
    n = int((COPY_LIMIT // 8) ** 0.5) + 10
    matrix, b = np.eye(n) * 2.0, np.ones(n)
    solve = lambda b: fg.custom_linear_solve(lambda x: matrix @ x, b, lambda matvec, b: b / 2.0, symmetric=True)
    solve(b)
    assert matrix.flags.writeable
    close(fg.grad(lambda b: np.sum(solve(b)))(b), 0.5)
    assert matrix.flags.writeable
    _, pull = fg.vjp(solve, b)
    assert not matrix.flags.writeable
    close(pull(b)[0], 0.5)
    del pull
    assert matrix.flags.writeable


def test_nothing_is_left_for_the_collector() -> None:
    """What a derivative needed is freed when it is there."""
    runs = [lambda: fg.grad(lambda b: np.sum(direct(M, b)))(C), lambda: fg.jvp(indirect, (M, C), (M, C))]
    for run in runs:
        run()
        run()
        gc.collect()
        gc.disable()
        try:
            run()
            assert gc.collect() == 0
        finally:
            gc.enable()
