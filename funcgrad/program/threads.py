"""Work shared among threads: they take tiles from one queue, and whoever asked takes part.

The threads of a process are made when there is work for them, and wait for more. A forked process makes its own.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any

from funcgrad.program.sharing import limit

Tile = tuple[int, int]
Work = Callable[..., tuple[bool, ...]]


def spread(work: Work, tiles: Sequence[Tile], threads: int | None, *arrays: Any) -> tuple[bool, ...]:
    """What `work(tiles, *arrays)` answers, by as many threads as may be used: each answer is true where it is for one of them.

    They have the caller's context, and so its `np.errstate`. What one of them raises is raised here, when no other works any more.
    """
    helpers = (threads or limit() or cpus()) - 1
    if helpers < 1:
        return work(tiles, *arrays)
    queue = deque(tiles)
    jobs = [Job(copy_context().run, share, work, queue, arrays) for _ in range(min(helpers, len(tiles) - 1))]
    team().start(jobs)
    try:
        answers = [share(work, queue, arrays)]
    finally:
        done = [job for job in jobs if job.ended()]
    for job in done:
        if job.error is not None:
            raise job.error
        answers.append(job.answer)
    return tuple(map(any, zip(*answers, strict=True)))


def share(work: Work, queue: deque[Tile], arrays: Sequence[Any]) -> tuple[bool, ...]:
    """One thread's part of the work. Where it raises, nothing more is begun."""
    try:
        return work(taken(queue), *arrays)
    except BaseException:
        queue.clear()
        raise


def taken(queue: deque[Tile]) -> Iterator[Tile]:
    """The tiles that nobody else has taken."""
    while True:
        try:
            tile = queue.popleft()
        except IndexError:
            return
        yield tile


def cpus() -> int:
    """How many processors this process may use."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Job:
    """A call that some thread makes, unless it is not needed any more."""

    def __init__(self, call: Callable[..., Any], *args: Any) -> None:
        self.call, self.args = call, args
        self.claim, self.end = threading.Lock(), threading.Lock()
        self.end.acquire()
        self.answer: tuple[bool, ...] = ()
        self.error: BaseException | None = None

    def run(self) -> None:
        if not self.claim.acquire(blocking=False):
            return
        try:
            self.answer = self.call(*self.args)
        except BaseException as error:
            self.error = error
        finally:
            self.call, self.args = _nothing, ()
            self.end.release()

    def ended(self) -> bool:
        """Waits for the end. False where nobody had begun: nobody will."""
        if self.claim.acquire(blocking=False):
            self.call, self.args = _nothing, ()
            return False
        self.end.acquire()
        return True


def _nothing(*args: Any) -> tuple[bool, ...]:
    return ()


class Team:
    """The threads of one process: as many as were ever asked for at once, and no more than there are processors."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Job] = SimpleQueue()
        self.lock = threading.Lock()
        self.size = 0

    def start(self, jobs: Sequence[Job]) -> None:
        if self.size < len(jobs):
            self.grow(min(len(jobs), max(cpus() - 1, 1)))
        for job in jobs[: self.size]:  # where there are no threads, nobody would take them away
            self.jobs.put(job)

    def grow(self, size: int) -> None:
        with self.lock:
            while self.size < size:
                try:
                    threading.Thread(target=serve, args=(self.jobs,), name="funcgrad", daemon=True).start()
                except RuntimeError:  # there are no threads here, or no more of them: who asks does the work
                    return
                self.size += 1


def serve(jobs: SimpleQueue[Job]) -> None:
    while True:
        job = jobs.get()
        job.run()
        del job  # it would hold its error, and so the arrays of the call, until the next one


_teams: dict[int, Team] = {}


def team() -> Team:
    """That of this process: a forked one inherits the object, and none of its threads."""
    pid = os.getpid()
    return _teams.get(pid) or _teams.setdefault(pid, Team())
