"""Clusters as code: a function that runs its statements on one tile after the other, in a few small arrays that stay in the cache.

**Law:** it gives the bits that the statements give on whole arrays. Each element is computed from the same operands in the same order;
what two tiles need is computed in both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.program.clusters import TILE, Cluster, is_slice, ufunc_of, window
from funcgrad.program.extents import Extent, extents, length
from funcgrad.program.merging import Buffer, Statement, inputs_of, outputs_of
from funcgrad.program.program import Atom, DType, Equation, Shape, Var, letters, variables
from funcgrad.program.select import chosen
from funcgrad.program.sums import added, common
from funcgrad.program.threads import spread
from funcgrad.program.vocabulary import box

if TYPE_CHECKING:
    from funcgrad.program.codegen import Source

IN_PLACE = frozenset("add subtract multiply divide negative square sqrt absolute maximum minimum".split())
"""Ufuncs that may write where they read: each element is rounded once, whichever loop NumPy takes for operands that overlap."""

ALL = slice(None)

ALIGNED = 64
"""Elements; tiles begin at multiples, so that rows of a cache line are not torn."""


def bounds(n: int, rest: int) -> tuple[tuple[int, int], ...]:
    """Tiles of nearly the same size: none is so short that NumPy would take another way for it."""
    count = max(1, round(n * rest / TILE))
    step = ALIGNED if rest < ALIGNED and n > count * ALIGNED else 1
    cuts = [n * k // count // step * step for k in range(count)] + [n]
    return tuple([(i, j) for i, j in zip(cuts, cuts[1:], strict=False) if i < j])


class Registers:
    """Small arrays that hold one value after the other."""

    def __init__(self) -> None:
        self.free: dict[tuple[Shape, DType], list[str]] = {}
        self.kinds: dict[str, tuple[Shape, DType]] = {}

    def take(self, kind: tuple[Shape, DType]) -> str:
        free = self.free.setdefault(kind, [])
        if free:
            return free.pop()
        name = f"r{len(self.kinds)}"
        self.kinds[name] = kind
        return name

    def give(self, name: str) -> None:
        self.free[self.kinds[name]].append(name)


class Tiles:
    """The function of one cluster, while it is written."""

    def __init__(self, to: Source, cluster: Cluster) -> None:
        self.to, self.cluster, self.axis = to, cluster, cluster.axis
        self.extents = extents(cluster)
        self.n = length(cluster)
        self.made = {v.number for s in cluster.statements for v in outputs_of(s)}
        self.outputs = {v.number: v for v in cluster.outputs}
        self.arrays: dict[str, None] = {}
        self.lines: list[str] = []
        self.ends: dict[tuple[str, int, int], str] = {}
        self.views: dict[Any, str] = {}
        self.names: dict[int, str] = {}
        self.registers = Registers()
        self.held: dict[int, str] = {}
        self.roots = self._roots()
        self.last = {self.roots.get(v.number, v.number): k for k, s in enumerate(cluster.statements) for v in variables(inputs_of(s))}

    def _roots(self) -> dict[int, int]:
        """What slices are views of."""
        roots: dict[int, int] = {}
        for s in self.cluster.statements:
            if is_slice(s):
                (x,) = variables(inputs_of(s))
                roots[outputs_of(s)[0].number] = roots.get(x.number, x.number)
        return roots

    # ---- names

    def start(self, e: Extent) -> str:
        return self.end_of("i", e.before, 0, f"i + {e.before}" if e.before > 0 else f"max(i - {-e.before}, 0)") if e.before else "i"

    def stop(self, e: Extent) -> str:
        clipped = self.n + e.behind > e.n
        if not e.behind and not clipped:
            return "j"
        text = f"j + {e.behind}" if e.behind > 0 else f"j - {-e.behind}" if e.behind else "j"
        return self.end_of("j", e.behind, e.n if clipped else -1, f"min({text}, {e.n})" if clipped else text)

    def end_of(self, letter: str, shift: int, limit: int, text: str) -> str:
        key = letter, shift, limit
        if key not in self.ends:
            self.ends[key] = name = f"{letter}{sum(k[0] == letter for k in self.ends) + 1}"
            self.lines.append(f"{name} = {text}")
        return self.ends[key]

    def index(self, inner: str, axis: int) -> str:
        return ":, " * axis + inner

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

    # ---- reading

    def read(self, x: Atom, part: Extent | None, shift: int = 0) -> str:
        """An operand beside a result that has this extent; with `shift`, what stands so much further in the operand."""
        if not isinstance(x, Var):
            return self.to.atom(x)
        if x.number not in self.made:
            axis = self.axis - (len(self.cluster_shape) - len(x.shape))
            if part is None or axis < 0 or x.shape[axis] == 1:
                return self.full(x)
            i, j = self.start(part), self.stop(part)
            text = f"{self.full(x)}[{self.index(_moved(i, shift) + ':' + _moved(j, shift), axis)}]"
            return self.named((x.number, part, shift), text)
        own, name = self.extents[x.number], self.names[x.number]
        if part is None or (own == part and not shift):
            return name
        i = self.start(own)
        inner = f"{_from(self.start(part), shift, i)}:{_from(self.stop(part), shift, i)}"
        return self.named((x.number, part, shift), f"{name}[{self.index(inner, self.axis)}]")

    @property
    def cluster_shape(self) -> Shape:
        return next(v.shape for s in self.cluster.statements for v in outputs_of(s) if v.shape)

    # ---- writing

    def write(self) -> None:
        """The function, and the call of it."""
        answers = [f"answer{k}" for k in range(len(self.cluster.answers))]
        for v in self.cluster.outputs:
            name = self.to.named([v])[0]
            self.to.add(f"{name} = {self.to.constant(np.empty)}({v.shape}, {self.to.constant(v.dtype)})")
        for k, s in enumerate(self.cluster.statements):
            self.statement(k, s, iter(answers))
        cuts = bounds(self.n, self.rest)
        size = max(j - i for i, j in cuts) + self.halo
        head = [f"{name} = {self.to.constant(np.empty)}({_with(shape, self.axis, size)}, {self.to.constant(dtype)})"
                for name, (shape, dtype) in self.registers.kinds.items()]  # fmt: skip
        head += [f"{name} = False" for name in answers]
        name = self.to.function("tiles", ["tiles", *self.arrays], [*head, "for i, j in tiles:", *["    " + line for line in self.lines],
                                f"return ({''.join(f'{a}, ' for a in answers)})"])  # fmt: skip
        made = "".join([f"{x}, " for x in self.to.named(self.cluster.answers)])
        call = f"{self.to.constant(spread)}({name}, {self.to.constant(cuts, 'cuts')}, {self.to.threads}, {', '.join(self.arrays)})"
        self.to.add(f"{made[:-1]} = {call}" if made else call)

    @property
    def rest(self) -> int:
        """How many elements stand at one place along the axis, in the largest array."""
        return max(math.prod(v.shape) // v.shape[self.axis] for s in self.cluster.statements for v in outputs_of(s) if v.shape)

    @property
    def halo(self) -> int:
        return max(e.behind - e.before for e in self.extents.values()) if self.extents else 0

    def statement(self, k: int, s: Statement, answers: Any) -> None:
        (v,) = outputs_of(s)
        if isinstance(s, Equation) and s.primitive.name == "has_nan":
            name = f"answer{[a.number for a in self.cluster.answers].index(v.number)}"
            x = s.inputs[0]
            part = Extent(0, 0, x.shape[self.axis])
            self.lines.append(f"{name} = {name} or {self.to.constant(s.primitive.impl)}({self.read(x, part)})")
        elif is_slice(s):
            self.slice(s)
        elif isinstance(s, Buffer):
            self.buffer(s)
        elif isinstance(s, Equation):
            self.map(k, s)
        self.release(k)

    def release(self, k: int) -> None:
        for number in [i for i in self.held if self.last.get(i, -1) <= k]:
            self.registers.give(self.held.pop(number))

    def target(self, v: Var, reuse: str = "") -> tuple[str, bool]:
        """Where a result is written, and whether it has to be copied from there into the array that others read."""
        part = self.extents[v.number]
        i, j = self.start(part), self.stop(part)
        if v.number in self.outputs and part == Extent(0, 0, part.n):
            name = self.named((v.number, "out"), f"{self.full(v)}[{self.index(f'{i}:{j}', self.axis)}]")
            copied = False
        else:
            register = reuse or self.registers.take((_with(v.shape, self.axis, 0), v.dtype))
            self.held[v.number] = register
            name = self.named((register, part), f"{register}[{self.index(f':{j} - {i}', self.axis)}]")
            copied = v.number in self.outputs
        self.names[v.number] = name
        return name, copied

    def copy_out(self, v: Var) -> None:
        part = Extent(0, 0, v.shape[self.axis])
        i, j = self.start(part), self.stop(part)
        self.lines.append(f"{self.full(v)}[{self.index(f'{i}:{j}', self.axis)}] = {self.read(v, part)}")

    def slice(self, s: Statement) -> None:
        assert isinstance(s, Equation)
        (v,), (x,) = s.outputs, s.inputs
        part, start = self.extents[v.number], window(s, self.axis)[0]
        name = self.read(x, part, start)
        rest = [":" if a == self.axis else _range(b, n) for a, (b, n) in enumerate(zip(box(s["starts"], s["stops"], s["steps"]), x.shape, strict=True))]  # fmt: skip
        if any(r != ":" for r in rest):
            name = self.named((v.number, "slice"), f"{name}[{', '.join(rest)}]")
        self.names[v.number] = name

    def map(self, k: int, e: Equation) -> None:
        (v,) = e.outputs
        part = self.extents[v.number]
        args = [self.read(x, part) for x in e.inputs]
        ufunc = ufunc_of(e)
        if ufunc is None and e.primitive.name not in ("astype", "where"):
            self.call(e, args)
            return
        name, copied = self.target(v, self.reused(k, e) if ufunc is not None else "")
        if ufunc is not None:
            self.lines.append(f"{self.to.constant(ufunc)}({', '.join(args)}, out={name})")
        elif e.primitive.name == "astype":
            self.lines.append(f"{name}[...] = {args[0]}")
        elif v.dtype.char in "df":
            self.lines.append(f"{self.to.constant(chosen)}({', '.join(args)}, {name})")
        else:
            self.lines.append(f"{name}[...] = {self.to.constant(np.where)}({', '.join(args)})")
        if copied:
            self.copy_out(v)

    def call(self, e: Equation, args: list[str]) -> None:
        (v,) = e.outputs
        part = self.extents[v.number]
        text = f"{self.to.constant(e.primitive.impl, e.primitive.name)}({', '.join(args)})"
        if v.number in self.outputs and part == Extent(0, 0, part.n):
            self.lines.append(f"{self.target(v)[0]}[...] = {text}")
            return
        self.names[v.number] = name = f"{letters(v.number)}_v"
        self.lines.append(f"{name} = {text}")
        if v.number in self.outputs:
            self.copy_out(v)

    def reused(self, k: int, e: Equation) -> str:
        """The register of an operand that nobody needs after this, if the result may be written there."""
        (v,) = e.outputs
        part = self.extents[v.number]
        if e.primitive.name in IN_PLACE and not (v.number in self.outputs and part == Extent(0, 0, part.n)):
            for x in variables(e.inputs):
                if x.number in self.held and self.last[x.number] == k and x.number not in self.roots and self.extents[x.number] == part:
                    if x.shape == v.shape and x.dtype == v.dtype:
                        return self.held.pop(x.number)
        return ""

    def buffer(self, s: Buffer) -> None:
        v = s.output
        part = self.extents[v.number]
        i, j = self.start(part), self.stop(part)
        boxes = [box(e["starts"], e["stops"], e["steps"]) for e, _, _ in s.parts]
        boxes = [tuple([ALL if a == self.axis or b == slice(0, n, 1) else b for a, (b, n) in enumerate(zip(each, v.shape, strict=True))]) for each in boxes]  # fmt: skip
        terms = []
        for (e, x, _), place in zip(s.parts, boxes, strict=True):
            start = window(e, self.axis)[0]
            inner = Extent(part.before - start, part.behind - start, x.shape[self.axis])
            whole = all(b == ALL for b in place)
            at = "None" if whole else self.to.constant(place, "at")
            terms.append(f"({self.read(x, inner)}, {_moved(self.start(inner), start)}, {at})")
        shared = common(boxes, v.shape)
        inside = "None" if shared is None else self.to.constant(shared, "at")
        base = "None" if s.base is None else self.read(s.base, part)
        name, copied = self.target(v)
        self.lines.append(f"{self.to.constant(added)}({name}, {i}, {self.axis}, {base}, {inside}, {', '.join(terms)})")
        if copied:
            self.copy_out(v)


def _moved(name: str, by: int) -> str:
    return f"{name} + {by}" if by else name


def _from(name: str, by: int, origin: str) -> str:
    if name == origin:
        return str(by)
    return f"{_moved(name, by)} - {origin}"


def _with(shape: Shape, axis: int, n: int) -> Shape:
    return (*shape[:axis], n, *shape[axis + 1 :])


def _range(b: slice, n: int) -> str:
    return ":" if b == slice(0, n, 1) else f"{b.start}:{b.stop}:{b.step}"
