"""Reverse mode: values travel with a node, "my tangent is this linear map of my parents' tangents"; `walk` transposes.

A node is a plain tuple `(id, pull, parent, parent, residuals…)`: ids grow, parents are older, and nothing points forward,
so reference counting frees what is no longer needed. Where there are more than two parents, the second is a link,
a node without a pull. `pull(node, ct, acc)` adds to `acc` what the cotangent `ct` means for the parents.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.borrow import COPY_LIMIT, HELD, Borrows
from funcgrad.core import Interpreter, Label, Primitive, Spec, Traced, Value, bind, dtype_of, shape_of, spec_of, tick
from funcgrad.ops.elementwise import isnan, where
from funcgrad.ops.kinds import ID, Bilinear, Constant, Differentiable, Elementwise, Linear, Rule, Semilinear
from funcgrad.ops.shaping import dense, undo
from funcgrad.tensor import Tracer
from funcgrad.transforms import fused, pages

Node = tuple[Any, ...]
Cotangents = dict[int, Any]
Product = Callable[[Value, Value], Value]
_ndarray = np.ndarray


class LinTracer(Tracer):
    """A value and its node."""

    __slots__ = ("_node",)
    _node: Node


class Linearize(Interpreter):
    """Computes values one floor down and grows nodes beside them."""

    __slots__ = ("borrows",)

    def __init__(self, label: Label) -> None:
        self.order = tick()
        self.label = label
        self.new = LinTracer
        self.closed = self.tensors = False
        self.borrows: Borrows | None = None

    def leaf(self, value: Value) -> LinTracer:
        """A tracer for an input: its node has no parents."""
        return self.trace(value, (tick(), None, None, None))

    def trace(self, value: Value, node: Node) -> LinTracer:
        t = self.new()
        t._main, t._value, t._node, t._shape, t._dtype = self, value, node, shape_of(value), dtype_of(value)
        return t  # type: ignore[no-any-return]

    def process(self, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
        values, parents = [], []
        for a in args:
            if type(a) is LinTracer and a._main is self:
                values.append(a._value)
                parents.append(a._node)
            else:
                values.append(a)
                parents.append(None)
        out = bind(prim, values, params)
        if type(prim) is Constant:
            return out
        return self.grow(prim, out, values, parents, params)

    def grow(self, prim: Primitive, out: Any, values: list[Value], parents: list[Node | None], params: dict[str, Any]) -> Any:
        """The tracer of `out` over a new node, or several over one; `out` itself where no derivative can pass."""
        several = type(out) is tuple
        if not several and dtype_of(out).kind not in "fc":
            return without_derivative(prim, out)
        kind = type(prim)
        if kind is Semilinear and not any(parents[:-1]):
            kind = Linear
        pull, residuals = GROW[kind](self, prim, out, values, parents, params)
        if pull is None:
            return out
        node = (tick(), pull, *_two([p for p in parents if p is not None]), *residuals)
        if not several:
            return self.trace(out, node)
        return tuple([
            self.trace(part, (tick(), _pull_part, node, None, k, len(out))) if dtype_of(part).kind in "fc" else part
            for k, part in enumerate(out)
        ])  # fmt: skip

    def hold(self, value: Value) -> Value:
        """What a node may keep: an array that is not ours is copied or borrowed."""
        if type(value) is not _ndarray:
            return value
        if value.nbytes <= COPY_LIMIT:
            return value.copy("K")
        if self.closed:
            self.new()  # raises, before a borrow that nobody would give back
        if self.borrows is None:
            pages.keep()
            self.borrows = Borrows()
        return self.borrows.hold(value)

    def parts(self, x: Any) -> tuple[Value, ...]:
        return (x._value,)

    def is_input(self, x: Any) -> bool:
        return x._node[1] is None

    def release(self) -> None:
        """Give the borrowed arrays back."""
        if self.borrows is not None:
            self.borrows.release()

    def kept(self, values: list[Value], parents: list[Node | None]) -> list[Value]:
        return [v if p is not None else self.hold(v) for v, p in zip(values, parents, strict=True)]


def without_derivative(prim: Primitive, out: Value) -> Value:
    """A result that no derivative can pass, because it is whole numbers; Python objects would drop one that there may be."""
    if dtype_of(out).hasobject:
        raise errors.ObjectOperandError(prim.name)
    return out


def _two(parents: list[Node]) -> tuple[Node, Node | None]:
    """The two parent fields of a node; more than two hang from links."""
    if len(parents) == 1:
        return parents[0], None
    last = parents[-1]
    for p in reversed(parents[1:-1]):
        last = (tick(), None, p, last)
    return parents[0], last


def _ids(parents: Iterable[Node | None]) -> list[int | None]:
    return [None if p is None else p[0] for p in parents]


def accumulate(acc: Cotangents, i: int, ct: Value) -> None:
    """Add to the cotangent of node `i`. The pop lets NumPy reuse the memory of a large temporary."""
    acc[i] = acc.pop(i) + ct if i in acc else ct


# ---- one way to grow a node, and one pull, per kind


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
        g = rule(ct, *residuals)
        accumulate(acc, i, g if fix is None else undo(g, *fix))


def _pull_elementwise_strictly(node: Node, ct: Value, acc: Cotangents, product: Product) -> None:
    one = dtype_of(ct).type(1)
    for i, rule, residuals, fix in node[4]:
        g = _strong(product, ct, rule(one, *residuals), functools.partial(rule, ct, *residuals))
        accumulate(acc, i, g if fix is None else undo(g, *fix))


def _strong(product: Product, ct: Value, partial: Value, plain: Callable[[], Value]) -> Value:
    """`ct` times a partial, 0 where `ct` is; where that is nan, what the rule itself says.

    For `where` and `scale` turn an infinite cotangent into 0 at a zero of their own, and inf * 0 would be nan.
    """
    g = product(ct, partial)
    lost = isnan(g)
    return where(lost, plain(), g) if np.any(lost) else g


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
    return _pull_bilinear, (prim, kept_x, kept_y, specs, params, spec_of(out), _ids(parents))


def _pull_bilinear(node: Node, ct: Value, acc: Cotangents) -> None:
    prim, x, y, specs, params, whole, (ix, iy) = node[4:]
    ct = dense(ct, whole.shape)
    if ix is not None:
        g = prim.left(ct, specs[0], y, **params)
        accumulate(acc, ix, g if specs[0].dtype == whole.dtype else undo(g, specs[0].shape, specs[0].shape, specs[0].dtype))
    if iy is not None:
        g = prim.right(ct, x, specs[1], **params)
        accumulate(acc, iy, g if specs[1].dtype == whole.dtype else undo(g, specs[1].shape, specs[1].shape, specs[1].dtype))


def _grow_composite(m: Linearize, prim: Any, out: Any, values: list[Value], parents: list[Node | None], params: Any) -> Any:
    return _pull_composite, (prim, out, m.kept(values, parents), params, m.label, _ids(parents))


def _pull_composite(node: Node, ct: Any, acc: Cotangents) -> None:
    """Linearize the tangent rule at zero tangents and walk it; a hand-written transpose, where there is one, is the same map."""
    prim, out, values, params, label, ids = node[4:]
    wanted = tuple(i is not None for i in ids)
    if type(out) is not tuple:
        ct = dense(ct, shape_of(out))
    cts = _transposed(prim, out, values, params, label, wanted, ct)
    for i, value, g in zip(ids, values, cts, strict=True):
        if i is not None and g is not None:
            shape = shape_of(value)
            accumulate(acc, i, undo(g, shape, shape, dtype_of(value)))


def _transposed(prim: Any, out: Any, values: Any, params: Any, label: Label, wanted: Any, ct: Any) -> tuple[Any, ...]:
    by_hand = prim.transpose if type(prim) is Differentiable else prim.together
    if by_hand is not None:
        return by_hand(ct, out, values, wanted, **params)  # type: ignore[no-any-return]
    m = Linearize(label)
    m.borrows = HELD
    zeros = [m.leaf(zero(v)) if w else None for v, w in zip(values, wanted, strict=True)]
    out_tangents = _tangents(prim, out, values, zeros, params)
    pairs = [(t, c) for t, c in zip(out_tangents, ct if type(out) is tuple else (ct,), strict=True) if c is not None]
    found = walk([(t._node, dense(c, t._shape)) for t, c in pairs if type(t) is LinTracer and t._main is m])
    return tuple(None if z is None else found.get(z._node[0]) for z in zeros)


def _tangents(prim: Any, out: Any, values: Any, tangents: Any, params: Any) -> tuple[Any, ...]:
    """The output tangents of a primitive that has a tangent rule."""
    if type(prim) is Semilinear:
        parts = [prim.tangent(out, values, tangents, **params)] if any(t is not None for t in tangents[:-1]) else []
        if tangents[-1] is not None:
            parts.append(bind(prim, [*values[:-1], tangents[-1]], params))
        return (parts[0] if len(parts) == 1 else parts[0] + parts[1],)
    made = prim.tangent(out, values, tangents, **params)
    return made if type(made) is tuple else (made,)


def _pull_part(node: Node, ct: Value, acc: Cotangents) -> None:
    """One of several outputs: the node behind gets a list of cotangents, None where none came."""
    main, k, n = node[2], node[4], node[5]
    cts = acc.setdefault(main[0], [None] * n)
    cts[k] = ct


GROW: dict[type, Callable[..., Any]] = {
    Elementwise: _grow_elementwise,
    Linear: _grow_linear,
    Bilinear: _grow_bilinear,
    Semilinear: _grow_composite,
    Differentiable: _grow_composite,
}


def zero(x: Value | Spec) -> Value:
    """A zero of the shape and dtype of `x`, at no memory."""
    spec = x if type(x) is Spec else spec_of(x)
    return np.broadcast_to(np.zeros((), spec.dtype), spec.shape) if spec.shape else spec.dtype.type(0)


# ---- the walk


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

STRICTLY: dict[Callable[..., None], Callable[..., None]] = {_pull_elementwise: _pull_elementwise_strictly}
"""The pulls of elementwise nodes, and what a strict walk does instead."""


# ---- the fused path


class _Grow(fused.Template):
    """A tracer's own part is its node; the pulls are generated beside it."""

    def both(self, prim: Elementwise) -> str:
        return f"t = m.new()\nt._node = (tick(), pull_both, x._node, y._node{fused.residuals(_kept(prim.rules))})"

    def one(self, prim: Elementwise, k: int) -> str:
        rule, operand = prim.rules[k], "xy"[k]
        if rule is not None and rule.apply is ID:
            return f"t = m.new()\nt._node = {operand}._node"
        return f"t = m.new()\nt._node = (tick(), pull_{k}, {operand}._node, None{fused.residuals(rule)})"

    def helpers(self, prim: Elementwise) -> str:
        text = "".join(_pull_text(f"pull_{k}", prim, [k]) for k in range(len(prim.rules)))
        return text + (_pull_text("pull_both", prim, [0, 1]) if len(prim.rules) == 2 else "")

    def made(self, space: dict[str, Any]) -> None:
        for name, pull in space.items():
            if name.startswith("pull_"):
                STRICTLY[pull] = _strict_fused


def _kept(rules: Sequence[Rule | None]) -> Rule:
    """What several rules keep between them."""
    return Rule(ID, tuple(dict.fromkeys(k for rule in rules if rule is not None for k in rule.keeps)))


def _pull_text(name: str, prim: Elementwise, active: list[int]) -> str:
    rules = [prim.rules[k] for k in active]
    lines = [f"def {name}(node, ct, acc):", f"    _, _, p, q{fused.residuals(_kept(rules))} = node"]
    for k, parent in zip(active, "pq", strict=False):
        rule = prim.rules[k]
        if rule is not None:
            g = fused.applied(rule, f"rule_{k}", "ct")
            lines += [f"    i, g = {parent}[0], {g}", "    acc[i] = acc.pop(i) + g if i in acc else g"]
    return "\n".join(lines) + "\n\n\n"


def _strict_fused(node: Node, ct: Value, acc: Cotangents, product: Product) -> None:
    """A fused pull at 1 gives the partials, all of the shape of `ct`."""
    for i, p in _pulled(node, dtype_of(ct).type(1)).items():
        accumulate(acc, i, _strong(product, ct, p, lambda i=i: _pulled(node, ct)[i]))  # type: ignore[misc]


def _pulled(node: Node, ct: Value) -> Cotangents:
    """What the pull of one node gives, alone."""
    acc: Cotangents = {}
    node[1](node, ct, acc)
    return acc


TABLE = fused.Table(LinTracer, _Grow(), Linearize.hold)
fused.install(LinTracer, TABLE)
