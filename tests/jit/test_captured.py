"""What a compiled function reads besides its arguments: hidden inputs, arrays, names, traced values."""

from __future__ import annotations

import dataclasses
import functools
import gc
import itertools
import time
import types
import warnings
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.linearize import LinTracer

FACTOR = 2.0
MODEL = types.SimpleNamespace(w=np.ones(3))


ONES = np.ones(2)


def scaled(x: Any) -> Any:
    return FACTOR * x


def rebound(f: Any, change: Any, *args: Any) -> list[Any]:
    """The results before and after, compiled both times."""
    before = [f(*args) for _ in range(3)]
    change()
    after = [f(*args) for _ in range(3)]
    assert len(set(map(float, before))) == len(set(map(float, after))) == 1
    return [float(before[-1]), float(after[-1])]


# ---- hidden inputs


@pytest.mark.parametrize("source", ["rng", "time", "count"])
def test_hidden_inputs_are_not_baked_in(source: str) -> None:
    """What is something else at each call runs as it is, with one warning that names the line."""
    rng, count = np.random.default_rng(0), itertools.count()
    draw = {"rng": rng.normal, "time": time.perf_counter, "count": lambda: float(next(count))}[source]
    f = fg.jit(lambda x: x * 2 + draw())
    with pytest.warns(UserWarning, match=r"something else at each call \(test_captured.py:\d+ in <lambda>\)") as found:
        assert len({f(1.0) for _ in range(6)}) == 6
    assert len(found) == 1
    assert found[0].filename == __file__


def test_random_arrays_are_not_baked_in() -> None:
    """Nor arrays that are drawn."""
    rng = np.random.default_rng(0)
    f = fg.jit(lambda x: np.sum(x * rng.normal(size=3)))
    with pytest.warns(UserWarning, match="something else at each call"):
        assert len({float(f(1.0)) for _ in range(6)}) == 6


def test_counters_that_are_rebound() -> None:
    """A counter in a cell is another number at each call."""
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    g = fg.jit(f)
    with pytest.warns(UserWarning, match="what it reads is something else at each call"):
        assert [g(1.0) for _ in range(30)] == list(range(1, 31))


# ---- arrays


@pytest.mark.parametrize("size", [3, 1000])
def test_captured_arrays_are_read_at_each_call(size: int) -> None:
    """By reference: never locked, never baked in."""
    buffer = np.ones(size)
    f = fg.jit(lambda x: np.sum(buffer * x))
    for k in range(40):
        buffer[:] = k
        assert f(2.0) == 2.0 * k * size
        assert buffer.flags.writeable
    assert f.stats(2.0).paths == 1
    np.testing.assert_allclose(fg.grad(f)(1.0), 39.0 * size)


@pytest.mark.parametrize("size", [3, 1000])
def test_what_is_computed_of_a_captured_array(size: int) -> None:
    """Before it meets an argument: it is computed again once the array has been written to."""
    buffer = np.ones(size)
    f = fg.jit(lambda x: np.sum(2 * buffer * x))
    before = [f(1.0) for _ in range(3)]
    buffer[0] = 5.0
    assert before == [2.0 * size] * 3
    assert [f(1.0) for _ in range(3)] == [2.0 * size + 8] * 3


def test_an_element_of_a_small_captured_array() -> None:
    """A number read out of it is no constant, nor is a branch on it."""
    buffer = np.ones(3)
    f = fg.jit(lambda x: x * buffer[0] if buffer[1] > 0 else -x)
    assert rebound(f, lambda: buffer.__setitem__(0, 4.0), 2.0) == [2.0, 8.0]
    assert rebound(f, lambda: buffer.__setitem__(1, -1.0), 2.0) == [8.0, -2.0]


# ---- names


def test_cells() -> None:
    """A closure cell that is bound anew, also to another shape."""
    w = np.ones(3)
    f = fg.jit(lambda x: np.sum(w * x))

    def change() -> None:
        nonlocal w
        w = np.full(5, 2.0)

    assert rebound(f, change, 1.0) == [3.0, 10.0]


def test_globals(monkeypatch: Any) -> None:
    """Those that the function names, and that functions which it calls name; numbers, arrays, functions, objects."""
    f = fg.jit(lambda x: scaled(x) + np.sum(MODEL.w))
    assert rebound(f, lambda: monkeypatch.setitem(globals(), "FACTOR", 5.0), 1.0) == [5.0, 8.0]
    assert rebound(f, lambda: monkeypatch.setattr(MODEL, "w", np.zeros(3)), 1.0) == [8.0, 5.0]
    assert rebound(f, lambda: monkeypatch.setitem(globals(), "scaled", lambda x: -x), 1.0) == [5.0, -1.0]


def test_defaults() -> None:
    """Default arguments are what the function reads."""

    def f(x, *, scale=2.0, offset=ONES):
        return np.sum(x * scale + offset)

    g = fg.jit(f)

    def change() -> None:
        f.__kwdefaults__["scale"] = 3.0

    assert rebound(g, change, 1.0) == [6.0, 8.0]


def test_items() -> None:
    """Of dicts and lists, that are replaced, added or taken away."""
    params = {"w": np.ones(2), "more": [1.0, 2.0]}
    f = fg.jit(lambda x: np.sum(params["w"] * x) + sum(params["more"]))
    assert rebound(f, lambda: params.update(w=np.zeros(3)), 1.0) == [5.0, 3.0]
    assert rebound(f, lambda: params["more"].append(4.0), 1.0) == [3.0, 7.0]
    assert rebound(f, lambda: params["more"].__setitem__(0, 2.0), 1.0) == [7.0, 8.0]


class Plain:
    bias = 1.0

    def __init__(self) -> None:
        self.w = np.ones(3)

    def loss(self, x: Any) -> Any:
        return np.sum(self.w * x) + self.bias

    @fg.jit
    def decorated(self, x: Any) -> Any:
        return self.loss(x)


class Slots:
    __slots__ = ("w",)

    def __init__(self) -> None:
        self.w = np.ones(3)

    def loss(self, x: Any) -> Any:
        return np.sum(self.w * x) + 1.0


@dataclasses.dataclass
class Data:
    w: Any

    def loss(self, x: Any) -> Any:
        return np.sum(self.w * x) + 1.0


@attrs.define
class Attrs:
    w: Any

    def loss(self, x: Any) -> Any:
        return np.sum(self.w * x) + 1.0


@pytest.mark.parametrize("make", [Plain, Slots, lambda: Data(np.ones(3)), lambda: Attrs(np.ones(3))])
def test_attributes(make: Any) -> None:
    """Of the `self` of a bound method, of any kind of class."""
    model = make()
    f = fg.jit(model.loss)
    assert rebound(f, lambda: setattr(model, "w", np.full(3, 2.0)), 1.0) == [4.0, 7.0]
    assert rebound(f, lambda: setattr(model, "w", np.zeros(5)), 1.0) == [7.0, 1.0]
    np.testing.assert_allclose(fg.grad(f)(1.0), 0.0)


def test_decorated_methods(monkeypatch: Any) -> None:
    """Two objects keep apart, and an attribute of the class is read as well."""
    a, b = Plain(), Plain()
    b.w = np.zeros(3)
    assert [[m.decorated(1.0) for _ in range(3)] for m in (a, b, a)] == [[4.0] * 3, [1.0] * 3, [4.0] * 3]
    assert rebound(a.decorated, lambda: setattr(a, "w", np.full(3, 2.0)), 1.0) == [4.0, 7.0]
    assert rebound(a.decorated, lambda: monkeypatch.setattr(Plain, "bias", 10.0), 1.0) == [7.0, 16.0]


def test_partials() -> None:
    """Their arguments are arguments."""
    w = np.ones(3)
    f = fg.jit(functools.partial(lambda a, x, b: np.sum(a * x) + b, w, b=2.0))
    assert rebound(f, lambda: w.__setitem__(0, 4.0), 1.0) == [5.0, 8.0]


def test_memo() -> None:
    """What a first call fills in is read by those that follow."""
    cache: dict[str, Any] = {}

    def f(x):
        if "w" not in cache:
            cache["w"] = np.arange(3.0)
        return np.sum(cache["w"] * x)

    g = fg.jit(f)
    assert [g(2.0) for _ in range(5)] == [6.0] * 5
    assert g.stats(2.0).paths == 1


# ---- traced values


def test_closing_over_a_traced_value() -> None:
    """Of any transformation, and of two."""

    def f(w):
        g = fg.jit(lambda x: w * w * x)
        return sum(g(float(i)) for i in range(5))

    def over(w):
        return fg.jit(lambda x: w * w * x)(2.0)

    np.testing.assert_allclose([fg.grad(f)(3.0), fg.grad(fg.grad(f))(3.0), fg.grad(over)(3.0)], [60.0, 20.0, 12.0])
    np.testing.assert_allclose(fg.vmap(f)(np.arange(3.0)), [0.0, 10.0, 40.0])
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.arange(3.0)), [0.0, 20.0, 40.0])
    np.testing.assert_allclose(fg.jvp(f, (3.0,), (1.0,))[1], 60.0)
    np.testing.assert_allclose(fg.hessian(f)(3.0), 20.0)


def alive() -> int:
    """How many traced values there are."""
    gc.collect()
    return sum(type(x) is LinTracer for x in gc.get_objects())


@pytest.mark.parametrize("where", ["dict", "attribute", "list", "large dict"])
def test_traced_values_in_what_lives_longer(where: str) -> None:
    """A compiled function that reads state: each gradient has its own traced value in it, and none is kept."""
    state: Any = {"dict": {}, "attribute": types.SimpleNamespace(), "list": [0.0], "large dict": dict.fromkeys(range(500), 0.0)}[where]
    put = {"attribute": lambda w: setattr(state, "w", w), "list": lambda w: state.__setitem__(0, w)}.get(where, lambda w: state.update(w=w))
    take = {"attribute": lambda: state.w, "list": lambda: state[0]}.get(where, lambda: state["w"])
    f = fg.jit(lambda x: take() ** 2 * x)
    before = alive()

    def loss(w):
        put(w)
        out = f(2.0) + f(3.0) + f(4.0)
        put(0.0)
        return out

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* what it reads is something else")
        for w in (1.0, 2.0, 2.0, 3.0, 4.0):
            np.testing.assert_allclose(fg.grad(loss)(w), 18.0 * w)
            np.testing.assert_allclose(loss(w), 9.0 * w * w)
    assert alive() <= before
