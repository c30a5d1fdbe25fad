"""`fg.buffer`: an array to be filled element by element, whose derivative costs as much as the writes did.

Plain values are written into an ndarray. Of a traced one only a note is made: which write each element is from, and which
element of what was written. Reading and freezing gather what the notes say, in one step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.core import Traced, Value, shape_of
from funcgrad.numpy.bridge import array, bare
from funcgrad.numpy.dispatch import name_of
from funcgrad.numpy.indexing import flat
from funcgrad.numpy.updates import in_dtype
from funcgrad.ops.indexing import Slot, getitem
from funcgrad.ops.piling import pile
from funcgrad.ops.shaping import broadcast_to, reshape
from funcgrad.tensor import of_fresh, summary

INSTEAD = "got a Buffer, which is still being written. Read it with `buf[...]`, or end it with `buf.freeze()`."

SLACK = 4
"""What was overwritten is forgotten once this many times the size of the buffer has been written since the last time."""


class Buffer:
    """An array that can be written to: `buf[i] = v`, `buf[i] += v`, with every index NumPy takes. `buf.freeze()` ends it.

    What is written may be traced. Written twice, the last one stays. What is read is frozen, and keeps its value.
    """

    __slots__ = ("_array", "_at", "_count", "_from", "_spent", "_writes")
    __pytree__ = False

    def __init__(self, shape: Any, dtype: Any) -> None:
        self._array: Any = np.zeros(shape, dtype)
        self._from: Any = None  # by element: 0 where `_array` has it, else the number of the write that it is from
        self._at: Any = None  # by element: which element of that write it is, in C order
        self._writes: dict[int, Value] = {}
        self._count = self._spent = 0

    # ---- what it is

    shape = property(lambda self: self._open().shape, doc="The sizes of the axes.")
    dtype = property(lambda self: self._open().dtype, doc="The type of the elements.")
    ndim = property(lambda self: self._open().ndim, doc="The number of axes.")
    size = property(lambda self: self._open().size, doc="The number of elements.")

    def __len__(self) -> int:
        return len(self._open())

    def __repr__(self) -> str:
        if self._array is None:
            return "Buffer(frozen)"
        return f"Buffer(traced, {self.dtype}{list(self.shape)})" if self._writes else f"Buffer({summary(self._array)})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise errors.ArgumentTypeError("np.asarray", INSTEAD)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        raise errors.ArgumentTypeError(name_of(ufunc), INSTEAD)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise errors.ArgumentTypeError(name_of(func), INSTEAD)

    def _open(self) -> Any:
        if self._array is None:
            raise errors.EndedBufferError
        return self._array

    # ---- writing

    def __setitem__(self, index: Any, value: Any) -> None:
        base = self._open()
        if type(index) is not int:
            index = bare(index)
        if not isinstance(value, Traced):
            value = array(value)
        if isinstance(value, Traced):
            self._note(index, value if value._dtype is base.dtype else _fitted(value, base.dtype))
            return
        if base.dtype.kind != "c" and np.iscomplexobj(value):
            _fitted(value, base.dtype)  # raises; NumPy would drop an imaginary part
        base[index] = value
        if self._from is not None:
            self._from[index] = 0

    def _note(self, index: Any, value: Value) -> None:
        """Remember that these elements are from a traced value. NumPy says which they are, and whether the shapes fit."""
        if self._from is None:
            self._from, self._at = np.zeros(self._array.shape, np.intp), np.zeros(self._array.shape, np.intp)
        shape = shape_of(value)
        size = math.prod(shape)
        self._at[index] = np.arange(size).reshape(shape) if shape else 0
        self._count += 1
        self._from[index] = self._count
        self._writes[self._count] = value
        self._spent += size or 1
        if self._spent > SLACK * (self._from.size + SLACK):
            self._forget()

    def _forget(self) -> None:
        """Drop the writes of which nothing is left: a long loop keeps no more alive than the buffer holds."""
        self._writes = {k: self._writes[k] for k in np.unique(self._from).tolist() if k}
        self._spent = 0

    # ---- reading

    def __getitem__(self, index: Any) -> Any:
        base = self._open()
        if type(index) is not int:
            index = bare(index)
        if self._from is not None:
            source = self._from[index]
            if not isinstance(source, np.ndarray):
                if source:
                    return self._element(int(source), index)
            elif source.any():
                return self._gathered(base[index], source, self._at[index])
        found = base[index]
        return of_fresh(np.array(found)) if isinstance(found, np.ndarray) else found

    def freeze(self) -> Any:
        """What has been written: a Tensor, or a traced value if anything in it is. From then on the buffer cannot be used.

        >>> buf = buffer(2)
        >>> buf[0] = 5.0
        >>> buf.freeze()
        Tensor([5., 0.], float64[2])
        """
        base, source = self._open(), self._from
        out = of_fresh(base) if source is None or not source.any() else self._gathered(base, source, self._at)
        self._array = self._from = self._at = None
        self._writes = {}
        return out

    def _gathered(self, plain: Any, source: Any, at: Any) -> Value:
        """The elements that these notes name."""
        if (source == source.item(0)).all():
            return self._of_one(source.item(0), at)
        shape, source = source.shape, source.reshape(-1)
        order = np.argsort(source, kind="stable")
        places = at.reshape(-1)[order]
        firsts = np.flatnonzero(np.diff(source[order], prepend=-1))
        counts = np.diff(firsts, append=source.size)
        met = np.argsort(order[firsts])  # the writes in the order in which they are met: then often nothing moves
        starts, parts, total = np.empty_like(met), [], 0
        for g, low, n in zip(met.tolist(), firsts[met].tolist(), counts[met].tolist(), strict=True):
            part, size = self._wanted(plain, source, order[low : low + n], places[low : low + n])
            starts[g] = total
            parts.append(part)
            total += size
        placed = np.empty_like(places)
        placed[order] = places + np.repeat(starts, counts)
        return _read(pile(*parts), placed, total, shape)

    def _wanted(self, plain: Any, source: Any, mine: Any, places: Any) -> tuple[Value, int]:
        """One write, and its size. If less than half of it is needed, that half; `places` then become those in it."""
        k = int(source[mine[0]])
        if k:
            part = self._writes[k]
            size = math.prod(part._shape)
            if size <= 2 * mine.size:
                return part, size
        part = self._part(k, places) if k else plain.reshape(-1)[mine]
        places[:] = np.arange(mine.size)
        return part, mine.size

    def _of_one(self, k: int, at: Any) -> Value:
        """Elements of one write: as a whole, if they are all of it."""
        whole = self._writes[k]
        shape = shape_of(whole)
        if not shape:
            return broadcast_to(whole, shape=at.shape) if at.shape else whole
        if at.size == math.prod(shape) and _in_order(at.reshape(-1)):
            return whole if at.shape == shape else reshape(whole, shape=at.shape)
        return reshape(self._part(k, at.reshape(-1)), shape=at.shape)

    def _element(self, k: int, index: Any) -> Value:
        """One element of one write, which often has no other."""
        whole = self._writes[k]
        return self._part(k, self._at[index].reshape(1)) if shape_of(whole) else whole

    def _part(self, k: int, at: Any) -> Value:
        """Elements of one write. One slice where that is possible: its transpose touches nothing else."""
        whole = self._writes[k]
        if not shape_of(whole):
            return whole
        self._writes[k] = whole = flat(whole)
        first, n = int(at[0]), len(at)
        if n == 1:
            return whole[first]
        step = int(at[1]) - first
        if step > 0 and (at == np.arange(first, first + n * step, step)).all():
            return whole[first : first + (n - 1) * step + 1 : step]
        return getitem(whole, at, index=(Slot(0),))


def _fitted(value: Value, dtype: np.dtype[Any]) -> Value:
    return in_dtype("buf[…] = v", value, dtype, "Make the buffer with `fg.buffer(shape, np.{})`.")


def _in_order(places: Any) -> bool:
    return bool((places == np.arange(places.size)).all())


def _read(piled: Value, places: Any, total: int, shape: tuple[int, ...]) -> Value:
    """The elements of a vector of this length at these places."""
    if total == places.size and _in_order(places):
        return piled if shape == (total,) else reshape(piled, shape=shape)
    return getitem(piled, places.reshape(shape), index=(Slot(0),))


def buffer(shape: Any, dtype: Any = float) -> Buffer:
    """An array of zeros to be written into, also with traced values: the usual loop that fills an array element by element.

    n writes cost O(n), forward and backward. Indexing, broadcasting and casts are those of NumPy's assignment, and what does
    not fit raises: also a traced float that goes into whole numbers, and complex numbers that go into real ones.

    Args:
        shape: an int or a tuple of ints.
        dtype: of real or complex numbers, of ints or bools.

    >>> from funcgrad import grad
    >>> def last(x):
    ...     buf = buffer(3)
    ...     buf[0] = x
    ...     for i in range(1, 3):
    ...         buf[i] = buf[i - 1] * x
    ...     return buf.freeze()[2]
    >>> grad(last)(2.0)
    12.0
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc":
        raise errors.ArgumentTypeError("buffer", f"a buffer holds numbers, got the dtype {dtype}.")
    return Buffer(shape, dtype)
