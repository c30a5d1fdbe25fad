"""The rules of section 10, in one place: what every program keeps, whoever made it.

Linear in the number of equations. Nested programs are checked once each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.ops.kinds import Bilinear, Constant, Elementwise
from funcgrad.program import forms
from funcgrad.program.parts import RECORDS, programs
from funcgrad.program.program import GUARD, KINDS, Equation, Literal, Program, Var

Rule = Callable[[Equation], str]
"""What is wrong with an equation; "" where nothing is."""

NUMBERS = "biufc"


def check(program: Program) -> Program:
    """The program itself, if it keeps the rules.

    Raises:
        InvalidProgramError: with the equation that breaks a rule, and how.
    """
    _check(program, set())
    return program


def _check(program: Program, seen: set[int]) -> None:
    if id(program) in seen:
        return
    seen.add(id(program))
    known: dict[int, Var] = {}
    for v in program.inputs:
        _require(program, None, _defined(v, known))
    for e in program.equations:
        for x in e.inputs:
            _require(program, e, _readable(x, known))
        for v in e.outputs:
            _require(program, e, _defined(v, known))
        for rule in RULES:
            _require(program, e, rule(e))
        for inner in programs(e):
            _require(program, e, "a nested program has captures: they are operands of the equation" if inner.captures else "")
            _check(inner, seen)
    for x in program.outputs:
        _require(program, None, _readable(x, known))
    if program.captures:
        _require(program, None, _captured(program))


def _require(program: Program, e: Equation | None, wrong: str) -> None:
    if wrong:
        raise errors.InvalidProgramError(str_of(e) if e is not None else "the inputs and outputs", wrong)


def str_of(e: Equation) -> str:
    outs, ins = (" ".join(map(str, xs)) for xs in (e.outputs, e.inputs))
    params = ", ".join([f"{name}={value!r}" for name, value in e.params if not isinstance(value, Program)])
    return f"`{outs} = {e.primitive.name}[{params}] {ins}`"


# ---- variables


def _defined(v: Any, known: dict[int, Var]) -> str:
    if type(v) is not Var:
        return f"{v!r} is defined, and is no variable"
    if v.number != len(known):
        return f"variable {v} has the number {v.number}, and the next one is {len(known)}"
    known[v.number] = v
    return _form(v)


def _form(x: Any) -> str:
    if type(x.shape) is not tuple or any(type(n) is not int or n < 0 for n in x.shape):
        return f"the shape {x.shape!r} is not one of whole numbers"
    return "" if isinstance(x.dtype, np.dtype) and x.dtype.kind in NUMBERS else f"{x.dtype!r} is no dtype of numbers"


def _readable(x: Any, known: dict[int, Var]) -> str:
    if type(x) is Literal:
        is_scalar = isinstance(getattr(x, "value", None), np.generic) and x.shape == ()
        return _form(x) if is_scalar else f"the literal {x.value!r} is no NumPy scalar"
    if type(x) is not Var:
        return f"{x!r} is read, and is neither a variable nor a literal"
    if known.get(x.number) != x:
        return f"variable {x} is read before it is defined"
    return ""


def _captured(program: Program) -> str:
    if len(program.captures) > len(program.inputs):
        return "there are more captured values than inputs"
    return ""


# ---- params: plain data

PLAIN = (int, float, complex, str, bool, type(None), slice, np.dtype, np.generic)


def params_are_plain(e: Equation) -> str:
    if list(e.params) != sorted(e.params, key=lambda pair: pair[0]):
        return "the params are not sorted"
    return next(
        (f"the param {name} is {type(value).__name__}, which is no plain data" for name, value in e.params if not _is_plain(value)), ""
    )


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return isinstance(value, (*PLAIN, Program)) or RECORDS.get(type(value).__name__) is type(value)


def axes_from_the_front(e: Equation) -> str:
    for name, value in e.params:
        if name in ("axis", "axes"):
            axes = value if type(value) is tuple else (value,)
            if any(axis is not None and not 0 <= axis < max(forms.rank(e), 1) for axis in axes):
                return f"{name}={value} does not count from the front, within the axes that there are"
    return ""


# ---- guards


def guards(e: Equation) -> str:
    if e.primitive is not GUARD:
        return "" if e.outputs else "only a guard has no outputs"
    if e.outputs or len(e.inputs) != 1 or e["kind"] not in KINDS:
        return "a guard has one operand and no outputs"
    x = e.inputs[0]
    wanted = {"bool": "biufc", "int": "biuf", "index": "biu", "float": "biuf", "complex": "biufc"}[e["kind"]]
    return "" if np.prod(x.shape, dtype=int) == 1 and x.dtype.kind in wanted else f"{x} is no number that answers a look by {e['kind']}"


# ---- dtypes


def dtypes_of_operands(e: Equation) -> str:
    """Promotions are equations: what computes element by element, or multiplies, has its operands in the dtype it computes in."""
    prim, dtypes = e.primitive, [x.dtype for x in e.inputs]
    if isinstance(prim.impl, np.ufunc):
        wanted = forms.loop_of(prim.impl, tuple(dtypes))
        return "" if wanted == (*dtypes, e.outputs[0].dtype) else f"the loop of {prim.name} is of {_names(wanted)}"
    if prim.name in forms.KEEPS_DTYPE:
        x = dtypes[1 if prim.name == "scatter_add" else 0]
        return "" if {v.dtype for v in e.outputs} == {x} else f"{prim.name} of {x} is of {x}: what promotes is an equation before"
    if prim.name == "where" and dtypes[0].kind != "b":
        return f"the condition is of {dtypes[0]}"
    if type(prim) is Elementwise and prim.keeps_dtype:
        dtypes = [d for d, rule in zip(dtypes, prim.rules, strict=True) if rule is not None]
    elif prim.name in forms.OF_ONE_DTYPE:
        dtypes = forms.operands_of_one_dtype(e)
    elif type(prim) is not Bilinear:
        return ""
    return "" if {*dtypes} == {e.outputs[0].dtype} else f"the operands are of {_names(dtypes)}, and the result of {e.outputs[0].dtype}"


def _names(dtypes: Any) -> str:
    return ", ".join(map(str, dtypes))


# ---- shapes


def shapes(e: Equation) -> str:
    """The shape of the result, where it follows from params and operands."""
    prim = e.primitive
    rule = forms.SHAPES.get(prim.name)
    if rule is None and (type(prim) is Elementwise or (type(prim) is Constant and isinstance(prim.impl, np.ufunc))):
        rule = forms.broadcast
    if rule is None:
        return ""
    try:
        wanted = rule(e)
    except (ValueError, IndexError, KeyError, TypeError) as error:
        return f"operands and params do not go together ({error})"
    return "" if wanted == e.outputs[0].shape else f"the result has the shape {wanted}"


RULES: tuple[Rule, ...] = (guards, params_are_plain, axes_from_the_front, forms.stands_in_programs, dtypes_of_operands, shapes)
