"""What `hold` keeps stays as it was, and what `release` gives back is as it was."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from funcgrad import borrow
from funcgrad.borrow import COPY_LIMIT, Borrows, freeze, owned

N = COPY_LIMIT // 8 + 2  # float64 elements: above the limit, also as a view without the first

Array = np.ndarray[Any, np.dtype[Any]]


def large() -> Array:
    return np.arange(float(N))


def frozen(array: Array) -> bool:
    return not array.flags.writeable


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Every test ends with an empty ledger."""
    yield
    assert not borrow._loans
    assert not borrow._returned
    assert not borrow._busy


# Copies


def test_the_limit_itself_is_still_copied() -> None:
    """An array of exactly COPY_LIMIT bytes is copied, one byte more is borrowed."""
    borrows = Borrows()
    at, above = np.zeros(COPY_LIMIT, np.uint8), np.zeros(COPY_LIMIT + 1, np.uint8)
    assert borrows.hold(at) is not at
    assert at.flags.writeable
    assert borrows.hold(above) is above
    assert frozen(above)
    borrows.release()


def test_a_small_array_is_copied_each_time_with_the_values_of_that_time() -> None:
    """`buf[:] = data[t]; y = y + w * buf` keeps every step's values, and `buf` stays writeable."""
    borrows, buf = Borrows(), np.zeros(3)
    kept = []
    for step in range(3):
        buf[:] = step
        kept.append(borrows.hold(buf))
    assert [list(k) for k in kept] == [[0.0] * 3, [1.0] * 3, [2.0] * 3]
    borrows.release()


@pytest.mark.parametrize("array", [np.array(3.0), np.zeros((0, 4)), np.zeros((3, 0), order="F")])
def test_zero_dimensional_and_empty_arrays_are_copied(array: Array) -> None:
    """A copy keeps shape, dtype and ndarray-ness, also at 0-d and at size 0."""
    kept = Borrows().hold(array)
    assert type(kept) is np.ndarray
    assert kept is not array
    assert (kept.shape, kept.dtype) == (array.shape, array.dtype)


def test_a_copy_keeps_fortran_order() -> None:
    """A copy has the layout of its original, so that sums over it round in the same way."""
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    kept = Borrows().hold(array)
    assert kept.flags.f_contiguous
    assert not kept.flags.c_contiguous
    assert np.array_equal(kept, array)


def test_a_small_view_of_a_large_array_is_copied() -> None:
    """What counts is the size of what is held, not of its owner."""
    borrows, base = Borrows(), large()
    kept = borrows.hold(base[:3])
    base[:] = -1.0
    assert list(kept) == [0.0, 1.0, 2.0]


# Constants


@pytest.mark.parametrize("size", [3, N])
def test_a_frozen_array_is_kept_as_it_is(size: int) -> None:
    """What is read-only down to its owner is neither copied nor borrowed, and is read-only afterwards."""
    borrows, array = Borrows(), freeze(np.zeros(size))
    view = array[:]
    assert borrows.hold(array) is array
    assert borrows.hold(view) is view
    borrows.release()
    assert frozen(array)
    assert frozen(view)


@pytest.mark.parametrize("size", [24, 8 * N])
def test_bytes_are_constant(size: int) -> None:
    """An array over `bytes` is kept as it is: no one can write to it."""
    array = np.frombuffer(bytes(size))
    assert Borrows().hold(array) is array


def test_a_small_read_only_view_of_a_writeable_base_is_copied() -> None:
    """Being read-only oneself is not enough: the owner decides."""
    base = np.zeros(3)
    view = freeze(base[:])
    kept = Borrows().hold(view)
    base[:] = 1.0
    assert not kept.any()


def test_a_large_read_only_view_of_a_writeable_base_locks_the_base() -> None:
    """A read-only view of a writeable base borrows the base, and stays read-only itself."""
    borrows, base = Borrows(), large()
    view = freeze(base[1:])
    assert borrows.hold(view) is view
    assert frozen(base)
    borrows.release()
    assert base.flags.writeable
    assert frozen(view)


def test_read_only_because_lent_is_not_constant() -> None:
    """A small view taken during someone's borrow is copied: its base will be writeable again."""
    other, base = Borrows(), large()
    other.hold(base)
    kept = Borrows().hold(base[:3])
    other.release()
    base[:] = -1.0
    assert list(kept) == [0.0, 1.0, 2.0]


def test_a_large_view_born_during_a_borrow_prolongs_it() -> None:
    """A view taken during someone's borrow keeps the base locked after that borrow ends."""
    first, second, base = Borrows(), Borrows(), large()
    first.hold(base)
    second.hold(base[1:])
    first.release()
    assert frozen(base)
    second.release()
    assert base.flags.writeable


# Borrows


def test_writing_to_a_borrowed_array_raises() -> None:
    """While it is held, a large array refuses to be written; afterwards it is as before."""
    borrows, array = Borrows(), large()
    assert borrows.hold(array) is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0
    borrows.release()
    array[0] = 1.0


def test_holding_again_counts_once_and_releasing_again_does_nothing() -> None:
    """One Borrows borrows an array once, and gives it back once."""
    one, other, array = Borrows(), Borrows(), large()
    other.hold(array)
    one.hold(array)
    one.hold(array)
    one.release()
    one.release()
    assert frozen(array)
    other.release()
    assert array.flags.writeable


def test_a_borrows_can_be_used_again() -> None:
    """After `release` the same object can hold again."""
    borrows, array = Borrows(), large()
    for _ in range(2):
        borrows.hold(array)
        assert frozen(array)
        borrows.release()
        assert array.flags.writeable


def test_ids_are_not_reused_while_held() -> None:
    """Views that nobody else keeps stay alive while held, so that a new one cannot take their id."""
    borrows, base = Borrows(), large()
    ids = {id(borrows.hold(base[1:])) for _ in range(50)}
    assert len(ids) == 50
    borrows.release()


def test_fortran_order_is_borrowed_as_it_is() -> None:
    """A large Fortran-ordered array, and its transpose, are borrowed without a copy."""
    borrows, array = Borrows(), np.zeros((N, 2), order="F")
    view = array.T
    assert borrows.hold(array) is array
    assert borrows.hold(view) is view
    borrows.release()
    assert array.flags.writeable
    assert view.flags.writeable


def test_a_broadcast_array_locks_what_it_repeats() -> None:
    """A broadcast view is large however small its owner: the owner is borrowed, nothing is expanded."""
    borrows, row = Borrows(), np.zeros(3)
    view = np.broadcast_to(row, (N, 3))
    assert borrows.hold(view) is view
    assert frozen(row)
    borrows.release()
    assert row.flags.writeable


@pytest.mark.parametrize("size", [3, N])
@pytest.mark.filterwarnings("error")
def test_what_broadcast_arrays_returns_is_held_without_a_warning(size: int) -> None:
    """NumPy warns when such a view is asked whether it is writeable: `hold` and `release` do not ask."""
    borrows, row = Borrows(), np.zeros((1, size))
    view, _ = np.broadcast_arrays(row, np.zeros((3, 1)))
    borrows.hold(view)
    assert frozen(row) == (3 * size > N)
    borrows.release()
    assert row.flags.writeable


def test_a_sliding_window_locks_what_it_slides_over() -> None:
    """A read-only sliding window is borrowed through to its owner: copying it would multiply its size."""
    borrows, array = Borrows(), large()
    window = np.lib.stride_tricks.sliding_window_view(array, 10)
    assert borrows.hold(window) is window
    assert frozen(array)
    borrows.release()
    assert array.flags.writeable


def test_a_writeable_strided_view_is_copied() -> None:
    """NumPy could not make a strided view writeable again, so it is not locked."""
    array = large()
    view = np.lib.stride_tricks.as_strided(array)
    assert Borrows().hold(view) is not view
    assert view.flags.writeable
    assert array.flags.writeable


def test_a_writeable_view_of_a_read_only_owner_is_given_back() -> None:
    """A view taken before its owner was frozen is writeable again afterwards, and the owner is not."""
    borrows, base = Borrows(), large()
    view = base[1:]
    freeze(base)
    borrows.hold(view)
    assert frozen(view)
    borrows.release()
    assert view.flags.writeable
    assert frozen(base)


ORDERS = list(itertools.product(itertools.permutations(range(3)), itertools.permutations(range(3))))


@pytest.mark.parametrize(("holding", "releasing"), ORDERS)
def test_base_and_views_held_by_several_come_back_in_any_order(holding: tuple[int, ...], releasing: tuple[int, ...]) -> None:
    """The base is locked until the last one gives back, and then base and views are writeable."""
    base = large()
    arrays = [base, base[1:], base[1:][::-1]]
    holders = [Borrows() for _ in arrays]
    for i in holding:
        holders[i].hold(arrays[i])
    for i in releasing:
        assert frozen(base)
        assert frozen(arrays[i])
        holders[i].release()
    assert all(array.flags.writeable for array in arrays)


def test_nested_transformations_give_back_to_the_outer() -> None:
    """What the inner one gives back stays locked for the outer one."""
    outer, inner, array = Borrows(), Borrows(), large()
    outer.hold(array)
    inner.hold(array)
    inner.release()
    assert frozen(array)
    outer.release()
    assert array.flags.writeable


def test_exceptions_leave_nothing_behind() -> None:
    """A door that gives back in its `finally` leaves the array as it was."""
    borrows, array = Borrows(), large()

    def fail() -> None:
        try:
            borrows.hold(array)
            array[0] = 1.0
        finally:
            borrows.release()

    with pytest.raises(ValueError, match="read-only"):
        fail()
    assert array.flags.writeable


def test_release_never_raises() -> None:
    """An array that NumPy refuses to make writeable is left read-only, without an exception, and the others come back."""
    borrows, array, other = Borrows(), large(), large()
    view = array[1:]
    borrows.hold(view)
    borrows.hold(other)
    borrow._loans[id(array)].views = [np.frombuffer(bytes(8))]
    borrows.release()
    assert array.flags.writeable
    assert other.flags.writeable
    assert frozen(view)


# Not ours to lock


class Sub(np.ndarray[Any, np.dtype[Any]]):
    """A subclass, whose methods could do anything."""


@pytest.mark.parametrize("size", [3, N])
def test_subclasses_are_copied(size: int) -> None:
    """A subclass, and a view of one, is copied whatever its size, and never locked."""
    array = Sub(size)
    plain = array.view(np.ndarray)
    for given in (array, plain, freeze(array[:])):
        kept = Borrows().hold(given)
        assert kept is not given
        assert not np.shares_memory(kept, given)
    assert array.flags.writeable
    assert plain.flags.writeable


@pytest.mark.parametrize("source", [bytearray(8 * N), memoryview(bytearray(8 * N)), memoryview(bytes(8 * N))])
def test_foreign_memory_is_copied(source: Any) -> None:
    """What does not end in an array that owns its data is copied whatever its size: a flag does not protect it."""
    array = np.frombuffer(source)
    for given in (array, array[1:]):
        assert not np.shares_memory(Borrows().hold(given), array)


def test_memory_maps_are_copied(tmp_path: Any) -> None:
    """A file can change under a memory map, also a read-only one."""
    np.save(tmp_path / "x.npy", large())
    array = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert not np.shares_memory(Borrows().hold(array), array)
    assert not np.shares_memory(Borrows().hold(np.asarray(array)), array)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_unpickled_arrays_stay_writeable(protocol: int) -> None:
    """Unpickled arrays can sit on `bytes` or a buffer and be writeable: whatever they sit on, they come back writeable."""
    borrows, array = Borrows(), pickle.loads(pickle.dumps(large(), protocol))
    kept = borrows.hold(array)
    assert frozen(array) or not np.shares_memory(kept, array)
    borrows.release()
    assert array.flags.writeable


def test_a_view_taken_before_the_borrow_can_still_write() -> None:
    """The hole, which NumPy leaves no way to close: an older view writes to a borrowed array unseen."""
    borrows, array = Borrows(), large()
    older, memory = array[:], memoryview(array.data).cast("B")
    borrows.hold(array)
    older[0] = -1.0
    memory[8:16] = np.float64(-2.0).tobytes()
    assert list(array[:2]) == [-1.0, -2.0]
    borrows.release()


def test_a_view_born_during_a_borrow_stays_read_only() -> None:
    """NumPy gives a view the flag its base has at that moment; the view can be made writeable afterwards."""
    borrows, array = Borrows(), large()
    borrows.hold(array)
    view = array[1:]
    borrows.release()
    assert frozen(view)
    view.flags.writeable = True


# Lifetimes


def test_guard_gives_back_when_the_owner_dies() -> None:
    """What `vjp` holds is given back when the function it returned dies."""
    borrows, array = Borrows(), large()
    borrows.hold(array)

    def pull() -> None: ...

    borrows.guard(pull)
    gc.collect()
    assert frozen(array)
    del pull
    assert array.flags.writeable


def test_guard_of_nothing_makes_no_finaliser() -> None:
    """With nothing held, `guard` does nothing."""

    def pull() -> None: ...

    Borrows().guard(pull)
    assert weakref.getweakrefcount(pull) == 0


def test_released_arrays_are_not_kept_alive() -> None:
    """The ledger keeps an array alive while it is lent, and no longer."""
    borrows, array = Borrows(), large()
    borrows.hold(array)
    alive = weakref.ref(array)
    del array
    assert alive() is not None
    borrows.release()
    assert alive() is None


def test_a_finaliser_inside_the_ledger_waits_for_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector can run in the middle of a hold: what is given back there comes back, and what is held there is copied."""
    outer, inner, array, other, third = Borrows(), Borrows(), large(), large(), large()
    inner.hold(array)
    kept: list[Array] = []
    lock = borrow._Loan.lock

    def lock_with_a_finaliser(loan: Any, chain: list[Array]) -> None:
        assert borrow._busy
        if not kept:
            inner.release()
            kept.append(outer.hold(third))
        lock(loan, chain)

    monkeypatch.setattr(borrow._Loan, "lock", lock_with_a_finaliser)
    outer.hold(other)
    assert array.flags.writeable
    assert frozen(other)
    assert kept[0] is not third
    assert third.flags.writeable
    outer.release()
    assert other.flags.writeable


def test_collections_at_every_allocation_do_not_deadlock() -> None:
    """Finalisers that the collector runs at arbitrary lines neither block nor spoil the counts."""
    arrays = [large() for _ in range(3)]
    threshold = gc.get_threshold()

    def cycle() -> None:
        class Pull: ...

        pull, borrows = Pull(), Borrows()
        pull.self = pull  # type: ignore[attr-defined]
        for array in arrays:
            borrows.hold(array)
        borrows.guard(pull)

    gc.set_threshold(1)
    try:
        for _ in range(200):
            cycle()
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert all(array.flags.writeable for array in arrays)


# Threads and processes


def test_threads_hammering_the_same_arrays() -> None:
    """While a thread holds an array it is read-only, and when all have given back everything is writeable."""
    base = large()
    arrays = [base, base[1:], base[1:], large()]
    failures: list[str] = []

    def hammer(seed: int) -> None:
        for i in np.random.default_rng(seed).integers(0, 4, 400):
            borrows = Borrows()
            borrows.hold(arrays[i])
            borrows.hold(arrays[-1 - i])
            if not (frozen(arrays[i]) and frozen(arrays[-1 - i]) and frozen(base)):
                failures.append(f"{i} is writeable while held")
            borrows.release()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    assert all(array.flags.writeable for array in arrays)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_can_borrow() -> None:
    """A fork while other threads borrow leaves the child a lock that is free, for all its threads."""
    code = """
import os, threading, numpy as np
from funcgrad.borrow import Borrows
def use(array):
    borrows = Borrows(); borrows.hold(array); borrows.release()
mine, done = np.zeros(10_000), False
def hammer():
    while not done: use(mine)
thread = threading.Thread(target=hammer); thread.start()
for _ in range(30):
    if (pid := os.fork()) == 0:
        use(np.zeros(10_000))
        child = threading.Thread(target=use, args=(np.zeros(10_000),)); child.start(); child.join()
        os._exit(0)
    os.waitpid(pid, 0)
done = True; thread.join(); print("ok")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout == "ok\n", run.stderr


def test_owned() -> None:
    """An array owns its memory if no other array or buffer lies under it."""
    array = np.zeros(3)
    assert owned(array)
    assert owned(freeze(np.zeros(3)))
    assert not owned(array[:])
    assert not owned(np.frombuffer(bytes(8)))


def test_freeze_returns_its_argument() -> None:
    """`freeze` sets the array itself read-only."""
    array = np.zeros(3)
    assert freeze(array) is array
    assert frozen(array)
