"""A program as a module of its own: readable text that depends on NumPy alone.

**Law:** run in an empty namespace, it gives the program's numbers, bit for bit.

One equation is one line, in the order in which they are computed, unless what it gives is read once and on the same line of the user's
code: then it stands where it is read. Loops and branches are Python's own; a guard is an `if` that raises.
"""

from __future__ import annotations

import ast
import functools
import keyword
import linecache
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad.core import Value
from funcgrad.ops.kinds import Structured
from funcgrad.program.helpers import Helpers, NotText
from funcgrad.program.heading import Heading
from funcgrad.program.loops import split
from funcgrad.program.merging import dropped
from funcgrad.program.parts import FILL, GUARD, Atom, Equation, Line, Literal, Shape, Var, letters, variables
from funcgrad.program.program import Program
from funcgrad.program.spelling import ATOM, COMPARISON, PRODUCT, SIGN, SUM, WIDTH, Text, spelled, tidy, typed, weak, wrapped
from funcgrad.program.tidy import without_repeats
from funcgrad.program.vocabulary import FLAT, SEVERAL, bound

OPERATORS = {"add": ("+", SUM), "subtract": ("-", SUM), "multiply": ("*", PRODUCT), "divide": ("/", PRODUCT)}
OPERATORS |= {n: (s, COMPARISON) for n, s in zip("less less_equal greater greater_equal equal not_equal".split(), "< <= > >= == !=".split(), strict=True)}

TURNED = str.maketrans("<>", "><")
"""A number stands on the right."""

NESTED = 60
"""Columns: what is longer has a line and a name of its own."""

ATOMS = (ast.Call, ast.Attribute, ast.Subscript, ast.Name, ast.Tuple)

LOOSE = -1

RESERVED = frozenset("np program length".split())


@functools.lru_cache(256)
def module(program: Program) -> str:
    """The text of a module with one function, which is called as the program is."""
    to = Writer()
    heading = Heading(program)
    to.taken |= {*heading.names, *heading.positional, *heading.named}
    to.helpers.taken |= to.taken
    body = without_repeats(program.closed)
    for v, name in zip(body.inputs, heading.names, strict=True):
        to.names[v.number] = Text(name)
    to.indent = 1
    to.write(body.equations, list(variables(body.outputs)))
    to.add(f"return {heading.result([x if isinstance(x, Literal) else to.atom(x) for x in body.outputs])}")
    lines = [line for text in to.lines for line in ([text] if text.lstrip()[:1] == "#" else wrapped(text))]
    imports = [f"import {name}" for name in sorted(to.helpers.modules)]
    head = "\n".join([heading.caption(), "", *imports, *[""] * bool(imports), "import numpy as np", *[""] * bool(heading.constants()), *heading.constants()])
    defined = "\n".join([*wrapped(heading.line(list(to.foreign))), *heading.docstring(), *heading.entries(), *lines])
    return "\n\n\n".join([tidy(text.rstrip()) for text in (head, *to.helpers.texts, defined)]) + "\n"


class Writer:
    """The lines of a function, and what they need."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.helpers = Helpers()
        self.names: dict[int, Text] = {}
        self.taken: set[str] = {*RESERVED, *keyword.kwlist}
        self.foreign: dict[str, Any] = {}
        """What has no text: the function takes it by these names."""
        self.count = 0
        self.indent = 0
        self.place: tuple[str, int] | None = None
        self.parts: dict[int, tuple[Text, Equation]] = {}
        """Slices that stand where they are read."""

    # ---- names

    def add(self, text: str, line: Line | None = None) -> None:
        """One statement; where the user's line is another one than before, with a comment that shows it."""
        space = "    " * self.indent
        place = where(line)
        if line is not None and place and place != self.place:
            self.place = place
            code = linecache.getline(*place).strip()
            self.lines.append(shown(f"{space}# {line.place}{': ' if code else ''}{code}"))
        self.lines += [space + text] if text else []

    def new(self) -> str:
        """The next free name."""
        while True:
            name = letters(self.count)
            self.count += 1
            if name not in self.taken:
                self.taken.add(name)
                return name

    def named(self, v: Var) -> str:
        self.names[v.number] = Text(name := self.new())
        return name

    def atom(self, x: Atom) -> Text:
        """An operand that has a dtype of its own."""
        if isinstance(x, Var):
            return self.names[x.number]
        return typed(x.value) if x.dtype.kind in "fciub" else Text(self.helpers_value(x.value))

    def operands(self, e: Equation) -> list[Text]:
        """Operands of a ufunc: a number beside a variable of its dtype is Python's own."""
        there = {x.dtype for x in e.inputs if isinstance(x, Var)}
        return [(weak(x.value) if isinstance(x, Literal) and x.dtype in there else None) or self.atom(x) for x in e.inputs]

    def bare(self, x: Atom) -> str:
        """An operand as a name, or a number."""
        text = self.atom(x)
        if isinstance(x, Var) and not text.text.isidentifier():
            self.add(f"{self.named(x)} = {text}")
        return str(self.atom(x))

    def helpers_value(self, x: Any) -> str:
        """A param."""
        text = spelled(x)
        if text is not None:
            return text
        try:
            return self.helpers.name(x, getattr(x, "__name__", "value"))
        except NotText:
            return self.passed(x, "value")

    def passed(self, x: Any, stem: str) -> str:
        """A name of what the caller has to give."""
        for name, known in self.foreign.items():
            if known is x:
                return name
        name = f"{stem.strip('_')}_{len(self.foreign)}"
        self.foreign[name] = x
        self.taken.add(name)
        return name

    # ---- statements

    def write(self, equations: Sequence[Equation], kept: Iterable[Var]) -> None:
        """The equations, in their order."""
        uses: dict[int, int] = {v.number: 2 for v in kept}
        reader: dict[int, Equation] = {}
        for e in equations:
            for v in variables(e.inputs):
                uses[v.number] = uses.get(v.number, 0) + 1
                reader[v.number] = e
        for e in equations:
            if e.primitive is GUARD:
                self.guard(e)
            elif type(e.primitive) is Structured:
                self.structured(e)
            elif len(e.outputs) == 1 and e.primitive.name not in SEVERAL and e.primitive.name not in STATEMENTS:
                v = e.outputs[0]
                text = self.expression(e)
                once = uses.get(v.number) == 1 and where(reader[v.number].line) == where(e.line) and takes_expressions(reader[v.number])
                if once and len(text.text) <= NESTED:
                    self.names[v.number] = text
                    if e.primitive.name == "slice":
                        self.parts[id(v)] = (self.atom(e.inputs[0]), e)
                else:
                    self.add(f"{self.named(v)} = {text}", e.line)
            elif e.primitive.name in STATEMENTS:
                STATEMENTS[e.primitive.name](self, e)
            else:
                self.several(e)

    def several(self, e: Equation) -> None:
        text = self.expression(e)
        made = [self.named(v) for v in e.outputs]
        self.add(f"{', '.join(made)}{',' * (len(made) == 1)} = {text}", e.line)

    def guard(self, e: Equation) -> None:
        kind, answer = e["kind"].replace("index", "int"), e["answer"]
        x = self.atom(e.inputs[0])
        if kind == "bool":
            test = f"not {x.at(COMPARISON)}" if answer else str(x)
        else:
            test = f"{kind}({x}) != {spelled(answer)}"
        self.add(f"if {test}:", e.line)
        place = f" at {e.line.place}" if e.line else ""
        self.add(f'    raise ValueError("another path is taken{place}: recorded was {answer}")')

    def expression(self, e: Equation) -> Text:
        name = e.primitive.name
        if name in OPERATORS:
            sign, level = OPERATORS[name]
            x, y = self.operands(e)
            if level == COMPARISON and isinstance(e.inputs[0], Literal):
                x, y, sign = y, x, sign.translate(TURNED)
            return Text(f"{x.at(level + (level == COMPARISON))} {sign} {y.at(level + 1)}", level)
        if name == "negative":
            return Text(f"-{self.operands(e)[0].at(SIGN)}", SIGN)
        if isinstance(e.primitive.impl, np.ufunc):
            return Text(f"{self.helpers.name(e.primitive, name)}({', '.join(map(str, self.operands(e)))})")
        write = EXPRESSIONS.get(name)
        text = write(self, e, [self.atom(x) for x in e.inputs]) if write else None
        return text or self.call(e)

    def call(self, e: Equation) -> Text:
        """What has no shorter form: a function of ours, which is written out."""
        prim, given, params = bound(e, [self.atom(x) for x in e.inputs])
        args = [str(x) for x in given]
        named = {key: self.helpers_value(x) for key, x in params.items()}
        try:
            text = self.helpers.inlined(prim.impl, args, named)
            if text is not None:
                return Text(text, ATOM if isinstance(ast.parse(text, mode="eval").body, ATOMS) else LOOSE)
            function = self.helpers.name(prim, prim.name)
        except NotText:
            function = self.passed(prim.impl, prim.name)
        return Text(f"{function}({', '.join([*args, *[f'{k}={x}' for k, x in named.items()]])})")

    # ---- control flow

    def structured(self, e: Equation) -> None:
        write = BLOCKS.get(e.primitive.name)
        if write is not None:
            write(self, e)
            return
        function = self.passed(e.primitive.impl, e.primitive.name)
        text = f"{function}({', '.join([str(self.atom(x)) for x in e.inputs])})"
        made = [self.named(v) for v in e.outputs]
        self.add(f"{', '.join(made)}{',' * (len(made) == 1)} = {text}" if made else text, e.line)

    def within(self, program: Program, args: Sequence[str]) -> dict[int, Text]:
        """The names of a program within this one, whose inputs are these. It gives those that were."""
        names, self.names = self.names, {v.number: Text(a) for v, a in zip(program.inputs, args, strict=True)}
        return names

    def assign(self, names: Sequence[str], values: Sequence[Any]) -> None:
        """All at once; what is assigned to itself is left out."""
        pairs = [(n, str(x)) for n, x in zip(names, values, strict=True) if n != str(x)]
        if pairs:
            self.add(f"{', '.join([n for n, _ in pairs])} = {', '.join([x for _, x in pairs])}")


def where(line: Line | None) -> tuple[str, int] | None:
    """A line of the user's code; None of what is generated."""
    return None if line is None or line.filename.startswith("<funcgrad") else (line.filename, line.number)


def shown(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1].rstrip() + "…"


def takes_expressions(e: Equation) -> bool:
    """Whether an operand may be any expression: not where it is written more than once."""
    name = e.primitive.name
    return type(e.primitive) is not Structured and name not in STATEMENTS and name not in ("split", "unstack")


# ---- expressions

Write = Callable[[Writer, Equation, list[Text]], Text | None]


def _index(e: Equation, whole: Shape, gone: Shape = ()) -> str:
    """The index of a box, one position along the axes that are `gone`."""
    parts = []
    for axis, (start, stop, step, n) in enumerate(zip(e["starts"], e["stops"], e["steps"], whole, strict=True)):
        if axis in gone:
            parts.append(str(start))
        elif (start, stop, step) == (0, n, 1):
            parts.append(":")
        else:
            parts.append(f"{start or ''}:{stop if stop != n else ''}" + (f":{step}" if step != 1 else ""))
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts) or "()"


def _slice(to: Writer, e: Equation, args: list[Text]) -> Text:
    return Text(f"{args[0].at(ATOM)}[{_index(e, e.inputs[0].shape)}]")


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
        return Text(f"{found[0].at(ATOM)}[{_index(found[1], found[1].inputs[0].shape, gone)}]")
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
    return _parts(e, [f"{a}:{b}" for a, b in zip(ends, ends[1:], strict=False)], args)


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

# ---- what takes more than one line


def _pad(to: Writer, e: Equation) -> None:
    x = to.atom(e.inputs[0])
    dtype = e.outputs[0].dtype
    like = "" if dtype == np.float64 else f", np.{dtype.type.__name__}"
    name = to.named(e.outputs[0])
    to.add(f"{name} = np.zeros({e['shape']}{like})", e.line)
    to.add(f"{name}[{_index(e, e['shape'])}] = {x}")


def _changed(write: str) -> Callable[[Writer, Equation], None]:
    """A copy, in which something else stands at places."""

    def statement(to: Writer, e: Equation) -> None:
        x, v, *i = [to.atom(x) for x in e.inputs]
        name = to.named(e.outputs[0])
        to.add(f"{name} = np.array({x})", e.line)
        at = str(i[0]) if i else _index(e, e.inputs[0].shape)
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
    body, k = without_repeats(e["body"]), e["consts"] + e["carry"]
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
    cond, body, a = without_repeats(e["cond"]), without_repeats(e["body"]), e["cond_consts"]
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
            results.append(f"np.array({column}, {dtype}).reshape({(-1, *v.shape)})" if math.prod(v.shape) else f"np.empty(({f'len({column})'}, *{v.shape}), {dtype})")
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
    for k, branch in enumerate(map(without_repeats, e["branches"])):
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
    program = without_repeats(e["program"])
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
