"""Reading and replacing by an index in all lanes at once.

A mapped operand gets one more index in front: a slice, or its own lane's number where the positions differ between lanes. NumPy puts
the axes that come of arrays first where they do not stand together, so the batch axis is brought to the front afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from funcgrad.core import Primitive, Value, bind, dtype_of, shape_of
from funcgrad.ops import indexing as ops
from funcgrad.ops.indexing import Index, Slot
from funcgrad.ops.shaping import transpose
from funcgrad.transforms.batching import batches, by_lane, lifted, logical, whole

if TYPE_CHECKING:
    from funcgrad.transforms.batch import Batch


@attrs.frozen
class Place:
    """The index of all lanes, and where NumPy then has the batch axis and the axes that come of arrays.

    `front` says that these come first; else they stand behind `before` others. `count` of them come of arrays.
    """

    index: Index
    arrays: list[Value]
    batch_at: int
    array_axes: tuple[int, int]  # how many there are, and behind how many other axes they belong
    array_first: bool

    def out(self, x: Value) -> Value:
        """What was read, in the order of one lane's axes behind the batch axis."""
        n = len(shape_of(x))
        order = self._order(n)
        return x if order == list(range(n)) else transpose(x, axes=tuple([i - n for i in order]))

    def back(self, x: Value) -> Value:
        """The inverse of `out`."""
        n = len(shape_of(x))
        order = self._order(n)
        return x if order == list(range(n)) else transpose(x, axes=tuple([order.index(i) - n for i in range(n)]))

    def _order(self, n: int) -> list[int]:
        """For each axis of the result, where NumPy has it."""
        rest = [i for i in range(n) if i != self.batch_at]
        if self.array_first:
            count, behind = self.array_axes
            rest = rest[count : count + behind] + rest[:count] + rest[count + behind :]
        return [self.batch_at, *rest]


def _stand_together(index: Index) -> bool:
    """NumPy's rule: no slice, ellipsis or new axis stands between two arrays or ints."""
    fancy = [k for k, i in enumerate(index) if type(i) in (Slot, int)]
    return fancy[-1] - fancy[0] + 1 == len(fancy)


def _behind(index: Index, arrays: list[Any], mapped: list[bool], rank: int) -> int:
    """How many axes of the result come before the first array or int, which stands with all others."""
    taken = sum([_axes_of(i, arrays, mapped) for i in index if i is not None and i is not Ellipsis])
    count = 0
    for i in index:
        if type(i) in (Slot, int):
            return count
        count += rank - taken if i is Ellipsis else 1
    return count


def _axes_of(i: Any, arrays: list[Any], mapped: list[bool]) -> int:
    """How many axes of the operand a part of the index takes: a mask, all of its own."""
    if type(i) is Slot and dtype_of(arrays[i.k]).kind == "b":
        return len(logical(arrays[i.k], mapped[i.k]))
    return 1


def _is_hard(arrays: list[Value], mapped: list[bool]) -> bool:
    """Whether lanes must be read one by one: their masks may name different numbers of places."""
    return any(dtype_of(a).kind == "b" and (is_mapped or not shape_of(a)) for a, is_mapped in zip(arrays, mapped, strict=True))


def place(m: Batch, index: Index, arrays: list[Value], mapped: list[bool], rank: int, operand: bool = True) -> Place:
    """The index of all lanes for an operand of `rank` axes in one lane, which is mapped where `operand` says so."""
    if not arrays:
        return Place((slice(None), *index), [], 0, (0, 0), False)
    count = max([1 if dtype_of(a).kind == "b" else len(logical(a, is_mapped)) for a, is_mapped in zip(arrays, mapped, strict=True)])
    if not any(mapped):
        return Place((slice(None), *index), arrays, 0 if _stand_together(index) else count, (0, 0), False)
    near = _stand_together(index)
    behind = _behind(index, arrays, mapped, rank) if near else 0
    deep = [lifted(a, count - len(shape_of(a)) + 1) if is_mapped else a for a, is_mapped in zip(arrays, mapped, strict=True)]
    if not operand:
        return Place(index, deep, behind, (0, 0), False)
    lanes = np.arange(m.size).reshape((m.size,) + (1,) * count)
    # Lane numbers stand in front; where another axis comes between them and the arrays, all array axes come first.
    return Place((Slot(len(arrays)), *index), [*deep, lanes], 0, (count, behind), behind > 0)


# ---- the rules


def _getitem(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    (x, *arrays), (mx, *ma) = args, mapped
    if _is_hard(arrays, ma):
        return by_lane(m, prim, args, mapped, params)
    p = place(m, params["index"], arrays, ma, len(logical(x, mx)), mx)
    return p.out(ops.getitem(x, *p.arrays, index=p.index))


def _scatter_add(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    (ct, *arrays), (mc, *ma) = args, mapped
    if _is_hard(arrays, ma):
        return by_lane(m, prim, args, mapped, params)
    shape = params["shape"]
    p = place(m, params["index"], arrays, ma, len(shape))
    return ops.scatter_add(p.back(whole(m, ct, mc)), *p.arrays, index=p.index, shape=(m.size, *shape))


def _put(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    """`put`, `add_at`, `max_at`, `min_at`."""
    (x, v, *arrays), (mx, mv, *ma) = args, mapped
    if _is_hard(arrays, ma):
        return by_lane(m, prim, args, mapped, params)
    p = place(m, params["index"], arrays, ma, len(logical(x, mx)))
    return bind(prim, [whole(m, x, mx), p.back(whole(m, v, mv)), *p.arrays], {"index": p.index})


def _shares_at(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Any:
    (x, v, out, *arrays), (mx, mv, mo, *ma) = args, mapped
    if _is_hard(arrays, ma):
        return by_lane(m, prim, args, mapped, params)
    p = place(m, params["index"], arrays, ma, len(logical(x, mx)))
    values = [whole(m, x, mx), p.back(whole(m, v, mv)), whole(m, out, mo), *p.arrays]
    of_x, of_v = bind(prim, values, {"index": p.index})
    return of_x, p.out(of_v)


def _winners(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    if _is_hard(args, mapped):
        return by_lane(m, prim, args, mapped, params)
    shape = params["shape"]
    p = place(m, params["index"], args, mapped, len(shape))
    return p.out(bind(prim, p.arrays, {"index": p.index, "shape": (m.size, *shape)}))


def _gather(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    return bind(prim, [whole(m, a, is_mapped) for a, is_mapped in zip(args, mapped, strict=True)], params)


def _gather_add(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    full = [whole(m, a, is_mapped) for a, is_mapped in zip(args, mapped, strict=True)]
    return bind(prim, full, {**params, "shape": (m.size, *params["shape"])})


for _name, _rule in {
    "getitem": _getitem, "scatter_add": _scatter_add, "put": _put, "add_at": _put, "max_at": _put, "min_at": _put,
    "shares_at": _shares_at, "winners": _winners, "gather": _gather, "gather_add": _gather_add,
}.items():  # fmt: skip
    batches(_rule, _name)
