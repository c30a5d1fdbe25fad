"""The cyclic collector is held back while a door is open, a function is recorded, or a program compiled.

Nodes and equations are acyclic and freed by reference counting; the collector would scan the living ones again and again, which is
most of the time of a long loop.
"""

from __future__ import annotations

import gc
from collections import deque

_open: deque[None] = deque()
_ours = False


def hold_collector() -> None:
    """Keep the cyclic collector back: nodes and equations are acyclic, and it would scan the living ones again and again."""
    global _ours
    _open.append(None)
    if gc.isenabled():
        gc.disable()
        _ours = True


def release_collector() -> None:
    """Give the collector back when the last door closes.

    Without a lock: appends and pops are atomic, and the flag falls before the collector runs, so that it cannot stay off.
    """
    global _ours
    _open.pop()
    if not _open and _ours:
        _ours = False
        gc.enable()
