"""The machine: `bind` asks the interpreter created last; closed interpreters make no tracers; what is known of a value."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.core import Interpreter, Label, Primitive, Spec, bind, dtype_of, ground, shape_of, spec_of, tick
from funcgrad.ops import elementwise as ops
from funcgrad.tensor import Tracer

LABEL = Label("spy", "f", "/somewhere/train.py", 41)


class SpyTracer(Tracer):
    """Each interpreter has its own class of tracers."""

    __slots__ = ()


class Spy(Interpreter):
    """Computes one floor down, and notes what it was asked."""

    __slots__ = ("seen",)

    def __init__(self) -> None:
        self.label, self.order, self.new, self.closed, self.tensors = LABEL, tick(), SpyTracer, False, False
        self.seen: list[tuple[str, tuple[Any, ...]]] = []

    def trace(self, value: Any) -> Any:
        t = self.new()
        t._main, t._value, t._shape, t._dtype = self, value, shape_of(value), dtype_of(value)
        return t

    def process(self, prim: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        self.seen.append((prim.name, tuple(a._main is self if isinstance(a, Tracer) else None for a in args)))
        return self.trace(bind(prim, [a._value if isinstance(a, Tracer) and a._main is self else a for a in args], params))


def test_without_tracers_numpy_computes() -> None:
    """`bind` is then the primitive's `impl`, and nothing is wrapped."""
    out = bind(ops.sin, (np.array([0.0, 1.0]),), {})
    assert type(out) is np.ndarray
    assert type(ops.add(1.0, 2.0)) is np.float64


def test_the_interpreter_created_last_decides() -> None:
    """Whatever the order of the arguments; it sees the older one's tracer as a value, and passes it down."""
    old, young = Spy(), Spy()
    x, y = old.trace(2.0), young.trace(3.0)
    for args, mine in (((x, y), (False, True)), ((y, x), (True, False))):
        old.seen.clear()
        young.seen.clear()
        out = bind(ops.multiply, args, {})
        assert out._main is young
        assert out._value._main is old
        assert ground(out) == 6.0
        assert young.seen == [("multiply", mine)]
        assert old.seen == [("multiply", tuple(True if not m else None for m in mine))]


def test_interpreters_are_numbered_by_birth() -> None:
    """The counter never gives the same number twice, also to threads."""
    first, second = Spy(), Spy()
    assert first.order < second.order
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.extend([tick() for _ in range(2_000)])) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(found)) == 8_000


def test_a_closed_interpreter_makes_no_tracers() -> None:
    """Computing with one of its tracers is an error that says whose it was."""
    spy = Spy()
    x = spy.trace(1.0)
    spy.close()
    assert spy.closed
    with pytest.raises(errors.LeakedTracerError) as caught:
        np.exp(x)
    assert str(caught.value) == "A tracer of spy(f) (train.py:41) was used after it ended. Return it from `f` instead of storing it."
    assert (caught.value.transformation, caught.value.function, caught.value.place) == ("spy(f)", "f", "train.py:41")


def test_a_label_says_which_transformation_of_what_and_where() -> None:
    """`grad(loss)` and the last part of the path with the line."""
    assert str(LABEL) == "spy(f)"
    assert LABEL.place == "train.py:41"
    assert Label("grad", "loss", "C:loss.py", 3).place == "C:loss.py:3"


@pytest.mark.parametrize(
    ("x", "shape", "dtype"),
    [
        (2.0, (), "f8"),
        (2, (), "i8"),
        (True, (), "?"),
        (1j, (), "c16"),
        (np.float32(1), (), "f4"),
        (np.ones((2, 0), np.float16), (2, 0), "f2"),
        (fg.tensor(np.ones(3, np.float32)), (3,), "f4"),
        (Spy().trace(np.ones((3, 1))), (3, 1), "f8"),
    ],
)
def test_shape_dtype_and_spec(x: Any, shape: tuple[int, ...], dtype: str) -> None:
    """Of numbers, arrays, Tensors and tracers."""
    assert shape_of(x) == shape
    assert dtype_of(x) == np.dtype(dtype)
    spec = spec_of(x)
    assert type(spec) is Spec
    assert (spec.shape, spec.dtype) == (shape, np.dtype(dtype))


def test_ground() -> None:
    """The bare value at the bottom, however many interpreters stand on it."""
    value = np.ones(2)
    assert ground(Spy().trace(Spy().trace(value))) is value
    assert ground(3.0) == 3.0


def test_a_primitive_is_called_and_named() -> None:
    """As a function, by its name and kind."""
    assert ops.sin(0.0) == 0.0
    assert repr(ops.sin) == "<elementwise sin>"
    assert repr(ops.floor) == "<constant floor>"


def test_nothing_is_recorded_for_what_is_constant() -> None:
    """A comparison, an integer result and a locally constant function of a tracer come out bare."""

    def f(x: Any) -> Any:
        for bare in (x > 0, np.floor(x), np.argmax(x), np.sign(x), np.shape(x), x.astype(int), np.isnan(x)):
            assert not isinstance(bare, Tracer)
        return np.sum(x)

    assert fg.grad(f)(np.ones(2)).tolist() == [1.0, 1.0]
