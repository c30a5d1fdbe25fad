"""Functions that are imported when they are first called: a room stays small where what it offers is seldom used."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:
    """The function of this name in a module, which is loaded at the first call of it.

    >>> text = later("funcgrad.program.show", "text")
    >>> text.__name__
    'text'
    """

    found: Any = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(importlib.import_module(module), name)
        return found(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call
