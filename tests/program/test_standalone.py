"""A program as text: it depends on NumPy alone, reads as NumPy is written, and gives the program's numbers."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.ops.kinds import Structured
from funcgrad.program.codegen import compiled
from funcgrad.program.program import Literal, Program
from funcgrad.program.standalone import module
from funcgrad.program.standalone.spelling import WIDTH, spelled, typed, weak, wrapped
from tests.laws import loops
from tests.ops.cases import CASES
from tests.ops.problem import problem
from tests.program import equations
from tests.program.kit import FUNCTIONS, X, bits
from tests.program.test_laws import assert_bits, numbers, part, parts, recorded
from tests.program.test_passes import results, seeds

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's own, from inputs at edges

quick = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def executed(text: str) -> Callable[..., Any]:
    """The module's function, which is the last that it defines."""
    space: dict[str, Any] = {}
    exec(compile(text, "<text>", "exec"), space)
    name = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)][-1]
    return space[name]


def imported(text: str) -> set[str]:
    return {a.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for a in node.names}


@parts
def test_every_case(n: int) -> None:
    """Run in an empty namespace, the text gives the generated code's numbers, bit for bit; and nothing of ours is imported."""
    for case in part(n, CASES)[::2]:
        p = problem(case)
        r = recorded(p, lambda *xs, p=p: numbers(p.call(*xs)))
        if r is None:
            continue
        text = module(r.program)
        of_scipy = {"scipy.special"} if "scipy." in text else set()
        assert imported(text) <= {"numpy", "math", "operator", "functools"} | of_scipy, case.name
        values = [*p.x, *r.operands]
        assert_bits(executed(text)(*values), compiled(r.program)(*values), case.name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_called_as_the_function_is(name: str) -> None:
    """With the user's arguments and results, and the user's names."""
    f, args = FUNCTIONS[name]
    program = fg.trace(f)(*args)
    assert bits(executed(module(program))(*args)) == bits(program(*args))


DERIVED = {
    "gradient of a loop": fg.grad(lambda x: fg.scan(lambda c, row: (np.cos(c) * row, c), 1.0, x)[0]),
    "tangent of while_loop": lambda x: fg.jvp(lambda y: fg.while_loop(lambda s: np.sum(s * s) < 50.0, np.exp, y), (x,), (x,)),
    "gradient of cond": fg.grad(lambda x: fg.cond(x[0] > x[1], lambda y: np.sum(np.sin(y)), lambda y: y[0], x)),
    "hessian": fg.hessian(lambda x: np.sum(x[1:] ** 3 * x[:-1])),
    "loop in lanes": fg.vmap(lambda x: fg.while_loop(lambda y: y < 9.0, lambda y: y * y + 1.0, x)),
}


@pytest.mark.parametrize("name", DERIVED)
def test_derived_functions(name: str) -> None:
    """Loops of derivatives are loops of Python, too."""
    program = fg.trace(DERIVED[name])(X)
    assert bits(executed(module(program))(X)) == bits(program(X))


def test_without_funcgrad_in_another_process() -> None:
    """Where funcgrad cannot be imported, the numbers are the same."""
    wanted, given = [], []
    for case in CASES[::97]:
        p = problem(case)
        r = recorded(p, lambda *xs, p=p: numbers(p.call(*xs)))
        if r is not None:
            values = [*p.x, *r.operands]
            wanted.append(compiled(r.program)(*values))
            given.append((module(r.program), values))
    code = (
        "import pickle, sys, warnings\n"
        "sys.modules['funcgrad'] = None\n"
        "warnings.simplefilter('ignore')\n"
        "outs = []\n"
        "for text, values in pickle.load(sys.stdin.buffer):\n"
        "    space = {}\n"
        "    exec(text, space)\n"
        "    outs.append(space['program'](*values))\n"
        "pickle.dump(outs, sys.stdout.buffer)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(given), capture_output=True, check=True, timeout=60)
    for found, expected in zip(pickle.loads(ran.stdout), wanted, strict=True):
        assert_bits(found, expected, "in another process")


@quick
@given(equations.programs(), seeds)
def test_random_equations(program: Program, seed: int) -> None:
    """At zeros of both signs, infinities and nans, in any order of memory."""
    values = equations.inputs(program, seed)
    expected = results(lambda: compiled(program)(*values))
    assert results(lambda: executed(module(program))(*values)) == expected, module(program)


@settings(quick, max_examples=15)
@given(loops.nests, seeds)
def test_random_nests(nodes: list[Any], seed: int) -> None:
    """Loops and branches within each other, and those of their tangents."""
    f = loops.result(nodes, loops.Structured())
    rng = np.random.default_rng(seed)
    args = rng.normal(size=3), rng.normal(), rng.normal(size=3)
    for g in (f, lambda *x: fg.jvp(f, x, x)):
        program = fg.trace(g)(*args)
        text = module(program)
        assert bits(executed(text)(*args, **large(program))) == bits(program(*args)), text


def large(program: Program) -> dict[str, Any]:
    """Captured arrays that are not written out."""
    return {f"captured_{k}": x for k, x in enumerate(program.captures)}


# ---- how it reads


def loss(params: Any, x: Any) -> Any:
    y = np.tanh(x @ params["w"] + params["b"])
    return np.mean(y**2)


def test_it_reads_as_it_was_written() -> None:
    """What stands on one line of the user's stands on one here, under the user's line."""
    text = module(fg.trace(loss)({"w": np.ones(3), "b": 0.5}, np.ones((5, 3))))
    lines = text.split("\n")
    assert "def loss(params, x):" in lines
    assert "    params['w']: float64[3]" in lines
    assert "    a = np.tanh(x @ params_w + params_b)" in lines
    at = lines.index("    a = np.tanh(x @ params_w + params_b)")
    assert lines[at - 1].endswith('y = np.tanh(x @ params["w"] + params["b"])')
    assert lines[at - 1].startswith("    # test_standalone.py:")


def test_a_guard_raises() -> None:
    """Where another path would be taken, the text says at which line."""
    f = executed(module(fg.trace(lambda x: x if x < 1 else x * x)(0.5)))
    assert f(0.25) == 0.25
    with pytest.raises(ValueError, match=r"another path is taken at test_standalone\.py:\d+: recorded was True"):
        f(2.0)


def test_captured_arrays() -> None:
    """Small ones are constants that may be replaced; large ones have to be given."""
    small, large = np.array([1.0, 2.0]), np.ones(100)
    f = executed(module(fg.trace(lambda x: x * small)(np.ones(2))))
    assert f(np.ones(2)).tolist() == [1.0, 2.0]
    assert f(np.ones(2), captured_0=np.zeros(2)).tolist() == [0.0, 0.0]
    g = executed(module(fg.trace(lambda x: x * large)(1.0)))
    with pytest.raises(TypeError, match="captured_0"):
        g(1.0)
    assert g(2.0, captured_0=large).sum() == 200.0


def test_names_that_python_or_the_text_needs() -> None:
    """An argument may have any name."""
    program = fg.trace(lambda np_, len, a, b: (np_ + len) * (a - b))(1.0, 2.0, 3.0, 4.0)
    assert executed(module(program))(1.0, 2.0, 3.0, 4.0) == -3.0


def test_what_has_no_text_is_a_parameter() -> None:
    """A function that the program calls as it is, such as one that is computed again in the pull, is given by a keyword."""
    program = fg.trace(fg.grad(lambda x: fg.checkpoint(lambda y: np.sum(np.sin(y)))(x)))(X)
    held = [e.primitive for e in program.equations if type(e.primitive) is Structured]
    text = module(program)
    f = executed(text)
    code = f.__code__
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    assert all(f"{name}: a function that the program calls" in text for name in names)
    assert bits(f(X, **{name: prim.impl for name, prim in zip(names, held, strict=True)})) == bits(program(X))


def test_the_same_text_each_time() -> None:
    """Nothing of the process is in it."""
    programs = [fg.trace(loss)({"w": np.ones(3), "b": 0.5}, np.ones((5, 3))) for _ in range(2)]
    assert module(programs[0]) == module(programs[1])


def test_of_jit() -> None:
    """`fg.jit(f).source` is the text for these arguments; static ones are part of it."""
    f = fg.jit(lambda x, n: np.sum(x**n), static_argnums=1)
    text = f.source(X, 3)
    assert executed(text)(X, 3) == f(X, 3)
    assert executed(fg.jit(loss).source({"w": X, "b": 1.0}, np.ones((2, 3)))).__name__ == "loss"


# ---- how values are spelled

floats = st.floats(allow_nan=False)
dtypes = st.sampled_from([np.float64, np.float32, np.float16, np.complex128, np.complex64, np.longdouble, np.int8, np.uint64, np.bool_])


@given(dtypes, floats, st.booleans())
def test_numbers_have_their_bits(dtype: Any, x: float, negative_zero: bool) -> None:
    """-0.0, the shortest digits of a float32, infinities in a complex number."""
    with np.errstate(all="ignore"):
        whole = int(x) % 100 if np.isfinite(x) else 3
        value = (
            dtype(complex(x, -0.0 if negative_zero else 1.5))
            if np.dtype(dtype).kind == "c"
            else dtype(x if dtype(0).dtype.kind == "f" else whole)
        )
    found = eval(str(typed(value)), {"np": np})
    assert Literal(found) == Literal(value)
    python = weak(value)
    if python is not None:
        again = eval(str(python), {"np": np})
        assert Literal(value.dtype.type(again)) == Literal(value)


@pytest.mark.parametrize(
    "x", [None, True, -3, 0.1, float("inf"), -0.0, "a'b", (1,), (), [1, 2.5], slice(1, None), np.arange(4.0)[::2], 1 - 0j]
)
def test_data(x: Any) -> None:
    """Data evaluates to itself."""
    assert repr(eval(str(spelled(x)), {"np": np})) == repr(x)


def test_long_lines_are_broken_as_black_does_it() -> None:
    """At the last bracket, and at its commas where that is not enough; the text means the same."""
    line = "    y = np.concatenate((" + ", ".join([f"variable_{k}[1:, 3:]" for k in range(12)]) + "), axis=0)"
    rows = wrapped(line)
    assert max(map(len, rows)) <= WIDTH
    assert rows[0] == "    y = np.concatenate("
    assert ast.dump(ast.parse("\n".join(rows).replace("\n    ", "\n").strip())) == ast.dump(ast.parse(line.strip()))


def test_a_program_without_arguments() -> None:
    """It is a function all the same."""
    program = Program((), (), (Literal(np.float64(1.5)),))
    assert executed(module(program))() == (1.5,)
