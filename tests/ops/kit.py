"""What a case is: a function to differentiate, inputs that exercise it, and which entries of the registry it covers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

CASES: list[Case] = []

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
"""The running NumPy: a case for what older ones do not have, or do wrongly, is added from the version on that does it."""


@attrs.frozen(eq=False)
class Case:
    """`f(*args)` in plain NumPy; every argument that is a float or complex array (or a list of such) is differentiated."""

    covers: tuple[Any, ...]  # NumPy callables, (ufunc, "reduce") pairs, or primitives
    f: Callable[..., Any]
    args: tuple[Any, ...]
    name: str
    tol: float = 0.0  # values: 0 means bit for bit, else relative, with the reason in `why`
    why: str = ""
    rtol: float = 1e-6  # derivatives against differences
    order: int = 2  # orders of derivatives that are checked; 1 for kinks in the slope
    complex: bool = False  # also on complex inputs, made from the real ones
    float32: bool = True
    smooth: bool = True  # False: locally constant, derivatives are zero and differences not asked
    values_only: bool = False  # inputs such as inf and nan, where only the value means anything


def case(covers: Any, f: Callable[..., Any], *args: Any, name: str = "", **more: Any) -> None:
    """Add a case. `covers` is one entry or a tuple of them; the name is made from the first."""
    entries = covers if isinstance(covers, tuple) and not (len(covers) == 2 and isinstance(covers[1], str)) else (covers,)
    CASES.append(Case(entries, f, args, name or f"{entry_name(entries[0])}-{len(CASES)}", **more))


def entry_name(entry: Any) -> str:
    if isinstance(entry, tuple):
        return f"{entry[0].__name__}.{entry[1]}"
    return str(getattr(entry, "__name__", None) or entry.name)


def arr(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray[Any, Any]:
    """Distinct, well-separated numbers in an interval, in random order."""
    n = int(np.prod(shape, dtype=int))
    x = np.linspace(low, high, n + 2)[1:-1] if n else np.zeros(0)
    return np.random.default_rng(seed + 7).permutation(x).reshape(shape) + 0.0123
