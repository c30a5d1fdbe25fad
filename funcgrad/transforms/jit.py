"""`jit`: a function, or any composition of transformations, as generated NumPy code.

**Laws.** `jit(f) = f`, also for functions that branch, raise, and close over traced values. A signature is compiled at its second call,
when two recordings agree: what differs is a hidden input, and is not baked in. What raises is not recorded.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Label, Traced, Value, dtype_of, ground, shape_of
from funcgrad.program.calls import entered, left, typed
from funcgrad.program.codegen import Missed, compiled
from funcgrad.program.evaluate import evaluate
from funcgrad.program.parts import GUARD, Equation, Miss, Static
from funcgrad.program.program import Program
from funcgrad.program.standalone import module
from funcgrad.program.stats import Stats, stats
from funcgrad.tensor import Tensor
from funcgrad.transforms.arguments import describe, dress, label_of
from funcgrad.transforms.calls import newest
from funcgrad.transforms.program_call import ProgramCall
from funcgrad.transforms.quick import key_of, quick
from funcgrad.transforms.record import Recorder, Recording, alike
from funcgrad.transforms.trace import recorded
from funcgrad.transforms.watching import Watch, unbound

F = TypeVar("F", bound=Callable[..., Any])

PATHS = 16
"""So many paths of a signature are compiled; one that needs more looks at ever new values, and runs as it is."""

_ndarray = np.ndarray


class _Switch:
    """`disable_jit`: in which threads it is on. `off` says whether in any."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.off = False

    def is_off(self) -> bool:
        return self.off and threading.get_ident() in self.threads


_switch = _Switch()


@contextlib.contextmanager
def disable_jit() -> Iterator[None]:
    """Inside, and in this thread, functions under `jit` run as they are: to step through them with a debugger.

    >>> with disable_jit():
    ...     jit(lambda x: x + 1.0)(2.0)
    3.0
    """
    thread = threading.get_ident()
    _switch.threads.append(thread)
    _switch.off = True
    try:
        yield
    finally:
        _switch.threads.remove(thread)
        _switch.off = bool(_switch.threads)


@overload
def jit(fun: F, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = ()) -> F: ...
@overload
def jit(fun: None = None, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = ()) -> Callable[[F], F]: ...
def jit(fun: Any = None, *, static_argnums: Any = (), static_argnames: Any = ()) -> Any:
    """`fun`, compiled to generated NumPy code for each structure, shape and dtype of its arguments.

    It is recorded at its first two calls, and compiled where the two agree. Python's `if` and `while` may look at values: each path is
    compiled, and left where a value says otherwise. What does something else each time runs as it is, with one warning.

    Args:
        fun: any function of pytrees. Without it, `jit(static_argnums=…)` is a decorator.
        static_argnums: positions of arguments that are no numbers, or decide what is done; each value gets its own code.
        static_argnames: names of such keyword arguments.

    The result has `lower(*args)`, the `Program`; `source(*args)`, the same as a module in plain
    NumPy; `stats(*args)`; `clear()`.

    >>> f = jit(lambda x: np.sin(x) ** 2)
    >>> [float(f(0.5).round(6)) for _ in range(3)]
    [0.229849, 0.229849, 0.229849]
    """
    if fun is None:
        return functools.partial(jit, static_argnums=static_argnums, static_argnames=static_argnames)
    label = label_of("jit", fun)
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    compiled_function = Jitted(label, fun, numbers, names)

    known = compiled_function.quick

    def jitted(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and not _switch.off:
            key = key_of(args)
            if key in known:
                made = known[key](args)
                if made is not NotImplemented:
                    return made
        return compiled_function(args, kwargs)

    made: Any = dress(jitted, fun)
    made.lower = lambda *args, **kwargs: compiled_function.path(args, kwargs)
    made.source = lambda *args, **kwargs: module(compiled_function.path(args, kwargs))
    made.stats = lambda *args, **kwargs: compiled_function.stats(args, kwargs)
    made.clear = compiled_function.clear
    return made


@attrs.define(eq=False)
class Signature:
    """What is known of one structure, shapes and dtypes."""

    paths: tuple[Program, ...] = ()
    """Compiled, the one that was taken last first."""
    waiting: list[tuple[Program, Recording]] = attrs.field(factory=list)
    """Recorded once."""
    watch: Watch | None = None
    runs_as_it_is: bool = False


class Jitted:
    """A function under `jit`, and what has been compiled of it."""

    def __init__(self, label: Label, fun: Callable[..., Any], static_argnums: tuple[int, ...], static_argnames: tuple[str, ...]) -> None:
        self.label, self.fun = label, fun
        self.inner, self.args, self.kwargs = unbound(fun)
        self.static_argnums, self.static_argnames = static_argnums, static_argnames
        self.known: dict[Any, Signature] = {}
        self.quick: dict[Any, Callable[[tuple[Any, ...]], Any]] = {}
        self.lock = threading.RLock()

    def clear(self) -> None:
        """Forget all that is compiled."""
        with self.lock:
            self.known.clear()
            self.quick.clear()

    # ---- a call

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if _switch.is_off():
            return self.fun(*args, **kwargs)
        given = None if kwargs or self.args or self.kwargs or self.static_argnums or self.static_argnames else args
        if self.args or self.kwargs:
            args, kwargs = (*self.args, *args), {**self.kwargs, **kwargs}
        if self.static_argnums or self.static_argnames:
            args, kwargs = self.fixed(args, kwargs)
        leaves, in_def = pytree.flatten((args, kwargs))
        if any(isinstance(x, Traced) for x in leaves) and isinstance(newest(leaves), Recorder):
            return self.inner(*self.opened(args), **self.opened(kwargs))
        signature = self.signature(in_def, leaves)
        if signature.runs_as_it_is:
            return self.inner(*self.opened(args), **self.opened(kwargs))
        if signature.watch is not None and not signature.watch.holds():
            self.forget(signature)
        for k, program in enumerate(signature.paths):
            made = _run(program, leaves)
            if made is not NotImplemented:
                if k:
                    signature.paths = (program, *[p for p in signature.paths if p is not program])
                self.shorten(given, signature)
                return made
        return self.recorded(signature, args, kwargs, leaves)

    def shorten(self, args: tuple[Any, ...] | None, signature: Signature) -> None:
        """The next call with such arguments goes the short way to the path that was taken now."""
        key = None if args is None else key_of(args)
        if key is not None and args is not None and signature.watch is not None:
            way = quick(signature.paths[0], signature.watch, args)
            if way is not None:
                self.quick[key] = way

    def signature(self, in_def: pytree.TreeDef, leaves: list[Any]) -> Signature:
        key = (in_def, *map(_kind, leaves))
        try:
            found = self.known.get(key)
        except TypeError:
            wrong = next(x for x in leaves if _kind(x).__class__ is Static and not _is_hashable(x))
            raise errors.ArgumentTypeError(
                str(self.label), f"{describe(wrong)} cannot be a static argument, since it has no hash. Pass a tuple, or numbers."
            ) from None
        if found is None:
            with self.lock:
                found = self.known.setdefault(key, Signature())
        return found

    def forget(self, signature: Signature) -> None:
        """A name that the function reads is bound to something else."""
        signature.paths, signature.watch = (), None
        self.quick.clear()
        signature.waiting.clear()

    # ---- static arguments

    def fixed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The static arguments as leaves of their own."""
        n = len(args)
        for k in self.static_argnums:
            if not -n <= k < n:
                raise errors.ArgumentError(str(self.label), f"static_argnums names argument {k}, but the call has {n} positional.")
        places = {k % n for k in self.static_argnums}
        return (
            tuple([Fixed(x) if k in places else x for k, x in enumerate(args)]),
            {name: Fixed(x) if name in self.static_argnames else x for name, x in kwargs.items()},
        )

    def opened(self, args: Any) -> Any:
        if isinstance(args, dict):
            return {name: x.value if type(x) is Fixed else x for name, x in args.items()}
        return tuple([x.value if type(x) is Fixed else x for x in args])

    def body(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner(*self.opened(args), **self.opened(kwargs))

    # ---- recording

    def recorded(self, signature: Signature, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
        """One more recording, and the result of the call by it. What raises runs as it is, so that the error is the function's own."""
        body = functools.update_wrapper(lambda *a, **k: self.body(*a, **k), self.inner, updated=())
        watch = Watch(self.fun)
        try:
            program, recording = recorded(self.label, body, args, kwargs)
        except Exception:
            result = self.body(*args, **kwargs)
            self.give_up(signature, "it uses a value in a way that cannot be recorded")
            return result
        if recording.spoiled:
            return self.body(*args, **kwargs) if _is_traced(leaves) else _results(program, recording.values, leaves)
        with self.lock:
            self.keep(signature, program, recording, watch)
        if not _is_traced(leaves):
            return _results(program, recording.values, leaves)
        made = _run(program, leaves, by_equations=True)
        return self.body(*args, **kwargs) if made is NotImplemented else made

    def keep(self, signature: Signature, program: Program, recording: Recording, watch: Watch) -> None:
        """A path is compiled when it has been recorded twice alike."""
        if signature.runs_as_it_is:
            return
        if signature.watch is None:
            signature.watch = watch
        answers = _answers(program)
        for k, (before, earlier) in enumerate(signature.waiting):
            if _answers(before) == answers:
                if before.signature == program.signature and alike(earlier, recording):
                    del signature.waiting[k]
                    signature.paths = (program, *signature.paths)
                else:
                    self.give_up(signature, "it does something else at each call" + _where(before, program))
                return
        if len(signature.waiting) + len(signature.paths) >= PATHS:
            line = next((e.line for e in reversed(program.equations) if e.primitive is GUARD), None)
            self.give_up(signature, f"it looks at ever new values{f' ({line})' if line else ''}")
            return
        signature.waiting.append((program, recording))

    def give_up(self, signature: Signature, why: str) -> None:
        if not signature.runs_as_it_is:
            signature.runs_as_it_is = True
            self.forget(signature)
            warnings.warn(f"{self.label} runs as it is, for {why}.", stacklevel=4)

    # ---- looking at it

    def path(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The program of these arguments."""
        args, kwargs = self.fixed((*self.args, *args), {**self.kwargs, **kwargs})
        return recorded(self.label, functools.update_wrapper(lambda *a, **k: self.body(*a, **k), self.inner, updated=()), args, kwargs)[0]

    def stats(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stats:
        """What the program of these arguments amounts to, and how many paths of their signature are compiled."""
        leaves, in_def = pytree.flatten(self.fixed((*self.args, *args), {**self.kwargs, **kwargs}))
        return stats(self.path(args, kwargs), len(self.signature(in_def, leaves).paths))


@attrs.frozen
class Fixed:
    """A static argument."""

    __pytree__ = False

    value: Any


def _kind(x: Any) -> Any:
    """What tells leaves apart: dtype and shape of numbers; a Python number is weak; of all else the value."""
    kind = type(x)
    if kind is _ndarray:
        return x.dtype, x.shape
    if kind is float or kind is int or kind is bool or kind is complex:
        return kind
    if isinstance(x, (np.generic, Tensor)):
        inner = ground(x) if isinstance(x, Traced) else x
        return type(inner) if type(inner) in (float, int, bool, complex) else (dtype_of(x), shape_of(x), kind is Tensor)
    return Static(x)


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _is_traced(leaves: Sequence[Any]) -> bool:
    return any(isinstance(x, Traced) for x in leaves)


def _answers(program: Program) -> tuple[Any, ...]:
    return tuple([e["answer"] for e in program.equations if e.primitive is GUARD])


def _where(a: Program, b: Program) -> str:
    pairs: Iterator[tuple[Equation, Equation]] = zip(a.equations, b.equations, strict=False)
    return next((f" ({x.line})" for x, y in pairs if x != y and x.line), "")


# ---- running a program as the function


def _run(program: Program, leaves: Sequence[Any], by_equations: bool = False) -> Any:
    """What the function gives, if the program is of the path that these values take."""
    signature = program.signature
    assert signature is not None
    values: list[Value] = [entered(x) for x, known in zip(leaves, signature.ins, strict=True) if type(known) is not Static]
    values += program.captures
    try:
        if by_equations:
            outs: Sequence[Value] = evaluate(program.closed, values)
        elif any(isinstance(x, Traced) for x in values):
            outs = ProgramCall("jit", program.closed).apply(values)
        else:
            outs = compiled(program.closed)(*values)
    except (Missed, Miss, errors.LanesDifferError):
        return NotImplemented
    except errors.FuncgradError:
        raise
    except Exception:
        return NotImplemented  # the function itself raises it, or does not
    return _results(program, outs, leaves, values)


def _results(program: Program, outs: Sequence[Value], leaves: Sequence[Any], values: Sequence[Value] = ()) -> Any:
    signature = program.signature
    assert signature is not None
    tensors = any(type(x) is Tensor for x in leaves)
    given = set(map(id, values or [entered(x) for x in leaves])) | set(map(id, program.captures))
    made = iter([left(y, tensors, id(y) in given) for y in outs])
    return signature.out_def.unflatten([known.value if type(known) is Static else typed(next(made), known) for known in signature.outs])
