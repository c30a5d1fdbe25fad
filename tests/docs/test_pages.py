"""The pages say what there is: lists match the tables, every error has an entry, and links lead somewhere."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from funcgrad import errors
from tests.docs import special_page
from tests.docs.numpy_page import BLOCK, BLOCKS, PAGE, renewed
from tests.docs.test_examples import PAGES, ROOT, name_of

NAME = re.compile(r"`np\.([\w.]+)`")


def blocks(text: str) -> dict[str, str]:
    """The generated lists."""
    return {m["name"]: m["body"] for m in BLOCK.finditer(text)}


def exists(name: str) -> bool:
    at = np
    for part in name.split("."):
        at = getattr(at, part, None)
    return at is not None


def test_numpy_page() -> None:
    """The lists of docs/reference/numpy.md are those of the tables; with an older NumPy, as far as its names go."""
    text = PAGE.read_text(encoding="utf-8")
    here, now = blocks(text), blocks(renewed(text))
    assert here.keys() == BLOCKS.keys()
    for block, body in here.items():
        names = set(NAME.findall(body))
        if block == "callables" or all(map(exists, names)):
            assert body == now[block], "the tables changed: run `python -m tests.docs.numpy_page`"
        assert {name for name in names if exists(name)} <= set(NAME.findall(now[block]))


def test_special_page() -> None:
    """The table of docs/reference/special.md is that of the formula sheets."""
    text = special_page.PAGE.read_text(encoding="utf-8")
    assert text == special_page.renewed(text), "the formula sheets changed: run `python -m tests.docs.special_page`"


def test_every_error_has_an_entry() -> None:
    """docs/reference/errors.md has one heading for each exception class, and no others."""
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    classes = {name for name, cls in vars(errors).items() if inspect.isclass(cls) and issubclass(cls, Exception)}
    assert set(re.findall(r"^### `(\w+)`$", text, re.MULTILINE)) == classes


def anchors(path: Path) -> set[str]:
    """The anchors GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(path: Path) -> Iterator[tuple[Path, str]]:
    """Where the relative links of a page lead: a file, and an anchor in it."""
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            file, _, anchor = target.partition("#")
            yield (path.parent / file if file else path), anchor


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links(path: Path) -> None:
    """Every relative link leads to a file that exists, and to a heading in it."""
    for file, anchor in links(path):
        assert file.exists(), file
        assert not anchor or anchor in anchors(file), f"{file}#{anchor}"


def test_every_page_is_reachable() -> None:
    """From docs/index.md links lead to every page."""
    seen: set[Path] = set()
    todo = [(ROOT / "docs" / "index.md").resolve()]
    while todo:
        page = todo.pop()
        if page not in seen and page.suffix == ".md":
            seen.add(page)
            todo += [file.resolve() for file, _ in links(page)]
    assert {page.resolve() for page in PAGES} - seen <= {(ROOT / "README.md").resolve(), (ROOT / "docs/examples/data/README.md").resolve()}
