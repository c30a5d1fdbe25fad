"""`fg.tree`: the functions of `jax.tree`, and `ravel`."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from tests.ops.kit import arr


@attrs.frozen
class Layer:
    """A container without registration."""

    w: Any
    b: Any = None
    name: str = attrs.field(default="", metadata={"pytree": False})


TREES: dict[str, Any] = {
    "leaf": 1,
    "none": None,
    "empty": {},
    "dict": {"b": 2, "a": [1, None]},
    "deep": [{"w": (1, 2), "b": {}}, Layer([3], {"k": 4}, "relu"), None],
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_flatten_and_back(tree: Any) -> None:
    """Every way to take a tree apart agrees with the others, and `unflatten` puts it together."""
    leaves, treedef = fg.tree.flatten(tree)
    assert fg.tree.unflatten(treedef, leaves) == tree
    assert fg.tree.leaves(tree) == leaves
    assert fg.tree.structure(tree) == treedef
    assert fg.tree.map(lambda x: x, tree) == tree
    paired, same = fg.tree.flatten_with_path(tree)
    assert (same, [x for _, x in paired]) == (treedef, leaves)
    seen: list[Any] = []
    assert fg.tree.map_with_path(lambda path, x: seen.append((path, x)) or x, tree) == tree
    assert seen == paired


def test_names_are_those_of_jax() -> None:
    """All of them are there."""
    names = "all broadcast flatten flatten_with_path leaves map map_with_path ravel reduce register structure transpose unflatten"
    assert set(names.split()) <= set(fg.tree.__all__)


def test_is_leaf() -> None:
    """Asked at containers, None among them; what it takes is not opened."""
    tree = {"a": (1, 2), "b": None, "c": [3]}
    is_pair = lambda x: isinstance(x, tuple)
    assert fg.tree.leaves(tree, is_leaf=is_pair) == [(1, 2), 3]
    assert fg.tree.leaves(tree, is_leaf=lambda x: x is None) == [1, 2, None, 3]
    none = lambda x: x is None
    assert fg.tree.map(lambda x, y: (x, y), {"a": None, "b": 1}, {"a": 2, "b": 3}, is_leaf=none) == {"a": (None, 2), "b": (1, 3)}
    assert fg.tree.structure(tree, is_leaf=is_pair) == fg.tree.structure({"a": 0, "b": None, "c": [0]})
    assert fg.tree.reduce(lambda x, y: x + y, {"a": [1], "b": [2]}, is_leaf=lambda x: isinstance(x, list)) == [1, 2]
    assert not fg.tree.all([True, None], is_leaf=lambda x: x is None)
    assert fg.tree.flatten(tree)[0] == [1, 2, 3]


def test_reduce_and_all() -> None:
    """Over the leaves, in their order; with a first value also of none."""
    assert fg.tree.reduce(lambda x, y: 10 * x + y, {"b": 2, "a": (1, None), "c": [3]}) == 123
    assert fg.tree.reduce(lambda x, y: x + y, [], 5) == 5
    assert fg.tree.reduce(lambda x, y: x + y, [1], initializer=5) == 6
    with pytest.raises(TypeError, match="empty"):
        fg.tree.reduce(lambda x, y: x + y, [])
    assert fg.tree.all({"a": True, "b": (1, None)})
    assert fg.tree.all(())
    assert not fg.tree.all([True, 0])


def test_register() -> None:
    """A class of the user's becomes a container."""

    class Pair:
        def __init__(self, x: Any, y: Any) -> None:
            self.x, self.y = x, y

    assert len(fg.tree.leaves(Pair(1, 2))) == 1
    fg.tree.register(Pair, lambda p: ((p.x, p.y), None), lambda aux, children: Pair(*children))
    assert fg.tree.leaves(Pair(1, [2, 3])) == [1, 2, 3]
    assert fg.grad(lambda p: p.x * p.y)(Pair(2.0, 3.0)).x == 3.0


# ---- two trees


def test_broadcast() -> None:
    """A leaf of the prefix stands for everything below it."""
    full = {"a": [1, (2, 3)], "b": None, "c": Layer(4, 5, "relu")}
    assert fg.tree.broadcast({"a": "x", "b": None, "c": Layer("y", "z", "relu")}, full) == {
        "a": ["x", ("x", "x")],
        "b": None,
        "c": Layer("y", "z", "relu"),
    }
    assert fg.tree.broadcast(0, full) == {"a": [0, (0, 0)], "b": None, "c": Layer(0, 0, "relu")}
    assert fg.tree.broadcast(full, full) == full
    assert fg.tree.broadcast([(1, 2)], [[0, 0]], is_leaf=lambda x: isinstance(x, tuple)) == [[(1, 2), (1, 2)]]


@pytest.mark.parametrize(
    ("prefix", "full", "message"),
    [
        ({"a": [1]}, {"a": (1,)}, r"broadcast: trees 1 and 2 differ at \['a'\]: \[\*\] ≠ \(\*,\)\."),
        ({"a": [1]}, {"a": 1}, r"broadcast: trees 1 and 2 differ at \['a'\]: \[\*\] ≠ a leaf\."),
        ({"a": 1}, {"b": 1}, r"broadcast: trees 1 and 2 differ at the root: \{'a': \*\} ≠ \{'b': \*\}\."),
        ([1, None], [1, 2], r"broadcast: trees 1 and 2 differ at \[1\]: None ≠ a leaf\."),
    ],
)
def test_what_is_no_prefix(prefix: Any, full: Any, message: str) -> None:
    """The message says where they part."""
    with pytest.raises(errors.TreeMismatchError, match=message):
        fg.tree.broadcast(prefix, full)


def test_transpose() -> None:
    """A list of dicts becomes a dict of lists, and back again."""
    rows = [{"a": 1, "b": (2, None)}, {"a": 3, "b": (4, None)}, {"a": 5, "b": (6, None)}]
    outer, inner = fg.tree.structure([0, 0, 0]), fg.tree.structure({"a": 0, "b": (0, None)})
    columns = fg.tree.transpose(outer, inner, rows)
    assert columns == {"a": [1, 3, 5], "b": ([2, 4, 6], None)}
    assert fg.tree.transpose(outer, None, rows) == columns
    assert fg.tree.transpose(inner, outer, columns) == rows


def test_transpose_of_trees_that_do_not_fit() -> None:
    """Outside, inside, and with nothing to tell the inner structure by."""
    outer = fg.tree.structure([0, 0])
    with pytest.raises(errors.TreeMismatchError, match=r"transpose: .* \[\*, \*\] ≠ \(\*, \*\)"):
        fg.tree.transpose(outer, None, (1, 2))
    with pytest.raises(errors.TreeMismatchError, match=r"transpose: .* \{'a': \*\} ≠ \{'b': \*\}"):
        fg.tree.transpose(outer, None, [{"a": 1}, {"b": 1}])
    with pytest.raises(errors.ArgumentError, match="inner_treedef"):
        fg.tree.transpose(fg.tree.structure([]), None, [])


# ---- ravel

PARAMS: dict[str, Any] = {
    "w": arr(2, 3),
    "b": 0.5,
    "layers": [Layer(np.float32([1.5, 2.5]), np.float64(3.0), "relu"), None, fg.tensor(arr(2, seed=1))],
    "none": np.zeros((0, 4)),
    "scale": np.array(2.0),
}


def test_ravel_and_back() -> None:
    """Leaves come back with their type, shape, dtype and values."""
    flat, unravel = fg.tree.ravel(PARAMS)
    assert type(flat) is fg.Tensor
    assert (flat.shape, flat.dtype) == ((13,), np.float64)
    np.testing.assert_array_equal(flat, np.concatenate([np.ravel(x) for x in fg.tree.leaves(PARAMS)]))
    for vector in (flat, np.array(flat), flat.tolist()):
        back = unravel(vector)
        assert fg.tree.structure(back) == fg.tree.structure(PARAMS)
        for old, new in zip(fg.tree.leaves(PARAMS), fg.tree.leaves(back), strict=True):
            assert type(new) is type(old)
            assert np.asarray(new).dtype == np.asarray(old).dtype
            np.testing.assert_array_equal(new, old)


def test_what_unravel_gives_is_nobody_elses_memory() -> None:
    """Frozen, and not a view of the caller's vector."""
    flat, unravel = fg.tree.ravel([np.ones(2), np.ones(3)])
    assert type(flat) is np.ndarray
    assert not flat.flags.writeable
    mine = np.arange(5.0)
    a, _ = unravel(mine)
    mine[:] = 7.0
    np.testing.assert_array_equal(a, [0.0, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        a[0] = 1.0


def test_ravel_does_not_keep_the_leaves() -> None:
    """The way back needs their types and shapes alone."""
    import weakref

    x = np.ones(5)
    seen = weakref.ref(x)
    _, unravel = fg.tree.ravel([x])
    del x
    assert seen() is None
    np.testing.assert_array_equal(unravel(np.zeros(5))[0], np.zeros(5))


def test_ravel_of_other_dtypes() -> None:
    """The vector has what they promote to; whole numbers come back whole."""
    flat, unravel = fg.tree.ravel((2, np.float32([0.5]), True))
    assert flat.dtype == np.float64
    n, x, yes = unravel(flat)
    assert (n, type(n), x.dtype, yes) == (2, int, np.float32, True)
    assert fg.tree.ravel([np.float32(1), np.ones(2, np.float32)])[0].dtype == np.float32
    assert fg.tree.ravel([1j, 2.0])[1](np.array([2j, 3.0])) == [2j, 3.0]
    flat, unravel = fg.tree.ravel([None, {}])
    assert (flat.shape, unravel(flat)) == ((0,), [None, {}])


def test_derivatives_through_ravel() -> None:
    """A function of the tree is one of the vector, in every mode and order."""
    flat, unravel = fg.tree.ravel({"w": arr(2, 3), "b": 0.5})

    def loss(p: Any) -> Any:
        return np.sum(np.sin(p["w"]) ** 2) * p["b"] ** 3

    def of_vector(v: Any) -> Any:
        return loss(unravel(v))

    g = fg.grad(of_vector)(flat)
    np.testing.assert_allclose(g, fg.tree.ravel(fg.grad(loss)(unravel(flat)))[0], rtol=1e-15)
    np.testing.assert_allclose(fg.jacfwd(of_vector)(flat), g, rtol=1e-14)
    h = fg.hessian(of_vector)(flat)
    np.testing.assert_allclose(h, fg.jacrev(fg.grad(of_vector))(flat), rtol=1e-12)
    step = 1e-6
    by_differences = (fg.grad(of_vector)(flat + step * np.eye(7)[0]) - fg.grad(of_vector)(flat - step * np.eye(7)[0])) / (2 * step)
    np.testing.assert_allclose(h[0], by_differences, rtol=1e-6, atol=1e-8)


def test_ravel_inside_a_traced_function() -> None:
    """The norm of all parameters; parts that are traced and parts that are not."""

    def norm(p: Any) -> Any:
        flat, unravel = fg.tree.ravel({"p": p, "fixed": np.ones(2)})
        doubled = unravel(2 * flat)
        return np.sqrt(np.sum(flat**2)) + np.sum(doubled["p"]["w"])

    p = {"w": np.array([1.0, 1.0]), "b": 0.0}
    g = fg.grad(norm)(p)
    np.testing.assert_allclose(g["w"], 0.5 + 2.0)
    assert g["b"] == 0.0


def test_a_leaf_that_is_no_number() -> None:
    """By its path."""
    with pytest.raises(errors.ArgumentTypeError, match=r"ravel: \['a'\]\[1\] is a str"):
        fg.tree.ravel({"a": [1.0, "x"]})
    with pytest.raises(errors.ArgumentTypeError, match="ravel"):
        fg.tree.ravel([np.array(["x"])])


def test_a_vector_that_does_not_fit() -> None:
    """Another size, or complex numbers for a real tree."""
    _, unravel = fg.tree.ravel([1.0, 2.0])
    for bad in (np.zeros(3), np.zeros((2, 1)), 1.0):
        with pytest.raises(errors.ArgumentError, match=r"unravel: the vector must have shape \[2\]"):
            unravel(bad)
    with pytest.raises(errors.ArgumentTypeError, match="complex"):
        unravel(np.zeros(2, complex))


def test_paths_are_what_messages_say() -> None:
    """A path is Python for the way from the root to the leaf."""
    tree = {"layers": [Layer(1, (2,))], 3: None, 4: 5}
    paths = [path for path, _ in fg.tree.flatten_with_path(tree)[0]]
    assert sorted(eval(f"t{path}", {"t": tree}) for path in paths) == [1, 2, 5]
