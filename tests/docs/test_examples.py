"""Every Python example in README.md, docs/ and the docstrings runs, and prints what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest
from sybil import Sybil
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [path for path in sorted((ROOT / "funcgrad").rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def run(path: Path, sybil: Sybil) -> int:
    """Runs the examples of a file in one namespace, in their order; raises where one prints something else than it says."""
    examples = list(sybil.parse(path).examples())
    with np.printoptions():  # what a page sets ends with the page
        for example in examples:
            example.evaluate()
    return len(examples)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_page(path: Path) -> None:
    """The ```python blocks of a page are one session: statements run, and what stands behind `>>>` prints what follows."""
    count = run(path, Sybil([PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS)]))
    assert count or "```python" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_docstrings(path: Path) -> None:
    """The examples in a module's docstrings run with the module's own names at hand."""
    assert run(path, Sybil([DocTestParser()]))
