"""`jit`: a function, or any composition of transformations, as generated NumPy code.

**Laws.** `jit(f) = f`, also for functions that branch, raise, and close over traced values. A signature is compiled at its second call,
when two recordings agree: what differs is a hidden input, and is not baked in. What raises is not recorded.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from funcgrad import errors
from funcgrad.core import Label
from funcgrad.later import later
from funcgrad.program.sharing import at_most
from funcgrad.transforms.arguments import dress, label_of
from funcgrad.transforms.jitted import Jitted

if TYPE_CHECKING:
    from funcgrad.program.standalone import module
else:
    module = later("funcgrad.program.standalone", "module")

F = TypeVar("F", bound=Callable[..., Any])


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
def jit(
    fun: F, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = (), threads: int | None = None
) -> F: ...
@overload
def jit(
    fun: None = None, *, static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = (), threads: int | None = None
) -> Callable[[F], F]: ...
def jit(fun: Any = None, *, static_argnums: Any = (), static_argnames: Any = (), threads: Any = None) -> Any:
    """`fun`, compiled to generated NumPy code for each structure, shape and dtype of its arguments.

    It is recorded at its first two calls, and compiled where the two agree. Python's `if` and `while` may look at values: each path is
    compiled, and left where a value says otherwise. What does something else each time runs as it is, with one warning.

    Arrays that it closes over are read at each call. Names that are bound anew are noticed: closure cells, defaults, globals, attributes,
    items of lists and dicts of up to 1,000. Side effects, such as `print`, happen while it is recorded, and not afterwards.

    Args:
        fun: any function of pytrees. Without it, `jit(static_argnums=…)` is a decorator.
        static_argnums: positions of arguments that are no numbers, or decide what is done; each value gets its own code.
        static_argnames: names of such keyword arguments.
        threads: how many threads may share the work on large arrays, with the same bits; 1 is the caller's alone, None all processors that
            the process may use. (Of NumPy's own products they are no matter: those have the threads of its BLAS.)

    Raises:
        ArgumentError: `threads` is no positive int.

    The result has `lower(*args)`, the `Program`; `source(*args)`, the same as a module in plain
    NumPy; `stats(*args)`; `clear()`.

    >>> import numpy as np
    >>> f = jit(lambda x: np.sin(x) ** 2)
    >>> [float(f(0.5).round(6)) for _ in range(3)]
    [0.229849, 0.229849, 0.229849]
    """
    if fun is None:
        return functools.partial(jit, static_argnums=static_argnums, static_argnames=static_argnames, threads=threads)
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    label = label_of("jit", fun)
    _check_threads(label, threads)
    function = Jitted(label, fun, numbers, names)

    def jitted(*args: Any, **kwargs: Any) -> Any:
        if not _switch.off:
            if not kwargs:
                made = function.last(args)
                if made is not NotImplemented:
                    return made
                made = function.other(args)
                if made is not NotImplemented:
                    return made
        elif _switch.is_off():
            return fun(*args, **kwargs)
        return function(args, kwargs)

    def limited(*args: Any, **kwargs: Any) -> Any:
        with at_most(threads):
            return jitted(*args, **kwargs)

    made: Any = dress(jitted if threads is None else limited, fun)
    made.lower = lambda *args, **kwargs: function.path(args, kwargs)
    made.source = lambda *args, **kwargs: module(function.path(args, kwargs))
    made.stats = lambda *args, **kwargs: function.stats(args, kwargs)
    made.clear = function.clear
    return made


def _check_threads(label: Label, threads: Any) -> None:
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1):
        raise errors.ArgumentError(str(label), f"threads must be a positive int or None, got {threads!r}.")
