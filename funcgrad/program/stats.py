"""How much a program does, counted from its equations: nothing is run, and nothing is measured."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import attrs

from funcgrad.ops.kinds import Structured
from funcgrad.program.parts import GUARD, Atom, Equation, Var, variables
from funcgrad.program.passes import simplified
from funcgrad.program.program import Program
from funcgrad.program.show import programs


@attrs.frozen(repr=False)
class Stats:
    """What a compiled function computes for arguments of one kind.

    `flops` counts an elementwise operation once per element of its result, a sum or another reduction once per element that goes in, a
    product of matrices as 2·m·n·k, a Fourier transform as 5·n·log2(n), and of what LAPACK does the cubic term. What moves elements
    counts nothing. A loop counts its steps; of `while_loop`, whose steps nobody knows, it is one, and of branches the dearest.

    >>> import numpy as np
    >>> from funcgrad import jit
    >>> jit(lambda x: np.sum(np.sin(x) * np.sin(x))).stats(np.ones(1000))
    3 equations (4 recorded), no guard; 3,000 flops, 16.0 kB of intermediates, 16.0 kB at once; no path compiled yet
    """

    recorded: int
    """Equations, as they were recorded."""
    equations: int
    """Equations that are left once what is computed twice is computed once, and what nobody reads is not."""
    guards: int
    """Equations that compare what the function looked at."""
    flops: int
    """Operations on numbers, by the formula above."""
    bytes: int
    """Of all arrays that are made. A view, such as a transpose or a slice, takes none."""
    peak: int
    """Bytes of arrays that are alive at once, at most, when each is dropped after its last use; the arguments do not count."""
    paths: int = 0
    """Paths that are compiled by now."""

    def __repr__(self) -> str:
        made = f"{_many(self.equations, 'equation')} ({self.recorded:,} recorded), {_many(self.guards, 'guard')}"
        size = f"{_many(self.flops, 'flop')}, {_size(self.bytes)} of intermediates, {_size(self.peak)} at once"
        return f"{made}; {size}; {_many(self.paths, 'path')} compiled{' yet' * (not self.paths)}"


def stats(program: Program, paths: int = 0) -> Stats:
    """What a program amounts to."""
    simple = simplified(program.closed)
    return Stats(
        recorded=sum(1 for _ in _all(program)),
        equations=sum(1 for _ in _all(simple)),
        guards=sum(e.primitive is GUARD for e in _all(simple)),
        flops=flops(simple),
        bytes=sum([_bytes(v) for e in _all(simple) if e.primitive.name not in VIEWS for v in e.outputs]),
        peak=peak(simple),
        paths=paths,
    )


def _all(program: Program) -> Iterator[Equation]:
    """The equations, and those of programs within them."""
    for e in program.equations:
        yield e
        for _, held in programs(e):
            yield from _all(held)


def _many(n: int, word: str) -> str:
    return f"{n or 'no'} {word}{'s' * (n > 1)}" if n < 1000 else f"{n:,} {word}s"


def _size(n: float) -> str:
    if n < 1000:
        return f"{n:.0f} bytes"
    power = min(int(math.log10(n)) // 3, 4)
    return f"{n / 1000**power:.1f} {'kMGT'[power - 1]}B"


# ---- memory

VIEWS = frozenset("reshape transpose slice broadcast_to diagonal reverse split unstack real imag fill".split())
"""Whose results need no memory of their own (a reshape that has to copy is counted as one that has not)."""


def _bytes(x: Atom) -> int:
    return math.prod(x.shape) * x.dtype.itemsize


@functools.lru_cache(512)
def peak(program: Program) -> int:
    """The most bytes that are alive at once."""
    owner: dict[int, Var] = {}
    last: dict[int, int] = {}
    made = {v.number for e in program.equations for v in e.outputs}
    for k, e in enumerate(program.equations):
        for v in e.outputs:
            seen = next(variables(e.inputs), None)
            owner[v.number] = owner.get(seen.number, seen) if e.primitive.name in VIEWS and seen is not None else v
        for v in (*variables(e.inputs), *e.outputs):
            last[owner.get(v.number, v).number] = k
    for v in variables(program.outputs):
        last[owner.get(v.number, v).number] = len(program.equations)
    ends: dict[int, list[int]] = {}
    for number, k in last.items():
        ends.setdefault(k, []).append(number)
    sizes: dict[int, int] = {}
    alive = most = 0
    for k, e in enumerate(program.equations):
        for v in e.outputs:
            if owner[v.number] is v and e.primitive.name not in VIEWS:
                sizes[v.number] = _bytes(v)
                alive += sizes[v.number]
        most = max(most, alive + max([peak(held) for _, held in programs(e)], default=0))
        alive -= sum([sizes.get(number, 0) for number in ends.get(k, ()) if number in made])
    return most


# ---- operations

MOVES = VIEWS | frozenset(
    "astype slice pad update put take concatenate stack roll iota gather embed_diagonal stop_gradient has_form nonzero trimmed "
    "positions wrapped winners occurrences guard".split()
)
"""Which compute nothing."""

REDUCTIONS = frozenset(
    "sum mean var prod max min nanmax nanmin logsumexp any all count_nonzero argmax argmin nanargmax nanargmin norm log_total "
    "cumsum cumprod cummax cummin softmax log_softmax scatter_add add_at max_at min_at gather_add has_nan".split()
)

CUBES = {
    "solve": 2 / 3, "resolve": 2 / 3, "det": 2 / 3, "slogdet": 2 / 3, "inv": 2, "cholesky": 1 / 3, "cholesky_pull": 5 / 3,
    "qr": 4 / 3, "eigvalsh": 4 / 3, "eigh": 9, "eigvals": 10, "eig": 25,
    "svdvals": 8 / 3, "svd": 21, "pinv": 21, "lstsq": 21, "matrix_rank": 8 / 3,
}  # fmt: skip
"""The factor of m·n·min(m, n). Source: Golub and Van Loan, Matrix Computations, 4th ed., 2013, chapters 3, 5, 7 and 8."""


def flops(program: Program) -> int:
    """Operations on numbers."""
    return sum(map(_flops, program.equations))


def _flops(e: Equation) -> int:
    name = e.primitive.name
    if type(e.primitive) is Structured:
        inside = [flops(held) for _, held in programs(e)]
        if name == "cond":
            return max(inside, default=0)
        return sum(inside) * (e["length"] if name == "scan" else 1)
    if name in MOVES:
        return 0
    if name in COUNTED:
        return COUNTED[name](e)
    if name in CUBES:
        m, n = (*e.inputs[0].shape[-2:], 1, 1)[:2]
        extra = 2 * m * math.prod(e.outputs[0].shape) if name in ("solve", "resolve") else 0
        return round(CUBES[name] * math.prod(e.inputs[0].shape) * min(m, n)) + extra
    if name in REDUCTIONS:
        return max([math.prod(x.shape) for x in e.inputs], default=0)
    return sum([math.prod(v.shape) for v in e.outputs])


def _dot(e: Equation) -> int:
    terms: int = math.prod([e.inputs[0].shape[i] for i in e["contract"][0]])
    return 2 * math.prod(e.outputs[0].shape) * terms


def _transform(e: Equation) -> int:
    whole = max(e.inputs[0].shape, e.outputs[0].shape, key=math.prod)
    n: int = whole[e["axis"]]
    return round(5 * math.prod(whole) * math.log2(max(n, 1)))


def _sorted(e: Equation) -> int:
    size = math.prod(e.inputs[0].shape)
    return round(size * math.log2(max(size, 1)))


def _convolved(e: Equation) -> int:
    return 2 * math.prod([math.prod(x.shape) for x in e.inputs])


COUNTED: dict[str, Callable[[Equation], int]] = {
    "dot": _dot,
    "convolve": _convolved,
    **dict.fromkeys("fft ifft rfft irfft".split(), _transform),
    **dict.fromkeys("argsort argpartition partition_order lexsort unique_places statistic".split(), _sorted),
}
