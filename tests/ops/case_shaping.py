"""Cases of shaping, joining and creation. Each runs plain, for the values, and squared, so that cotangents are traced too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad.errors import FrozenError
from tests.ops.kit import NUMPY, arr, case

CUBE, MATRIX, VECTOR, NUMBER, EMPTY = arr(2, 3, 4), arr(3, 4, seed=1), arr(5, seed=2), np.float64(1.25), arr(0, 3)
THREE, COMPLEX = arr(3, seed=4), arr(3, seed=5) + 1j * arr(3, seed=6)


def squared(y: Any) -> Any:
    return type(y)(map(squared, y)) if isinstance(y, (list, tuple)) else y * y


def both(covers: Any, f: Callable[..., Any], *args: Any, **more: Any) -> None:
    case(covers, f, *args, **more)
    case(covers, lambda *xs: squared(f(*xs)), *args, **more)


def flat(covers: Any, f: Callable[..., Any], *args: Any, **more: Any) -> None:
    """A function whose result does not change with its arguments, or not everywhere."""
    case(covers, f, *args, smooth=False, **more)


def rows(x: Any) -> Any:
    """The same array, in C order in memory."""
    return np.reshape(np.ravel(x), x.shape)


def refused(write: Callable[[], Any], x: Any) -> bool:
    """A plain array can be written to; of a traced value that must raise."""
    if isinstance(x, np.ndarray):
        return True
    with pytest.raises(FrozenError):
        write()
    return True


# ---- the same elements in another shape

both(np.reshape, lambda x: np.reshape(x, (4, -1)), CUBE, complex=True)
both(np.reshape, lambda x: np.reshape(x, -1), MATRIX)
both(np.reshape, lambda x: np.reshape(x, (6, 4), order="F"), CUBE)
both(np.reshape, lambda x: np.reshape(rows(x).T, (2, -1, 2), order="A"), CUBE)
both(np.reshape, lambda x: x.reshape(2, 6, order="F"), MATRIX)
both(np.reshape, lambda x: np.reshape(x, (1, 1)), NUMBER)
if NUMPY >= (2, 1):  # the first with the keyword `copy`
    both(np.reshape, lambda x: np.reshape(x, (1, 1), copy=True), NUMBER)
both(np.reshape, lambda x: np.reshape(x, ()), arr(1))
both(np.reshape, lambda x: np.reshape(x, (3, 0)), EMPTY)
for order in "CFAK":
    both(np.ravel, lambda x, order=order: np.ravel(rows(x), order), CUBE)
    both(np.ravel, lambda x, order=order: np.ravel(np.transpose(rows(x), (1, 2, 0)), order), CUBE)
both(np.ravel, lambda x: np.ravel(x), NUMBER)
both(np.expand_dims, lambda x: np.expand_dims(x, 1), MATRIX, complex=True)
both(np.expand_dims, lambda x: np.expand_dims(x, (0, -2)), MATRIX)
both(np.expand_dims, lambda x: np.expand_dims(x, 0), NUMBER)
both(np.squeeze, lambda x: np.squeeze(x), arr(1, 3, 1))
both(np.squeeze, lambda x: np.squeeze(x, -1), arr(1, 3, 1))
both(np.squeeze, lambda x: np.squeeze(x, (0, 2)), arr(1, 3, 1))
both(np.squeeze, lambda x: np.squeeze(x), arr(1, 1))
both((np.atleast_1d, np.atleast_2d, np.atleast_3d), lambda x: (np.atleast_1d(x), np.atleast_2d(x), np.atleast_3d(x)), NUMBER)
both(
    (np.atleast_1d, np.atleast_2d, np.atleast_3d),
    lambda x, y, z: (np.atleast_1d(x, y), np.atleast_2d(x, y), np.atleast_3d(x, y, z)),
    VECTOR,
    MATRIX,
    CUBE,
)
both(np.broadcast_to, lambda x: np.broadcast_to(x, (2, 3, 4)), MATRIX, complex=True)
both(np.broadcast_to, lambda x: np.broadcast_to(x, 4), NUMBER)
both(np.broadcast_to, lambda x: np.broadcast_to(x, ()), NUMBER)
both(np.broadcast_to, lambda x: np.broadcast_to(x, (0, 3)), arr(1, 3))
both(np.broadcast_to, lambda x: np.broadcast_to(x, (700, 3)), arr(3))
both(np.broadcast_arrays, lambda x, y: np.broadcast_arrays(x, y, x + 2.0), arr(3, 1), arr(4))

# ---- axes

both(np.transpose, lambda x: np.transpose(x, (1, -1, 0)), CUBE, complex=True)
both(np.transpose, lambda x: np.transpose(x), CUBE)
both(np.transpose, lambda x: x.T, MATRIX)
both(np.transpose, lambda x: x.T, VECTOR)
both(np.matrix_transpose, lambda x: x.mT, CUBE)
both(np.swapaxes, lambda x: np.swapaxes(x, 0, -1), CUBE)
both(np.moveaxis, lambda x: np.moveaxis(x, 0, -1), CUBE)
both(np.moveaxis, lambda x: np.moveaxis(x, (0, 1), (-1, 0)), CUBE)
both(np.rollaxis, lambda x: (np.rollaxis(x, 2), np.rollaxis(x, 0, 3), np.rollaxis(x, -2, -1), np.rollaxis(x, 1, 1)), CUBE)
both(np.flip, lambda x: np.flip(x), CUBE, complex=True)
both(np.flip, lambda x: (np.flip(x, 1), np.flip(x, (0, -1))), CUBE)
both((np.fliplr, np.flipud), lambda x: (np.fliplr(x), np.flipud(x)), MATRIX)
both(np.rot90, lambda x: tuple(np.rot90(x, k) for k in range(-1, 4)), MATRIX)
both(np.rot90, lambda x: (np.rot90(x, 1, (1, 2)), np.rot90(x, 3, (2, 0))), CUBE)
both(np.roll, lambda x: (np.roll(x, 2), np.roll(x, -1, 1), np.roll(x, 0, 0), np.roll(x, 7, -1)), MATRIX, complex=True)
both(np.roll, lambda x: (np.roll(x, (1, -2), (0, 2)), np.roll(x, 1, (0, 1)), np.roll(x, (1, 1), 0)), CUBE)
both(np.roll, lambda x: (np.roll(x, 1), np.roll(x, 1, 0)), EMPTY)

# ---- joining

both(np.concatenate, lambda x, y: np.concatenate([x, y]), MATRIX, arr(1, 4), complex=True)
both(np.concatenate, lambda x, y: np.concatenate((x, y, x), axis=-1), MATRIX, arr(3, 2))
both(np.concatenate, lambda x, y: np.concatenate([x, y], axis=None), MATRIX, VECTOR)
both(np.concatenate, lambda x, y: np.concatenate([x, np.arange(3), y, [2.0, 1.0]]), COMPLEX, VECTOR)
both(np.concatenate, lambda x, y: np.concatenate([x, y], dtype=complex), VECTOR, COMPLEX)
both(np.concatenate, lambda x: np.concatenate([x, np.ones(2, int)], dtype=np.complex128, casting="unsafe"), VECTOR)
both(np.concatenate, lambda x: np.concatenate(x), CUBE)
both(np.concatenate, lambda x, y: np.concatenate([x, y]), EMPTY, arr(2, 3))
flat(np.concatenate, lambda x: np.concatenate([x, [1.5]], dtype=int, casting="unsafe"), VECTOR)
both(np.stack, lambda x, y: np.stack([x, y, x]), MATRIX, arr(3, 4), complex=True)
both(np.stack, lambda x, y: (np.stack((x, y), 1), np.stack((x, y), axis=-1)), MATRIX, arr(3, 4))
both(np.stack, lambda x, y: np.stack([x, 2.0, y, 3]), NUMBER, np.float64(0.5))
both(np.stack, lambda x, y: np.stack([x, y, np.arange(3)], axis=1), COMPLEX, THREE)
both(np.stack, lambda x, y: np.stack([x, y], dtype=complex), THREE, COMPLEX)
both(np.stack, lambda x: np.stack(x, -1), CUBE)
both(np.stack, lambda x: np.stack([x, [1.0, 2.0, 3.0]]), THREE)
both((np.vstack, np.hstack), lambda x, y: (np.vstack([x, y]), np.hstack([x, y, x])), arr(3), arr(3, seed=1))
both((np.vstack, np.hstack), lambda x, y: (np.vstack([x, y[:, :4]]), np.hstack([x, y])), MATRIX, arr(3, 5))
both((np.vstack, np.hstack), lambda x, y: (np.vstack([x, y]), np.hstack([x, 1.0, y])), NUMBER, np.float64(0.5))
both((np.vstack, np.hstack), lambda x: (np.vstack([x, x], dtype=complex), np.hstack([x, x], dtype=complex)), arr(3))
both((np.dstack, np.column_stack), lambda x, y: (np.dstack([x, y]), np.column_stack([x, y])), arr(3), arr(3, seed=1))
both((np.dstack, np.column_stack), lambda x, y: (np.dstack([x, x]), np.column_stack([x, y, x])), MATRIX, arr(3))
both((np.dstack, np.column_stack), lambda x, y: (np.dstack([x, y]), np.column_stack([x, y])), NUMBER, np.float64(0.5))
both(np.append, lambda x, y: np.append(x, y), MATRIX, NUMBER)
both(np.append, lambda x, y: (np.append(x, y, axis=1), np.append(x, [[1.0]] * 3, -1)), MATRIX, arr(3, 2))
both(np.block, lambda x, y: np.block([[x, y[:, None]], [y, 7.0]]), arr(3, 3), arr(3), complex=True)
both(np.block, lambda x, y: (np.block([x, y]), np.block(x), np.block([[[x, y]]])), arr(3), np.float64(0.5))
both(np.block, lambda x: np.block([[x, np.zeros((2, 3, 1))], [x, np.ones((2, 3, 1))]]), CUBE)

# ---- taking apart

if hasattr(np, "unstack"):  # from NumPy 2.1 on
    both(np.unstack, lambda x: np.unstack(x), VECTOR)
    both(np.unstack, lambda x: (np.unstack(x), np.unstack(x, axis=-1)[1:]), CUBE, complex=True)
both(np.array_split, lambda x: (np.array_split(x, 3), np.array_split(x, 7)), VECTOR)
both(np.array_split, lambda x: (np.array_split(x, [1, -1], axis=1), np.array_split(x, [3, 1, 9], axis=-1)), MATRIX)
both(np.split, lambda x: (np.split(x, 2, axis=1), np.split(x, (1, 3), 1)[1]), MATRIX, complex=True)
both((np.hsplit, np.vsplit, np.dsplit), lambda x: (np.hsplit(x, 3), np.vsplit(x, [1]), np.dsplit(x, 2)), CUBE)
both(np.hsplit, lambda x: np.hsplit(x, [2]), VECTOR)

# ---- repeated, left out, put in between

both(
    np.repeat,
    lambda x: (np.repeat(x, 2), np.repeat(x, 3, axis=0), np.repeat(x, [1, 0, 2, 1], -1), np.repeat(x, 0, 1)),
    MATRIX,
    complex=True,
)
both(np.repeat, lambda x: np.repeat(x, 3), NUMBER)
both(np.tile, lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3)), np.tile(x, (1, 1)), np.tile(x, (0, 2))), MATRIX)
both(np.tile, lambda x: (np.tile(x, 2), np.tile(x, (2, 3))), NUMBER)
both(np.resize, lambda x: (np.resize(x, (2, 4)), np.resize(x, 3), np.resize(x, (5,))), VECTOR)
flat(np.resize, lambda x, y: (np.resize(x, (2, 2)), np.resize(y, (0, 2))), EMPTY, VECTOR)
both(np.delete, lambda x: (np.delete(x, 1, 0), np.delete(x, [0, -1], axis=1), np.delete(x, slice(1, 9, 2))), MATRIX)
both(np.delete, lambda x: np.delete(x, [True, False, True, False, False]), VECTOR)
both(np.insert, lambda x, v: (np.insert(x, 2, v), np.insert(x, [1, 1, 4], v), np.insert(x, slice(0, 4, 2), v)), VECTOR, NUMBER)
both(np.insert, lambda x, v: (np.insert(x, 2, v), np.insert(x, [0, -1, 5], v)), VECTOR, arr(3), complex=True)
both(np.insert, lambda x, v: (np.insert(x, 1, v, axis=0), np.insert(x, [1], v, axis=0), np.insert(x, [0, 2], v, axis=0)), MATRIX, arr(4))
both(np.insert, lambda x, v: (np.insert(x, 1, v, axis=1), np.insert(x, [-1], v.T, axis=1)), MATRIX, arr(2, 3))
both(np.insert, lambda x, v: np.insert(x, 1, v), COMPLEX, np.float64(0.5))
flat(np.insert, lambda v: np.insert([1, 2, 3], 1, v), NUMBER)

ENDS = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0])
both(np.trim_zeros, lambda x: (np.trim_zeros(x * ENDS), np.trim_zeros(x * ENDS, "f"), np.trim_zeros(x * ENDS, trim="B")), arr(7))

# ---- padding

both(
    np.pad,
    lambda x: (np.pad(x, 1), np.pad(x, (2, 0)), np.pad(x, ((0, 1), (2, 1))), np.pad(x, 0), np.pad(x, [[1], [2]])),
    MATRIX,
    complex=True,
)
if NUMPY >= (2, 4):  # the first that takes a dict
    both(np.pad, lambda x: (np.pad(x, {1: 2}), np.pad(x, {-1: (1, 0), 0: 1})), MATRIX)
both(np.pad, lambda x: np.pad(x, 1, constant_values=((1.0, -2.0), (3.0, 4.0))), MATRIX)
both(np.pad, lambda x, v: np.pad(x, (2, 1), constant_values=v), MATRIX, NUMBER)
both(np.pad, lambda x, v, w: np.pad(x, (2, 1), constant_values=((v, w), (0.0, v))), MATRIX, NUMBER, np.float64(0.5))
both(np.pad, lambda x, v: np.pad(x, (2, 1), mode="constant", constant_values=v), EMPTY, arr(2))
both(np.pad, lambda x: np.pad(x, 0), NUMBER)
for mode in ("edge", "wrap", "reflect", "symmetric"):
    both(np.pad, lambda x, mode=mode: (np.pad(x, 1, mode), np.pad(x, ((0, 2), (7, 9)), mode)), MATRIX)
    both(np.pad, lambda x, mode=mode: np.pad(x, 2, mode=mode), arr(1))
for mode in ("reflect", "symmetric"):
    both(np.pad, lambda x, mode=mode: np.pad(x, ((2, 1), (0, 3)), mode, reflect_type="odd"), MATRIX)
    both(
        np.pad,
        lambda x, mode=mode: np.pad(x, (7, 9), mode, reflect_type="odd"),
        arr(3),
        tol=1e-14,
        why="one sum instead of one per reflection",
    )
    both(np.pad, lambda x, mode=mode: np.pad(x, 2, mode, reflect_type="odd"), arr(1))
both(np.pad, lambda x: (np.pad(x, 2, "linear_ramp"), np.pad(x, ((1, 3), (0, 2)), "linear_ramp", end_values=(1.0, -5.0))), MATRIX)
both(np.pad, lambda x, v: np.pad(x, 2, "linear_ramp", end_values=v), VECTOR, NUMBER)
both(np.pad, lambda x: (np.pad(x, 1, "mean"), np.pad(x, ((1, 0), (0, 2)), "mean", stat_length=2)), MATRIX)
both(np.pad, lambda x: (np.pad(x, 1, "maximum"), np.pad(x, 2, "minimum", stat_length=((1, 2), (3, 9)))), MATRIX)
both(np.pad, lambda x: np.pad(x, 1, "median"), arr(3, 5))

# ---- diagonals and triangles

both((np.tril, np.triu), lambda x: (np.tril(x), np.triu(x), np.tril(x, -1), np.triu(x, 2)), MATRIX, complex=True)
both((np.tril, np.triu), lambda x: (np.tril(x), np.triu(x, 1)), CUBE)
both((np.tril, np.triu), lambda x: (np.tril(x), np.triu(x, 1)), arr(3))
both(np.diag, lambda x: (np.diag(x), np.diag(x, 1), np.diag(x, -2)), VECTOR, complex=True)
both(np.diag, lambda x: (np.diag(x), np.diag(x, 1), np.diag(x, -2), np.diag(x, 9)), MATRIX)
both(np.diagflat, lambda x: (np.diagflat(x), np.diagflat(x, -1)), arr(2, 2))
both(np.diagonal, lambda x: (np.diagonal(x), np.diagonal(x, 1, 0, 2), np.diagonal(x, -1, axis1=-1, axis2=1)), CUBE)
both(np.diagonal, lambda x: np.diagonal(x), EMPTY)
both(np.trace, lambda x: (np.trace(x), np.trace(x, 1), np.trace(x, -1)), MATRIX, complex=True)
both(np.trace, lambda x: (np.trace(x, 1, 2, 0), np.trace(x, dtype=complex)), CUBE)

flat(np.diag_indices_from, lambda x: np.diag_indices_from(x), arr(3, 3))
flat((np.tril_indices_from, np.triu_indices_from), lambda x: (np.tril_indices_from(x, -1), np.triu_indices_from(x, k=1)), MATRIX)

# ---- creation

flat(
    (np.zeros_like, np.ones_like),
    lambda x: (np.zeros_like(x), np.ones_like(x, dtype=np.float32), np.ones_like(x, shape=(2, 1)), np.zeros_like(x, shape=3)),
    MATRIX,
)
flat(np.empty_like, lambda x: np.empty_like(x).shape, MATRIX)
both(np.full_like, lambda x, v: (np.full_like(x, v), np.full_like(x, v, shape=(2, 2))), MATRIX, NUMBER)
flat(np.full_like, lambda x: np.full_like(x, 2), MATRIX)
both(np.full_like, lambda x, v: np.full_like(x, v), COMPLEX, THREE)
flat(np.full_like, lambda x, v: np.full_like(x, v, dtype=int), MATRIX, NUMBER)
both(np.copy, lambda x: (np.copy(x), np.copy(x, order="F")), MATRIX)
both(np.copy, lambda x: np.copy(x), NUMBER)
both(np.astype, lambda x: (np.astype(x, np.complex128), x.astype(float)), VECTOR)
flat(np.astype, lambda x: (x.astype(int), x.astype(bool)), VECTOR)
both(
    np.linspace,
    lambda a, b: (np.linspace(a, b, 5), np.linspace(a, b, 4, endpoint=False), np.linspace(a, 3, 1)),
    NUMBER,
    np.float64(7.3),
    complex=True,
)
both(
    np.linspace,
    lambda a, b: (np.linspace(a, b, 4, axis=-1), np.linspace(a, b, 3, axis=1), np.linspace(a, b, 5, retstep=True)),
    MATRIX,
    arr(4),
)
both(np.linspace, lambda a: np.linspace(a, 5, 6, dtype=complex), NUMBER)
both(np.linspace, lambda a: np.linspace(a, 5, 6, True, True), THREE)
flat(np.linspace, lambda a: np.linspace(a, 5, 0), NUMBER)
flat(np.linspace, lambda a: np.linspace(a, 5.7, 6, dtype=int), NUMBER)
both(
    np.logspace,
    lambda a, b: (np.logspace(a, b, 5), np.logspace(a, 2, 3, endpoint=False, base=2.0)),
    NUMBER,
    np.float64(0.5),
    tol=1e-15,
    why="one power",
)
both(np.logspace, lambda a, b: (np.logspace(a, 1.0, 3, base=b), np.logspace(a, 1.0, 3, base=b, axis=-1)), arr(3), np.array([2.0, 3.0, 0.5]))
both(
    np.geomspace,
    lambda a, b: (np.geomspace(a, b, 5), np.geomspace(a, b, 4, endpoint=False), np.geomspace(-a, -b, 3)),
    NUMBER,
    np.float64(7.3),
)
both(np.geomspace, lambda a: (np.geomspace(a, [4.0, 5.0, 6.0], 4, axis=-1), np.geomspace(a, 1, 1)), arr(3, low=1.0))
both(
    np.meshgrid, lambda x, y: (np.meshgrid(x, y), np.meshgrid(x, y, sparse=True, indexing="ij", copy=False), np.meshgrid(x)), arr(3), arr(4)
)
both(np.meshgrid, lambda x, y, z: (np.meshgrid(x, y, z, indexing="ij"), np.meshgrid(x, y, z)), arr(3), arr(2), NUMBER)

# ---- complex parts

both((np.real, np.imag), lambda z: (np.real(z), np.imag(z), z.real, z.imag), arr(3) + 1j * arr(3, seed=1))
both(np.real, lambda x: np.real(x), arr(3))
flat(np.imag, lambda x: np.imag(x), arr(3))
both(np.angle, lambda z: (np.angle(z), np.angle(z, deg=True)), arr(3) + 1j * arr(3, seed=1))
flat(np.angle, lambda x: (np.angle(x), np.angle(x, True)), arr(3))
both(
    np.real_if_close,
    lambda z: (np.real_if_close(z), np.real_if_close(z * 1e-16), np.real_if_close(z.real), np.real_if_close(z, 3)),
    arr(3) + 1j * arr(3, seed=1),
)
flat(
    (np.isreal, np.iscomplex),
    lambda z: (np.isreal(z), np.iscomplex(z), np.isreal(z.real), np.iscomplex(z.real)),
    np.array([1.0, 2j, 1 + 1j]),
)
flat(
    (np.iscomplexobj, np.isrealobj),
    lambda z: (np.iscomplexobj(z), np.isrealobj(z), np.iscomplexobj([z[0].real])),
    np.array([1.0, 2j, 1 + 1j]),
)

# ---- what is known without differentiating

flat((np.shape, np.ndim, np.size), lambda x: (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)), CUBE)
if NUMPY >= (2, 4):  # the first that takes several axes
    flat(np.size, lambda x: (np.size(x, (0, -1)), np.size(x, ())), CUBE)
flat(
    (np.result_type, np.can_cast, np.common_type),
    lambda x: (np.result_type(x, np.float32).name, np.can_cast(x.dtype, np.float32), np.common_type(x, x).__name__),
    MATRIX,
)
flat((np.can_cast, np.min_scalar_type), lambda x: np.min_scalar_type(x).name, MATRIX, float32=False)
flat((np.may_share_memory, np.shares_memory), lambda x: (np.may_share_memory(x, x), np.shares_memory(x, np.ones(3))), MATRIX)
flat(
    (np.isclose, np.allclose),
    lambda x, y: (
        np.isclose(x, y),
        np.isclose(x, y, equal_nan=True),
        np.isclose(x, 0.5, rtol=0.5),
        np.allclose(x, y),
        np.allclose(x, x),
        np.isclose(x, 1, atol=[1.0, 2.0, 0.0, 0.0]),
    ),
    np.array([1.0, np.nan, 2.0, np.inf]),
    np.array([1.0 + 1e-9, np.nan, 2.1, np.inf]),
)
flat(
    (np.array_equal, np.array_equiv),
    lambda x: (
        np.array_equal(x, x),
        np.array_equal(x, x, equal_nan=True),
        np.array_equal(x, x[:1]),
        np.array_equiv(x, [x]),
        np.array_equiv(x, [1.0, 2.0]),
    ),
    np.array([1.0, np.nan, 2.0]),
)
flat((np.round, np.around), lambda x: (np.round(x), np.around(x, 2), x.round(-1), np.round(30 * x, decimals=-1)), MATRIX)
flat(
    (np.array_str, np.array_repr, np.array2string),
    lambda x: (np.array_str(x), np.array_repr(x, precision=3), np.array2string(x, separator=", ")),
    VECTOR,
)

# ---- what would write

flat(np.copyto, lambda x: (refused(lambda: np.copyto(x, 1.0), x), refused(lambda: np.copyto(np.ones(5), x), x)), VECTOR)
flat(np.full_like, lambda x: refused(lambda: np.full_like(np.ones(3), x[0]), x), VECTOR)
flat((np.put, np.place), lambda x: (refused(lambda: np.put(x, [0], 1.0), x), refused(lambda: np.place(x, x > 0, 1.0), x)), VECTOR)
flat(
    (np.putmask, np.fill_diagonal),
    lambda x: (refused(lambda: np.putmask(x, x > 0, 1.0), x), refused(lambda: np.fill_diagonal(x, 1.0), x)),
    MATRIX,
)
flat(np.put_along_axis, lambda x: refused(lambda: np.put_along_axis(x, np.zeros((3, 1), int), 1.0, 1), x), MATRIX)
flat(np.put, lambda x: refused(lambda: np.add.at(np.zeros(5), [0], x[0]), x), VECTOR, name="add.at")
for name, args in [("sort", ()), ("partition", (1,)), ("fill", (1.0,)), ("put", ([0], 1.0)), ("resize", (3,))]:
    flat(np.put, lambda x, name=name, args=args: refused(lambda: getattr(x, name)(*args), x), VECTOR, name=f"method-{name}")

# ---- methods with a signature of their own, and 0-d operands

both(np.compress, lambda x: (x.compress([True, False, True]), x.compress([False, True, True], axis=0)), arr(3, 2))
both(np.transpose, lambda x: (x.transpose(0), np.transpose(x, 0)), VECTOR)
both(np.copy, lambda x: (x.copy(), x.flat[2], x.astype(complex, casting="safe"), x.reshape(5, 1)), VECTOR)
both(np.copy, lambda x: (x.copy(), x.repeat(2, 0), np.tile(x, ()), np.pad(x, 1), np.pad(x, 1, "mean"), np.flip(x)), NUMBER)
case(np.broadcast_arrays, lambda x: (np.broadcast_arrays(x, 1.5), np.select([True], [x], 2), np.where(True, x, 1)), NUMBER)
flat(np.imag, lambda x: (np.imag(x), x.imag, np.iscomplex(x)), NUMBER)

# ---- sliding windows

_windows = np.lib.stride_tricks.sliding_window_view
both(_windows, lambda x: _windows(x, 2), VECTOR, complex=True)
both(_windows, lambda x: _windows(x, (2, 3)), MATRIX)
both(_windows, lambda x: _windows(x, (2, 1), axis=(0, -1)), CUBE)
both(_windows, lambda x: _windows(x, 2, axis=-2), CUBE)
both(_windows, lambda x: _windows(x, (2, 2), axis=(2, 2)), CUBE)
both(_windows, lambda x: _windows(x, ()), np.array(1.5))
flat(_windows, lambda x: _windows(x, 0, 0), MATRIX)
