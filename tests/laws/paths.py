"""The two paths of the machine: the fused methods of tracers, and the generic one, which is their oracle."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from funcgrad.tensor import Tracer
from funcgrad.transforms.forward import ForwardTracer
from funcgrad.transforms.linearize import LinTracer

TRACERS = (LinTracer, ForwardTracer)


@contextlib.contextmanager
def generic_path() -> Iterator[None]:
    """Takes from the tracer classes every method that they do not inherit, so that all operations go through `bind`."""
    taken = [(cls, name, method) for cls in TRACERS for name, method in vars(cls).items() if callable(method) and hasattr(Tracer, name)]
    try:
        for cls, name, _ in taken:
            delattr(cls, name)
        yield
    finally:
        for cls, name, method in taken:
            setattr(cls, name, method)


PATHS = {"fused": contextlib.nullcontext, "generic": generic_path}
