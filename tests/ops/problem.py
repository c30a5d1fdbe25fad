"""A case made flat: a function of a list of float arrays that gives a list of float arrays, and what the laws compare it with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import numpy as np

import funcgrad as fg
from funcgrad import pytree
from funcgrad.testing.differences import richardson
from tests.ops.kit import Case

STEP = 2.0**-7


def is_inexact(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fc"


def is_number(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc"


@attrs.frozen(eq=False)
class Problem:
    """`case.f` in its float leaves `x`, or in those that are wanted; `floats` says which leaves of its output are floats."""

    case: Case
    x: tuple[Any, ...]
    call: Callable[..., Any]  # as `case.f`, of the leaves
    out: Any  # what plain NumPy gives
    floats: tuple[int, ...]

    def __call__(self, *x: Any) -> list[Any]:
        leaves = pytree.leaves(self.call(*x))
        return [leaves[i] for i in self.floats]

    def pull(self, ct: Any) -> Callable[..., tuple[Any, ...]]:
        """The reverse-mode derivative, as a function of the leaves."""
        return lambda *x: fg.vjp(self, *x)[1](ct)

    def push(self, t: Any) -> Callable[..., list[Any]]:
        """The forward-mode derivative, as a function of the leaves."""
        return lambda *x: fg.jvp(self, x, t)[1]


def problem(case: Case, change: Callable[[Any, int], Any] = lambda x, k: x, wanted: Callable[[Any], bool] = is_inexact) -> Problem:
    """The case with each wanted leaf changed; `change` gets the leaf and its number."""
    leaves, treedef = pytree.flatten(case.args)
    places = [i for i, leaf in enumerate(leaves) if wanted(leaf)]
    x = tuple(change(leaves[i], k) for k, i in enumerate(places))

    def call(*x: Any) -> Any:
        given = list(leaves)
        for i, value in zip(places, x, strict=True):
            given[i] = value
        return case.f(*treedef.unflatten(given))

    out = call(*map(copied, x))
    floats = tuple(i for i, leaf in enumerate(pytree.leaves(out)) if is_inexact(leaf))
    return Problem(case, x, call, out, floats)


def copied(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def random_like(xs: Iterable[Any], seed: int) -> tuple[Any, ...]:
    """Arrays of the shapes and dtypes of `xs`, with elements in ±[½, 1]: none is lost in another's shadow."""
    rng = np.random.default_rng(seed)

    def one(x: Any) -> Any:
        parts = [rng.uniform(0.5, 1, np.shape(x)) * rng.choice([-1, 1], np.shape(x)) for _ in "ri"]
        return (parts[0] + 1j * parts[1] if x.dtype.kind == "c" else parts[0]).astype(x.dtype)[()]

    return tuple(map(one, xs))


def magnitude(a: Iterable[Any], b: Iterable[Any]) -> float:
    """⟨|a|, |b|⟩: what rounding in ⟨a, b⟩ is measured by."""
    return pairing(map(np.abs, a), map(np.abs, b))


def pairing(a: Iterable[Any], b: Iterable[Any]) -> float:
    """⟨a, b⟩ without conjugation. Its real part decides: maps such as `conj` are linear over the reals only."""
    return float(sum(np.sum(np.multiply(p, q), dtype=np.result_type(p, q, np.float64)).real for p, q in zip(a, b, strict=True)))


def differences(f: Callable[..., Any], x: Iterable[Any], v: Iterable[Any]) -> list[Any]:
    return richardson(lambda x: f(*x), list(x), list(v), STEP)[0]


def assert_close(found: Iterable[Any], expected: Iterable[Any], rtol: float, what: str, noise: float = 0.0) -> None:
    """Equal within `rtol` of the largest element, and the noise of differences."""
    found, expected = list(found), list(expected)
    assert len(found) == len(expected), what
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert np.shape(a) == np.shape(b), f"{what}, leaf {k}: shape {np.shape(a)}, expected {np.shape(b)}"
        scale = np.max(np.abs(b), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=0, atol=rtol * scale + noise, err_msg=f"{what}, leaf {k}")


def assert_same_bits(found: Any, expected: Any, tol: float, what: str) -> None:
    """Same type, dtype, shape and bits, but for the payload of a nan; within `tol` where a case says so."""
    assert type(found) is type(expected), f"{what}: {type(found)}, expected {type(expected)}"
    if not isinstance(expected, (np.ndarray, np.generic)):
        assert found == expected, what
        return
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, expected {expected.dtype}"
    assert found.shape == expected.shape, f"{what}: {found.shape}, expected {expected.shape}"
    if tol:
        scale = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
        np.testing.assert_allclose(found, expected, rtol=tol, atol=tol * scale, err_msg=what)
        return
    np.testing.assert_array_equal(found, expected, err_msg=what)
    if expected.dtype.kind == "f":
        zeros = [np.signbit(a) & (a == 0) for a in (found, expected)]
        np.testing.assert_array_equal(*zeros, err_msg=f"{what}: the sign of 0")
