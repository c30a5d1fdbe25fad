"""Determinants at singular matrices, inverses, systems, factorisations, norms."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad.testing import check_grads
from tests.hard_cases.kit import Array, close, gradient, numbers

SPD = np.array([[3.0, 0.5, -1.0], [0.5, 2.0, 0.25], [-1.0, 0.25, 4.0]])
GENERAL = np.array([[1.5, -0.5, 2.0], [0.0, 2.5, 1.0], [-1.0, 0.75, 3.0]])


def along(g: Array, direction: Array) -> float:
    return float(np.sum(g * direction))


def test_det_of_a_singular_matrix() -> None:
    """The cofactors, with nothing divided by the determinant; of rank 0 too."""
    close(gradient(np.linalg.det, np.array([[2.0, 6.0], [1.0, 3.0]])), [[3.0, -1.0], [-6.0, 2.0]])
    close(gradient(np.linalg.det, np.array([[0.0, 0.0], [0.0, 0.0]])), np.zeros((2, 2)))
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]])
    cofactors = [[-2.0, -2.0, 2.0], [1.0, 1.0, -1.0], [0.0, 0.0, 0.0]]
    close(gradient(np.linalg.det, singular), cofactors, atol=1e-9)


def test_the_hessian_of_det_at_the_identity() -> None:
    """δij δkl - δil δjk, though all singular values are equal."""
    e = np.eye(3)
    expected = np.einsum("ij,kl->ijkl", e, e) - np.einsum("il,jk->ijkl", e, e)
    close(fg.hessian(np.linalg.det)(e), expected, atol=1e-9)
    close(fg.jacfwd(fg.jacfwd(np.linalg.det))(e), expected, atol=1e-9)


def test_the_second_derivative_of_det_along_a_line_through_a_singular_matrix() -> None:
    """det [[3 + t, 6], [1 + 2t, 2 - t]] = -t² - 13t."""
    a, d = np.array([[3.0, 6.0], [1.0, 2.0]]), np.array([[1.0, 0.0], [2.0, -1.0]])
    f = lambda t: np.linalg.det(a + t * d)
    close(fg.grad(f)(0.0), -13.0)
    close(fg.grad(fg.grad(f))(0.0), -2.0, atol=1e-8)


def test_inverses_of_a_stack() -> None:
    """-A⁻ᵀ W A⁻ᵀ for each."""
    a, w = np.stack([SPD, GENERAL]), numbers(2, 3, 3)
    inverse = np.swapaxes(np.linalg.inv(a), 1, 2)
    close(gradient(lambda a: np.sum(np.linalg.inv(a) * w), a), -inverse @ w @ inverse)


def test_solve_with_a_vector() -> None:
    """λ = A⁻ᵀ w in b, -λ xᵀ in A."""
    b, w = numbers(3), numbers(3, seed=1)
    adjoint, x = np.linalg.solve(GENERAL.T, w), np.linalg.solve(GENERAL, b)
    close(gradient(lambda a, b: w @ np.linalg.solve(a, b), GENERAL, b, argnums=(0, 1)), (-np.outer(adjoint, x), adjoint))


def test_two_ways_to_the_trace_of_an_inverse() -> None:
    """Directly, and by a Cholesky factor: the same along symmetric directions, -tr(S⁻¹ D S⁻¹)."""

    def by_factor(s: Any) -> Any:
        return np.sum(np.linalg.inv(np.linalg.cholesky(s)) ** 2)

    d = numbers(3, 3)
    d = d + d.T
    inverse = np.linalg.inv(SPD)
    expected = -np.trace(inverse @ d @ inverse)
    for f in (by_factor, lambda s: np.trace(np.linalg.inv(s))):
        close(along(fg.grad(f)(SPD), d), expected)
        close(fg.jvp(f, (SPD,), (d,))[1], expected)


def test_the_upper_cholesky_factor() -> None:
    """Along symmetric directions it is the lower one, transposed."""
    w, d = numbers(3, 3), numbers(3, 3, seed=1)
    d = d + d.T
    lower = fg.grad(lambda s: np.sum(np.linalg.cholesky(s).T * w))(SPD)
    upper = fg.grad(lambda s: np.sum(np.linalg.cholesky(s, upper=True) * w))(SPD)
    close(along(upper, d), along(lower, d))
    check_grads(lambda x: np.linalg.cholesky(x + x.T, upper=True), (SPD / 2,))


def test_the_log_determinant_three_ways() -> None:
    """S⁻¹, by slogdet, by log of det, and by a Cholesky factor (whose gradient is in one triangle)."""
    for f in (
        lambda s: np.linalg.slogdet(s)[1],
        lambda s: np.log(np.linalg.det(s)),
        lambda s: 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(s)))),
    ):
        g = fg.grad(f)(SPD)
        close((g + g.T) / 2, np.linalg.inv(SPD))


def test_the_pseudo_inverse_of_a_tall_matrix() -> None:
    """As differences say, in both modes."""
    check_grads(np.linalg.pinv, (numbers(4, 2),))


def test_powers_of_a_matrix() -> None:
    """Positive, zero and negative, and products of several."""
    check_grads(lambda a: np.linalg.matrix_power(a, 4), (GENERAL / 3,))
    check_grads(lambda a: np.linalg.matrix_power(a, -3), (GENERAL,))
    close(gradient(lambda a: np.sum(np.linalg.matrix_power(a, 0) * a), GENERAL), np.eye(3))
    check_grads(lambda a, b: np.linalg.multi_dot([b, a, a, b]), (GENERAL, numbers(3, 3)))


def test_norms_along_an_axis() -> None:
    """x/|x| for each row, also when the axis is kept; of a matrix the Frobenius norm."""
    x, w = np.array([[8.0, -15.0], [0.6, 0.8]]), np.array([17.0, 2.0])
    unit = x / np.array([[17.0], [1.0]])
    close(gradient(lambda x: np.linalg.norm(x, axis=-1) @ w, x), unit * w[:, None])
    close(gradient(lambda x: np.sum(np.linalg.norm(x, axis=1, keepdims=True)[:, 0] * w), x), unit * w[:, None])
    close(gradient(np.linalg.norm, x), x / np.sqrt(290.0))


def test_eigenvalues_at_a_repeated_spectrum() -> None:
    """Their sum is the trace, their product the determinant."""
    close(gradient(lambda a: np.sum(np.linalg.eigvalsh(a)), np.eye(3)), np.eye(3))
    close(gradient(lambda a: np.prod(np.linalg.eigvalsh(a)), 2 * np.eye(3)), 4 * np.eye(3))


def test_weighted_eigenvalues() -> None:
    """V diag(w) Vᵀ, symmetric."""
    w = np.array([3.0, -1.0, 2.0])
    v = np.linalg.eigh(SPD)[1]
    close(gradient(lambda a: np.linalg.eigvalsh(a) @ w, SPD), (v * w) @ v.T)
    close(gradient(lambda a: np.sum(np.log(np.linalg.eigvalsh(a))), SPD), np.linalg.inv(SPD))


def test_eigenvalues_of_a_pair() -> None:
    """λ λ̄ of a conjugate pair is the determinant."""
    pair = np.array([[0.25, -1.5], [2.0, -0.75]])
    close(gradient(lambda a: np.sum(np.abs(np.linalg.eigvals(a)) ** 2), pair), 2 * np.array([[-0.75, -2.0], [1.5, 0.25]]))


def test_singular_values_without_their_vectors() -> None:
    """U diag(w) Vᵀ, however they are asked for, also where NumPy makes the full U."""
    a, w = numbers(4, 2), np.array([2.0, -1.0])
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    for s in (
        lambda a: np.linalg.svd(a)[1],
        lambda a: np.linalg.svd(a, full_matrices=False).S,
        lambda a: np.linalg.svd(a, compute_uv=False),
        np.linalg.svdvals,
    ):
        close(gradient(lambda a, s=s: s(a) @ w, a), (u * w) @ vh)


def test_least_squares() -> None:
    """As differences say, in the matrix and in the right side."""
    check_grads(lambda a, b: np.linalg.lstsq(a, b)[:2], (numbers(4, 2), numbers(4)))
