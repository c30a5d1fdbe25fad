"""Recording: a function runs for real, and every operation is written down as an equation.

**Rule:** a recording is made on ground values and is closed. A traced value from outside becomes a hidden input with its ground value;
nothing traced flows inside, and every look goes through a guard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad import errors, pytree
from funcgrad.borrow import COPY_LIMIT, Borrows
from funcgrad.collector import hold_collector, release_collector
from funcgrad.core import Interpreter, Label, Primitive, Traced, Value, dtype_of, ground, shape_of, tick
from funcgrad.later import later
from funcgrad.numpy.bridge import bare
from funcgrad.ops import reductions
from funcgrad.ops.kinds import Structured
from funcgrad.ops.shaping import astype
from funcgrad.program.lower import LOWER, typed
from funcgrad.program.parts import live
from funcgrad.program.program import (
    FILL,
    GUARD,
    KINDS,
    Atom,
    Builder,
    Line,
    Program,
    Var,
    literal,
    renumbered,
    sorted_params,
    spec_like,
)
from funcgrad.program.promotion import PYTHON_NUMBERS
from funcgrad.program.vocabulary import IOTA, OWN, of_equation
from funcgrad.tensor import Tracer, user_frame
from funcgrad.transforms import scalars
from funcgrad.transforms.arguments import describe, kind_of
from funcgrad.transforms.batch import BatchTracer
from funcgrad.transforms.batching import lane_of
from funcgrad.transforms.calls import MEANINGS
from funcgrad.transforms.derivatives import has_nan

_ndarray = np.ndarray


class RecordTracer(Tracer):
    """A value and its variable. A Python number stays one: it is weak among NumPy's dtypes."""

    __slots__ = ("_var",)
    _main: Recorder
    _var: Var

    __mul__, __rmul__ = scalars.multiply, scalars.rmultiply
    __pow__, __rpow__ = scalars.power, scalars.rpower
    __abs__ = scalars.absolute

    def __bool__(self) -> bool:
        return bool(self._main.look(self, "bool"))

    def __int__(self) -> int:
        return int(self._main.look(self, "int"))

    def __index__(self) -> int:
        if self._dtype.kind not in "iu":
            return super().__index__()
        return int(self._main.look(self, "index"))

    def _number(self) -> Any:
        if self._shape and np.size(self._value) != 1:
            return self._main.seen(self)
        self._main.look(self, "complex" if self._dtype.kind == "c" else "float")
        return np.asarray(self._value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if dtype is None or np.dtype(dtype) == np.dtype(object):
            return super().__array__(dtype, copy)
        return np.array(self._main.seen(self), dtype)


class Recorder(Interpreter):
    """Computes on ground values, and writes down."""

    records = True

    __slots__ = ("borrows", "builder", "errors", "folds", "hidden", "line", "operands", "quiet", "spoiled", "stamps")

    def __init__(self, label: Label, folds: bool = False, borrows: Borrows | None = None) -> None:
        self.order, self.label, self.new = tick(), label, RecordTracer
        self.closed = self.tensors = False
        self.builder = Builder()
        self.folds = folds  # whether arrays from outside are constants
        self.line: Line | None = None  # of the equation that a derived one comes from
        self.spoiled = False  # whether an operation raised, which the function may have caught; or an array was written to
        self.borrows = borrows  # keeps large arrays from being written to, if there is one
        self.errors: dict[str, Any] = {**np.geterr()}
        self.quiet = False  # whether the function asks NumPy for less or other words about errors than its caller
        self.operands: list[Any] = []
        self.hidden: dict[int, RecordTracer] = {}  # by id of the operand, which `operands` keeps alive
        self.stamps: dict[int, bytes | None] = {}  # likewise: what the array held when it was met

    def trace(self, value: Value, var: Var) -> RecordTracer:
        t = self.new()
        t._main, t._value, t._var, t._shape, t._dtype = self, value, var, var.shape, var.dtype
        return t  # type: ignore[no-any-return]

    def of_kind(self, x: RecordTracer, like: Value) -> RecordTracer:
        """`x` as a Python float where `like` is one, as a gradient has the type of its argument."""
        if type(like) is RecordTracer and type(like._value) is float and not x._shape and x._dtype == like._dtype:
            return self.trace(float(x._value), x._var)
        return x

    def input(self, value: Value) -> RecordTracer:
        """A tracer for the next input."""
        return self.trace(value, self.builder.input(*spec_like(value)))

    def taken(self, x: Value) -> Value:
        """An operand: a tracer of this recording, or a scalar. What comes from outside becomes a hidden input."""
        if type(x) is RecordTracer and x._main is self:
            return x
        if not isinstance(x, Traced) and type(x) is not _ndarray:
            return x
        if id(x) in self.hidden:
            self.spoiled = self.spoiled or self.was_written(x)
        else:
            if isinstance(x, Traced) and x._main.closed:
                x._main.new()  # raises
            if self.folds and type(x) is _ndarray and is_uniform(x):
                return self.write(FILL, [x.flat[0] if x.size else x.dtype.type(0)], {"shape": x.shape})
            if self.folds and type(x) is _ndarray and is_range(x):
                return self.write(IOTA, [], {"size": x.size})
            self.operands.append(x)
            self.hidden[id(x)] = self.input(in_one_lane(x))
            self.stamps[id(x)] = None if self.folds else stamp(x)
            if self.borrows is not None and type(x) is _ndarray and x.nbytes > COPY_LIMIT:
                self.borrows.hold(x)
        return self.hidden[id(x)]

    def was_written(self, x: Value) -> bool:
        """Whether an array does not hold any more what it held when it was met. An equation cannot say that."""
        return self.stamps[id(x)] is not None and stamp(x) != self.stamps[id(x)]

    def process(self, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
        if type(prim) is Structured:
            return prim.apply(args, params)
        args = list(map(self.taken, args))
        lower = None if prim in OWN else LOWER.get(prim.name)
        if lower is not None:
            made = lower(prim, args, params)
            if made is not NotImplemented:
                return made
        return self.write(prim, args, params)

    def write(self, prim: Primitive, args: Sequence[Value], params: dict[str, Any]) -> Any:
        """A new equation, and the tracers of its results."""
        values = [x._value if type(x) is RecordTracer else x for x in args]
        if not self.folds:
            self.notice(np.geterr())
        try:
            out = computed(prim, values, params)
        except Exception:
            self.spoiled = True
            raise
        if type(out) is tuple and not out:  # of an empty array
            return out
        scalars.looks(prim, args, values)
        params = of_equation(prim, list(map(shape_of, values)), params)
        atoms = [self.atom(x, dtype) for x, dtype in zip(args, typed(prim, values, out), strict=True)]
        outs = out if type(out) is tuple else (out,)
        made = [self.trace(y, v) for y, v in zip(outs, self.equation(prim, atoms, outs, params), strict=True)]
        return tuple(made) if type(out) is tuple else made[0]

    def equation(self, prim: Primitive, atoms: Sequence[Atom], outs: Sequence[Value], params: dict[str, Any]) -> tuple[Var, ...]:
        return self.builder.write(prim, atoms, map(spec_like, outs), sorted_params(params), self.line if self.folds else here())

    def atom(self, x: Value, dtype: np.dtype[Any] | None = None) -> Atom:
        """The variable or literal of an operand; in this dtype, if one is given."""
        x = self.taken(x)
        if type(x) is not RecordTracer:
            return literal(x if dtype is None else dtype.type(x))
        own: Var = x._var
        if dtype is None or dtype == own.dtype:
            return own
        if type(x._value) is int and dtype.kind in "iu":
            low, high = np.iinfo(dtype).min, min(np.iinfo(dtype).max, np.iinfo(np.int64).max)
            bool((x >= low) & (x <= high))  # beyond, NumPy raises
        return self.equation(astype, [own], [np.broadcast_to(np.zeros((), dtype), x._shape)], {"dtype": dtype})[0]

    def notice(self, now: Mapping[str, Any]) -> None:
        """Where NumPy is to raise, the function looks at whether it does."""
        if now != self.errors:
            self.quiet = True
            self.spoiled = self.spoiled or any(x in ("raise", "call", "log") and x != self.errors[kind] for kind, x in now.items())

    # ---- looks

    def look(self, x: RecordTracer, kind: str) -> Any:
        """What a value answers, behind a guard that it is this."""
        answer = KINDS[kind](x._value)
        self.guard(x, kind, answer)
        return answer

    def guard(self, x: RecordTracer, kind: str, answer: Any) -> None:
        if self.closed:
            self.new()  # raises
        self.builder.write(GUARD, [x._var], (), sorted_params({"kind": kind, "answer": answer}), self.line if self.folds else here())

    def seen(self, x: RecordTracer) -> Any:
        """A whole array, behind a guard that all its elements are these."""
        value = np.asarray(x._value)
        same = (x == value) | ((x != x) & (value != value))
        bool(reductions.all(bare(same), axis=tuple(range(-value.ndim, 0))))
        return value


def stamp(x: Value) -> bytes | None:
    """What a small array holds."""
    return x.tobytes() if type(x) is _ndarray and x.nbytes <= COPY_LIMIT else None


def is_uniform(x: Any) -> bool:
    """Whether all elements have the bits of the first."""
    if not x.ndim:
        return False
    if not x.size or not any(x.strides):
        return True
    return bool((x == x.flat[0]).all()) and (x.flat[0] != 0 or not np.signbit(x).any() if x.dtype.kind == "f" else x.dtype.kind != "c")


def is_range(x: Any) -> bool:
    """Whether the elements are 0, 1, …"""
    return x.ndim == 1 and x.dtype == np.intp and bool((x == np.arange(x.size)).all())


def here() -> Line:
    frame = user_frame()
    return Line(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def computed(prim: Primitive, values: Sequence[Value], params: dict[str, Any]) -> Any:
    """The result as the function itself would have it."""
    if prim.name in scalars.PYTHON and PYTHON_NUMBERS.issuperset(map(type, values)):
        return scalars.PYTHON[prim.name](*values)
    return prim.impl(*values, **params)


def in_one_lane(x: Value) -> Value:
    """The ground value; of many lanes that of the first."""
    if not isinstance(x, Traced):
        return x
    if isinstance(x, BatchTracer):
        return lane_of(in_one_lane(x._main.value_of(x)), 0) if x._main.size else np.ones(x._shape, x._dtype)[()]
    return in_one_lane(x._value)


MEANINGS[Recorder] = later("funcgrad.transforms.record_call", "record_call")

# ---- recordings


class Recording:
    """A closed program, and the values from outside that its last inputs stand for."""

    __slots__ = ("operands", "out_def", "program", "quiet", "spoiled", "stamps", "values")

    def __init__(self, m: Recorder, program: Program, operands: tuple[Any, ...], values: tuple[Any, ...], out_def: pytree.TreeDef) -> None:
        self.program, self.operands, self.out_def = program, operands, out_def
        self.values = values  # of the outputs, on the ground
        self.spoiled = m.spoiled  # whether an operation raised, or an array was written to: the equations do not say so
        self.stamps = tuple([m.stamps[id(x)] for x in operands])  # what the operands held
        self.quiet = m.quiet  # whether warnings of NumPy's are to be silent

    @property
    def is_straight(self) -> bool:
        """Whether it looked at no value, but to see that a gradient has no nan in it."""
        checks = {e.outputs[0].number for e in self.program.equations if e.primitive is has_nan}
        guards = [e for e in self.program.equations if e.primitive is GUARD]
        return not self.spoiled and all(type(e.inputs[0]) is Var and e.inputs[0].number in checks for e in guards)


def record(label: Label, fun: Callable[[list[Any]], Any], examples: Sequence[Value], borrows: Borrows | None = None) -> Recording:
    """What `fun` does, for ground values. It takes the list of its inputs, and gives a tree of numbers."""
    return recorded_by(Recorder(label, borrows=borrows), fun, examples)


def recorded_by(m: Recorder, fun: Callable[[list[Any]], Any], examples: Sequence[Value]) -> Recording:
    hold_collector()
    try:
        return _recorded_by(m, fun, examples)
    finally:
        release_collector()


def _recorded_by(m: Recorder, fun: Callable[[list[Any]], Any], examples: Sequence[Value]) -> Recording:
    try:
        inputs = [m.input(x) for x in examples]
        leaves, out_def = pytree.flatten(fun(inputs))
        values = [_number(m.label, bare(x), path) for x, path in zip(leaves, out_def.paths, strict=True)]
        outs = list(map(m.atom, values))
    finally:
        m.close()
    m.spoiled = m.spoiled or any(map(m.was_written, m.operands))
    ends = tuple([x._value if type(x) is RecordTracer else in_one_lane(x) for x in values])
    program, operands = _closed(m, [x._var for x in inputs], outs)
    return Recording(m, program, operands, ends, out_def)


def _number(label: Label, x: Any, path: str) -> Value:
    if not kind_of(x):
        raise errors.OutputError(str(label), f"the output{path} must be a number or an array of numbers", describe(x), "Leave it out.")
    return x


def _closed(m: Recorder, given: Sequence[Var], outs: Sequence[Atom]) -> tuple[Program, tuple[Any, ...]]:
    """The program, without equations that lead to no output, and without hidden inputs that nothing reads; and what those stand for."""
    equations = live(m.builder.equations, outs)
    read = {x.number for e in equations for x in e.inputs if type(x) is Var} | {x.number for x in outs if type(x) is Var}
    operands = tuple([x for x in m.operands if m.hidden[id(x)]._var.number in read])
    return renumbered([*given, *[m.hidden[id(x)]._var for x in operands]], equations, outs), operands


# ---- two recordings


def alike(a: Recording, b: Recording) -> bool:
    """Whether two recordings are of the same computation: equal in their equations, and in what they met outside."""
    return a.program == b.program and len(a.operands) == len(b.operands) and all(map(same, a.operands, b.operands))


def same(x: Any, y: Any) -> bool:
    """Whether two values from outside are one, or made alike."""
    if x is y:
        return True
    if isinstance(x, Traced) or isinstance(y, Traced):
        if not (isinstance(x, Traced) and isinstance(y, Traced) and x._main is y._main):
            return False
        x, y = ground(x), ground(y)
    return bool(shape_of(x) == shape_of(y) and dtype_of(x) == dtype_of(y) and np.asarray(x).tobytes() == np.asarray(y).tobytes())
