"""The example scripts run as a newcomer runs them, and learn what they say they learn."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def output_of(name: str) -> str:
    """What a script prints; its process has nothing of ours but the installed package."""
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, check=False, timeout=120)
    assert not done.returncode, done.stderr
    assert not done.stderr, "a script of the docs should run without warnings"
    return done.stdout


def accuracy(text: str) -> float:
    found = re.search(r"accuracy on \d+ held-out \w+: ([\d.]+)%", text)
    assert found, text
    return float(found[1])


def test_digits() -> None:
    """The network in plain NumPy reads at least 90 % of the digits of writers that it has never seen."""
    assert accuracy(output_of("digits.py")) >= 90


def test_logistic() -> None:
    """SciPy's optimiser takes `fg.value_and_grad` and `fg.hessian` as they are, and arrives."""
    pytest.importorskip("scipy")
    text = output_of("logistic.py")
    assert accuracy(text) >= 95
    slope = re.search(r"largest slope (\S+)", text)
    assert slope
    assert float(slope[1]) < 1e-3


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_every_script_has_a_test(path: Path) -> None:
    """A new example comes with a test of its own here."""
    assert f"test_{path.stem}" in globals()
