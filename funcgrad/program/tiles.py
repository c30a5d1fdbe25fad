"""Clusters as code: a function that runs its statements on one tile after the other, in a few small arrays that stay in the cache.

**Law:** it gives the bits that the statements give on whole arrays. Each element is computed from the same operands in the same order;
what two tiles need is computed in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from funcgrad.program.broad import broad, is_broad
from funcgrad.program.clusters import Cluster
from funcgrad.program.extents import Extent
from funcgrad.program.extents import tiles as cut
from funcgrad.program.layout import has_nan_in
from funcgrad.program.maps import IN_PLACE, VIEWS, is_slice, start_along, ufunc_of
from funcgrad.program.merging import Buffer, inputs_of, outputs_of
from funcgrad.program.program import Equation, Var, letters, variables
from funcgrad.program.select import chosen
from funcgrad.program.sums import Box, added, common
from funcgrad.program.threads import spread
from funcgrad.program.views import Registers, Views, moved, with_length
from funcgrad.program.vocabulary import box

if TYPE_CHECKING:
    from funcgrad.program.codegen import Source

ALL = slice(None)


def write_tiles(to: Source, cluster: Cluster, over: dict[int, Var]) -> None:
    """The function, the arrays that it fills, some of them over others, and the call of it."""
    for v in cluster.outputs:
        fresh = f"{to.constant(np.empty)}({v.shape}, {to.constant(v.dtype)})"
        to.add(f"{to.named([v])[0]} = {to.names[over[v.number].number] if v.number in over else fresh}")
    tiles = Tiles(to, cluster)
    for k in range(len(cluster.statements)):
        tiles.statement(k)
    cuts = cut(cluster)
    halo = max(e.behind - e.before for e in tiles.views.extents.values())
    head = tiles.registers.written(to, cluster.axis, max(j - i for i, j in cuts) + halo)
    answers = list(tiles.answers.values())
    body = [
        *[f"{name} = False" for name in answers],
        *head,
        "for i, j in tiles:",
        *["    " + line for line in tiles.views.lines],
        f"return ({''.join(f'{a}, ' for a in answers)})",
    ]
    arrays = list(tiles.views.arrays)
    function = to.function("tiles", ["tiles", *arrays], body)
    threads = to.threads if cluster.is_shared else 1
    call = f"{to.constant(spread)}({', '.join([function, to.constant(cuts, 'cuts'), str(threads), *arrays])})"
    names = "".join([f"{name}, " for name in to.named(cluster.answers)])
    to.add(f"{names[:-1]} = {call}" if names else call)


class Tiles:
    """The body of the function of one cluster, while it is written."""

    def __init__(self, to: Source, cluster: Cluster) -> None:
        self.to, self.cluster, self.axis = to, cluster, cluster.axis
        self.views = Views(to, cluster)
        self.registers = Registers()
        self.held: dict[int, str] = {}
        """The registers of variables."""
        self.outputs = {v.number for v in cluster.outputs}
        self.answers = {v.number: f"answer{k}" for k, v in enumerate(cluster.answers)}
        self.roots = roots(cluster)
        self.last = {self.roots.get(v.number, v.number): k for k, s in enumerate(cluster.statements) for v in variables(inputs_of(s))}

    def add(self, text: str) -> None:
        self.views.lines.append(text)

    def statement(self, k: int) -> None:
        s = self.cluster.statements[k]
        if isinstance(s, Buffer):
            self.buffer(s)
        elif not isinstance(s, Equation):
            raise AssertionError(s)
        elif is_slice(s):
            self.slice(s)
        elif s.primitive.name == "has_nan":
            self.ask(s)
        else:
            self.map(k, s)
        for number in [i for i in self.held if self.last.get(i, -1) <= k]:
            self.registers.give(self.held.pop(number))

    # ---- where results are written

    def extent(self, v: Var) -> Extent:
        return self.views.extents[v.number]

    def is_direct(self, v: Var) -> bool:
        """Whether a result is written into the array that others read: there is nothing in it that belongs to other tiles."""
        return v.number in self.outputs and self.extent(v) == self.views.whole(v)

    def target(self, v: Var, register: str = "") -> str:
        if self.is_direct(v):
            name = self.views.out(v)
        else:
            self.held[v.number] = register = register or self.registers.take(with_length(v.shape, self.axis, 0), v.dtype)
            name = self.views.register(register, self.extent(v))
        self.views.names[v.number] = name
        return name

    def copied_out(self, v: Var) -> None:
        if v.number in self.outputs and not self.is_direct(v):
            self.add(f"{self.views.out(v)}[...] = {self.views.read(v, self.views.whole(v))}")

    def register_of_an_operand(self, k: int, e: Equation) -> str:
        """That of one which nobody needs after this, if the result may be written there."""
        (v,) = e.outputs
        if e.primitive.name not in IN_PLACE or self.is_direct(v):
            return ""
        for x in variables(e.inputs):
            is_last = x.number in self.held and self.last[x.number] == k
            if is_last and (x.shape, x.dtype, self.extent(x)) == (v.shape, v.dtype, self.extent(v)):
                return self.held.pop(x.number)
        return ""

    # ---- statements

    def ask(self, e: Equation) -> None:
        (x,), name = variables(e.inputs), self.answers[e.outputs[0].number]
        asked = f"{self.to.constant(has_nan_in)}({self.views.read(x, self.views.whole(x))}, {self.to.constant(e.primitive.impl)})"
        self.add(f"{name} = {name} or {asked}")

    def slice(self, e: Equation) -> None:
        (v,), (x,) = e.outputs, e.inputs
        name = self.views.read(x, self.extent(v), start_along(e, self.axis))
        at = beside(box(e["starts"], e["stops"], e["steps"]), x.shape, self.axis)
        if any(b != ALL for b in at):
            text = ", ".join([":" if b == ALL else f"{b.start}:{b.stop}:{b.step}" for b in at])
            name = self.views.named((v.number, "slice"), f"{name}[{text}]")
        self.views.names[v.number] = name

    def map(self, k: int, e: Equation) -> None:
        (v,) = e.outputs
        args = ", ".join([self.views.read(x, self.extent(v)) for x in e.inputs])
        ufunc = ufunc_of(e)
        if ufunc is not None and is_broad(e):
            self.add(f"{self.to.constant(broad)}({self.to.constant(ufunc)}, {args}, {self.target(v, self.register_of_an_operand(k, e))})")
        elif ufunc is not None:
            self.add(f"{self.to.constant(ufunc)}({args}, out={self.target(v, self.register_of_an_operand(k, e))})")
        elif e.primitive.name == "astype":
            self.add(f"{self.target(v)}[...] = {args}")
        elif e.primitive.name == "where" and v.dtype.char in "df":
            self.add(f"{self.to.constant(chosen)}({args}, {self.target(v)})")
        else:
            text = f"{self.to.constant(e.primitive.impl, e.primitive.name)}({args})"
            if self.is_direct(v) or e.primitive.name in VIEWS:
                self.add(f"{self.target(v)}[...] = {text}")
            else:
                self.views.names[v.number] = name = f"{letters(v.number)}_v"
                self.add(f"{name} = {text}")
        self.copied_out(v)

    def buffer(self, s: Buffer) -> None:
        v, views = s.output, self.views
        e = self.extent(v)
        boxes = [beside(box(pad["starts"], pad["stops"], pad["steps"]), v.shape, self.axis) for pad, _, _ in s.parts]
        starts = [start_along(pad, self.axis) for pad, _, _ in s.parts]
        parts = [Extent(e.before - start, e.behind - start, x.shape[self.axis]) for (_, x, _), start in zip(s.parts, starts, strict=True)]
        base = None if s.base is None else views.read(s.base, e)
        terms = [views.read(x, part) for (_, x, _), part in zip(s.parts, parts, strict=True)]
        places = [moved(views.start(part), start) for part, start in zip(parts, starts, strict=True)]
        begin = views.start(e)
        out = self.target(v)
        ats = [None if all(b == ALL for b in at) else at for at in boxes]
        called = [f"({x}, {i}, {self.index(at)})" for x, i, at in zip(terms, places, ats, strict=True)]
        shared = self.index(common(boxes, v.shape))
        call = f"{self.to.constant(added)}({', '.join([out, begin, str(self.axis), str(base), shared, *called])})"
        if any(at is not None for at in ats):
            self.add(call)
        else:
            self.sum(out, [base, *terms] if base else terms, call, self.inside(v, starts, s))
        self.copied_out(v)

    def index(self, at: Box | None) -> str:
        return "None" if at is None else self.to.constant(at, "at")

    def inside(self, v: Var, starts: list[int], s: Buffer) -> str:
        """Where a tile is covered by each of the terms."""
        e, first = self.extent(v), max(starts)
        stop = min(start + x.shape[self.axis] for (_, x, _), start in zip(s.parts, starts, strict=True))
        asked = [f"i >= {first - e.before}"] if first else []
        asked += [f"j <= {stop - e.behind}"] if stop < v.shape[self.axis] else []
        return " and ".join(asked)

    def sum(self, out: str, terms: list[str], otherwise: str, where: str) -> None:
        add, (first, *rest) = self.to.constant(np.add), terms
        lines = [f"{add}({first}, {rest[0]}, out={out})"] if rest else [f"{out}[...] = {first}"]
        lines += [f"{add}({out}, {x}, out={out})" for x in rest[1:]]
        if not where:
            self.views.lines += lines
            return
        self.add(f"if {where}:")
        self.views.lines += ["    " + line for line in lines]
        self.views.lines += ["else:", f"    {otherwise}"]


def roots(cluster: Cluster) -> dict[int, int]:
    """What slices are views of."""
    found: dict[int, int] = {}
    for s in cluster.statements:
        if is_slice(s):
            (x,) = variables(inputs_of(s))
            found[outputs_of(s)[0].number] = found.get(x.number, x.number)
    return found


def beside(at: Box, shape: tuple[int, ...], axis: int) -> Box:
    """A box along the other axes, with nothing said where it is whole."""
    return tuple([ALL if k == axis or b == slice(0, n, 1) else b for k, (b, n) in enumerate(zip(at, shape, strict=True))])
