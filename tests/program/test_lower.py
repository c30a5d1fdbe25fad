"""What recorded equations are: for each idea of section 10 the equations by hand, and random indices against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad import pytree
from funcgrad.core import Label
from funcgrad.ops import elementwise, indexing
from funcgrad.ops.indexing import Slot
from funcgrad.ops.kinds import BY_UFUNC
from funcgrad.program.check import check
from funcgrad.program.evaluate import evaluate
from funcgrad.program.program import Program
from funcgrad.transforms.record import Recording, record
from tests.program import plain

LABEL = Label("trace", "f", "here.py", 1)


def recorded(f: Callable[..., Any], *xs: Any) -> Recording:
    """A recording that keeps the rules and gives the numbers of `f`, by two evaluators."""
    r = record(LABEL, lambda inputs: f(*inputs), list(xs))
    check(r.program)
    expected = pytree.leaves(f(*xs))
    for run in (evaluate, plain.run):
        for a, b in zip(run(r.program, [*xs, *r.operands]), expected, strict=True):
            assert (np.asarray(a).dtype, np.asarray(a).tobytes()) == (np.asarray(b).dtype, np.asarray(b).tobytes()), run
    return r


def lines(program: Program) -> list[str]:
    """The equations, without numbers of variables."""
    return [f"{e.primitive.name}({', '.join([f'{k}={v}' for k, v in e.params])})".replace(", )", ")") for e in program.equations]


def names(f: Callable[..., Any], *xs: Any) -> str:
    return " ".join([e.primitive.name for e in recorded(f, *xs).program.equations])


X = np.arange(12.0).reshape(3, 4)
CUBE = np.arange(24.0).reshape(2, 3, 4)

# ---- promotion


@pytest.mark.parametrize(
    ("f", "xs", "wanted"),
    [
        (lambda x, y: x * y, (np.float32(2), 3.0), "astype multiply"),
        (lambda x, y: x * y, (np.ones(3, np.float32), np.float64(3.0)), "astype multiply"),
        (lambda x, y: x + y, (np.arange(3), np.ones(3)), "astype add"),
        (lambda x: x * 2 + 1, (np.ones(3, np.float32),), "multiply add"),
        (lambda x: np.sum(x > 1), (X,), "less astype sum"),
        (lambda x: np.sum(x), (np.arange(3, dtype=np.int8),), "astype sum"),
        (lambda x: np.mean(x), (np.arange(3),), "astype mean"),
        (lambda x: np.prod(x), (np.arange(3, dtype=np.uint8),), "astype prod"),
        (lambda x: np.cumsum(x > 1), (np.arange(3.0),), "less astype cumsum"),
        (lambda x: np.sin(x), (np.arange(3),), "astype sin"),
        (lambda x, y: np.concatenate([x, y]), (np.arange(3), np.ones(3)), "astype concatenate"),
        (lambda x, y: x @ y, (np.arange(3), np.ones(3)), "astype dot"),
        (lambda x, y: x < y, (np.arange(3), np.ones(3)), "astype less"),
        (lambda x, y: np.where(x, y, 0), (np.arange(3), np.ones(3)), "astype where"),
        (lambda x: np.var(x), (np.arange(3),), "astype var"),
        (lambda x: x.astype(np.float32), (X,), "astype"),
        (lambda x: x.astype(float), (X,), ""),
        (lambda x: np.real(x) + np.imag(x), (np.array([1 + 2j]),), "real imag add"),
    ],
)
def test_promotions_are_equations(f: Any, xs: Any, wanted: str) -> None:
    """Where an operand has another dtype than that of the computation, one `astype`; Python's numbers are typed literals."""
    assert names(f, *xs) == wanted


DTYPES = "? b B h H i I l L e f d F D".split()
NUMBERS = (3, 300, -2, 0.5, True, 1 + 2j)


def has_a_loop(ufunc: np.ufunc, *xs: Any) -> bool:
    """Whether NumPy computes it, in numbers of its own."""
    try:
        return all(np.asarray(y).dtype != object for y in pytree.leaves(ufunc(*xs)))
    except (TypeError, ValueError, OverflowError):
        return False


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ufunc", [f for f in BY_UFUNC if f.signature is None], ids=lambda f: f.__name__)
def test_operands_of_any_dtype(ufunc: np.ufunc) -> None:
    """Arrays, NumPy's scalars and Python's numbers, as operands and as constants: a few of 50,000 combinations, always the same."""
    rng = np.random.default_rng(len(ufunc.types))
    for _ in range(12):
        x = np.array([1, 0, 2]).astype(rng.choice(DTYPES))
        y = np.array([1, 1, 2]).astype(rng.choice(DTYPES))
        y = (y, y[2], NUMBERS[rng.integers(len(NUMBERS))])[rng.integers(3)]
        if ufunc.nin == 1 and has_a_loop(ufunc, x):
            recorded(ufunc, x)
        elif ufunc.nin == 2 and has_a_loop(ufunc, x, y):
            recorded(ufunc, x, y)
            recorded(lambda x, y=y: ufunc(x, y), x)
        elif ufunc.nin == 2 and has_a_loop(ufunc, y, x):
            recorded(lambda x, y=y: ufunc(y, x), x)


@pytest.mark.parametrize("other", [300, -2, 1])
def test_pythons_ints_among_integers(other: int) -> None:
    """Comparisons are exact at any width; where NumPy would refuse to compute, a guard does."""
    x = np.array([1, 2], np.uint8)
    recorded(lambda x: (x < other, other == x), x)
    recorded(lambda x, y: (x < y, y == x), x, other)
    if other == 1:
        r = recorded(lambda x, y: x + y, x, other)
        with pytest.raises(AssertionError):
            plain.run(r.program, [x, 300])


def test_shares_in_an_extremum_are_of_one_dtype() -> None:
    """Eagerly a mask serves where nothing is tied; a variable has the same dtype whatever the values."""
    r = recorded(lambda x, y: elementwise.wins(x, y, np.maximum(x, y)) * 1.0, np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    assert plain.run(r.program, [np.array([1.0, 3.0]), np.array([1.0, 3.0])])[0].tolist() == [0.5, 0.5]


# ---- Python's numbers and NumPy's scalars


def test_a_divisor_that_python_refuses_is_looked_at() -> None:
    """Python raises at 0, and NumPy does not."""
    assert names(lambda x, y: x / y, 1.0, 2.0) == "equal guard divide"
    assert names(lambda x, y: x / y, np.float64(1.0), np.float64(2.0)) == "divide"


@pytest.mark.parametrize(
    ("f", "x", "wanted"),
    [
        (lambda x: x**2, 3.0, "scalar_power"),
        (lambda x: x**-1, 3.0, "equal guard scalar_power"),
        (lambda x: x**0.3, 3.0, "less guard scalar_power"),
        (lambda x: 2 ** (x + 1), -3, "add less guard guard astype scalar_power"),
        (lambda x: x**0.3, np.float64(3.0), "scalar_power"),
        (lambda x: np.power(x, 0.3), np.float64(3.0), "power"),
        (lambda x: x**0.3, X, "power"),
        (lambda x: x * x, np.complex128(1 + 2j), "scalar_multiply"),
        (lambda x: np.multiply(x, x), np.complex128(1 + 2j), "multiply"),
        (lambda x: abs(x), np.complex128(1 + 2j), "scalar_absolute"),
        (lambda x: abs(x * x), np.float64(1.5), "multiply absolute"),
    ],
)
def test_operators_between_numbers(f: Any, x: Any, wanted: str) -> None:
    """They are other computations than the ufuncs', to the last bit; and Python looks at what decides the type of its result."""
    if type(x) is int:
        assert [e.primitive.name for e in record(LABEL, lambda v: f(*v), [x]).program.equations][-1] == "power"
    else:
        assert names(f, x) == wanted


def test_powers_have_the_numbers_of_their_operator() -> None:
    """For many numbers, as the last bit differs for few."""
    rng = np.random.default_rng(0)
    for x, y in zip(rng.uniform(0.1, 5, 200), rng.normal(size=200), strict=True):
        recorded(lambda a, b: (a**b, a**3, 2.0**b, np.power(a, b)), x, y)
        recorded(lambda a, b: (a**b, a**3, 2.0**b), float(x), float(y))
        recorded(lambda a, b: (a * b, abs(a), np.multiply(a, b), np.abs(a)), complex(x, y), np.complex128(complex(y, x)))


# ---- indices


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (lambda x: x[1], ["slice(starts=(1, 0), steps=(1, 1), stops=(2, 4))", "reshape(ones=True, shape=(4,))"]),
        (lambda x: x[-1, -1], ["slice(starts=(2, 3), steps=(1, 1), stops=(3, 4))", "reshape(ones=True, shape=())"]),
        (lambda x: x[..., ::2], ["slice(starts=(0, 0), steps=(1, 2), stops=(3, 3))"]),
        (lambda x: x[::-2], ["slice(starts=(0, 0), steps=(2, 1), stops=(3, 4))", "reverse(axis=0)"]),
        (lambda x: x[5:, None], ["slice(starts=(0, 0), steps=(1, 1), stops=(0, 4))", "reshape(ones=True, shape=(0, 1, 4))"]),
        (lambda x: x[:], []),
        (lambda x: x[None], ["reshape(ones=True, shape=(1, 3, 4))"]),
        (lambda x: x.reshape(2, -1), ["reshape(ones=False, shape=(2, 6))"]),
        (lambda x: x.T, ["transpose(axes=(1, 0))"]),
        (lambda x: np.transpose(x, (0, 1)), []),
        (lambda x: x[[2, 0]], ["take(axis=0)"]),
        (lambda x: x[:, [2, 0]], ["take(axis=1)"]),
        (
            lambda x: x[[2, 0], [1, -1]],
            ["wrapped(size=3)", "multiply()", "wrapped(size=4)", "add()", "reshape(ones=False, shape=(12,))", "take(axis=0)"],
        ),
    ],
)
def test_reading(f: Any, wanted: list[str]) -> None:
    """Slices go forwards, from the front, along all axes; what else an index says are reshapes, and positions are operands."""
    assert lines(recorded(f, X).program) == wanted


def test_masks_are_positions_behind_a_guard() -> None:
    """A mask that is true at another number of places is another program."""
    r = recorded(lambda x: x[x > 5], X)
    assert lines(r.program) == [
        "less()",
        "count_nonzero(axis=(0, 1))",
        "guard(answer=6, kind=int)",
        "nonzero()",
        "wrapped(size=3)",
        "multiply()",
        "wrapped(size=4)",
        "add()",
        "reshape(ones=False, shape=(12,))",
        "take(axis=0)",
    ]
    np.testing.assert_array_equal(plain.run(r.program, [X[::-1]])[0], X[::-1][X[::-1] > 5])
    with pytest.raises(AssertionError):
        plain.run(r.program, [X + 1])


def test_results_whose_form_depends_on_values_are_guarded() -> None:
    """So that every variable has the shape and dtype that it says."""
    assert "has_form guard" in names(lambda x: np.roots(x), np.array([1.0, 0.0, 1.0]))
    assert "has_form guard" in names(lambda x: np.unique(x), np.array([1.0, 2.0, 1.0]))


@pytest.mark.parametrize("bad", [5, [5], [[0], [-9]]])
def test_positions_that_are_not_there(bad: Any) -> None:
    """NumPy's own error, when it is recorded and when it runs."""
    for i in (bad, (np.asarray(bad), 0), (np.asarray(bad), np.array([0]))):
        with pytest.raises(IndexError) as plainly:
            X[i]
        with pytest.raises(IndexError) as caught:
            recorded(lambda x, i=i: x[i], X)
        assert str(caught.value) == str(plainly.value)
    r = recorded(lambda x, i: (x[i], x[i, i]), X, np.array([2, 0]))
    for k in range(2):
        with pytest.raises(IndexError):
            evaluate(Program(r.program.inputs, r.program.equations, r.program.outputs[k:]), [X, np.array([3, 0])])


ARRAYS = st.sampled_from([np.array([1, 0, -1]), np.array([[0], [-1]]), np.array(1), np.array([[1, 1, 0]], np.int8)])
PART = st.one_of(st.slices(2), st.integers(-2, 1), ARRAYS, st.just(None), st.just(Ellipsis))


@st.composite
def index(draw: Any) -> tuple[Any, ...]:
    """An index of `CUBE`, whose axes are not shorter than 2."""
    parts = draw(st.lists(PART, max_size=5))
    if sum([p is Ellipsis for p in parts]) > 1 or sum([p is not None and p is not Ellipsis for p in parts]) > 3:
        parts = [p for p in parts if p is not Ellipsis][:3]
    masks = draw(st.sampled_from(["", "", "one", "two", "true"]))
    if masks == "one":
        return (
            (*[p for p in parts if type(p) is slice][:1], CUBE[0, :, 0] > 3) if parts and type(parts[0]) is slice else (CUBE[:, 0, 0] > 3,)
        )
    if masks == "two":
        return (slice(None), CUBE[0] > 3)
    return (*parts, True) if masks == "true" else tuple(parts)


@settings(deadline=None)
@given(index())
@example((slice(0, None), 0, Ellipsis, np.array([1, 0, -1])))  # an Ellipsis of no axes keeps arrays apart
@example((slice(None), np.array([0, 1]), Ellipsis, np.array([1, 0])))
def test_any_index(i: tuple[Any, ...]) -> None:
    """Reading, its transpose, and all that writes, bit for bit."""
    part = CUBE[i]
    v = np.arange(1.0, 1 + part.size).reshape(part.shape) - 3.0
    slots = [k for k in i if isinstance(k, np.ndarray) or k is True]
    count = iter(range(len(slots)))
    form = tuple([Slot(next(count)) if isinstance(k, np.ndarray) or k is True else k for k in i])
    arrays = [np.asarray(k) for k in slots]
    recorded(lambda x: x[i], CUBE)
    recorded(lambda ct: indexing.scatter_add(ct, *arrays, index=form, shape=CUBE.shape), v)
    for prim in (indexing.put, indexing.add_at, indexing.max_at, indexing.min_at):
        recorded(lambda x, v, prim=prim: prim(x, v, *arrays, index=form), CUBE, v)
    recorded(lambda x, v: indexing.shares_at(x, v, indexing.max_at(x, v, *arrays, index=form), *arrays, index=form), CUBE, v)
    if arrays:
        for prim in (indexing.winners, indexing.occurrences):
            recorded(lambda *given, prim=prim: prim(*given, index=form, shape=CUBE.shape), *arrays)


@pytest.mark.parametrize(
    ("f", "wanted"),
    [
        (lambda x: x.at[1:, ::2].set(0.5), "update"),
        (lambda x: x.at[1].add(0.5), "slice reshape add reshape update"),
        (lambda x: x.at[[0, 1, 0], 1].add(0.5), "add_at"),
        (lambda x: x.at[::-1].set(x), "reverse update"),
    ],
)
def test_writing(f: Any, wanted: str) -> None:
    """One `update` of a box; else writing to a vector at a vector of positions."""
    r = record(LABEL, lambda xs: f(xs[0]), [X])
    check(r.program)
    found = " ".join([e.primitive.name for e in r.program.equations if e.primitive.name in {*wanted.split()}])
    assert found == wanted
    np.testing.assert_array_equal(evaluate(r.program, [X, *r.operands])[0], np.asarray(f(fg.tensor(X))))
    np.testing.assert_array_equal(plain.run(r.program, [X, *r.operands])[0], np.asarray(f(fg.tensor(X))))


# ---- reductions and products


def test_axes_count_from_the_front_and_none_is_kept() -> None:
    """`keepdims` is a reshape that only moves ones."""
    assert lines(recorded(lambda x: np.sum(x, axis=(-1, 0), keepdims=True), CUBE).program) == [
        "sum(axis=(0, 2))",
        "reshape(ones=True, shape=(1, 3, 1))",
    ]
    assert lines(recorded(lambda x: np.argmax(x), CUBE).program) == ["reshape(ones=False, shape=(24,))", "argmax(axis=0)"]
    assert lines(recorded(lambda x: np.stack([x, x], axis=-1), X).program) == ["stack(axis=2)"]


PRODUCTS: Sequence[tuple[Any, Any, list[str]]] = [
    (np.matmul, (X, X.T), ["dot(batch=((), ()), call=matmul, contract=((1,), (0,)))"]),
    (np.dot, (X, X[0]), ["dot(batch=((), ()), call=dot, contract=((1,), (0,)))"]),
    (np.matmul, (CUBE, X.T), ["dot(batch=((), ()), call=matmul, contract=((2,), (0,)))"]),
    (np.matmul, (CUBE[0, 0], CUBE.swapaxes(1, 2)), ["dot(batch=((), ()), call=matmul, contract=((0,), (1,)))"]),
    (
        np.matmul,
        (X, CUBE.swapaxes(1, 2).copy()),
        ["reshape(ones=True, shape=(1, 3, 4))", "dot(batch=((0,), (0,)), call=matmul, contract=((2,), (1,)))"],
    ),
    (np.vecdot, (CUBE, CUBE), ["dot(batch=((0, 1), (0, 1)), call=vecdot, contract=((2,), (2,)))"]),
    (
        lambda x, y: np.einsum("bij,bkj->kbi", x, y),
        (CUBE, CUBE),
        ["dot(batch=((0,), (0,)), call=einsum, contract=((2,), (2,)))", "transpose(axes=(2, 0, 1))"],
    ),
    (
        lambda x, y: np.einsum("i,j->ji", x, y),
        (X[0], X[0]),
        ["reshape(ones=True, shape=(1, 4))", "reshape(ones=True, shape=(4, 1))", "multiply()"],
    ),
]


@pytest.mark.parametrize(("f", "xs", "wanted"), PRODUCTS)
def test_products_have_dimension_numbers(f: Any, xs: Any, wanted: list[str]) -> None:
    """Pairs of axes that are summed and that run together; the axes of the result are then in the order of section 10."""
    r = record(LABEL, lambda given: f(*given), list(xs))
    check(r.program)
    assert lines(r.program) == wanted
    expected = fg.vjp(f, *xs)[0]
    for run in (evaluate, plain.run):
        np.testing.assert_array_equal(run(r.program, list(xs))[0], expected)


# ---- closed, and free of the process


def test_constants_are_operands_literals_or_fills() -> None:
    """An array from outside is an input, so that a change of it is seen."""
    w = np.arange(4.0)
    r = recorded(lambda x: x * w + 2.0, X)
    assert [v.shape for v in r.program.inputs] == [(3, 4), (4,)]
    assert r.operands[0] is w


def test_equal_programs_are_equal() -> None:
    """However often, and in whatever process, they are recorded: no address is in a hash."""
    made = [recorded(lambda x: np.sum(x[1:] * 2.0, axis=-1), X).program for _ in range(2)]
    assert made[0] == made[1]
    assert len({*made}) == 1
