"""The lists in docs/reference/numpy.md, made from the tables. `python -m tests.docs.numpy_page` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.numpy.dispatch import FUNCTIONS, METHODS, name_of
from funcgrad.numpy.parity import PARITY

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "numpy.md"
BLOCK = re.compile(r"(<!-- begin (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_DISPATCHER = type(np.sum)


def methods() -> str:
    kinds: dict[str, list[str]] = {}
    for u, method in METHODS:
        kinds.setdefault(method, []).append(name_of(u))
    return "".join(f"- `{method}` of {listed(kinds[method])}.\n" for method in sorted(kinds))


def dispatched(*modules: Any) -> set[Any]:
    """The functions of these modules that ask their arguments."""
    return {f for module in modules for f in map(module.__dict__.get, dir(module)) if type(f) is _DISPATCHER}


def linalg() -> str:
    return sentence(name_of(f) for f in dispatched(np.linalg) if f in FUNCTIONS)


def callables() -> str:
    """The same with every NumPy: it is made of our data alone."""
    notes = {name: state.note.replace("|", r"\|") for name, state in PARITY.items()}
    rows = [f"| `np.{name}` | {state.kind} | {notes[name]} |".replace("  ", " ") for name, state in PARITY.items()]
    return "\n".join(["", "| callable | state | note |", "|---|---|---|", *rows, "", ""])


def listed(names: Iterable[str]) -> str:
    return ", ".join([f"`{name}`" for name in sorted(set(names))])


def sentence(names: Iterable[str]) -> str:
    return listed(names) + ".\n"


BLOCKS: dict[str, Callable[[], str]] = {
    "methods": methods,
    "linalg": linalg,
    "callables": callables,
}


def renewed(text: str) -> str:
    """The page with every block made anew."""
    return BLOCK.sub(lambda m: m[1] + BLOCKS[m["name"]]() + m[4], text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
