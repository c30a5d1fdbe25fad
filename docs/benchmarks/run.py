"""Times gradients by hand, by autograd, by MyGrad and by funcgrad on the same tasks, and writes results.md beside this file.

    python docs/benchmarks/run.py                          # everything, about three minutes
    python docs/benchmarks/run.py --tasks readme,network   # prints these, and writes nothing

Wants `pip install autograd mygrad`; a library that is not there is left out. Every library and task has a process of its own
with one thread, all on one core, and the libraries take turns: A B C, B C A, … A round is 0.15 s of calls (at least one), of
which the median counts; the time in the table is the median of the rounds. Before it is timed, every derivative is compared
with the one by hand.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
from datetime import date
from pathlib import Path

from libraries import LIBRARIES
from tasks import TASKS

HERE = Path(__file__).parent
ROUNDS, SLICE, SLOW, NOISY, QUIET = 5, 0.15, 1.0, 1.3, 1.5
TITLES = {"numpy": "by hand", "autograd": "autograd", "mygrad": "MyGrad", "funcgrad": "funcgrad", "jit": "`fg.jit`"}

# One thread; and the two variables that would slow NumPy's BLAS down, where somebody has set them, are unset.
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")} | THREADS


class Worker:
    """A library's process for a task: `problem` says why it has no times."""

    def __init__(self, library: str, task: str, core: int) -> None:
        command = [sys.executable, HERE / "worker.py", library, task, str(core)]
        self.process = subprocess.Popen(command, env=ENVIRONMENT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        answer = self.process.stdout.readline().strip()
        self.problem = "" if answer == "ok" else answer or "ended without a word"
        self.times: list[float] = []

    def round(self) -> None:
        self.process.stdin.write(f"{SLICE}\n")
        self.process.stdin.flush()
        self.times.append(float(self.process.stdout.readline()))

    def close(self) -> None:
        self.process.communicate()

    def text(self) -> str:
        """The time, with a `~` if the rounds disagree."""
        if self.problem:
            return "–"
        return duration(self.time) + ("~" if self.time > NOISY * min(self.times) else "")

    @property
    def time(self) -> float:
        return float("inf") if self.problem else statistics.median(self.times)


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size or unit == "µs":
            value = seconds / size
            return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"
    raise AssertionError


def measured(task: str, names: list[str], core: int) -> dict[str, Worker]:
    """Every library's worker, after its rounds; slow calls get fewer."""
    workers = {name: Worker(name, task, core) for name in names}
    turns = [w for w in workers.values() if not w.problem]
    for k in range(ROUNDS):
        for worker in turns[k % len(turns) :] + turns[: k % len(turns)]:
            if k < 3 or worker.times[0] < SLOW:
                worker.round()
    for worker in workers.values():
        worker.close()
    return workers


def row(task: str, workers: dict[str, Worker]) -> str:
    """One line of the table; the fastest library is bold, and its last columns compare funcgrad with the work by hand."""
    fastest = min((w.time, name) for name, w in workers.items() if name != "numpy")[1]
    cells = [f"**{w.text()}**" if name == fastest else w.text() for name, w in workers.items()]
    ratios = [workers[name].time / workers["numpy"].time for name in ("funcgrad", "jit")]
    shown = [f"{r:,.{0 if r >= 10 else 2}f} ×" if r < float("inf") else "–" for r in ratios]
    return f"| `{task}` | {TASKS[task].what} | {' | '.join([*cells, *shown])} |"


def machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        model = next((line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line), model)
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def page(rows: list[str], notes: list[str], names: list[str], loads: tuple[float, float]) -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numpy", *names[1:]) if name != "jit")
    quiet = "It was quiet." if max(loads) < QUIET else "It was shared with other work: times may be too long, and differ between runs."
    heads = " | ".join(TITLES[name] for name in names)
    lines = [
        "# Benchmarks",
        "",
        "The time of one call that gives value and gradient (in two rows: second derivatives), by one thread.",
        "*By hand* is a derivative written in NumPy for that function, and no library; the fastest library is bold.",
        "A library is timed where its result agrees with the one by hand; where it has no time, the reason stands below the table.",
        "MyGrad runs with its memory guarding off, as its documentation advises for speed.",
        "`fg.jit` is funcgrad's derivative, compiled; the two calls in which that happens are not part of the time.",
        "",
        f"{date.today()}; {machine()}; Python {platform.python_version()}; {versions}.",
        f"Load average of the machine before and after: {loads[0]:.1f} and {loads[1]:.1f}. {quiet}",
        "`~` marks times whose rounds disagree: the median is over 1.3 times the fastest.",
        "",
        f"| task | what | {heads} | funcgrad ÷ by hand | `fg.jit` ÷ by hand |",
        "|---|---|" + "---:|" * (len(names) + 2),
        *rows,
        "",
        *notes,
        "",
        "How it is measured, and how to run it, stands at the top of [run.py](run.py); the functions are in [tasks](tasks).",
        "",
        "```console",
        "pip install autograd mygrad && python docs/benchmarks/run.py",
        "```",
        "",
        "This page was written by that command.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", help="names, with commas between them")
    only = parser.parse_args().tasks
    names = [name for name in LIBRARIES if importlib.util.find_spec("funcgrad" if name == "jit" else name)]
    core = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    before, rows, notes = load(), [], []
    for task in only.split(",") if only else TASKS:
        workers = measured(task, names, core)
        rows.append(row(task, workers))
        print(rows[-1], flush=True)
        notes += [f"- `{task}`, {TITLES[name]}: {w.problem}." for name, w in workers.items() if w.problem]
    print(*notes, sep="\n")
    if not only:
        (HERE / "results.md").write_text(page(rows, notes, names, (before, load())), encoding="utf-8")


if __name__ == "__main__":
    main()
