"""The shorter forms of equations: `x[1:]`, `x.T`, `np.sum(x)`. What is in no table is a call of a function that is written out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from funcgrad.program.merging import dropped
from funcgrad.program.parts import Equation, Literal, Shape
from funcgrad.program.spelling import box_text
from funcgrad.program.standalone.spelling import ATOM, PRODUCT, SIGN, Text, weak
from funcgrad.program.vocabulary import box

if TYPE_CHECKING:
    from funcgrad.program.standalone.writer import Writer

Write = Callable[["Writer", Equation, list[Text]], Text | None]


def index_text(e: Equation, whole: Shape, gone: Shape = ()) -> str:
    """The index of a box, one position along the axes that are `gone`."""
    return box_text(box(e["starts"], e["stops"], e["steps"]), whole, gone) or "()"


def _slice(to: Writer, e: Equation, args: list[Text]) -> Text:
    return Text(f"{args[0].at(ATOM)}[{index_text(e, e.inputs[0].shape)}]")


def _take(to: Writer, e: Equation, args: list[Text]) -> Text:
    return Text(f"{args[0].at(ATOM)}[{':, ' * e['axis']}{args[1]}]")


def _reduced(function: str) -> Write:
    def text(to: Writer, e: Equation, args: list[Text]) -> Text:
        axes, is_vector = e["axis"], len(e.inputs[0].shape) == 1
        named = "" if axes and is_vector else f", axis={axes[0] if len(axes) == 1 else axes}"
        return Text(f"{function}({args[0]}{named})")

    return text


def _reshape(to: Writer, e: Equation, args: list[Text]) -> Text:
    shape = e["shape"]
    if not e.inputs[0].shape:
        return Text(f"np.reshape({args[0]}, {shape})" + ("" if shape else "[()]"))
    found = to.parts.get(id(e.inputs[0]))
    gone = dropped(e.inputs[0].shape, shape) if found else None
    if found and gone:
        return Text(f"{found[0].at(ATOM)}[{index_text(found[1], found[1].inputs[0].shape, gone)}]")
    if not shape:
        return Text(f"{args[0].at(ATOM)}[{', '.join(['0'] * len(e.inputs[0].shape))}]")
    return Text(f"{args[0].at(ATOM)}.reshape{shape if len(shape) > 1 else f'({shape[0]})'}")


def _transpose(to: Writer, e: Equation, args: list[Text]) -> Text:
    return Text(f"{args[0].at(ATOM)}.T" if e["axes"] == (1, 0) else f"{args[0].at(ATOM)}.transpose{e['axes']}")


def _astype(to: Writer, e: Equation, args: list[Text]) -> Text | None:
    dtype = e["dtype"]
    if not e.inputs[0].shape:
        return Text(f"np.{dtype.type.__name__}({args[0]})")
    return Text(f"{args[0].at(ATOM)}.astype(np.{dtype.type.__name__})")


def _dot(to: Writer, e: Equation, args: list[Text]) -> Text | None:
    if e["call"] == "matmul":
        return Text(f"{args[0].at(PRODUCT)} @ {args[1].at(PRODUCT + 1)}", PRODUCT)
    return Text(f"np.dot({args[0]}, {args[1]})") if e["call"] == "dot" else None


def _fill(to: Writer, e: Equation, args: list[Text]) -> Text:
    x = e.inputs[0]
    value = weak(x.value) if isinstance(x, Literal) and x.dtype.char in "dl?D" else None
    if value is not None and value.text == "0.0":
        return Text(f"np.zeros({e['shape']})")
    return Text(f"np.full({e['shape']}, {value or args[0]})")


def _concatenate(to: Writer, e: Equation, args: list[Text]) -> Text:
    return Text(f"np.concatenate(({', '.join(map(str, args))},), axis={e['axis']})")


def _stack(to: Writer, e: Equation, args: list[Text]) -> Text:
    return Text(f"np.stack(({', '.join(map(str, args))},), axis={e['axis']})")


def _parts(e: Equation, sizes: Sequence[str], args: list[Text]) -> Text:
    return Text(", ".join([f"{args[0].at(ATOM)}[{':, ' * e['axis']}{s}]" for s in sizes]) + "," * (len(sizes) == 1), -1)


def _split(to: Writer, e: Equation, args: list[Text]) -> Text:
    ends = [sum(e["sizes"][:k]) for k in range(len(e["sizes"]) + 1)]
    return _parts(e, [f"{a}:{b}" for a, b in itertools.pairwise(ends)], args)


def _unstack(to: Writer, e: Equation, args: list[Text]) -> Text:
    return _parts(e, [str(k) for k in range(len(e.outputs))], args)


def _power(to: Writer, e: Equation, args: list[Text]) -> Text:
    x, y = to.operands(e)
    sign = "**" if all(t.text.isidentifier() or t.text[0].isdigit() for t in (x, y)) else " ** "
    return Text(f"{x.at(ATOM)}{sign}{y.at(ATOM)}", SIGN)


def _product(to: Writer, e: Equation, args: list[Text]) -> Text:
    x, y = to.operands(e)
    return Text(f"{x.at(PRODUCT)} * {y.at(PRODUCT + 1)}", PRODUCT)


EXPRESSIONS: dict[str, Write] = {
    "scalar_power": _power,
    "scalar_multiply": _product,
    "scalar_absolute": lambda to, e, args: Text(f"abs({args[0]})"),
    "slice": _slice,
    "take": _take,
    **{name: _reduced(f"np.{name}") for name in ("sum", "mean", "max", "min", "prod", "any", "all")},
    "has_nan": lambda to, e, args: Text(f"np.isnan({args[0]}).any()"),
    "reshape": _reshape,
    "transpose": _transpose,
    "astype": _astype,
    "dot": _dot,
    "fill": _fill,
    "concatenate": _concatenate,
    "stack": _stack,
    "split": _split,
    "unstack": _unstack,
    "iota": lambda to, e, args: Text(f"np.arange({e['size']})"),
    "broadcast_to": lambda to, e, args: Text(f"np.broadcast_to({args[0]}, {e['shape']})"),
}
