"""Loops on Python's floats: the bits, errors and warnings of the loop by NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.control.stepping import Back, backwards
from funcgrad.program.evaluate import evaluate
from funcgrad.program.floats import BLOCK, FEW, blocks, float_loop
from funcgrad.program.loops import scan_by_numpy, scan_code
from funcgrad.program.numbers import in_numbers
from funcgrad.program.program import Program
from tests.program.test_passes import bits

quick = settings(deadline=None)
seeds = st.integers(0, 2**16)

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -2.0, 1e-200, 1e160, -1e200]
SHAPES = [(), (1,), (3,), (4,), (2, 2), (1, 3)]

STEPS: list[tuple[int, Callable[..., Any]]] = [
    (2, lambda x, y: x + y),
    (2, lambda x, y: x - y),
    (2, lambda x, y: x * y),
    (1, lambda x: -x),
    (1, lambda x: x * 0.5 - 0.0),
    (1, lambda x: np.square(x)),
    (1, lambda x: np.abs(x)),
    (1, lambda x: np.sqrt(np.abs(x))),
    (1, lambda x: x[::-1] if x.ndim else x),
    (1, lambda x: x[1:] if x.ndim and x.shape[0] > 1 else x),
    (1, lambda x: x.T),
    (1, lambda x: x.reshape(-1)),
    (1, lambda x: x[None]),
    (1, lambda x: np.broadcast_to(x, (3,)) if x.shape in ((), (1,), (3,)) else x),
    (1, lambda x: x[0] if x.ndim else np.stack([x, -x, x])),
    (1, lambda x: np.sum(x, axis=0) if x.ndim else x),
    (1, lambda x: np.sum(x, axis=-1, keepdims=True) if x.ndim else x),
    (2, lambda x, y: np.concatenate([x[:1], y[:1], x[:1]]) if x.ndim == y.ndim == 1 else x),
    (2, lambda x, y: np.stack([x, y], axis=-1) if x.shape == y.shape and x.size <= 2 else y),
]
RARE: list[tuple[int, Callable[..., Any]]] = [
    (2, lambda x, y: x / y),
    (1, lambda x: 1.0 / x),
    (1, lambda x: np.sqrt(x)),
]


def body(seed: int, steps: list[tuple[int, Callable[..., Any]]]) -> Program:
    """A random step of two carries, a number and three numbers; with two constants, two rows of xs and three ys."""
    rng = np.random.default_rng(seed)
    plan = [(steps[i], rng.integers(0, 1 << 30, 2)) for i in rng.integers(0, len(steps), rng.integers(2, 12))]
    picks = rng.integers(0, 1 << 30, 5)

    def step(c: Any, k: Any, s: Any, v: Any, x: Any, m: Any) -> Any:
        pool = [c, k, s, v, x, m]
        for (n, f), at in plan:
            args = [pool[i % len(pool)] for i in at[:n]]
            made = f(*args) if _meet(args) else args[0]
            if made.shape in SHAPES:
                pool.append(made)
        numbers, lines = [p for p in pool if p.shape == ()], [p for p in pool if p.shape == (3,)]
        return (numbers[-1], lines[-1], *[pool[-(i % 4) - 1] for i in picks[:3]])

    like = [np.ones(shape)[()] for shape in ((3,), (), (), (3,), (), (2, 2))]
    with np.errstate(all="ignore"):
        return fg.trace(step)(*like).closed


def backward(program: Program) -> Back:
    with np.errstate(all="ignore"):
        return backwards(program, 2, 2, (True,) * 6, (True,) * len(program.outputs), None)


def _meet(args: list[Any]) -> bool:
    try:
        return np.broadcast_shapes(*[a.shape for a in args]) in SHAPES
    except ValueError:
        return False


def values(seed: int, program: Program, before: int, length: int, special: bool) -> list[Any]:
    """Operands of a loop: `before` that are the same in all steps, and rows."""
    rng = np.random.default_rng(seed)

    def some(shape: tuple[int, ...]) -> Any:
        return rng.choice(SPECIAL, shape)[()] if special else rng.normal(size=shape)[()] * 0.9

    return [some(v.shape if k < before else (length, *v.shape)) for k, v in enumerate(program.inputs)]


def heard(run: Callable[[], Any]) -> Any:
    """What comes out, and which kinds of warnings on the way; or which error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = bits(run())
        except FloatingPointError as error:
            return str(error)
    return found, {str(w.message).split(" in ")[0] for w in said}


lengths = st.sampled_from([0, 1, FEW + 1, BLOCK, 2 * BLOCK + 3])


def agree(program: Program, consts: int, carry: int, reverse: bool, args: list[Any], length: int) -> None:
    found = heard(lambda: scan_code(program, consts, carry, reverse)(length, *args))
    assert found == heard(lambda: scan_by_numpy(program, consts, carry, reverse, 1)(length, *args))


@quick
@given(seeds, st.booleans(), lengths, st.booleans())
def test_random_loops(seed: int, special: bool, length: int, reverse: bool) -> None:
    """Bits and warnings."""
    program = body(seed, STEPS + RARE)
    agree(program, 2, 2, reverse, values(seed, program, 4, length, special), length)


@quick
@given(seeds, st.booleans(), lengths)
def test_random_pulls(seed: int, special: bool, length: int) -> None:
    """The same of the loop backwards."""
    back = backward(body(seed, STEPS))
    consts = len(back.fixed)
    agree(back.pull, consts, 4, True, values(seed, back.pull, consts + 4, length, special), length)


@quick
@given(seeds, st.booleans())
def test_programs_of_numbers(seed: int, special: bool) -> None:
    """The same elements."""
    program = body(seed, STEPS)
    for part in (program, backward(program).pull):
        numbers = in_numbers(part)
        if numbers is not None:
            args = values(seed, part, len(part.inputs), 0, special)
            with np.errstate(all="ignore"):
                expected = evaluate(part, args)
                found = evaluate(numbers, [y for x in args for y in np.ravel(x)])
            assert bits([np.array(found)]) == bits([np.concatenate(list(map(np.ravel, expected)))])


def test_most_random_loops_are_of_floats() -> None:
    """So that the tests above say something."""
    assert np.mean([float_loop(body(seed, STEPS), 2, 2, False) is not None for seed in range(50)]) > 0.5


@pytest.mark.parametrize(
    ("step", "first", "message"),
    [
        (lambda c, _: (c * c, None), 1e10, "overflow encountered in scalar multiply"),
        (lambda c, _: (c - 1.0, 1.0 / c), 30.0, "divide by zero encountered in scalar divide"),
        (lambda c, _: (c * c, 1.0 / c), 1e10, "overflow encountered in scalar multiply"),
        (lambda c, _: (c - 1.0, np.sqrt(c)), 30.0, "invalid value encountered in sqrt"),
        (lambda c, _: (np.stack([c[0] + 1e153, c[0] * c[0]]), None), (1e153, 1.0), "overflow encountered in scalar multiply"),
    ],
)
def test_warnings(step: Any, first: Any, message: str) -> None:
    """Are NumPy's, also where what is not finite leaves no trace; and so are the errors, where they are asked for."""
    with pytest.warns(RuntimeWarning, match=message):
        fg.scan(step, np.array(first)[()], None, 40)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match=message):
        fg.scan(step, np.array(first)[()], None, 40)


def test_underflow() -> None:
    """Is told to those who ask."""
    assert fg.scan(lambda c, _: (c * c, None), 0.5, None, 40)[0] == 0.0
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        fg.scan(lambda c, _: (c * c, None), 0.5, None, 40)


@pytest.mark.parametrize("length", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK])
@pytest.mark.parametrize("reverse", [False, True])
def test_blocks(length: int, reverse: bool) -> None:
    """All steps once, in order."""
    found = [t for at in blocks(length, reverse) for t in range(length)[at]]
    assert found == (list(range(length))[::-1] if reverse else list(range(length)))
