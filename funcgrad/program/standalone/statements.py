"""What takes more than one line: arrays that are filled, loops, branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from funcgrad.program.hoisting import split
from funcgrad.program.parts import Atom, Equation, Var, variables
from funcgrad.program.passes import simplified_here
from funcgrad.program.standalone.expressions import index_text
from funcgrad.program.standalone.spelling import COMPARISON, Text

if TYPE_CHECKING:
    from funcgrad.program.standalone.writer import Writer

# ---- arrays that are filled


def _pad(to: Writer, e: Equation) -> None:
    x = to.atom(e.inputs[0])
    dtype = e.outputs[0].dtype
    like = "" if dtype == np.float64 else f", np.{dtype.type.__name__}"
    name = to.named(e.outputs[0])
    to.add(f"{name} = np.zeros({e['shape']}{like})", e.line)
    to.add(f"{name}[{index_text(e, e['shape'])}] = {x}")


def _changed(write: str) -> Callable[[Writer, Equation], None]:
    """A copy, in which something else stands at places."""

    def statement(to: Writer, e: Equation) -> None:
        x, v, *i = [to.atom(x) for x in e.inputs]
        name = to.named(e.outputs[0])
        to.add(f"{name} = np.array({x})", e.line)
        at = str(i[0]) if i else index_text(e, e.inputs[0].shape)
        to.add(write.format(out=name, at=at, v=v))

    return statement


def _scatter_add(to: Writer, e: Equation) -> None:
    i, x = [to.bare(x) for x in e.inputs]
    v, axis = e.outputs[0], e["axis"]
    name = to.named(v)
    like = "" if v.dtype == np.float64 else f", np.{v.dtype.type.__name__}"
    to.add(f"{name} = np.zeros({v.shape}{like})", e.line)
    index = f"({'slice(None), ' * axis}{i},)" if axis else i
    to.add(f"np.add.at({name}, {index}, {x})" if e.inputs[0].shape else f"{name}[{':, ' * axis}{i}] = {x}")


STATEMENTS: dict[str, Callable[[Writer, Equation], None]] = {
    "pad": _pad,
    "update": _changed("{out}[{at}] = {v}"),
    "put": _changed("{out}[{at}] = {v}"),
    "add_at": _changed("np.add.at({out}, {at}, {v})"),
    "max_at": _changed("np.maximum.at({out}, {at}, {v})"),
    "min_at": _changed("np.minimum.at({out}, {at}, {v})"),
    "scatter_add": _scatter_add,
}

# ---- loops and branches


def _own(to: Writer, atoms: Sequence[Atom]) -> list[str]:
    """New names that begin with these values."""
    made = []
    for x in atoms:
        text = to.atom(x)
        made.append(name := to.new())
        to.add(f"{name} = {text}")
    return made


def _ys(to: Writer, outputs: Sequence[Var]) -> list[str]:
    return [to.named(v) for v in outputs]


def _scan(to: Writer, e: Equation) -> None:
    body, k = simplified_here(e["body"]), e["consts"] + e["carry"]
    fixed = [to.bare(x) for x in e.inputs[: e["consts"]]]
    columns = [to.bare(x) for x in e.inputs[k:]]
    to.add("", e.line)
    carry = _own(to, e.inputs[e["consts"] : k])
    ys = _ys(to, e.outputs[e["carry"] :])
    outer = to.within(body, [*fixed, *carry, *columns])
    still, moving = split(body, e["consts"])
    to.write(still, [v for q in moving for v in variables(q.inputs)] + list(variables(body.outputs)))
    for name, v in zip(ys, body.outputs[e["carry"] :], strict=True):
        to.add(f"{name} = np.empty({(e['length'], *v.shape)}, np.{v.dtype.type.__name__})")
    t, steps = to.new(), f"range({e['length']})"
    to.add(f"for {t} in {f'reversed({steps})' if e['reverse'] else steps}:")
    to.indent += 1
    for v, column in zip(body.inputs[k:], columns, strict=True):
        to.names[v.number] = Text(name := to.new())
        to.add(f"{name} = {column}[{t}]")
    to.write(moving, list(variables(body.outputs)))
    for name, x in zip(ys, body.outputs[e["carry"] :], strict=True):
        to.add(f"{name}[{t}] = {to.atom(x)}")
    to.assign(carry, [to.atom(x) for x in body.outputs[: e["carry"]]])
    if not (moving or ys or carry or columns):
        to.add("pass")
    to.indent -= 1
    to.names = outer
    for v, name in zip(e.outputs, carry, strict=False):
        to.names[v.number] = Text(name)


def _while(to: Writer, e: Equation) -> None:
    cond, body, a = simplified_here(e["cond"]), simplified_here(e["body"]), e["cond_consts"]
    n = a + e["body_consts"]
    fixed = [to.bare(x) for x in e.inputs[:n]]
    to.add("", e.line)
    carry = _own(to, e.inputs[n:])
    counter = to.new() if e["counts"] else ""
    if counter:
        to.add(f"{counter} = 0")
    columns = [to.new() for _ in body.outputs[len(carry) :]]
    for column in columns:
        to.add(f"{column} = []")
    to.add("while True:")
    to.indent += 1
    outer = to.within(cond, [*fixed[:a], *carry])
    to.write(cond.equations, list(variables(cond.outputs)))
    to.add(f"if not {to.atom(cond.outputs[0]).at(COMPARISON)}:")
    to.add("    break")
    to.within(body, [*fixed[a:], *carry])
    to.write(body.equations, list(variables(body.outputs)))
    for column, x in zip(columns, body.outputs[len(carry) :], strict=True):
        to.add(f"{column}.append({to.atom(x)})")
    to.assign(carry, [to.atom(x) for x in body.outputs[: len(carry)]])
    if counter:
        to.add(f"{counter} += 1")
    to.indent -= 1
    to.names = outer
    results = [*carry, *([f"np.int64({counter})"] if counter else [])]
    if counter:
        for column, v in zip(columns, body.outputs[len(carry) :], strict=True):
            dtype = f"np.{v.dtype.type.__name__}"
            results.append(f"np.array({column}, {dtype}).reshape(({counter}, {''.join([f'{n}, ' for n in v.shape])}))")
    for v, text in zip(e.outputs, results, strict=True):
        if text in carry:
            to.names[v.number] = Text(text)
        else:
            to.add(f"{to.named(v)} = {text}")


def _cond(to: Writer, e: Equation) -> None:
    which, *operands = [to.bare(x) for x in e.inputs]
    made = [to.named(v) for v in e.outputs]
    to.add(f"{(w := to.new())} = int({which})", e.line)
    last = len(e["branches"]) - 1
    outer = to.names
    for k, branch in enumerate(map(simplified_here, e["branches"])):
        to.add("else:" if k == last and k else f"{'elif' if k else 'if'} {w} == {k}:")
        to.indent += 1
        to.within(branch, operands)
        to.write(branch.equations, list(variables(branch.outputs)))
        to.assign(made, [to.atom(x) for x in branch.outputs])
        if not branch.equations and not made:
            to.add("pass")
        to.indent -= 1
    to.names = outer


def _inside(to: Writer, e: Equation) -> None:
    """The program of a call stands where it is called."""
    program = simplified_here(e["program"])
    outer = to.within(program, [to.bare(x) for x in e.inputs])
    to.write(program.equations, list(variables(program.outputs)))
    results = [to.atom(x) for x in program.outputs]
    to.names = outer
    for v, text in zip(e.outputs, results, strict=True):
        if text.text.isidentifier():
            to.names[v.number] = text
        else:
            to.add(f"{to.named(v)} = {text}")


BLOCKS: dict[str, Callable[[Writer, Equation], None]] = {"scan": _scan, "while": _while, "cond": _cond, "call": _inside}
