"""The fast path: methods and ufunc entries for tracers, generated from the primitive records by one template per interpreter.

They handle the common operands in straight-line code: tracers of one interpreter with equal shape and dtype, Python scalars,
and bare arrays of the same shape and dtype. All other calls go to `bind`, whose meaning they share (the tests run on both).
Each function is generated when it is first called; `source` shows the text.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.core import bind, tick
from funcgrad.numpy.dispatch import call_ufunc
from funcgrad.ops import special
from funcgrad.ops.kinds import BY_UFUNC, ID, NEG, Constant, Elementwise, Rule
from funcgrad.tensor.methods import defers
from funcgrad.transforms.hush import hush, speak

OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**", "floor_divide": "//", "remainder": "%",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip
"""How the value of a binary primitive is written between its operands, where Python has an operator for it."""

DUNDERS = {"divide": "truediv", "floor_divide": "floordiv", "multiply": "mul", "subtract": "sub", "power": "pow", "remainder": "mod"}
COMPARISONS = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne"}
UNARY_OPERATORS = {"negative": "neg", "absolute": "abs", "positive": "pos"}

_RESIDUALS = {-1: "out", 0: "a", 1: "b"}


class Template:
    """The text of one interpreter's functions: `{…}` is filled from a primitive's record.

    `both` and `one` make the tracer's own part from the rules: for two traced operands, and for the k-th alone.
    """

    def both(self, prim: Elementwise) -> str:
        raise NotImplementedError

    def one(self, prim: Elementwise, k: int) -> str:
        raise NotImplementedError

    def helpers(self, prim: Elementwise) -> str:
        return ""

    def made(self, space: dict[str, Any]) -> None:
        """The functions have been compiled."""


UNARY = """\
def {name}(x):
    m, a = x._main, x._value
{guard}    out = {value}
{check}{one}    t._main, t._value, t._shape, t._dtype = m, out, x._shape, x._dtype
    return t
"""

BINARY = """\
def {name}(x, y):
    kind, m, a = type(y), x._main, x._value
    if kind is Tracer and y._main is m and y._dtype is x._dtype and y._shape == x._shape:
        b = y._value
        out = {value}
{both}    elif kind is float or kind is int or (kind is float64 and x._dtype is DOUBLE):
        b = y
        out = {value}
{one}    elif kind is ndarray and y.dtype is x._dtype and y.shape == x._shape:
        b = {held}
        out = {value}
{one}    elif kind is Tracer or kind is float64 or (kind is ndarray and not y.dtype.hasobject):
        return bind(prim, (x, y), {{}})
    else:
        return slow(ufunc, "__call__", (x, y), {{}})
{guard}{check}    t._main, t._value, t._shape, t._dtype = m, out, x._shape, x._dtype
    return t
"""

REFLECTED = """\
def {name}_reflected(y, x):
    kind, m, b = type(x), y._main, y._value
    if kind is float or kind is int or (kind is float64 and y._dtype is DOUBLE):
        a = x
        out = {value}
{one}    elif kind is ndarray and x.dtype is y._dtype and x.shape == y._shape:
        a = {held}
        out = {value}
{one}    else:
        return slow(ufunc, "__call__", (x, y), {{}})
{guard}{check}    t._main, t._value, t._shape, t._dtype = m, out, y._shape, y._dtype
    return t
"""

CONSTANT = """\
def {name}(x, y):
    kind = type(y)
    if kind is Tracer and y._main is x._main:
        b = y._value
    elif kind is float or kind is int or kind is float64 or kind is ndarray and not y.dtype.hasobject:
        b = y
    else:
        return slow(ufunc, "__call__", (x, y), {{}})
    a = x._value
    return {value}
"""


def value_of(prim: Any, operator: bool) -> str:
    """How the value is computed: through Python's operator for an operator, else by the ufunc itself."""
    if operator and prim.name in OPERATORS:
        return f"a {OPERATORS[prim.name]} b"
    if operator and prim.name in UNARY_OPERATORS:
        return {"negative": "-a", "absolute": "abs(a)", "positive": "+a"}[prim.name]
    return "ufunc(a)" if prim.impl.nin == 1 else "ufunc(a, b)"


def residuals(rule: Rule | None) -> str:
    return "" if rule is None else "".join(f", {_RESIDUALS[k]}" for k in rule.keeps)


def applied(rule: Rule, name: str, t: str) -> str:
    """A rule applied to `t`, as text; the identity and the sign need no call."""
    return t if rule.apply is ID else f"-{t}" if rule.apply is NEG else f"{name}({t}{residuals(rule)})"


def source(prim: Any, template: Template, operator: bool) -> str:
    """The text of everything generated for a primitive."""
    name = prim.name
    if type(prim) is Constant:
        return CONSTANT.format(name=name, value=value_of(prim, operator))
    value = value_of(prim, operator)
    guard = "    if x._dtype.kind == 'c':\n        return bind(prim, (x,), {})\n" if not prim.keeps_dtype else ""
    if prim.impl.nin == 1:
        return template.helpers(prim) + UNARY.format(name=name, value=value, guard=guard, check=_check(prim, "x"), one=_indent(template.one(prim, 0), 1))
    # A negative Python float to a fractional power is complex in Python; NumPy's answer is nan, and keeps the dtype.
    guard = "    if type(out) is complex:\n        return bind(prim, (x, y), {})\n" if name == "power" else ""
    keeps = [rule is not None and 1 - k in rule.keeps for k, rule in enumerate(prim.rules)]
    both = BINARY.format(
        name=name,
        value=value,
        guard=guard,
        check=_check(prim, "x"),
        both=_indent(template.both(prim), 2),
        one=_indent(template.one(prim, 0), 2),
        held="hold(m, y)" if keeps[0] else "y",
    )
    back = REFLECTED.format(
        name=name,
        value=value,
        guard=guard,
        check=_check(prim, "y"),
        one=_indent(template.one(prim, 1), 2),
        held="hold(m, x)" if keeps[1] else "x",
    )
    return template.helpers(prim) + both + "\n\n" + back


def _check(prim: Elementwise, tracer: str) -> str:
    """A ufunc without a loop for the narrowest floats computes in wider ones: SciPy's are so."""
    ufunc: Any = prim.impl
    if any(kinds.startswith("e" * ufunc.nin + "->") for kinds in ufunc.types):
        return ""
    return f"    if out.dtype != {tracer}._dtype:\n        return bind(prim, ({'x' if ufunc.nin == 1 else 'x, y'},), {{}})\n"


def _indent(text: str, depth: int) -> str:
    return "".join(f"{'    ' * depth}{line}\n" for line in text.splitlines())


class Table:
    """The generated functions of one tracer class, made when first asked for."""

    def __init__(self, cls: Any, template: Template, hold: Callable[[Any, Any], Any]) -> None:
        self.template = template
        self.ufuncs = Ufuncs(self)
        self.names: dict[str, Any] = {"Tracer": cls, "bind": bind, "tick": tick, "ndarray": np.ndarray, "float64": np.float64}
        self.names |= {"DOUBLE": np.dtype(np.float64), "hold": hold, "slow": call_ufunc, "hush": hush, "speak": speak}

    def make(self, prim: Any, operator: bool = False) -> dict[str, Any]:
        """Compile the functions of `prim`; the text stays findable for tracebacks."""
        text = source(prim, self.template, operator)
        filename = f"<funcgrad {self.names['Tracer'].__name__}.{prim.name}{' (operator)' if operator else ''}>"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        space = dict(self.names, prim=prim, ufunc=prim.impl, __name__=__name__)  # no frame of the user's
        if operator and type(prim) is Elementwise:
            space["slow"] = _operate
        if isinstance(prim, Elementwise):
            space |= {f"rule_{k}": rule.apply for k, rule in enumerate(prim.rules) if rule is not None}
        exec(compile(text, filename, "exec"), space)
        self.template.made(space)
        return space


def _operate(ufunc: np.ufunc, method: str, args: tuple[Any, Any], kwargs: dict[str, Any]) -> Any:
    return NotImplemented if defers(*args) else call_ufunc(ufunc, method, args, kwargs)


class Ufuncs(dict[Any, Any]):
    """ufunc -> (with the tracer first, with the tracer second), or None where only `bind` will do."""

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, ufunc: np.ufunc) -> Any:
        prim: Any = special.implementation(ufunc)
        made = None
        if type(prim) is Elementwise and ufunc.nout == 1 and ufunc.nin <= 2 and all(r is not None for r in prim.rules):
            space = self.table.make(prim)
            made = (space[prim.name], space.get(f"{prim.name}_reflected"))
        self[ufunc] = made
        return made


def install(cls: type, table: Table) -> None:
    """Give a tracer class its operators and its entry for ufuncs."""
    ufuncs = table.ufuncs

    def __array_ufunc__(self: Any, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            fast = ufuncs[ufunc]
            if type(fast) is tuple:
                return fast[0](*args) if type(args[0]) is cls else fast[1](args[1], args[0])
        return call_ufunc(ufunc, method, args, kwargs)

    cls.__array_ufunc__ = __array_ufunc__  # type: ignore[attr-defined]
    by_name = {prim.name: prim for prim in BY_UFUNC.values()}
    for name in UNARY_OPERATORS | DUNDERS | COMPARISONS | {"add": "add"}:
        dunder = UNARY_OPERATORS.get(name) or DUNDERS.get(name) or COMPARISONS.get(name) or name
        _later(cls, f"__{dunder}__", table, by_name[name], name)
        if (name in DUNDERS or name == "add") and type(by_name[name]) is Elementwise:
            _later(cls, f"__r{dunder}__", table, by_name[name], f"{name}_reflected")


def _later(cls: type, dunder: str, table: Table, prim: Any, function: str) -> None:
    """A method that generates itself, takes its own place and answers."""

    def first(*args: Any) -> Any:
        made = table.make(prim, operator=True)[function]
        setattr(cls, dunder, made)
        return made(*args)

    first.__name__ = dunder
    setattr(cls, dunder, first)
