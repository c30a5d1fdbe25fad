"""How many threads may share work on large arrays: a property of the caller's context, which those who help have as well."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_limit: ContextVar[int | None] = ContextVar("threads", default=None)


def limit() -> int | None:
    """How many threads may share work here; None: as many as there are processors."""
    return _limit.get()


@contextlib.contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Inside, no more than these share work."""
    token = _limit.set(threads)
    try:
        yield
    finally:
        _limit.reset(token)
