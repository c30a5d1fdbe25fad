"""Forward mode as an interpreter: pairs of a value and a tangent, of one shape and dtype."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core import Label, bind
from funcgrad.ops import elementwise as ops
from funcgrad.transforms.forward import PUSH, TABLE, Forward, ForwardTracer, tangent_of
from funcgrad.transforms.nodes import GROW
from tests.laws.paths import PATHS

LABEL = Label("jvp", "f", "here.py", 1)


def test_a_pair_has_one_shape_and_dtype() -> None:
    """A tangent is cast to what it belongs to, and broadcast where all its elements are asked for."""
    m = Forward(LABEL)
    x = m.trace(np.ones(3, np.float32), np.ones(3, np.float32))
    for out in (
        x + np.zeros((2, 1), np.float32),
        x * 2,
        np.broadcast_to(x, (2, 3)),
        np.sum(x),
        x * np.ones(3),
        x[None],
        np.maximum(x, 1.0),
    ):
        assert type(out) is ForwardTracer
        tangent = np.asarray(tangent_of(out))
        assert tangent.shape == out._shape == np.shape(out._value)
        assert tangent.dtype == out._dtype == out._value.dtype


def test_where_no_tangent_passes_no_pair_is_made() -> None:
    """Locally constant results are bare."""
    m = Forward(LABEL)
    x = m.trace(1.5, 1.0)
    assert bind(ops.floor, (x,), {}) == 1.0
    assert not isinstance(np.heaviside(x, 0.5), ForwardTracer)
    assert not isinstance(x > 1, ForwardTracer)


def test_every_kind_has_a_way_in_both_modes() -> None:
    """What forward mode pushes, reverse mode grows a node for."""
    assert PUSH.keys() == GROW.keys()


def test_several_outputs() -> None:
    """Each with its own tangent: x = 2.25 + 3t, and y = 2t."""
    out = fg.jvp(lambda x, y: (np.modf(x), np.divmod(x, y), np.split(x * np.ones(2), 2)), (2.25, 2.0), (3.0, 2.0))
    (fraction, whole), (quotient, rest), (a, b) = out[1]
    assert (fraction, whole, quotient, rest) == (3.0, 0.0, 0.0, 3.0 - 1.0 * 2.0)
    assert a.tolist() == b.tolist() == [3.0]


@pytest.mark.parametrize("path", PATHS)
def test_rules_do_not_warn_but_the_users_lines_do(path: str) -> None:
    """The value of 1/0 warns, as in NumPy; its tangent, -1/0², does not once more."""
    with PATHS[path](), pytest.warns(RuntimeWarning) as seen:
        value, tangent = fg.jvp(lambda x: 1 / x, (np.zeros(1),), (np.ones(1),))
    assert len(seen) == 1
    assert (value.tolist(), tangent.tolist()) == ([np.inf], [-np.inf])
    with PATHS[path](), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fg.jvp(np.sqrt, (np.zeros(1),), (np.ones(1),))[1].tolist() == [np.inf]


def test_the_error_state_of_the_user_is_untouched() -> None:
    """Also when a rule's own line raises."""
    with np.errstate(all="raise"):
        before = np.geterr()
        fg.jvp(np.sqrt, (np.zeros(1),), (np.ones(1),))
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            fg.jvp(lambda x: 1 / x, (np.zeros(1),), (np.ones(1),))
        assert np.geterr() == before


def test_forward_holds_nothing() -> None:
    """Operands are used at once: a captured array is writeable, whatever its size, and read as it is at that moment."""
    c = np.ones(20_000)

    def f(x: Any) -> Any:
        y = x * c
        c[:] = 5.0
        return y + x * c

    value, tangent = fg.jvp(f, (np.ones(20_000),), (np.full(20_000, 2.0),))
    assert value[0] == 6.0
    assert tangent[0] == 12.0
    assert c.flags.writeable


def test_generated_text() -> None:
    """The fused methods can be read: value and tangent in straight-line code, and `slow` for the rest."""
    from funcgrad.transforms.fused import source

    text = source(ops.multiply, TABLE.template, True)
    assert "out = a * b" in text
    assert "t._tangent = " in text
    assert 'return slow(ufunc, "__call__", (x, y), {})' in text
    compile(text, "multiply", "exec")
