"""The Laws of DESIGN.md by name: sections 1, 4, 5, 6, 7 and 14. (Strong zeros and borrows in use: `test_pins.py`.)"""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.borrow import COPY_LIMIT
from funcgrad.core import Primitive
from funcgrad.ops import elementwise as ops
from funcgrad.ops import kinds
from funcgrad.transforms.forward import PUSH
from funcgrad.transforms.linearize import LinTracer
from funcgrad.transforms.nodes import GROW
from tests.laws.paths import PATHS, generic_path
from tests.ops import test_coverage

SMALL, LARGE = 6, 20_000

DOORS: dict[str, Callable[[Any, Any], Any]] = {
    # what a user calls, at a point; `f` gives a scalar
    "grad": lambda f, x: fg.grad(f)(x),
    "value_and_grad": lambda f, x: fg.value_and_grad(f)(x),
    "jvp": lambda f, x: fg.jvp(f, (x,), (x,)),
    "vjp": lambda f, x: fg.vjp(f, x)[1](1.0),
    "linearize": lambda f, x: fg.linearize(f, x)[1](x),
    "jacfwd": lambda f, x: fg.jacfwd(f)(x),
    "jacrev": lambda f, x: fg.jacrev(f)(x),
    "hessian": lambda f, x: fg.hessian(f)(x),
    "hvp": lambda f, x: fg.hvp(f, (x,), (x,)),
    "linear_transpose": lambda f, x: fg.linear_transpose(f, x)(1.0),
}


# ---- section 1: no output shares memory with anything the caller can write to

SHAPES_OF_IDENTITY: dict[str, Callable[[Any, Any], Any]] = {
    "x": lambda x, c: x,
    "x[:]": lambda x, c: x[:],
    "x.T": lambda x, c: x.T,
    "x[::-1]": lambda x, c: x[::-1],
    "reshape": lambda x, c: np.reshape(x, (2, -1)),
    "broadcast": lambda x, c: np.broadcast_to(x, (2, *x.shape)) if x.size < 100 else x,
    "split": lambda x, c: np.split(x, 2),
    "real": lambda x, c: np.real(x),
    "x + 0": lambda x, c: x + 0.0,
    "+x": lambda x, c: +x,
    "the captured array": lambda x, c: c,
    "a view of the captured array": lambda x, c: c[::-1],
    "x * c": lambda x, c: x * c,
    "c + x": lambda x, c: c + x,
    "where": lambda x, c: np.where(np.ones(x.shape, bool), x, c),
    "stop_gradient": lambda x, c: fg.stop_gradient(x),
    "concatenate": lambda x, c: np.concatenate([x]),
    "copy": lambda x, c: np.copy(x),
    "asarray": lambda x, c: np.asarray(x) if x.size < 100 else x,
    "squeeze": lambda x, c: np.squeeze(x[None]),
    "at": lambda x, c: (1 * x).at[0].set(c[0]),
}


def outputs(f: Any, x: Any, c: Any, ct: Any, t: Any) -> Iterator[Any]:
    """Everything that comes out of a door when the function is `f`, but for what passes through untraced."""
    g = lambda x: f(x, c)
    yield from fg.tree.leaves(fg.jvp(g, (x,), (t,)))
    y, pull = fg.vjp(g, x)
    yield from fg.tree.leaves(y)
    ct = fg.tree.map(lambda y: np.broadcast_to(ct.flat[0], np.shape(y)).copy(), y)
    yield from fg.tree.leaves(pull(ct))
    y, push = fg.linearize(g, x)
    yield from fg.tree.leaves((y, push(t)))
    (_, aux), gradient = fg.value_and_grad(lambda x: (np.sum(x * c), g(x)), has_aux=True)(x)
    yield from fg.tree.leaves((aux, gradient))
    yield fg.grad(lambda x: sum(np.sum(y) for y in fg.tree.leaves(g(x))))(x)


@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("name", SHAPES_OF_IDENTITY)
def test_no_output_shares_memory_with_anything_the_caller_can_write_to(name: str, n: int) -> None:
    """**Law** (section 1): not with inputs, captured arrays, tangents or cotangents; and it is frozen down to its owner.

    What was never traced passes through as the same object; then nothing was made, and nothing is promised.
    """
    x, c, ct, t = [np.random.default_rng(k).normal(size=n) for k in range(4)]
    before = [a.copy() for a in (x, c, ct, t)]
    found = list(outputs(SHAPES_OF_IDENTITY[name], x, c, ct, t))
    passes_through = name in ("the captured array", "a view of the captured array")
    for out in found:
        assert isinstance(out, (np.ndarray, np.generic, float))
        if isinstance(out, np.ndarray) and not (passes_through and np.shares_memory(out, c)):
            assert not any(np.shares_memory(out, a) for a in (x, c, ct, t))
            owner: Any = out if name != "stop_gradient" else None  # a copy that was never traced
            while isinstance(owner, np.ndarray):
                assert not owner.flags.writeable
                owner = owner.base
    for a, b in zip((x, c, ct, t), before, strict=True):
        assert a.flags.writeable
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_a_cotangent_that_comes_back_is_a_copy(n: int) -> None:
    """**Law** (section 1): the pullback of the identity gives its cotangent, and the pushforward its tangent, in memory of their own."""
    given = np.ones(n)
    for f in (lambda x: x, lambda x: +x, lambda x: x + 1.0, lambda x: x[:], lambda x: x.reshape(-1)):
        back = [fg.vjp(f, np.zeros(n))[1](given)[0], fg.linearize(f, np.zeros(n))[1](given), fg.jvp(f, (np.zeros(n),), (given,))[1]]
        for g in back:
            np.testing.assert_array_equal(g, given)
            assert not np.shares_memory(g, given)
            assert not g.flags.writeable
    assert given.flags.writeable


# ---- section 4: an interpreter holds only values of interpreters older than itself


def dead() -> Any:
    """A tracer whose transformation has ended."""
    kept: list[Any] = []

    def gone(x: Any) -> Any:
        kept.append(x * 2)
        return x

    fg.grad(gone)(1.0)
    return kept[0]


ENDED = r"^A tracer of grad\(gone\) \(test_house\.py:\d+\) was used after it ended\. Return it from `gone` instead of storing it\.$"


@pytest.mark.parametrize("door", DOORS)
def test_a_dead_tracer_is_caught_at_every_door(door: str) -> None:
    """**Law** (section 4): as an output, inside it, as an operand, and as the input."""
    t = dead()
    for f in (lambda x: t, lambda x: x * t, lambda x: np.sum(np.stack([x, t])), lambda x: np.sum(np.array([x, t]))):
        with pytest.raises(errors.LeakedTracerError, match=ENDED):
            DOORS[door](f, 2.0)
    if door != "linear_transpose":  # which asks for the shape alone
        with pytest.raises(errors.LeakedTracerError, match=ENDED):
            DOORS[door](lambda x: 3.0 * x, t)


@pytest.mark.parametrize("door", ["grad", "value_and_grad", "jvp", "vjp", "linearize", "jacfwd", "jacrev"])
def test_a_dead_tracer_in_aux(door: str) -> None:
    """**Law** (section 4): aux is looked through as the output is."""
    t = dead()
    f = lambda x: (x * 1.0, {"kept": [t]})
    calls: dict[str, Callable[[], Any]] = {
        "jvp": lambda: fg.jvp(f, (2.0,), (1.0,), has_aux=True),
        "vjp": lambda: fg.vjp(f, 2.0, has_aux=True),
        "linearize": lambda: fg.linearize(f, 2.0, has_aux=True),
    }
    with pytest.raises(errors.LeakedTracerError, match=ENDED):
        calls.get(door, lambda: getattr(fg, door)(f, has_aux=True)(2.0))()


def test_a_dead_tracer_as_a_tangent_or_cotangent() -> None:
    """**Law** (section 4): what comes beside the primals is not of a transformation that has ended."""
    t = dead()
    for call in (
        lambda: fg.jvp(np.sin, (1.0,), (t,)),
        lambda: fg.vjp(np.sin, 1.0)[1](t),
        lambda: fg.linearize(np.sin, 1.0)[1](t),
        lambda: fg.hvp(np.sin, (1.0,), (t,)),
    ):
        with pytest.raises(errors.LeakedTracerError, match=ENDED):
            call()


@pytest.mark.parametrize("door", [d for d in DOORS if d not in ("hessian", "hvp")])
def test_a_tracer_of_a_younger_open_transformation_is_caught_at_every_door(door: str) -> None:
    """**Law** (section 4): an older transformation does not return what a younger one holds, which only threads can try."""
    got: list[Any] = []
    stored, done = threading.Event(), threading.Event()

    def younger(y: Any) -> Any:
        got.append(y * 2)
        stored.set()
        done.wait(10)
        return y

    def older(x: Any) -> Any:
        if not got:
            thread.start()
            stored.wait(10)
        return got[0]

    thread = threading.Thread(target=lambda: fg.grad(younger)(1.0))
    try:
        with pytest.raises(errors.LeakedTracerError) as caught:
            DOORS[door](older, 1.0)
    finally:
        done.set()
        thread.join()
    assert str(caught.value).startswith("A tracer of grad(younger) (test_house.py:")
    assert "came out of an older transformation." in str(caught.value)


def test_an_older_tracer_is_an_ordinary_value() -> None:
    """**Law** (section 4), the other side: what is older may be captured, returned, and passed as aux, input, tangent or cotangent."""
    f = lambda x: fg.grad(lambda y: (x * y, [x]), has_aux=True)(2.0)[1][0] * x
    assert fg.grad(f)(3.0) == 6.0
    assert fg.grad(lambda x: fg.vjp(lambda y: x, 1.0)[0] * x)(3.0) == 6.0
    assert fg.grad(lambda x: fg.jvp(np.sin, (x,), (x,))[1])(0.0) == 1.0
    assert fg.grad(lambda x: fg.vjp(np.sin, 0.0)[1](x)[0])(5.0) == 1.0
    assert fg.grad(lambda x: fg.linearize(lambda y: y * x, 1.0)[1](x))(5.0) == 10.0


@pytest.mark.parametrize("door", DOORS)
def test_doors_close_their_interpreter_whatever_happens(door: str) -> None:
    """**Law** (section 4): in a `finally`: a tracer that an exception carried out is dead."""
    kept: list[Any] = []

    def fails(x: Any) -> Any:
        kept.append(x)
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        DOORS[door](fails, 2.0)
    with pytest.raises(errors.LeakedTracerError, match="was used after it ended"):
        kept[0] + 1


# ---- section 4: two paths, one meaning

OPERANDS: dict[str, Any] = {
    "float": 2.5,
    "int": 2,
    "bool": True,
    "complex": 1.5 + 0.5j,
    "float64": np.float64(2.5),
    "float32": np.float32(2.5),
    "int64": np.int64(2),
    "0-d": np.array(2.5),
    "same": np.array([1.5, 2.5, 0.5]),
    "float32 array": np.array([1.5, 2.5, 0.5], np.float32),
    "int array": np.array([1, 2, 3]),
    "column": np.array([[1.5], [0.5]]),
    "row": np.array([[1.5, 2.5, 0.5]]),
    "one": np.array([1.5]),
    "Tensor": fg.tensor([1.5, 2.5, 0.5]),
    "list": [1.5, 2.5, 0.5],
}
BINARY = sorted(
    (p for p in kinds.BY_UFUNC.values() if p.impl.nin == 2 and p.impl.nout == 1 and p.impl.signature is None and "d" in str(p.impl.types)),
    key=lambda p: p.name,
)
X = {"array": np.array([0.25, 0.75, 0.5]), "float32": np.array([0.25, 0.75, 0.5], np.float32), "number": 0.75}


def described(call: Callable[[], Any]) -> Any:
    """What comes of a call: numbers, dtypes and shapes, or the error's type."""
    try:
        found = call()
    except Exception as e:
        return type(e).__name__
    return [(np.asarray(v).dtype, np.shape(v), np.asarray(v).tolist()) for v in fg.tree.leaves(found)]


@pytest.mark.parametrize("prim", BINARY, ids=lambda p: p.name)
def test_two_paths_one_meaning(prim: Primitive) -> None:
    """The fused path gives what the generic one gives, bit for bit: every operand, on either side, in both modes."""
    ufunc = prim.impl
    for (_, x), (_, other) in itertools.product(X.items(), OPERANDS.items()):
        for f in (lambda x, y=other: ufunc(x, y), lambda x, y=other: ufunc(y, x), lambda x: ufunc(x, x), lambda x: ufunc(x, x + 1)):
            call = lambda f=f, x=x: (fg.jvp(f, (x,), (x,)), _pulled(f, x))
            with np.errstate(all="ignore"):
                fused = described(call)
                with generic_path():
                    generic = described(call)
            np.testing.assert_equal(fused, generic)


def _pulled(f: Any, x: Any) -> Any:
    y, pull = fg.vjp(f, x)
    return y, pull(np.ones_like(y)) if np.asarray(y).dtype.kind in "fc" else None


def test_the_generic_path_is_another_one() -> None:
    """`generic_path` takes the fused methods away, and gives them back."""
    assert "__mul__" in vars(LinTracer)
    with PATHS["generic"]():
        assert "__mul__" not in vars(LinTracer)
    assert "__mul__" in vars(LinTracer)


# ---- section 5: one record, one place


@pytest.fixture
def new_primitive() -> Iterator[Primitive]:
    """A record added, and taken away again."""
    prim = kinds.elementwise(lambda x: np.exp(x) * x, lambda t, x: t * (np.exp(x) * (x + 1)), name="exp_times")
    try:
        yield prim
    finally:
        del kinds.PRIMITIVES[prim.name]


def test_adding_a_primitive_touches_its_record_and_its_case(new_primitive: Primitive, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 5: from the one record both modes, all orders and broadcasting follow; without a case, a test fails and names it."""
    f = lambda x, y: np.sum(new_primitive(x * y))
    x, y = np.array([0.5, 1.5]), np.array([[1.0], [2.0]])
    z = x * y
    np.testing.assert_allclose(fg.grad(f)(x, y), np.sum(np.exp(z) * (z + 1) * y, axis=0))
    np.testing.assert_allclose(fg.jacfwd(f)(x, y), np.sum(np.exp(z) * (z + 1) * y, axis=0))
    np.testing.assert_allclose(fg.hessian(f)(x, y), np.diag(np.sum(np.exp(z) * (z + 2) * y**2, axis=0)))
    monkeypatch.setattr(test_coverage, "CASES", [])
    with pytest.raises(AssertionError, match=r"primitives without a case: .*exp_times"):
        test_coverage.test_every_primitive_is_met()


def test_every_primitive_is_of_a_kind() -> None:
    """Section 5: one derivative per primitive, in the form of its kind; both modes read it, and neither has one of its own."""
    known = {*PUSH, kinds.Constant}
    assert PUSH.keys() == GROW.keys()
    for name, prim in kinds.PRIMITIVES.items():
        assert prim.name == name
        assert type(prim) in known
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            prim.name = "other"  # type: ignore[misc]


def test_two_primitives_of_one_name() -> None:
    """Section 5: a name is one record."""
    with pytest.raises(AssertionError, match="two primitives are named sin"):
        kinds.elementwise(np.sin, lambda t, x: t)


# ---- section 6: strong zero


def test_scale_is_a_primitive() -> None:
    """**Law** (section 6): 0 where the cotangent is 0, else the product; bilinear, so that its derivative at zero is not zero.

    d scale(ct, p) = scale(dct, p) + scale(ct, dp): a select would lose the first term at every zero residual.
    """
    ct, p = np.array([0.0, 2.0, 0.0, 1.0]), np.array([np.inf, 3.0, 5.0, np.inf])
    assert ops.scale(ct, p).tolist() == [0.0, 6.0, 0.0, np.inf]
    assert type(ops.scale) is kinds.Elementwise
    at = (np.float64(0.0), np.float64(5.0))
    assert fg.jvp(ops.scale, at, (1.0, 7.0)) == (0.0, 5.0)
    assert fg.grad(ops.scale, (0, 1))(*at) == (5.0, 0.0)
    h = fg.hessian(ops.scale, (0, 1))(*at)
    assert np.array(h).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    d = fg.jvp(ops.scale, (np.float64(0.0), np.float64(np.inf)), (0.0, np.inf))
    assert d == (0.0, 0.0)


def test_strong_zeros_cost_nothing_until_they_are_needed() -> None:
    """**Law** (section 6): the plain walk is taken first; `scale` is met only after a nan has come out."""
    met: list[int] = []
    impl = ops.scale.impl

    def watch(*args: Any) -> Any:
        met.append(1)
        return impl(*args)

    object.__setattr__(ops.scale, "impl", watch)
    try:
        fg.grad(lambda x: np.sum(np.where(x > 0, np.exp(x), x)))(np.array([0.0, 1.0]))
        assert met == []
        with np.errstate(all="ignore"):
            g = fg.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), x)))(np.array([0.0, 1.0]))
        assert met != []
        assert g.tolist() == [1.0, 0.5]
    finally:
        object.__setattr__(ops.scale, "impl", impl)


# ---- section 7: borrows


def test_small_arrays_are_copied_large_ones_are_borrowed() -> None:
    """**Law** (section 7): the border is 64 kB; a large array is read-only inside, and given back in the door's `finally`."""
    for size, writeable in ((COPY_LIMIT // 8, True), (COPY_LIMIT // 8 + 1, False)):
        c, seen = np.ones(size), []

        def f(x: Any, c: Any = c, seen: Any = seen) -> Any:
            y = np.sum(x * c)
            seen.append(c.flags.writeable)
            return y

        x = np.ones(size)
        fg.grad(f)(x)
        assert seen == [writeable]
        assert c.flags.writeable
        assert x.flags.writeable


@pytest.mark.parametrize("door", ["grad", "value_and_grad", "jacrev", "jacfwd", "hvp", "jvp"])
def test_borrows_are_given_back_after_errors_too(door: str) -> None:
    """**Law** (section 7): whatever `f` raises, and from whatever depth."""
    c = np.ones(LARGE)

    def inner(x: Any) -> Any:
        y = np.sum(c * x)
        raise KeyError(str(type(y)))

    for f in (inner, lambda x: fg.grad(inner)(x), lambda x: np.sum(c * x) + fg.vjp(inner, x)[0]):
        with pytest.raises(KeyError):
            DOORS[door](f, 2.0)
        assert c.flags.writeable


# ---- section 14: unflatten makes objects without `__init__`, converters or validators


@dataclasses.dataclass
class Checked:
    w: Any
    made: int = dataclasses.field(default=0, metadata={"pytree": False})

    def __post_init__(self) -> None:
        if not isinstance(self.w, np.ndarray):
            raise TypeError("only arrays")
        self.made += 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: Any

    def __init__(self, scale: float) -> None:
        object.__setattr__(self, "w", np.ones(2) * scale)


@attrs.frozen
class Converted:
    w: Any = attrs.field(converter=np.asarray, validator=attrs.validators.instance_of(np.ndarray))


@attrs.define(slots=False)
class WithInit:
    w: Any

    def __init__(self, n: int) -> None:
        self.w = np.ones(n)
        self.__attrs_init__(self.w)  # type: ignore[attr-defined]


@pytest.mark.parametrize("make", [lambda: Checked(np.ones(2)), lambda: Frozen(1.0), lambda: Converted([1.0, 1.0]), lambda: WithInit(2)])
def test_unflatten_makes_objects_without_init(make: Callable[[], Any]) -> None:
    """**Law** (section 14): what holds tracers, or gradients, or None, was never checked, converted or counted."""
    params = make()
    seen: list[Any] = []

    def loss(p: Any) -> Any:
        assert type(p) is type(params)
        seen.append(p.w)
        return np.sum(p.w**2)

    g = fg.grad(loss)(params)
    assert isinstance(seen[0], fg.Tensor)
    assert type(g) is type(params)
    assert g.w.tolist() == [2.0, 2.0]
    assert getattr(g, "made", 1) == 1
    leaves, treedef = fg.tree.flatten(params)
    assert fg.tree.unflatten(treedef, ["anything"]).w == "anything"
    assert leaves[0] is params.w
