"""Equal eigenvalues and singular values: derivatives are right where the loss has one that follows, else there is an error, or nan.

Expected values are closed forms: the derivative of tr f(A) is f'(A)ᵀ, that of the nuclear norm U Vᴴ, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

L = np.linalg
RNG = np.random.default_rng(3)
W = RNG.normal(size=(3, 3))
T = RNG.normal(size=(3, 3))
Q = L.qr(RNG.normal(size=(3, 3)))[0]
U = L.qr(RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3)))[0]
TWICE = [
    np.eye(3),
    2 * np.eye(3),
    Q @ np.diag([1.0, 1.0, 2.0]) @ Q.T,
    Q @ np.diag([1.0, 2.0, 2.0]) @ Q.T,
    U @ np.diag([1.0, 1.0, 2.0]) @ U.conj().T,
]
LOW_RANK = [np.outer(W[0], W[1]), np.outer(W[0], W[1])[:, :2], np.outer(W[0], W[1])[:2], W[:, :2] @ W[:2], np.diag([2.0, 2.0, 0.0])]


def symmetric(x: Any) -> Any:
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 2


def close(found: Any, expected: Any, atol: float = 1e-9) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def slope(f: Any, x: Any, t: Any) -> Any:
    """A difference, of fourth order."""
    h = 1e-3
    return (8 * (f(x + h * t) - f(x - h * t)) - (f(x + 2 * h * t) - f(x - 2 * h * t))) / (12 * h)


def values_by_eigh(a: Any) -> Any:
    return L.eigh(a)[0]


# ---- values alone


@pytest.mark.parametrize("values", [L.eigvalsh, values_by_eigh, L.eigvals], ids=["eigvalsh", "eigh", "eigvals"])
@pytest.mark.parametrize("a", TWICE, ids=range(len(TWICE)))
def test_functions_of_eigenvalues(values: Any, a: Any) -> None:
    """The derivative of a sum of f(λ) is f'(A), transposed, in both modes."""
    for f, df in [(lambda w: w, np.eye(3)), (np.log, L.inv(a)), (lambda w: w**3, 3 * a @ a)]:
        loss = lambda a, f=f: np.sum(f(np.real(values(a))))
        close(fg.grad(loss)(a), df.T)
        close(fg.jvp(loss, (a,), (symmetric(T) * a.dtype.type(1),))[1], np.real(np.sum(df.T * symmetric(T))))
        close(fg.vmap(fg.grad(loss))(np.stack([a, 2 * a]))[0], df.T)


@pytest.mark.parametrize("a", TWICE, ids=range(len(TWICE)))
def test_functions_of_singular_values(a: Any) -> None:
    """Of a positive definite matrix singular values are eigenvalues."""
    for values in (L.svdvals, lambda a: L.svd(a)[1], lambda a: L.svd(a, hermitian=True)[1]):
        close(fg.grad(lambda a, values=values: np.sum(np.log(values(a))))(a), L.inv(a).T)
        close(
            fg.grad(lambda a, values=values: np.sum(np.log(values(a))))(
                a.astype(np.result_type(a.dtype, np.complex64) if a.dtype.kind == "c" else np.float32)
            ),
            L.inv(a).T,
            1e-4,
        )


def test_largest_of_equal_eigenvalues() -> None:
    """A subgradient: the projection on the vector that LAPACK puts last."""
    close(fg.grad(lambda a: L.eigvalsh(a)[-1])(np.eye(3)), np.diag([0.0, 0.0, 1.0]))
    close(fg.grad(lambda a: np.max(L.eigvalsh(a)))(np.eye(3)), np.eye(3) / 3)


def test_nuclear_norm() -> None:
    """U Vᴴ of the singular values that are not 0: of all subgradients, the one of least norm."""
    nuclear = lambda a: L.norm(a, "nuc")
    for shape in [(3, 3), (2, 3), (3, 2)]:
        close(fg.grad(nuclear)(np.zeros(shape)), np.zeros(shape))
        close(fg.grad(nuclear)(np.ones(shape)), np.ones(shape) / np.sqrt(np.prod(shape)))
    close(fg.grad(nuclear)(Q), Q)
    close(fg.grad(nuclear)(U), U.conj())
    close(fg.grad(nuclear)(np.diag([2.0, 2.0, 0.0])), np.diag([1.0, 1.0, 0.0]))
    close(fg.jvp(nuclear, (np.zeros((2, 2)),), (np.ones((2, 2)),))[1], 0)
    close(fg.grad(lambda a: L.norm(a, 2))(np.eye(3)), np.eye(3) / 3)


@pytest.mark.parametrize("a", TWICE, ids=range(len(TWICE)))
def test_second_derivative_of_a_linear_function(a: Any) -> None:
    """The sum of all eigenvalues is linear, so that its second derivative is 0."""
    gradient = fg.grad(lambda a: np.sum(L.eigvalsh(a)))
    close(fg.jvp(gradient, (a,), (symmetric(T) * a.dtype.type(1),))[1], 0)
    close(fg.grad(lambda a: np.sum(np.real(gradient(a) * W)))(a), 0)
    close(fg.grad(lambda a: np.sum(np.real(fg.grad(lambda a: np.sum(np.real(L.eigvals(a))))(a) * W)))(a), 0)


def test_second_derivative_of_the_largest() -> None:
    """Where it is alone it has one, though all others are 0."""
    a, t = np.outer(W[0], W[0]), symmetric(T)
    for largest in (lambda a: L.eigvalsh(a)[-1], lambda a: L.norm(a, 2)):
        gradient = fg.grad(largest)
        expected = slope(lambda a, gradient=gradient: np.sum(gradient(a) * t), a, t)
        close(np.sum(fg.jvp(gradient, (a,), (t,))[1] * t), expected, 1e-7)
        close(np.einsum("ijkl,ij,kl", fg.hessian(largest)(a), t, t), expected, 1e-7)


# ---- vectors alone


def projection(a: Any, k: int = 2) -> Any:
    v = L.eigh(a)[1][:, :k]
    return v @ np.conj(v).T


@pytest.mark.parametrize("a", [TWICE[2], TWICE[4]], ids=["real", "complex"])
def test_projections(a: Any) -> None:
    """On the space of equal eigenvalues, as differences say; reverse mode."""
    loss = lambda a: np.sum(np.real(projection(a) * W))
    t = symmetric(T + (1j * W if a.dtype.kind == "c" else 0))
    close(np.real(np.sum(fg.grad(loss)(a) * t)), slope(loss, a, t), 1e-8)
    close(fg.grad(lambda a: np.sum(np.real(projection(a, 3) * W)))(a), 0)
    close(fg.grad(lambda a: np.sum(np.abs(projection(a, 3) - np.eye(3)) ** 2))(a), 0)


def test_second_derivative_of_a_projection() -> None:
    """It takes the eigenvalues as well, so it is refused."""
    loss = lambda a: np.sum(projection(a) * W)
    with pytest.raises(errors.EqualValuesError, match="together"):
        fg.grad(lambda a: np.sum(fg.grad(loss)(a) * symmetric(T)))(TWICE[2])


@pytest.mark.parametrize("a", [Q, 2 * Q, U], ids=["rotation", "scaled", "unitary"])
def test_polar_factor(a: Any) -> None:
    """U Vᴴ of s Q moves by Q (Qᴴ dA - dAᴴ Q) / 2 s, although all singular values are equal."""

    def loss(a: Any) -> Any:
        u, _, vh = L.svd(a)
        return np.sum(np.real(u @ vh * W))

    s = np.sqrt(np.sum(np.abs(a) ** 2) / 3)
    q = np.conj(a / s)
    close(fg.grad(loss)(a), q @ (np.conj(q).T @ W - W.T @ q) / 2 / s)


@pytest.mark.parametrize("a", LOW_RANK, ids=range(len(LOW_RANK)))
def test_best_approximation(a: Any) -> None:
    """Of low rank, from singular values that are not 0, while others are."""
    k = np.linalg.matrix_rank(a)
    w, t = W[: a.shape[0], : a.shape[1]], T[: a.shape[0], : a.shape[1]]
    for full in (True, False):

        def loss(a: Any, full: bool = full) -> Any:
            u, s, vh = L.svd(a, full)
            return np.sum((u[:, :k] * s[:k]) @ vh[:k] * w)

        if a[2:, 2:].any() or k == 1:
            close(np.sum(fg.grad(loss)(a) * t), slope(loss, a, t), 1e-7)


def test_principal_components() -> None:
    """Values and vectors of the largest, where the smallest are all 0."""

    def loss(x: Any) -> Any:
        w, v = L.eigh(x @ x.T)
        top = v[:, -2:]
        return np.sum(np.arange(5.0) @ (top * w[-2:]) @ (top.T @ np.arange(5.0))) + np.sum(w)

    x, t = RNG.normal(size=(5, 2)), RNG.normal(size=(5, 2))
    close(np.sum(fg.grad(loss)(x) * t), slope(loss, x, t), 1e-6)


# ---- both: no derivative follows


def square_root(a: Any) -> Any:
    w, v = L.eigh(a)
    return (v * np.sqrt(w)) @ np.conj(v).T


def logarithm_by_svd(a: Any) -> Any:
    u, s, vh = L.svd(a)
    return (u * np.log(s)) @ vh


def by_eig(a: Any) -> Any:
    w, v = L.eig(a)
    return (v * np.sqrt(w)) @ L.inv(v)


def reconstructed(a: Any) -> Any:
    u, s, vh = L.svd(a, full_matrices=False)
    return (u * s) @ vh


@pytest.mark.parametrize(
    ("f", "a"),
    [
        *[(square_root, a) for a in TWICE],
        (logarithm_by_svd, Q),
        (by_eig, np.eye(3)),
        (by_eig, np.diag([1.0, 1.0, 2.0])),
        *[(reconstructed, a) for a in (*LOW_RANK[:3], LOW_RANK[4], U @ np.diag([2.0, 1.0, 0.0]))],
    ],
)
def test_values_with_their_vectors(f: Any, a: Any) -> None:
    """Reverse mode raises, forward mode gives nan."""
    w, t = W[: a.shape[0], : a.shape[1]], symmetric(T)[: a.shape[0], : a.shape[1]] * a.dtype.type(1)
    with pytest.raises(errors.EqualValuesError, match="together"):
        fg.grad(lambda a: np.sum(np.real(f(a) * w)))(a)
    assert np.isnan(fg.jvp(f, (a,), (t,))[1]).any()
    if a.dtype.kind != "c":
        assert np.isnan(fg.jacfwd(f)(a)).any()


def test_one_singular_value_of_zero() -> None:
    """U S Vᵀ of a square matrix is that matrix, in both modes, if a single singular value is 0."""
    close(fg.grad(lambda a: np.sum(reconstructed(a) * W))(LOW_RANK[3]), W)
    close(fg.jvp(reconstructed, (LOW_RANK[3],), (T,))[1], T)


def test_made_to_differ() -> None:
    """What the error says to write instead: √A at 1 moves by dA / 2."""
    found = fg.grad(lambda a: np.sum(square_root(a + np.diag(1e-6 * np.arange(3))) * W))(np.eye(3))
    close(found, symmetric(W) / 2, 1e-5)


def test_what_cannot_be_seen() -> None:
    """Values and vectors of two calls, put together; and an element at which both have gradient 0. (If this fails: change the docs.)"""
    two_calls = lambda a: (lambda w, v: ((v * np.sqrt(w)) @ v.T)[0, 1])(L.eigvalsh(a), L.eigh(a)[1])
    logarithm = lambda a: (lambda w, v: ((v * np.log(w)) @ v.T)[0, 1])(*L.eigh(a))
    for loss in (two_calls, logarithm):
        close(fg.grad(loss)(np.eye(3)), 0)  # ½ in two places would be right


def test_change_that_keeps_them_equal() -> None:
    """In forward mode nothing is missing where a change does not part the equal ones."""
    close(fg.jvp(square_root, (np.eye(3),), (np.eye(3),))[1], np.eye(3) / 2)


def test_second_derivatives_of_values() -> None:
    """Those of tr A² take what is missing too: they are refused, or nan, not wrong."""
    for values in (L.eigvalsh, L.svdvals, L.eigvals, lambda a: L.eigh(a)[0], lambda a: L.svd(a)[1]):
        gradient = fg.grad(lambda a, values=values: np.sum(values(a) ** 2))
        close(gradient(np.eye(3)), 2 * np.eye(3))
        with pytest.raises(errors.EqualValuesError):
            fg.grad(lambda a, gradient=gradient: np.sum(gradient(a) * W))(np.eye(3))
        assert np.isnan(fg.jvp(gradient, (np.eye(3),), (symmetric(T),))[1]).any()
        assert np.isnan(fg.hessian(lambda a, values=values: np.sum(values(a) ** 2))(np.eye(3))).any()


# ---- the choice of vectors


@pytest.mark.parametrize(
    ("f", "a"),
    [
        (lambda a: L.eigh(a)[1], np.eye(3)),
        (lambda a: L.eigh(a)[1], TWICE[2]),
        (lambda a: L.svd(a)[0], np.eye(3)),
        (lambda a: L.svd(a).Vh, np.ones((3, 3))),
        (lambda a: L.svd(a, full_matrices=False)[0], np.ones((3, 2))),
        (lambda a: L.svd(a)[0][:, 1:], RNG.normal(size=(3, 1))),
        (lambda a: L.qr(a, "complete").Q[:, 1:], RNG.normal(size=(3, 1))),
        (lambda a: np.real(L.eigh(a)[1]), symmetric(U)),
        (lambda a: np.real(L.svd(a)[0]), U @ np.diag([1.0, 2.0, 3.0])),
    ],
)
def test_the_choice_of_vectors(f: Any, a: Any) -> None:
    """A loss that depends on it has no derivative."""
    w = np.cos(np.arange(np.size(f(a)))).reshape(np.shape(f(a)))
    with pytest.raises(errors.EqualValuesError, match="depends on which"):
        fg.grad(lambda a: np.sum(f(a) * w))(a)


def test_columns_that_follow() -> None:
    """The columns of a full U that have no singular value span what is left, and that has a derivative."""
    a, t = RNG.normal(size=(4, 2)), RNG.normal(size=(4, 2))
    w = RNG.normal(size=(4, 4))
    for rest in (lambda a: L.svd(a)[0][:, 2:], lambda a: L.qr(a, "complete").Q[:, 2:]):
        loss = lambda a, rest=rest: np.sum(rest(a) @ rest(a).T * w)
        same = lambda a, rest=rest: (lambda u: np.sum(u @ u.T * w))(rest(a))
        close(np.sum(fg.grad(same)(a) * t), slope(loss, a, t), 1e-7)
        close(fg.jvp(same, (a,), (t,))[1], slope(loss, a, t), 1e-7)


# ---- NumPy's errors


@pytest.mark.parametrize(
    "f",
    [
        lambda x: L.eigh(x[:2]),
        lambda x: L.eigvalsh(x[0]),
        lambda x: L.eigh(x, UPLO="X"),
        lambda x: L.eigvals(x / 0),
        lambda x: L.eig(x[:2]),
        lambda x: L.svd(x[0]),
        lambda x: L.svdvals(x[0]),
        lambda x: L.qr(x[0]),
        lambda x: L.qr(x, mode="other"),
        lambda x: L.lstsq(x, np.ones(2)),
        lambda x: L.lstsq(x[None], np.ones(3)),
        lambda x: L.cond(x[:0]),
        lambda x: L.cond(x[:2], 1),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numpys_errors(f: Any) -> None:
    """As NumPy raises them."""
    x = np.arange(9.0).reshape(3, 3)
    with pytest.raises((L.LinAlgError, ValueError)) as expected:
        f(x)
    with pytest.raises(type(expected.value)) as found:
        fg.grad(lambda x: f(x))(x)
    assert str(found.value) == str(expected.value)


def test_modes_of_qr() -> None:
    """What gives no factors is refused; an old name of `"reduced"` warns, as NumPy does."""
    with pytest.raises(errors.MissingRuleError, match="mode='raw'"):
        fg.grad(lambda x: np.sum(L.qr(x, "raw")[0]))(W)
    with pytest.warns(DeprecationWarning, match="deprecated"), pytest.raises(errors.MissingRuleError, match="mode='economic'"):
        fg.grad(lambda x: np.sum(L.qr(x, "economic")))(W)
    with pytest.warns(DeprecationWarning, match="deprecated"):
        found = fg.grad(lambda x: np.sum(L.qr(x, "full")[1]))(W)
    close(found, fg.grad(lambda x: np.sum(L.qr(x)[1]))(W))


def test_qr_of_dependent_columns() -> None:
    """R has no inverse, and Q no derivative."""
    with pytest.raises(L.LinAlgError):
        fg.grad(lambda x: np.sum(L.qr(x).Q))(np.zeros((3, 2)))
