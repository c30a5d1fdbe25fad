"""Programs as data: there and back again bit for bit, and bytes of strangers."""

from __future__ import annotations

import copy
import json
import pickle
import pickletools
import subprocess
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad import errors
from funcgrad.program import Program, load
from tests.laws.programs import Program as Random
from tests.laws.programs import programs
from tests.program.kit import FUNCTIONS, W, X, bits

# ---- there and back


@pytest.mark.parametrize("name", FUNCTIONS)
def test_there_and_back(name: str) -> None:
    """A loaded program equals the one that was saved, has its hash and its text, and gives the same bits."""
    f, args = FUNCTIONS[name]
    program = fg.trace(f)(*args)
    for again in (load(program.to_bytes()), pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert again == program
        assert hash(again) == hash(program)
        assert again.text(lines=True) == program.text(lines=True)
        assert again.to_bytes() == program.to_bytes()
        assert bits(again(*args)) == bits(program(*args))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.integers(0, 2**16), st.booleans())
def test_random_programs(f: Random, seed: int, derived: bool) -> None:
    """Random programs and their gradients come back equal, from bytes and from a pickle, and give the same bits."""
    args = f.inputs(seed)
    program = fg.trace(fg.grad(f.loss, tuple(range(len(args)))) if derived else f)(*args)
    for again in (load(program.to_bytes()), pickle.loads(pickle.dumps(program))):
        assert again == program
        assert bits(again(*args)) == bits(program(*args))


def test_trees() -> None:
    """All containers of Python's own come back, with their order, their keys and what they make."""
    tree = {
        "b": [1.0, (2.0,)], "a": None, 3: OrderedDict(z=4.0, y=5.0), (1, "k"): defaultdict(list, q=6.0), 2.5: {True: 7.0, b"x": ()},
    }  # fmt: skip
    program = fg.trace(lambda t, *, how: (t, how, fg.tree.map(lambda x: x * 2, t)))(tree, how="x")
    made = load(program.to_bytes())(tree, how="x")
    assert made == (tree, "x", fg.tree.map(lambda x: x * 2, tree))
    assert repr(made[0]) == repr(tree)
    assert made[0][1, "k"].default_factory is list


def test_literals_keep_their_bits() -> None:
    """Zeros of both signs, nan, inf, and numbers of every dtype come back as they were."""
    values = [np.dtype(c).type(1.1) for c in "bBhHiIlLqQefdgFDG"] + [np.True_, np.float64(-0.0), np.float32("nan"), np.inf, 1e-320]
    program = fg.trace(lambda x: tuple(x * 0 + v for v in values) + tuple(values))(1.0)
    again = load(program.to_bytes())
    assert again == program
    assert bits(again(1.0)) == bits(program(1.0))


def test_captured_arrays_are_saved_and_frozen() -> None:
    """A loaded program owns what it captured, and nobody can write to it."""
    w = np.asfortranarray(W).copy("K")
    again = load(fg.trace(lambda x: w @ x)(X).to_bytes())
    w[:] = 0.0
    np.testing.assert_array_equal(again(X), W @ X)
    assert not again.captures[0].flags.writeable
    assert fg.grad(lambda x: np.sum(again(x)))(X).tolist() == W.sum(0).tolist()


def test_empty_captured_arrays() -> None:
    """Arrays without elements, and without axes, come back as well."""
    empty, point = np.zeros((0, 3), np.int32), np.array(2.0)
    again = load(fg.trace(lambda x: (x * point, empty, np.sum(empty, axis=1)))(X).to_bytes())
    assert bits(again(X)) == bits((X * 2.0, empty, np.sum(empty, axis=1)))


def test_a_pickle_names_one_function() -> None:
    """What a pickle of a program may call is `funcgrad.program.load`, on bytes, and nothing else."""
    data = pickle.dumps(fg.trace(FUNCTIONS["while and cond"][0])(X))
    strings = [arg for op, arg, _ in pickletools.genops(data) if isinstance(arg, str)]
    assert strings == ["funcgrad.program", "load"]


def test_a_program_is_pickled_before_anything_is_loaded() -> None:
    """In a process that has asked for nothing but a trace."""
    code = "import pickle, funcgrad as fg; p = fg.trace(lambda x: x * x)(3.0); assert pickle.loads(pickle.dumps(p)) == p"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)


def test_what_a_program_is_made_of_stays_as_it_was_made() -> None:
    p = fg.trace(lambda x: np.sin(x) * 2.0)(X)
    e = p.equations[0]
    for part, field in ((p, "inputs"), (e, "inputs"), (e.line, "number"), (p.inputs[0], "shape"), (p.equations[1].inputs[1], "value")):
        with pytest.raises(AttributeError):
            setattr(part, field, None)
        with pytest.raises(AttributeError):
            delattr(part, field)
        assert copy.copy(part) == part


# ---- what is no data


@attrs.frozen
class Point:
    x: Any


def _captured_tracer() -> Program:
    found: list[Program] = []

    def f(y: Any) -> Any:
        found.append(fg.trace(lambda x: x * y)(2.0))
        return y

    fg.grad(f)(1.0)
    return found[0]


def _custom(x: Any) -> Any:
    @fg.custom_jvp
    def square(x: Any) -> Any:
        return x**2

    square.defjvps(lambda t, out, x: 2 * t * x)
    return square(x)


NO_DATA: dict[str, tuple[Callable[[], Program], str]] = {
    "custom rule": (lambda: fg.trace(_custom)(2.0), r"square_? \(test_data\.py:\d+ in _custom\) was made at run time"),
    "external": (lambda: fg.trace(fg.external(float, derivative="central"))(2.0), "was made at run time"),
    "class": (lambda: fg.trace(lambda p: p.x)(Point(1.0)), "Point is no container of Python's or NumPy's own"),
    "function": (lambda: fg.trace(lambda x, f: f(x))(1.0, np.sin), "f is <ufunc 'sin'>"),
    "output": (lambda: fg.trace(lambda x: {"a": [x, print]})(1.0), r"the output\['a'\]\[1\] is <built-in function print>"),
    "factory": (lambda: fg.trace(lambda d: d["a"])(defaultdict(Point, a=1.0)), "a defaultdict makes"),
    "tracer": (_captured_tracer, r"it has captured a traced value of grad\(f\)"),
}


@pytest.mark.parametrize("name", NO_DATA)
def test_what_cannot_be_data(name: str) -> None:
    """What has code in it, or means nothing elsewhere, is refused by name when it is saved."""
    make, message = NO_DATA[name]
    program = make()
    for save in (program.to_bytes, lambda: pickle.dumps(program)):
        with pytest.raises(errors.NotDataError, match=message):
            save()


# ---- strangers


def base() -> dict[str, Any]:
    """A program's data, to be changed."""

    def f(x: Any, how: str) -> Any:
        y = np.sum(np.reshape(W @ x, (1, 3)), axis=0)
        return y if y[0] > -100.0 else x

    return json.loads(fg.trace(f)(X, "a").to_bytes())


def changed(*path: Any, to: Any) -> Callable[[], bytes]:
    """The data with another value at this path."""

    def make() -> bytes:
        data = base()
        at = data
        for step in path[:-1]:
            at = at[step]
        assert path[-1] == -1 or path[-1] in at or isinstance(path[-1], int) or path[-2] == "params"
        at[path[-1]] = to
        return json.dumps(data).encode()

    return make


def op(name: str) -> int:
    return next(k for k, e in enumerate(base()["program"]["equations"]) if e["op"] == name)


EVIL = "__import__('os').system('false')"
IN = ("program", "equations")

STRANGERS: dict[str, tuple[Callable[[], Any], str]] = {
    "empty": (lambda: b"", "no JSON"),
    "no JSON": (lambda: b"\x80\x04cos\nsystem\n", "no JSON"),
    "no bytes": (lambda: None, "no JSON"),
    "nested": (lambda: b"[" * 200_000, "no JSON"),
    "another format": (lambda: b'{"format": "onnx"}', "no program of funcgrad"),
    "list": (lambda: b"[1]", "no program of funcgrad"),
    "newer": (changed("version", to=2), "version 2 of the format is not known here"),
    "nothing": (lambda: b'{"format": "funcgrad program", "version": 1, "program": {}}', "a part is missing"),
    "unknown operation": (lambda: changed(*IN, op("dot"), "op", to="os.system")(), "no operation is named 'os.system'"),
    "operation that is none": (lambda: changed(*IN, op("dot"), "op", to=["dot"])(), "expected str"),
    "code as a param": (lambda: changed(*IN, op("sum"), "params", "axis", to=EVIL)(), "is no word"),
    "code in a tuple": (lambda: changed(*IN, op("reshape"), "params", "shape", to={"tuple": [EVIL]})(), "is no word"),
    "code in a list": (lambda: changed(*IN, op("reshape"), "params", "shape", to={"list": [EVIL]})(), "no parts that can change"),
    "code as a name": (lambda: changed(*IN, op("sum"), "params", "x=print(), y", to=1)(), "is no word"),
    "code as a guard": (lambda: changed(*IN, op("guard"), "params", "kind", to=EVIL)(), "is no word"),
    "another guard": (lambda: changed(*IN, op("guard"), "params", "kind", to="eval")(), "a guard has one operand"),
    "another answer": (lambda: changed(*IN, op("guard"), "params", "answer", to="yes")(), "expected bool"),
    "unknown record": (lambda: changed(*IN, op("sum"), "params", "axis", to={"record": "Popen", "fields": {}})(), "a part is missing"),
    "unknown value": (lambda: changed(*IN, op("sum"), "params", "axis", to={"function": "eval"})(), "nothing is written as 'function'"),
    "objects": (lambda: changed("program", "inputs", 0, to=["object", [3]])(), "a part is missing"),
    "negative size": (lambda: changed("program", "inputs", 0, to=["float64", [-3]])(), "is no shape"),
    "bool size": (lambda: changed("program", "inputs", 0, to=["float64", [True]])(), "expected int"),
    "float size": (lambda: changed("program", "inputs", 0, to=["float64", [3.0]])(), "expected int"),
    "future variable": (lambda: changed(*IN, 0, "in", to=[0, 99])(), "read before it is there"),
    "own result": (lambda: changed(*IN, 0, "in", to=[0, 2])(), "read before it is there"),
    "negative variable": (lambda: changed(*IN, 0, "in", to=[-1, 0])(), "read before it is there"),
    "bad base64": (lambda: changed(*IN, 0, "in", to=[["float64", "!!"], 0])(), "another form"),
    "short literal": (lambda: changed(*IN, 0, "in", to=[["float64", "AAAA"], 0])(), "another form"),
    "bool of 7": (lambda: changed("program", "outputs", 0, to=["bool", "Bw=="])(), "a bool is 0 or 1"),
    "captured of another shape": (lambda: changed("program", "captures", 0, 1, to=[9])(), "does not fit"),
    "captures that are none": (lambda: changed("program", "captures", to=[])(), "the trees do not fit"),
    "too many leaves": (lambda: changed("program", "signature", "ins", to=[None] * 5)(), "the trees do not fit"),
    "no call": (lambda: changed("program", "signature", "in", to={"list": ["*", "*"]})(), "no call"),
    "class of leaves": (lambda: changed("program", "signature", "outs", to=["object"])(), "a part is missing"),
    "class of trees": (lambda: changed("program", "signature", "out", to={"os.system": ["*"]})(), "another form"),
    "tuple class of another length": (
        lambda: changed("program", "signature", "out", to={"SVDResult": ["*"]})(),
        "another form",
    ),
    "factory": (lambda: changed("program", "signature", "out", to={"defaultdict": [["a", "*"]], "makes": "eval"})(), "a part is missing"),
    "key twice": (lambda: changed("program", "signature", "out", to={"dict": [["a", "*"], ["a", "*"]]})(), "a key twice"),
    "key that changes": (lambda: changed("program", "signature", "out", to={"dict": [[{"list": []}, "*"]]})(), "another form"),
    "name": (lambda: changed("program", "signature", "name", to=3)(), "expected str"),
    "line": (lambda: changed(*IN, 0, "line", to=["a", "b", "c"])(), "expected int"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_strangers(name: str) -> None:
    """What is not as `to_bytes` writes it is refused with one error class, which says what is wrong; nothing runs."""
    make, message = STRANGERS[name]
    data = make()
    with pytest.raises(errors.InvalidDataError, match=message):
        load(data)


def test_text_of_strangers_stays_text() -> None:
    """Names and lines may be anything; they are text in whatever shows them."""
    data = base()
    evil = '\x1b[2J</pre><script>alert(1)</script>"];\n}'
    data["program"]["signature"] |= {"name": evil, "arguments": [evil]}
    data["program"]["equations"][0]["line"] = [evil, 1, evil]
    program = load(json.dumps(data).encode())
    assert "\x1b" not in program.text(lines=True)
    assert len(program.text(lines=True).splitlines()) == len(load(json.dumps(base()).encode()).text().splitlines())
    assert "<script>" not in program._repr_html_() + program.mermaid()
    np.testing.assert_array_equal(program(X, "a"), W @ X)


def places(x: Any) -> list[tuple[Any, Any]]:
    """Every container in JSON with each of its keys."""
    keys = list(x) if type(x) is dict else range(len(x)) if type(x) is list else []
    return [(x, k) for k in keys] + [place for k in keys for place in places(x[k])]


def holding(inner: Any) -> Any:
    keys = st.sampled_from(["tuple", "list", "dict", "number", "dtype", "op"])
    return inner | st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=2)


ATOMS = st.none() | st.booleans() | st.sampled_from([-1, 0, 2, 99, 10**30, 1.5, "", "a", "float64", "dot", "*", "bool", EVIL, "AAAA"])
JSON = holding(holding(ATOMS))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=300)
@given(st.data())
def test_any_change_is_refused_or_harmless(data: Any) -> None:
    """Whatever stands anywhere in the bytes: loading gives a program that keeps the rules, or the one error."""
    changed = base()
    found = places(changed)
    for _ in range(data.draw(st.integers(1, 3))):
        at, key = found[data.draw(st.integers(0, len(found) - 1))]
        at[key] = data.draw(JSON)
    try:
        program = load(json.dumps(changed).encode())
    except errors.InvalidDataError:
        return
    assert load(program.to_bytes()) == program
    assert str(program)
    assert program.mermaid()
