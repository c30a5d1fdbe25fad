"""`jit(…, threads=…)`: how many threads share the work on large arrays."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

CODE = """
import threading
import numpy as np
import funcgrad as fg

x = np.linspace(0.1, 1.0, 200_000)
f = lambda x: np.sum(np.exp(x) * np.sin(x) + np.tanh(x))

def helpers():
    return sum(t.name == "funcgrad" for t in threading.enumerate())

def body(c, _):
    return np.exp(-c) * np.sin(c), None

alone = [fg.jit(fg.grad(f), threads=1), fg.grad(fg.jit(f, threads=1)), fg.jit(threads=np.int64(1))(lambda x: fg.scan(body, x, length=2)[0])]
for g in alone:
    for _ in range(4):
        g(x)
assert helpers() == 0
both = fg.jit(fg.grad(f), threads=2)
for _ in range(4):
    assert np.array_equal(both(x), alone[0](x))
assert helpers() == 1
"""


def test_so_many_threads() -> None:
    """None but the caller's by `threads=1`: in the call, in loops, and in what is pulled back after it. The bits are the same."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("threads", [0, -1, 1.0, True, "2"])
def test_what_is_no_number_of_threads(threads: Any) -> None:
    """It is said when the function is made."""
    with pytest.raises(errors.ArgumentError) as caught:
        fg.jit(np.sin, threads=threads)
    assert str(caught.value) == f"jit(sin): threads must be a positive int or None, got {threads!r}."


def test_it_is_a_decorator() -> None:
    """With arguments and without."""

    @fg.jit(threads=2)
    def f(x: Any, y: Any = 1.0) -> Any:
        return x * y

    for _ in range(5):
        assert f(2.0, y=3.0) == 6.0
        assert f(2.0) == 2.0
    assert f.stats(2.0).paths == 1  # type: ignore[attr-defined]
    assert f.__name__ == "f"
