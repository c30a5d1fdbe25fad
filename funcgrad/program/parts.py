"""What a program is made of: variables, literals, equations; and the operations that stand in programs alone.

Variables are numbered in the order they are made: first the inputs, then the outputs of each equation. So two programs that compute
the same in the same order are equal, whoever recorded them, and a program's hash has no address in it.

Parts are never written after birth. They are plain classes: a recording makes some for every operation, and compares and hashes them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from funcgrad import errors
from funcgrad.core import Primitive, dtype_of, shape_of
from funcgrad.ops import special
from funcgrad.ops.kinds import Constant
from funcgrad.pytree.compare import equal_static, hash_static

ALONE: dict[str, Primitive] = {}
"""Operations that stand in programs alone, by name."""

RECORDS: dict[str, type] = {}
"""Our own classes whose instances may be params, by name: attrs classes, whose fields are data."""

Shape = tuple[int, ...]
DType = np.dtype[Any]
T = TypeVar("T", bound=Primitive)
C = TypeVar("C", bound=type)


put = object.__setattr__


class Frozen:
    """Data that stay as they were made. `__init__` puts `FIELDS` in.

    (A recording makes very many, and at a first call it would take longer to make classes of attrs than to record.)
    """

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._all

    @property
    def _all(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.FIELDS])

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)

    def but(self, **changes: Any) -> Self:
        """The same with other values in some fields."""
        return type(self)(**{name: changes.pop(name, getattr(self, name)) for name in self.FIELDS}, **changes)


class Var(Frozen):
    """A variable: its number, shape and dtype, and nothing else."""

    __slots__ = ("dtype", "number", "shape")
    FIELDS = ("number", "shape", "dtype")
    number: int
    shape: Shape
    dtype: DType

    def __init__(self, number: int, shape: Shape, dtype: DType) -> None:
        put(self, "number", number)
        put(self, "shape", shape)
        put(self, "dtype", dtype)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Var and self.number == other.number and self.shape == other.shape and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.number, self.shape))

    def __repr__(self) -> str:
        return f"Var(number={self.number}, shape={self.shape}, dtype={self.dtype})"

    def __str__(self) -> str:
        return f"{letters(self.number)}:{self.dtype}[{','.join(map(str, self.shape))}]"


class Literal(Frozen):
    """A typed scalar. Two are equal where their bits are: -0.0 is not 0.0, and nan is nan."""

    __slots__ = ("value",)
    FIELDS = ("value",)
    shape: Shape = ()
    value: np.generic

    def __init__(self, value: np.generic) -> None:
        put(self, "value", value)

    @property
    def dtype(self) -> DType:
        return self.value.dtype

    def __repr__(self) -> str:
        return f"Literal({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is Literal and self._bits == other._bits

    def __hash__(self) -> int:
        return hash(self._bits)

    @property
    def _bits(self) -> tuple[str, Any]:
        if self.dtype.char in "gG":  # beside their bits these have some that mean nothing
            return self.dtype.str, repr(self.value)
        return self.dtype.str, self.value.tobytes()

    def __str__(self) -> str:
        return f"{self.value}:{self.dtype}"


Atom = Var | Literal
"""What an equation reads, and what a program gives back."""


class Line(Frozen):
    """Where in the user's code an equation comes from."""

    __slots__ = ("filename", "function", "number")
    FIELDS = ("filename", "number", "function")
    filename: str
    number: int
    function: str

    def __init__(self, filename: str, number: int, function: str) -> None:
        put(self, "filename", filename)
        put(self, "number", number)
        put(self, "function", function)

    def __repr__(self) -> str:
        return f"Line({self.place})"

    @property
    def place(self) -> str:
        """The file's last part and the line, as in `train.py:41`."""
        return f"{self.filename.rpartition('/')[2]}:{self.number}"

    def __str__(self) -> str:
        return f"{self.place} in {self.function}"


def named(prim: Primitive) -> Any:
    """What a primitive is compared by: its name, unless it was made at run time."""
    return prim.name if known(prim.name) is prim else prim


def exact(x: Any) -> Any:
    """What a param is compared by: -0.0 is not 0.0, True is not 1, and nan is nan."""
    kind = type(x)
    return tuple(map(exact, x)) if kind is tuple else (kind, repr(x)) if kind in (float, complex, bool) else x


def exact_params(params: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """The same of all params; mostly these are ints and shapes, which are what they are."""
    for _, x in params:
        if type(x) is tuple:
            for n in x:
                if type(n) is not int:
                    return tuple([(name, exact(y)) for name, y in params])
        elif type(x) is not int and type(x) is not str:
            return tuple([(name, exact(y)) for name, y in params])
    return params


def known(name: str) -> Primitive | None:
    """What a name means in a program; None where it means nothing."""
    return ALONE.get(name) or special.primitive(name)


class Equation(Frozen):
    """`outputs = primitive(*inputs, **params)`; pure, and nothing in place. `params` are sorted pairs, hashable, without arrays.

    `line` says nothing about equality.
    """

    __slots__ = ("inputs", "line", "outputs", "params", "primitive")
    FIELDS = ("primitive", "inputs", "outputs", "params", "line")
    primitive: Primitive
    inputs: tuple[Atom, ...]
    outputs: tuple[Var, ...]
    params: tuple[tuple[str, Any], ...]
    line: Line | None

    def __init__(
        self,
        primitive: Primitive,
        inputs: tuple[Atom, ...],
        outputs: tuple[Var, ...],
        params: tuple[tuple[str, Any], ...] = (),
        line: Line | None = None,
    ) -> None:
        put(self, "primitive", primitive)
        put(self, "inputs", inputs)
        put(self, "outputs", outputs)
        put(self, "params", params)
        put(self, "line", line)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Equation
            and (self.primitive is other.primitive or bool(named(self.primitive) == named(other.primitive)))
            and self.inputs == other.inputs
            and self.outputs == other.outputs
            and (self.params is other.params or exact_params(self.params) == exact_params(other.params))
        )

    def __hash__(self) -> int:
        return hash((named(self.primitive), self.inputs, self.outputs, exact_params(self.params)))

    def __repr__(self) -> str:
        return f"Equation({', '.join(map(str, self.outputs))} = {self.primitive.name}({', '.join(map(str, self.inputs))}))"

    def __getitem__(self, name: str) -> Any:
        """A param by name."""
        return dict(self.params)[name]


class Static(Frozen):
    """A leaf that is no number: part of what was recorded, and not of what a program takes."""

    __slots__ = ("value",)
    FIELDS = ("value",)
    value: Any

    def __init__(self, value: Any) -> None:
        put(self, "value", value)

    def __repr__(self) -> str:
        return f"Static({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is Static and equal_static(self.value, other.value)

    def __hash__(self) -> int:
        return hash_static(self.value)


Leaf = Static | type | None
"""A leaf of a tree: what is no number; the class of a Python number; or None for what has a dtype of its own."""


def alone(prim: T) -> T:
    """Enters an operation that stands in programs alone."""
    ALONE[prim.name] = prim
    return prim


def record(cls: C) -> C:
    """Enters a class whose instances may be params."""
    RECORDS[cls.__name__] = cls
    return cls


def sorted_params(params: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(params.items())) if params else ()


def letters(number: int) -> str:
    """a, b, …, z, aa, ab, …"""
    text = ""
    number += 1
    while number:
        number, k = divmod(number - 1, 26)
        text = chr(97 + k) + text
    return text


def literal(value: Any) -> Literal:
    """A scalar with the dtype that it has when it stands alone."""
    return Literal(value if isinstance(value, np.generic) else np.asarray(value).dtype.type(value))


def spec_like(x: Any) -> tuple[Shape, DType]:
    return shape_of(x), dtype_of(x)


def variables(atoms: Iterable[Atom]) -> Iterator[Var]:
    return (x for x in atoms if type(x) is Var)


# ---- guards


def differ(now: Any, answer: Any) -> bool:
    """Whether two answers to a look are two: zeros of both signs are, and nans are not."""
    return repr(now) != repr(answer) if type(now) in (float, complex) else bool(now != answer)


def _guard(x: Any, *, kind: str, answer: Any) -> tuple[()]:
    now = KINDS[kind](x)
    if differ(now, answer):
        raise Miss(kind, answer, now)
    return ()


class Miss(Exception):
    """A program met a value that answers a look otherwise than when it was recorded."""

    def __init__(self, kind: str, recorded: Any, now: Any) -> None:
        self.kind, self.recorded, self.now = kind, recorded, now
        super().__init__(kind, recorded, now)


class Missed(Exception):
    """A guard met another answer."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        super().__init__(str(equation.line))


OTHERWISE = (Miss, Missed, errors.LanesDifferError, errors.LaneShapesError)
"""What a program raises where these values take another path. Programs of lanes are made on examples, whose shapes may differ as well."""

KINDS: dict[str, Any] = {"bool": bool, "int": int, "float": float, "complex": complex, "index": int}

GUARD = alone(Primitive("guard", _guard))
"""Checks what a value answered to a look when the program was recorded. It has no outputs."""

RAISING = frozenset({"cholesky", "inv", "solve", "eig", "eigh", "eigvals", "eigvalsh", "svd", "svdvals", "lstsq"})
"""What raises LinAlgError for some values. A function may ask just that of them."""


def stays(e: Equation) -> bool:
    """Whether an equation says something even if nothing reads what it gives: guards, and what may raise."""
    return not e.outputs or e.primitive.name in RAISING or any(map(may_raise, programs(e)))


def programs(e: Equation) -> Iterator[Any]:
    """The programs in the params of an equation."""
    for _, value in e.params:
        for x in value if type(value) is tuple else (value,):
            if hasattr(x, "equations"):
                yield x


@functools.lru_cache(1024)
def may_raise(program: Any) -> bool:
    return any(e.primitive.name in RAISING or any(map(may_raise, programs(e))) for e in program.equations)


def live(equations: Sequence[Equation], outputs: Sequence[Atom]) -> list[Equation]:
    """Those that lead to an output, and those that stay in any case."""
    wanted = {v.number for v in variables(outputs)}
    kept = []
    for e in reversed(equations):
        if any(v.number in wanted for v in e.outputs) or stays(e):
            wanted.update([x.number for x in e.inputs if type(x) is Var])
            kept.append(e)
    return kept[::-1]


# ---- constant arrays

FILL = alone(Constant("fill", lambda x, *, shape: np.broadcast_to(x, shape)))
"""An array of this shape whose elements are all the scalar."""
