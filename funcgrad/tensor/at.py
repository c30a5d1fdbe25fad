"""`x.at[i].set(v)` and friends: functional updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from funcgrad.core import Frozen, Traced
from funcgrad.numpy.bridge import bare
from funcgrad.numpy.updates import read, updated


@attrs.frozen(eq=False)
class At:
    """Where in `x` a functional update goes."""

    x: Frozen
    give: Callable[[Any], Any]

    def __getitem__(self, index: Any) -> Update:
        return Update(self.x, self.give, index)


@attrs.frozen(eq=False)
class Update:
    """`x.at[index]`: what to put there. Each method gives a copy of `x`, changed at the index, of the dtype of `x`.

    Where the index points outside, NumPy's IndexError is raised. `mode="clip"` takes the nearest element instead,
    `mode="drop"` leaves such places out; `get` then reads `fill_value` there, nan by default (`mode="fill"` is the same).
    """

    x: Frozen
    give: Callable[[Any], Any]  # makes a bare result what the caller came with
    index: Any

    def _do(self, how: str, v: Any, mode: str | None) -> Any:
        return self.give(updated(how, self._base, bare(self.index), bare(v), mode))

    @property
    def _base(self) -> Any:
        return self.x if isinstance(self.x, Traced) else self.x._array

    def set(self, values: Any, *, mode: str | None = None) -> Any:
        """`values` in place of what is there; written twice, the last one stays."""
        return self._do("set", values, mode)

    def add(self, values: Any, *, mode: str | None = None) -> Any:
        """`values` added, once for each time the index names an element."""
        return self._do("add", values, mode)

    def subtract(self, values: Any, *, mode: str | None = None) -> Any:
        """`values` taken away, once for each time the index names an element."""
        return self._do("subtract", values, mode)

    def multiply(self, values: Any, *, mode: str | None = None) -> Any:
        """Multiplied by `values`, once for each time the index names an element."""
        return self._do("multiply", values, mode)

    def divide(self, values: Any, *, mode: str | None = None) -> Any:
        """Divided by `values`, once for each time the index names an element."""
        return self._do("divide", values, mode)

    def power(self, values: Any, *, mode: str | None = None) -> Any:
        """To the power of `values`, once for each time the index names an element."""
        return self._do("power", values, mode)

    def min(self, values: Any, *, mode: str | None = None) -> Any:
        """The smallest of what is there and every one of `values` that goes there; ties share the derivative equally."""
        return self._do("min", values, mode)

    def max(self, values: Any, *, mode: str | None = None) -> Any:
        """The largest of what is there and every one of `values` that goes there; ties share the derivative equally."""
        return self._do("max", values, mode)

    def apply(self, ufunc: Callable[[Any], Any], *, mode: str | None = None) -> Any:
        """`ufunc`, a function that works element by element, of what is there, once for each time the index names an element."""
        return self._do("apply", ufunc, mode)

    def get(self, *, mode: str | None = None, fill_value: Any = None) -> Any:
        """What is there."""
        return self.give(read(self._base, bare(self.index), mode, bare(fill_value)))
