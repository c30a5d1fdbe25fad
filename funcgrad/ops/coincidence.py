"""Where eigenvalues or singular values coincide: what is then known of their vectors, and what is not.

Vectors of equal values are a choice of LAPACK's: they have no derivative, and a loss has one where it does not depend on the choice.
The two laws that reverse mode checks, because nothing else could:

- A loss of vectors alone must not change as the vectors of equal values are mixed (or, of complex ones, turned by a phase).
- A loss of equal values together with their vectors, such as V f(λ) Vᴴ, has a derivative that does not follow from those by λ and by V:
  where λᵢ = λⱼ it takes f'(λ) (Vᴴ dA V)ᵢⱼ, of which for i ≠ j neither dλ nor dV keeps anything.

Forward mode cannot know the loss: there the tangent of a vector that has none is nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Spec, Value, dtype_of, shape_of
from funcgrad.ops.contraction import column, fit, matmul, row, swap
from funcgrad.ops.elementwise import ratio
from funcgrad.ops.kinds import Linear, constant, linear
from funcgrad.ops.linalg import anti
from funcgrad.ops.reductions import min

Array = Any

# ---- what is known: 1.0 where it is, 0.0 where it is not


def _rounding(w: Array) -> Array:
    """What LAPACK may be off by, for each row of values."""
    return 8 * max(w.shape[-1], 1) * np.finfo(w.dtype).eps * np.max(np.abs(w), axis=-1, keepdims=True, initial=0)


def _real(w: Array) -> Any:
    return np.finfo(w.dtype).dtype


def _apart(w: Array) -> Array:
    far = np.abs(w[..., None, :] - w[..., :, None]) > _rounding(w)[..., None]
    return (far | np.eye(w.shape[-1], dtype=bool)).astype(_real(w))


apart = constant(_apart, name="apart")
"""Of each pair of values, whether they differ by more than rounding; a value and itself are no pair, so 1.0."""

positive_values = constant(lambda s: (s > _rounding(s)).astype(s.dtype), name="positive_values")
"""Of each singular value, whether it is more than rounding."""


def _one_positive(s: Array) -> Array:
    return (s[..., None, :] + s[..., :, None] > 2 * _rounding(s)[..., None]).astype(s.dtype)


one_positive = constant(_one_positive, name="one_positive")
"""Of each pair of singular values, whether one is more than rounding."""


def gaps(w: Value) -> Value:
    """At i, j the difference of the j-th value and the i-th."""
    return row(w) - column(w)


def inverse(x: Value, known: Value) -> Value:
    """1 / x, and 0 where that is not known."""
    return ratio(dtype_of(x).type(1), x * known)


# ---- what is not known: a linear map that is 0, or infinite. Where it is infinite it gives nan in forward mode, where the loss is not
# in sight; in reverse mode, where only a loss that has no derivative gets there, it raises. Each is the transpose of the other.


def _size(x: Array) -> Array:
    """The largest absolute value of each matrix."""
    return np.max(np.abs(x), axis=(-2, -1), keepdims=True, initial=0)


def _unknown(x: Array, known: Array, whole: Array, **said: Any) -> Array:
    missing = (known == 0) & (np.abs(x) > 64 * max(1, *whole.shape[-2:]) * np.finfo(x.dtype).eps * _size(whole))
    return np.where(missing, np.nan, 0).astype(x.dtype)


def _refuse(x: Array, known: Array, whole: Array, *, name: str, together: bool) -> Array:
    """Rates of change near nothing are rounding of what cancelled."""
    eps = np.finfo(x.dtype).eps
    beyond = np.abs(x) > np.maximum(np.sqrt(eps) * _size(whole), 64 * max(1, *whole.shape[-2:]) * eps)
    if np.any((known == 0) & beyond):
        raise errors.EqualValuesError(name, together)
    return np.zeros(x.shape, x.dtype)


def _refuse_back(ct: Value, x: Spec, known: Value, whole: Value, **said: Any) -> Value:
    return fit(unknown_rate(ct, unless_zero(known, whole), ct, **said), x.shape)


unknown_rate: Linear = linear(
    "unknown_rate", _unknown, lambda ct, x, known, whole, **said: fit(refused_rate(ct, known, ct, **said), x.shape)
)
"""nan where a rate of change `x` is needed that is not known, else 0; `whole` is what `x` is a part of, and measures rounding."""

refused_rate: Linear = linear("refused_rate", _refuse, _refuse_back)
"""0; raises where the loss changes at a rate `x` with what is not known. It is 0 for all matrices, or none."""

unless_zero = constant(lambda known, whole: np.where(_size(whole) == 0, known, 1).astype(known.dtype), name="unless_zero")
"""A pull is linear in its cotangent: where that is 0 (as where forward mode is made, by transposing a pull) nothing is known of others."""


def all_known(known: Value) -> bool:
    """The usual case, in which nothing need be looked at. (Of a traced mask that is not asked.)"""
    return type(known) is np.ndarray and bool(known.all())


def unknown(x: Value, known: Value, whole: Value, *, name: str, together: bool = False) -> Value:
    return 0 if all_known(known) else unknown_rate(x, known, whole, name=name, together=together)


def unknown_rotation(x: Value, known: Value, whole: Value, *, name: str) -> Value:
    """The same of what is anti-Hermitian."""
    return 0 if all_known(known) else anti(unknown_rate(x, known, whole, name=name, together=False))


def refuse(x: Value, known: Value, whole: Value, *, name: str, together: bool = False) -> Value:
    return 0 if all_known(known) else refused_rate(x, known, whole, name=name, together=together)


def _refuse_free(x: Array, whole: Array, *, name: str) -> Array:
    return _refuse(x, np.zeros((1, 1), _real(x)), whole, name=name, together=False)


refuse_free = constant(_refuse_free, name="refuse_free")
"""0; raises where a loss depends on what is always a choice: phases, and bases of null spaces. In forward mode these stand still."""


def refuse_choice(c: Value, known: Value, *, name: str) -> Value:
    """0; raises where a loss, by the cotangent `c` of a rotation of the vectors, depends on the choice of vectors."""
    has_phases = dtype_of(c).kind == "c"
    if all_known(known) and not has_phases:
        return 0
    x = anti(c)
    out = refuse(x, known, c, name=name)
    return out + refuse_free(x * np.eye(shape_of(c)[-1], dtype=dtype_of(known)), c, name=name) if has_phases else out


def refuse_together(ct: Value, vectors: Value, known: Value, *, name: str) -> Value:
    """0; raises where a loss depends on equal values, at rates `ct` that differ, and on their vectors, by `vectors` in columns."""
    if all_known(known) or not shape_of(ct)[-1]:
        return 0
    eye = np.eye(shape_of(ct)[-1], dtype=dtype_of(known))
    rates = gaps(ct) * (1 - eye) + row(ct) * eye
    used = min(known, axis=(-2,))
    return refuse(rates, known, row(ct), name=name, together=True) + refuse(vectors, row(used), vectors, name=name, together=True)


def refuse_mixing(rest: Value, ct: Value, *, name: str) -> Value:
    """0; raises where a loss, by the cotangent of columns that are any basis of a space, depends on which."""
    return refuse_free(anti(matmul(swap(rest), ct)), ct, name=name)
