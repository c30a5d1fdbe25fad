"""The pull of one step as the body of a loop, and the step that leaves behind what it takes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import attrs

from funcgrad.control.layout import Mask, arranged, with_sums
from funcgrad.program.program import Program, renumbered
from funcgrad.transforms.derive import Pair, paired
from funcgrad.transforms.walk import Product


@attrs.frozen
class Back:
    """The pull of one step as the body of a loop, and the step that leaves behind what it takes.

    `kept` are the places, among what crosses, of what is stacked; `fixed` of what is the same in all steps; `rows` of xs.
    """

    forward: Program
    pull: Program
    constants: tuple[Any, ...]
    kept: int
    fixed: tuple[int, ...]
    rows: tuple[int, ...]


@functools.lru_cache(512)
def backwards(body: Program, consts: int, carry: int, mask: Mask, wanted: Mask, product: Product | None) -> Back:
    pair = paired(body, mask, wanted, product, consts)
    n, k, c = len(body.inputs), consts + carry, len(pair.constants)
    stacked = [j for j, i in enumerate(pair.crossing) if consts <= i < k or i >= n + c]
    fixed = [j for j, i in enumerate(pair.crossing) if i < consts or n <= i < n + c]
    rows = [j for j, i in enumerate(pair.crossing) if k <= i < n]
    return Back(
        _leaving(pair, body, consts, k, stacked),
        _stepping(pair, mask, wanted, consts, carry, fixed, stacked, rows),
        pair.constants,
        len(stacked),
        tuple([pair.crossing[j] for j in fixed]),
        tuple([pair.crossing[j] for j in rows]),
    )


def _leaving(pair: Pair, body: Program, consts: int, k: int, stacked: Sequence[int]) -> Program:
    """The step with what crosses behind its results."""
    step, n = pair.forward, len(body.inputs)
    named = [*step.inputs, *step.outputs[len(body.outputs) :]]
    inputs = [*step.inputs[:consts], *step.inputs[n:], *step.inputs[consts:n]]
    return renumbered(inputs, step.equations, [*step.outputs[: len(body.outputs)], *[named[pair.crossing[j]] for j in stacked]])


def _stepping(
    pair: Pair, mask: Mask, wanted: Mask, consts: int, carry: int, fixed: Sequence[int], stacked: Sequence[int], rows: Sequence[int]
) -> Program:
    """(what is fixed; cotangents of the carry, sums; stacks, xs, cotangents of the ys) to (carry, sums; cotangents of the xs)."""
    sums, moving, steps = sum(mask[:consts]), sum(mask[consts : consts + carry]), sum(mask[consts + carry :])
    pull = with_sums(pair.pull, range(sums))
    n, ys = len(pair.crossing), sum(wanted[carry:])
    cts = range(n, n + moving)
    ys_cts = range(n + moving, n + moving + ys)
    so_far = range(n + moving + ys, n + moving + ys + sums)
    outs = [*range(sums, sums + moving), *range(sums), *range(sums + moving, sums + moving + steps)]
    return arranged(pull, [*fixed, *cts, *so_far, *stacked, *rows, *ys_cts], outs)
