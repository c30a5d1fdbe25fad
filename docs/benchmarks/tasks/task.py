"""What a task is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """A function to differentiate, its inputs, and its derivative written by hand.

    `objective(np, *params, *constants)` is written once for all libraries, `np` being the NumPy they have.
    `by_hand(*params, *constants)` gives what is asked for:

    - "gradient": `(value, tuple of a gradient for each of the params)`;
    - "hessian": the matrix of second derivatives in the only one of the params;
    - "product": that matrix times the only one of the constants, which the objective does not get.
    """

    name: str
    what: str
    objective: Callable[..., Any]
    by_hand: Callable[..., Any]
    inputs: Callable[[Any, int], tuple[tuple[Any, ...], tuple[Any, ...]]]
    """From a random generator and a size: params and constants."""
    size: int
    tiny: int = 3
    """A size for the test of the formulas."""
    ask: str = "gradient"
