"""Values and expressions as Python text: what the text evaluates to has the same bits."""

from __future__ import annotations

import ast
import io
import math
import tokenize
from typing import Any

import attrs
import numpy as np

WIDTH = 88
"""Columns of a line."""

FEW = 16
"""Elements; an array of so many is written out."""

COMPARISON, SUM, PRODUCT, SIGN, ATOM = range(5)
"""How strongly an expression holds together."""

_PLAIN = {np.dtype(np.float64): float, np.dtype(np.int64): int, np.dtype(np.bool_): bool, np.dtype(np.complex128): complex}
"""The dtypes that a Python number has when it stands alone."""


@attrs.frozen
class Text:
    """An expression, and how strongly it holds together."""

    text: str
    level: int = ATOM

    def at(self, level: int) -> str:
        """As an operand of what holds together as strongly as `level`."""
        return self.text if self.level >= level else f"({self.text})"

    def __str__(self) -> str:
        return self.text


# ---- numbers


def weak(x: np.generic) -> Text | None:
    """A number as Python's own, which takes the dtype of what it meets; None where Python has none with these bits."""
    if x.dtype.kind == "b":
        return Text(str(bool(x)))
    if x.dtype.kind in "iu":
        return _signed(str(int(x)))
    if x.dtype.kind == "f" and x.dtype.char != "g":
        return _signed(_float(x))
    if x.dtype.char == "D":
        return Text(f"complex({_float(x.real)}, {_float(x.imag)})")
    return None


def typed(x: np.generic) -> Text:
    """A number of a dtype of its own: `np.float32(0.1)`."""
    if x.dtype.char == "g":
        return Text(f'np.longdouble("{x!s}")')
    if x.dtype.char == "G":
        return Text(f"np.array([{typed(x.real)}, {typed(x.imag)}]).view(np.clongdouble)[0]")
    if x.dtype.kind == "c":
        return Text(f"np.{x.dtype.name}(complex({_float(x.real)}, {_float(x.imag)}))")
    return Text(f"np.{type(x).__name__}({weak(x) or repr(x.item())})")


def _signed(text: str) -> Text:
    return Text(text, SIGN if text.startswith("-") else ATOM)


def _float(x: Any) -> str:
    if not np.isfinite(x):
        return "np.nan" if np.isnan(x) else "np.inf" if x > 0 else "-np.inf"
    short = str(x.item() if x.dtype.char == "d" else x)  # the shortest digits that tell it from its neighbours
    text = short if x.dtype.type(float(short)) == x else repr(float(x))
    return text


# ---- data


def spelled(x: Any) -> str | None:
    """A value as an expression; None where it has none, or a long one."""
    if x is None or type(x) in (bool, int, str, bytes):
        return repr(x)
    if type(x) is float:
        return _float(np.float64(x)) if math.isfinite(x) else f'float("{x}")'
    if type(x) is complex:
        return f"complex({spelled(x.real)}, {spelled(x.imag)})"
    if type(x) in (tuple, list):
        parts = [spelled(item) for item in x]
        if None in parts:
            return None
        inner = ", ".join([str(p) for p in parts])
        return f"({inner}{',' * (len(parts) == 1)})" if type(x) is tuple else f"[{inner}]"
    if type(x) is slice:
        return f"slice({spelled(x.start)}, {spelled(x.stop)}, {spelled(x.step)})"
    if isinstance(x, np.dtype):
        return f'np.dtype("{x.name}")' if x.isnative and x.names is None else None
    if isinstance(x, np.generic):
        return str(typed(x))
    return array(x) if type(x) is np.ndarray and x.size <= FEW else None


def array(x: np.ndarray[Any, Any]) -> str | None:
    """`np.array([0.5, 1.0])`, with the dtype where it would be another one."""
    kind = _PLAIN.get(x.dtype)
    if kind is None and (x.dtype.kind not in "iuf" or x.dtype.char == "g"):
        return None
    if not x.size:
        return f'np.empty({x.shape}, "{x.dtype.name}")'
    text = _rows(x)
    return f"np.array({text})" if kind else f'np.array({text}, "{x.dtype.name}")'


def _rows(x: Any) -> str:
    return f"[{', '.join(map(_rows, x))}]" if x.ndim else str(weak(x.dtype.type(x)))


# ---- lines


def tidy(text: str) -> str:
    """Strings in double quotes, where that changes nothing but the quotes."""
    lines = text.split("\n")
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        (row, start), (end_row, end) = token.start, token.end
        if token.type == tokenize.STRING and row == end_row and token.string[0] == "'" and not set('"\\') & set(token.string):
            lines[row - 1] = f'{lines[row - 1][:start]}"{token.string[1:-1]}"{lines[row - 1][end:]}'
    return "\n".join(lines)


def wrapped(line: str) -> list[str]:
    """A statement in lines that are short enough, broken in its last bracket as Black does it."""
    indent = len(line) - len(line.lstrip())
    place = _last_bracket(line) if len(line) > WIDTH else None
    if place is None:
        return [line]
    opened, closed = place
    inner, deeper = line[opened + 1 : closed], " " * (indent + 4)
    parts = _parts(inner)
    if len(deeper + inner) > WIDTH and len(parts) > 1:
        broken = [row for part in parts for row in wrapped(f"{deeper}{part},")]
    else:
        broken = wrapped(deeper + inner)
    return [line[: opened + 1], *broken, " " * indent + line[closed:]]


def _brackets(text: str) -> list[tuple[int, str]]:
    """Where brackets and commas stand that are not in strings."""
    found, quote = [], ""
    for k, c in enumerate(text):
        if quote:
            quote = "" if c == quote and text[k - 1] != "\\" else quote
        elif c in "\"'":
            quote = c
        elif c in "()[]{},":
            found.append((k, c))
    return found


def _last_bracket(line: str) -> tuple[int, int] | None:
    """The last pair of outermost brackets that holds something and may be broken."""
    depth, pairs, start = 0, [], 0
    for k, c in _brackets(line):
        if c in "([{":
            depth += 1
            start = k if depth == 1 else start
        elif c in ")]}":
            depth -= 1
            if depth == 0 and k > start + 1:
                pairs.append((start, k))
    return pairs[-1] if pairs else None


def _parts(inner: str) -> list[str]:
    """What stands between the outermost commas."""
    depth, parts, start = 0, [], 0
    for k, c in _brackets(inner):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(inner[start:k].strip())
            start = k + 1
    parts.append(inner[start:].strip())
    is_whole = all(_is_expression(part) for part in parts if part)
    return [part for part in parts if part] if is_whole else [inner]


def _is_expression(text: str) -> bool:
    try:
        ast.parse(f"f({text})", mode="eval")
    except SyntaxError:
        return False
    return True
