"""No warnings from lines the user did not write: NumPy's floating-point errors are ignored between `hush` and `speak`.

`np.errstate` costs as much as two small operations, since it builds its state anew. NumPy ≥ 2 keeps that state in a context
variable, so one made beforehand can be set and reset; where the variable is not found, `np.seterr` does the same, slower.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def _by_variable() -> tuple[Callable[[], Any], Callable[[Any], Any]] | None:
    variable: Any = getattr(sys.modules.get("numpy._core.umath"), "_extobj_contextvar", None)
    if variable is None:
        return None
    with np.errstate(all="ignore"):
        ignoring = variable.get()
    return (lambda: variable.set(ignoring)), variable.reset


def _by_seterr() -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    return (lambda: np.seterr(all="ignore")), (lambda before: np.seterr(**before))


hush, speak = _by_variable() or _by_seterr()
"""`token = hush()` … `speak(token)`, the second in a `finally`."""
