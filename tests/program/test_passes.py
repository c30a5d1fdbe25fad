"""Passes: the same outputs, bit for bit, for all inputs; and for each rewrite where it applies and where it must not."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.core import Label
from funcgrad.ops import elementwise as ops
from funcgrad.ops import reductions
from funcgrad.ops.combining import combination
from funcgrad.ops.shaping import broadcast_to, reshape
from funcgrad.program.check import check
from funcgrad.program.codegen import compiled
from funcgrad.program.evaluate import evaluate
from funcgrad.program.passes import simplified
from funcgrad.program.passes.dead import without_dead_code
from funcgrad.program.passes.folding import folded
from funcgrad.program.passes.repeats import without_repeats
from funcgrad.program.passes.rewrites import rewritten
from funcgrad.program.program import FILL, GUARD, Builder, Program, Var, literal, sorted_params
from funcgrad.transforms import derive
from funcgrad.transforms.record import Recording, record
from tests.laws import loops
from tests.laws import programs as functions
from tests.program import equations

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

LABEL = Label("trace", "f", "here.py", 1)
PASSES = {p.__name__: p for p in (simplified, folded, rewritten, without_repeats, without_dead_code)}
seeds = st.integers(0, 2**16)
quick = settings(deadline=None)


def bits(values: Sequence[Any]) -> list[Any]:
    """What tells results apart, where every nan is one nan."""
    found = []
    for x in map(np.asarray, values):
        if x.dtype.kind in "fc":
            x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
        found.append((x.dtype, x.shape, x.tobytes()))
    return found


def results(run: Callable[[], Sequence[Any]]) -> Any:
    """What comes out, or which error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return bits(run())
        except (ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError) as error:
            return type(error)


def assert_same(program: Program, values: Sequence[Any]) -> None:
    """Every pass keeps the rules, the outputs, and what it has done already."""
    expected = results(lambda: evaluate(program, values))
    for name, apply in PASSES.items():
        made = check(apply(program))
        assert made.inputs == program.inputs
        assert results(lambda made=made: evaluate(made, values)) == expected, f"{name}:\n{program}\n{made}"
    made = simplified(program)
    assert simplified(made) == made
    assert results(lambda: compiled(program)(*values)) == expected


@quick
@given(equations.programs(), seeds)
def test_equations_keep_their_numbers(p: Program, seed: int) -> None:
    """Random equations, at zeros of both signs, infinities and nans, in any order of memory."""
    assert_same(check(p), equations.inputs(p, seed))


@quick
@given(functions.programs(steps=5), seeds)
def test_functions_and_what_is_derived_of_them(f: functions.Program, seed: int) -> None:
    """Recordings, their tangents, both halves of their pulls, and the same in many lanes."""
    x = list(f.inputs(seed))
    r = record(LABEL, lambda xs: [f(*xs)], x)
    rng = np.random.default_rng(seed)
    ct = [rng.normal(size=np.shape(y)) for y in r.values]
    t = [rng.normal(size=np.shape(v)) for v in x]
    mask, wanted = (True,) * len(x) + (False,) * len(r.operands), (True,)
    given = [*x, *r.operands]
    assert_same(r.program, given)
    pushed = derive.pushed(r.program, mask, wanted)
    assert_same(pushed.program, [*given, *t, *pushed.constants])
    pair = derive.paired(r.program, mask, wanted)
    given = [*given, *pair.constants]
    assert_same(pair.forward, given)
    hand = [*given, *evaluate(pair.forward, given)[1:]]
    assert_same(pair.pull, [*[hand[i] for i in pair.crossing], *ct])
    batched, _ = derive.batched(r.program, mask, 2, wanted)
    assert_same(batched.program, [*[np.stack([v, v + 1]) for v in x], *r.operands, *batched.constants])


# ---- each rewrite: where it applies, and where it must not


def recorded(f: Callable[..., Any], *xs: Any) -> Recording:
    return record(LABEL, lambda given: f(*given), list(xs))


def names(f: Callable[..., Any], *xs: Any) -> str:
    """The equations that are left."""
    r = recorded(f, *xs)
    assert_same(r.program, [*xs, *r.operands])
    return " ".join([e.primitive.name for e in simplified(r.program).equations])


negated = operator.neg
X, Y = np.array([0.5, -1.25, 0.0, -0.0]), np.array([2.0, np.inf, np.nan, -3.0])
M = np.arange(6.0).reshape(2, 3)
I = np.arange(4)
S = np.float64(1.5)
OF_X, OF_BOTH = (X,), (X, Y)
OF_TINY = (np.array([5e-324, 7 * 5e-324, 1e308, -1e-310, 0.1]),)

REWRITES: list[tuple[str, Callable[..., Any], tuple[Any, ...], str]] = [
    ("-(x * c)", lambda x: -(x * 3.0), OF_X, "multiply"),
    ("-(c / x)", lambda x: -(3.0 / x), OF_X, "divide"),
    ("-(x * c), whose product is read again", lambda x: (-(m := x * 3.0), m), OF_X, "multiply negative"),
    ("-(x * c * y)", lambda x, y: -(x * 3.0 * y), OF_BOTH, "multiply multiply"),
    ("-(y * (c * x))", lambda x, y: -(y * (0.1 * x)), OF_BOTH, "multiply multiply"),
    ("-(x * c * y), of which x * c is read again", lambda x, y: (-((m := x * 3.0) * y), m), OF_BOTH, "multiply multiply negative"),
    ("x * n + x * n", lambda x: (m := x * 3.0) + m, OF_X, "multiply"),
    ("x * n + x * n, with what is tiny", lambda x: (m := x * 3.0) + m, OF_TINY, "multiply"),
    ("x * c + x * c", lambda x: (m := x * 0.3) + m, OF_TINY, "multiply add"),
    ("x * n + x * n, which is read again", lambda x: ((m := x * 3.0) + m, m), OF_TINY, "multiply multiply"),
    ("-(x * c) of integers", lambda x: -(x * 3), (I,), "multiply negative"),
    ("-(x * y)", lambda x, y: -(x * y), OF_BOTH, "multiply negative"),
    ("-(x - y)", lambda x, y: -(x - y), OF_BOTH, "subtract negative"),
    ("-x * c", lambda x: -x * 3.0, OF_X, "multiply"),
    ("-x * -y", lambda x, y: -x * -y, OF_BOTH, "multiply"),
    ("-x / -y", lambda x, y: -x / -y, OF_BOTH, "divide"),
    ("-(-x)", lambda x: np.exp(negated(negated(x))), OF_X, "exp"),
    ("-(-x), which must be a copy", lambda x: negated(negated(x)), OF_X, "negative negative"),
    ("-(-x) of what is fresh", lambda x: negated(negated(np.exp(x))), OF_X, "exp"),
    ("x + -y", lambda x, y: x + -y, OF_BOTH, "subtract"),
    ("-x + y", lambda x, y: -x + y, OF_BOTH, "subtract"),
    ("-x + -x", lambda x: -x + -x, OF_X, "add negative"),
    ("-x + -y is no -(x + y)", lambda x, y: -x + -y, OF_BOTH, "negative subtract"),
    ("x - -y", lambda x, y: x - -y, OF_BOTH, "add"),
    ("-x - -y", lambda x, y: -x - -y, OF_BOTH, "subtract"),
    ("a sign goes through products", lambda x, y: x - (-x * y) / y, OF_BOTH, "multiply divide add"),
    ("a sign in front of fewer elements", lambda x, y: x + -y[:1] * x, OF_BOTH, "slice multiply subtract"),
    ("-1 * x", lambda x, y: y + -1.0 * x, OF_BOTH, "subtract"),
    ("|-x|", lambda x: np.abs(-x), OF_X, "absolute"),
    ("exp(-x)", lambda x: np.exp(-x), OF_X, "negative exp"),
    ("x * 1", lambda x: np.exp(x * 1.0), OF_X, "exp"),
    ("x * 1, which must be a copy", lambda x: x * 1.0, OF_X, "multiply"),
    ("x * 1 of integers", lambda x: (x * 1) + x, (I,), "add"),
    ("x * 1 of a complex number", lambda x: np.exp(x * 1.0), (X + 1j,), "multiply exp"),
    ("x / 1", lambda x: np.exp(x / 1.0), OF_X, "exp"),
    ("x * 0", lambda x: np.exp(x * 0.0), OF_X, "multiply exp"),
    ("x / 2", lambda x: x / 2.0, OF_X, "multiply"),
    ("x / 3", lambda x: x / 3.0, OF_X, "divide"),
    ("(x * 2) * c", lambda x: x * 2.0 * 1.7, OF_TINY, "multiply"),
    ("(x * n) * 4", lambda x: x * 3.0 * 4.0, OF_TINY, "multiply"),
    ("(x * c) * 4, where x * c is rounded", lambda x: x * 1.7 * 4.0, OF_TINY, "multiply multiply"),
    ("(x * 2) * c, where x * 2 is too large", lambda x: x * 2.0 * 0.3, OF_TINY, "multiply multiply"),
    ("(x * 3) * 5", lambda x: x * 3.0 * 5.0, OF_TINY, "multiply multiply"),
    ("x + 0", lambda x: np.exp(x + 0.0), OF_X, "add exp"),
    ("x + -0.0", lambda x: np.exp(x + -0.0), OF_X, "exp"),
    ("x + 0 of what is not -0.0", lambda x: np.sin(np.exp(x) + 0.0), OF_X, "exp sin"),
    ("x - 0", lambda x: np.exp(x - 0.0), OF_X, "exp"),
    ("x - -0.0", lambda x: np.exp(x - -0.0), OF_X, "subtract exp"),
    ("+x", lambda x: np.exp(+x), OF_X, "exp"),
    ("to a wider dtype and back", lambda x: np.exp(x.astype(np.float64).astype(np.float32)), (X.astype(np.float32),), "exp"),
    ("to a narrower dtype and back", lambda x: np.exp(x.astype(np.float32).astype(np.float64)), OF_X, "astype astype exp"),
    ("to a wider dtype and a narrower one", lambda x: x.astype(np.float64).astype(np.float16), (X.astype(np.float32),), "astype"),
    ("64 bits are more than a float has", lambda x: x.astype(np.float64).astype(np.int64), (I,), "astype astype"),
    ("where of equal branches", lambda x: np.exp(np.where(x > 0, x, x)), OF_X, "exp"),
    ("reshapes that move ones", lambda x: x[:, None][None][0], OF_X, "reshape"),
    ("reshapes of a line", lambda x: x.reshape(2, 2).reshape(4, 1), OF_X, "reshape"),
    ("reshapes that may copy", lambda x: np.reshape(np.reshape(x, -1), (3, 2)), (M,), "reshape reshape"),
    ("transposes", lambda x: np.exp(x.T.T), (M,), "exp"),
    ("transposes of three axes", lambda x: x[None].transpose(1, 0, 2).transpose(2, 0, 1), (M,), "reshape transpose"),
    ("slices", lambda x: x[1:][::2][:1], (np.arange(9.0),), "slice"),
    ("reverses", lambda x: np.exp(x[::-1][::-1]), OF_X, "exp"),
    ("reverses along other axes", lambda x: x[::-1][:, ::-1], (M,), "reverse reverse"),
    ("broadcasts", lambda x: np.broadcast_to(np.broadcast_to(x, (2, 4)), (3, 2, 4)), OF_X, "broadcast_to"),
    ("a broadcast that is a copy", lambda x: np.broadcast_to(np.broadcast_to(x, (2, 4)), (300, 2, 4)), OF_X, "broadcast_to broadcast_to"),
    ("a sum over nothing", lambda x: np.sum(x, axis=()) * x, (I,), "multiply"),
    ("one of a stack", lambda x: np.stack([x, x + 1.0])[1], (S,), "add"),
    ("single numbers of a stack", lambda x: np.multiply(*np.stack([x * 2.0, x + 1.0])), (S,), "multiply add multiply"),
    ("what is computed twice", lambda x, y: x * y + np.sin(y * x), OF_BOTH, "multiply sin add"),
    ("a quotient is not its inverse", lambda x, y: x / y + np.sin(y / x), OF_BOTH, "divide divide sin add"),
    ("what nobody reads", lambda x: (np.sin(x), x + 1)[1], OF_X, "add"),
    ("arrays from outside are not looked at", lambda x: x * np.ones(4), OF_X, "multiply"),
]


@pytest.mark.parametrize(("f", "xs", "wanted"), [row[1:] for row in REWRITES], ids=[row[0] for row in REWRITES])
def test_rewrites(f: Any, xs: Any, wanted: str) -> None:
    """The shortest form of the same numbers."""
    assert names(f, *xs) == wanted


# ---- numbers and fills: equations by hand, as recordings of plain functions seldom have them


def written(write: Callable[[Builder, Var], Sequence[Any]]) -> Program:
    """The program of what `write` adds to an input."""
    made = Builder()
    x = made.input((4,), np.dtype(float))
    outputs = write(made, x)
    return check(Program(tuple(made.inputs), tuple(made.equations), tuple(outputs)))


def one(made: Builder, prim: Any, inputs: Sequence[Any], result: tuple[int, ...] = (4,), **params: Any) -> Var:
    return made.write(prim, inputs, [(result, np.dtype(float))], sorted_params(params))[0]


def fill(made: Builder, value: Any, shape: tuple[int, ...] = (4,)) -> Var:
    return one(made, FILL, [literal(value)], shape, shape=shape)


def guarded(made: Builder, x: Var, value: bool) -> list[Any]:
    made.write(GUARD, [literal(np.bool(value))], (), sorted_params({"kind": "bool", "answer": True}))
    return [x]


FOLDS: list[tuple[str, Callable[[Builder, Var], Sequence[Any]], str]] = [
    ("numbers", lambda m, x: [one(m, ops.exp, [literal(2.0)], ())], ""),
    ("numbers that NumPy warns of", lambda m, x: [one(m, ops.divide, [literal(2.0), literal(0.0)], ())], "divide"),
    ("a number beside an array", lambda m, x: [one(m, ops.multiply, [x, one(m, ops.exp, [literal(0.0)], ())])], "multiply"),
    ("a fill beside an array", lambda m, x: [one(m, ops.add, [fill(m, 2.0), x])], "add"),
    ("a fill that makes the shape", lambda m, x: [one(m, ops.add, [fill(m, 2.0, (3, 4)), x], (3, 4))], "fill add"),
    ("of a fill", lambda m, x: [one(m, ops.add, [x, one(m, ops.sqrt, [fill(m, 4.0)])])], "add"),
    ("of two fills", lambda m, x: [one(m, ops.exp, [one(m, ops.add, [fill(m, 1.0), fill(m, 2.0)])])], "fill exp"),
    ("of a fill, as a copy", lambda m, x: [one(m, ops.sqrt, [fill(m, 4.0)])], "fill sqrt"),
    ("what loops compute otherwise", lambda m, x: [one(m, ops.sin, [one(m, ops.exp, [fill(m, 1.0)])])], "fill exp sin"),
    ("a view of a fill", lambda m, x: [one(m, reshape, [fill(m, 2.0)], (4, 1), shape=(4, 1), ones=True)], "fill"),
    ("a large broadcast", lambda m, x: [one(m, broadcast_to, [fill(m, 2.0)], (999, 4), shape=(999, 4))], "fill"),
    ("a small broadcast is a copy", lambda m, x: [one(m, broadcast_to, [fill(m, 2.0)], (9, 4), shape=(9, 4))], "fill broadcast_to"),
    ("a whole sum", lambda m, x: [one(m, reductions.sum, [fill(m, 3.0)], (), axis=(0,))], ""),
    ("a sum that is rounded", lambda m, x: [one(m, reductions.sum, [fill(m, 0.1)], (), axis=(0,))], "fill sum"),
    ("a guard that holds", lambda m, x: guarded(m, x, True), ""),
    ("a guard that does not", lambda m, x: guarded(m, x, False), "guard"),
]


@pytest.mark.parametrize(("write", "wanted"), [row[1:] for row in FOLDS], ids=[row[0] for row in FOLDS])
def test_folds(write: Any, wanted: str) -> None:
    """What is known of numbers and fills; the rest is left."""
    p = written(write)
    if "guard" not in wanted:
        assert_same(p, [X])
    assert " ".join([e.primitive.name for e in simplified(p).equations]) == wanted


def test_a_guard_stays_before_what_it_protects() -> None:
    """Also where what it protects is computed without it before; and one that is met again is asked once."""

    def f(x: Any) -> Any:
        y = np.sin(x)
        return np.exp(x) if x[0] > 0 and y[0] > 0 and x[0] > 0 else y

    found = [e.primitive.name for e in simplified(recorded(f, np.ones(3)).program).equations]
    assert found.count("guard") == 2
    assert found.index("exp") > len(found) - 1 - found[::-1].index("guard")


def test_params_that_are_equal_and_not_the_same() -> None:
    """A weight of -0.0 is another one than 0.0."""
    r = recorded(lambda x, y: [combination(x, y, weights=w) for w in ((1.0, 0.0), (1.0, -0.0))], X, X)
    assert len(simplified(r.program).equations) == 2


# ---- loops and branches


def summary(f: Callable[..., Any], *xs: Any) -> list[Any]:
    """Of the one loop: how many operands and results it has, and what its body does."""
    r = recorded(f, *xs)
    assert_same(r.program, [*xs, *r.operands])
    (e,) = [e for e in simplified(r.program).equations if e.primitive.name in ("scan", "cond", "while")]
    bodies = [value for _, value in e.params if type(value) is Program] + [p for n, ps in e.params if n == "branches" for p in ps]
    return [len(e.inputs), len(e.outputs), *[" ".join([i.primitive.name for i in p.equations]) for p in bodies]]


START = np.float64(0.25)
LOOPS: list[tuple[str, Callable[..., Any], list[Any]]] = [
    ("all is read", lambda c, x: fg.scan(lambda c, t: (c * t, c + t), c, x), [2, 2, "multiply add"]),
    ("no ys", lambda c, x: fg.scan(lambda c, t: (c * t, c + t), c, x)[0], [2, 1, "multiply"]),
    ("ys twice", lambda c, x: fg.scan(lambda c, t: (c * t, (c + t, t + c)), c, x), [2, 2, "multiply add"]),
    ("a carry for itself", lambda c, x: fg.scan(lambda c, t: ((c[0] * t, c[1] + t), t), (c, c), x)[0][0], [2, 1, "multiply"]),
    ("carries for each other", lambda c, x: fg.scan(lambda c, t: ((c[1] * t, c[0] + t), t), (c, c), x)[0][0], [3, 2, "multiply add"]),
    ("a carry that stays", lambda c, x: fg.scan(lambda c, t: ((c[0], c[1] + c[0]), t), (c * 2.0, c), x)[0], [2, 1, "add"]),
    ("rows that nobody reads", lambda c, x: fg.scan(lambda c, t: (c + 1.0, t), c, x)[0], [1, 1, "add"]),
    ("branches", lambda c, x: fg.cond(c > 0, lambda a, b: (a + 1.0, b), lambda a, b: (a * 2.0, b), c, x)[0], [2, 1, "multiply", "add"]),
    ("a condition", lambda c, x: fg.while_loop(lambda s: s < 3.0, lambda s: s + 1.0 * np.exp(s), c), [1, 1, "less", "exp add"]),
]  # fmt: skip


@pytest.mark.parametrize(("f", "wanted"), [row[1:] for row in LOOPS], ids=[row[0] for row in LOOPS])
def test_loops(f: Any, wanted: list[Any]) -> None:
    """What nobody reads does not go through them; and the programs inside are simplified."""
    found = summary(f, START, X)
    assert found[:2] == wanted[:2]
    assert {*found[2:]} == {*wanted[2:]}


@quick
@given(loops.nests, seeds)
def test_nests_of_loops(nodes: Any, seed: int) -> None:
    """Random nests, and their gradients."""
    f = loops.result(nodes, loops.Structured())
    rng = np.random.default_rng(seed)
    x, s, c = rng.uniform(-1, 1, 3), np.float64(rng.uniform(-1, 1)), rng.uniform(-1, 1, 3)
    assert_same((r := recorded(f, x, s, c)).program, [x, s, c, *r.operands])
    assert_same((r := recorded(fg.grad(f, (0, 1, 2)), x, s, c)).program, [x, s, c, *r.operands])


# ---- how much is left


def test_gradient_of_an_lstm_step() -> None:
    """Signs, ones and zeros of the rules are gone: 75 equations become 67, without those that look for nans 55."""

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def step(w: Any, u: Any, b: Any, h: Any, c: Any, x: Any) -> Any:
        i, f, o, g = np.split(x @ w + h @ u + b, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return np.sum(sigmoid(o) * np.tanh(c) * c)

    rng = np.random.default_rng(0)
    xs = [rng.normal(size=shape) for shape in ((3, 20), (5, 20), (20,), (2, 5), (2, 5), (2, 3))]
    r = recorded(lambda *xs: fg.grad(step, tuple(range(6)))(*xs), *xs)
    assert_same(r.program, xs)
    assert len(simplified(r.program).equations) <= 67


@pytest.mark.parametrize("n", [100, 400])
def test_passes_are_linear(n: int) -> None:
    """A long chain of the same is as much work per equation: rules do not go over it again and again."""

    def f(x: Any) -> Any:
        for k in range(n):
            x = -(x * 1.0) + float(k)
        return x

    p = recorded(f, X).program
    assert len(simplified(p).equations) <= 2 * n
    assert_same(p, [X])
