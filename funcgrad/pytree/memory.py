"""What is remembered between calls, and how much of it: all the state there is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funcgrad.pytree.kinds import Kind
    from funcgrad.pytree.treedef import TreeDef

MAX_CLASSES = 1024  # remembered, then forgotten all at once: ever-new classes must not leak
MAX_BUCKETS = 256  # the same for outermost shapes
MAX_BUCKET = 32  # structures tried in turn for one outermost shape; more of them stay on the slow path

LOCK = threading.RLock()
REGISTERED: dict[type, Kind] = {}  # by the user: never forgotten
LEAVES: set[type] = set()  # classes known to be leaves
KINDS: dict[type, Kind] = {}  # classes known to be containers
SEEN: dict[Any, list[TreeDef]] = {}  # by outermost shape: structures met at least once
COMPILED: dict[Any, tuple[Callable[[Any], tuple[list[Any], TreeDef] | None], ...]] = {}  # the same: those met at least twice


def forget() -> None:
    """Forget what can be found out again."""
    for cache in (LEAVES, KINDS, SEEN, COMPILED):
        cache.clear()
