"""The short way of a call: arrays and floats, or trees of them, to one path. All else goes the long way, which means the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced
from funcgrad.later import later
from funcgrad.program.parts import OTHERWISE, Static
from funcgrad.transforms.forward import ForwardTracer
from funcgrad.transforms.linearize import LinTracer
from funcgrad.transforms.staging import Path
from funcgrad.transforms.watching import Watch

if TYPE_CHECKING:
    from funcgrad.transforms.direct import direct
else:
    direct = later("funcgrad.transforms.direct", "direct")

_ndarray = np.ndarray
_TRACERS = (LinTracer, ForwardTracer)


def key_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What tells calls apart; None where more would have to be asked."""
    key: list[Any] = []
    for x in args:
        kind = type(x)
        if kind is _ndarray:
            key.append(x.dtype)
            key.append(x.shape)
        elif kind is float or kind is np.float64:
            key.append(kind)
        elif (kind is LinTracer or kind is ForwardTracer) and type(x._value) in (_ndarray, np.float64):
            key.append(kind)
            key.append(x._dtype)
            key.append(x._shape)
        else:
            return None
    return tuple(key)


def quick(path: Path, watch: Watch, args: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], Any] | None:
    """The call of a path with arguments like these, which gives NotImplemented where it is not to be taken."""
    if not path.is_bare or Static in map(type, path.signature.ins):
        return None
    if any(isinstance(x, Traced) for x in args):
        return _traced(path, watch) if key_of(args) is not None else None
    leaves, treedef = pytree.flatten(args)
    are_plain = all(x.dtype.isnative if type(x) is _ndarray else type(x) in (float, np.float64) for x in leaves)
    return direct(path, watch, args) if are_plain and treedef._is_compilable and treedef._keeps_little else None


def _traced(path: Path, watch: Watch) -> Callable[[tuple[Any, ...]], Any]:
    holds, captures = watch.quick(), path.captures
    is_one = path.signature.out_def is pytree.LEAF and path.signature.outs[0] is None

    def call(args: tuple[Any, ...]) -> Any:
        if not holds():
            return NotImplemented
        values = [*args, *captures]
        try:
            outs = path.call.apply(values)
        except OTHERWISE:
            return NotImplemented
        except errors.FuncgradError:
            raise
        except Exception:
            return NotImplemented
        if is_one and type(outs[0]) in _TRACERS:
            return outs[0]
        return path.results(outs, args, values)

    return call
