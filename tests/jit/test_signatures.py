"""What tells calls apart: shapes, dtypes, structures, static arguments; and how many are kept."""

from __future__ import annotations

import dataclasses
import gc
import linecache
import threading
import warnings
import weakref
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.transforms.keys import SIGNATURES


def test_keywords() -> None:
    """Given or left away, in any order, by position or by name."""
    f = fg.jit(lambda x, *, n=2, flag=True: x * n if flag else -x)
    for _ in range(3):
        assert [f(1.0), f(1.0, n=3), f(1.0, flag=False, n=4), f(1.0, n=4, flag=False), f(x=2.0)] == [2.0, 3.0, -1.0, -1.0, 4.0]


@attrs.frozen
class Point:
    x: Any
    name: str = attrs.field(default="p", metadata={"pytree": False})


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


def test_pytrees() -> None:
    """In and out; what is no number is part of the signature."""
    f = fg.jit(lambda p: Pair(Point(p["q"].x * 2, p["q"].name + "!"), [p["r"], None, "text"]))
    for _ in range(3):
        out = f({"q": Point(np.ones(2), "a"), "r": (1.0, 2)})
        assert list(out.a.x) == [2.0, 2.0]
        assert (out.a.name, out.b) == ("a!", [(1.0, 2), None, "text"])
        assert f({"q": Point(np.ones(2), "b"), "r": (1.0, 2)}).a.name == "b!"


def test_strings_functions_and_none() -> None:
    """Arguments that are no numbers decide what is done."""
    f = fg.jit(lambda g, x, how: g(x) if how == "direct" else g(-x) if how else x)
    for _ in range(3):
        assert [f(abs, -1.0, "direct"), f(np.sin, 0.0, "other"), f(abs, 2.0, None)] == [1.0, 0.0, 2.0]


def test_static_arguments() -> None:
    """Their values are constants; 1, 1.0 and True are three."""
    seen = []

    def f(x, n, *, mode="a"):
        seen.append((n, mode))
        return x * n + (mode == "b")

    g = fg.jit(f, static_argnums=1, static_argnames="mode")
    for _ in range(3):
        for n in (1, 1.0, True, 2):
            for mode in "ab":
                out = g(1, n, mode=mode)
                assert (out, type(out)) == (f(1, n, mode=mode), type(f(1, n, mode=mode)))
    assert {type(n) for n, _ in seen} == {int, float, bool}
    assert g.stats(1.0, 2, mode="a").paths == 0
    assert fg.jit(static_argnums=-1)(lambda x, n: x * n)(2.0, 3) == 6.0


def test_looks_at_static_arguments_are_no_guards() -> None:
    """`range(n)` of one."""
    f = fg.jit(lambda x, n: sum(x**k for k in range(n)), static_argnums=1)
    assert [f(2.0, n) for n in (3, 3, 3, 4, 4, 4)] == [7.0] * 3 + [15.0] * 3
    assert f.stats(2.0, 3).guards == 0


def test_scalars_arrays_and_tensors_are_told_apart() -> None:
    """Their results have other types."""
    f = fg.jit(lambda x: x + 1)
    for _ in range(3):
        found = [type(f(x)) for x in (1, 1.0, np.float64(1), np.float32(1), np.array(1.0), np.ones(1), fg.Tensor(np.ones(1)), True)]
        assert found == [int, float, np.float64, np.float32, np.float64, np.ndarray, fg.Tensor, int]


def test_ever_new_shapes_keep_memory_bounded() -> None:
    """Of a thousand of them some are kept; from some time on a new one runs as it is first, with one warning."""
    f = fg.jit(lambda x: np.sum(np.sin(x) * x))
    known = f.clear.__self__.known
    with pytest.warns(UserWarning, match="ever new shapes") as found:
        out = [f(np.ones(k)) for k in range(1, 1001)]
    assert out == [np.sum(np.sin(x) * x) for x in map(np.ones, range(1, 1001))]
    assert len(found) == 1
    assert len(known) == SIGNATURES
    for k in (3, 900, 2000):
        x = np.ones(k)
        assert [f(x) for _ in range(4)] == [np.sum(np.sin(x) * x)] * 4
        assert f.stats(x).paths == 1


def test_functions_that_are_compiled_anew_are_not_kept() -> None:
    """`jit` inside a loop: what is dead is dropped, and so is the text of code that nobody can run any more."""
    dead = []
    for k in range(1200):
        f = fg.jit(lambda x, k=k: np.sum(np.sin(x) * k))
        for _ in range(3 if k < 10 else 1):
            assert f(1.0) == np.sin(1.0) * k
        dead.append(weakref.ref(f.clear.__self__))
    del f
    gc.collect()
    assert not any(r() for r in dead)
    held = sum(name.startswith("<funcgrad program") for name in linecache.cache)
    assert held <= 2500  # what the caches of compiled programs, scans and loops hold together


def test_clear() -> None:
    """What is compiled is forgotten."""
    f = fg.jit(lambda x: x * 2)
    for _ in range(3):
        f(1.0)
    assert f.stats(1.0).paths == 1
    f.clear()
    assert f.stats(1.0).paths == 0
    assert f(1.0) == 2.0


# ---- threads


def test_threads_share_a_function() -> None:
    """Eight threads, first recordings and compiled calls, changing shapes and paths, values and gradients."""
    f = fg.jit(lambda x: np.sum(np.sin(x) * x) if x[0] > 0 else np.sum(x))
    wrong: list[Any] = []
    ready = threading.Barrier(8)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        ready.wait()
        try:
            for _ in range(150):
                x = rng.normal(size=rng.integers(1, 6))
                positive = x[0] > 0
                if f(x) != (np.sum(np.sin(x) * x) if positive else np.sum(x)):
                    wrong.append(x)
                g = fg.grad(f)(x)
                if not np.allclose(g, np.sin(x) + x * np.cos(x) if positive else np.ones_like(x)):
                    wrong.append((x, g))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_disable_jit_is_of_one_thread() -> None:
    """Another thread goes on with compiled code."""
    f = fg.jit(lambda x: [x, type(x).__name__][1])
    names: list[str] = []
    with fg.disable_jit():
        other = threading.Thread(target=lambda: names.append(f(1.0)))
        other.start()
        other.join()
        names.append(f(1.0))
    assert names[1] == "float"
    assert names[0] != "float"


def test_rebinding_in_another_thread() -> None:
    """While one thread calls, another binds the array anew: each result is of one of them."""
    state = {"w": np.ones(3)}
    f = fg.jit(lambda x: np.sum(state["w"] * x))
    done = threading.Event()

    def rebind() -> None:
        k = 0
        while not done.is_set():
            k += 1
            state["w"] = np.full(3, float(k % 5))

    other = threading.Thread(target=rebind)
    other.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert all(f(1.0) in (0.0, 3.0, 6.0, 9.0, 12.0) for _ in range(300))
    finally:
        done.set()
        other.join()


def test_the_collector_is_held_while_a_program_is_made() -> None:
    """And given back, also where the function raises: equations are acyclic, and a long loop has many."""

    def f(x: Any) -> Any:
        assert not gc.isenabled()
        return x.reshape(3)

    g = fg.jit(f)
    for _ in range(3):
        g(np.ones((3, 1)))
        assert gc.isenabled()
    h = fg.jit(lambda x: x.reshape(3))
    with pytest.raises(ValueError, match="reshape"):
        h(np.ones(2))
    assert gc.isenabled()
