"""Derivatives by differences: what derivatives of `f` must be, known without any rule.

A function here takes a list of arrays and gives a list of arrays, of floats or complex numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Flat = Callable[[Sequence[Array]], Sequence[Array]]

LEVELS = 5
STEPS = {np.dtype(np.float64): 2.0**-6, np.dtype(np.float32): 2.0**-3, np.dtype(np.float16): 2.0**-2}
"""The largest step, by the precision of what is differenced; each level halves it."""


def richardson(f: Flat, x: Sequence[Array], v: Sequence[Array], step: float) -> tuple[list[Array], list[Array]]:
    """The derivative of `f` at `x` along `v` and an estimate of its error, both per element.

    Central differences at `step`, `step / 2`, … have errors in even powers of the step, which extrapolation removes one by one;
    of all extrapolated values the one with the least estimated error is taken.

    Source: C. J. F. Ridders, Accurate computation of F'(x) and F'(x)F''(x), Adv. Eng. Software 4 (1982).
    """
    with np.errstate(all="ignore"):
        rows = [_central(f, x, v, step / 2**k) for k in range(LEVELS)]
        pairs = [_extrapolate([row[i] for row in rows]) for i in range(len(rows[0]))]
    return [value for value, _ in pairs], [error for _, error in pairs]


def _central(f: Flat, x: Sequence[Array], v: Sequence[Array], h: float) -> list[Array]:
    up, down = (f(moved(x, v, s)) for s in (h, -h))
    return [(_wide(a) - _wide(b)) / (2 * h) for a, b in zip(up, down, strict=True)]


def _wide(a: Any) -> Array:
    wide: Array = np.asarray(a, dtype=np.result_type(a, np.float64))
    return wide


def _extrapolate(differences: list[Array]) -> tuple[Array, Array]:
    """Neville's tableau: `row[j]` is free of the first j even powers of the step."""
    best, error = differences[-1], np.full(np.shape(differences[-1]), np.inf)
    above = [differences[0]]
    for d in differences[1:]:
        row = [d]
        for j, before in enumerate(above, 1):
            row.append(row[-1] + (row[-1] - before) / (4.0**j - 1))
            guess = np.maximum(abs(row[j] - row[j - 1]), abs(row[j] - before))
            better = guess < error  # never so for a nan
            best, error = np.where(better, row[j], best), np.where(better, guess, error)
        above = row
    return best, error


def complex_step(f: Flat, x: Sequence[Array], v: Sequence[Array]) -> list[Array] | None:
    """The derivative of a real `f` along `v` as `Im f(x + ihv) / h`, exact but for rounding; None where `f` takes no complex numbers.

    It means nothing where `f` is not analytic (`abs`, `real`, comparisons): compare it with differences before you trust it.

    Source: W. Squire and G. Trapp, Using complex variables to estimate derivatives of real functions, SIAM Rev. 40 (1998).
    """
    h = 1e-30
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            out = f([a + 1j * (h * b) for a, b in zip(x, v, strict=True)])
        except Exception:  # whatever code that was written for real numbers does with others
            return None
    return [np.imag(a) / h for a in map(np.asarray, out)]


def moved(x: Sequence[Array], v: Sequence[Array], step: float) -> list[Array]:
    """The point `x + step v`."""
    return [a + step * b for a, b in zip(x, v, strict=True)]


def inside(f: Flat, x: Sequence[Array], v: Sequence[Array], step: float) -> float:
    """`step`, or where the domain of `f` ends nearby, the first of `step` / 2¹⁰, / 2²⁰, … with finite values on both sides."""
    with np.errstate(all="ignore"):
        for h in (step / 2.0**k for k in range(0, 50, 10)):
            if all(np.all(np.isfinite(y)) for s in (h, -h) for y in f(moved(x, v, s))):
                return h
    return step


def derivative(f: Flat, x: Sequence[Array], v: Sequence[Array], step: float) -> tuple[list[Array], str]:
    """The derivative of `f` at `x` along `v`, and by what: the complex step where it applies and agrees, differences else."""
    by_differences, _ = richardson(f, x, v, step)
    if any(np.iscomplexobj(a) for a in [*x, *v, *by_differences]):
        return by_differences, "differences"
    exact = complex_step(f, x, v)
    if exact is None or not all(_agree(a, b) for a, b in zip(exact, by_differences, strict=True)):
        return by_differences, "differences"
    return exact, "the complex step"


def _agree(a: Array, b: Array) -> bool:
    scale = float(np.max(abs(b), initial=0.0))
    return np.shape(a) == np.shape(b) and bool(np.all(abs(a - b) <= 1e-5 * scale))
