"""`check_grads`: whether a function's derivatives are what differences say, and whether tracing changed what it means."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.testing.differences import STEPS
from funcgrad.testing.flat import Leaves, Space, copied, flat, index_of, leaves_of, widened
from funcgrad.testing.multilinear import MODES, Check
from funcgrad.transforms.arguments import describe, kind_of, label_of
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
    label = label_of("check_grads", f)
    name = label.function
    _check_face(str(label), args, order, modes)
    given = leaves_of(tuple(args), "args")
    if not given.places:
        raise errors.ArgumentTypeError(str(label), "no argument holds a float, so there is nothing to check. Pass floats, as in `(1.0,)`.")
    out = _plain(name, f, given)
    _check_values(name, f, given, out, modes)
    if not out.places:
        raise errors.ArgumentTypeError(str(label), "no output is a float, so there is nothing to check. Return the value of interest.")
    default_rtol, step = _precision(given, out)
    rtol, step = default_rtol if rtol is None else rtol, step if eps is None else eps
    check = Check(name, flat(f, given, out.places), given.floats, *_spaces(given, out), rtol, atol, step)
    for n in range(1, order + 1):
        for chain in itertools.product(modes, repeat=n):
            check.run(chain)


def _check_face(label: str, args: Any, order: int, modes: Any) -> None:
    if not isinstance(args, (tuple, list)):
        raise errors.ArgumentTypeError(label, f"args must be a tuple or list of arguments, got a {type(args).__name__}. Write (x,).")
    if order < 1:
        raise errors.ArgumentError(label, f"order must be at least 1, got {order}.")
    if not modes or any(mode not in MODES for mode in modes) or isinstance(modes, str):
        raise errors.ArgumentError(label, f"modes must be a tuple of 'fwd' and 'rev', got {modes!r}.")


# ---- what `f` means


def _plain(name: str, f: Callable[..., Any], given: Leaves) -> Leaves:
    """The output with plain NumPy, after making sure that `f` is a function and leaves its arguments alone."""
    copies = [copied(x) for x in given.all]
    out = leaves_of(f(*given.treedef.unflatten(copies)), "out")
    for path, before, after in zip(given.treedef.paths, given.all, copies, strict=True):
        _compare(before, after, 0.0, functools.partial(_changed, name, path))
    again = leaves_of(f(*given.treedef.unflatten([copied(x) for x in given.all])), "out")
    for path, a, b in zip(out.treedef.paths, out.all, again.all, strict=False):
        _compare(a, b, 0.0, functools.partial(_nondeterministic, name, path))
    return out


def _changed(name: str, path: str, index: str, values: tuple[Any, Any]) -> Exception:
    return errors.ChangedArgumentError(name, f"args{path}{index}", values)


def _nondeterministic(name: str, path: str, index: str, values: tuple[Any, Any]) -> Exception:
    return errors.NondeterministicError(name, f"out{path}{index}", values)


def _check_values(name: str, f: Callable[..., Any], given: Leaves, out: Leaves, modes: Sequence[str]) -> None:
    """Tracing must not change what `f` gives."""
    call: Callable[..., Any] = lambda *floats: f(*given.tree(floats))
    x = [copied(a) for a in given.floats]
    for mode in modes:
        traced = leaves_of(jvp(call, x, x)[0] if mode == "fwd" else vjp(call, *x)[0], "out")
        differs = functools.partial(_value_mismatch, name, f"{MODES[mode]} mode")
        if traced.treedef != out.treedef:
            raise differs("", "", (traced.treedef, out.treedef))
        for path, a, b in zip(out.treedef.paths, traced.all, out.all, strict=True):
            _compare(a, b, 1e3, functools.partial(differs, path))


def _value_mismatch(name: str, mode: str, path: str, index: str, values: tuple[Any, Any]) -> Exception:
    return errors.ValueMismatchError(name, f"out{path}{index}", mode, values)


def _compare(a: Any, b: Any, ulps: float, error: Callable[[str, tuple[Any, Any]], Exception]) -> None:
    """Raise `error` of the index and the values where two leaves differ most."""
    if not kind_of(b):
        return
    p, q = np.asarray(a), np.asarray(b)
    if p.shape != q.shape or p.dtype != q.dtype:
        raise error("", (describe(a), describe(b)))
    if p.dtype.kind in "fc":
        scale = float(np.max(abs(q), initial=0.0, where=np.isfinite(q)))
        wrong = ~np.isclose(p, q, rtol=0.0, atol=ulps * float(np.finfo(p.dtype).eps) * scale, equal_nan=True)
    else:
        wrong = p != q
    if wrong.any():
        with np.errstate(all="ignore"):
            gap = abs(np.subtract(p, q, dtype=np.result_type(p, q, np.float64)))
        k = int(np.argmax(np.where(wrong, np.nan_to_num(gap, nan=np.inf), -1.0)))
        raise error(index_of(k, p.shape), (p.flat[k].item(), q.flat[k].item()))


# ---- derivatives


def _spaces(given: Leaves, out: Leaves) -> tuple[Space, Space]:
    wide = [tuple(map(widened, leaves.floats)) for leaves in (given, out)]
    return Space(tuple(given.paths), wide[0], dual=False), Space(tuple(out.paths), wide[1], dual=True)


def _precision(given: Leaves, out: Leaves) -> tuple[float, float]:
    """The tolerance for the least precise dtype of all, and the step for that of the outputs.

    Differences are of double precision but where `f` itself rounds: where its outputs are less precise than its arguments.
    """
    coarsest, coarsest_in = _coarsest([*given.floats, *out.floats]), _coarsest(given.floats)
    return RTOL.get(coarsest, 1e-6), STEPS.get(coarsest, 2.0**-6) if coarsest != coarsest_in else 2.0**-6


def _coarsest(xs: Sequence[Any]) -> np.dtype[Any]:
    dtypes: list[np.dtype[Any]] = [np.real(np.empty(0, np.asarray(x).dtype)).dtype for x in xs]
    return max(dtypes, key=lambda dtype: float(np.finfo(dtype).eps))
