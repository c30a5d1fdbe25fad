"""`map` and `associative_scan`: loops over the first axis without a carry, and with one that may be taken in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.control.bodies import given_back, keep_type, own, positive, tensors_among, values_of
from funcgrad.control.scan import scan
from funcgrad.core import Label, Traced, Value, shape_of
from funcgrad.numpy.bridge import bare
from funcgrad.ops.indexing import getitem
from funcgrad.ops.shaping import concatenate, reshape, stack
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import label_of
from funcgrad.transforms.vmap import vmap


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f(x)` for each `x` along the first axis of `xs`, one after the other, stacked.

    As `vmap(f)(xs)`, in the memory of one step: see `scan`, which it is without a carry.

    Args:
        f: takes one `x`, gives any pytree of numbers.
        xs: a pytree of arrays with a common first axis.
        batch_size: so many at a time run in one `vmap`.

    >>> import numpy as np
    >>> map(lambda x: x * x, np.array([1.0, 2.0, 3.0]))
    array([1., 4., 9.])
    """
    label = label_of("map", f)
    if batch_size is None:
        return scan(lambda _, x: (None, f(x)), None, xs)[1]
    size = positive(label, "batch_size", batch_size)
    leaves, treedef = pytree.flatten(xs)
    columns = values_of(label, "xs", leaves, treedef)
    n = _common(label, columns, treedef)
    whole = n - n % size
    blocks = [reshape(_rows(x, slice(0, whole)), shape=(whole // size, size, *shape_of(x)[1:])) for x in columns]
    found = scan(lambda _, x: (None, vmap(f)(x)), None, treedef.unflatten(blocks))[1]
    found = pytree.map(lambda y: reshape(bare(y), shape=(whole, *shape_of(y)[2:])), found)
    if whole < n:
        rest = vmap(f)(treedef.unflatten([_rows(x, slice(whole, n)) for x in columns]))
        found = pytree.map(lambda y, z: concatenate(bare(y), bare(z), axis=-len(shape_of(y))), found, rest)
    outs, out_def = pytree.flatten(found)
    return out_def.unflatten(given_back(list(outs), tensors_among(leaves)))


def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All partial results of an associative `fn` along an axis: `elems[0], fn(elems[0], elems[1]), …`, in O(log n) calls of `fn`.

    Args:
        fn: takes two pytrees of arrays, with the axis, and combines them elementwise along it. It must be associative.
        elems: a pytree of arrays with a common length along `axis`.
        reverse: begin at the end: the results are those of the reversed elements, reversed.
        axis: the axis to go along.

    Source: Blelloch, *Prefix sums and their applications*, 1990.

    >>> import numpy as np
    >>> associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    label = label_of("associative_scan", fn)
    leaves, treedef = pytree.flatten(elems)
    values = values_of(label, "elems", leaves, treedef)
    for x, path in zip(values, treedef.paths, strict=True):
        if not -len(shape_of(x)) <= axis < len(shape_of(x)):
            raise errors.ArgumentError(str(label), f"elems{path} has shape {list(shape_of(x))}, which has no axis {axis}.")
    n = _common(label, values, treedef, axis)

    def combine(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
        out = fn(treedef.unflatten(a), treedef.unflatten(b))
        doors.check_tree(label, "result", "elements", pytree.structure(out), treedef)
        made = [bare(x) for x in pytree.leaves(out)]
        for x, y, path in zip(a, made, treedef.paths, strict=True):
            keep_type(label, "the element", path, x, y)
        return made

    if reverse:
        values = [_part(x, axis, slice(None, None, -1)) for x in values]
    found = _prefixes(combine, values, axis, n) if n > 1 else list(map(own, values))
    if reverse:
        found = [_part(x, axis, slice(None, None, -1)) for x in found]
    return treedef.unflatten(given_back(found, tensors_among(leaves)))


def _prefixes(combine: Callable[[Any, Any], list[Value]], values: Sequence[Value], axis: int, n: int) -> list[Value]:
    """Pairs are combined, scanned, and give every second result; the others are one more combination away."""
    if n < 2:
        return list(values)
    pairs = combine([_part(x, axis, slice(0, n - 1, 2)) for x in values], [_part(x, axis, slice(1, n, 2)) for x in values])
    odd = _prefixes(combine, pairs, axis, n // 2)
    first = [_part(x, axis, slice(0, 1)) for x in values]
    if n < 3:
        return [_interleaved(a, b, axis) for a, b in zip(first, odd, strict=True)]
    before = [_part(x, axis, slice(0, (n - 1) // 2)) for x in odd]
    even = combine(before, [_part(x, axis, slice(2, n, 2)) for x in values])
    even = [concatenate(a, b, axis=axis % len(shape_of(a)) - len(shape_of(a))) for a, b in zip(first, even, strict=True)]
    return [_interleaved(a, b, axis) for a, b in zip(even, odd, strict=True)]


def _interleaved(even: Value, odd: Value, axis: int) -> Value:
    """even[0], odd[0], even[1], …"""
    shape = shape_of(odd)
    k = axis % len(shape)
    m = shape[k]
    woven = stack(_part(even, axis, slice(0, m)), odd, axis=k - len(shape))
    woven = reshape(woven, shape=(*shape[:k], 2 * m, *shape[k + 1 :]))
    return woven if shape_of(even)[k] == m else concatenate(woven, _part(even, axis, slice(m, m + 1)), axis=k - len(shape))


def _part(x: Value, axis: int, at: slice) -> Value:
    index = (slice(None),) * (axis % len(shape_of(x))) + (at,)
    return getitem(x, index=index) if isinstance(x, Traced) else np.asarray(x)[index]


def _rows(x: Value, at: slice) -> Value:
    return _part(x, 0, at)


def _common(label: Label, values: Sequence[Value], treedef: pytree.TreeDef, axis: int = 0) -> int:
    """The length that all arrays have along the axis."""
    sizes = {path: shape_of(x)[axis] if shape_of(x) else None for x, path in zip(values, treedef.paths, strict=True)}
    if len(set(sizes.values())) != 1 or None in sizes.values():
        said = ", ".join([f"{path or 'the array'} has {size}" for path, size in sizes.items()]) or "there are none"
        raise errors.ArgumentError(str(label), f"the arrays must have one length along axis {axis}: {said}.")
    return next(iter(sizes.values()))  # type: ignore[return-value]
