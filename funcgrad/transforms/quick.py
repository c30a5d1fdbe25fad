"""The short way of a call: arrays and floats by position, to one path. All else goes the long way, which means the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced
from funcgrad.program.calls import left, typed
from funcgrad.program.parts import Miss, Missed, Static
from funcgrad.program.program import compiled
from funcgrad.transforms.forward import ForwardTracer
from funcgrad.transforms.hush import hush, speak
from funcgrad.transforms.linearize import LinTracer
from funcgrad.transforms.staging import Path

Finish = Callable[[tuple[Any, ...], tuple[Any, ...]], Any]
_ndarray = np.ndarray


def key_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What tells calls apart; None where the long way is to be taken."""
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


def quick(path: Path, holds: Callable[[], bool] | None, args: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], Any] | None:
    """The call of a path with arguments like these, which gives NotImplemented where it is not to be taken."""
    signature = path.signature
    if not path.is_bare or Static in map(type, signature.ins):
        return None
    if any(type(x) is _ndarray and not x.dtype.isnative for x in args):
        return None
    finish = _finish(path)
    if any(isinstance(x, Traced) for x in args):
        return _traced(path, holds, finish)
    return _direct(path, holds, args, finish)


def _direct(path: Path, holds: Callable[[], bool] | None, args: tuple[Any, ...], finish: Finish) -> Callable[[tuple[Any, ...]], Any]:
    """As code: the checks that the arguments are like these, the run, and what makes of one output what the function returns."""
    space: dict[str, Any] = {
        "run": compiled(path.program),
        "finish": finish,
        "holds": holds,
        "ndarray": _ndarray,
        "hush": hush,
        "speak": speak,
    }
    names = [f"x{k}" for k in range(len(args))]
    checks = [f"len(args) != {len(args)}"]
    for k, x in enumerate(args):
        space[f"t{k}"] = type(x)
        checks.append(f"type(args[{k}]) is not t{k}")
        if type(x) is _ndarray:
            space[f"d{k}"] = x.dtype
            checks.append(f"args[{k}].dtype is not d{k} or args[{k}].shape != {x.shape}")
    if holds is not None:
        checks.append("not holds()")
    captured = [f"c{k}" for k in range(len(path.captures))]
    space.update(zip(captured, path.captures, strict=True))
    given = ", ".join([*[f"args[{k}]" for k in range(len(names))], *captured])
    lines = ["def direct(args):", f"    if {' or '.join(checks)}:", "        return NotImplemented"]
    lines += ["    token = hush()"] if path.quiet else []
    lines += ["    try:", f"        outs = run({given})", "    except Exception:", "        return NotImplemented"]
    lines += ["    finally:", "        speak(token)"] if path.quiet else []
    if finish is _one:
        lines += [
            "    y = outs[0]",
            "    if type(y) is ndarray:",
            "        if y.base is not None or not y.shape:",
            "            return finish(outs, args)",
        ]
        lines += ["        y.setflags(False)", "    return y"]
    else:
        lines += ["    return finish(outs, args)"]
    exec("\n".join(lines), space)
    made: Callable[[tuple[Any, ...]], Any] = space["direct"]
    return made


def _traced(path: Path, holds: Callable[[], bool] | None, finish: Finish) -> Callable[[tuple[Any, ...]], Any]:
    def call(args: tuple[Any, ...]) -> Any:
        if holds is not None and not holds():
            return NotImplemented
        try:
            outs = path.call.apply([*args, *path.captures])
        except (Missed, Miss, errors.LanesDifferError):
            return NotImplemented
        except errors.FuncgradError:
            raise
        except Exception:
            return NotImplemented
        return finish(tuple(outs), args)

    return call


def _one(outs: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    """The only output, which is nobody's."""
    y = outs[0]
    if type(y) is _ndarray:
        if y.base is not None or not y.shape:
            return left(y, False, True) if y.shape else y[()]
        y.setflags(write=False)
    return y


def _finish(path: Path) -> Finish:
    """What makes of the outputs what the function returns."""
    signature, captures = path.signature, path.captures
    inputs = {v.number for v in path.program.inputs}
    passes = any(getattr(x, "number", None) in inputs for x in path.program.outputs)
    if signature.out_def is pytree.LEAF and signature.outs[0] is None and not passes:
        return _one

    def several(outs: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        given = {*map(id, args), *map(id, captures)} if passes else ()
        made = iter([left(y, False, id(y) in given) for y in outs])
        return signature.out_def.unflatten([known.value if type(known) is Static else typed(next(made), known) for known in signature.outs])

    return several
