"""Programs as generated NumPy code: a straight line of calls, without anything in between.

`compiled(program)` is a function of ground values; `source(program)` shows its text.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import keyword
import linecache
import math
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import pages
from funcgrad.borrow import COPY_LIMIT
from funcgrad.collector import hold_collector, release_collector
from funcgrad.ops.elementwise import power, square
from funcgrad.ops.kinds import Structured
from funcgrad.program.broad import broad, is_broad
from funcgrad.program.buffers import is_small, over, reused
from funcgrad.program.certificates import certified
from funcgrad.program.clusters import Cluster, Line, clustered, makes, reads
from funcgrad.program.lanes import lanes_of
from funcgrad.program.lanes_code import IN_LANES, by_lanes
from funcgrad.program.layout import in_order
from funcgrad.program.maps import ufunc_of
from funcgrad.program.merging import Buffer, Item, Statement, statements
from funcgrad.program.overwriting import overwritten
from funcgrad.program.parts import Missed, differ
from funcgrad.program.passes import simplified
from funcgrad.program.program import FILL, GUARD, Atom, Equation, Literal, Program, Var, letters, variables
from funcgrad.program.spelling import WRITERS, box_text, index_text
from funcgrad.program.sums import common, nothing
from funcgrad.program.tiles import write_tiles
from funcgrad.program.vocabulary import SEVERAL, bound, box
from funcgrad.program.winners import ADD_SHARES, winners

BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
BINARY |= {"scalar_multiply": "*", "scalar_power": "**"}
BINARY |= {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!="}
UNARY = {"negative": "-"}
"""What is quicker as an operator: NumPy's scalars have short ways for these, and the same values."""

LARGE = 1 << 8
"""Elements; a variable with so many is deleted after its last use."""

MISS = "raise Missed"
"""Where a guard does not hold. Who wants no exception writes something else there."""

TAKEN = frozenset("program Missed differ length tiles args".split())
"""Names that mean something in generated code."""

_serial = itertools.count()


class Source:
    """Lines of code and the objects that they name."""

    def __init__(self, threads: int | None = None, in_lanes: bool = False) -> None:
        self.threads = threads
        self.writers = WRITERS | IN_LANES if in_lanes else WRITERS
        self.order = ", 'F'" if in_lanes else ""
        self.functions: list[str] = []
        self.lines: list[str] = []
        self.space: dict[str, Any] = {"__name__": __name__}  # no frame of the user's
        self.known: dict[int, str] = {}
        self.names: dict[int, str] = {}
        self.forced: dict[int, str] = {}
        self.count = 0
        self.literals: dict[tuple[Literal, bool], Any] = {}
        self.indent = 1

    def add(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def constant(self, value: Any, stem: str = "k") -> str:
        """A name for an object: its own, where it is free."""
        known = self.known.get(id(value))
        if known is None:
            known = own if (own := _name_of(value)) and own not in self.space else f"{stem}_{len(self.space)}"
            self.known[id(value)] = known
            self.space[known] = value
        return known

    def function(self, stem: str, args: Sequence[str], lines: Sequence[str]) -> str:
        """The name of a function that stands before the program."""
        name = f"{stem}_{len(self.functions)}"
        self.functions.append("\n    ".join([f"def {name}({', '.join(args)}):", *lines]) + "\n\n")
        return name

    def named(self, variables: Iterable[Var]) -> list[str]:
        """New names for variables."""
        out = []
        for v in variables:
            name = self.forced.get(v.number)
            if name is None:
                name = f"{letters(self.count)}_"
                self.count += 1
            self.names[v.number] = name
            out.append(name)
        return out

    def atom(self, x: Atom, beside_scalars: bool = False) -> str:
        """An operand. Beside arrays, a 0-d array is the quickest form of a number."""
        if isinstance(x, Literal):
            is_scalar = beside_scalars or x.dtype.kind not in "fciub"
            if (x, is_scalar) not in self.literals:
                self.literals[x, is_scalar] = x.value if is_scalar else _array(x)
            return self.constant(self.literals[x, is_scalar])
        return self.names[x.number]

    def write(self, equations: Sequence[Equation], kept: Iterable[Var]) -> None:
        """The equations, one line each, or fewer."""
        stay = {v.number for v in kept}
        known = certified(list(map(quicker, equations)))
        self.put(clustered(statements(winners(known, stay), stay), stay), stay)

    def put(self, lines: Sequence[Line], stay: set[int]) -> None:
        """Statements; what is large, and not of `stay`, goes after its last use."""
        plan, covered = reused(lines, stay), overwritten(lines, stay)
        last: dict[int, int] = {}
        for k, s in enumerate(lines):
            last.update((v.number, k) for v in reads(s))
        ours = {v.number for s in lines for v in makes(s)} - stay - {v.number for v in plan.values() if is_small(v)}
        for k, s in enumerate(lines):
            if k in plan:
                self.into(s, plan[k])
            elif isinstance(s, Cluster):
                self.cluster(s, covered[k])
            else:
                self.statement(s)
            dead = {v.number: v for v in reads(s) if last[v.number] == k and v.number in ours}
            large = [self.names[i] for i, v in dead.items() if _size(v) >= LARGE]
            if large:
                self.add(f"del {', '.join(large)}")

    def into(self, s: Line, v: Var) -> None:
        """A statement whose result is written over another variable."""
        assert isinstance(s, Equation)
        if len(v.shape) > 1:
            text = self.call(over, [self.names[v.number], self.constant(ufunc_of(s)), *map(self.atom, s.inputs)])
            self.add(f"{self.named(s.outputs)[0]} = {text}")
            return
        named = "out=" if s.primitive.name in ("maximum", "minimum") else ""  # of which NumPy warns; by position it is quicker
        text = self.call(ufunc_of(s) or s.primitive.impl, [*map(self.atom, s.inputs), named + self.names[v.number]])
        self.add(f"{self.named(s.outputs)[0]} = {text}")

    def statement(self, s: Statement) -> None:
        if isinstance(s, Item):
            text = f"{self.atom(s.source.inputs[0])}[{index_text(s.source, s.dropped)}]"
            self.add(f"{self.named([s.output])[0]} = {text}")
        elif isinstance(s, Buffer):
            self.buffer(s)
        elif s.primitive is GUARD:
            self.space |= {"Missed": Missed, "differ": differ}
            other = self.other_answer(s, self.atom(s.inputs[0], True))
            self.add(f"if {other}: {MISS}({self.constant(s)})")
        else:
            text = self.expression(s)
            made = self.named(s.outputs)
            several = type(s.primitive) is Structured or len(made) != 1 or s.primitive.name in SEVERAL
            self.add(f"{', '.join(made)}{',' if several and len(made) == 1 else ''} = {text}" if made else text)

    def other_answer(self, s: Equation, x: str) -> str:
        """Whether a guard does not hold."""
        answer, kind = s["answer"], s["kind"]
        if kind == "bool" and type(answer) is bool:
            return f"not {x}" if answer else x
        now, then = f"{kind.replace('index', 'int')}({x})", self.constant(answer)
        return f"{now} != {then}" if type(answer) in (bool, int) else f"differ({now}, {then})"

    def cluster(self, s: Cluster, over: dict[int, Var]) -> None:
        """In tiles, unless the axes of an operand are in another order: the results would have it as well."""
        made = makes(s)
        self.forced = dict(zip([v.number for v in made], self.named(made), strict=True))
        operands = {self.names[v.number]: None for v in s.inputs if len(v.shape) > 1}
        if operands:
            self.add(f"if {self.constant(in_order)}({', '.join(operands)}):")
            self.indent += 1
        write_tiles(self, s, over)
        if operands:
            self.indent -= 1
            self.add("else:")
            self.indent += 1
            self.put(s.statements, {v.number for v in made})
            self.indent -= 1
        self.forced = {}

    def buffer(self, s: Buffer) -> None:
        v = s.output
        shared = None
        if v.dtype.kind in "fc" and not any(dropped for _, _, dropped in s.parts):
            shared = common([box(e["starts"], e["stops"], e["steps"]) for e, _, _ in s.parts], v.shape)
        base = "" if s.base is None else self.atom(s.base)
        operands = [self.atom(x, True) for _, x, _ in s.parts]
        name = self.named([v])[0]
        if base:
            self.add(f"{name} = {base} + {self.atom(Literal(v.dtype.type(0)))}")
        else:
            self.add(f"{name} = {self.constant(np.zeros)}({v.shape}, {self.constant(v.dtype)}{self.order})")
        if shared is not None:
            at = box_text(shared, v.shape)
            self.add(f"{name}[{at}] = " + (f"{base}[{at}]" if base else self.constant(nothing(v.dtype))))
        views: dict[str, str] = {}
        for (e, _, dropped), x in zip(s.parts, operands, strict=True):
            at = index_text(e, dropped)
            if len(dropped) < len(v.shape) and at not in views:
                views[at] = view = f"{name}_{len(views)}"
                self.add(f"{view} = {name}[{at}]")
            self.add(f"{views.get(at, f'{name}[{at}]')} += {x}")
        if views and _size(v) >= LARGE:
            self.add(f"del {', '.join(views.values())}")

    def expression(self, e: Equation) -> str:
        name = e.primitive.name
        scalars = all(not x.shape for x in e.inputs)
        args = [self.atom(x, scalars) for x in e.inputs]
        if type(e.primitive) is Structured:  # whose name says nothing: it may be that of a user's function
            return self.call(e.primitive.impl, [self.atom(x, True) for x in e.inputs], e.params)
        if scalars and name in ("multiply", "divide") and e.outputs[0].dtype.kind == "c":
            return self.call(e.primitive.impl, args)  # the operators of NumPy's complex scalars have other last bits
        if e.primitive is ADD_SHARES:
            return self.call(e.primitive.impl, [self.atom(x, True) for x in e.inputs])
        if is_broad(e):
            return self.call(broad, [self.constant(ufunc_of(e)), *args])
        if name in BINARY:
            return f"{args[0]} {BINARY[name]} {args[1]}"
        if name in UNARY:
            return f"{UNARY[name]}{args[0]}"
        if e.primitive is FILL:
            return self.constant(FILL.impl(*[x.value for x in e.inputs if isinstance(x, Literal)], **dict(e.params)))
        write = self.writers.get(name)
        text = write(self, e, args) if write is not None else None
        if text is None and isinstance(e.primitive.impl, np.ufunc):
            text = self.call(e.primitive.impl, args)
        if text is None:
            prim, given, params = bound(e, [self.atom(x, True) for x in e.inputs])
            text = self.call(prim.impl, given, params.items())
        return text

    def call(self, function: Any, args: Sequence[str], params: Iterable[tuple[str, Any]] = ()) -> str:
        named = [f"{key}={self.value(value)}" for key, value in params]
        return f"{self.constant(function, 'f')}({', '.join([*args, *named])})"

    def value(self, x: Any) -> str:
        """A param, readable where it can be."""
        plain = type(x) in (int, bool, str, type(None)) or (type(x) is tuple and all(type(i) is int for i in x))
        return repr(x) if plain else self.constant(x)

    def compile(self, head: str, *end: str) -> Callable[..., Any]:
        """The function with this head, these lines, and this end."""
        text = "\n".join([*self.functions, head, *self.lines, *end]) + "\n"
        filename = f"<funcgrad program {next(_serial)}>"
        exec(compile(text, filename, "exec"), self.space)
        function: Callable[..., Any] = self.space["program"]
        function.__dict__["source"] = text
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        weakref.finalize(function, linecache.cache.pop, filename, None).atexit = False
        return function


def _name_of(x: Any) -> str:
    """What a function or dtype is called, where that is a name that means nothing else here."""
    name = getattr(x, "__name__", "") if callable(x) else str(x) if isinstance(x, np.dtype) else ""
    if name and isinstance(of := getattr(x, "__self__", None), np.ufunc):
        name = f"{of.__name__}_{name}"
    is_free = not keyword.iskeyword(name) and not hasattr(builtins, name) and not name.endswith("_") and name not in TAKEN
    return name if is_free and name.isidentifier() and len(name) > 2 else ""


def _array(x: Literal) -> Any:
    array = np.array(x.value)
    array.flags.writeable = False
    return array


def _size(v: Var) -> int:
    return math.prod(v.shape)


@functools.cache
def power_multiplies(char: str) -> bool:
    """Whether `np.power(x, 2.0)` has the bits of `x * x`: NumPy 2.0 calls `pow`, later ones do not."""
    x = np.sqrt(np.arange(1000.0)).astype(char)
    return bool(np.array_equal(np.power(x, 2.0, dtype=char), x * x))


def quicker(e: Equation) -> Equation:
    """power(x, 2.0) -> square(x), where NumPy's own loop multiplies as well: it does so one by one."""
    x = e.inputs[-1] if e.primitive is power else None
    if isinstance(x, Literal) and x.dtype.char in "df" and x.value == 2 and e.inputs[0].shape and power_multiplies(x.dtype.char):
        return Equation(square, e.inputs[:1], e.outputs, (), e.line)
    return e


# ---- functions


@attrs.frozen(eq=False)
class Body:
    """A program as statements, the names of its inputs, and its outputs: as they are called, and what they are of `program`."""

    program: Program
    code: Source
    given: tuple[str, ...]
    outs: tuple[str, ...]


def written(program: Program, to: Source) -> Body:
    """One line after the other."""
    given = to.named(program.inputs)
    to.write(program.equations, variables(program.outputs))
    return Body(program, to, tuple(given), tuple([to.atom(x, True) for x in program.outputs]))


def listed(names: Sequence[str]) -> str:
    """What a tuple is unpacked to; there may be nothing in it."""
    return f"{', '.join(names)}, = " if names else ""


def one_call(program: Program, function: Callable[..., Any]) -> Body:
    """All that the program does, done by another function."""
    to = Source()
    given = to.named(program.inputs)
    outs = [f"y{k}_" for k in range(len(program.outputs))]
    to.functions.append("".join([f"# {line}\n" for line in function.__dict__["source"].splitlines()]) + "\n")
    to.add(f"{listed(outs)}{to.constant(function, 'run')}({', '.join(given)})")
    return Body(program, to, tuple(given), tuple(outs))


def function(made: Body) -> Callable[..., tuple[Any, ...]]:
    """The code as a function of the inputs that gives the outputs."""
    return made.code.compile(f"def program({', '.join(made.given)}):", f"    return ({''.join([f'{y}, ' for y in made.outs])})")


def straight(program: Program, threads: int | None = None, in_lanes: bool = False) -> Callable[..., tuple[Any, ...]]:
    """The function of a program that is not divided any more."""
    return function(written(program, Source(threads, in_lanes)))


@functools.lru_cache(64)
def body(program: Program, threads: int | None = None) -> Body:
    """The program, simplified and written down."""
    hold_collector()
    try:
        program = simplified(program)
        if any(_size(v) * v.dtype.itemsize > COPY_LIMIT for e in program.equations for v in e.outputs):
            pages.keep()
        lanes = lanes_of(program)
        return written(program, Source(threads)) if lanes is None else one_call(program, by_lanes(Source(threads), lanes, straight))
    finally:
        release_collector()


@functools.lru_cache(1024)
def compiled(program: Program, threads: int | None = None) -> Callable[..., tuple[Any, ...]]:
    """The program as a function of ground values: it takes its inputs and gives a tuple of its outputs.

    Args:
        threads: how many may share the work on large arrays; None: as many as there are processors.
    """
    return function(body(program, threads))


def source(program: Program) -> str:
    """The text of the generated function."""
    text: str = compiled(program).__dict__["source"]
    return text
