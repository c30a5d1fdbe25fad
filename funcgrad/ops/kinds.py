"""The ways to declare a primitive: each kind says which form its one derivative is written in.

| kind | you write |
|---|---|
| `elementwise(ufunc, *rules)` | per argument, how its partial scales a `t` |
| `linear(name, impl, transpose)` | the transpose (no conjugation) |
| `bilinear(name, impl, left, right)` | two transposes |
| `semilinear(name, impl, transpose, tangent)` | linear in its last argument, differentiable in the others |
| `differentiable(name, impl, tangent)` | the tangent, in terms of other operations |
| `constant(name, impl)` | nothing: the derivative is zero |

In rules `x, y, z` are the arguments, `out` the output, `t` a tangent or a cotangent: an elementwise map is its own transpose.
A rule sees each value as one operand among equals: broadcasting, casts and complex-to-real are undone outside, per edge.
Rules divide and raise only what a `t` has touched, since a Python float would raise where NumPy gives inf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np

from funcgrad.core import Primitive, Value

P = TypeVar("P", bound=Primitive)

PRIMITIVES: dict[str, Primitive] = {}
"""Every primitive of the library by name; the tests run their laws over it."""

BY_UFUNC: dict[np.ufunc, Primitive] = {}
"""The primitive behind each NumPy ufunc."""


def ID(t: Value) -> Value:
    """The rule of an argument whose partial is 1."""
    return t


def NEG(t: Value) -> Value:
    """The rule of an argument whose partial is -1."""
    return -t


@attrs.frozen(eq=False)
class Rule:
    """How one argument's partial scales a `t`, and which residuals it keeps (-1: the output, k: argument k)."""

    apply: Callable[..., Value]
    keeps: tuple[int, ...]


@attrs.frozen(eq=False, repr=False)
class Elementwise(Primitive):
    """Maps element by element. `rules[k]` is None where argument k has zero derivative."""

    rules: tuple[Rule | None, ...]
    keeps_dtype: bool = True  # complex in, complex out; False for abs, real, imag


@attrs.frozen(eq=False, repr=False)
class Linear(Primitive):
    """Linear in its first `operands` arguments together (None: in all); the rest are fixed.

    `transpose(ct, *args, **params)`: linear arguments come as `Spec`, the others as values. It gives one cotangent,
    or a tuple where `operands` is not 1.
    """

    transpose: Callable[..., Any]
    operands: int | None = 1


@attrs.frozen(eq=False, repr=False)
class Bilinear(Primitive):
    """Linear in each of two arguments: `left(ct, x: Spec, y)` and `right(ct, x, y: Spec)` transpose in one of them."""

    left: Callable[..., Value]
    right: Callable[..., Value]


@attrs.frozen(eq=False, repr=False)
class Semilinear(Primitive):
    """Linear in the last argument: `transpose(ct, *others, Spec)`; `tangent(out, args, tangents)` serves the others alone.

    `together(ct, out, args, wanted)`, optional, is the transpose in all arguments, as that of `Differentiable`.
    """

    transpose: Callable[..., Value]
    tangent: Callable[..., Value]
    together: Callable[..., tuple[Value | None, ...]] | None = None


@attrs.frozen(eq=False, repr=False)
class Differentiable(Primitive):
    """`tangent(out, args, tangents, **params)` in terms of other operations; a tangent is None where it is zero.

    `transpose(ct, out, args, wanted, **params)`, a tuple with a cotangent per wanted argument, is optional:
    it saves the pull from linearizing `tangent`, and a law compares it with the derived one.
    """

    tangent: Callable[..., Any]
    transpose: Callable[..., tuple[Value, ...]] | None = None


@attrs.frozen(eq=False, repr=False)
class Constant(Primitive):
    """Has zero derivative (where it has one at all)."""


@attrs.frozen(eq=False, repr=False)
class Structured(Primitive):
    """Holds programs or functions. What it means under an interpreter, `apply(args, params)` knows.

    Two that were made at run time are equal where their keys are; None equals nothing.
    """

    apply: Callable[[Sequence[Value], dict[str, Any]], Any]
    key: Any = None

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Structured and self.key is not None and bool(self.key == other.key))

    def __hash__(self) -> int:
        return object.__hash__(self) if self.key is None else hash(self.key)


def _register(prim: P) -> P:
    assert prim.name not in PRIMITIVES, f"two primitives are named {prim.name}"
    PRIMITIVES[prim.name] = prim
    if isinstance(prim.impl, np.ufunc):
        BY_UFUNC[prim.impl] = prim
    return prim


_NAMES = {"out": -1, "x": 0, "y": 1, "z": 2, "w": 3}


def rule(apply: Callable[..., Value]) -> Rule:
    """A rule whose parameter names, after the first, say what it keeps."""
    code = apply.__code__
    return Rule(apply, tuple(_NAMES[name] for name in code.co_varnames[1 : code.co_argcount]))


def elementwise(impl: Callable[..., Any], *rules: Callable[..., Value] | None, name: str = "", keeps_dtype: bool = True) -> Elementwise:
    made = tuple(None if r is None else rule(r) for r in rules)
    return _register(Elementwise(name or impl.__name__, impl, made, keeps_dtype))


def linear(name: str, impl: Callable[..., Any], transpose: Callable[..., Any], operands: int | None = 1) -> Linear:
    return _register(Linear(name, impl, transpose, operands))


def bilinear(name: str, impl: Callable[..., Any], left: Callable[..., Value], right: Callable[..., Value]) -> Bilinear:
    return _register(Bilinear(name, impl, left, right))


def semilinear(
    name: str,
    impl: Callable[..., Any],
    transpose: Callable[..., Value],
    tangent: Callable[..., Value],
    together: Callable[..., tuple[Value | None, ...]] | None = None,
) -> Semilinear:
    return _register(Semilinear(name, impl, transpose, tangent, together))


def differentiable(
    name: str,
    impl: Callable[..., Any],
    tangent: Callable[..., Any],
    transpose: Callable[..., tuple[Value, ...]] | None = None,
) -> Differentiable:
    return _register(Differentiable(name, impl, tangent, transpose))


def constant(impl: Callable[..., Any], name: str = "") -> Constant:
    return _register(Constant(name or impl.__name__, impl))


def total(terms: Sequence[Value | None]) -> Value | None:
    """The sum of the terms that are not zero; None where all are."""
    out = None
    for term in terms:
        out = term if out is None else out if term is None else out + term
    return out
