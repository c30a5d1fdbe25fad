"""`custom_jvp`, `custom_vjp`, `custom_vmap`: functions that bring rules of their own, by JAX's protocols."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.core import Traced
from funcgrad.numpy.bridge import bare
from funcgrad.transforms.arguments import describe, name_of
from funcgrad.transforms.calls import apply
from funcgrad.transforms.rules import BatchCall, RuleCall, Rules

P = ParamSpec("P")
O = TypeVar("O")

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Custom(Generic[P, O]):
    """A function and its rules. Where nothing is traced, it is the function itself."""

    _verb = "custom"
    _call: type[RuleCall] = RuleCall
    _static: tuple[int, ...]
    _own: Rules

    def __init__(self, fun: Callable[P, O], nondiff_argnums: int | Sequence[int] = ()) -> None:
        if not callable(fun):
            raise errors.ArgumentTypeError(self._verb, f"expected a function, got {describe(fun)}. Write `@{self._verb}` above a `def`.")
        inner = fun if isinstance(fun, Custom) else None
        own = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        self._static = own or (inner._static if inner else ())
        self._inner = inner
        self._own = Rules(name_of(fun), inner._own.f if inner else fun)
        functools.update_wrapper(self, fun, updated=())

    @property
    def _rules(self) -> Rules:
        """Its own rules, and of the function it wraps those that it has not."""
        own = self._own
        if self._inner is None:
            return own
        below = self._inner._rules
        forward = own if own.has_forward else below
        reverse = own if own.fwd is not None else below
        return attrs.evolve(own, jvp=forward.jvp, jvps=forward.jvps, fwd=reverse.fwd, bwd=reverse.bwd, batch=own.batch or below.batch)

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The rule for forward mode, and where there is no other for reverse mode as well.

        `rule(primals, tangents)` gives `(output, its tangent)`, the tangent linear in `tangents`; arguments named by
        `nondiff_argnums` come first, one by one. The tangent of an int is zero.
        """
        self._own = attrs.evolve(self._own, jvp=rule, jvps=None)
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """A rule for each argument: `rule(tangent, output, *primals)` is its part of the output's tangent; None means zero."""
        if self._static:
            raise errors.ArgumentTypeError(self._verb, "defjvps does not go with nondiff_argnums. Use `defjvp`.")
        self._own = attrs.evolve(self._own, jvp=None, jvps=rules)

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """The rules for reverse mode.

        `fwd(*args)` gives `(output, residuals)`, and `bwd(residuals, cotangent)` a tuple with a cotangent for each argument, or
        None for zeros. Arguments named by `nondiff_argnums` are not among them; `bwd` gets them first, one by one.
        """
        self._own = attrs.evolve(self._own, fwd=fwd, bwd=bwd)

    def defbatch(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The rule for `vmap`: how to compute all examples at once. Derivatives are still by their own rules.

        `rule(axis_size, in_batched, *args)` gives `(output, out_batched)`. What is batched has its examples along axis 0: `in_batched`
        is a tuple with a tree of bools for each argument, and `out_batched` has the structure of the output, or goes as far as it
        needs to.
        """
        self._own = attrs.evolve(self._own, batch=rule)
        return rule

    @property
    def has_batch(self) -> bool:
        """Whether there is a rule for `vmap`."""
        return self._rules.batch is not None

    @functools.cached_property
    def _signature(self) -> inspect.Signature | None:
        if isinstance(inspect.unwrap(self._own.f), np.ufunc):
            return None  # `out` and `where` are no arguments of a rule
        try:
            return inspect.signature(self._own.f)
        except (TypeError, ValueError):
            return None

    @functools.cached_property
    def _count(self) -> int:
        """How many arguments there are, where that is certain; else -1."""
        if self._signature is None:
            return -1
        kinds = [p.kind for p in self._signature.parameters.values()]
        return len(kinds) if all(kind in _POSITIONAL for kind in kinds) else -1

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, defaults included."""
        if not kwargs and (len(args) == self._count or self._signature is None):
            return args
        if self._signature is not None:
            bound = self._signature.bind(*args, **kwargs)
            if not bound.kwargs:
                bound.apply_defaults()
                return bound.args
        raise errors.ArgumentTypeError(f"{self._verb}({self._own.name})", "arguments that go by keyword only have no place in a rule.")

    def __call__(self, *given: P.args, **named: P.kwargs) -> O:
        args = self._positional(given, named)
        static = {n % len(args): args[n] for n in self._static} if self._static else {}
        leaves, in_def = pytree.flatten(tuple([x for k, x in enumerate(args) if k not in static]))
        values = list(map(bare, leaves))
        if not any(isinstance(x, Traced) for x in values):
            out: O = self._own.f(*args)
            return out
        rules = self._rules
        outs, out_def = apply(self._call(rules.name, rules, static, in_def), values)
        out = out_def.unflatten(outs)
        return out

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._verb} {self._own.name}>"


class custom_jvp(Custom[P, O]):
    """A function with a derivative rule of its own, for both modes: see `defjvp` and `defjvps`.

    Args:
        fun: takes and gives pytrees.
        nondiff_argnums: positions of arguments without a derivative; they may be anything, such as functions.

    >>> import numpy as np
    >>> @custom_jvp
    ... def f(x):
    ...     return np.log1p(np.exp(x))
    >>> f.defjvps(lambda t, out, x: t / (1 + np.exp(-x)))
    """

    _verb = "custom_jvp"


class custom_vjp(Custom[P, O]):
    """A function with rules of its own for reverse mode: see `defvjp`. With `defjvp` beside it, it has forward mode as well.

    Args:
        fun: takes and gives pytrees.
        nondiff_argnums: positions of arguments without a derivative; they may be anything, such as functions.

    >>> import numpy as np
    >>> @custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
    """

    _verb = "custom_vjp"


class custom_vmap(Custom[P, O]):
    """A function that computes all examples of a `vmap` in a way of its own: see `defbatch`.

    Its derivative is that of its code: of the function's inside a `vmap`, and of the rule's around one. Where there is to be a rule for
    the derivative as well, give a `custom_jvp` or `custom_vjp` a `defbatch`.

    Args:
        fun: takes and gives pytrees.
        nondiff_argnums: positions of arguments that may be anything, such as functions.

    >>> import numpy as np
    >>> from funcgrad import vmap
    >>> @custom_vmap
    ... def first(x):
    ...     return np.sort(x)[0]
    >>> @first.defbatch
    ... def rule(axis_size, in_batched, x):
    ...     return np.min(x, axis=-1), True
    >>> vmap(first)(np.array([[2.0, 1.0], [3.0, 4.0]]))
    array([1., 3.])
    """

    _verb = "custom_vmap"
    _call = BatchCall

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        raise self._instead("defjvp", "custom_jvp")

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        raise self._instead("defjvps", "custom_jvp")

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        raise self._instead("defvjp", "custom_vjp")

    def _instead(self, what: str, verb: str) -> errors.ArgumentTypeError:
        return errors.ArgumentTypeError(
            self._verb, f"it has no `{what}`: its derivative is that of its code. Write `@{verb}`, with `defbatch`."
        )
