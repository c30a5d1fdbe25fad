"""The lists in docs/reference/numpy.md, made from the tables. `python -m tests.docs.numpy_page` writes them anew."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.numpy.dispatch import FUNCTIONS, METHODS, UFUNCS, name_of
from funcgrad.ops.kinds import BY_UFUNC, Constant
from tests.ops.cases import CASES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "numpy.md"
BLOCK = re.compile(r"(<!-- begin (?P<name>[\w-]+) -->\n)(?P<body>.*?)(<!-- end -->)", re.DOTALL)
_DISPATCHER = type(np.sum)

FLAT = (
    "argmax argmin nanargmax nanargmin argsort argpartition lexsort searchsorted digitize argwhere nonzero flatnonzero "
    "unique_counts unique_inverse matrix_rank fix isneginf isposinf isin"
).split()
"""What is flat, though a test case goes on to compute something that is not."""


def is_flat(f: Callable[..., Any]) -> bool:
    """Whether nothing that `f` gives has a derivative: no test case of it has one."""
    cases = [case for case in CASES if f in case.covers]
    return f.__name__ in FLAT or (bool(cases) and not any(case.smooth for case in cases))


def is_refused(f: Callable[..., Any]) -> bool:
    return getattr(FUNCTIONS[f], "__name__", "") == "refuse"


def topic_of(f: Callable[..., Any]) -> str:
    """The caption of the module that implements `f`."""
    implementation: Any = FUNCTIONS[f]
    while isinstance(implementation, functools.partial):
        implementation = implementation.func
    caption = sys.modules[implementation.__module__].__doc__ or ""
    return re.split(r"[:;(\n]|\.(?!\w)", caption)[0].strip().replace("`", "")


def differentiable() -> str:
    topics: dict[str, list[str]] = {}
    for f in FUNCTIONS:
        if not is_flat(f) and not is_refused(f):
            topics.setdefault(topic_of(f), []).append(name_of(f))
    return "".join(f"- *{topic}*: {listed(topics[topic])}.\n" for topic in sorted(topics))


def ufuncs() -> str:
    return sentence(name_of(u) for u in [*BY_UFUNC, *UFUNCS] if not is_constant(u))


def flat_ufuncs() -> str:
    return sentence(name_of(u) for u in BY_UFUNC if is_constant(u))


def is_constant(u: np.ufunc) -> bool:
    return type(BY_UFUNC.get(u)) is Constant


def methods() -> str:
    kinds: dict[str, list[str]] = {}
    for u, method in METHODS:
        kinds.setdefault(method, []).append(name_of(u))
    return "".join(f"- `{method}` of {listed(kinds[method])}.\n" for method in sorted(kinds))


def flat() -> str:
    return sentence(name_of(f) for f in FUNCTIONS if is_flat(f) and not is_refused(f))


def refused() -> str:
    return sentence(name_of(f) for f in FUNCTIONS if is_refused(f))


def missing() -> str:
    found = [getattr(module, name) for module in (np, np.linalg, np.fft) for name in dir(module)]
    return sentence({name_of(f) for f in found if type(f) is _DISPATCHER and f not in FUNCTIONS})


def listed(names: Iterable[str]) -> str:
    return ", ".join([f"`{name}`" for name in sorted(set(names))])


def sentence(names: Iterable[str]) -> str:
    return listed(names) + ".\n"


BLOCKS: dict[str, Callable[[], str]] = {
    "differentiable": differentiable,
    "ufuncs": ufuncs,
    "flat-ufuncs": flat_ufuncs,
    "methods": methods,
    "flat": flat,
    "refused": refused,
    "missing": missing,
}


def renewed(text: str) -> str:
    """The page with every block made anew."""
    return BLOCK.sub(lambda m: m[1] + BLOCKS[m["name"]]() + m[4], text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
