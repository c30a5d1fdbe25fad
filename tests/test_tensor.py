"""`Tensor` as an object: NumPy's face, frozen, and at home among ndarrays."""

from __future__ import annotations

import copy
import inspect
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.tensor import FUNCTIONS_AS_METHODS, UFUNCS_AS_METHODS, Tensor, Tracer
from tests.laws.paths import PATHS

A = np.array([[1.5, -2.0, 0.25], [3.0, 1.0, -0.5]])


def same(found: Any, expected: Any) -> None:
    """A Tensor, or a structure of them, with NumPy's numbers, dtype and shape."""
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected)
        for f, e in zip(found, expected, strict=True):
            same(f, e)
        return
    assert type(found) is Tensor
    assert (found.dtype, found.shape) == (np.asarray(expected).dtype, np.shape(expected))
    np.testing.assert_array_equal(np.asarray(found), expected)


# ---- operators

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
OTHERS: list[Any] = [
    2.0,
    3,
    True,
    np.float64(2.0),
    np.float32(2.0),
    np.int8(3),
    np.array(2.0),
    np.array([1.0, 2.0, 3.0]),
    A + 3,
    [1.0, 2.0, 3.0],
]


@pytest.mark.parametrize("other", OTHERS, ids=repr)
@pytest.mark.parametrize("op", OPERATORS + COMPARISONS + [divmod])
def test_operators_with_anything_on_either_side(op: Any, other: Any) -> None:
    """A Tensor whatever stands beside it: Python numbers, NumPy scalars, arrays, lists; with NumPy's promotion."""
    exact = np.power if op is operator.pow else op  # until NumPy 2.2, `**` of an ndarray looked at the exponent's value for the dtype
    for a in (np.abs(A), np.abs(A).astype(np.float32)):
        t = fg.tensor(a)
        plain = np.asarray(other) if isinstance(other, list) else other
        same(op(t, other), exact(a, plain))
        same(op(other, t), op(plain, a))
        same(op(t, t), op(a, a))


@pytest.mark.parametrize("op", BITWISE)
@pytest.mark.parametrize("other", [2, np.int64(1), np.array([1, 2, 3])], ids=repr)
def test_bitwise_operators(op: Any, other: Any) -> None:
    """On integers."""
    a = np.array([4, 5, 6])
    same(op(fg.tensor(a), other), op(a, other))
    same(op(other, fg.tensor(a)), op(other, a))


def test_unary_operators() -> None:
    """- + abs ~ round."""
    t = fg.tensor(A)
    for op in (operator.neg, operator.pos, abs):
        same(op(t), op(A))
    same(round(t, 1), np.round(A, 1))
    same(~fg.tensor([True, False]), np.array([False, True]))


def test_matmul() -> None:
    """With arrays on either side."""
    t = fg.tensor(A)
    same(t @ A.T, A @ A.T)
    same(A.T @ t, A.T @ A)
    same(np.ones(2) @ t, np.ones(2) @ A)
    same(t @ t.T, A @ A.T)


def test_augmented_assignment_rebinds() -> None:
    """`t += 1` makes another Tensor; an array takes up a Tensor in place, as it would an array."""
    t = before = fg.tensor(A)
    t += 1
    t *= A
    same(t, (A + 1) * A)
    same(before, A)
    a = A.copy()
    a += before
    assert type(a) is np.ndarray
    np.testing.assert_array_equal(a, 2 * A)


# ---- methods and properties

METHODS: dict[str, list[Callable[[Any], Any]]] = {
    "all": [lambda x: x.all(), lambda x: (x > 0).all(axis=0)],
    "any": [lambda x: (x > 2).any(axis=1, keepdims=True)],
    "argmax": [lambda x: x.argmax(), lambda x: x.argmax(0), lambda x: x.argmax(axis=1, keepdims=True)],
    "argmin": [lambda x: x.argmin(), lambda x: x.argmin(axis=-1)],
    "argpartition": [lambda x: x.argpartition(1, axis=1)],
    "argsort": [lambda x: x.argsort(), lambda x: x.argsort(axis=0, kind="stable")],
    "astype": [lambda x: x.astype(int), lambda x: x.astype(np.float32, copy=False), lambda x: x.astype("c16")],
    "choose": [lambda x: (x > 0).astype(int).choose([5, 7])],
    "clip": [lambda x: x.clip(-1, 1), lambda x: x.clip(min=0.0), lambda x: x.clip(max=1.0)],
    "compress": [lambda x: x.compress([False, True], axis=0)],
    "conj": [lambda x: (x * 1j).conj()],
    "conjugate": [lambda x: (x * 1j).conjugate()],
    "copy": [lambda x: x.copy()],
    "cumprod": [lambda x: x.cumprod(), lambda x: x.cumprod(axis=1)],
    "cumsum": [lambda x: x.cumsum(), lambda x: x.cumsum(0)],
    "diagonal": [lambda x: x.diagonal(), lambda x: x.diagonal(offset=1)],
    "dot": [lambda x: x.dot(np.ones(3))],
    "flatten": [lambda x: x.flatten(), lambda x: x.flatten("F")],
    "max": [lambda x: x.max(), lambda x: x.max(0), lambda x: x.max(axis=1, keepdims=True, initial=1.0)],
    "mean": [lambda x: x.mean(), lambda x: x.mean(axis=(0, 1)), lambda x: x.mean(1, keepdims=True)],
    "min": [lambda x: x.min(), lambda x: x.min(-1), lambda x: x.min(where=np.ones((2, 3), bool), initial=9.0)],
    "nonzero": [lambda x: (x > 0).nonzero()],
    "prod": [lambda x: x.prod(), lambda x: x.prod(axis=0)],
    "ravel": [lambda x: x.ravel(), lambda x: x.ravel(order="F")],
    "repeat": [lambda x: x.repeat(2), lambda x: x.repeat([1, 0, 2], axis=1)],
    "reshape": [lambda x: x.reshape(3, 2), lambda x: x.reshape((6,)), lambda x: x.reshape(-1), lambda x: x.reshape(3, -1, order="F")],
    "round": [lambda x: x.round(), lambda x: x.round(1), lambda x: x.round(decimals=1)],
    "searchsorted": [lambda x: x.ravel().cumsum().searchsorted([0.0, 2.0], side="right")],
    "squeeze": [lambda x: x[None].squeeze(), lambda x: x[:, None].squeeze(axis=1)],
    "std": [lambda x: x.std(), lambda x: x.std(axis=0, ddof=1)],
    "sum": [lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.sum(axis=(0, 1), keepdims=True), lambda x: x.sum(dtype=np.float32)],
    "swapaxes": [lambda x: x.swapaxes(0, 1)],
    "take": [lambda x: x.take([5, 0]), lambda x: x.take([1], axis=0)],
    "trace": [lambda x: x.trace(), lambda x: x.trace(1)],
    "transpose": [lambda x: x.transpose(), lambda x: x.transpose(1, 0), lambda x: x.transpose((1, 0)), lambda x: x.transpose(None)],
    "var": [lambda x: x.var(), lambda x: x.var(axis=1, ddof=1, keepdims=True)],
}
"""Every method of ndarray that gives arrays, as users call it."""

PROPERTIES = "T mT real imag".split()
FACTS = "shape dtype ndim size itemsize nbytes".split()
NUMBERS = "item tolist".split()
OF_MEMORY = set(
    "base byteswap ctypes data device dump dumps flags getfield setfield setflags strides to_device tobytes tofile tostring view".split()
)
"""ndarray's words for memory and files, which a value has none of: `np.asarray(t)` has them."""
IN_PLACE = set("fill partition put resize sort".split())
REMOVED = set("itemset newbyteorder ptp".split())
"""Names that ndarrays of early NumPy 2 have, and that do nothing but raise."""


def test_parity_with_ndarray() -> None:
    """What an ndarray can be asked, a Tensor can be asked, but for what speaks of memory."""
    public = {name for name in dir(np.ndarray) if not name.startswith("_")} - REMOVED
    tested = {*METHODS, *PROPERTIES, *FACTS, *NUMBERS, "flat"}
    assert public - tested - OF_MEMORY - IN_PLACE == set()
    assert {name for name in tested | IN_PLACE if not hasattr(Tensor, name)} == set()
    assert {name for name in FUNCTIONS_AS_METHODS if name not in METHODS} <= IN_PLACE


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    """Values, dtypes, shapes and keywords are those of the ndarray's method; the result is a Tensor."""
    for f in METHODS[name]:
        same(f(fg.tensor(A)), f(A))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", [n for n in METHODS if n not in ("argpartition", "choose")])
def test_methods_of_traced_values(name: str, path: str) -> None:
    """The same methods on a tracer give what they give on an ndarray."""
    with PATHS[path]():
        for f in METHODS[name]:
            value, _ = fg.vjp(lambda x, f=f: f(x), A)
            expected = f(A)
            for v, e in zip(fg.tree.leaves(value), fg.tree.leaves(expected), strict=True):
                np.testing.assert_allclose(np.asarray(v), e, rtol=1e-13)
                assert np.asarray(v).dtype == e.dtype


@pytest.mark.parametrize("name", UFUNCS_AS_METHODS)
def test_ufuncs_as_methods(name: str) -> None:
    """`x.sin()` and friends, of Tensors and of traced values."""
    ufunc = getattr(np, name)
    x = np.array([0.25, 0.5]) if name != "arccosh" else np.array([1.25, 1.5])
    more = (np.array([0.75, 0.1]),) * (ufunc.nin - 1)
    same(getattr(fg.tensor(x), name)(*more), ufunc(x, *more))
    value = fg.jvp(lambda x: getattr(x, name)(*more), (x,), (x,))[0]
    np.testing.assert_array_equal(value, ufunc(x, *more))


def test_properties() -> None:
    """T, mT, real, imag are Tensors; shape, dtype and sizes are plain; flat runs over the elements."""
    t = fg.tensor(A + 1j * A[::-1])
    a = np.asarray(t)
    for name in PROPERTIES:
        same(getattr(t, name), getattr(a, name))
    for name in FACTS:
        assert getattr(t, name) == getattr(a, name)
        assert fg.vjp(lambda x, name=name: getattr(x, name), a)[0] == getattr(a, name)
    assert [complex(e) for e in t.flat] == list(a.flat)


def test_in_place_methods_name_the_alternative() -> None:
    """sort, fill, put, partition, resize write into an ndarray; a Tensor says what to write."""
    calls: dict[str, tuple[Any, ...]] = {"sort": (), "fill": (0.0,), "put": ([0], 1.0), "partition": (1,), "resize": ((1,),)}
    assert calls.keys() == IN_PLACE
    for name, args in calls.items():
        with pytest.raises(errors.FrozenError, match="Use `x = np"):
            getattr(fg.tensor(A[0]), name)(*args)


# ---- items


@pytest.mark.parametrize(
    "index",
    [0, -1, (1, 2), slice(None, None, -1), (slice(None), 1), None, ..., [1, 0], (..., [0, 2]), A > 0, np.array([True, False])],
    ids=repr,
)
def test_indexing(index: Any) -> None:
    """As NumPy's, with Tensors as indices too; a number is a 0-d Tensor."""
    t = fg.tensor(A)
    same(t[index], A[index])
    if isinstance(index, (list, np.ndarray)):
        same(t[fg.tensor(index)], A[index])
        np.testing.assert_array_equal(A[fg.tensor(index)], A[index])


def test_length_iteration_membership() -> None:
    """As a sequence of rows."""
    t = fg.tensor(A)
    assert len(t) == 2
    for row, expected in zip(t, A, strict=True):
        same(row, expected)
    assert 3.0 in t
    assert 17 not in t
    _, second = t
    same(second, A[1])
    with pytest.raises(TypeError, match="len"):
        len(fg.tensor(1.0))
    with pytest.raises(TypeError, match="0-d"):
        iter(fg.tensor(1.0))


def test_one_number() -> None:
    """float, int, complex, bool, index, item, tolist, format."""
    t = fg.tensor(2.75)
    assert (float(t), int(t), complex(t), bool(t)) == (2.75, 2, 2.75 + 0j, True)
    assert [7, 8, 9][fg.tensor(1)] == 8
    assert f"{t:.1f} {t}" == "2.8 2.75"
    assert type(t.item()) is float
    assert fg.tensor(A).item(1, 2) == -0.5
    assert fg.tensor(A).tolist() == A.tolist()
    with pytest.raises(TypeError):
        [7, 8, 9][t]  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="converted to Python scalars"):
        float(fg.tensor(A))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(fg.tensor(A))


# ---- NumPy's protocols


def test_array() -> None:
    """`np.asarray(t)` is a read-only view, without a copy; `np.array(t)` a writeable copy; another dtype a copy."""
    t = fg.tensor(A)
    view = np.asarray(t)
    assert np.shares_memory(view, np.asarray(t))
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        view[:].flags.writeable = True
    assert np.array(t).flags.writeable
    assert np.asarray(t, dtype=np.float32).dtype == np.float32
    assert np.asarray(t, copy=False) is not None
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(t, dtype=np.float32, copy=False)
    np.testing.assert_array_equal(np.array([t[0, 0], t[0, 1]]), A[0, :2])
    assert np.array([t, t]).shape == (2, 2, 3)


def test_numpy_functions_give_tensors() -> None:
    """Those we have rules for and those we have not; in tuples, lists and named tuples; what is no array stays itself."""
    t = fg.tensor(A)
    same(np.sin(t), np.sin(A))
    same(np.concatenate([t, A]), np.concatenate([A, A]))
    same(np.unique(t), np.unique(A))
    same(np.histogram(t, bins=2), np.histogram(A, bins=2))
    same(np.split(t, 3, axis=1), np.split(A, 3, axis=1))
    same(np.modf(t), np.modf(A))
    same(np.add.reduce(t, axis=1), np.add.reduce(A, axis=1))
    same(np.multiply.outer(t, A), np.multiply.outer(A, A))
    same(np.where(t > 0, t, 0.0), np.where(A > 0, A, 0.0))
    same(np.linalg.solve(t[:, :2], np.ones(2)), np.linalg.solve(A[:, :2], np.ones(2)))
    result = np.linalg.qr(t)
    assert type(result) is type(np.linalg.qr(A))
    same(result.Q, np.linalg.qr(A).Q)
    assert np.shape(t) == (2, 3)
    assert np.allclose(t, A) is True
    assert np.result_type(t, np.float32(1)) == np.float64


def test_out_of_the_callers_own() -> None:
    """A Tensor may be computed into an array; the array stays one."""
    out = np.empty(3)
    result = np.add(fg.tensor(A[0]), 1.0, out=out)
    assert result is out
    np.testing.assert_array_equal(out, A[0] + 1)


# ---- frozen


def test_nothing_can_be_written() -> None:
    """Items, attributes, `out=`, `ufunc.at`, `np.copyto`; the message names what to write."""
    t = fg.tensor(A)

    def attribute() -> None:
        t._array = A  # type: ignore[misc]

    def new() -> None:
        t.name = 1

    def shape() -> None:
        t.shape = (6,)

    def real() -> None:
        t.real = 0

    for write in (attribute, new, shape, real, lambda: delattr(t, "_array")):
        with pytest.raises((AttributeError, TypeError)):
            write()  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"x\[i\] = v: tensors and traced values are immutable\. Use `x = x\.at\[i\]\.set\(v\)`\."):
        t[0] = 1.0
    with pytest.raises(TypeError, match="immutable"):
        del t[0]
    with pytest.raises(TypeError, match=r"np\.add\(out=…\)"):
        np.add(t, 1.0, out=t)
    with pytest.raises(TypeError, match=r"np\.add\.at"):
        np.add.at(t, 0, 1.0)
    with pytest.raises((TypeError, ValueError)):
        np.copyto(t, 0.0)
    same(t, A)


def test_a_tensor_is_a_copy_of_what_can_be_written_to() -> None:
    """Of arrays and their views; a Tensor, and a view of one, is taken as it is."""
    a = A.copy()
    t, view = fg.tensor(a), fg.tensor(a[:, 1])
    a[:] = 0
    same(t, A)
    same(view, A[:, 1])
    assert fg.tensor(t) is t
    assert fg.tensor(t, dtype=np.float64) is t
    same(fg.tensor(t, dtype=np.float32), A.astype(np.float32))
    assert np.shares_memory(np.asarray(t[0]), np.asarray(t))


@pytest.mark.parametrize(
    "data",
    [1, 2.0, True, 1j, [1, 2.0], ((1, 2), (3, 4)), np.float32(1), np.arange(3, dtype=np.uint8), np.zeros((0, 2)), range(3)],
    ids=repr,
)
def test_what_a_tensor_is_made_of(data: Any) -> None:
    """Any array-like of numbers, with NumPy's dtype."""
    same(fg.tensor(data), np.array(data))
    same(fg.Tensor(data), np.array(data))
    same(fg.tensor(data, dtype=complex), np.array(data, dtype=complex))


@pytest.mark.parametrize(
    "data", ["text", [None], Ellipsis, np.array(["a"]), np.array(["2020"], "M8[D]"), np.zeros(2, [("x", float)])], ids=repr
)
def test_what_a_tensor_is_not_made_of(data: Any) -> None:
    """Text, objects, dates and records: a TypeError that names the dtype."""
    with pytest.raises(TypeError, match="a Tensor holds numbers, got an array of dtype"):
        fg.tensor(data)


def test_unhashable() -> None:
    """`==` compares element by element, so there is no hash; the message says what to take as a key."""
    with pytest.raises(TypeError, match="id"):
        hash(fg.tensor(A))
    with pytest.raises(TypeError):
        {fg.tensor(1.0): 1}
    with pytest.raises(TypeError):
        fg.grad(lambda x: x * len({x}))(1.0)


# ---- as a Python object


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol: int) -> None:
    """There and back it is the same, and frozen."""
    for a in (A, A[:, ::2], np.float32(1.5), np.zeros((0, 3)), np.asfortranarray(A)):
        back = pickle.loads(pickle.dumps(fg.tensor(a), protocol))
        same(back, a)
        assert not np.asarray(back).flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            np.asarray(back)[...].flags.writeable = True


def test_copies_are_itself() -> None:
    """Nothing can change, so there is nothing to copy; an object that holds one is copied around it."""
    t = fg.tensor(A)
    assert copy.copy(t) is t
    assert copy.deepcopy(t) is t
    assert copy.deepcopy({"w": [t]})["w"][0] is t


def test_a_traced_value_is_not_pickled() -> None:
    """It would lose its meaning."""
    with pytest.raises(TypeError, match="pickle"):
        fg.grad(lambda x: pickle.dumps(x))(1.0)


def test_copies_of_traced_values_are_themselves() -> None:
    """Their derivative is not lost."""
    assert fg.grad(lambda x: copy.copy(x) * copy.deepcopy([x])[0])(3.0) == 6.0


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (1.5, "Tensor(1.5, float64)"),
        ([1, 2], "Tensor([1, 2], int64[2])"),
        ([[1.0, 2.0], [3.0, 4.0]], "Tensor([[1., 2.], [3., 4.]], float64[2, 2])"),
        (np.arange(100.0), "Tensor([ 0., 1., 2., ..., 97., 98., 99.], float64[100])"),
        (np.zeros((0, 2), np.float32), "Tensor([], float32[0, 2])"),
    ],
)
def test_repr(data: Any, text: str) -> None:
    """One short line: numbers, dtype, shape."""
    assert repr(fg.tensor(data)) == text


def test_repr_of_traced_values() -> None:
    """Who traces it, and its value; `print` shows the value alone."""
    seen: list[str] = []

    def loss(x: Any) -> Any:
        seen.extend([repr(x), str(x), f"{x:.2f}", f"{x}"])
        return x * x

    fg.grad(loss)(1.25)
    assert seen == ["Traced(1.25, float64, by grad(loss))", "1.25", "1.25", "1.25"]


def test_a_tracer_has_the_face_of_a_tensor() -> None:
    """A subclass, with the same public names."""
    public = {name for name in dir(Tensor) if not name.startswith("_")}
    assert public <= set(dir(Tracer))
    assert fg.grad(lambda x: x * isinstance(x, fg.Tensor))(2.0) == 1.0


def test_documented() -> None:
    """Every public name says what it is."""
    for name, member in inspect.getmembers(Tensor):
        if not name.startswith("_"):
            assert inspect.getdoc(member), name


def test_a_tensor_is_one_leaf() -> None:
    """Not a container of its array, though it is an attrs class."""
    t = fg.tensor(A)
    (leaf,) = fg.tree.leaves({"w": [t]})
    assert leaf is t
