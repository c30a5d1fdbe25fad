"""How each primitive is applied to many lanes at once.

**Law:** ranks are aligned before anything runs: a mapped operand of lower rank gets axes of length 1 behind its batch axis. Only then
do axes counted from the end hold, and most primitives batch by themselves. What has no rule here runs lane by lane.
A rule `(m, prim, args, mapped, params)` gets values whose batch axis is the first, where `mapped` says that they have one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Primitive, Traced, Value, bind, dtype_of, shape_of
from funcgrad.ops import contraction, reductions, shaping
from funcgrad.ops.indexing import getitem
from funcgrad.ops.kinds import PRIMITIVES, Constant, Elementwise

if TYPE_CHECKING:
    from funcgrad.transforms.batch import Batch

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
"""By name, what is not elementwise and has a rule. (Some primitives are there only once their module is asked for.)"""

_FOUND: dict[Primitive, Rule] = {}

_ndarray = np.ndarray


def batched(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Any:
    """`prim` in all lanes; the batch axis of what comes out is the first."""
    rule = _FOUND.get(prim) or rule_of(prim)
    return rule(m, prim, args, mapped, params)


def rule_of(prim: Primitive) -> Rule:
    """The rule of a primitive; those that are made at run time have none of their own, and are not kept here."""
    is_ours = PRIMITIVES.get(prim.name) is prim
    rule = RULES.get(prim.name) if is_ours else None
    if rule is None:
        rule = aligned if type(prim) is Elementwise or (type(prim) is Constant and isinstance(prim.impl, np.ufunc)) else by_lane
    if is_ours:
        _FOUND[prim] = rule
    return rule


# ---- shapes


def logical(x: Value, mapped: bool) -> tuple[int, ...]:
    """The shape in one lane."""
    shape = shape_of(x)
    return shape[1:] if mapped else shape


def lifted(x: Value, more: int) -> Value:
    """A mapped value with `more` axes of length 1 behind its batch axis."""
    if not more:
        return x
    shape = shape_of(x)
    return shaping.reshape(x, shape=(shape[0], *(1,) * more, *shape[1:]))


def spread(x: Value, size: int) -> Value:
    """The same value in so many lanes."""
    return shaping.broadcast_to(x if isinstance(x, Traced) else np.asarray(x), shape=(size, *shape_of(x)))


def whole(m: Batch, x: Value, mapped: bool) -> Value:
    """The same value in every lane, where it is not mapped."""
    return x if mapped else spread(x, m.size)


def align(args: list[Value], mapped: list[bool]) -> list[Value]:
    """All mapped operands with as many axes in a lane as the operand with the most."""
    ranks = [len(shape_of(a)) - is_mapped for a, is_mapped in zip(args, mapped, strict=True)]
    top = max(ranks)
    return [lifted(a, top - r) if is_mapped else a for a, r, is_mapped in zip(args, ranks, mapped, strict=True)]


# ---- the general rules


def itself(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Any:
    """One operand decides, and the axes are counted from the end."""
    if not mapped[0] or any(mapped[1:]) or params.get("axis", -1) is None:
        return by_lane(m, prim, args, mapped, params)
    return bind(prim, args, params)


def aligned(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Any:
    """The operands broadcast."""
    return bind(prim, align(args, mapped), params)


def together(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Any:
    """All operands have all lanes."""
    return bind(prim, [whole(m, a, is_mapped) for a, is_mapped in zip(args, mapped, strict=True)], params)


def by_lane(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Any:
    """One lane after the other: right for every primitive."""
    if not m.size:
        lane = [np.ones(shape_of(a)[1:], dtype_of(a))[()] if is_mapped else a for a, is_mapped in zip(args, mapped, strict=True)]
        out = bind(prim, lane, params)
        return tuple(map(_none_of, out)) if type(out) is tuple else _none_of(out)
    outs = []
    for i in range(m.size):
        lane = [lane_of(a, i) if is_mapped else a for a, is_mapped in zip(args, mapped, strict=True)]
        outs.append(bind(prim, lane, params))
    if type(outs[0]) is tuple:
        return tuple([joined(m, prim.name, parts) for parts in zip(*outs, strict=True)])
    return joined(m, prim.name, outs)


def _none_of(x: Value) -> Value:
    return np.zeros((0, *shape_of(x)), dtype_of(x))


def lane_of(x: Value, i: int) -> Value:
    return x[i] if type(x) is _ndarray else getitem(x, index=(i,))


def joined(m: Batch, name: str, lanes: Any) -> Value:
    """The lanes' values along a new first axis."""
    shape = shape_of(lanes[0])
    for x in lanes:
        if shape_of(x) != shape:
            raise errors.LaneShapesError(str(m.label), name, shape, shape_of(x))
    return shaping.stack(*lanes, axis=-1 - len(shape))


def of_one(k: int) -> Rule:
    """By itself where the k-th operand alone is mapped."""

    def rule(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Any:
        return bind(prim, args, params) if mapped[k] and sum(mapped) == 1 else by_lane(m, prim, args, mapped, params)

    return rule


# ---- params that hold whole shapes


def _reshape(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    return bind(prim, args, {"shape": (m.size, *params["shape"])})


def _transpose(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    axes = params["axes"]
    return bind(prim, args, {"axes": (-1 - len(axes), *axes)})


def _broadcast_to(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    x, shape = args[0], params["shape"]
    own = shape_of(x)[1:]
    if len(own) > len(shape):
        np.broadcast_to(np.zeros(own), shape)  # raises NumPy's sentence
    return shaping.broadcast_to(lifted(x, len(shape) - len(own)), shape=(m.size, *shape))


def _sum_to(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    own, shape = shape_of(args[0])[1:], params["shape"]
    n, lead = len(own), len(own) - len(shape)
    axes = tuple([i - n for i in range(n) if i < lead or (shape[i - lead] == 1 and own[i] != 1)])
    return shaping.reshape(reductions.sum(args[0], axis=axes), shape=(m.size, *shape)) if axes else args[0]


def _pile(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    rows = [whole(m, a, is_mapped) for a, is_mapped in zip(args, mapped, strict=True)]
    return shaping.concatenate(*[shaping.reshape(r, shape=(m.size, math.prod(shape_of(r)[1:]))) for r in rows], axis=-1)


def _unpile(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> tuple[Value, ...]:
    shapes = params["shapes"]
    parts = shaping.split(args[0], axis=-1, sizes=tuple(map(math.prod, shapes)))
    return tuple([shaping.reshape(part, shape=(m.size, *shape)) for part, shape in zip(parts, shapes, strict=True)])


# ---- products


def _matmul(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    """Vectors become matrices, except where one matrix product serves all lanes."""
    (x, y), (mx, my) = args, mapped
    sx, sy = logical(x, mx), logical(y, my)
    n, k = len(sx), len(sy)
    if not n or not k or sx[-1] != sy[-2 if k > 1 else -1]:
        return prim.impl(np.zeros(sx), np.zeros(sy))  # raises NumPy's sentence
    if not my and k <= 2:
        return _with_one(x, y, sx)
    if not mx and n <= 2 and k == 1:
        return contraction.dot(y, x if n == 1 else contraction.swap(x))
    if n == 1:
        x = contraction.row(x)
    if k == 1:
        y = contraction.column(y)
    out = contraction.matmul(*align([x, y], mapped))
    shape = shape_of(out)
    if n == 1 or k == 1:
        kept = shape[: len(shape) - 2] + (() if n == 1 else shape[-2:-1]) + (() if k == 1 else shape[-1:])
        out = shaping.reshape(out, shape=kept)
    return out


def _with_one(x: Value, y: Value, sx: tuple[int, ...]) -> Value:
    """A stack times one matrix or vector: all rows in one product."""
    if len(sx) == 1:
        return contraction.dot(x, y)
    shape = shape_of(x)
    out = contraction.dot(shaping.reshape(x, shape=(math.prod(shape[:-1]), shape[-1])), y)
    return shaping.reshape(out, shape=(*shape[:-1], *shape_of(y)[1:]))


@functools.lru_cache(1024)
def _with_letter(subscripts: str, mapped: tuple[bool, ...]) -> str:
    """The subscripts with a letter of their own for the batch axis."""
    new = next(c for c in map(chr, range(65, 1 << 16)) if c not in subscripts and c.isalpha())
    operands, _, out = subscripts.partition("->")
    parts = [new + part if is_mapped else part for part, is_mapped in zip(operands.split(","), mapped, strict=True)]
    return f"{','.join(parts)}->{new}{out}"


def _einsum(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    return bind(prim, args, {"subscripts": _with_letter(params["subscripts"], tuple(mapped))})


def _solve(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    """A mapped vector is a column; of one matrix, all of them are the columns of one right side."""
    (a, b), (ma, mb) = args, mapped
    vector = len(logical(b, mb)) == 1
    if vector and not ma and len(shape_of(a)) == 2:
        return contraction.swap(bind(prim, [a, contraction.swap(b)], params))
    out = bind(prim, align([a, contraction.column(b) if vector else b], mapped), params)
    return shaping.reshape(out, shape=shape_of(out)[:-1]) if vector else out


def _pinv(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    a, tol = args
    if mapped[0] and (not mapped[1] or len(shape_of(tol)) == len(shape_of(a)) - 2):
        return bind(prim, args, params)
    return by_lane(m, prim, args, mapped, params)


def _of_spectrum(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Value:
    """The values have one axis less than the matrices; both broadcast."""
    return bind(prim, args, params)


def _statistic(m: Batch, prim: Primitive, args: list[Value], mapped: list[bool], params: dict[str, Any]) -> Any:
    return bind(prim, args, params) if mapped[0] and not any(mapped[1:]) and len(args) <= 2 else by_lane(m, prim, args, mapped, params)


# ---- the table


def batches(rule: Rule, names: str) -> None:
    for name in names.split():
        RULES[name] = rule


batches(
    itself,
    "phase split unstack cumprod cummax cummin var prod max min nanmax nanmin logsumexp sinc bessel_i inv cholesky det cofactors "
    "slogdet eigh eigvalsh eig eigvals svd svdvals qr apart positive_values one_positive real_component singular "
    "norm softmax log_softmax log_total astype window embed roll diagonal embed_diagonal reverse cumsum sum mean any all "
    "count_nonzero argmax argmin nanargmax nanargmin lasts argsort argpartition partition_order positions choices round is_infinite "
    "digitize bins_of is_in fft ifft rfft irfft",
)
batches(aligned, "quotient wins fwins sign exponent holders vecdot cross recurrence second_cofactors cholesky_pull")
batches(aligned, "unknown_rate refused_rate unless_zero refuse_free")
batches(together, "shares log_shares lexsort concatenate stack")
batches(of_one(1), "searchsorted")
batches(_statistic, "statistic neighbours")
batches(_matmul, "dot matmul")
batches(_of_spectrum, "rebuilt recomposed regained")
for _name, _rule in {
    "reshape": _reshape, "transpose": _transpose, "broadcast_to": _broadcast_to, "sum_to": _sum_to, "pile": _pile, "unpile": _unpile,
    "einsum": _einsum, "solve": _solve, "resolve": _solve, "pinv": _pinv,
}.items():  # fmt: skip
    batches(_rule, _name)
