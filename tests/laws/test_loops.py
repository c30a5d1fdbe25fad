"""Random nests of loops and branches: control-flow operations mean what plain Python means, under every transformation."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from tests.laws.loops import Node, Plain, Structured, nests, result

EXAMPLES = settings().max_examples
quick = settings(
    max_examples=EXAMPLES if EXAMPLES > 1000 else max(25, EXAMPLES // 2),  # a nest costs ten times what another example does
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def inputs(seed: int, lanes: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    lead = (lanes,) if lanes else ()
    return rng.normal(size=(*lead, 3)), rng.normal(size=lead)[()], rng.normal(size=(*lead, 3))


def close(found: Any, expected: Any) -> None:
    for x, y in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9)


@quick
@given(nests, st.integers(0, 1000))
def test_value_and_both_modes(nodes: list[Node], seed: int) -> None:
    f, g = result(nodes, Structured()), result(nodes, Plain())
    args = inputs(seed)
    close(f(*args), g(*args))
    every = (0, 1, 2)
    close(fg.value_and_grad(f, every)(*args), fg.value_and_grad(g, every)(*args))
    moves = inputs(seed + 1)
    close(fg.jvp(f, args, moves), fg.jvp(g, args, moves))


@quick
@given(nests, st.integers(0, 1000))
def test_second_order(nodes: list[Node], seed: int) -> None:
    f, g = result(nodes, Structured()), result(nodes, Plain())
    args, moves = inputs(seed), inputs(seed + 1)
    every = (0, 1, 2)
    close(fg.jvp(fg.grad(f, every), args, moves), fg.jvp(fg.grad(g, every), args, moves))
    close(fg.grad(lambda *a: fg.grad(f)(*a) @ moves[0], every)(*args), fg.grad(lambda *a: fg.grad(g)(*a) @ moves[0], every)(*args))


@quick
@given(nests, st.integers(0, 1000), st.tuples(st.booleans(), st.booleans(), st.booleans()).filter(any))
def test_vmap(nodes: list[Node], seed: int, mapped: tuple[bool, ...]) -> None:
    """Three lanes, as many as the vector has elements."""
    f, g = result(nodes, Structured()), result(nodes, Plain())
    many = inputs(seed, 3)
    args = [x if yes else x[0] for x, yes in zip(many, mapped, strict=True)]
    rows = [[x[i] if yes else x for x, yes in zip(args, mapped, strict=True)] for i in range(3)]
    axes = tuple([0 if yes else None for yes in mapped])
    close(fg.vmap(f, axes)(*args), np.stack([g(*row) for row in rows]))
    every = (0, 1, 2)
    lanes = [fg.grad(g, every)(*row) for row in rows]
    stacked = [np.stack(column) for column in zip(*lanes, strict=True)]
    close(fg.vmap(fg.grad(f, every), axes)(*args), stacked)
    outside = fg.grad(lambda *a: np.sum(fg.vmap(f, axes)(*a)), every)(*args)
    close(outside, [x if yes else x.sum(0) for x, yes in zip(stacked, mapped, strict=True)])


@quick
@given(nests, st.integers(0, 1000), st.sampled_from([1, 2, 5, fg.Binomial(1), fg.Binomial(2), fg.Binomial(2, 2)]))
def test_checkpoints(nodes: list[Node], seed: int, checkpoint: Any) -> None:
    f, g = result(nodes, Structured(checkpoint)), result(nodes, Plain())
    args = inputs(seed)
    close(fg.value_and_grad(f, (0, 1, 2))(*args), fg.value_and_grad(g, (0, 1, 2))(*args))
    close(fg.jvp(fg.grad(f), args, inputs(seed + 1)), fg.jvp(fg.grad(g), args, inputs(seed + 1)))
