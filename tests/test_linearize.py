"""Reverse mode as an interpreter: nodes, how they are grown and freed, and the walk over them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core import Label
from funcgrad.transforms import nodes
from funcgrad.transforms.linearize import TABLE, Linearize, LinTracer
from funcgrad.transforms.nodes import zero
from funcgrad.transforms.walk import discover, walk
from tests.laws.paths import PATHS

LABEL = Label("grad", "f", "here.py", 1)


@pytest.fixture(params=PATHS)
def m(request: Any) -> Any:
    with PATHS[request.param]():
        yield Linearize(LABEL)


def pulled(out: Any, *leaves: Any, ct: Any = 1.0) -> list[Any]:
    acc = walk([(out._node, ct)])
    return [acc.get(x._node[0]) for x in leaves]


def parents(node: Any) -> list[Any]:
    """Those behind links as well."""
    found = [p for p in node[2:4] if p is not None]
    return [q for p in found for q in (parents(p) if p[1] is None and p[2:] != (None, None) else [p])]


def test_an_input_is_a_node_without_parents(m: Linearize) -> None:
    """And its pullback is the identity."""
    x = m.leaf(3.0)
    assert x._node[1:] == (None, None, None)
    assert pulled(x, x, ct=7.0) == [7.0]


def test_parents_are_older(m: Linearize) -> None:
    """Ids grow; so the walk needs nothing but a sort."""
    x, y = m.leaf(2.0), m.leaf(3.0)
    out = np.sin(x * y) + np.stack([x, y, x * 2, y * 3]).sum() * x
    for i, node in discover([out._node]).items():
        assert node[0] == i
        if node[1] is not None:
            assert all(parent[0] < i for parent in parents(node))


def test_many_parents_hang_from_links(m: Linearize) -> None:
    """Five operands of one node: each gets its own cotangent."""
    xs = [m.leaf(float(k)) for k in range(5)]
    out = np.stack([*xs, 1.0, xs[2]])
    assert pulled(out, *xs, ct=np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])) == [1.0, 2.0, 68.0, 8.0, 16.0]


def test_identities_make_no_nodes() -> None:
    """`+x`, `x + c` and `x - c` on the fused path share the node of `x`."""
    x = Linearize(LABEL).leaf(2.0)
    for same in (+x, x + 1.0, 3.0 + x, x - 5):
        assert same._node is x._node


def test_a_node_keeps_what_its_rule_names() -> None:
    """exp its output, log its input, addition nothing: residuals by name."""
    x = Linearize(LABEL).leaf(2.0)
    assert np.exp(x)._node[4:] == (np.exp(2.0),)
    assert np.log(x)._node[4:] == (2.0,)
    y = Linearize(LABEL).leaf(1.0)
    assert (y + y)._node[4:] == ()
    assert (y * 5.0)._node[4:] == (5.0,)


def test_the_walk_computes_only_what_is_wanted(m: Linearize) -> None:
    """What does not lead to a leaf of this interpreter is not visited, and constants have no cotangent."""
    x, y = m.leaf(np.ones(2)), m.leaf(np.ones(2))
    dead = np.exp(y)
    out = np.sum(x * 2)
    nodes = discover([out._node])
    assert dead._node[0] not in nodes
    assert y._node[0] not in nodes
    assert pulled(out, y) == [None]


def test_dead_branches_are_freed_at_once(m: Linearize) -> None:
    """No list of nodes keeps them: nodes point to parents only."""

    class Watched(np.ndarray[Any, Any]):
        pass

    x = m.leaf(np.ones(3))
    dead = np.sin(x)
    array = weakref.ref(dead._value)
    gc.disable()
    try:
        del dead
        assert array() is None
    finally:
        gc.enable()


def test_a_uniform_cotangent_is_one_number(m: Linearize) -> None:
    """`sum` sends back a 0-d cotangent, which becomes an array only where a rule or a door needs one."""
    x = m.leaf(np.ones((2, 3)))
    (ct,) = pulled(np.sum(x), x)
    assert np.shape(ct) in ((), (2, 3))
    g = fg.grad(np.sum)(np.ones((2, 3)))
    assert g.shape == (2, 3)
    assert 0 not in g.strides


def test_broadcasting_and_casts_are_undone_per_edge(m: Linearize) -> None:
    """Each parent's cotangent has its shape, dtype and realness."""
    a, b = m.leaf(np.ones((3, 1), np.float32)), m.leaf(np.ones(2))
    z = m.leaf(np.ones(2, complex))
    out = a * b * z
    found = pulled(out, a, b, z, ct=np.full((3, 2), 2.0 + 1.0j))
    assert [np.shape(g) for g in found] == [(3, 1), (2,), (2,)]
    assert [g.dtype for g in found] == [np.float32, np.float64, np.complex128]
    assert found[0].ravel().tolist() == [4.0] * 3


def test_several_outputs_share_a_node(m: Linearize) -> None:
    """The node behind gets a list of cotangents, None where none came."""
    x = m.leaf(np.arange(6.0))
    a, b, c = np.split(x, 3)
    assert a._node[2] is b._node[2] is c._node[2]
    assert pulled(np.sum(b * 3), x)[0].tolist() == [0.0, 0.0, 3.0, 3.0, 0.0, 0.0]


def test_composites_linearize_their_tangent_rule() -> None:
    """A primitive without a hand-written transpose: the pull walks its own tangents, and may itself be differentiated."""
    for f in (np.cumprod, np.linalg.inv, lambda x: np.linalg.solve(x, np.ones(2)), np.linalg.det, np.linalg.cholesky):
        x = np.array([[2.0, 0.5], [0.5, 3.0]])
        loss = lambda x, f=f: np.sum(np.sin(f(x)))
        t = np.array([[0.1, 0.2], [0.2, 0.4]])
        assert fg.jvp(loss, (x,), (t,))[1] == pytest.approx(np.sum(fg.grad(loss)(x) * t), rel=1e-12)
        h = 1e-5
        along = lambda x, loss=loss: fg.grad(loss)(x)
        np.testing.assert_allclose(fg.jvp(along, (x,), (t,))[1], (along(x + h * t) - along(x - h * t)) / (2 * h), rtol=1e-6, atol=1e-8)


def test_a_composite_whose_transpose_is_its_rule_transposed() -> None:
    """A semilinear node is a linear one when only its last argument is traced."""
    m = Linearize(LABEL)
    a, b = np.array([[2.0, 1.0], [0.0, 1.0]]), m.leaf(np.ones(2))
    x = np.linalg.solve(a, b)
    assert x._node[1] is nodes._pull_linear
    np.testing.assert_allclose(pulled(x, b, ct=np.array([1.0, 0.0]))[0], np.linalg.solve(a.T, [1.0, 0.0]))


def test_zero_takes_no_memory() -> None:
    """A broadcast 0, of the shape and dtype asked for."""
    z = zero(np.ones((1000, 1000), np.float32))
    assert (z.shape, z.dtype, z.strides) == ((1000, 1000), np.float32, (0, 0))
    assert type(zero(2.0)) is np.float64


def test_cotangents_are_not_shared_between_parents(m: Linearize) -> None:
    """Both parents of an addition get the same array; adding to one does not change the other."""
    x, y = m.leaf(np.ones(3)), m.leaf(np.ones(3))
    ct = np.array([1.0, 2.0, 3.0])
    out = (x + y) + (x - y) + x
    gx, gy = pulled(out, x, y, ct=ct)
    assert gx.tolist() == [3.0, 6.0, 9.0]
    assert np.broadcast_to(gy, 3).tolist() == [0.0, 0.0, 0.0]
    assert ct.tolist() == [1.0, 2.0, 3.0]


def test_fused_text_can_be_read() -> None:
    """Pulls and methods from the record: `acc.pop(i) + g`, residuals by name."""
    from funcgrad.ops import elementwise as ops
    from funcgrad.transforms.fused import source

    text = source(ops.divide, TABLE.template, True)
    assert "out = a / b" in text
    assert "acc[i] = acc.pop(i) + g if i in acc else g" in text
    assert "pull_both" in text
    compile(text, "divide", "exec")


def test_a_leaf_is_a_tracer_of_this_class(m: Linearize) -> None:
    """Each interpreter has its own class of tracers, with the face of a Tensor."""
    x = m.leaf(1.0)
    assert type(x) is LinTracer
    assert isinstance(x, fg.Tensor)
    assert type(x + 1.0) is LinTracer
