"""The walk: cotangents go from the outputs back to the inputs, newest node first.

A node is a plain tuple `(id, pull, parent, parent, residuals…)`: ids grow, parents are older, and nothing points forward,
so reference counting frees what is no longer needed. Where there are more than two parents, the second is a link,
a node without a pull. `pull(node, ct, acc)` adds to `acc` what the cotangent `ct` means for the parents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Traced, Value, floors, tick
from funcgrad.ops.elementwise import isnan, where

Node = tuple[Any, ...]
Cotangents = dict[int, Any]
Product = Callable[[Value, Value], Value]
_ndarray = np.ndarray


def two(parents: list[Node]) -> tuple[Node, Node | None]:
    """The two parent fields of a node; more than two hang from links."""
    if len(parents) == 1:
        return parents[0], None
    last = parents[-1]
    for p in reversed(parents[1:-1]):
        last = (tick(), None, p, last)
    return parents[0], last


def accumulate(acc: Cotangents, i: int, ct: Value) -> None:
    """Add to the cotangent of node `i`. The pop lets NumPy reuse the memory of a large temporary."""
    acc[i] = acc.pop(i) + ct if i in acc else ct


def discover(stack: list[Node]) -> dict[int, Node]:
    """Every node that leads from the roots in `stack` to an input."""
    found: dict[int, Node] = {}
    while stack:
        node = stack.pop()
        while node[0] not in found:
            found[node[0]] = node
            if node[3] is not None:
                stack.append(node[3])
            if node[2] is None:
                break
            node = node[2]
    return found


def carries(look: Callable[[Value], Any], x: Value) -> bool:
    """Whether a look says yes of a value, or of a tangent it carries: a partial may be finite where its slope is not."""
    parts = x._main.parts(x) if isinstance(x, Traced) else ()
    return any(carries(look, part) for part in parts) if parts else bool(look(x))


def is_recorded(x: Value) -> bool:
    """Whether a recording is on a floor below."""
    return any(t._main.records for t in floors(x))


def walk(seeds: Sequence[tuple[Node, Value]], product: Product | None = None) -> Cotangents:
    """Pull the seeds' cotangents back to the leaves, newest node first.

    **Law (strong zero)**, where `product` is `scale`: a cotangent that is exactly zero stays zero through an elementwise node,
    even where its partial is infinite or nan. With `meet`, for tangents, partials of exactly zero are as strong.
    """
    acc: Cotangents = {}
    roots = []
    for node, ct in seeds:
        i = node[0]
        acc[i] = acc.pop(i) + ct if i in acc else ct
        roots.append(node)
    nodes = discover(roots)
    for i in sorted(nodes, reverse=True):
        node = nodes[i]
        pull = node[1]
        if pull is not None and i in acc:
            ct = acc.pop(i)
            if product is not None and pull in STRICTLY:
                STRICTLY[pull](node, ct, acc, product)
            else:
                pull(node, ct, acc)
            if type(ct) is _ndarray and ct.size > LARGE:
                _hand_on(node, acc)
    return acc


def _hand_on(node: Node, acc: Cotangents) -> None:
    """What an additive parent has got goes on into its buffer at once: kept, it would be one more large array."""
    for parent in (node[2], node[3]):
        if parent is not None and parent[1] in ADDITIVE and parent[0] in acc:
            acc.pop(-parent[0], None)  # what comes to it later is not this buffer
            parent[1](parent, acc.pop(parent[0]), acc)


LARGE = 1 << 13
"""Elements; memory counts from here on."""

ADDITIVE: set[Callable[..., None]] = set()
"""The pulls that may be called with a part of the cotangent at a time: they add into a buffer."""

STRICTLY: dict[Callable[..., None], Callable[..., None]] = {}
"""The pulls of elementwise nodes, and what a strict walk does instead."""


def strong(product: Product, ct: Value, partial: Value, plain: Callable[[], Value]) -> Value:
    """`ct` times a partial, 0 where `ct` is; where that is nan, what the rule itself says.

    For `where` and `scale` turn an infinite cotangent into 0 at a zero of their own, and inf * 0 would be nan.
    """
    g = product(ct, partial)
    lost = isnan(g)
    return where(lost, plain(), g) if is_recorded(lost) or carries(np.any, lost) else g
