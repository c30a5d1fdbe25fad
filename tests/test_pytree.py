"""Pytrees: containers to leaves and back."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import threading
import weakref
from collections import Counter, OrderedDict, defaultdict, namedtuple
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcgrad import pytree
from funcgrad.errors import (
    CyclicTreeError,
    DeepTreeError,
    FuncgradError,
    LeafCountError,
    TreeMismatchError,
    TreeRegistrationError,
    UnregisteredContainerError,
    UnsetFieldError,
)
from funcgrad.pytree import memory
from funcgrad.pytree.walk import open_node


class Point(NamedTuple):
    x: Any
    y: Any


def refuse(*_: Any) -> Any:
    raise AssertionError("unflatten called user code")


@dataclasses.dataclass
class Plain:
    w: Any
    b: Any
    act: Any = dataclasses.field(default="relu", metadata={"pytree": False})


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    w: Any
    b: Any = None


@dataclasses.dataclass
class Child(Plain):
    extra: Any = dataclasses.field(init=False, default=0.0)


@attrs.define
class Defined:
    w: Any
    b: Any = None


@attrs.frozen
class Frozen:
    w: Any
    act: Any = attrs.field(default="relu", metadata={"pytree": False})


@attrs.frozen(slots=False)
class FrozenDict:
    _w: Any
    b: Any = attrs.field(init=False, default=1.0)


class Box:
    def __init__(self, aux: Any, *children: Any) -> None:
        self.aux, self.children = aux, children

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and (self.aux, self.children) == (other.aux, other.children)

    def __repr__(self) -> str:
        return f"Box({self.aux!r}, {self.children!r})"

    __hash__ = None  # type: ignore[assignment]


pytree.register(Box, lambda box: (box.children, box.aux), lambda aux, children: Box(aux, *children))

RECORDS = [Plain(1.0, 2.0), FrozenSlots(1.0, 2.0), Child(1.0, 2.0), Defined(1.0, 2.0), Frozen(1.0), FrozenDict(1.0)]


def twice_and_again(tree: Any) -> list[tuple[list[Any], pytree.TreeDef]]:
    """The slow path, the compilation, and the generated code."""
    return [pytree.flatten(tree) for _ in range(3)]


leaf = st.one_of(st.floats(allow_nan=False), st.integers(), st.booleans(), st.text(max_size=2))
key = st.one_of(st.text(max_size=3), st.integers(0, 3), st.booleans(), st.tuples(st.integers(0, 2)), st.floats(0, 1))


def branches(child: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    children = st.lists(child, max_size=3)
    return st.one_of(
        children,
        children.map(tuple),
        st.dictionaries(key, child, max_size=3),
        st.dictionaries(key, child, max_size=3).map(OrderedDict),
        st.dictionaries(key, child, max_size=3).map(lambda d: defaultdict(list, d)),
        st.builds(Point, child, child),
        st.builds(Plain, child, child, st.sampled_from(["relu", "tanh"])),
        st.builds(Plain, child, child, st.sampled_from([0.0, -0.0, 1, True])),
        st.builds(FrozenSlots, child, child),
        st.builds(Frozen, child),
        st.builds(Box, st.integers(0, 1), child, child),
    )


trees = st.recursive(st.one_of(leaf, st.none()), branches, max_leaves=12)


@given(trees)
def test_round_trip(tree: Any) -> None:
    """unflatten undoes flatten, exactly (`repr` tells 1 from True and 0.0 from -0.0), on the slow path and with generated code."""
    for leaves, treedef in twice_and_again(tree):
        for _ in range(3):
            assert repr(treedef.unflatten(leaves)) == repr(tree)
            assert treedef.unflatten(leaves) == tree
        assert len(leaves) == treedef.num_leaves == len(treedef.paths)


@given(trees)
def test_generated_code_agrees_with_the_slow_path(tree: Any) -> None:
    """The slow path is the oracle: same leaves, same structure in every respect, same rebuilt tree."""
    oracle: list[Any] = []
    expected = open_node(tree, oracle, None)
    for leaves, treedef in twice_and_again(tree):
        assert [id(x) for x in leaves] == [id(x) for x in oracle]
        assert treedef == expected
        assert repr(treedef) == repr(expected)
        assert treedef.unflatten(leaves) == expected._close(iter(oracle))


@given(trees)
def test_equal_structures_are_equal_and_hash_alike(tree: Any) -> None:
    """A copy of a tree has an equal treedef with the same hash; so has a pickled treedef."""
    first, second = pytree.structure(tree), pytree.structure(copy.deepcopy(tree))
    assert first == second
    assert hash(first) == hash(second)
    again = pickle.loads(pickle.dumps(first))
    assert again == first
    assert again.unflatten(pytree.leaves(tree)) == tree


@given(trees, trees)
def test_treedefs_are_equal_only_for_trees_that_map_together(a: Any, b: Any) -> None:
    """Unequal treedefs make `map` raise with what differs; equal ones never do."""
    if pytree.structure(a) == pytree.structure(b):
        pytree.map(lambda x, y: x, a, b)
    else:
        with pytest.raises(TreeMismatchError) as caught:
            pytree.map(lambda x, y: x, a, b)
        assert caught.value.left != caught.value.right


def test_leaves_come_in_sorted_key_order_and_insertion_order_is_kept() -> None:
    """Two dicts with the same keys flatten alike, as in JAX; each is rebuilt in its own order."""
    ab, ba = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    for _ in range(3):
        assert pytree.leaves(ab) == pytree.leaves(ba) == [1, 2]
        assert pytree.structure(ab) == pytree.structure(ba)
        assert list(pytree.map(float, ba)) == ["b", "a"]
        assert list(pytree.map(float, ab)) == ["a", "b"]
        assert pytree.map(lambda x, y: x - y, ab, ba) == {"a": 0, "b": 0}


def test_keys_that_do_not_sort_keep_insertion_order() -> None:
    """Any key type is accepted; without an order of keys, two insertion orders are two structures."""
    assert pytree.leaves({"b": 1, 0: 2, (): 3}) == [1, 2, 3]
    assert pytree.structure({"b": 1, 0: 2}) != pytree.structure({0: 2, "b": 1})


def test_ordered_dict_and_defaultdict() -> None:
    """OrderedDict keeps its order (as in JAX), defaultdict sorts and keeps its factory; they are not dicts."""
    ordered, default = OrderedDict(b=1, a=2), defaultdict(list, b=1, a=2)
    for _ in range(3):
        assert pytree.leaves(ordered) == [1, 2]
        assert pytree.leaves(default) == [2, 1]
        rebuilt = pytree.map(float, default)
        assert type(rebuilt) is defaultdict
        assert rebuilt.default_factory is list
        assert list(rebuilt) == ["b", "a"]
    assert pytree.structure(default) != pytree.structure(defaultdict(dict, b=1, a=2))
    assert len({pytree.structure(t) for t in (ordered, default, dict(default))}) == 3


@pytest.mark.parametrize("leaf", [1.0, "text", np.ones(2), np.float32(1), {1, 2}, object(), int, Plain, Frozen, Ellipsis, b"", range(2)])
def test_everything_else_is_a_leaf(leaf: Any) -> None:
    """Numbers, strings, arrays, sets, arbitrary objects, and classes (also dataclass classes) are leaves, not copied."""
    for _ in range(3):
        leaves, treedef = pytree.flatten([leaf])
        assert leaves[0] is leaf
        assert treedef.unflatten(leaves)[0] is leaf
        assert pytree.flatten(leaf) == ([leaf], pytree.LEAF)


def test_none_is_no_leaf() -> None:
    """None has no leaves and stays None."""
    assert pytree.leaves(None) == []
    assert pytree.map(refuse, {"a": None, "b": ()}) == {"a": None, "b": ()}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_records_need_no_registration(record: Any) -> None:
    """Dataclasses and attrs classes: frozen, with slots, with fields that are not in `__init__`, inherited."""
    for _ in range(3):
        doubled = pytree.map(lambda x: 2 * x, record)
        assert type(doubled) is type(record)
        assert pytree.leaves(doubled) == [2 * x for x in pytree.leaves(record)]


def test_static_fields_are_part_of_the_structure() -> None:
    """Fields marked `metadata={"pytree": False}` are no leaves; the treedef compares them by `==`, what cannot be by identity."""
    same, other = Plain(1, 2, "relu"), Plain(1, 2, "tanh")
    assert pytree.leaves(same) == [1, 2]
    assert pytree.structure(same) != pytree.structure(other)
    assert pytree.structure(Plain(1, 2, [1])) == pytree.structure(Plain(3, 4, [1]))
    assert hash(pytree.structure(Plain(1, 2, [1]))) == hash(pytree.structure(Plain(3, 4, [1])))
    array = np.ones(3)
    assert pytree.structure(Plain(1, 2, array)) == pytree.structure(Plain(1, 2, array))
    assert pytree.structure(Plain(1, 2, array)) != pytree.structure(Plain(1, 2, array.copy()))
    assert pytree.structure(Plain(1, 2, 1)) != pytree.structure(Plain(1, 2, True))


def test_unflatten_calls_no_init_converters_or_validators() -> None:
    """Law: unflatten makes objects without `__new__`, `__init__`, `__post_init__`, converters, validators or `__setattr__`."""
    armed = False

    def hook(*_: Any) -> Any:
        return refuse() if armed else None

    class Data:
        def __new__(cls, *_: Any) -> Any:
            hook()
            return object.__new__(cls)

    @dataclasses.dataclass
    class D(Data):
        w: Any

        def __post_init__(self) -> None:
            hook()

        def __setattr__(self, name: str, value: Any) -> None:
            hook()
            object.__setattr__(self, name, value)

    @attrs.define
    class A:
        w: Any = attrs.field(converter=lambda x: hook() or x, validator=hook)

        def __attrs_post_init__(self) -> None:
            hook()

    class T(namedtuple("T", "x y")):
        def __new__(cls, *args: Any) -> Any:
            hook()
            return super().__new__(cls, *args)

    tree = [D(1), A(2), T(3, 4)]
    treedef = pytree.structure(tree)
    armed = True
    for _ in range(3):
        rebuilt = treedef.unflatten([10, 20, 30, 40])
        assert [type(x) for x in rebuilt] == [D, A, T]
        assert [rebuilt[0].w, rebuilt[1].w, *rebuilt[2]] == [10, 20, 30, 40]


def test_cached_hash_of_attrs() -> None:
    """A rebuilt attrs object with `cache_hash=True` computes its own hash."""

    @attrs.frozen(cache_hash=True)
    class C:
        w: Any

    c = C(1)
    assert hash(c) == hash(pytree.map(lambda x: x, c)) != hash(pytree.map(lambda x: x + 1, c))


def test_paths() -> None:
    """A path reads like the Python that gets the leaf."""
    tree = {"layers": [Plain(1, None), Point(2, {0: 3})], "z": (Box("aux", 4), FrozenDict(5))}
    expected = ["['layers'][0].w", "['layers'][1].x", "['layers'][1].y[0]", "['z'][0][0]", "['z'][1]._w", "['z'][1].b"]
    assert list(pytree.structure(tree).paths) == expected
    assert pytree.flatten_with_path(tree)[0][1] == ("['layers'][1].x", 2)
    assert pytree.map_with_path(lambda path, x, y: f"{path}={x}{y}", [1], [2]) == ["[0]=12"]
    assert pytree.structure(1.0).paths == ("",)


def test_repr() -> None:
    """A treedef prints like the tree with `*` for leaves."""
    tree = {"b": [1, None], "a": (1,), "c": Plain(1, ()), "d": OrderedDict(x=Point(1, 2)), "e": Box(7, 1), "f": defaultdict(list)}
    expected = "{'b': [*, None], 'a': (*,), 'c': Plain(*, (), 'relu'), 'd': OrderedDict({'x': Point((*, *))}), 'e': Box(7, (*,)), "
    assert repr(pytree.structure(tree)) == f"TreeDef({expected}'f': defaultdict(<class 'list'>, {{}})}})"


def test_small_functions() -> None:
    """`all`, `reduce`, `leaves`, `unflatten` do what the builtins do, on leaves."""
    assert pytree.all({"a": True, "b": [1, None]})
    assert not pytree.all({"a": True, "b": [0]})
    assert pytree.reduce(lambda x, y: x + y, [1, (2, 3)]) == 6
    assert pytree.reduce(lambda x, y: x + y, None, 5) == 5
    assert pytree.unflatten(pytree.structure([1, (2,)]), iter("ab")) == ["a", ("b",)]


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ({"l": [1, 2]}, {"l": (1, 2)}, "map: trees 1 and 2 differ at ['l']: [*, *] ≠ (*, *)."),
        ({"l": {"W": 1, "b": 2}}, {"l": {"W": 1}}, "map: trees 1 and 2 differ at ['l']: {'W': *, 'b': *} ≠ {'W': *}."),
        ([[1], [2]], [[1], [2, 3]], "map: trees 1 and 2 differ at [1]: [*] ≠ [*, *]."),
        (1, None, "map: trees 1 and 2 differ at the root: a leaf ≠ None."),
        ([Plain([1], 2)], [Plain([1], 2, "tanh")], "map: trees 1 and 2 differ at [0]: Plain(…, *, 'relu') ≠ Plain(…, *, 'tanh')."),
    ],
)
def test_mismatch_message(a: Any, b: Any, message: str) -> None:
    """Where two trees differ, and what is on both sides."""
    with pytest.raises(TreeMismatchError) as caught:
        pytree.map(refuse, a, b)
    assert str(caught.value) == message + " All trees must have the same structure."
    assert isinstance(caught.value, FuncgradError)
    assert isinstance(caught.value, ValueError)


def test_mismatch_names_the_later_tree() -> None:
    """The number of the tree that differs is that of the argument."""
    with pytest.raises(TreeMismatchError, match="trees 1 and 3 differ"):
        pytree.map(refuse, [1], [1], [1, 2])


@pytest.mark.parametrize(
    ("tree", "leaves", "message"),
    [
        ({"a": 1, "b": [2]}, [1], "got 1 leaves for a tree of 2: none is left for ['b'][0]."),
        ({"a": 1, "b": [2]}, [1, 2, 3], "got 3 leaves for a tree of 2: the last place is ['b'][0]."),
        (None, [1], "got 1 leaves for a tree of 0: it has none."),
        (1.0, [], "got 0 leaves for a tree of 1: none is left for the root."),
    ],
)
def test_leaf_count_message(tree: Any, leaves: list[Any], message: str) -> None:
    """Too few or too many leaves, on the slow path and with generated code."""
    treedef = pytree.structure(tree)
    for _ in range(3):
        with pytest.raises(LeafCountError) as caught:
            treedef.unflatten(leaves)
        assert str(caught.value) == f"unflatten: {message} Pass one leaf for each place."
        treedef.unflatten(range(treedef.num_leaves))


def test_unregistered_subclasses_are_errors() -> None:
    """Never silently a leaf: subclasses of containers, of registered classes, and records built on other C types."""

    class MyDict(dict):  # type: ignore[type-arg]
        pass

    class MyBox(Box):
        pass

    @dataclasses.dataclass
    class Failure(Exception):
        w: Any

    message = "flatten: MyDict at ['a'][0] is a subclass of dict that is not registered."
    with pytest.raises(UnregisteredContainerError) as caught:
        pytree.flatten({"a": [MyDict()]})
    assert str(caught.value) == message + " Use `fg.tree.register(MyDict, flatten, unflatten)`, or pass a plain container."
    assert isinstance(caught.value, FuncgradError)
    assert isinstance(caught.value, TypeError)
    for bad in (Counter(), MyBox(1), Failure(1)):
        for _ in range(2):
            with pytest.raises(UnregisteredContainerError, match="at the root"):
                pytree.flatten(bad)


def test_cycles_and_depth_are_errors() -> None:
    """A container inside itself is named with both paths; a tree that is only too deep is told apart."""
    cyclic: dict[str, Any] = {"a": [1]}
    cyclic["a"].append((2, cyclic["a"]))
    with pytest.raises(CyclicTreeError) as caught:
        pytree.flatten(cyclic)
    assert str(caught.value) == "flatten: ['a'][1][1] is the container at ['a'], which so contains itself. A tree has no cycles."
    deep: Any = 1
    for _ in range(100):
        deep = (deep,)
    for leaves, treedef in twice_and_again(deep):
        assert treedef.unflatten(leaves) == deep
        assert hash(treedef) == hash(pytree.structure(deep))
        assert treedef == pytree.structure(deep)
        assert repr(treedef).count("(") == 101
    with pytest.raises(DeepTreeError, match="more than 100 levels"):
        pytree.flatten((deep,))


def test_a_container_that_becomes_cyclic_is_seen() -> None:
    """Generated code for the former structure does not match the cyclic one."""
    tree: list[Any] = [1, [2]]
    twice_and_again(tree)
    tree[1] = tree
    with pytest.raises(CyclicTreeError):
        pytree.flatten(tree)


def test_unset_fields_are_errors() -> None:
    """A field that never got a value is named; an AttributeError of a user's own flatten passes through."""
    plain = Plain(1, 2)
    twice_and_again([plain])
    del plain.b
    with pytest.raises(UnsetFieldError) as caught:
        pytree.flatten([plain])
    assert str(caught.value) == "flatten: [0].b of Plain has no value. Every field needs one, if only None."

    class Bad:
        pass

    pytree.register(Bad, lambda bad: ((bad.missing,), None), refuse)
    with pytest.raises(AttributeError, match="missing"):
        pytree.flatten(Bad())


def test_register() -> None:
    """A registered class becomes a container at once, also where it was a leaf in generated code; only once."""

    class Late:
        x = 5

    late = Late()
    assert twice_and_again([late])[-1][0] == [late]
    pytree.register(Late, lambda late: ([late.x], None), lambda aux, children: children)
    assert twice_and_again([late])[-1][0] == [5]
    for cls in (Late, dict, type(None)):
        with pytest.raises(TreeRegistrationError, match=r"is a container already\. A class is registered once\."):
            pytree.register(cls, refuse, refuse)


def test_opaque_classes() -> None:
    """`__pytree__ = False` in a class makes its instances, and those of subclasses, leaves."""

    @attrs.frozen
    class Opaque:
        __pytree__ = False
        w: Any

    class Sub(Opaque):
        pass

    for leaf in (Opaque([1]), Sub([1])):
        assert pytree.leaves({"a": leaf}) == [leaf]


def test_containers_that_change_between_calls() -> None:
    """Generated code never gives wrong leaves when a container changes its keys, length, types or static values."""
    plain = Plain(1, 2)
    tree: dict[str, Any] = {"a": [1, 2], "b": plain, "c": {"x": 1, "y": None}}
    twice_and_again(tree)
    steps: list[tuple[Any, list[Any]]] = [
        (lambda: tree["a"].append(3), [1, 2, 3, 1, 2, 1]),
        (lambda: tree.update(a=(1, [2])), [1, 2, 1, 2, 1]),
        (lambda: setattr(plain, "w", {"k": 7}), [1, 2, 7, 2, 1]),
        (lambda: setattr(plain, "act", "tanh"), [1, 2, 7, 2, 1]),
        (lambda: tree["c"].update(y=5), [1, 2, 7, 2, 1, 5]),
        (lambda: tree["c"].update(z=tree["c"].pop("x")), [1, 2, 7, 2, 5, 1]),
        (lambda: tree.pop("b"), [1, 2, 5, 1]),
    ]
    for step, expected in steps:
        step()
        for leaves, treedef in twice_and_again(tree):
            assert leaves == expected
            assert treedef.unflatten(leaves) == tree


def test_equal_keys_that_are_not_the_same_keep_their_own() -> None:
    """1, True and 1.0 are one key to a dict, but a rebuilt dict has the key that the tree had."""
    for _ in range(3):
        for key in (1, True, 1.0, "".join(["a", "b"]), "ab"):
            (rebuilt,) = pytree.map(float, {key: 1})
            assert type(rebuilt) is type(key)


def test_caches_are_bounded_and_keep_no_arrays() -> None:
    """Ever-new structures, classes and static values do not leak."""
    for i in range(1500):
        tree = {f"key{i}": type(f"C{i}", (), {})()}, [i] * (i % 50)
        assert pytree.map(lambda x: x, tree) == tree
        twice_and_again(tree)
    assert len(memory.COMPILED) <= len(memory.SEEN) <= memory.MAX_BUCKETS
    assert max(len(bucket) for bucket in memory.SEEN.values()) <= memory.MAX_BUCKET
    assert len(memory.LEAVES) <= memory.MAX_CLASSES
    array = np.ones(3)
    gone = weakref.ref(array)
    twice_and_again([Plain(array, 1, act=array), array])
    del array
    gc.collect()
    assert gone() is None


def test_large_trees_are_not_compiled() -> None:
    """A long list or dict takes the slow path, which gives the same."""
    tree = {"a": list(range(5000)), "b": {i: i for i in range(5000)}}
    for leaves, treedef in twice_and_again(tree):
        assert treedef.unflatten(leaves) == tree


def test_threads() -> None:
    """Many threads meet new structures at once."""
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for i in range(300):
                tree = {"a": [i] * (i % 7), f"k{i % 40}": Plain(i, (i, None))}
                leaves, treedef = pytree.flatten(tree)
                assert treedef.unflatten(leaves) == tree
                if i % 50 == 0:
                    memory.forget()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_generated_source_reads_like_the_tree() -> None:
    """Generated source is readable: what `unflatten` runs is the tree, written down."""
    treedef = pytree.structure({"l1": {"W": 1, "b": [2, None]}, "l2": Frozen(3)})
    expected = "def generated(leaves):\n    (x0, x1, x2) = leaves\n"
    expected += "    return {_key_l1: {_key_W: x0, _key_b: [x1, None]}, _key_l2: _Frozen(x2, _static)}\n"
    assert treedef._unflatten_source().text == expected
