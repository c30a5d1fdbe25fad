"""The fast path of `vmap` gives what the generic one gives, and adds into buffers that nobody else holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.core import Primitive
from funcgrad.transforms.batch import Batch
from funcgrad.transforms.batch_fused import ALONE, PRODUCTS, TOGETHER, UFUNCS
from tests.laws.paths import PATHS, generic_path

RNG = np.random.default_rng(0)
BINARY = sorted([p for p in UFUNCS if p.impl.nin == 2 and "dd->" in str(p.impl.types)], key=lambda p: p.name)

LANES: list[tuple[tuple[int, ...], tuple[int | None, int | None]]] = [
    # the shape in one lane, and along which axes an outer and an inner vmap map it
    ((), (0, 0)), ((), (None, 0)), ((), (0, None)),
    ((3,), (0, 0)), ((3,), (None, 0)), ((3,), (0, None)), ((3,), (None, None)),
    ((2, 3), (0, 0)), ((2, 3), (None, 0)), ((2, 1), (0, None)),
]  # fmt: skip


def operand(k: int) -> tuple[Any, int | None, int | None]:
    shape, (outer, inner) = LANES[k]
    lead = tuple([n for n, axis in ((4, outer), (3, inner)) if axis is not None])
    return RNG.uniform(0.25, 0.75, lead + shape), outer, inner


@pytest.mark.parametrize("prim", BINARY, ids=lambda p: p.name)
def test_operands_of_nested_vmaps(prim: Primitive) -> None:
    """Of any rank, mapped by the outer, the inner, both or none of two `vmap`s, on either side: as on the generic path, bit for bit."""
    for i, j in itertools.product(range(len(LANES)), repeat=2):
        (x, ox, ix), (y, oy, iy) = operand(i), operand(j)
        if (ox, oy) == (None, None) or (ix, iy) == (None, None):
            continue
        call = fg.vmap(fg.vmap(prim.impl, (ix, iy)), (ox, oy))
        with np.errstate(all="ignore"):
            fast = call(x, y)
            with generic_path():
                slow = call(x, y)
        assert (fast.dtype, fast.shape) == (slow.dtype, slow.shape)
        np.testing.assert_array_equal(fast, slow)


CALLS: dict[str, Callable[[Any], Any]] = {
    "getitem": lambda x: x[1:, None, -1],
    "scatter_add": lambda x: fg.vjp(lambda x: x[1:, 0], x)[1](x[:1, 0] * 2)[0],
    "sum_to": lambda x: fg.vjp(lambda a: a + x, x[:, :1])[1](x)[0],
    "broadcast_to": lambda x: np.broadcast_to(x[0], (4, 2, 3)),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "transpose": lambda x: np.transpose(x),
    "sum": lambda x: np.sum(x, axis=0),
    "stack": lambda x: np.stack([x[0], x[1]], axis=-1),
    "concatenate": lambda x: np.concatenate([x[:1], x * 2.0], axis=0),
    "matmul": lambda x: x @ np.transpose(x),
    "dot": lambda x: np.dot(np.transpose(x), x),
}


def test_every_primitive_with_a_fast_rule_is_tested_here() -> None:
    """No table has an entry that `CALLS` does not meet."""
    assert {prim.name for prim in {*ALONE, *TOGETHER, *PRODUCTS}} == set(CALLS)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("name", CALLS)
def test_primitives_at_the_bottom_of_nested_vmaps(name: str, depth: int) -> None:
    """Applied once to all lanes, they give what the generic path gives, bit for bit."""
    x = RNG.normal(size=(4, 5, 2, 3)[-2 - depth :])
    call = CALLS[name]
    for _ in range(depth):
        call = fg.vmap(call)
    fast = call(x)
    with generic_path():
        slow = call(x)
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("path", PATHS)
def test_errors_are_numpys(path: str) -> None:
    """What fails at the bottom fails in the words of one lane."""
    x = np.ones((4, 3))
    with PATHS[path]():
        with pytest.raises(IndexError, match="index 5 is out of bounds"):
            fg.vmap(lambda x: x[5])(x)
        with pytest.raises(IndexError, match="too many indices"):
            fg.vmap(lambda x: x[0, 0])(x)
        with pytest.raises(ValueError, match="could not be broadcast together"):
            fg.vmap(lambda x: x + x[:2])(x)


# ---- buffers


def overlapping(x: Any, c: Any) -> Any:
    """Slices whose cotangents differ in their lanes, and in how far they are uniform."""
    a = x[1:]
    b = a[..., :-1]
    return np.stack([np.sum(a) + b[0], np.sum(b * c[1:-1] * 2.0), np.sum(x * x) + np.sum(x[::2] * 3.0), x[0] * a[1]])


@pytest.mark.parametrize("transform", [fg.jacrev, fg.jacfwd, lambda f: fg.jacfwd(fg.jacrev(f)), lambda f: fg.jacrev(fg.jacrev(f))])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_slices_add_up_in_lanes(transform: Any, depth: int) -> None:
    """Cotangents of slices add up in a buffer in all lanes, whichever of them have come first."""
    x, c = RNG.normal(size=(2, 3, 6)[2 - depth :]), RNG.normal(size=6)
    call = transform(overlapping)
    for _ in range(depth):
        call = fg.vmap(call, (0, None))
    fast = call(x, c)
    with generic_path():
        slow = call(x, c)
    np.testing.assert_allclose(fast, slow, rtol=1e-13, atol=1e-14)


def test_a_buffer_takes_part_in_a_narrowing() -> None:
    """Lanes that part while a gradient is pulled back take their rows of the buffers with them."""

    @fg.custom_vjp
    def slope(x: Any) -> Any:
        return x * 1.0

    def back(residual: Any, ct: Any) -> Any:
        return (ct * 10.0 if residual[0] > 0 else ct,)

    slope.defvjp(lambda x: (slope(x), x), back)
    f = lambda x: np.sum(x[1:] * 2.0) + np.sum(slope(x[:2]) * x[:2]) + x[0]
    x = RNG.normal(size=(5, 3))
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(x), np.stack([fg.grad(f)(row) for row in x]))


def test_pulled_back_twice() -> None:
    """The buffers of one walk are not those of the next, nor anything the caller gets."""
    _, pull = fg.vjp(lambda x: x[1:] + x[:-1], np.arange(4.0))
    pull_all = fg.vmap(lambda ct: pull(ct)[0])
    cts = RNG.normal(size=(2, 3))
    first = pull_all(cts)
    np.testing.assert_array_equal(first, pull_all(cts))
    np.testing.assert_array_equal(first, np.stack([pull(ct)[0] for ct in cts]))


def test_the_generic_path_of_vmap_is_another_one() -> None:
    """`generic_path` switches the fast path of mapped values off, and on again."""
    fast = Batch.process
    with generic_path():
        assert Batch.process is not fast
    assert Batch.process is fast
