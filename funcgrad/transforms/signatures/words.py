"""The letters that the signatures are written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast

if TYPE_CHECKING:  # at run time these are words in a string
    import numpy as np
    from numpy.typing import NDArray

    from funcgrad.tensor import Tensor

# Bound to Any, not unbounded: then a lambda's arguments are Any to pyright, where they would be plain objects without operators.
R = TypeVar("R", bound=Any)
S = TypeVar("S", bound=Any)
T = TypeVar("T", bound=Any)
P = ParamSpec("P")
O = TypeVar("O")
"""Any output."""
X = TypeVar("X")
"""Aux."""
V = TypeVar("V", bound="float | complex | np.number[Any] | NDArray[Any] | Tensor")
"""An output that may be a scalar: arrays are let in, as annotations rarely tell 0-d arrays from others."""
Signature = TypeVar("Signature")

First = Callable[Concatenate[T, P], O]
Second = Callable[Concatenate[S, T, P], O]
Third = Callable[Concatenate[R, S, T, P], O]
No = Literal[False]
Yes = Literal[True]
Zero = Literal[0]
One = Literal[1]
Two = Literal[2]
Names = str | list[str] | tuple[str, ...]
Nums = list[int] | tuple[int, ...]


def typed(signature: Callable[..., Signature]) -> Callable[[Callable[..., Any]], Signature]:
    """The decorated function itself, which checkers see as the protocol `signature`."""
    return cast(Callable[[Callable[..., Any]], Signature], _itself)


def _itself(f: Callable[..., Any]) -> Callable[..., Any]:
    return f
