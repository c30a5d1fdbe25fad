"""`check`: each rule that a program may break, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import errors
from funcgrad.core import Primitive
from funcgrad.ops import contraction, indexing, reductions, shaping
from funcgrad.ops.elementwise import add, exp, where
from funcgrad.ops.kinds import Structured
from funcgrad.program.check import check
from funcgrad.program.program import FILL, GUARD, Builder, Equation, Literal, Program, Var, literal, sorted_params
from funcgrad.program.vocabulary import DOT, PAD, SCATTER_ADD, SLICE, TAKE, UPDATE

F, I, B, F32 = (np.dtype(t) for t in ("float64", "int64", "bool", "float32"))


def program(write: Callable[[Builder, Var, Var], Any]) -> Program:
    """A program of a matrix and a vector of ints; `write` adds an equation."""
    made = Builder()
    x, i = made.input((2, 3), F), made.input((3,), I)
    write(made, x, i)
    return Program(tuple(made.inputs), tuple(made.equations), (x,))


def of(prim: Primitive, result: tuple[int, ...], dtype: Any = F, /, *, ints: bool = False, **params: Any) -> Program:
    """One equation: `prim` of the matrix, or of it and the ints."""
    return program(lambda made, x, i: made.write(prim, [x, i] if ints else [x], [(result, dtype)], sorted_params(params)))


VALID = {
    "elementwise": of(exp, (2, 3)),
    "sum": of(reductions.sum, (3,), axis=(0,)),
    "slice": of(SLICE, (1, 2), starts=(1, 0), stops=(2, 3), steps=(1, 2)),
    "pad": of(PAD, (2, 6), starts=(0, 1), stops=(2, 6), steps=(1, 2), shape=(2, 6)),
    "take": of(TAKE, (2, 3), ints=True, axis=1),
    "reshape": of(shaping.reshape, (6,), shape=(6,), ones=False),
    "a call": of(Structured("call", lambda x: x, lambda args, params: args), (2, 3)),
}


@pytest.mark.parametrize("name", VALID)
def test_what_is_right_is_given_back(name: str) -> None:
    """The program itself, so that `check` may stand in an expression."""
    assert check(VALID[name]) is VALID[name]


def _with_output(v: Any) -> Program:
    return VALID["elementwise"].but(outputs=(v,))


def _guard(of_what: Any, **params: Any) -> Program:
    return program(lambda made, x, i: made.write(GUARD, [of_what or x], (), sorted_params(params)))


def _backwards(e: Equation) -> Equation:
    return Equation(e.primitive, e.inputs, e.outputs, e.params[::-1])


def _nested(inner: Program) -> Program:
    return of(Structured("call", lambda x: x, lambda args, params: args), (2, 3), body=inner)


A_VAR = Var(7, (2,), F)

INVALID = {
    "a variable that is not defined": (_with_output(A_VAR), "variable h:float64[2] is read before it is defined"),
    "a variable with another shape": (_with_output(Var(0, (2,), F)), "is read before it is defined"),
    "a literal that is an array": (_with_output(Literal(np.zeros(2))), "is no NumPy scalar"),  # type: ignore[arg-type]
    "a literal that is a Python number": (_with_output(Literal(2.0)), "the literal 2.0 is no NumPy scalar"),  # type: ignore[arg-type]
    "a bare value": (_with_output(2.0), "2.0 is read, and is neither a variable nor a literal"),
    "a number that is not the next": (
        VALID["elementwise"].but(inputs=(Var(0, (2, 3), F), Var(5, (3,), I))),
        "variable f:int64[3] has the number 5, and the next one is 1",
    ),
    "a shape that is a list": (Program((Var(0, [2], F),), (), ()), "is not one of whole numbers"),  # type: ignore[arg-type]
    "a dtype of objects": (Program((Var(0, (), np.dtype(object)),), (), ()), "is no dtype of numbers"),
    "an array in params": (
        of(shaping.reshape, (6,), shape=np.array([6]), ones=False),
        "the param shape is ndarray, which is no plain data",
    ),
    "a function in params": (of(exp, (2, 3), how=len), "the param how is builtin_function_or_method"),
    "params in no order": (
        VALID["slice"].but(equations=(_backwards(VALID["slice"].equations[0]),)),
        "the params are not sorted",
    ),
    "an axis from the end": (of(reductions.sum, (3,), axis=(-2,)), "axis=(-2,) does not count from the front"),
    "an axis too many": (of(reductions.sum, (2, 3), axis=(2,)), "axis=(2,) does not count from the front"),
    "one axis twice": (of(reductions.sum, (3,), axis=(0, 0)), "names each once"),
    "no outputs": (program(lambda made, x, i: made.write(exp, [x], ())), "only a guard has no outputs"),
    "a guard of an array": (_guard(None, kind="bool", answer=True), "is no number that answers a look by bool"),
    "a guard of another kind": (_guard(literal(1.0), kind="index", answer=1), "is no number that answers a look by index"),
    "mixed dtypes": (
        program(lambda made, x, i: made.write(add, [x, i], [((2, 3), F)])),
        "the loop of add is of float64, float64, float64",
    ),
    "a result of another dtype": (of(exp, (2, 3), F32), "the loop of exp is of float64, float64"),
    "a condition of floats": (program(lambda made, x, i: made.write(where, [x, x, x], [((2, 3), F)])), "the condition is of float64"),
    "a product of mixed dtypes": (
        of(DOT, (2,), ints=True, contract=((1,), (0,)), batch=((), ()), call="dot"),
        "the operands are of float64, int64, and the result of float64",
    ),
    "a sum of bools": (
        program(lambda made, x, i: made.write(reductions.sum, [literal(True)], [((), I)], sorted_params({"axis": ()}))),
        "sum of bool is of bool: what promotes is an equation before",
    ),
    "another shape": (of(exp, (3,)), "the result has the shape (2, 3)"),
    "more elements": (of(shaping.reshape, (7,), shape=(7,), ones=False), "6 elements, and 7"),
    "ones that move, unsaid": (of(shaping.reshape, (2, 1, 3), shape=(2, 1, 3), ones=False), "whether only axes of length 1 move"),
    "no permutation": (of(shaping.transpose, (2, 3), axes=(0, 0)), "no permutation"),
    "a smaller broadcast": (of(shaping.broadcast_to, (3,), shape=(3,)), "does not become smaller"),
    "a slice from the end": (of(SLICE, (2, 1), starts=(0, -1), stops=(2, 3), steps=(1, 1)), "-1:3:1 of 3"),
    "a slice backwards": (of(SLICE, (2, 3), starts=(0, 2), stops=(2, 3), steps=(1, -1)), "2:3:-1 of 3"),
    "a slice of fewer axes": (of(SLICE, (2, 3), starts=(0,), stops=(2,), steps=(1,)), "operands and params do not go together"),
    "a place that is not filled": (of(PAD, (2, 6), starts=(0, 0), stops=(2, 6), steps=(1, 1), shape=(2, 6)), "does not fill its place"),
    "an update that does not fit": (of(UPDATE, (2, 3), ints=True, starts=(0, 0), stops=(2, 2), steps=(1, 1)), "the operands are of"),
    "positions that are floats": (program(lambda made, x, i: made.write(TAKE, [x, x], [((2, 2, 3), F)], (("axis", 0),))), "whole numbers"),
    "positions of another shape": (
        program(lambda made, x, i: made.write(SCATTER_ADD, [i, x], [((4, 3), F)], sorted_params({"axis": 0, "size": 4}))),
        "the operand has not the axes of the positions",
    ),
    "sizes that differ": (of(DOT, (2,), ints=True, contract=((0,), (0,)), batch=((), ()), call="dot"), "the operands are of"),
    "an index": (of(indexing.getitem, (3,), index=(0,)), "getitem is written in other primitives"),
    "a product by its NumPy name": (of(contraction.matmul, (2,), ints=True), "matmul is written in other primitives"),
    "captures inside": (_nested(VALID["sum"].but(captures=(np.ones(3),))), "a nested program has captures"),
    "a wrong program inside": (_nested(of(exp, (3,))), "the result has the shape (2, 3)"),
    "more captures than inputs": (VALID["sum"].but(captures=(1, 2, 3)), "more captured values than inputs"),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_is_wrong_is_said(name: str) -> None:
    """An error with the equation and the rule."""
    made, sentence = INVALID[name]
    with pytest.raises(errors.InvalidProgramError) as caught:
        check(made)
    assert sentence in str(caught.value)
    assert caught.value.wrong in str(caught.value)


def test_the_equation_is_shown() -> None:
    """As one reads it: results, primitive, params, operands."""
    with pytest.raises(errors.InvalidProgramError) as caught:
        check(of(reductions.sum, (3,), axis=(-2,)))
    assert caught.value.equation == "`c:float64[3] = sum[axis=(-2,)] a:float64[2,3]`"


def test_fill_and_literals_are_programs() -> None:
    """Equations may have no variable among their operands, and outputs may be inputs, constants or repeated."""
    made = Builder()
    x = made.input((), F)
    y = made.write(FILL, [literal(2.0)], [((3,), F)], (("shape", (3,)),))
    check(Program((x,), tuple(made.equations), (x, *y, *y, literal(np.float32(0)))))


def test_nested_programs_are_checked_once() -> None:
    """A tower in which each program holds the one below twice has 2^60 of them, and sixty."""
    call = Structured("call", lambda x: x, lambda args, params: args)
    inner = VALID["elementwise"]
    for _ in range(60):
        x, i = inner.inputs
        equation = Equation(call, (x,), (Var(2, (2, 3), F),), (("bodies", (inner, inner)),))
        inner = Program((x, i), (equation,), (x,))
    check(inner)
