"""Products of arrays as one equation: pairs of axes that are summed, pairs that run together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Value, shape_of
from funcgrad.ops.elementwise import multiply
from funcgrad.ops.shaping import reshape, transpose
from funcgrad.program.vocabulary import DOT

Params = dict[str, Any]


def dot(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    x, y = args
    return DOT(x, y, contract=((_rank(x) - 1,), (max(_rank(y) - 2, 0),)), batch=((), ()), call="dot")


def matmul(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    """A stack with a stack, or one matrix with a stack, runs along batch axes. All else is a plain product, in NumPy's order of axes."""
    x, y = args
    n, m = _rank(x), _rank(y)
    if not n or not m:
        return prim.impl(np.zeros(shape_of(x)), np.zeros(shape_of(y)))  # raises NumPy's sentence
    if m > 2 and n > 1:
        x, y = _of_one_rank(x, y)
        last = _rank(x) - 1
        return DOT(x, y, contract=((last,), (last - 1,)), batch=(tuple(range(last - 1)),) * 2, call="matmul")
    return DOT(x, y, contract=((n - 1,), (max(m - 2, 0),)), batch=((), ()), call="matmul")


def vecdot(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    x, y = _of_one_rank(*args)
    last = _rank(x) - 1
    return DOT(x, y, contract=((last,), (last,)), batch=(tuple(range(last)),) * 2, call="vecdot")


def einsum(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    """Where nothing is summed a multiplication, else a product whose axes are brought into the order of the output."""
    (x, y), (operands, out) = args, params["subscripts"].split("->")
    of_x, of_y = operands.split(",")
    contract = [c for c in of_x if c in of_y and c not in out]
    if not contract:
        return multiply(_spread(x, of_x, out), _spread(y, of_y, out))
    batch = [c for c in out if c in of_x and c in of_y]
    places = [(tuple(map(of_x.index, letters)), tuple(map(of_y.index, letters))) for letters in (contract, batch)]
    made = DOT(x, y, contract=places[0], batch=places[1], call="einsum")
    found = [*batch, *[c for c in of_x if c in out and c not in of_y], *[c for c in of_y if c in out and c not in of_x]]
    return _in_order(made, found, list(out))


def _spread(x: Value, letters: str, out: str) -> Value:
    """The axes in the order of `out`, with those of length 1 that are not there."""
    sizes = dict(zip(letters, shape_of(x), strict=True))
    turned = _in_order(x, list(letters), [c for c in out if c in letters])
    return reshape(turned, shape=tuple([sizes.get(c, 1) for c in out]))


def _in_order(x: Value, found: list[str], wanted: list[str]) -> Value:
    n = len(found)
    return x if found == wanted else transpose(x, axes=tuple([found.index(c) - n for c in wanted]))


def _of_one_rank(*xs: Value) -> list[Value]:
    """With axes of length 1 in front, where one operand has more axes."""
    rank = max(map(_rank, xs))
    return [reshape(x, shape=(1,) * (rank - _rank(x)) + shape_of(x)) for x in xs]


def _rank(x: Value) -> int:
    return len(shape_of(x))
