"""What tells the calls of a compiled function apart: structure, shapes and dtypes, and the values of what is no number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, Traced, dtype_of, ground, shape_of
from funcgrad.pytree.compare import equal_static, exact
from funcgrad.tensor import Tensor
from funcgrad.transforms.arguments import describe
from funcgrad.transforms.staging import Path
from funcgrad.transforms.watching import Watch

PATHS = 16
"""So many paths of a signature are kept; a function that takes more looks at ever new values."""

REBOUND = 16
"""So often what a function reads may be something else; then it is so at each call."""

SIGNATURES = 256
"""So many are kept of one function, the ones that were made or used last."""

_ndarray = np.ndarray
_PYTHON = (float, int, bool, complex)
_EXACT = (tuple, str, bytes, *_PYTHON)


class Signature:
    """What is known of one structure, shapes and dtypes."""

    __slots__ = ("agreements", "changes", "is_fresh", "paths", "runs_as_it_is", "waiting", "was_used", "watch")

    def __init__(self, is_fresh: bool) -> None:
        self.paths: tuple[Path, ...] = ()  # compiled, the one that was taken last first
        self.waiting: list[Path] = []  # recorded once
        self.watch: Watch | None = None
        self.changes = 0  # how often what the function reads was something else
        self.agreements: dict[int, int] = {}  # by the id of an array that was written to: how often the recording stayed the same
        self.runs_as_it_is, self.was_used = False, True
        self.is_fresh = is_fresh  # whether its first call is still to come, and runs as it is


class Fixed:
    """A static argument."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if type(other) is not Fixed:
            return False
        a, b = self.value, other.value
        return exact(a, b) or (not isinstance(a, _EXACT) and equal_static(a, b))

    def __hash__(self) -> int:
        return hash(self.value)


class Itself:
    """An object that has no hash, but attributes, which are watched."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Itself and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def static(label: Label, nums: Sequence[int], names: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments, with the static ones as leaves of their own."""
    n = len(args)
    for k in nums:
        if not -n <= k < n:
            raise errors.ArgumentError(str(label), f"static_argnums names argument {k}, but the call has {n} positional.")
    places = {k % n for k in nums}
    return (
        tuple([_fixed(label, x) if k in places else x for k, x in enumerate(args)]),
        {name: _fixed(label, x) if name in names else x for name, x in kwargs.items()},
    )


def _fixed(label: Label, x: Any) -> Fixed:
    try:
        hash(x)
    except TypeError:
        instead = "leave it out of the static ones" if isinstance(x, (np.ndarray, Traced)) else "pass a tuple, or a frozen object"
        raise errors.ArgumentTypeError(str(label), f"{describe(x)} cannot be a static argument, for it has no hash: {instead}.") from None
    return Fixed(x)


def opened(args: Any) -> Any:
    """The arguments as the function takes them."""
    if isinstance(args, dict):
        return {name: x.value if type(x) is Fixed else x for name, x in args.items()}
    return tuple([x.value if type(x) is Fixed else x for x in args])


def behind(x: Any) -> Any:
    """The traced value behind the face of a `Var`."""
    return x._array if isinstance(x, Tensor) and not isinstance(x, Traced) and isinstance(x._array, Traced) else x


def key_of_call(in_def: pytree.TreeDef, leaves: Sequence[Any]) -> tuple[Any, ...] | None:
    """None where nothing tells this call from one with other values: of what is used up, or may change unseen."""
    key = (in_def, *map(_kind, leaves))
    return None if None in key else key


def statics(leaves: Sequence[Any]) -> list[Any]:
    """What the function may read the attributes of."""
    return [x.value if type(x) is Fixed else x for x in leaves if not isinstance(x, (np.ndarray, np.generic, Tensor, *_PYTHON, str))]


def _kind(x: Any) -> Any:
    """Dtype and shape of numbers; a Python number is weak; of all else the value. None where a call changes it."""
    kind = type(x)
    if kind is _ndarray:
        return x.dtype, x.shape
    if kind is int:
        return kind if -(1 << 63) <= x < 1 << 63 else (kind, np.asarray(x).dtype)
    if kind in _PYTHON:
        return kind
    if isinstance(x, (np.generic, Tensor)):
        inner = ground(x) if isinstance(x, Traced) else x
        return type(inner) if type(inner) in _PYTHON else (dtype_of(x), shape_of(x), kind is Tensor)
    if kind is Fixed:
        return x
    if hasattr(kind, "__next__"):
        return None
    try:
        hash(x)
    except TypeError:
        return Itself(x) if hasattr(x, "__dict__") else None
    return Fixed(x)
