"""Containers of parameters."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, namedtuple
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from tests.hard_cases.kit import close

Layer = namedtuple("Layer", ["weight", "bias"])


def test_none_is_no_leaf() -> None:
    """A parameter that is switched off stays None in the gradient."""
    f = lambda p: p["scale"] * (5.0 if p["shift"] is None else p["shift"])
    assert fg.grad(f)({"shift": None, "scale": 2.0}) == {"shift": None, "scale": 5.0}


def test_keys_that_do_not_sort() -> None:
    """Any keys will do; the gradient has the same."""
    g = fg.grad(lambda p: p[0] ** 2 * p["a"] + p[(1, 2)])({"a": 3.0, 0: 2.0, (1, 2): 1.0})
    assert g == {"a": 4.0, 0: 12.0, (1, 2): 1.0}
    assert list(g) == ["a", 0, (1, 2)]


def test_flatten_unflatten_map() -> None:
    """Leaves come in the order of sorted keys; None is a place without a leaf; there and back is the same tree."""
    tree = {"y": [1.0, None], "x": (2.0, OrderedDict(k=3.0))}
    leaves, treedef = fg.tree.flatten(tree)
    assert list(leaves) == [2.0, 3.0, 1.0]
    assert fg.tree.unflatten(treedef, leaves) == tree
    assert list(fg.tree.leaves(tree)) == [2.0, 3.0, 1.0]
    assert fg.tree.map(lambda a, b: a - b, {"k": [5, (7,)]}, {"k": [1, (2,)]}) == {"k": [4, (5,)]}


@pytest.mark.parametrize(
    ("left", "right"), [({"a": 1}, {"c": 1}), ([1, 2, 3], [1, 2]), ((1,), [1]), ({"a": 1}, {"a": (1,)}), (Layer(1, 2), (1, 2))]
)
def test_trees_that_do_not_match(left: Any, right: Any) -> None:
    """An error, in whatever way they differ."""
    with pytest.raises(ValueError, match="map: trees 1 and 2 differ at"):
        fg.tree.map(lambda a, b: a, left, right)


def test_too_few_and_too_many_leaves() -> None:
    """An error that counts them."""
    _, treedef = fg.tree.flatten([1, (2, 3)])
    for n in (2, 4):
        with pytest.raises(ValueError, match=f"got {n} leaves for a tree of 3"):
            fg.tree.unflatten(treedef, [0] * n)


@dataclasses.dataclass
class Plain:
    weight: Any
    name: str = dataclasses.field(default="plain", metadata={"pytree": False})


@attrs.frozen
class Frozen:
    weight: Any
    parts: Any = None


def test_classes_that_nobody_registered() -> None:
    """A dataclass, an attrs class and a namedtuple are containers of their fields."""
    assert fg.grad(lambda p: p.weight**3)(Plain(2.0)) == Plain(12.0)
    g = fg.grad(lambda p: p.weight * p.parts[0].weight)(Frozen(2.0, [Plain(5.0, "inner")]))
    assert g == Frozen(5.0, [Plain(2.0, "inner")])
    assert fg.grad(lambda p: p.weight * p.bias)(Layer(3.0, 4.0)) == Layer(4.0, 3.0)


def test_one_array_in_two_places() -> None:
    """Two places are two arguments."""
    w = np.array([1.0, 2.0])
    g = fg.grad(lambda p: np.sum(4 * p["a"] - p["b"] ** 2))({"a": w, "b": w})
    close(g, {"a": np.array([4.0, 4.0]), "b": np.array([-2.0, -4.0])})
    ga, gb = fg.grad(lambda a, b: np.sum(a * 7 + b), (0, 1))(w, w)
    close((ga, gb), (np.full(2, 7.0), np.ones(2)))


def test_value_gradient_and_aux_of_a_tree() -> None:
    """`((value, aux), gradient)`, with concrete values in aux."""

    def loss(p: Any, x: float) -> Any:
        prediction = p["w"] * x + p["b"]
        return prediction**2, {"prediction": prediction, "label": "first"}

    (value, aux), g = fg.value_and_grad(loss, has_aux=True)({"w": 2.0, "b": -1.0}, 3.0)
    assert (value, aux, g) == (25.0, {"prediction": 5.0, "label": "first"}, {"w": 30.0, "b": 10.0})
    assert isinstance(aux["prediction"], float)


@pytest.mark.parametrize("jacobian", [fg.jacrev, fg.jacfwd])
def test_jacobians_of_trees(jacobian: Any) -> None:
    """The output's tree, with a tree of the inputs at each leaf; zeros where nothing depends."""
    f = lambda p, t: [p["u"] * t, {"total": np.sum(p["v"]) * 2}]
    j = jacobian(f, (0, 1))({"u": np.array([1.0, 5.0]), "v": np.ones((1, 2))}, 4.0)
    u, v = {"u": 4 * np.eye(2), "v": np.zeros((2, 1, 2))}, {"u": np.zeros(2), "v": np.full((1, 2), 2.0)}
    close(j, [(u, np.array([1.0, 5.0])), {"total": (v, np.float64(0.0))}])
