"""Programs as drawings: boxes for operations, arrows for values. What comes of it is text, in Mermaid's or Graphviz's language."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from funcgrad.program.parts import GUARD, Atom, Equation, Var
from funcgrad.program.show import params, plain, programs, question, text, title

if TYPE_CHECKING:
    from funcgrad.program.program import Program


@attrs.frozen
class Box:
    """One node: `kind` is input, captured, equation, guard or output; and what is written in it."""

    name: str
    kind: str
    label: str


@attrs.frozen
class Arrow:
    """A value on its way from one box to another."""

    source: str
    target: str
    label: str


@attrs.frozen
class Frame:
    """A program: its boxes, its arrows, and the programs within, each drawn beside the equation that holds it."""

    name: str
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    frames: tuple[Frame, ...]


def frame(program: Program, prefix: str = "", name: str = "") -> Frame:
    """The drawing of a program; names begin with `prefix`, so that those of programs within are their own."""
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    frames: list[Frame] = []
    source: dict[int, str] = {}
    given = len(program.inputs) - len(program.captures)
    words = program.signature.words if program.signature else ("",) * given

    def box(name: str, kind: str, label: str, reads: tuple[Atom, ...], makes: tuple[Var, ...]) -> None:
        boxes.append(Box(prefix + name, kind, label))
        arrows.extend(Arrow(source[x.number], prefix + name, spec(x)) for x in reads if type(x) is Var)
        source.update((v.number, prefix + name) for v in makes)

    for k, v in enumerate(program.inputs):
        word = words[k] if k < given else "captured"
        box(f"i{k}", "input" if k < given else "captured", f"{word} {spec(v)}".strip(), (), (v,))
    for k, e in enumerate(program.equations):
        held = programs(e)
        box(f"e{k}", "guard" if e.primitive is GUARD else "equation", written(e), e.inputs, e.outputs)
        frames += [frame(p, f"{prefix}e{k}_{i}_", f"{e.primitive.name}: {name}") for i, (name, p) in enumerate(held)]
        arrows += [Arrow(prefix + f"e{k}", f"{prefix}e{k}_{i}_", "") for i in range(len(held))]
    for k, x in enumerate(program.outputs):
        box(f"o{k}", "output", f"output {spec(x)}" if type(x) is Var else f"output {x}", (x,), ())
    return Frame(prefix or "program", name or title(program), tuple(boxes), tuple(arrows), tuple(frames))


def spec(x: Atom) -> str:
    return f"{x.dtype}[{','.join(map(str, x.shape))}]"


def written(e: Equation) -> str:
    """The operation, with what it takes beside variables."""
    if e.primitive is GUARD:
        return f"guard {question(e, '·')}"
    beside = [str(x) if type(x) is not Var else "·" for x in e.inputs]
    return f"{e.primitive.name}({', '.join([*beside, *params(e)])})"


# ---- Mermaid

SHAPES = {"input": ("([", "])"), "captured": ("[(", ")]"), "equation": ("[", "]"), "guard": ("{{", "}}"), "output": ("([", "])")}


def mermaid(program: Program) -> str:
    return "\n".join(["flowchart TD", *_mermaid(frame(program), "    ")]) + "\n"


def _mermaid(f: Frame, indent: str) -> Iterator[str]:
    for b in f.boxes:
        left, right = SHAPES[b.kind]
        yield f'{indent}{b.name}{left}"{escaped(b.label)}"{right}'
    for inner in f.frames:
        yield f'{indent}subgraph {inner.name} ["{escaped(inner.title)}"]'
        yield from _mermaid(inner, indent + "    ")
        yield f"{indent}end"
    for a in f.arrows:
        label = f'|"{escaped(a.label)}"|' if a.label else ""
        yield f"{indent}{a.source} {'-->' if a.label else '-.-'}{label} {a.target}"


def escaped(label: str) -> str:
    """Mermaid's own entities for all that might mean something to it, or to the page that it stands on."""
    return re.sub(r"[^\w .,:=()\[\]·-]", lambda m: f"#{ord(m[0])};", plain(label))


# ---- Graphviz

LOOKS = {"input": "oval", "captured": "cylinder", "equation": "box", "guard": "hexagon", "output": "oval"}


def dot(program: Program) -> str:
    lines = _dot(frame(program), "    ")
    return "\n".join(["digraph {", "    compound=true", *lines, "}"]) + "\n"


def _dot(f: Frame, indent: str) -> Iterator[str]:
    for b in f.boxes:
        yield f"{indent}{b.name} [shape={LOOKS[b.kind]}, label={quoted(b.label)}]"
    for inner in f.frames:
        yield f"{indent}subgraph cluster_{inner.name} {{"
        yield f"{indent}    label={quoted(inner.title)}"
        yield from _dot(inner, indent + "    ")
        yield f"{indent}}}"
    starts = {inner.name: next(iter(inner.boxes)).name for inner in f.frames if inner.boxes}
    for a in f.arrows:
        if a.label:
            yield f"{indent}{a.source} -> {a.target} [label={quoted(a.label)}]"
        elif a.target in starts:
            yield f"{indent}{a.source} -> {starts[a.target]} [lhead=cluster_{a.target}, style=dotted, arrowhead=none]"


def quoted(label: str) -> str:
    """A string of Graphviz: a backslash would begin an escape."""
    return '"' + plain(label).replace("\\", "\\\\").replace('"', '\\"') + '"'


# ---- notebooks


def mimebundle(program: Program) -> dict[str, Any]:
    """What a notebook may choose from."""
    return {"text/plain": text(program), "text/html": page(program), "text/vnd.mermaid": mermaid(program)}


def page(program: Program) -> str:
    """The text as HTML, with names of the user as the text that they are."""
    return f"<pre>{html.escape(text(program))}</pre>"
