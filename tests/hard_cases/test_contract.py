"""einsum, tensordot, matmul, products of vectors."""

from __future__ import annotations

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.testing import check_grads
from tests.hard_cases.kit import close, gradient, numbers


@pytest.mark.parametrize("subscripts", ["ii->", "ii", "jj"])
def test_a_trace_by_einsum(subscripts: str) -> None:
    """The identity."""
    close(gradient(lambda x: 3 * np.einsum(subscripts, x), np.ones((4, 4))), 3 * np.eye(4))


def test_an_index_twice_in_one_operand_beside_another() -> None:
    """A diagonal that is contracted with a matrix."""
    check_grads(lambda a, b: np.einsum("kk,kj->j", a, b), (numbers(3, 3), numbers(3, 2, seed=1)))
    check_grads(lambda a, b: np.einsum("ij,jj->ij", a, b), (numbers(2, 3), numbers(3, 3, seed=1)))


def test_an_ellipsis_of_several_axes() -> None:
    """It broadcasts as NumPy does."""
    check_grads(lambda x, v: np.einsum("...i,i->...", x, v) ** 2, (numbers(2, 1, 3), numbers(3, seed=1)))
    check_grads(lambda x, y: np.einsum("i...,i...->...", x, y), (numbers(2, 3, 2), numbers(2, 1, 2, seed=1)))


def test_einsum_with_lists_of_indices() -> None:
    """`einsum(op, indices, op, indices, out)` means what the string means."""
    a, b = numbers(2, 4), numbers(3, 4, seed=1)
    close(fg.grad(lambda a: np.sum(np.einsum(a, [5, 7], b, [2, 7], [2, 5]) ** 2))(a), 2 * (a @ b.T) @ b)
    check_grads(lambda a, b: np.einsum(a, [0, 1], b, [2, 1], [2, 0]), (a, b))


def test_one_variable_in_several_operands() -> None:
    """The contributions of all places add up."""
    x, m = np.array([2.0, -1.0, 0.5]), numbers(3, 3)
    close(gradient(lambda x: np.einsum("a,a,a,a->", x, x, x, x), x), 4 * x**3)
    close(gradient(lambda x: np.einsum("i,ij,j->", x, m, x, optimize=True), x), (m + m.T) @ x)


def test_tensordot_minds_its_axes() -> None:
    """Contraction of the second axis is not that of the first."""
    v, m = np.array([2.0, 0.0, -1.0]), numbers(4, 3)
    close(fg.jacrev(lambda t: np.tensordot(v, t * m, axes=(0, 1)))(2.0), m @ v)
    check_grads(lambda a, b: np.tensordot(a, b, axes=([0, 2], [1, 0])), (numbers(2, 3, 2), numbers(2, 2, 3, seed=1)))
    check_grads(lambda a, b: np.tensordot(a, b, axes=0), (numbers(2), numbers(3, seed=1)))


def test_matmul_of_vectors() -> None:
    """Outer products and transposes, each of the right shape."""
    m, u, v = numbers(3, 2), np.array([1.0, -2.0, 4.0]), np.array([3.0, 0.5])
    close(gradient(lambda m, v: np.sum((m @ v) * u), m, v, argnums=(0, 1)), (np.outer(u, v), m.T @ u))
    close(gradient(lambda u, m: np.sum((u @ m) * v), u, m, argnums=(0, 1)), (m @ v, np.outer(u, v)))
    close(gradient(lambda a, b: a @ b, u, 3 * u, argnums=(0, 1)), (3 * u, u))


def test_matmul_of_stacks() -> None:
    """Stacks broadcast; a vector has no axis to stack."""
    a, b, v = numbers(3, 1, 2, 4), numbers(2, 4, 3, seed=1), numbers(4, seed=2)
    check_grads(np.matmul, (a, b))
    check_grads(lambda v, b: v @ b, (v, b))
    check_grads(lambda a, v: a @ v, (a, v))


def test_kron_of_vectors() -> None:
    """Every element is multiplied by all of the other's."""
    a, b = np.array([2.0, -1.0, 3.0]), np.array([10.0, 5.0])
    close(gradient(lambda a, b: np.sum(np.kron(a, b)), a, b, argnums=(0, 1)), (np.full(3, 15.0), np.full(2, 4.0)))
    check_grads(np.kron, (numbers(2, 2), numbers(2, 1, seed=1)))


def test_a_triple_product() -> None:
    """∂/∂a of (a × b)·c is b × c, ∂/∂b is c × a."""
    a, b, c = numbers(3), numbers(3, seed=1), numbers(3, seed=2)
    close(gradient(lambda a, b: np.sum(np.cross(a, b) * c), a, b, argnums=(0, 1)), (np.cross(b, c), np.cross(c, a)))


def test_a_cross_product_along_another_axis() -> None:
    """With axes of their own for both operands and the result."""
    check_grads(lambda a, b: np.cross(a, b, axisa=0, axisb=1, axisc=0), (numbers(3, 4), numbers(4, 3, seed=1)))
