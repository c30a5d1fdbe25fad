"""One way to grow a node, and one pull, for each kind of primitive.

`grow(m, prim, out, values, parents, params)` gives the pull and the residuals of a node, or no pull where no derivative can pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.core import Spec, Value, dtype_of, shape_of, spec_of
from funcgrad.ops.kinds import Bilinear, Elementwise, Linear, Semilinear
from funcgrad.ops.shaping import cast, dense, sum_to, undo
from funcgrad.transforms.walk import STRICTLY, Cotangents, Node, Product, accumulate, strong

if TYPE_CHECKING:
    from funcgrad.transforms.linearize import Linearize


def ids_of(parents: Iterable[Node | None]) -> list[int | None]:
    return [None if p is None else p[0] for p in parents]


def zero(x: Value | Spec) -> Value:
    """A zero of the shape and dtype of `x`, at no memory."""
    spec = x if type(x) is Spec else spec_of(x)
    return np.broadcast_to(np.zeros((), spec.dtype), spec.shape) if spec.shape else spec.dtype.type(0)


def _grow_elementwise(m: Linearize, prim: Any, out: Value, values: list[Value], parents: list[Node | None], params: Any) -> Any:
    whole, dtype = shape_of(out), dtype_of(out)
    held: dict[int, Value] = {-1: out}
    edges = []
    for k, rule in enumerate(prim.rules):
        parent = parents[k]
        if parent is None or rule is None:
            continue
        for j in rule.keeps:
            if j not in held:
                held[j] = values[j] if parents[j] is not None else m.hold(values[j])
        shape, own = shape_of(values[k]), dtype_of(values[k])
        fix = None if shape == whole and own is dtype else (whole, shape, own)
        edges.append((parent[0], rule.apply, [held[j] for j in rule.keeps], fix))
    return (_pull_elementwise, (edges,)) if edges else (None, ())


def _pull_elementwise(node: Node, ct: Value, acc: Cotangents) -> None:
    for i, rule, residuals, fix in node[4]:
        if fix is None:
            g = rule(ct, *residuals)
        elif residuals:
            g = undo(rule(ct, *residuals), *fix)
        else:  # a rule that keeps nothing commutes with the sum that undoes a broadcast, which leaves it less to do
            whole, shape, dtype = fix
            g = cast(rule(sum_to(dense(ct, whole), shape=shape) if whole != shape else ct), dtype)
        accumulate(acc, i, g)


def _pull_elementwise_strictly(node: Node, ct: Value, acc: Cotangents, product: Product) -> None:
    one = dtype_of(ct).type(1)
    for i, rule, residuals, fix in node[4]:
        g = strong(product, ct, rule(one, *residuals), functools.partial(rule, ct, *residuals))
        accumulate(acc, i, g if fix is None else undo(g, *fix))


STRICTLY[_pull_elementwise] = _pull_elementwise_strictly


def _grow_linear(m: Linearize, prim: Any, out: Value, values: list[Value], parents: list[Node | None], params: Any) -> Any:
    n = len(values) - 1 if type(prim) is Semilinear else prim.operands
    linear = range(len(values)) if n is None else range(n, n + 1) if type(prim) is Semilinear else range(n)
    if not any(parents[k] is not None for k in linear):
        return None, ()
    args = [spec_of(v) if k in linear else m.hold(v) for k, v in enumerate(values)]
    ids = [parents[k][0] if parents[k] is not None else None for k in linear]  # type: ignore[index]
    return _pull_linear, (prim, args, params, shape_of(out), ids)


def _pull_linear(node: Node, ct: Value, acc: Cotangents) -> None:
    prim, args, params, shape, ids = node[4:]
    cts = prim.transpose(dense(ct, shape), *args, **params)
    for i, g in zip(ids, cts if type(cts) is tuple else (cts,), strict=True):
        if i is not None and g is not None:
            accumulate(acc, i, g)


def _grow_bilinear(m: Linearize, prim: Any, out: Value, values: list[Value], parents: list[Node | None], params: Any) -> Any:
    x, y = values
    px, py = parents
    specs = [spec_of(v) for v in values]
    kept_x = None if py is None else x if px is not None else m.hold(x)
    kept_y = None if px is None else y if py is not None else m.hold(y)
    return _pull_bilinear, (prim, kept_x, kept_y, specs, params, spec_of(out), ids_of(parents))


def _pull_bilinear(node: Node, ct: Value, acc: Cotangents) -> None:
    prim, x, y, specs, params, whole, (ix, iy) = node[4:]
    ct = dense(ct, whole.shape)
    if ix is not None:
        g = prim.left(ct, specs[0], y, **params)
        accumulate(acc, ix, g if specs[0].dtype == whole.dtype else undo(g, specs[0].shape, specs[0].shape, specs[0].dtype))
    if iy is not None:
        g = prim.right(ct, x, specs[1], **params)
        accumulate(acc, iy, g if specs[1].dtype == whole.dtype else undo(g, specs[1].shape, specs[1].shape, specs[1].dtype))


def pull_part(node: Node, ct: Value, acc: Cotangents) -> None:
    """One of several outputs: the node behind gets a list of cotangents, None where none came."""
    main, k, n = node[2], node[4], node[5]
    cts = acc.setdefault(main[0], [None] * n)
    cts[k] = ct


GROW: dict[type, Callable[..., Any]] = {Elementwise: _grow_elementwise, Linear: _grow_linear, Bilinear: _grow_bilinear}
"""By kind; `composite` adds those that have a tangent rule."""
