"""Discrete Fourier transforms: `np.fft`. (`fftfreq` and `rfftfreq` ask nobody; they are ordinary arithmetic in the spacing `d`.)"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import Value, shape_of
from funcgrad.numpy.axes import roll
from funcgrad.numpy.bridge import array
from funcgrad.numpy.contraction import conj, operand
from funcgrad.numpy.dispatch import implements
from funcgrad.numpy.shaping import negative_axis
from funcgrad.ops import fft as ops
from funcgrad.ops.kinds import Linear
from funcgrad.ops.shaping import embed, window

# ---- along one axis


def _cut(a: Value, points: Any, axis: Any, bins: Callable[[int], int] = lambda n: n) -> tuple[Value, int, int]:
    """`a` cut off, or with zeros behind, so that `bins(points)` elements are along the axis; the points, and the negative axis."""
    if points < 1:
        raise ValueError(f"Invalid number of FFT data points ({points}) specified.")
    n, shape = operator.index(points), shape_of(a)
    axis = negative_axis(axis, len(shape))
    has, wants = shape[axis], bins(n)
    if wants < has:
        a = window(a, axis=axis, start=0, stop=wants)
    elif wants > has:
        a = embed(a, axis=axis, start=0, size=wants)
    return a, n, axis


def _norm(norm: Any) -> Any:
    """The norm by name. (What is none, the primitives refuse with NumPy's sentence.)"""
    return "backward" if norm is None else norm


def _swapped(norm: Any) -> Any:
    norm = _norm(norm)
    return ops.SWAPPED.get(norm, norm)


def _transformed(prim: Linear, a: Any, n: Any, axis: Any, norm: Any) -> Value:
    """From as many elements as there are points."""
    a = operand(a)
    a, _, axis = _cut(a, shape_of(a)[axis] if n is None else n, axis)
    return prim(a, axis=axis, norm=_norm(norm))


@implements(np.fft.fft)
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Value:
    return _transformed(ops.fft, a, n, axis, norm)


@implements(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Value:
    return _transformed(ops.ifft, a, n, axis, norm)


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Value:
    return _transformed(ops.rfft, a, n, axis, norm)


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Value:
    a = operand(a)
    a, n, axis = _cut(a, (shape_of(a)[axis] - 1) * 2 if n is None else n, axis, lambda n: n // 2 + 1)
    return ops.irfft(a, n=n, axis=axis, norm=_norm(norm))


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Value:
    return irfft(conj(operand(a)), n, axis, _swapped(norm))


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: None = None) -> Value:
    return conj(rfft(a, n, axis, _swapped(norm)))


# ---- along several axes, one after the other


def _sizes(a: Value, s: Any, axes: Any) -> tuple[list[Any], list[Any]]:
    """The points along each axis, and the axes."""
    shape = shape_of(a)
    if s is None:
        axes = list(range(-len(shape), 0) if axes is None else axes)
        return [shape[i] for i in axes], axes
    sizes = list(s)
    if axes is None:
        _deprecated("`s` without `axes` is deprecated in NumPy 2.0. Pass `axes=(0, 1, …)` as well.")
    axes = list(range(-len(sizes), 0) if axes is None else axes)
    if len(sizes) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if None in sizes:
        _deprecated("`None` in `s` is deprecated in NumPy 2.0. Pass the number of points, or -1 for what is there.")
    return [shape[i] if n == -1 else n for n, i in zip(sizes, axes, strict=True)], axes


def _deprecated(message: str) -> None:
    """NumPy's warning, at the user's line: below are `_sizes`, its caller, the function, and the two of the dispatch."""
    warnings.warn(message, DeprecationWarning, stacklevel=7)


def _each(step: Callable[..., Value], a: Any, s: Any, axes: Any, norm: Any) -> Value:
    a = operand(a)
    for n, axis in reversed(list(zip(*_sizes(a, s, axes), strict=True))):
        a = step(a, n, axis, norm)
    return a


def _from_real(a: Any, s: Any, axes: Any, norm: Any) -> Value:
    """The last axis first, while the numbers are real."""
    a = operand(a)
    sizes, axes = _sizes(a, s, axes)
    a = rfft(a, sizes[-1], axes[-1], norm)
    for n, axis in reversed(list(zip(sizes[:-1], axes[:-1], strict=True))):
        a = fft(a, n, axis, norm)
    return a


def _to_real(a: Any, s: Any, axes: Any, norm: Any) -> Value:
    a = operand(a)
    sizes, axes = _sizes(a, s, axes)
    if s is None:
        sizes[-1] = (sizes[-1] - 1) * 2
    for n, axis in zip(sizes[:-1], axes[:-1], strict=True):
        a = ifft(a, n, axis, norm)
    return irfft(a, sizes[-1], axes[-1], norm)


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Value:
    return _each(fft, a, s, axes, norm)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Value:
    return _each(ifft, a, s, axes, norm)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Value:
    return _from_real(a, s, axes, norm)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: None = None) -> Value:
    return _to_real(a, s, axes, norm)


@implements(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Value:
    return _each(fft, a, s, axes, norm)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Value:
    return _each(ifft, a, s, axes, norm)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Value:
    return _from_real(a, s, axes, norm)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: None = None) -> Value:
    return _to_real(a, s, axes, norm)


# ---- the bins in another order


def _shifted(x: Any, axes: Any, sign: int) -> Value:
    x = array(x)
    shape = shape_of(x)
    if axes is None:
        axes = tuple(range(len(shape)))
    elif isinstance(axes, (int, np.integer)):
        return roll(x, sign * (shape[axes] // 2), int(axes))
    return roll(x, [sign * (shape[i] // 2) for i in axes], axes)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Value:
    return _shifted(x, axes, 1)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Value:
    return _shifted(x, axes, -1)
