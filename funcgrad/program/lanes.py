"""Programs that do the same in each of many lanes, in blocks of lanes, which stand side by side in memory.

Where the first axis is long and the others are short, as under `vmap`, NumPy's inner loops are of two or three elements. So a block of
lanes is copied with its axes in Fortran order: what is computed of it has that order as well, and each inner loop is as long as the block.
A block stays in the cache from one end of the program to the other.

**Law**: bit for bit what the program gives on whole arrays in C order. For that, nothing is done in lanes whose bits depend on the order
of axes in memory, such as products of matrices, or sums of eight terms, or mixes lanes; and what comes out is in C order again.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs

from funcgrad.program.maps import TILE, is_map
from funcgrad.program.parts import GUARD
from funcgrad.program.program import Equation, Program, Shape, Var, variables

FEWEST = 64
"""Lanes."""

SHORT = 16
"""How long the last axis of each array may be: longer rows are quick as they are."""

TERMS = 7
"""What NumPy adds up one after the other, whatever the order in memory; see ops/summing.py."""

VIEWS = frozenset("slice split unstack reshape".split())
"""What is a part of another array, whose elements are not side by side: some products have other bits then."""

POWERS = frozenset(("power", "float_power", "flat_power"))


@attrs.frozen(eq=False)
class Lanes:
    """A program, in three parts: what is the same for all lanes, what is done with the lanes, and what is done with the results."""

    program: Program
    n: int
    before: tuple[Equation, ...]
    inside: tuple[Equation, ...]
    after: tuple[Equation, ...]

    @property
    def operands(self) -> tuple[Var, ...]:
        """What the lanes read."""
        made = {v.number for e in self.inside for v in e.outputs}
        return tuple({v.number: v for e in self.inside for v in variables(e.inputs) if v.number not in made}.values())

    @property
    def results(self) -> tuple[Var, ...]:
        """What others read of the lanes."""
        made = {v.number for e in self.inside for v in e.outputs}
        read = itertools.chain(self.program.outputs, *[e.inputs for e in self.after])
        return tuple({v.number: v for v in variables(read) if v.number in made}.values())

    def has(self, v: Var) -> bool:
        """Whether it has lanes."""
        return v.shape[:1] == (self.n,)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Of nearly the same size: at most two sizes, and few elements."""
        most = max(math.prod(v.shape[1:]) for e in self.inside for v in e.outputs)
        count = max(1, min(math.ceil(self.n * most / TILE), self.n // FEWEST))
        cuts = [self.n * k // count for k in range(count + 1)]
        return list(itertools.pairwise(cuts))

    def of_size(self, size: int) -> Program:
        """What is done with a block of so many lanes."""

        def var(x: Any) -> Any:
            return Var(x.number, self.sized(x.shape, size), x.dtype) if isinstance(x, Var) else x

        def equation(e: Equation) -> Equation:
            params = tuple([(key, self.sized(x, size) if key in ("shape", "stops") else x) for key, x in e.params])
            return Equation(e.primitive, tuple(map(var, e.inputs)), tuple(map(var, e.outputs)), params, e.line)

        return Program(tuple(map(var, self.operands)), tuple(map(equation, self.inside)), tuple(map(var, self.results)))

    def sized(self, shape: Shape, size: int) -> Shape:
        return (size, *shape[1:]) if shape[:1] == (self.n,) else shape


# ---- which programs


def lanes_of(program: Program) -> Lanes | None:
    """How a program works in lanes, if it does and that is quicker."""
    sizes: Counter[int] = Counter()
    for v in program.inputs:
        if len(v.shape) > 1 and v.shape[0] >= FEWEST:
            sizes[v.shape[0]] += math.prod(v.shape)
    for n, _ in sizes.most_common(2):
        found = _parted(program, n)
        if found is not None and _is_quicker(found):
            return found
    return None


def _parted(program: Program, n: int) -> Lanes | None:
    before, inside, after = [], [], []
    with_lanes = {v.number for v in program.inputs if v.shape[:1] == (n,)}
    answers: set[int] = set()
    late: set[int] = set()
    views: set[int] = set()
    for e in program.equations:
        read = {v.number for v in variables(e.inputs)}
        made = {v.number for v in e.outputs}
        if read & answers and not _holds_if_in_each_block(e):
            return None
        if not read & (with_lanes | answers | late):
            before.append(e)
        elif read & late or not (read & answers or is_lanewise(e, n)):
            if read & views:
                return None
            after.append(e)
            late |= made
        else:
            inside.append(e)
            (answers if e.primitive.name == "has_nan" else with_lanes).update(made)
            if e.primitive.name in VIEWS:
                views |= made
    if answers & {v.number for v in variables(program.outputs)}:
        return None
    return Lanes(program, n, tuple(before), tuple(inside), tuple(after))


def _holds_if_in_each_block(e: Equation) -> bool:
    return e.primitive is GUARD and e["kind"] == "bool" and e["answer"] is False


def _is_quicker(found: Lanes) -> bool:
    """Whether more calls have short inner loops than arrays are copied."""
    copied = sum(len(v.shape) > 1 for v in (*found.operands, *found.results) if found.has(v))
    return sum(map(_has_short_loops, found.inside)) > copied


def _has_short_loops(e: Equation) -> bool:
    """Equal arrays without gaps have one long loop in any order."""
    shape = e.inputs[0].shape if e.primitive.name == "sum" else e.outputs[0].shape if e.outputs else ()
    return len(shape) > 1 and (not is_map(e) or any(x.shape != shape for x in variables(e.inputs)))


def is_lanewise(e: Equation, n: int) -> bool:
    """Whether each lane of the results comes from that lane of the operands, with the same bits in any order of the axes in memory."""
    atoms = (*e.inputs, *e.outputs)
    if not all(x.dtype.char in "fd" or x.dtype.kind in "biu" for x in atoms):
        return False
    if any(x.shape and ((len(x.shape) > 1 and x.shape[-1] > SHORT) or 0 in x.shape) for x in atoms):
        return False
    if e.primitive.name == "has_nan":
        return True
    if not all(v.shape[:1] == (n,) for v in e.outputs):
        return False
    rule = RULES.get(e.primitive.name)
    if rule is not None:
        return rule(e, n) and all(x.shape[:1] == (n,) for x in e.inputs)
    if not is_map(e) or (e.primitive.name in POWERS and e.inputs[1].shape):
        return False
    rank = len(e.outputs[0].shape)
    return all((x.shape[:1] == (n,)) == (len(x.shape) == rank and x.shape[0] != 1) for x in e.inputs)


def _is_beside(e: Equation, n: int) -> bool:
    return bool(e["axis"] > 0)


def _is_whole(e: Equation, n: int) -> bool:
    return (e["starts"][0], e["stops"][0], e["steps"][0]) == (0, n, 1)


def _is_short_sum(e: Equation, n: int) -> bool:
    x = e.inputs[0]
    last = len(x.shape) - 1
    return bool(last) and e["axis"] == (last,) and x.dtype.char in "fd" and x.shape[last] <= TERMS


RULES: dict[str, Callable[[Equation, int], bool]] = {
    "slice": _is_whole,
    "pad": _is_whole,
    "reshape": lambda e, n: True,
    "sum": _is_short_sum,
    "stack": _is_beside,
    "concatenate": _is_beside,
    "split": _is_beside,
    "unstack": _is_beside,
}
"""What is no map: whether an equation leaves the lanes alone, where its operands have them."""
