"""A program: what a function computed, as data; and how it is made."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from funcgrad import errors
from funcgrad.core import Primitive, Traced
from funcgrad.later import later
from funcgrad.program.parts import (
    FILL,
    GUARD,
    KINDS,
    Atom,
    DType,
    Equation,
    Frozen,
    Leaf,
    Line,
    Literal,
    Miss,
    Shape,
    Static,
    Var,
    letters,
    literal,
    put,
    sorted_params,
    spec_like,
    variables,
)

if TYPE_CHECKING:
    from funcgrad.program.calls import Signature
    from funcgrad.program.graph import dot, mermaid, mimebundle, page
    from funcgrad.program.saving import to_bytes
    from funcgrad.program.show import counted, text, title
else:
    dot, mermaid, mimebundle, page = [later("funcgrad.program.graph", name) for name in "dot mermaid mimebundle page".split()]
    counted, text, title = [later("funcgrad.program.show", name) for name in "counted text title".split()]
    to_bytes = later("funcgrad.program.saving", "to_bytes")

__all__ = [
    "FILL", "GUARD", "KINDS", "Atom", "Builder", "DType", "Equation", "Leaf", "Line", "Literal", "Miss", "Program", "Shape",
    "Static", "Var", "compiled", "letters", "literal", "renumbered", "sorted_params", "spec_like", "variables",
]  # fmt: skip


compiled: Callable[..., Callable[..., tuple[Any, ...]]] = later("funcgrad.program.codegen", "compiled")
"""A program as a function of ground values."""


def contents(captures: tuple[Any, ...]) -> tuple[Any, ...]:
    """What tells captured values apart: their bits; a tracer is itself alone."""
    return tuple([id(x) if isinstance(x, Traced) else (x.dtype.str, x.shape, x.tobytes()) for x in captures])


class Program(Frozen):
    """`outputs` as a function of `inputs`, the last of which are the values that the function captured.

    `fg.trace` makes one that can be called as the function itself. A program that an equation holds has no captures of its own: they
    are operands of the equation; and no signature.

    Attributes:
        inputs: the variables it takes, the captured ones last.
        equations: what it does, in order.
        outputs: variables or literals.
        captures: the arrays that the function closes over, by reference: a call reads what is in them then.
        signature: how it is called.
    """

    FIELDS = ("inputs", "equations", "outputs", "captures", "signature")
    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]
    captures: tuple[Any, ...]
    signature: Signature | None

    def __init__(
        self,
        inputs: tuple[Var, ...],
        equations: tuple[Equation, ...],
        outputs: tuple[Atom, ...],
        captures: tuple[Any, ...] = (),
        signature: Signature | None = None,
    ) -> None:
        put(self, "inputs", inputs)
        put(self, "equations", equations)
        put(self, "outputs", outputs)
        put(self, "captures", captures)
        put(self, "signature", signature)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Program
            and (self.inputs, self.equations, self.outputs) == (other.inputs, other.equations, other.outputs)
            and contents(self.captures) == contents(other.captures)
            and self.signature == other.signature
        )

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.inputs, self.equations, self.outputs))

    @property
    def size(self) -> int:
        """How many variables there are."""
        return len(self.inputs) + sum([len(e.outputs) for e in self.equations])

    @functools.cached_property
    def closed(self) -> Program:
        """The equations alone: captured values are inputs as the others are."""
        return Program(self.inputs, self.equations, self.outputs) if self.captures or self.signature else self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives for these arguments.

        Raises:
            ProgramArgumentError: an argument has another structure, shape or dtype than the one that was recorded, by its path.
            GuardError: the function would take another path.
        """
        if self.signature is None:
            raise errors.ArgumentTypeError("program", "one that stands within another has no arguments of its own. Call the outer one.")
        return self.signature.call(self, args, kwargs)

    @property
    def __name__(self) -> str:
        """That of the function."""
        return self.signature.name if self.signature else "program"

    # ---- as text

    def text(self, lines: bool = False) -> str:
        """One line for each input, equation and output; programs within equations are indented. `str(program)` is the same.

        Args:
            lines: whether the user's line stands behind each equation.

        >>> from funcgrad import trace
        >>> print(trace(lambda x: x * 2)(1.0).text())
        program <lambda>
            input  a:float64[]  x
            b:float64[] = multiply(a, 2.0:float64)
            output b
        """
        return text(self, lines)

    def __str__(self) -> str:
        return text(self)

    # ---- as drawings

    def mermaid(self) -> str:
        """The program as a flowchart in the language of [Mermaid](https://mermaid.js.org), which GitHub and notebooks draw.

        >>> from funcgrad import trace
        >>> print(trace(lambda x: x * 2)(1.0).mermaid())
        flowchart TD
            i0(["x float64[]"])
            e0["multiply(·, 2.0:float64)"]
            o0(["output float64[]"])
            i0 -->|"float64[]"| e0
            e0 -->|"float64[]"| o0
        <BLANKLINE>
        """
        return mermaid(self)

    def dot(self) -> str:
        """The same in the language of [Graphviz](https://graphviz.org): `dot -Tsvg` draws it.

        >>> from funcgrad import trace
        >>> print(trace(lambda x: x * 2)(1.0).dot())
        digraph {
            compound=true
            i0 [shape=oval, label="x float64[]"]
            e0 [shape=box, label="multiply(·, 2.0:float64)"]
            o0 [shape=oval, label="output float64[]"]
            i0 -> e0 [label="float64[]"]
            e0 -> o0 [label="float64[]"]
        }
        <BLANKLINE>
        """
        return dot(self)

    def _repr_html_(self) -> str:
        return page(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return mimebundle(self)

    # ---- as data

    def to_bytes(self) -> bytes:
        """The program as data, captured arrays included: `fg.program.load` makes it again. There is no code in it, but JSON.

        Raises:
            NotDataError: something in it is no data, such as a function among the arguments.

        >>> from funcgrad import program, trace
        >>> saved = trace(lambda x: x * 2)(1.0).to_bytes()
        >>> program.load(saved)(3.0)
        6.0
        """
        return to_bytes(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds no code either: it names `load`, which is imported for it."""
        return importlib.import_module("funcgrad.program.loading").load, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"<{title(self)}: {counted(self)}>"


# ---- making programs


class Builder:
    """Writes a program, one equation after the other; every variable gets the next number."""

    def __init__(self) -> None:
        self.inputs: list[Var] = []
        self.equations: list[Equation] = []
        self.count = 0

    def var(self, shape: Shape, dtype: DType) -> Var:
        made = Var(self.count, shape, dtype)
        self.count += 1
        return made

    def input(self, shape: Shape, dtype: DType) -> Var:
        made = self.var(shape, dtype)
        self.inputs.append(made)
        return made

    def write(
        self, primitive: Primitive, inputs: Iterable[Atom], specs: Iterable[tuple[Shape, DType]], params: Any = (), line: Line | None = None
    ) -> tuple[Var, ...]:
        outputs = tuple([self.var(shape, dtype) for shape, dtype in specs])
        self.equations.append(Equation(primitive, tuple(inputs), outputs, params, line))
        return outputs


def renumbered(inputs: Sequence[Var], equations: Iterable[Equation], outputs: Sequence[Atom]) -> Program:
    """The program of these equations, whose variables may have any numbers; they may only be unique."""
    new: dict[int, Var] = {}

    def numbered(variables: Iterable[Var]) -> tuple[Var, ...]:
        made = []
        for v in variables:
            k = len(new)
            new[v.number] = w = v if v.number == k else Var(k, v.shape, v.dtype)
            made.append(w)
        return tuple(made)

    ins = numbered(inputs)
    made = []
    for e in equations:
        read = tuple([new[x.number] if type(x) is Var else x for x in e.inputs])
        outs = numbered(e.outputs)
        made.append(Equation(e.primitive, read, outs, e.params, e.line))
    return Program(ins, tuple(made), tuple([new[x.number] if type(x) is Var else x for x in outputs]))
