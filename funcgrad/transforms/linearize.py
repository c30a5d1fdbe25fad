"""Reverse mode: values travel with a node, "my tangent is this linear map of my parents' tangents", which `walk` transposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pages
from funcgrad.borrow import COPY_LIMIT, Borrows
from funcgrad.core import Interpreter, Label, Primitive, Value, bind, dtype_of, shape_of, tick
from funcgrad.ops.kinds import ID, Constant, Elementwise, Linear, Rule, Semilinear, Structured
from funcgrad.tensor import Tracer
from funcgrad.transforms import fused
from funcgrad.transforms.nodes import GROW, pull_part
from funcgrad.transforms.walk import STRICTLY, Cotangents, Node, Product, accumulate, strong, two

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
        if type(prim) is Structured:
            return prim.apply(args, params)
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
        node = (tick(), pull, *two([p for p in parents if p is not None]), *residuals)
        if not several:
            return self.trace(out, node)
        return tuple([
            self.trace(part, (tick(), pull_part, node, None, k, len(out))) if dtype_of(part).kind in "fc" else part
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
        accumulate(acc, i, strong(product, ct, p, lambda i=i: _pulled(node, ct)[i]))  # type: ignore[misc]


def _pulled(node: Node, ct: Value) -> Cotangents:
    """What the pull of one node gives, alone."""
    acc: Cotangents = {}
    node[1](node, ct, acc)
    return acc


TABLE = fused.Table(LinTracer, _Grow(), Linearize.hold)
fused.install(LinTracer, TABLE)
