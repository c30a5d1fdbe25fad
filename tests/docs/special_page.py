"""The table in docs/reference/special.md, made from the formula sheets. `python -m tests.docs.special_page` writes it anew."""

from __future__ import annotations

from pathlib import Path

from funcgrad.ops.special import LINES, PARTS
from funcgrad.ops.special.family import PUBLIC
from tests.docs.numpy_page import BLOCK, listed

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "special.md"


def rows() -> dict[str, str]:
    """Each function once, by the name a user writes."""
    made = {}
    for line in LINES.values():
        outputs = f", each of its {len(PARTS[line.of])} outputs" if line.of in PARTS else ""
        name = PUBLIC.get(line.of, line.of)
        made[name] = f"| `{name}`{outputs} | {listed(line.without)} | {line.source} |"
    return made


def table() -> str:
    found = rows()
    return "\n".join(["", "| function | no rule in | source |", "|---|---|---|", *[found[name] for name in sorted(found)], "", ""])


def renewed(text: str) -> str:
    """The page with the table made anew."""
    return BLOCK.sub(lambda m: m[1] + table() + m[4], text)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
