"""`check_grads`: whether a function's derivatives are what differences say, and whether tracing changed what it means."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.testing.differences import STEPS
from funcgrad.testing.flat import Leaves, Space, copied, flat, index_of, leaves_of, widened
from funcgrad.testing.multilinear import MODES, Check
from funcgrad.transforms import doors
from funcgrad.transforms.maps import jvp, vjp

RTOL = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-3, np.dtype(np.float16): 3e-2}
"""Relative tolerances by the least precise dtype among arguments and outputs."""


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    rtol: float | None = None,
    atol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of `f` at `args` against differences, in every mode and every combination of modes up to `order`.

    Differences are taken in double precision, Richardson-extrapolated, and by the complex step where `f` allows it. It is checked too
    that `f` gives the same with plain NumPy on copies of `args` as traced, leaves them as they are, and depends on nothing else.

    Args:
        f: takes and gives pytrees; leaves that are not floats are left alone.
        args: the positional arguments, as a tuple or list.
        order: the highest order of derivatives, at least 1.
        modes: `"fwd"`, `"rev"`, or both.
        rtol, atol: tolerances per entry; by default they follow from dtypes, and from the rounding of differences.
        eps: the largest step of the differences.

    Raises:
        GradientError: names the entry, both values, and the side that is off.

    >>> import numpy as np
    >>> check_grads(lambda x: np.sum(np.sin(x)), (np.arange(3.0),))
    """
    name = doors.label("check_grads", f).function
    _check_face(name, args, order, modes)
    given = leaves_of(tuple(args), "args")
    if not given.places:
        raise errors.ArgumentTypeError(f"check_grads({name})", "no argument holds a float, so there is nothing to check. Pass floats, as in `(1.0,)`.")
    out = _plain(name, f, given)
    _check_values(name, f, given, out, modes)
    if not out.places:
        raise errors.ArgumentTypeError(f"check_grads({name})", "no output is a float, so there is nothing to check. Return what is to be differentiated.")
    check = Check(name, flat(f, given, out.places), given.floats, *_spaces(given, out), *_tolerances(given, out, rtol, atol, eps))
    for n in range(1, order + 1):
        for chain in itertools.product(modes, repeat=n):
            check.run(chain)


def _check_face(name: str, args: Any, order: int, modes: Any) -> None:
    if not isinstance(args, (tuple, list)):
        raise errors.ArgumentTypeError(f"check_grads({name})", f"args must be a tuple or list of arguments, got a {type(args).__name__}. Write (x,).")
    if order < 1:
        raise errors.ArgumentError(f"check_grads({name})", f"order must be at least 1, got {order}.")
    if not modes or any(mode not in MODES for mode in modes) or isinstance(modes, str):
        raise errors.ArgumentError(f"check_grads({name})", f"modes must be a tuple of 'fwd' and 'rev', got {modes!r}.")


# ---- what `f` means


def _plain(name: str, f: Callable[..., Any], given: Leaves) -> Leaves:
    """The output with plain NumPy, after making sure that `f` is a function and leaves its arguments alone."""
    copies = [copied(x) for x in given.all]
    out = leaves_of(f(*given.treedef.unflatten(copies)), "out")
    for path, before, after in zip(given.treedef.paths, given.all, copies, strict=True):
        _compare(before, after, 0.0, lambda index, values, path=path: errors.ChangedArgumentError(name, f"args{path}{index}", values))  # type: ignore[misc]
    again = leaves_of(f(*given.treedef.unflatten([copied(x) for x in given.all])), "out")
    for path, a, b in zip(out.treedef.paths, out.all, again.all, strict=False):
        _compare(a, b, 0.0, lambda index, values, path=path: errors.NondeterministicError(name, f"out{path}{index}", values))  # type: ignore[misc]
    return out


def _check_values(name: str, f: Callable[..., Any], given: Leaves, out: Leaves, modes: Sequence[str]) -> None:
    """Tracing must not change what `f` gives."""
    call = lambda *floats: f(*given.tree(floats))
    x = [copied(a) for a in given.floats]
    for mode in modes:
        traced = leaves_of(jvp(call, x, x)[0] if mode == "fwd" else vjp(call, *x)[0], "out")
        make = lambda what, values, mode=mode: errors.ValueMismatchError(name, f"out{what}", f"{MODES[mode]} mode", values)
        if traced.treedef != out.treedef:
            raise make("", (traced.treedef, out.treedef))
        for path, a, b in zip(out.treedef.paths, traced.all, out.all, strict=True):
            _compare(a, b, 1e3, lambda index, values, path=path, make=make: make(path + index, values))  # type: ignore[misc]


def _compare(a: Any, b: Any, ulps: float, error: Callable[[str, tuple[Any, Any]], Exception]) -> None:
    """Raise `error` of the index and the values where two leaves differ most."""
    if not doors.kind_of(b):
        return
    p, q = np.asarray(a), np.asarray(b)
    if p.shape != q.shape or p.dtype != q.dtype:
        raise error("", (doors.describe(a), doors.describe(b)))
    if p.dtype.kind in "fc":
        scale = float(np.max(abs(q), initial=0.0, where=np.isfinite(q)))
        wrong = ~np.isclose(p, q, rtol=0.0, atol=ulps * float(np.finfo(p.dtype).eps) * scale, equal_nan=True)
    else:
        wrong = p != q
    if wrong.any():
        with np.errstate(all="ignore"):
            k = int(np.argmax(np.where(wrong, np.nan_to_num(abs(np.subtract(p, q, dtype=np.result_type(p, q, np.float64))), nan=np.inf), -1.0)))
        raise error(index_of(k, p.shape), (p.flat[k].item(), q.flat[k].item()))


# ---- derivatives


def _spaces(given: Leaves, out: Leaves) -> tuple[Space, Space]:
    wide = [tuple(map(widened, leaves.floats)) for leaves in (given, out)]
    return Space(tuple(given.paths), wide[0], dual=False), Space(tuple(out.paths), wide[1], dual=True)


def _tolerances(given: Leaves, out: Leaves, rtol: float | None, atol: float | None, eps: float | None) -> tuple[float, float | None, float]:
    precisions = [np.empty(0, np.asarray(x).dtype).real.dtype for x in [*given.floats, *out.floats]]
    coarsest = max(precisions, key=lambda dtype: float(np.finfo(dtype).eps))
    outs = [np.empty(0, np.asarray(x).dtype).real.dtype for x in out.floats]
    step = STEPS.get(np.dtype(np.float64) if coarsest != max(outs, key=lambda d: float(np.finfo(d).eps)) else coarsest, 2.0**-6)
    return RTOL.get(coarsest, 1e-6) if rtol is None else rtol, atol, step if eps is None else eps


