"""Random nests of loops and branches, each spelled twice: in plain Python, and with control-flow operations.

The state is a vector and a number; both stay small. A nest is a tree of `Node`s, which `run` takes through the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

import funcgrad as fg

State = tuple[Any, Any]

STEPS: dict[str, Callable[[Any, Any, Any], State]] = {
    "x, s = sin(x) + s, s": lambda x, s, c: (np.sin(x) + s, s),
    "x, s = x * c, tanh(s)": lambda x, s, c: (x * c, np.tanh(s)),
    "x, s = x, s + 0.3 * sum(x)": lambda x, s, c: (x, np.tanh(s + 0.3 * np.sum(x))),
    "x, s = x[::-1] - c, s * x[0]": lambda x, s, c: (np.tanh(x[::-1] - c), np.sin(s * x[0])),
    "x, s = cumsum(x) / 2, 1 - s": lambda x, s, c: (np.tanh(np.cumsum(x) / 2), 1.0 - s),
    "x, s = where(x > s, x, c), s": lambda x, s, c: (np.where(x > s, x, c), s),
    "x, s = stack([s, x[1], s]), mean(x)": lambda x, s, c: (np.stack([s, x[1], s]), np.mean(x)),
    "x, s = x @ outer(c, c) / 3, s": lambda x, s, c: (np.tanh(x @ np.outer(c, c) / 3), s),
}


class Plain:
    """The spelling in Python."""

    @staticmethod
    def scan(f: Any, init: Any, xs: Any, reverse: bool) -> Any:
        carry, ys = init, []
        for x in xs[::-1] if reverse else xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, np.stack(ys[::-1] if reverse else ys)

    @staticmethod
    def fori(n: Any, f: Any, init: Any) -> Any:
        for i in range(n):
            init = f(i, init)
        return init

    @staticmethod
    def loop(cond: Any, f: Any, init: Any) -> Any:
        while cond(init):
            init = f(init)
        return init

    @staticmethod
    def choose(which: Any, branches: Sequence[Any], state: State) -> Any:
        return branches[int(which)](state)


class Structured:
    """The spelling with control-flow operations."""

    def __init__(self, checkpoint: Any = None) -> None:
        self.checkpoint = checkpoint

    def scan(self, f: Any, init: Any, xs: Any, reverse: bool) -> Any:
        return fg.scan(f, init, xs, reverse=reverse, checkpoint=self.checkpoint)

    def fori(self, n: Any, f: Any, init: Any) -> Any:
        return fg.fori_loop(0, n, f, init, checkpoint=self.checkpoint)

    def loop(self, cond: Any, f: Any, init: Any) -> Any:
        return fg.while_loop(cond, f, init, checkpoint=self.checkpoint)

    def choose(self, which: Any, branches: Sequence[Any], state: State) -> Any:
        if len(branches) == 2:
            return fg.cond(which, branches[1], branches[0], state)
        return fg.switch(which, branches, state)


@attrs.frozen
class Node:
    kind: str
    name: str = ""
    size: int = 0
    parts: tuple[tuple[Node, ...], ...] = ()
    reverse: bool = False

    def run(self, flow: Any, state: State, c: Any) -> State:
        return getattr(self, f"_{self.kind}")(flow, state, c)  # type: ignore[no-any-return]

    def _step(self, flow: Any, state: State, c: Any) -> State:
        return STEPS[self.name](*state, c)

    def _inside(self, k: int, flow: Any, c: Any) -> Callable[[State], State]:
        def body(state: State) -> State:
            for node in self.parts[k]:
                state = node.run(flow, state, c)
            return state

        return body

    def _scan(self, flow: Any, state: State, c: Any) -> State:
        """Over rows made of the captured vector; each y counts in the end."""
        inside = self._inside(0, flow, c)

        def f(carry: State, row: Any) -> Any:
            x, s = inside((np.tanh(carry[0] + row), carry[1]))
            return (x, s), x * s

        (x, s), ys = flow.scan(f, state, np.outer(np.arange(1.0, 1.0 + self.size) / 3, c), self.reverse)
        return x, np.tanh(s + np.sum(ys * ys))

    def _fori(self, flow: Any, state: State, c: Any) -> State:
        inside = self._inside(0, flow, c)
        return flow.fori(self.size, lambda i, carry: inside((carry[0] + 0.1 * i, carry[1])), state)  # type: ignore[no-any-return]

    def _loop(self, flow: Any, state: State, c: Any) -> State:
        """As long as a value is small, which depends on the data, and for so many steps at most."""
        inside = self._inside(0, flow, c)
        going = lambda carry: (carry[1] < self.size) & (carry[0][1] < 0.7)
        step = lambda carry: (inside(carry[0]), carry[1] + 1)
        return flow.loop(going, step, (state, 0))[0]  # type: ignore[no-any-return]

    def _choose(self, flow: Any, state: State, c: Any) -> State:
        branches = [self._inside(k, flow, c) for k in range(len(self.parts))]
        which = state[1] > 0.2 if len(branches) == 2 else (state[1] > 0.0) * 1 + (state[0][0] > 0.1) * 1
        return flow.choose(which, branches, state)  # type: ignore[no-any-return]


def _nested(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    part = st.lists(inner, min_size=1, max_size=2).map(tuple)
    one = part.map(lambda p: (p,))
    return st.one_of(
        st.builds(Node, st.just("scan"), st.just(""), st.integers(1, 3), one, st.booleans()),
        st.builds(Node, st.just("fori"), st.just(""), st.integers(0, 3), one),
        st.builds(Node, st.just("loop"), st.just(""), st.integers(0, 3), one),
        st.builds(Node, st.just("choose"), st.just(""), st.just(0), st.lists(part, min_size=2, max_size=3).map(tuple)),
    )


STEP = st.sampled_from(sorted(STEPS)).map(lambda name: Node("step", name))
nests = st.lists(_nested(st.one_of(STEP, _nested(STEP))), min_size=1, max_size=2)
"""Up to two loops or branches deep, one after the other."""


def result(nodes: Sequence[Node], flow: Any) -> Callable[[Any, Any, Any], Any]:
    def f(x: Any, s: Any, c: Any) -> Any:
        state = (x, s)
        for node in nodes:
            state = node.run(flow, state, c)
        return np.sum(np.sin(state[0])) * state[1] + np.sum(state[0] ** 2)

    return f
