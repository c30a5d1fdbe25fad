"""The short way of a call, which is taken from the fourth call on: it means what the long way means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.direct import LONGEST


def shown(tree: Any) -> Any:
    """What tells two results apart: structure, types, dtypes and bits."""
    leaves, treedef = fg.tree.flatten(tree)
    return treedef, [(type(y), getattr(y, "dtype", None), np.shape(y), np.asarray(y).tobytes()) for y in leaves]


def check(f: Any, *args: Any) -> Any:
    """Six calls, all of which give what `f` gives, frozen, and nobody else's memory."""
    g = fg.jit(f)
    for _ in range(6):
        out = g(*args)
        assert shown(out) == shown(f(*args))
        for y in fg.tree.leaves(out):
            if type(y) is np.ndarray:
                assert not y.flags.writeable
                assert not any(np.may_share_memory(y, x) for x in args)
    assert g.clear.__self__.quick
    return g


OWN = np.arange(3.0)
X, Y = np.array([1.0, -0.0, np.inf]), np.array([[2.0], [np.nan]])


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y, s: x * y + s,
        lambda x, y, s: (x * y, x.sum(), s * 2, s),
        lambda x, y, s: {"b": x, "a": [y.T, x[1:], x[0], y.reshape(2)], "c": None},
        lambda x, y, s: [x + 1, x + 1, (x, x)],
        lambda x, y, s: (OWN, OWN * s, np.ones(2), 3, "text", True, 2j, float(s) + 1.0),
        lambda x, y, s: x.reshape(3, 1),
        lambda x, y, s: y.max() > 0,
        lambda x, y, s: (),
        lambda x, y, s: [np.positive(x), x.astype(np.float64), x.astype(np.float32), np.broadcast_to(s, (2, 2))],
        lambda x, y, s: fg.grad(lambda x: np.sum(x * s))(x),
        lambda x, y, s: fg.value_and_grad(lambda p: np.sum(p["x"]) * p["s"])({"x": x, "s": np.float64(s)}),
    ],
)
def test_what_is_returned(f: Any) -> None:
    """Fresh arrays, views, inputs, constants, numbers of Python and of NumPy, in any structure."""
    check(f, X, Y, 2.0)
    check(f, X, Y, np.float64(2.0))
    check(f, np.empty(3), Y, 2.0)


def test_arrays_without_elements_or_axes() -> None:
    """Arrays without axes are scalars when they leave."""
    check(lambda x: (x * 2, -x, x.sum()), np.empty(0))
    check(lambda x: (x * 2, x[()], x.reshape(1), np.arctan(x)), np.array(3.0))
    check(lambda: np.ones(3) * OWN)


def test_other_arguments_take_another_way() -> None:
    """Another type, dtype, shape, or number of arguments; in any order of calls."""
    g = check(lambda x, y=1.0: np.arctan(x) * y, X, 2.0)
    others = [
        (X,), (X, np.float64(2.0)), (X, 2), (X, X), (Y, 2.0), (X.astype(np.float32), 2.0), (X.astype(">f8"), 2.0),
        (X.astype(complex), 2.0), (2.0, X), (2.0, 2.0), (fg.Tensor(X), 2.0), (X[::-1], 2.0), (X.reshape(3, 1).T, 2.0),
    ]  # fmt: skip
    for _ in range(4):
        for args in others:
            assert shown(np.asarray(g(*args))) == shown(np.asarray(np.arctan(args[0]) * (args[1] if len(args) == 2 else 1.0)))
            assert shown(g(X, 2.0)) == shown(np.arctan(X) * 2.0)
    with pytest.raises(TypeError, match="positional"):
        g(X, 2.0, 3.0)


def test_what_is_read_may_change() -> None:
    """Cells, globals, dicts and small arrays are asked at each call."""
    scale, held, small = 2.0, {"k": 3.0}, np.ones(3)
    g = fg.jit(lambda x: x * scale * held["k"] + small + OFFSET)
    for _ in range(6):
        assert list(g(X)[:2]) == [7.0 + OFFSET, 1.0 + OFFSET]
    scale = 1.0
    assert g(X)[0] == 4.0 + OFFSET
    held["k"] = 1.0
    assert g(X)[0] == 2.0 + OFFSET
    small[0] = 0.0
    assert g(X)[0] == 1.0 + OFFSET
    globals()["OFFSET"] = 5.0
    assert g(X)[0] == 6.0


OFFSET = 0.5


def test_guards_and_errors_leave_the_short_way() -> None:
    """A value that takes another path, or at which NumPy raises."""
    g = check(lambda x: x * 2 if x[0] > 0 else -x, X)
    for _ in range(5):
        assert list(g(-X)) == list(X)
        assert list(g(X)) == list(X * 2)
    h = check(np.linalg.inv, np.eye(2))
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError):
            h(np.zeros((2, 2)))
        assert shown(h(np.eye(2))) == shown(np.linalg.inv(np.eye(2)))


def test_long_programs_and_tiles() -> None:
    """They are called, and not written down once more."""

    def f(x):
        for k in range(LONGEST + 1):
            x = np.arctan(x) + k
        return x, x[:1]

    check(f, X)
    check(lambda x: np.exp(x) * x + 1.0, np.linspace(0.0, 1.0, 50_000))


def test_warnings_are_the_functions_own() -> None:
    """Derivatives are silent, as they are without `jit`; the function is not."""
    g = check(fg.grad(lambda x: np.sum(np.sqrt(x))), np.zeros(3))
    assert np.isinf(g(np.zeros(3))).all()
    h = fg.jit(lambda x: 1.0 / x)
    for _ in range(6):
        h(np.ones(2))
    with pytest.warns(RuntimeWarning, match="divide"):
        h(np.zeros(2))
