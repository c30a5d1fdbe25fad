"""Programs as text and as drawings."""

from __future__ import annotations

import html
import re
import textwrap
from typing import Any

import numpy as np

import funcgrad as fg
from tests.program.kit import W, X


def dedented(text: str) -> str:
    return textwrap.dedent(text).strip("\n")


def loss(params: Any, x: Any) -> Any:
    y = params["w"] * x + W[0]
    return np.sum(y) if y[0] > 0 else -1.0


PROGRAM = fg.trace(loss)({"w": X}, 2.0)


def test_text() -> None:
    """One line for each input, equation and output, with dtypes and shapes; inputs in the user's words; captured ones last."""
    assert str(PROGRAM) == dedented("""
        program loss
            input  a:float64[3]  params['w']
            input  b:float64[]  x
            input  c:float64[3]  captured
            d:float64[3] = multiply(a, b)
            e:float64[3] = add(d, c)
            f:float64[1] = slice(e, starts=(0,), steps=(1,), stops=(1,))
            g:float64[] = reshape(f, ones=True, shape=())
            h:bool[] = less(0.0:float64, g)
            guard bool(h) is True
            i:float64[] = sum(e, axis=(0,))
            output i
    """)


def test_lines() -> None:
    """With `lines`, the user's line stands behind each equation, and guards say who looked."""
    found = re.findall(r"^ +(.*)  # test_show\.py:(\d+) in loss$", PROGRAM.text(lines=True), re.MULTILINE)
    assert len(found) == len(PROGRAM.equations)
    first = loss.__code__.co_firstlineno
    assert [int(n) - first for _, n in found] == [1, 1, 2, 2, 2, 2, 2]


def test_repr_is_short() -> None:
    """The repr counts, and does not print a thousand equations."""
    assert repr(PROGRAM) == "<program loss: 2 inputs, 1 captured, 7 equations, 1 output>"
    assert repr(fg.trace(lambda: None)()) == "<program <lambda>: 0 inputs, 0 equations, 0 outputs>"


def test_programs_within_are_indented() -> None:
    """The programs of a loop or branch stand under their equation."""
    program = fg.trace(lambda x: fg.cond(x > 2.0, np.sin, lambda y: fg.while_loop(lambda s: s < 9.0, lambda s: s * 2.0, y), x))(3.0)
    assert str(program) == dedented("""
        program <lambda>
            input  a:float64[]  x
            b:bool[] = less(2.0:float64, a)
            c:int64[] = astype(b, dtype=int64)
            d:float64[] = cond(c, a)
                branches[0]
                    input  a:float64[]
                    b:float64[] = while(a, body_consts=0, cond_consts=0, keeps=Everything())
                        body
                            input  a:float64[]
                            b:float64[] = multiply(a, 2.0:float64)
                            output b
                        cond
                            input  a:float64[]
                            b:bool[] = less(a, 9.0:float64)
                            output b
                    output b
                branches[1]
                    input  a:float64[]
                    b:float64[] = sin(a)
                    output b
            output d
    """)


def test_text_is_linear() -> None:
    """A long program has a long text, and nothing more: each equation is written once."""

    def f(x: Any) -> Any:
        for _ in range(2000):
            x = x + x
        return x

    assert len(fg.trace(f)(1.0).text()) < 2000 * 60
    assert len(fg.trace(f)(1.0).mermaid()) < 2000 * 140


def test_mermaid() -> None:
    """Boxes for inputs, operations, guards and outputs; arrows carry dtypes and shapes."""
    assert PROGRAM.mermaid().strip() == dedented("""
        flowchart TD
            i0(["params[#39;w#39;] float64[3]"])
            i1(["x float64[]"])
            i2[("captured float64[3]")]
            e0["multiply(·, ·)"]
            e1["add(·, ·)"]
            e2["slice(·, starts=(0,), steps=(1,), stops=(1,))"]
            e3["reshape(·, ones=True, shape=())"]
            e4["less(0.0:float64, ·)"]
            e5{{"guard bool(·) is True"}}
            e6["sum(·, axis=(0,))"]
            o0(["output float64[]"])
            i0 -->|"float64[3]"| e0
            i1 -->|"float64[]"| e0
            e0 -->|"float64[3]"| e1
            i2 -->|"float64[3]"| e1
            e1 -->|"float64[3]"| e2
            e2 -->|"float64[1]"| e3
            e3 -->|"float64[]"| e4
            e4 -->|"bool[]"| e5
            e1 -->|"float64[3]"| e6
            e6 -->|"float64[]"| o0
    """)


def test_drawings_of_programs_within() -> None:
    """A loop's body is a frame of its own, beside the equation that holds it; names are unique."""
    program = fg.trace(lambda x: fg.scan(lambda c, r: (c + r, c * r), 0.0, x))(X)
    text = program.mermaid()
    assert '    subgraph e0_0_ ["scan: body"]\n        e0_0_i0(["float64[]"])' in text
    assert "    e0 -.- e0_0_\n" in text
    assert "    subgraph cluster_e0_0_ {\n" in program.dot()
    names = re.findall(r"^ +(\w+) \[shape", program.dot(), re.MULTILINE)
    assert len(names) == len(set(names)) == 10
    for source, target in re.findall(r"^ +(\w+) -> (\w+)", program.dot(), re.MULTILINE):
        assert {source, target} <= set(names)


def test_names_of_users_are_only_text() -> None:
    """Whatever a function, an argument or a key is called, it cannot become markup, a second line or the end of a string."""
    evil = '"</pre><script>\\"];\n%%{init}%% | end {{ #quot; `'

    def f(p: Any) -> Any:
        return p[evil] * 2

    f.__name__ = evil
    program = fg.trace(f)({evil: X})
    assert len(str(program).splitlines()) == 4
    assert program._repr_html_() == f"<pre>{html.escape(str(program))}</pre>"
    assert len(program.mermaid().splitlines()) == 6
    for line in program.mermaid().splitlines():
        assert line.count('"') in (0, 2)
        assert "<" not in line
    assert len(program.dot().splitlines()) == 8
    for line in program.dot().splitlines():
        assert len(re.findall(r'(?<!\\)(?:\\\\)*"', line)) in (0, 2)


def test_notebooks() -> None:
    """A notebook may choose among text, HTML and a Mermaid flowchart."""
    bundle = PROGRAM._repr_mimebundle_()
    assert bundle == {"text/plain": str(PROGRAM), "text/html": PROGRAM._repr_html_(), "text/vnd.mermaid": PROGRAM.mermaid()}
