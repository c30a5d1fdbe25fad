"""Arrays that are not ours are copied when small, and borrowed (counted, read-only until given back) when large.

A borrow is the read guard of an `RwLock`, for NumPy: while it lasts, writing to the array raises NumPy's own read-only error.
NumPy has no way to revoke what was handed out earlier, so these can still write to a borrowed array, and nothing here sees it:
another view taken before the borrow, a memoryview taken before it, and memory shared with other libraries (pandas, torch, mmap);
and whoever sets `flags.writeable = True` by hand. A view taken during a borrow is born read-only, and stays so;
an array that its user freezes during a borrow is writeable again after it, because NumPy has one flag for both.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_WRITEABLE = 0x400  # NPY_ARRAY_WRITEABLE: reading `flags.writeable` itself warns for what `np.broadcast_arrays` returns
COPY_LIMIT = 65536  # bytes; up to here a copy costs no more than a borrow
_Strided: Any = type(np.lib.stride_tricks.as_strided(np.empty(1)).base)  # NumPy keeps the array under a strided view in its `.base`
_set_writeable: Any = np.ndarray.setflags  # by position, which the stubs refuse: a quarter of the time of `flags.writeable =`


class Borrows:
    """The arrays one transformation keeps until it ends."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[int, tuple[Array, _Loan]] | None = None

    def hold(self, array: Array) -> Array:
        """Returns `array`, or a copy of it, whose values stay as they are until `release`.

        Copied: up to `COPY_LIMIT` bytes; and, of any size, subclasses and memory that NumPy does not own, which no flag protects.
        Neither copied nor borrowed: what is read-only down to its owner.
        """
        if array.nbytes <= COPY_LIMIT:
            return array if not array.flags.num & _WRITEABLE and is_constant(array) else array.copy("K")
        if self._held is not None and id(array) in self._held:
            return array
        chain, end = _bases(array)
        if end is None and chain[-1].flags.owndata:  # without a base and without its data: memory lent by C code
            return self._borrow(array, chain)
        return array if is_constant(array) else array.copy("K")

    def _borrow(self, array: Array, chain: list[Array]) -> Array:
        global _busy
        with _lock:
            if _busy:  # a finaliser called us while its thread was changing the ledger
                return array.copy("K")
            try:
                _busy = True
                loan = _loans.get(id(chain[-1])) or _new_loan(chain)
                if loan is not None:
                    # Entered before the flags are set: an interrupt in between must leave something to give back.
                    self._enter(array, loan)
                    loan.lock(chain)
            finally:
                _busy = False
            if _returned:
                _settle()
        return array

    def _enter(self, array: Array, loan: _Loan) -> None:
        held = self._held
        if held is None:
            self._held = {id(array): (array, loan)}
        elif id(array) not in held:  # two threads may use the same Borrows
            held[id(array)] = (array, loan)
        else:
            return
        loan.count += 1

    def release(self) -> None:
        """Gives everything back; never raises, and a second call does nothing."""
        if self._held is None:
            return
        with _lock:
            held, self._held = self._held, None
            if held is not None:
                _returned.extend(held.values())
                _settle()

    def guard(self, owner: object) -> None:
        """Gives everything back when `owner` dies; call it after the last `hold`, since with nothing held it does nothing."""
        if self._held is not None:
            weakref.finalize(owner, self.release).atexit = False


class _Held(Borrows):
    __slots__ = ()

    def hold(self, array: Array) -> Array:
        return array


HELD = _Held()
"""For a walk over nodes: the arrays it meets are held by the nodes already, or its own."""


def freeze(array: Array) -> Array:
    """Sets `array` read-only and returns it."""
    _set_writeable(array, False)
    return array


def owned(array: Array) -> bool:
    """Whether the memory is the array's own, so that whoever has the array, and no one else, can write to it."""
    return array.base is None and array.flags.owndata


class _Loan:
    """What is lent of one owner: itself, and the views of it that were locked.

    One count per owner, not per view: NumPy lets no view be writeable again before its owner is.
    """

    __slots__ = ("count", "owner", "views", "writeable")

    def __init__(self, owner: Array, writeable: bool) -> None:
        self.owner = owner
        self.writeable = writeable
        self.views: list[Array] | None = None
        self.count = 0

    def lock(self, chain: list[Array]) -> None:
        # Only views that were writeable are kept, so that a long loan does not collect the short-lived views of others.
        if len(chain) > 1:
            self._lock_views(chain[:-1])
        _set_writeable(self.owner, False)

    def _lock_views(self, views: list[Array]) -> None:
        for view in views:
            if view.flags.num & _WRITEABLE:
                self.views = [*(self.views or ()), view]
                _set_writeable(view, False)

    def unlock(self) -> None:
        _thaw(self.owner)  # the owner first, even one that was read-only itself: under it NumPy refuses to free a view
        if self.views is not None:
            for view in self.views:
                _thaw(view)
        if not self.writeable:
            _set_writeable(self.owner, False)


# The ledger. A finaliser can run between any two lines, even of a function that is changing the ledger in the same thread:
# so the lock is re-entrant, `_busy` says that a change is under way, and what a finaliser gives back waits in `_returned`.
_lock = threading.RLock()
_loans: dict[int, _Loan] = {}  # by id of the owner, which the loan keeps alive
_returned: list[tuple[Array, _Loan]] = []
_busy = False

if hasattr(os, "register_at_fork"):  # a child must not inherit a lock whose thread it does not have
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def _new_loan(chain: list[Array]) -> _Loan | None:
    """Enters a loan of the owner at the end of `chain`; None where nothing is writeable, so that there is nothing to lend."""
    owner = chain[-1]
    writeable = bool(owner.flags.num & _WRITEABLE)
    if not writeable and _all_read_only(chain):
        return None
    loan = _loans[id(owner)] = _Loan(owner, writeable)
    return loan


def _settle() -> None:
    """Ends the loans that came back; the caller has the lock, and a nested call leaves its loans to the outer one."""
    global _busy
    while _returned and not _busy:
        try:
            _busy = True
            while _returned:
                _, loan = _returned.pop()
                loan.count -= 1
                if loan.count == 0:
                    loan.unlock()
                    del _loans[id(loan.owner)]
        finally:
            _busy = False


def _thaw(array: Array) -> None:
    try:  # noqa: SIM105 - `suppress` costs several times the call
        _set_writeable(array, True)
    except ValueError:  # NumPy refuses: the user changed what lies under it meanwhile
        pass


def _bases(array: Array) -> tuple[list[Array], object]:
    """The plain ndarrays from `array` down, and what lies under the last: None, or something whose memory NumPy does not rule."""
    base: Any = array.base
    if base is None and type(array) is np.ndarray:  # the common case, in half the time
        return [array], None
    chain: list[Array] = []
    base = array
    while type(base) is np.ndarray:
        chain.append(base)
        base = base.base
        if type(base) is _Strided and not chain[-1].flags.num & _WRITEABLE:  # NumPy could not make a writeable one writeable again
            base = base.base
    return chain, base


def is_constant(array: Array) -> bool:
    """Whether no one can write: read-only down to an owner or to `bytes`, and not merely because it is lent."""
    chain, end = _bases(array)
    if not chain or not (type(end) is bytes or owned(chain[-1])):
        return False
    with _lock:
        return id(chain[-1]) not in _loans and _all_read_only(chain)


def _all_read_only(chain: list[Array]) -> bool:
    for view in chain:  # noqa: SIM110 - a generator costs 0.3 µs
        if view.flags.num & _WRITEABLE:
            return False
    return True
