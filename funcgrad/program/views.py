"""The names of what a tile reads: parts of arrays from outside, of its own registers, and where they begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.program.clusters import Cluster
from funcgrad.program.extents import Extent, extents, length
from funcgrad.program.merging import outputs_of
from funcgrad.program.program import Atom, DType, Shape, Var, letters

if TYPE_CHECKING:
    from funcgrad.program.codegen import Source


def with_length(shape: Shape, axis: int, n: int) -> Shape:
    return (*shape[:axis], n, *shape[axis + 1 :])


def moved(name: str, by: int) -> str:
    return f"{name} + {by}" if by else name


def since(name: str, by: int, origin: str) -> str:
    """A place, counted from another one."""
    return str(by) if name == origin else f"{moved(name, by)} - {origin}"


class Registers:
    """Small arrays that hold one value after the other."""

    def __init__(self) -> None:
        self.free: dict[tuple[Shape, DType], list[str]] = {}
        self.kinds: dict[str, tuple[Shape, DType]] = {}

    def take(self, shape: Shape, dtype: DType) -> str:
        free = self.free.setdefault((shape, dtype), [])
        if free:
            return free.pop()
        name = f"r{len(self.kinds)}"
        self.kinds[name] = shape, dtype
        return name

    def give(self, name: str) -> None:
        self.free[self.kinds[name]].append(name)

    def written(self, to: Source, axis: int, size: int) -> list[str]:
        empty = to.constant(np.empty)
        return [f"{r} = {empty}({with_length(shape, axis, size)}, {to.constant(dtype)})" for r, (shape, dtype) in self.kinds.items()]


class Views:
    """What a tile function names, and the lines that name it."""

    def __init__(self, to: Source, cluster: Cluster) -> None:
        self.to, self.axis = to, cluster.axis
        self.extents = extents(cluster)
        self.n = length(cluster)
        made = [v for s in cluster.statements for v in outputs_of(s)]
        self.made = {v.number for v in made}
        self.rank = max(len(v.shape) for v in made)
        self.arrays: dict[str, None] = {}
        """Whole arrays from outside, which the function takes."""
        self.lines: list[str] = []
        self.ends: dict[tuple[str, int, int], str] = {}
        self.views: dict[Any, str] = {}
        self.names: dict[int, str] = {}

    def start(self, e: Extent) -> str:
        if not e.before:
            return "i"
        return self.end("i", e.before, 0, f"i + {e.before}" if e.before > 0 else f"max(i - {-e.before}, 0)")

    def stop(self, e: Extent) -> str:
        is_clipped = self.n + e.behind > e.n
        if not e.behind and not is_clipped:
            return "j"
        text = f"j - {-e.behind}" if e.behind < 0 else moved("j", e.behind)
        return self.end("j", e.behind, e.n if is_clipped else -1, f"min({text}, {e.n})" if is_clipped else text)

    def end(self, letter: str, shift: int, limit: int, text: str) -> str:
        key = letter, shift, limit
        if key not in self.ends:
            self.ends[key] = name = f"{letter}{sum(k[0] == letter for k in self.ends) + 1}"
            self.lines.append(f"{name} = {text}")
        return self.ends[key]

    def whole(self, v: Var) -> Extent:
        """The part of a tile that belongs to no other."""
        return Extent(0, 0, v.shape[self.axis])

    def full(self, x: Var) -> str:
        """An array from outside."""
        name = self.to.names[x.number]
        self.arrays[name] = None
        return name

    def named(self, key: Any, text: str) -> str:
        """A view, once per tile."""
        if key not in self.views:
            self.views[key] = name = f"{letters(len(self.views))}_t"
            self.lines.append(f"{name} = {text}")
        return self.views[key]

    def part(self, name: str, start: str, stop: str, axis: int) -> str:
        return f"{name}[{':, ' * axis}{start}:{stop}]"

    def out(self, v: Var) -> str:
        """The place of a tile in an array that others read."""
        e = self.whole(v)
        return self.named((v.number, "out"), self.part(self.full(v), self.start(e), self.stop(e), self.axis))

    def register(self, name: str, e: Extent) -> str:
        return self.named((name, e), self.part(name, "", since(self.stop(e), 0, self.start(e)), self.axis))

    def read(self, x: Atom, e: Extent, shift: int = 0) -> str:
        """An operand beside a result that has this extent; with `shift`, what stands so much further in the operand."""
        if not isinstance(x, Var):
            return self.to.atom(x)
        if x.number not in self.made:
            axis = self.axis - self.rank + len(x.shape)
            if axis < 0 or x.shape[axis] == 1:
                return self.full(x)
            text = self.part(self.full(x), moved(self.start(e), shift), moved(self.stop(e), shift), axis)
            return self.named((x.number, e, shift), text)
        own, name = self.extents[x.number], self.names[x.number]
        if own == e and not shift:
            return name
        origin = self.start(own)
        text = self.part(name, since(self.start(e), shift, origin), since(self.stop(e), shift, origin), self.axis)
        return self.named((x.number, e, shift), text)
