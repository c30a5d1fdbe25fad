"""The functions every model needs: activations, softmax and its logarithm, cross-entropy.

Plain functions of ndarrays, Tensors and traced values, with the names and arguments of `jax.nn`. Whole numbers become float64,
float32 stays float32. Values and derivatives are right for large, infinite and -infinite arguments; slopes at kinks are stated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad import errors
from funcgrad.core import Frozen, Traced, Value, dtype_of, shape_of
from funcgrad.numpy.bridge import array, bare
from funcgrad.ops import activations as ops
from funcgrad.ops import reductions
from funcgrad.ops.elementwise import meet
from funcgrad.ops.elementwise import where as choose
from funcgrad.ops.indexing import gather, scalar
from funcgrad.ops.reductions import Axes, keep
from funcgrad.ops.shaping import cast, reshape
from funcgrad.tensor import wrap

F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "cross_entropy", "elu", "gelu", "leaky_relu", "log_sigmoid", "log_softmax", "logsumexp", "one_hot", "relu", "sigmoid", "silu",
    "softmax", "softplus",
]  # fmt: skip


def _function(f: F) -> F:
    """Let `f`, of bare values whose first one is of floats, take what users have; Tensors give a Tensor."""

    @functools.wraps(f)
    def apply(x: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = any(isinstance(a, Frozen) for a in (x, *args, *kwargs.values()))
        out = f(_floats(f.__name__, x), *[bare(a) for a in args], **{k: bare(a) for k, a in kwargs.items()})
        return wrap(out) if tensors and not isinstance(out, Traced) else out

    return apply  # type: ignore[return-value]


def _floats(verb: str, x: Any) -> Value:
    x = array(x)
    dtype = dtype_of(x)
    if dtype.kind == "f":
        return x
    if dtype.kind not in "biu":
        raise errors.ArgumentTypeError(f"nn.{verb}", f"it is a function of real numbers, got {dtype}.")
    return cast(x, np.dtype(float))


def select(mask: Value, x: Value, y: Value) -> Value:
    """As `np.where`, but of no axes a scalar."""
    return scalar(choose(mask, x, y))


# ---- activations


@_function
def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ).

    >>> sigmoid(0.0)
    np.float64(0.5)
    """
    return ops.sigmoid(x)


@_function
def log_sigmoid(x: Any) -> Any:
    """The logarithm of `sigmoid(x)`: -log(1 + e⁻ˣ)."""
    return -ops.softplus(-x)


@_function
def softplus(x: Any) -> Any:
    """log(1 + eˣ), a smooth `relu`."""
    return ops.softplus(x)


@_function
def silu(x: Any) -> Any:
    """x · sigmoid(x), also called swish; 0 at -inf."""
    return ops.silu(x)


@_function
def relu(x: Any) -> Any:
    """x where that is positive, else 0. The slope at 0 is 0, as in JAX and PyTorch (that of `np.maximum(x, 0)` is ½)."""
    return select(x <= 0, 0, x)


@_function
def leaky_relu(x: Any, negative_slope: Any = 0.01) -> Any:
    """x where that is not negative, else `negative_slope` · x. The slope at 0 is 1, as in JAX."""
    return select(x >= 0, x, meet(x, negative_slope))


@_function
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where that is positive, else `alpha` · (eˣ - 1). The slope at 0 is `alpha`, as in JAX: a kink unless that is 1."""
    positive = x > 0
    return select(positive, x, alpha * ops.exp_minus_one(select(positive, 0, x)))


@_function
def gelu(x: Any, approximate: bool = True) -> Any:
    """x · Φ(x), with the distribution function Φ of the normal distribution; 0 at -inf.

    Args:
        x: any real numbers.
        approximate: with Φ(x) ≈ sigmoid(√(8/π) (x + 0.044715 x³)), the form by tanh, as in JAX; it is off by at most 5e-4.
            The exact form takes Python's `math.erfc` element by element, as NumPy has none, and so several times as long.

    Source: Hendrycks and Gimpel (2016), section 2.
    """
    return ops.gelu_tanh(x) if approximate else ops.gelu(x)


# ---- softmax


def _axes(x: Value, axis: Any) -> Axes:
    n = len(shape_of(x))
    return tuple([i - n for i in normalize_axis_tuple(range(n) if axis is None else axis, n)])


def _within(x: Value, where: Any) -> Value:
    """What is masked out is as good as -inf."""
    return x if where is None else select(array(where), x, -np.inf)


@_function
def logsumexp(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """log Σ eᵃ over some axes, without overflow. Its derivative is `softmax`.

    Args:
        a: any real numbers; of none, or of -inf alone, it is -inf.
        axis: an int, a tuple of ints, or None for all.
        keepdims: keep the axes, with length 1.
        where: a mask of the elements to include.

    >>> logsumexp([1000.0, 1000.0])
    np.float64(1000.6931471805599)
    """
    a = _within(a, where)
    axes = _axes(a, axis)
    if not axes:
        return a
    out = ops.log_total(a, axis=axes)
    return keep(out, shape_of(a), axes) if keepdims else out


@_function
def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """eˣ / Σ eˣ along some axes.

    Infinite maxima are limits: the elements that are +inf share equally, and where all are -inf, or masked out, each has 0.

    Args:
        x: any real numbers.
        axis: an int, a tuple of ints, or None for all.
        where: a mask of the elements to include; the others are 0.

    >>> softmax(np.array([0.0, 0.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    x = _within(x, where)
    return ops.softmax(x, axis=_axes(x, axis))


@_function
def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """The logarithm of `softmax`, with all its digits; arguments as there. What is masked out is -inf."""
    x = _within(x, where)
    return ops.log_softmax(x, axis=_axes(x, axis))


def one_hot(x: Any, num_classes: int, *, dtype: Any = float, axis: int = -1) -> Any:
    """A new axis of `num_classes` elements, 1 in the place that `x` names and 0 elsewhere; all 0 where `x` names none.

    Args:
        x: ints.
        num_classes: how many there are.
        dtype: of the result.
        axis: where the new axis comes.

    >>> one_hot([0, 2], 3)
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """
    labels = array(x)
    if dtype_of(labels).kind not in "iu":
        raise errors.ArgumentTypeError("nn.one_hot", f"the labels must be ints, got {dtype_of(labels)}.")
    n = len(shape_of(labels)) + 1
    (at,) = normalize_axis_tuple(axis, n)
    classes = np.arange(num_classes).reshape((num_classes,) + (1,) * (n - 1 - at))
    out = cast(np.expand_dims(labels, at) == classes, np.dtype(dtype))
    return wrap(out) if isinstance(x, Frozen) and not isinstance(out, Traced) else out


@_function
def cross_entropy(logits: Any, labels: Any, axis: int = -1, where: Any = None) -> Any:
    """-Σ labels · log_softmax(logits) along `axis`: one loss for each example. Take the mean yourself.

    Args:
        logits: any real numbers.
        labels: classes, as ints, of the shape of `logits` without `axis`; or probabilities, of the shape of `logits`.
        axis: the axis of the classes.
        where: a mask of the classes that there are.

    Raises:
        IndexError: a label names no class.

    >>> cross_entropy(np.zeros((1, 2)), [1])
    array([0.69314718])
    """
    labels = array(labels)
    (at,) = _axes(logits, axis)
    whole, mine = shape_of(logits), shape_of(labels)
    logs = ops.log_softmax(_within(logits, where), axis=(at,))
    if len(mine) == len(whole):
        return -reductions.sum(meet(labels, logs), axis=(at,))
    examples = whole[: len(whole) + at] + whole[len(whole) + at + 1 :]
    if mine != examples or dtype_of(labels).kind not in "iu":
        what = f"ints of shape {list(examples)} or probabilities of shape {list(whole)}, got {dtype_of(labels)}{list(mine)}"
        raise errors.ArgumentError("nn.cross_entropy", f"the labels must be {what}.")
    if np.any((labels < 0) | (labels >= whole[at])):
        raise IndexError(f"nn.cross_entropy: a label is outside of the {whole[at]} classes, 0 to {whole[at] - 1}.")
    picked = gather(logs, keep(labels, whole, (at,)), axis=at, once=True)
    return -reshape(picked, shape=examples)
