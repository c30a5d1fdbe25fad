"""Random programs: straight-line code in plain NumPy over one to three small arrays, smooth everywhere and never large.

A program is a list of steps; each applies an operation to earlier values. The output is the last value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

Shape = tuple[int, ...]

UNARY: dict[str, Callable[[Any], Any]] = {
    "np.sin({0})": np.sin,
    "np.cos({0})": np.cos,
    "np.tanh({0})": np.tanh,
    "np.arctan({0})": np.arctan,
    "np.exp(np.sin({0}))": lambda x: np.exp(np.sin(x)),
    "np.log1p({0} ** 2)": lambda x: np.log1p(x**2),
    "np.logaddexp({0}, 0.0)": lambda x: np.logaddexp(x, 0.0),
    "{0} / np.sqrt(1 + {0} * {0})": lambda x: x / np.sqrt(1 + x * x),
    "1.5 - {0}": lambda x: 1.5 - x,
    "-{0}": lambda x: -x,
    "np.tanh({0}) ** 3": lambda x: np.tanh(x) ** 3,
    "{0}": lambda x: x,
}
"""Keep the shape. What grows is squashed, so that no program overflows."""

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "{0} + {1}": lambda x, y: x + y,
    "{0} - {1}": lambda x, y: x - y,
    "np.tanh({0}) * {1}": lambda x, y: np.tanh(x) * y,
    "{0} / (2 + np.sin({1}))": lambda x, y: x / (2 + np.sin(y)),
    "np.arctan2({0}, 2 + np.cos({1}))": lambda x, y: np.arctan2(x, 2 + np.cos(y)),
    "np.hypot(1 + {0} * {0}, {1})": lambda x, y: np.hypot(1 + x * x, y),
    "(2 + np.sin({0})) ** np.cos({1})": lambda x, y: (2 + np.sin(x)) ** np.cos(y),
}
"""Broadcast."""

MOVES: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "{0}.T": (1, lambda x: x.T),
    "{0}[::-1]": (1, lambda x: x[::-1]),
    "{0}[0]": (1, lambda x: x[0]),
    "{0}[[0, -1, 0]]": (1, lambda x: x[[0, -1, 0]]),
    "{0}[..., None]": (0, lambda x: x[..., None]),
    "{0}[..., 1:]": (1, lambda x: x[..., 1:]),
    "np.sum({0})": (0, lambda x: np.sum(x)),
    "np.sum({0}, axis=0)": (1, lambda x: np.sum(x, axis=0)),
    "np.mean({0}, axis=-1, keepdims=True)": (1, lambda x: np.mean(x, axis=-1, keepdims=True)),
    "np.where(np.arange({0}.shape[-1]) % 2 == 0, {0}, 0.5)": (1, lambda x: np.where(np.arange(x.shape[-1]) % 2 == 0, x, 0.5)),
    "np.reshape({0}, -1)": (0, lambda x: np.reshape(x, -1)),
    "np.cumsum({0}, axis=-1)": (1, lambda x: np.cumsum(x, axis=-1)),
}
"""Change the shape; with the least number of axes each needs."""

JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "np.stack([{0}, {1}])": lambda x, y: np.stack([x, y]),
    "np.where(np.ones({0}.shape, bool), {0}, {1})": lambda x, y: np.where(np.ones(np.shape(x), bool), x, y),
}
"""Take two of one shape."""


@attrs.frozen
class Step:
    text: str
    apply: Any
    operands: tuple[int, ...]


@attrs.frozen(repr=False)
class Program:
    """Callable on arrays or tracers; printed as the code it stands for."""

    shapes: tuple[Shape, ...]
    steps: tuple[Step, ...]

    def __call__(self, *inputs: Any) -> Any:
        values = list(inputs)
        for step in self.steps:
            values.append(step.apply(*[values[i] for i in step.operands]))
        return values[-1]

    def loss(self, *inputs: Any) -> Any:
        """A scalar in which every element counts differently, and not linearly."""
        out = self(*inputs)
        weights = np.linspace(0.5, 1.5, max(int(np.prod(np.shape(out))), 1)).reshape(np.shape(out))
        return np.sum(weights * np.sin(out))

    def inputs(self, seed: int) -> tuple[Any, ...]:
        rng = np.random.default_rng(seed)
        return tuple(np.asarray(rng.uniform(-1.5, 1.5, shape)) for shape in self.shapes)

    def __repr__(self) -> str:
        n = len(self.shapes)
        lines = [f"v{n + k} = {step.text.format(*[f'v{i}' for i in step.operands])}" for k, step in enumerate(self.steps)]
        head = f"def f({', '.join(f'v{k}: {list(shape)}' for k, shape in enumerate(self.shapes))}):"
        return "\n  ".join([head, *lines, f"return v{n + len(self.steps) - 1}"])


SHAPES: tuple[Shape, ...] = ((), (3,), (2, 3), (1, 3), (3, 3))


@st.composite
def programs(draw: Any, inputs: tuple[int, ...] = (1, 2, 3), shapes: tuple[Shape, ...] = SHAPES, steps: int = 7) -> Program:
    """Programs of up to `steps` steps; every step has operands whose shapes fit. Where all inputs are scalars, all steps are arithmetic."""
    n = draw(st.sampled_from(inputs))
    starts = tuple(draw(st.sampled_from(shapes)) for _ in range(n))
    found, made = list(starts), []
    for _ in range(draw(st.integers(1, steps))):
        step = draw(st.sampled_from(_fitting(found, draw(st.integers(0, len(found) - 1)), shapes == ((),))))
        made.append(step)
        found.append(np.shape(step.apply(*[np.ones(found[i])[()] for i in step.operands])))
    return Program(starts, tuple(made))


def _fitting(shapes: list[Shape], i: int, arithmetic: bool) -> list[Step]:
    """The steps that take value `i` first."""
    mine, steps = shapes[i], [Step(text, f, (i,)) for text, f in UNARY.items()]
    if np.prod(mine) <= 27 and not arithmetic:
        steps += [Step(text, f, (i,)) for text, (ndim, f) in MOVES.items() if len(mine) >= ndim and _not_empty(text, mine)]
    for j, other in enumerate(shapes):
        if _broadcast(mine, other):
            steps += [Step(text, f, (i, j)) for text, f in BINARY.items()]
        if mine == other and np.prod(mine) <= 27 and not arithmetic:
            steps += [Step(text, f, (i, j)) for text, f in JOINS.items()]
        if mine and other and mine[-1] == (other[-2] if len(other) > 1 else other[0]) and len(mine) <= 2 and len(other) <= 2:
            steps.append(Step("{0} @ {1}", lambda x, y: x @ y, (i, j)))
    return steps


def _not_empty(text: str, shape: Shape) -> bool:
    return not text.endswith("1:]") or shape[-1] > 1


def _broadcast(a: Shape, b: Shape) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))
