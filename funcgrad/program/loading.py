"""Bytes as programs, whoever wrote them: what is not as `saving` makes it is refused, and nothing is run.

Operations and records are looked up in our own tables; words in params are words, so that none can become more in generated code.
"""

from __future__ import annotations

import base64
import json
import re
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad import errors, pytree
from funcgrad.ops.special import LINES
from funcgrad.program.calls import Signature
from funcgrad.program.check import check
from funcgrad.program.parts import GUARD, KINDS, RECORDS, Atom, Equation, Leaf, Line, Literal, Static, Var, known
from funcgrad.program.program import Program
from funcgrad.program.saving import DTYPES, FACTORIES, FORMAT, PYTHON, VERSION, numpy_tuples


def load(data: bytes) -> Program:
    """The program that `to_bytes` wrote. Bytes from a stranger are safe to load: nothing in them is run, and what is no program is refused.

    To call it runs NumPy, for as long and with as much memory as the program says.

    Raises:
        InvalidDataError: the bytes are no program.
        NoSciPyError: it has functions of SciPy's, which has not been imported.
    """
    try:
        text = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        refuse("the bytes are no JSON")
    if type(text) is not dict or text.get("format") != FORMAT:
        refuse("the bytes are no program of funcgrad")
    if text.get("version") != VERSION:
        refuse(f"version {text.get('version')!r} of the format is not known here, but {VERSION}")
    try:
        return check(program(text["program"]))
    except errors.InvalidProgramError as error:
        raise errors.InvalidDataError(str(error).removesuffix(".")) from error
    except (KeyError, IndexError, AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, errors.InvalidDataError):
            raise
        raise errors.InvalidDataError("a part is missing, or has another form") from error


def refuse(what: str) -> NoReturn:
    raise errors.InvalidDataError(what)


def a(kind: type, x: Any) -> Any:
    """`x`, which must be of exactly this type."""
    return x if type(x) is kind else refuse(f"expected {kind.__name__}, got {str(x)[:40]!r}")


def program(d: Any) -> Program:
    inputs = tuple([variable(k, x) for k, x in enumerate(a(list, d["inputs"]))])
    made = list(inputs)
    equations = tuple([equation(e, made) for e in a(list, d["equations"])])
    outputs = tuple([atom(x, made) for x in a(list, d["outputs"])])
    captures = tuple([array(*x) for x in a(list, d["captures"])])
    given = len(inputs) - len(captures)
    for x, v in zip(captures, inputs[given:] if given >= 0 else (), strict=True):
        if x.dtype != v.dtype or x.shape != v.shape:
            refuse(f"a captured array does not fit {v}")
    found = None if d["signature"] is None else signature(d["signature"], given, len(outputs))
    return Program(inputs, equations, outputs, captures, found)


def equation(d: Any, made: list[Var]) -> Equation:
    prim = known(a(str, d["op"]))
    if prim is None and d["op"] in LINES:
        raise errors.NoSciPyError(f"scipy.special.{LINES[d['op']].of}")
    if prim is None:
        refuse(f"no operation is named {d['op'][:40]!r}")
    args = tuple([atom(x, made) for x in a(list, d["in"])])
    params = tuple(sorted([(word(k), param(x)) for k, x in a(dict, d.get("params", {})).items()]))
    outs = tuple([variable(len(made) + k, x) for k, x in enumerate(a(list, d["out"]))])
    made += outs
    line = d.get("line")
    if prim is GUARD:
        check_guard(args, dict(params), outs)
    return Equation(prim, args, outs, params, None if line is None else Line(a(str, line[0]), a(int, line[1]), a(str, line[2])))


def param(x: Any) -> Any:
    if type(x) is str:
        return word(x)
    if type(x) is dict and x.keys() == {"tuple"}:
        return tuple(map(param, a(list, x["tuple"])))
    if type(x) is dict and x.keys() & {"list", "bytes"}:
        refuse("a param has no parts that can change")
    return value(x)


def value(x: Any) -> Any:
    """What `saving` made of a param or a static leaf."""
    if x is None or type(x) in (bool, int, str):
        return x
    (name, body), *more = a(dict, x).items()
    if name == "record" and [k for k, _ in more] == ["fields"]:
        fields = {k: param(v) for k, v in a(dict, x["fields"]).items()}
        return RECORDS[a(str, body)](**fields)
    if more or name not in VALUES:
        refuse(f"nothing is written as {name[:40]!r}")
    return VALUES[name](body)


def signature(d: Any, given: int, outputs: int) -> Signature:
    in_def, out_def = (pytree.structure(tree(d[k])) for k in ("in", "out"))
    ins, outs = (tuple(map(leaf, a(list, d[k]))) for k in ("ins", "outs"))
    for leaves, treedef, count in ((ins, in_def, given), (outs, out_def, outputs)):
        if len(leaves) != treedef.num_leaves or len([x for x in leaves if type(x) is not Static]) != count:
            refuse("the trees do not fit the inputs and outputs")
    args, kwargs = in_def.unflatten(in_def.num_leaves * [0])
    if type(args) is not tuple or type(kwargs) is not dict or not all(type(k) is str for k in kwargs):
        refuse("the arguments are no call")
    return Signature(a(str, d["name"]), tuple([a(str, x) for x in a(list, d["arguments"])]), in_def, out_def, ins, outs)


def leaf(x: Any) -> Leaf:
    return None if x is None else PYTHON[x] if type(x) is str else Static(value(a(dict, x)["static"]))


def tree(x: Any) -> Any:
    """A tree whose leaves are 0."""
    if x is None or x == "*":
        return None if x is None else 0
    name, body = (*a(dict, x).items(), ("", []))[0]
    if name in ("list", "tuple"):
        return {"list": list, "tuple": tuple}[name](map(tree, a(list, body)))
    if name in numpy_tuples():
        return numpy_tuples()[name]._make(map(tree, a(list, body)))  # type: ignore[attr-defined]
    items = {value(k): tree(v) for k, v in a(list, body)}
    if len(items) < len(body):
        refuse("a dict has a key twice")
    if name == "defaultdict":
        return defaultdict(FACTORIES[x["makes"]], items)
    return {"dict": dict, "OrderedDict": OrderedDict}[name](items)


VALUES: dict[str, Callable[[Any], Any]] = {
    "float": lambda x: float(a(str, x)),
    "complex": lambda x: complex(*[float(a(str, part)) for part in a(list, x)]),
    "bytes": lambda x: base64.b64decode(a(str, x), validate=True),
    "tuple": lambda x: tuple(map(value, a(list, x))),
    "list": lambda x: list(map(value, a(list, x))),
    "dtype": lambda x: DTYPES[x],
    "number": lambda x: number(x),
    "program": lambda x: program(x),
}


def word(x: Any) -> str:
    """One word of letters, which can stand in generated code without being any."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", a(str, x)):
        refuse(f"{x[:40]!r} is no word")
    return str(x)


def check_guard(args: Sequence[Atom], params: dict[str, Any], outs: Sequence[Var]) -> None:
    if len(args) != 1 or outs or params.keys() != {"kind", "answer"} or params["kind"] not in KINDS:
        refuse("a guard has one operand, a kind and an answer")
    a(KINDS[params["kind"]], params["answer"])


def variable(number: int, x: Any) -> Var:
    dtype, shape = a(list, x)
    return Var(number, sizes(shape), DTYPES[dtype])


def sizes(shape: Any) -> tuple[int, ...]:
    if any(a(int, n) < 0 for n in a(list, shape)) or len(shape) > 32:
        refuse(f"{str(shape)[:40]} is no shape")
    return tuple(shape)


def atom(x: Any, made: Sequence[Var]) -> Atom:
    """A literal, or a variable that there is already."""
    if type(x) is list:
        return Literal(number(x))
    if not 0 <= a(int, x) < len(made):
        refuse(f"variable {x} is read before it is there")
    v: Var = made[x]
    return v


def number(x: Any) -> np.generic:
    dtype, packed = a(list, x)
    value: Any = array(dtype, [], packed)[()]
    return value  # type: ignore[no-any-return]


def array(dtype: Any, shape: Any, packed: Any) -> np.ndarray[Any, Any]:
    """An array that nobody can write to."""
    kind = DTYPES[dtype]
    data = base64.b64decode(a(str, packed), validate=True)
    if kind.kind == "b" and data.strip(b"\x00\x01"):
        refuse("a bool is 0 or 1")
    made = np.frombuffer(data, kind.newbyteorder("<")).reshape(sizes(shape)).astype(kind, copy=False)
    made.flags.writeable = False
    return made


load.__module__ = "funcgrad.program"  # where pickles look for it
