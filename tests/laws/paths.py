"""The two paths of the machine: the fused methods of tracers, and the generic one, which is their oracle."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from funcgrad.tensor import Tracer
from funcgrad.transforms import batch_fast
from funcgrad.transforms.forward import ForwardTracer
from funcgrad.transforms.linearize import LinTracer

TRACERS = (LinTracer, ForwardTracer)


@contextlib.contextmanager
def generic_path() -> Iterator[None]:
    """Takes from the tracer classes every method that they do not inherit, so that all operations go through `bind`.

    Of mapped values, whose class has methods that mean something of their own, those that the fast path has replaced.
    """
    taken = [(cls, name, None) for cls in TRACERS for name, method in vars(cls).items() if callable(method) and hasattr(Tracer, name)]
    taken += batch_fast.REPLACED
    fused = [(cls, name, vars(cls)[name]) for cls, name, _ in taken]
    try:
        for cls, name, own in taken:
            delattr(cls, name) if own is None else setattr(cls, name, own)
        yield
    finally:
        for cls, name, method in fused:
            setattr(cls, name, method)


PATHS = {"fused": contextlib.nullcontext, "generic": generic_path}
