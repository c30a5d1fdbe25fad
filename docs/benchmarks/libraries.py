"""How each library is asked for the derivative of a task: an import, a line or two, and a function without arguments to time.

Preparing what can be prepared (wrapped functions, tensors that do not change) is not part of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class CannotError(Exception):
    """The library has no way to do this; says why."""


def numpy(task: Any, params: tuple[Any, ...], constants: tuple[Any, ...]) -> Callable[[], Any]:
    """The derivative by hand."""
    return lambda: task.by_hand(*params, *constants)


def funcgrad(task: Any, params: tuple[Any, ...], constants: tuple[Any, ...]) -> Callable[[], Any]:
    import funcgrad as fg

    def objective(*args: Any) -> Any:
        return task.objective(np, *args)

    if task.ask == "hessian":
        wrapped = fg.hessian(objective)
        return lambda: wrapped(*params, *constants)
    if task.ask == "product":
        return lambda: fg.hvp(objective, params, constants)
    asked = fg.value_and_grad(objective, argnums=tuple(range(len(params))))
    return lambda: asked(*params, *constants)


def jit(task: Any, params: tuple[Any, ...], constants: tuple[Any, ...]) -> Callable[[], Any]:
    """The derivative that funcgrad compiles, which takes two calls."""
    import funcgrad as fg

    if task.name == "lorenz":
        raise CannotError("12,000 operations in a Python loop take minutes to compile; by `fg.scan` they are one loop")

    def objective(*args: Any) -> Any:
        return task.objective(np, *args)

    everything = tuple(range(len(params)))
    asked = {
        "hessian": fg.hessian(objective),
        "product": lambda *args: fg.hvp(objective, args[:-1], args[-1:]),
        "gradient": fg.value_and_grad(objective, argnums=everything),
    }
    compiled = fg.jit(asked[task.ask])
    for _ in range(3):
        compiled(*params, *constants)
    return lambda: compiled(*params, *constants)


def autograd(task: Any, params: tuple[Any, ...], constants: tuple[Any, ...]) -> Callable[[], Any]:
    import autograd
    import autograd.numpy

    def objective(*args: Any) -> Any:
        return task.objective(autograd.numpy, *args)

    if task.ask == "hessian":
        wrapped = autograd.hessian(objective)
        return lambda: wrapped(*params)
    if task.ask == "product":
        wrapped = autograd.hessian_vector_product(objective)
        return lambda: wrapped(*params, *constants)
    asked = autograd.value_and_grad(objective, argnum=tuple(range(len(params))))
    return lambda: asked(*params, *constants)


def mygrad(task: Any, params: tuple[Any, ...], constants: tuple[Any, ...]) -> Callable[[], Any]:
    import mygrad as mg

    if task.ask != "gradient":
        raise CannotError("no second derivatives")
    if task.name in ("process", "ridge"):
        raise CannotError("no linear algebra")
    mg.turn_memory_guarding_off()  # as its pages on performance advise
    tensors = [mg.tensor(p) for p in params]

    def call() -> Any:
        out = task.objective(np, *tensors, *constants)
        out.backward()
        return out.item(), tuple([t.grad for t in tensors])

    return call


LIBRARIES = {f.__name__: f for f in (numpy, autograd, mygrad, funcgrad, jit)}


def numbers(result: Any) -> list[np.ndarray]:
    """A result as a flat list of arrays."""
    return [x for part in result for x in numbers(part)] if isinstance(result, tuple) else [np.asarray(result)]


def distance(result: Any, truth: Any) -> float:
    """The largest difference in any array, relative to the largest number in it."""
    pairs = list(zip(numbers(result), numbers(truth), strict=True))
    if any(a.shape != b.shape for a, b in pairs):
        return float("inf")
    return max(float(np.max(np.abs(a - b))) / (float(np.max(np.abs(b))) or 1.0) for a, b in pairs)
