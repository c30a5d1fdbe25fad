"""Every callable of the running NumPy has a state, and is what the state says."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.numpy.dispatch import FUNCTIONS, UFUNCS
from funcgrad.numpy.parity import PARITY
from funcgrad.ops.kinds import BY_UFUNC, Constant
from tests.ops.cases import CASES
from tests.ops.kit import Case

NOT_EVERYWHERE = {"cumulative_prod", "cumulative_sum", "in1d", "matvec", "trapz", "unstack", "vecmat"}
"""Callables that some NumPy from 2.0 on does not have."""

_DISPATCHER = type(np.sum)


def public() -> Iterator[str]:
    """The names of NumPy's callables but for classes."""
    for name in dir(np):
        if not name.startswith("_"):
            found = getattr(np, name)
            if callable(found) and not isinstance(found, type) and not inspect.ismodule(found):
                yield name
    for name in np.fft.__all__:
        yield f"fft.{name}"


def named(name: str) -> Any:
    return attrgetter(name)(np)


PUBLIC = set(public())


def those(*kinds: str, asked: bool | None = None) -> Any:
    """The callables in these states that the running NumPy has; `asked`: whether NumPy asks us before it computes."""
    names = [n for n, state in PARITY.items() if state.kind in kinds and n in PUBLIC and asked in (None, asks(named(n)))]
    return pytest.mark.parametrize("name", names)


def asks(f: Any) -> bool:
    return isinstance(f, (np.ufunc, _DISPATCHER))


def cases_of(f: Any) -> list[Case]:
    return [c for c in CASES if f in c.covers]


def test_every_callable_has_a_state() -> None:
    """What a NumPy version adds is named here, until `funcgrad/numpy/parity.py` says what becomes of it."""
    missing = sorted(PUBLIC - PARITY.keys())
    assert not missing, f"NumPy {np.__version__} has callables without a state: {', '.join(missing)}"


def test_no_state_without_a_callable() -> None:
    """A misspelt name is found, and one that NumPy has dropped."""
    gone = sorted(PARITY.keys() - PUBLIC - NOT_EVERYWHERE)
    assert not gone, f"NumPy {np.__version__} does not have {', '.join(gone)}"


@those("differentiable")
def test_differentiable(name: str) -> None:
    """It has a rule where NumPy asks us, and a case on which the laws check its derivatives."""
    f = named(name)
    if asks(f):
        assert f in UFUNCS or type(BY_UFUNC.get(f, FUNCTIONS.get(f))) not in (Constant, type(None)), "no rule"
    assert any(c.smooth and not c.values_only for c in cases_of(f)), "no case with a derivative"


@those("constant", asked=True)
def test_constant(name: str) -> None:
    """It works on traced values, or on what is made of them, with a case in which the laws check that its derivative is zero."""
    f = named(name)
    if "neither" in PARITY[name].note:
        with pytest.raises(errors.MissingRuleError):
            fg.grad(lambda x: x.__array_function__(f, (type(x),), (x,), {}))(np.ones(3))
    else:
        assert f in FUNCTIONS or type(BY_UFUNC.get(f)) is Constant, "no rule"
    assert any(not c.smooth for c in cases_of(f)), "no case with zero derivative"


@those("constant", asked=False)
def test_constant_unasked(name: str) -> None:
    """Where NumPy does not ask us, a traced number cannot become part of a new array, or of a text, without an error."""
    if PARITY[name].note.startswith(("A new array", "A text")):
        with pytest.raises(TypeError):
            fg.grad(lambda x: named(name)(x))(3.0)


@those("refused", asked=True)
def test_refused(name: str) -> None:
    """A traced value raises an error that gives the reason and says what to write."""
    f = named(name)
    with pytest.raises((errors.MissingRuleError, errors.FrozenError)) as caught:
        fg.grad(lambda x: x.__array_function__(f, (type(x),), (x,), {}))(np.ones(3))
    assert str(caught.value).startswith(f"np.{name}")
    assert PARITY[name].note
    assert str(caught.value).endswith(PARITY[name].note)


@pytest.mark.parametrize("name", sorted(n for n, s in PARITY.items() if s.note))
def test_notes_are_sentences(name: str) -> None:
    """They begin like a sentence, end like one, and fit into a row of a table."""
    note = PARITY[name].note
    assert note.endswith("."), note
    assert note[0].isupper(), note
    assert "|" not in note.replace("`x / |x|`", ""), note
