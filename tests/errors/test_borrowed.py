"""Writing to an array that a transformation has borrowed: NumPy's own error, with a note that says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

NOTE = (
    "{}(f): an array of more than 64 kB that the function uses is read-only until its derivative is there. "
    "Write to a copy of it, or before or after."
)
LARGE = 10_000  # float64: 80 kB


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("grad", lambda f: fg.grad(f)(2.0)),
        ("value_and_grad", lambda f: fg.value_and_grad(f)(2.0)),
        ("vjp", lambda f: fg.vjp(f, 2.0)),
        ("linearize", lambda f: fg.linearize(f, 2.0)),
        ("jacrev", lambda f: fg.jacrev(f)(2.0)),
    ],
)
def test_the_note(name: str, call: Callable[[Any], Any]) -> None:
    """The error is NumPy's; the note names the transformation; afterwards the array is the caller's again."""
    captured = np.ones(LARGE)

    def f(x: Any) -> Any:
        y = np.sum(captured * x)
        captured[0] = 5.0
        return y

    with pytest.raises(ValueError, match="read-only") as caught:
        call(f)
    assert caught.value.__notes__ == [NOTE.format(name)]
    captured[0] = 7.0
    assert captured[0] == 7.0


def test_no_note_without_a_borrow() -> None:
    """A read-only array of the caller's own is not explained by us."""
    mine = np.ones(3)
    mine.flags.writeable = False

    def f(x: Any) -> Any:
        mine[0] = 1.0
        return x

    with pytest.raises(ValueError, match="read-only") as caught:
        fg.grad(f)(1.0)
    assert not hasattr(caught.value, "__notes__")
