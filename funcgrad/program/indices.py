"""What reads and writes by an index, as equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.core import Primitive, Value, shape_of
from funcgrad.ops import indexing
from funcgrad.ops.canonical import has_form
from funcgrad.ops.elementwise import add, maximum, minimum
from funcgrad.ops.shaping import reshape, stack
from funcgrad.program.program import Shape
from funcgrad.program.reading import check, is_one_vector, nonzero, plan
from funcgrad.program.shapes import flat
from funcgrad.program.vocabulary import IOTA, UPDATE

Params = dict[str, Any]


def getitem(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    x, *arrays = args
    check(prim, args, params)
    return _number(plan(shape_of(x), params["index"], arrays).read(x))


def scatter_add(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    ct, *arrays = args
    check(prim, args, params)
    return _number(plan(params["shape"], params["index"], arrays).back(ct))


def _number(x: Any) -> Value:
    """An index gives a number, where a reshape gives an array of one."""
    return x if shape_of(x) or not hasattr(x, "_var") else x._main.trace(np.asarray(x._value)[()], x._var)


# ---- changed copies: in a box by one `update`, else of vectors

_COMBINED = {"add_at": add, "max_at": maximum, "min_at": minimum}


def put(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    """`put`, `add_at`, `max_at`, `min_at`."""
    x, v, *arrays = args
    index, shape = params["index"], shape_of(x)
    if arrays and is_one_vector(shape, index, arrays):
        return NotImplemented
    check(prim, args, params)
    if not arrays:
        there = plan(shape, index, ())
        v = _COMBINED[prim.name](there.read(x), v) if prim.name in _COMBINED else v
        return UPDATE(x, there.inside(v), **there.box.params)
    i = places(shape, index, arrays)
    return reshape(prim(flat(x), flat(v), i, index=_VECTOR), shape=shape)


_VECTOR = (indexing.Slot(0),)


def places(shape: Shape, index: Any, arrays: Sequence[Value]) -> Value:
    """The positions, in C order, that an index names, as a vector."""
    if index == _VECTOR and len(shape) == 1 and not is_mask(arrays[0]):
        return flat(arrays[0])
    count = arrays[0]._main.write(IOTA, [], {"size": _product(shape)})
    return flat(plan(shape, index, arrays).read(reshape(count, shape=shape)))


def is_mask(i: Value) -> bool:
    return bool(i._dtype.kind == "b")


def _product(shape: Shape) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


def shares_at(prim: Primitive, args: Sequence[Value], params: Params) -> Any:
    x, v, out, *arrays = args
    index, shape = params["index"], shape_of(x)
    if arrays and is_one_vector(shape, index, arrays):
        return NotImplemented
    i = places(shape, index, arrays or [x])
    of_x, of_v = prim(flat(x), flat(v), flat(out), i, index=_VECTOR)
    return reshape(of_x, shape=shape), reshape(of_v, shape=shape_of(v))


def winners(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    if is_one_vector(params["shape"], params["index"], args):
        return NotImplemented
    i = places(params["shape"], params["index"], args)
    made = prim(i, index=_VECTOR, shape=(_product(params["shape"]),))
    return reshape(made, shape=shape_of(prim.impl(*[getattr(a, "_value", a) for a in args], **params)))


def occurrences(prim: Primitive, args: Sequence[Value], params: Params) -> Any:
    if is_one_vector(params["shape"], params["index"], args):
        return NotImplemented
    i = places(params["shape"], params["index"], args)
    return prim(i, index=_VECTOR, shape=(_product(params["shape"]),))


# ---- places that depend on values


def places_of_mask(prim: Primitive, args: Sequence[Value], params: Params) -> Any:
    return nonzero(args[0])


def flatnonzero(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    return nonzero(flat(args[0]))[0]


def argwhere(prim: Primitive, args: Sequence[Value], params: Params) -> Value:
    return stack(*nonzero(args[0]), axis=-1) if shape_of(args[0]) else guarded(prim, args, params)


def guarded(prim: Primitive, args: Sequence[Value], params: Params) -> Any:
    """Behind a guard that the results have the shapes and dtypes which they had when they were recorded."""
    m: Any = next(a._main for a in args if hasattr(a, "_main"))
    made = m.write(prim, args, params)
    for y in made if type(made) is tuple else (made,):
        bool(has_form(y, shape=y._shape, dtype=y._dtype))
    return made
