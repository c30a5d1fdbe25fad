"""A function under `jit`: its calls, what is recorded of them, and what is kept."""

from __future__ import annotations

import threading
import types
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from funcgrad import errors, pytree
from funcgrad.core import Label, Traced, floors
from funcgrad.later import later
from funcgrad.program.parts import GUARD, Static
from funcgrad.program.program import Program
from funcgrad.pytree.compare import is_small
from funcgrad.tensor import user_level
from funcgrad.transforms.arguments import describe, dress
from funcgrad.transforms.batch import Batch
from funcgrad.transforms.closures import closed_over
from funcgrad.transforms.keys import PATHS, REBOUND, SIGNATURES, Signature, behind, key_of_call, opened, static, statics
from funcgrad.transforms.quick import key_of, quick
from funcgrad.transforms.record import Recorder, Recording
from funcgrad.transforms.staging import Path
from funcgrad.transforms.trace import recorded
from funcgrad.transforms.watching import Watch, unbound

if TYPE_CHECKING:
    from funcgrad.program.stats import Stats, stats
else:
    stats = later("funcgrad.program.stats", "stats")

QUICK = 512
"""So many short ways are kept."""

TRUSTED = 3
"""So often a recording must stay the same while an array is written to, until what is in the array is not asked any more."""


class Jitted:
    """A function under `jit`, and what has been compiled of it."""

    def __init__(self, label: Label, fun: Callable[..., Any], static_argnums: tuple[int, ...], static_argnames: tuple[str, ...]) -> None:
        self.label, self.fun = label, fun
        self.inner, self.args, self.kwargs = unbound(fun)
        self.brings = bool(self.args or self.kwargs)
        self.static = (static_argnums, static_argnames)
        self.has_static = bool(static_argnums or static_argnames)
        self.known: dict[Any, Signature] = {}
        self.quick: dict[Any, Callable[[tuple[Any, ...]], Any]] = {}
        self.last: Callable[[tuple[Any, ...]], Any] = _unknown
        self.lock = threading.RLock()
        self.warned: set[str] = set()
        self.is_crowded = False
        self.body: Callable[..., Any] = dress(lambda *args, **kwargs: self.called(args, kwargs), self.inner)

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The function as it is."""
        return self.inner(*opened(args), **opened(kwargs)) if self.has_static else self.inner(*args, **kwargs)

    def clear(self) -> None:
        """Forget all that is compiled."""
        with self.lock:
            self.known.clear()
            self.forget_ways()

    def forget_ways(self) -> None:
        self.quick.clear()
        self.last = _unknown

    # ---- a call

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = None if kwargs or self.brings or self.has_static else args
        args, kwargs = self.taken(args, kwargs)
        leaves, in_def = pytree.flatten((args, kwargs))
        leaves = list(map(behind, leaves))
        mains = _mains(leaves)
        if any(isinstance(m, Recorder) for m in mains):  # a recording has the function's own operations
            return self.body(*args, **kwargs)
        signature = self.signature(in_def, leaves)
        if signature is None or signature.runs_as_it_is:
            return self.body(*args, **kwargs)
        if signature.is_fresh:
            signature.is_fresh = False
            return self.body(*args, **kwargs)
        if not self.is_current(signature):
            return self.recorded(signature, args, kwargs, leaves)
        for k, path in enumerate(signature.paths):
            made = path.run(leaves)
            if made is not NotImplemented:
                if k:
                    signature.paths = (path, *[p for p in signature.paths if p is not path])
                self.shorten(given, signature, path)
                return made
        if any(isinstance(m, Batch) for m in mains) and any(p.is_of_first_lane(leaves) for p in signature.paths):
            return self.body(*args, **kwargs)  # the lanes part
        return self.recorded(signature, args, kwargs, leaves)

    def taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, those of partials first; static ones are marked."""
        if self.brings:
            args, kwargs = (*self.args, *args), {**self.kwargs, **kwargs}
        if self.has_static:
            args, kwargs = static(self.label, *self.static, args, kwargs)
        return args, kwargs

    def signature(self, in_def: pytree.TreeDef, leaves: list[Any]) -> Signature | None:
        key = key_of_call(in_def, leaves)
        if key is None:
            self.warn("an argument is used up by a call, or may be changed unseen. Pass a list, or a tuple")
            return None
        found = self.known.get(key)
        if found is None:
            with self.lock:
                if len(self.known) >= SIGNATURES:
                    self.make_room()
                found = self.known.setdefault(key, Signature(is_fresh=self.is_crowded))
        found.was_used = True
        return found

    def make_room(self) -> None:
        """Forget the signature that was made first, of those that were not used since the last time."""
        while True:
            key, signature = next(iter(self.known.items()))
            del self.known[key]
            if not signature.was_used:
                break
            signature.was_used = False
            self.known[key] = signature
        self.forget_ways()
        if not signature.paths and not self.is_crowded:
            self.is_crowded = True
            self.warn("it meets ever new shapes or static arguments: from now on the first call with each")

    def shorten(self, args: tuple[Any, ...] | None, signature: Signature, path: Path) -> None:
        """The next call with such arguments goes the short way to the path that was taken now."""
        key = None if args is None else key_of(args)
        watch = signature.watch
        if key is None or args is None or watch is None:
            return
        ways = path.ways
        way = ways.get(key)
        if way is None:
            way = quick(path, watch, args)
            if len(ways) >= QUICK:
                ways.clear()
            ways[key] = way
        if way is None:
            return
        if len(self.quick) >= QUICK:
            self.quick.clear()
        self.quick[key] = way
        if not any(isinstance(x, Traced) for x in args):
            self.last = way

    # ---- what the function reads

    def is_current(self, signature: Signature) -> bool:
        """Whether the function reads what it read before."""
        watch = signature.watch
        if watch is None or watch.holds():
            return True
        if not watch.is_bound():
            self.forget(signature)
        return False

    def forget(self, signature: Signature) -> None:
        with self.lock:
            signature.paths, signature.watch = (), None
            signature.waiting.clear()
            signature.agreements.clear()
            signature.changes += 1
            self.forget_ways()

    # ---- recording

    def recorded(self, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
        """One more recording, and the result of the call by it. What raises runs as it is, so that the error is the function's own."""
        watch = Watch(self.inner, *statics(leaves))
        made = self.tried(args, kwargs)
        if isinstance(made, str):
            result = self.body(*args, **kwargs)
            self.give_up(signature, made)
            return result
        program, recording = made
        mains = [*_mains(leaves), *_mains(program.captures)]
        if mains and (recording.spoiled or any(isinstance(m, Recorder) for m in mains)):
            return self.body(*args, **kwargs)
        path = Path(program, recording)
        if not recording.spoiled:
            self.keep(signature, path, program, watch)
        if not mains:
            return path.results(recording.values, leaves, path.values(leaves))
        made = path.run(leaves, by_equations=True)
        return self.body(*args, **kwargs) if made is NotImplemented else made

    def tried(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Program, Recording] | str:
        """A recording, or why there can be none."""
        try:
            program, recording = recorded(self.label, self.body, args, kwargs)
        except Exception as error:
            return _reason(error)
        assert program.signature is not None
        for y in program.signature.outs:
            if type(y) is Static and not _is_plain(y.value):
                if hasattr(y.value, "__await__"):
                    y.value.close()  # which nobody will await
                return f"it returns {describe(y.value)}. Return numbers"
        return program, recording

    def keep(self, signature: Signature, path: Path, program: Program, watch: Watch) -> None:
        """A path is compiled when it has been recorded twice alike, and the function read the same both times."""
        unknown = [x for x in program.captures if not watch.knows(x)]
        if unknown:
            if any(isinstance(x, Traced) for x in unknown):  # nothing tells the next call whether it is the same value
                return
            watch.look_into_large()
        with self.lock:
            if signature.runs_as_it_is:
                return
            before = signature.watch
            if before is not None and not before.holds():
                self.judge(signature, path, before)
            if not watch.holds():  # the function itself has changed what it reads
                self.forget(signature)
            elif signature.watch is None:
                signature.watch = watch
        if signature.changes > REBOUND:
            self.give_up(signature, "what it reads is something else at each call. Pass it as an argument")
        elif signature.watch is not None:
            self.enter(signature, path, program)

    def judge(self, signature: Signature, path: Path, before: Watch) -> None:
        """Arrays were written to. Where the recording is what it was, they are operands; else something was computed of them."""
        changed = before.changed()
        if not changed or not any(path.is_like(p) for p in (*signature.paths, *signature.waiting)):
            self.forget(signature)
            return
        for x in changed:
            signature.agreements[id(x)] = signature.agreements.get(id(x), 0) + 1
        before.look_again({i for i, n in signature.agreements.items() if n >= TRUSTED})
        for p in signature.paths:
            p.ways = {}
        self.forget_ways()

    def enter(self, signature: Signature, path: Path, program: Program) -> None:
        with self.lock:
            if any(p.answers == path.answers for p in signature.paths):
                return
            k, earlier = next(((k, p) for k, p in enumerate(signature.waiting) if p.answers == path.answers), (0, None))
            if earlier is not None and path.is_like(earlier):
                del signature.waiting[k]
                path.agree(earlier)
                signature.paths = (path, *signature.paths)
                return
            if earlier is None and len(signature.waiting) + len(signature.paths) < PATHS:
                signature.waiting.append(path)
                return
        if earlier is not None:
            self.give_up(signature, "it does something else at each call" + _where(earlier.program, program))
        else:
            line = next((e.line for e in reversed(program.equations) if e.primitive is GUARD), None)
            self.give_up(signature, f"it looks at ever new values{f' ({line})' if line else ''}")

    def give_up(self, signature: Signature, why: str) -> None:
        with self.lock:
            if signature.runs_as_it_is:
                return
            signature.runs_as_it_is = True
            self.forget(signature)
        self.warn(why)

    def warn(self, why: str) -> None:
        """Once, at the user's call."""
        if why not in self.warned:
            self.warned.add(why)
            warnings.warn(f"{self.label} runs as it is, for {why}.", stacklevel=user_level())

    # ---- looking at it

    def path(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The program of these arguments."""
        return recorded(self.label, self.body, *self.taken(args, kwargs))[0]

    def stats(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stats:
        """What the program of these arguments amounts to, and how many paths of their signature are compiled."""
        program = self.path(args, kwargs)
        leaves, in_def = pytree.flatten(self.taken(args, kwargs))
        signature = self.signature(in_def, list(map(behind, leaves)))
        return stats(program, len(signature.paths) if signature else 0)


def _unknown(args: tuple[Any, ...]) -> Any:
    return NotImplemented


def _mains(values: Sequence[Any]) -> list[Any]:
    """The interpreters of traced values, down to the ground."""
    return [t._main for x in values for t in floors(x)]


def _is_plain(x: Any) -> bool:
    """Whether a result that is no number cannot hold a traced value."""
    lazy = hasattr(x, "__next__") or hasattr(x, "__await__")
    return (is_small(x) and type(x) is not types.FunctionType) or not (lazy or closed_over(x))


def _where(a: Program, b: Program) -> str:
    return next((f" ({x.line})" for x, y in zip(a.equations, b.equations, strict=False) if x != y and x.line), "")


_PACKAGES = (__name__.partition(".")[0], "numpy", "scipy")


def _is_users(space: dict[str, Any]) -> bool:
    return str(space.get("__name__", "")).partition(".")[0] not in _PACKAGES


def _reason(error: Exception) -> str:
    """Where a recording stopped, and at what."""
    line, at = "", error.__traceback__
    while at is not None:
        if _is_users(at.tb_frame.f_globals):
            line = f" ({at.tb_frame.f_code.co_filename.rpartition('/')[2]}:{at.tb_lineno})"
        at = at.tb_next
    said = f": {str(error).rstrip('.')}" if isinstance(error, errors.FuncgradError) else ""
    return f"it uses a value in a way that cannot be recorded{line}{said}"
