"""`np.einsum`: the subscripts are read once per shape, and become sums, diagonals and products of two.

The order of the products is that of `np.einsum_path`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad.core import Value, dtype_of, shape_of
from funcgrad.numpy.contraction import operand
from funcgrad.numpy.dispatch import implements
from funcgrad.ops import contraction as ops
from funcgrad.ops import reductions
from funcgrad.ops.shaping import cast, diagonal, reshape, transpose

Shapes = tuple[tuple[int, ...], ...]


@implements(np.einsum)
def einsum(*operands: Any, out: None = None, optimize: Any = False, dtype: Any = None, casting: str = "safe", order: str = "K") -> Value:
    subscripts, given = _string_form(operands)
    values = [operand(x) for x in given]
    key = tuple(optimize) if isinstance(optimize, list) else optimize
    steps = _steps(subscripts, tuple([shape_of(x) for x in values]), key)
    values = _in_one_dtype(values, dtype, casting)
    for step in steps:
        values.append(step(values))
    return values[-1]


def _string_form(operands: tuple[Any, ...]) -> tuple[str, Sequence[Any]]:
    """The subscripts as one string, also where they came as lists of numbers behind their operands."""
    if isinstance(operands[0], str):
        return operands[0], operands[1:]
    n = len(operands) // 2
    text = ",".join(_letters(sub) for sub in operands[1 : 2 * n : 2])
    return text + ("->" + _letters(operands[-1]) if len(operands) % 2 else ""), operands[0 : 2 * n : 2]


def _letters(sub: Sequence[Any]) -> str:
    """Numbers as letters in the order of their ASCII codes, which is that of an implicit output."""
    if any(s is not Ellipsis and not 0 <= s < 52 for s in sub):
        raise ValueError("subscript is not within the valid range [0, 52)")
    return "".join("..." if s is Ellipsis else chr(65 + s if s < 26 else 71 + s) for s in sub)


def _in_one_dtype(values: list[Value], dtype: Any, casting: str) -> list[Value]:
    dtypes = [dtype_of(x) for x in values]
    common = np.result_type(*dtypes) if dtype is None else np.dtype(dtype)
    for k, own in enumerate(dtypes):
        if not np.can_cast(own, common, casting):  # type: ignore[arg-type]
            raise TypeError(f"Iterator operand {k} dtype could not be cast from {own!r} to {common!r} according to the rule '{casting}'")
    return [x if own == common else cast(x, common) for x, own in zip(values, dtypes, strict=True)]


# ---- reading


def _read(subscripts: str, shapes: Shapes) -> tuple[list[str], str]:
    """The letters of the operands and of the output; the axes under an ellipsis are α, β, …, aligned at the end."""
    text, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = text.split(",")
    under = [len(shape) - len(t.replace("...", "")) if "..." in t else 0 for t, shape in zip(terms, shapes, strict=True)]
    hidden = "".join([chr(945 + i) for i in range(max(under))])
    terms = [t.replace("...", hidden[len(hidden) - n :]) for t, n in zip(terms, under, strict=True)]
    if arrow and hidden and "..." not in out:
        raise ValueError(
            "output has more dimensions than subscripts given in einstein sum, "
            "but no '...' ellipsis provided to broadcast the extra dimensions."
        )
    if not arrow:
        letters = "".join(terms)
        return terms, hidden + "".join(sorted(c for c in set(letters) - set(hidden) if letters.count(c) == 1))
    return terms, out.replace("...", hidden)


def _check_diagonals(terms: list[str], shapes: Shapes) -> None:
    """`np.einsum` does not broadcast within an operand, though `np.einsum_path` would."""
    for k, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        for c in {c for c in term if term.count(c) > 1}:
            sizes = [n for d, n in zip(term, shape, strict=True) if d == c]
            if min(sizes) != max(sizes):
                raise ValueError(f"dimensions in operand {k} for collapsing index '{c}' don't match ({sizes[0]} != {sizes[-1]})")


# ---- lowering


def _sum(x: Value, axis: tuple[int, ...]) -> Value:
    """In the dtype of `x`, also where that is of small whole numbers."""
    out, dtype = reductions.sum(x, axis=axis), dtype_of(x)
    return out if dtype_of(out) == dtype else cast(out, dtype)


Step = Callable[[list[Value]], Value]


@attrs.frozen
class Term:
    """Which value stands for which letters."""

    k: int
    letters: str
    shape: tuple[int, ...]


@functools.lru_cache(512)
def _steps(subscripts: str, shapes: Shapes, optimize: Any) -> tuple[Step, ...]:
    """What to compute, each step from the values so far."""
    path = _path(subscripts, shapes, optimize)
    letters, out = _read(subscripts, shapes)
    _check_diagonals(letters, shapes)
    sizes = {c: 1 for term in letters for c in term}
    for term, shape in zip(letters, shapes, strict=True):
        for c, n in zip(term, shape, strict=True):
            sizes[c] = n if sizes[c] == 1 else sizes[c]
    plan = Plan(len(shapes))
    terms = [plan.distinct(plan.stretched(Term(k, t, s), sizes)) for k, (t, s) in enumerate(zip(letters, shapes, strict=True))]
    for positions in path:
        group = [terms.pop(i) for i in sorted(positions, reverse=True)][::-1]
        while len(group) > 1:
            x, y, *group = group
            group.insert(0, plan.product(x, y, "".join(t.letters for t in (*group, *terms)), out))
        terms.append(group[0])
    plan.ordered(plan.summed(terms[0], out), out)
    return tuple(plan.steps)


def _path(subscripts: str, shapes: Shapes, optimize: Any) -> list[tuple[int, ...]]:
    """Checks the subscripts; two at a time, in a good order, also where NumPy would take all operands at once."""
    how = "greedy" if optimize is False or optimize is True else optimize
    if type(how) is tuple and how[0] == "einsum_path":
        how = list(how)
    found: list[Any] = np.einsum_path(subscripts, *[np.broadcast_to(0.0, s) for s in shapes], optimize=how)[0]
    return found[1:]


class Plan:
    """The steps of an einsum, while they are written down."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.steps: list[Step] = []

    def add(self, step: Step, letters: str, shape: tuple[int, ...]) -> Term:
        self.steps.append(step)
        return Term(self.n + len(self.steps) - 1, letters, shape)

    def stretched(self, x: Term, sizes: dict[str, int]) -> Term:
        """Leave out the axes of length 1 that meet longer ones."""
        kept = [(c, n) for c, n in zip(x.letters, x.shape, strict=True) if n == sizes[c]]
        if len(kept) == len(x.letters):
            return x
        k, shape = x.k, tuple(n for _, n in kept)
        return self.add(lambda values: reshape(values[k], shape=shape), "".join(c for c, _ in kept), shape)

    def distinct(self, x: Term) -> Term:
        """Take the diagonal along letters that stand more than once."""
        for c in x.letters:
            while x.letters.count(c) > 1:
                i = x.letters.index(c)
                x = self.diagonal(x, i, x.letters.index(c, i + 1))
        return x

    def diagonal(self, x: Term, i: int, j: int) -> Term:
        k, n = x.k, x.shape[i]
        rest = [a for a in range(len(x.shape)) if a not in (i, j)]
        axes = tuple(a - len(x.shape) for a in (*rest, i, j))
        shape = tuple(x.shape[a] for a in rest)

        def step(values: list[Value]) -> Value:
            return diagonal(transpose(values[k], axes=axes), offset=0)

        return self.add(step, "".join(x.letters[a] for a in rest) + x.letters[i], (*shape, n))

    def summed(self, x: Term, needed: str) -> Term:
        """Sum over the letters that nothing needs any more."""
        axis = tuple(i - len(x.letters) for i, c in enumerate(x.letters) if c not in needed)
        if not axis:
            return x
        k = x.k
        kept = [(c, n) for c, n in zip(x.letters, x.shape, strict=True) if c in needed]
        return self.add(lambda values: _sum(values[k], axis), "".join(c for c, _ in kept), tuple(n for _, n in kept))

    def product(self, x: Term, y: Term, later: str, out: str) -> Term:
        """Of two terms, keeping what later ones and the output need; the last product has the order of the output."""
        x, y = self.summed(x, y.letters + later + out), self.summed(y, x.letters + later + out)
        sizes = dict(zip(x.letters + y.letters, x.shape + y.shape, strict=True))
        letters = "".join(c for c in sizes if c in later or c in out) if later else out
        i, j, subscripts = x.k, y.k, f"{x.letters},{y.letters}->{letters}"
        return self.add(lambda values: ops.einsum(values[i], values[j], subscripts=subscripts), letters, tuple(sizes[c] for c in letters))

    def ordered(self, x: Term, out: str) -> Term:
        """Bring the axes into the order of the output."""
        k = x.k
        if x.letters == out:
            return x if self.steps else self.add(lambda values: values[k], out, x.shape)
        axes = tuple(x.letters.index(c) - len(out) for c in out)
        return self.add(lambda values: transpose(values[k], axes=axes), out, tuple(x.shape[a] for a in axes))
