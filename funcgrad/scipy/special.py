"""Twins of functions of `scipy.special` that are written in Python: the same signatures, for traced values as well.

SciPy's ufuncs need none: `scipy.special.erf(x)` of a traced value works as it stands. `logsumexp`, `softmax` and `log_softmax` work
without SciPy; `polygamma` and `multigammaln` call its ufuncs, and so want `import scipy.special` somewhere before: nothing here does it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from funcgrad import errors, nn
from funcgrad.core import Frozen, Traced, Value, dtype_of
from funcgrad.numpy.bridge import array, bare
from funcgrad.ops.elementwise import meet
from funcgrad.ops.special import ufunc_named
from funcgrad.tensor import wrap
from funcgrad.transforms.maps import stop_gradient

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax"]


def _twin(f: F) -> F:
    """Let `f`, of bare values, take what users have; Tensors give Tensors."""

    @functools.wraps(f)
    def apply(*args: Any, **kwargs: Any) -> Any:
        tensors = any(isinstance(a, Frozen) for a in (*args, *kwargs.values()))
        out = f(*map(bare, args), **{k: bare(a) for k, a in kwargs.items()})
        if not tensors:
            return out
        return tuple(map(_wrapped, out)) if type(out) is tuple else _wrapped(out)

    return apply  # type: ignore[return-value]


def _wrapped(x: Value) -> Value:
    return x if isinstance(x, Traced) else wrap(x)


def _ufunc(name: str) -> np.ufunc:
    """SciPy's own."""
    found = ufunc_named(name)
    if found is None:
        raise errors.NoSciPyError(f"scipy.special.{name}")
    return found


# ---- sums of exponentials


@_twin
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log Σ b eᵃ over some axes, without overflow.

    Args:
        a: any real numbers.
        axis: an int, a tuple of ints, or None for all.
        b: factors, which may be negative or 0; they broadcast with `a`.
        keepdims: keep the axes, with length 1.
        return_sign: give the logarithm of the absolute value of the sum, and its sign; else a negative sum gives nan.

    >>> logsumexp([1000.0, 1000.0], b=[1.0, -0.5])
    np.float64(999.3068528194401)
    """
    if b is None and not return_sign:
        return nn.logsumexp(a, axis, keepdims=keepdims)
    x, factors = array(a), 1.0 if b is None else array(b)
    if dtype_of(x).kind == "c" or dtype_of(factors).kind == "c":
        raise errors.ArgumentTypeError("scipy.special.logsumexp", "it is a function of real numbers here.")
    with np.errstate(all="ignore"):  # what is infinite, or has a factor of 0
        top = np.max(np.where(np.equal(factors, 0), -np.inf, x), axis=axis, keepdims=True, initial=-np.inf)
        top = stop_gradient(np.where(np.isfinite(top), top, 0))
        total = np.sum(meet(factors, np.exp(np.subtract(x, top))), axis=axis, keepdims=keepdims)
        out = np.log(np.abs(total) if return_sign else total) + (top if keepdims else np.squeeze(top, axis=axis))
    return (out, np.sign(total)) if return_sign else out


def softmax(x: Any, axis: Any = None) -> Any:
    """eˣ / Σ eˣ over some axes: all of them, unless `axis` says which.

    Where SciPy gives nan, these are limits: elements that are +inf share equally, and where all are -inf each has 0.

    >>> softmax([0.0, 0.0])
    array([0.5, 0.5])
    """
    return nn.softmax(x, axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax(x, axis)`, with all its digits.

    >>> log_softmax([1000.0, 0.0])
    array([    0., -1000.])
    """
    return nn.log_softmax(x, axis)


# ---- gamma functions


@_twin
def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order `n` of the digamma function, at `x`.

    Raises:
        NoSciPyError: SciPy has not been imported.

    Source: DLMF 5.15.1, 25.11.12.
    """
    psi, gamma, zeta = _ufunc("psi"), _ufunc("gamma"), _ufunc("_zeta")
    n, x = np.asarray(n), array(x)
    return np.where(np.equal(n, 0), psi(x), (-1.0) ** (n + 1) * gamma(n + 1.0) * zeta(n + 1, x))


@_twin
def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the gamma function of several dimensions, `d`, at `a`, which is above (d - 1) / 2.

    Raises:
        NoSciPyError: SciPy has not been imported.
        ValueError: `d` is no whole number, or `a` is not above.

    Source: Muirhead (1982), definition 2.1.10.
    """
    loggamma = _ufunc("gammaln")
    if np.ndim(d) or math.floor(d) != d:
        raise ValueError("d should be a positive integer (dimension)")
    a, d = array(a), int(d)
    if np.any(np.less_equal(a, 0.5 * (d - 1))):
        raise ValueError(f"condition a ({a}) > 0.5 * (d-1) ({0.5 * (d - 1)}) not met")
    terms = [loggamma(np.subtract(a, j / 2)) for j in range(d)]
    return d * (d - 1) * 0.25 * math.log(math.pi) + functools.reduce(np.add, terms)
