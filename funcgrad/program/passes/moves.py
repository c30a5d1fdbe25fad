"""Moves of elements that undo each other, or are one move."""

from __future__ import annotations

import math
from collections.abc import Sequence

from funcgrad.ops.shaping import SMALL, broadcast_to, reshape, transpose
from funcgrad.program.parts import Atom, Equation, Var
from funcgrad.program.passes.sweep import Rule, Sweep, is_line
from funcgrad.program.vocabulary import PAD, SLICE

Found = Sequence[Atom] | None


def reshaped(s: Sweep, e: Equation) -> Found:
    """To the own shape: x. Of a reshape: the last one alone, if one of them only moves ones, or all are views of a line"""
    x = e.inputs[0]
    if e["shape"] == x.shape:
        return s.view(x)
    m = s.source(x, "reshape")
    if m is None or not (e["ones"] or m["ones"] or is_line(m.inputs[0].shape)):
        return None
    before = m.inputs[0]
    if before.shape == e["shape"]:
        return s.view(before)
    ones = [n for n in before.shape if n != 1] == [n for n in e["shape"] if n != 1]
    return s.write(reshape, [before], e.outputs[0], {"shape": e["shape"], "ones": ones})


def transposed(s: Sweep, e: Equation) -> Found:
    """In the own order: x. Of a transpose: one permutation"""
    x, axes = e.inputs[0], e["axes"]
    if axes == tuple(range(len(axes))):
        return s.view(x)
    m = s.source(x, "transpose")
    return s.write(transpose, m.inputs, e.outputs[0], {"axes": tuple([m["axes"][i] for i in axes])}) if m is not None else None


def broadcast(s: Sweep, e: Equation) -> Found:
    """To the own shape: x. Of a broadcast: at once, if both are views or both are copies"""
    x = e.inputs[0]
    if e["shape"] == x.shape:
        return (x,) if s.may_be(x, e.outputs[0]) else None
    m = s.source(x, "broadcast_to")
    if m is None or math.prod(m["shape"]) <= SMALL < math.prod(e["shape"]):
        return None
    return s.write(broadcast_to, m.inputs, e.outputs[0], {"shape": e["shape"]})


def sliced(s: Sweep, e: Equation) -> Found:
    """The whole: x. Of a slice: one slice"""
    x = e.inputs[0]
    if x.shape == e.outputs[0].shape:
        return s.view(x)
    m = s.source(x, "slice")
    if m is None:
        return None
    inner = [range(*box) for box in zip(m["starts"], m["stops"], m["steps"], strict=True)]
    boxes = [r[start:stop:step] for r, start, stop, step in zip(inner, e["starts"], e["stops"], e["steps"], strict=True)]
    if not all(boxes):
        return None
    return s.write(SLICE, m.inputs, e.outputs[0], of_ranges(boxes))


def of_ranges(boxes: Sequence[range]) -> dict[str, tuple[int, ...]]:
    return {
        "starts": tuple([r.start for r in boxes]),
        "stops": tuple([r[-1] + 1 for r in boxes]),
        "steps": tuple([r.step for r in boxes]),
    }


def padded(s: Sweep, e: Equation) -> Found:
    """Zeros around zeros: one pad"""
    m = s.source(e.inputs[0], "pad")
    if m is None:
        return None
    outer = [range(*box) for box in zip(e["starts"], e["stops"], e["steps"], strict=True)]
    boxes = [r[start:stop:step] for r, start, stop, step in zip(outer, m["starts"], m["stops"], m["steps"], strict=True)]
    if not all(boxes):
        return None
    return s.write(PAD, m.inputs, e.outputs[0], {**of_ranges(boxes), "shape": e["shape"]})


def reversed_twice(s: Sweep, e: Equation) -> Found:
    """Of the reverse along the same axes: x"""
    m = s.source(e.inputs[0], "reverse")
    return (m.inputs[0],) if m is not None and m.params == e.params else None


def summed(s: Sweep, e: Equation) -> Found:
    """Over no axes, of whole numbers: x. (Floats are added to 0.0, which -0.0 does not survive.)"""
    x = e.inputs[0]
    return (x,) if e["axis"] == () and x.dtype.kind in "iu" and s.may_be(x, e.outputs[0]) else None


# ---- joining what was taken apart, and taking apart what was joined


def unstacked(s: Sweep, e: Equation) -> Found:
    """Of a stack along the same axis: its operands, if they are single numbers, or lines that are read element by element"""
    m = s.source(e.inputs[0], "stack")
    if m is None or m.params != e.params:
        return None
    return m.inputs if all(is_part(s, x, v) for x, v in zip(m.inputs, e.outputs, strict=True)) else None


def item(s: Sweep, e: Equation) -> Found:
    """One of a stack of single numbers: this number"""
    m = s.source(e.inputs[0], "slice")
    made = s.source(m.inputs[0], "stack") if m is not None and e["shape"] == () else None
    if m is None or made is None or made.inputs[0].shape:
        return None
    return s.view(made.inputs[m["starts"][0]])


def split(s: Sweep, e: Equation) -> Found:
    """Of arrays that were joined at these places: these arrays, if they are lines, that are read element by element"""
    m = s.source(e.inputs[0], "concatenate")
    if m is None or m["axis"] != e["axis"] or tuple([x.shape[e["axis"]] for x in m.inputs]) != e["sizes"]:
        return None
    return m.inputs if all(is_part(s, x, v) for x, v in zip(m.inputs, e.outputs, strict=True)) else None


def is_part(s: Sweep, x: Atom, v: Var) -> bool:
    return s.may_be(x, v) and (not x.shape or (is_line(x.shape) and s.uses[v.number].by_element))


def stacked(s: Sweep, e: Equation) -> Found:
    """All positions of a line in their order: the line"""
    m = s.source(e.inputs[0], "unstack")
    if m is None or m.outputs != e.inputs or len(m.inputs[0].shape) != 1:
        return None
    return m.inputs if s.may_be(m.inputs[0], e.outputs[0]) else None


def joined(s: Sweep, e: Equation) -> Found:
    """One array alone: x. All parts of a line: the line"""
    x = e.inputs[0]
    if len(e.inputs) == 1:
        return (x,) if s.may_be(x, e.outputs[0]) else None
    m = s.source(x, "split")
    if m is None or m.outputs != e.inputs or m["axis"] != e["axis"] or not is_line(m.inputs[0].shape):
        return None
    return m.inputs if s.may_be(m.inputs[0], e.outputs[0]) else None


def part_of_pad(s: Sweep, e: Equation) -> Found:
    """The place where x is in a pad: x, if it is a line that is read element by element"""
    m = s.source(e.inputs[0], "pad")
    if m is None or any(m[name] != e[name] for name in ("starts", "stops", "steps")):
        return None
    return m.inputs if is_part(s, m.inputs[0], e.outputs[0]) else None


RULES: dict[str, Sequence[Rule]] = {
    "reshape": (reshaped, item),
    "transpose": (transposed,),
    "broadcast_to": (broadcast,),
    "slice": (sliced, part_of_pad),
    "pad": (padded,),
    "reverse": (reversed_twice,),
    "sum": (summed,),
    "unstack": (unstacked,),
    "split": (split,),
    "stack": (stacked,),
    "concatenate": (joined,),
}
