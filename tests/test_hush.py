"""No warnings from lines the user did not write: both ways to hush NumPy, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad.transforms import hush as room

WAYS = {"in use": (room.hush, room.speak), "by seterr, where NumPy's context variable is not found": room._by_seterr()}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_hushed_and_back(way: tuple[Callable[[], Any], Callable[[Any], Any]]) -> None:
    """Between the two nothing is said, nested or not; afterwards the user's own settings hold again."""
    hush, speak = way
    with np.errstate(divide="raise", invalid="warn"):
        before = np.geterr()
        outer = hush()
        inner = hush()
        assert np.isinf(np.float64(1.0) / np.float64(0.0))
        speak(inner)
        assert np.isnan(np.float64(0.0) / np.float64(0.0))
        speak(outer)
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.float64(1.0) / np.float64(0.0)
