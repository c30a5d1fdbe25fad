"""Random programs made of equations, of the kinds that passes rewrite: signs, units, fills, and moves that undo each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from funcgrad.core import Primitive
from funcgrad.ops import cumulative, elementwise, reductions, shaping
from funcgrad.ops.kinds import BY_UFUNC
from funcgrad.program.program import FILL, Builder, Literal, Program, sorted_params
from funcgrad.program.vocabulary import DOT, PAD, SLICE, box, of_equation

SHAPES = ((), (4,), (2, 3), (3, 1), (1, 4))
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 0.1, 3.0)
EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1e-310)
UNARY = "negative negative negative absolute square positive exp sqrt sign".split()
BINARY = "add add subtract subtract multiply multiply multiply divide divide maximum".split()
DTYPES = (np.float64, np.float64, np.float64, np.float32, np.int64)


class Drawn:
    """A program as it grows."""

    def __init__(self, draw: Any) -> None:
        self.draw, self.made = draw, Builder()
        self.values: list[Any] = []

    def one(self, items: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(items))

    def of(self, fits: Callable[[Any], bool]) -> Any:
        found = [v for v in self.values if fits(v)]
        return self.one(found) if found else None

    def write(self, prim: Primitive, inputs: Sequence[Any], specs: Any, **params: Any) -> None:
        self.values += self.made.write(prim, inputs, specs, sorted_params(params))

    def unary(self) -> None:
        prim = getattr(elementwise, self.one(UNARY))
        x = self.of(lambda v: v.dtype.kind == "f")
        if x is not None:
            self.write(prim, [x], [(x.shape, x.dtype)])

    def binary(self) -> None:
        x = self.one(self.values)
        y = self.of(lambda v: v.dtype == x.dtype and fit(v.shape, x.shape))
        if self.draw(st.booleans()):
            y = Literal(x.dtype.type(self.one(NUMBERS)))
        pair = [x, y] if self.draw(st.booleans()) else [y, x]
        prim = BY_UFUNC[getattr(np, self.one(BINARY))]
        if prim.name == "divide" and x.dtype.kind != "f":
            return
        self.write(prim, pair, [(np.broadcast_shapes(x.shape, y.shape), x.dtype)])

    def choice(self) -> None:
        x = self.one(self.values)
        y = self.of(lambda v: v.dtype == x.dtype and fit(v.shape, x.shape))
        (c,) = self.made.write(BY_UFUNC[np.less], [x, y], [(np.broadcast_shapes(x.shape, y.shape), np.dtype(bool))])
        self.write(elementwise.where, [c, x, y], [(c.shape, x.dtype)])

    def fill(self) -> None:
        dtype = np.dtype(self.one(DTYPES))
        shape = self.one(SHAPES[1:])
        self.write(FILL, [Literal(dtype.type(self.one(NUMBERS)))], [(shape, dtype)], shape=shape)

    def cast(self) -> None:
        x, dtype = self.of(lambda v: v.dtype.kind == "f"), np.dtype(self.one(DTYPES[:4]))
        if x is not None:
            self.write(shaping.astype, [x], [(x.shape, dtype)], dtype=dtype)

    def move(self) -> None:
        """One of the moves of all elements, or of a part."""
        x = self.one(self.values)
        n = x.shape
        if not n:
            return self.reshape(x, self.one([(), (1,), (1, 1)]))
        kind = self.one("reshape ones transpose reverse slice pad broadcast sum".split())
        if kind == "reshape":
            self.reshape(x, self.one([(-1,), n, (1, -1)]))
        elif kind == "ones":
            self.reshape(x, self.one([(*n, 1), (1, *n), tuple([k for k in n if k != 1])]))
        elif kind == "transpose":
            axes = tuple(self.draw(st.permutations(range(len(n)))))
            self.write(shaping.transpose, [x], [(tuple([n[i] for i in axes]), x.dtype)], axes=axes)
        elif kind == "reverse":
            self.write(cumulative.reverse, [x], [(n, x.dtype)], axis=self.one(range(len(n))))
        elif kind == "broadcast":
            self.write(shaping.broadcast_to, [x], [((2, *n), x.dtype)], shape=(2, *n))
        elif kind == "sum":
            axis = tuple(self.draw(st.sets(st.sampled_from(range(len(n))))))
            self.write(reductions.sum, [x], [(tuple([k for i, k in enumerate(n) if i not in axis]), x.dtype)], axis=axis)
        else:
            self.box(x, kind)
        return None

    def reshape(self, x: Any, shape: tuple[int, ...]) -> None:
        shape = np.empty(x.shape).reshape(shape).shape
        self.write(shaping.reshape, [x], [(shape, x.dtype)], **of_equation(shaping.reshape, [x.shape], {"shape": shape}))

    def box(self, x: Any, kind: str) -> None:
        if kind == "slice":
            where = [self.draw(st.slices(k)) for k in x.shape]
            boxes = [range(k)[w] if w.step is None or w.step > 0 else range(k) for k, w in zip(x.shape, where, strict=True)]
            shape = x.shape
        else:
            boxes = [range(self.draw(st.integers(0, 1)), k + 1) for k in x.shape]
            boxes = [range(r.start, r.start + k) for r, k in zip(boxes, x.shape, strict=True)]
            shape = tuple([k + 1 for k in x.shape])
        sides = {"starts": tuple([r.start for r in boxes]), "stops": tuple([max(r.start, r.stop) for r in boxes])}
        sides |= {"steps": tuple([r.step for r in boxes])}
        if kind == "slice":
            self.write(SLICE, [x], [(np.empty(shape)[box(**sides)].shape, x.dtype)], **sides)
        else:
            self.write(PAD, [x], [(shape, x.dtype)], shape=shape, **sides)

    def join(self) -> None:
        """Joining and taking apart again."""
        x = self.one(self.values)
        y = self.of(lambda v: v.dtype == x.dtype and v.shape == x.shape)
        kind = self.one("stack concatenate unstack split".split())
        axis = self.one(range(max(len(x.shape), 1)))
        if kind == "stack":
            self.write(shaping.stack, [x, y], [((*x.shape[:axis], 2, *x.shape[axis:]), x.dtype)], axis=axis)
        elif x.shape and kind == "concatenate":
            shape = (*x.shape[:axis], 2 * x.shape[axis], *x.shape[axis + 1 :])
            self.write(shaping.concatenate, [x, y], [(shape, x.dtype)], axis=axis)
        elif x.shape and kind == "unstack" and x.shape[axis]:
            self.write(shaping.unstack, [x], [(x.shape[:axis] + x.shape[axis + 1 :], x.dtype)] * x.shape[axis], axis=axis)
        elif x.shape and kind == "split" and x.shape[axis] % 2 == 0:
            half = x.shape[axis] // 2
            specs = [((*x.shape[:axis], half, *x.shape[axis + 1 :]), x.dtype)] * 2
            self.write(shaping.split, [x], specs, axis=axis, sizes=(half, half))

    def dot(self) -> None:
        """Which adds in the order of memory."""
        x = self.of(lambda v: len(v.shape) == 1 and v.shape[0])
        y = x and self.of(lambda v: v.shape == x.shape and v.dtype == x.dtype)
        if y:
            self.write(DOT, [x, y], [((), x.dtype)], contract=((0,), (0,)), batch=((), ()), call="dot")


@st.composite
def programs(draw: Any, steps: int = 14) -> Program:
    """Programs of some inputs and equations, whose last variables are the outputs."""
    d = Drawn(draw)
    for _ in range(draw(st.integers(1, 3))):
        d.values.append(d.made.input(d.one(SHAPES), np.dtype(d.one(DTYPES))))
    kinds = [d.unary, d.binary, d.binary, d.choice, d.fill, d.cast, d.move, d.move, d.join, d.dot]
    for _ in range(draw(st.integers(1, steps))):
        d.one(kinds)()
    outputs = tuple(d.values[-draw(st.integers(1, 4)) :])
    return Program(tuple(d.made.inputs), tuple(d.made.equations), outputs)


def fit(a: Any, b: Any) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False))


def inputs(program: Program, seed: int) -> list[Any]:
    """Values with zeros of both signs, infinities and nans among them, in one order of memory or the other, or with gaps."""
    rng = np.random.default_rng(seed)
    return [_input(v, rng) for v in program.inputs]


def _input(v: Any, rng: np.random.Generator) -> Any:
    x = rng.normal(size=v.shape)
    if v.dtype.kind != "f":
        return np.asarray(10 * x).astype(v.dtype)[()]
    x = np.where(rng.random(v.shape) < rng.choice([0.0, 0.5]), rng.choice(EDGES, v.shape), x)
    x = np.array(x, v.dtype, order=str(rng.choice(["C", "F"])))
    if v.shape and rng.random() < 0.3:
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    return x[()] if not v.shape else x
