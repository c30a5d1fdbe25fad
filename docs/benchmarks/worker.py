"""One library on one task, in a process and on a core of its own: `worker.py LIBRARY TASK CORE`, started by run.py.

Says `ok`, or why not; then answers each line, a number of seconds, with the median time of the calls made in as long.
"""

from __future__ import annotations

import os
import statistics
import sys
from time import perf_counter

import numpy as np
from libraries import LIBRARIES, CannotError, distance
from tasks import TASKS

ALLOWED = 1e-8
"""The distance from the derivative by hand that a library may have; only the chaos of `lorenz` comes near."""


def main(library: str, name: str, core: int) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    task = TASKS[name]
    params, constants = task.inputs(np.random.default_rng(0), task.size)
    try:
        call = LIBRARIES[library](task, params, constants)
        error = distance(call(), task.by_hand(*params, *constants))
    except CannotError as reason:
        print(reason, flush=True)
        return
    except Exception as problem:  # a finding for the page, not the end of the run
        print(f"{type(problem).__name__}: {str(problem).splitlines()[0][:80]}", flush=True)
        return
    print("ok" if error < ALLOWED else f"differs from the derivative by hand by {error:.0e}", flush=True)
    for line in sys.stdin:
        times, end = [], perf_counter() + float(line)
        while not times or perf_counter() < end:
            start = perf_counter()
            call()
            times.append(perf_counter() - start)
        print(statistics.median(times), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
