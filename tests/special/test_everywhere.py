"""SciPy's ufuncs under every transformation, in programs and out of them; and that SciPy is the user's to import."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors, program
from funcgrad.ops.special import LINES, PARTS
from tests.program.kit import bits
from tests.program.test_laws import assert_bits

sp = pytest.importorskip("scipy.special", reason="SciPy is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of SciPy, and of sums of infinities

ODD = np.array([0.3, 0.9, -0.0, 0.0, 1.0, -1.0, 2.5, -40.0, 1e5, np.inf, -np.inf, np.nan])
ARGUMENTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    **dict.fromkeys("gammainc gammaincc gammaincinv gammainccinv hyp0f1 iv ive kv kve jv jve yv yve".split(), lambda x: (1.5, x)),
    **dict.fromkeys("kn yn expn".split(), lambda x: (2, x)),
    **dict.fromkeys("betainc betaincc betaincinv".split(), lambda x: (1.5, 2.5, x)),
    "hyp1f1": lambda x: (1.5, 2.5, np.minimum(np.maximum(x, -50.0), 50.0)),  # SciPy takes its time far out
    "hyp2f1": lambda x: (0.5, 0.7, 1.5, x),
    "_zeta": lambda x: (3.0, x),
}


def ufuncs() -> dict[str, Any]:
    """Every ufunc that has a rule."""
    return {of: getattr(sp._ufuncs, of) for of in dict.fromkeys(line.of for line in LINES.values())}


def of_one(name: str) -> Callable[[Any], Any]:
    """The function of one argument; of two that are the same, where both have rules."""
    f = ufuncs()[name]
    if name in ARGUMENTS:
        return lambda x: f(*ARGUMENTS[name](x))
    return (lambda x: f(x)) if f.nin == 1 else lambda x: f(x, x + 0.25)


def loss(name: str) -> Callable[[Any], Any]:
    f = of_one(name)
    return lambda x: np.sum(sum(f(x)) if name in PARTS else f(x) * 0.5)


@pytest.mark.parametrize("name", ufuncs())
def test_compiled_is_eager(name: str) -> None:
    """**Law**: jit gives the bits of eager: values and gradients, at ordinary and at odd numbers, in float64 and float32."""
    f = loss(name)
    both = fg.value_and_grad(f)
    compiled = fg.jit(both)
    for x in (ODD, ODD[:2], np.float64(0.7), ODD.astype(np.float32)):
        for _ in range(3):
            assert_bits(fg.tree.leaves(compiled(x)), fg.tree.leaves(both(x)), name)


@pytest.mark.parametrize("name", ufuncs())
def test_mapped_is_one_by_one(name: str) -> None:
    """vmap gives the stack of the results."""
    f = fg.grad(loss(name))
    np.testing.assert_array_equal(fg.vmap(f)(ODD), np.stack([f(x) for x in ODD]))


@pytest.mark.parametrize("name", ufuncs())
def test_saved_and_standing_alone(name: str) -> None:
    """A program is saved and loaded without code, and its text imports SciPy and says so."""
    x = np.array([0.3, 0.9])
    made = fg.trace(of_one(name))(x)
    assert program.load(made.to_bytes()) == made
    text = fg.jit(of_one(name)).source(x)
    space: dict[str, Any] = {}
    exec(text, space)
    assert "import scipy.special" in text
    assert "It needs SciPy" in text
    assert "import funcgrad" not in text
    found = next(v for k, v in space.items() if callable(v) and not k.startswith("_"))(x)
    assert bits(found) == bits(of_one(name)(x))


def black_scholes(s: Any, k: Any, t: Any, v: Any) -> Any:
    cdf = lambda x: 0.5 * (1.0 + sp.erf(x / np.sqrt(2.0)))
    d = (np.log(s / k) + 0.5 * v * v * t) / (v * np.sqrt(t))
    return s * cdf(d) - k * cdf(d - v * np.sqrt(t))


def test_large_arrays_in_tiles() -> None:
    """Elementwise work on large arrays runs in tiles, with the bits of eager; and the slope is the known one, Φ(d)."""
    rng = np.random.default_rng(0)
    s, k, t, v = rng.uniform(50, 150, 100_000), rng.uniform(50, 150, 100_000), 1.5, 0.3
    gradient = fg.grad(lambda s: np.sum(black_scholes(s, k, t, v)))
    compiled = fg.jit(gradient)
    compiled(s), compiled(s)
    assert bits(compiled(s)) == bits(gradient(s))
    d = (np.log(s / k) + 0.5 * v * v * t) / (v * np.sqrt(t))
    np.testing.assert_allclose(gradient(s), sp.ndtr(d), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_dtypes_are_scipys(dtype: Any) -> None:
    """SciPy computes float16 in a wider dtype, and has few functions of longdouble; gradients have the dtype of the input."""
    x = np.array([0.25, 0.5], dtype)
    for name in ("erf", "expit", "xlogy", "gammainc", "jv"):
        f = of_one(name)
        try:
            wanted = f(x)
        except TypeError:
            with pytest.raises(TypeError):
                fg.grad(lambda x, f=f: np.sum(f(x)))(x)
            continue
        y, pull = fg.vjp(f, x)
        assert y.dtype == wanted.dtype
        np.testing.assert_array_equal(y, wanted)
        (g,) = pull(np.ones_like(y))
        assert g.dtype == dtype
        tangent = fg.jvp(f, (x,), (np.ones_like(x),))[1]
        assert tangent.dtype == y.dtype
        np.testing.assert_allclose(g.astype(float), tangent.astype(float), rtol=1e-3)


def test_keywords_and_operands() -> None:
    """Lists, Tensors, `dtype=`; `out=` and `where=` raise as they do for NumPy's ufuncs."""
    assert fg.grad(lambda x: sp.xlogy([2.0], x)[0])(4.0) == 0.5
    assert isinstance(sp.erf(fg.tensor([0.0, 1.0])), fg.Tensor)
    assert fg.trace(lambda x: sp.erf(x, dtype=np.float32))(0.5)(0.5).dtype == np.float32
    with pytest.raises(errors.OutArgumentError, match=r"scipy\.special\.erf"):
        fg.grad(lambda x: sp.erf(x, out=np.zeros(())))(0.5)
    with pytest.raises(errors.WhereArgumentError, match=r"scipy\.special\.erf"):
        fg.grad(lambda x: sp.erf(x, where=np.array(True)))(0.5)


@pytest.mark.parametrize("name", sorted(ARGUMENTS.keys() - {"_zeta"}))
def test_arguments_without_a_rule(name: str) -> None:
    """An order or a shape that is differentiated raises, by name; `stop_gradient` says that it does not matter."""
    f = ufuncs()[name]
    x = np.float64(0.5)
    rest = ARGUMENTS[name](x)[1:]
    for derivative in (fg.grad, fg.jacfwd, lambda f: fg.jit(fg.grad(f))):
        with pytest.raises(errors.MissingPartialError, match=rf"scipy\.special\.{name}: no derivative rule is known for its argument"):
            derivative(lambda a: f(a, *rest))(np.float64(1.5))
    assert fg.grad(lambda a: f(fg.stop_gradient(a), *rest))(np.float64(1.5)) == 0.0


def test_what_is_no_analytic_function_raises() -> None:
    """Of complex numbers: scaled Bessel functions, and the slope of `psi`, which SciPy does not have."""
    for f in (lambda z: sp.ive(1.5, z), lambda z: sp.jve(1.5, z), lambda z: sp.yve(1.5, z), sp.psi):
        with pytest.raises(errors.MissingPartialError, match="complex"):
            fg.grad(lambda z, f=f: f(z), holomorphic=True)(0.5 + 0.5j)


# ---- SciPy is the user's to import


def said(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60, text=True).stdout


USES = """
import numpy as np
import funcgrad as fg
fg.nn, fg.ode, fg.program, fg.testing, fg.scipy
x = np.linspace(0.1, 1.0, 5)
fg.jit(fg.grad(lambda x: np.sum(fg.scipy.special.logsumexp(x, b=x) + fg.scipy.special.softmax(np.sin(x))[0])))(x)
"""


def test_funcgrad_never_imports_scipy() -> None:
    """Not to be imported, not to differentiate, not to compile; and all rooms are there where SciPy is not installed."""
    assert said(f"import sys{USES}print('scipy' in sys.modules)") == "False\n"
    assert said(f"import sys; sys.modules['scipy'] = None{USES}print('done')") == "done\n"


def test_a_program_wants_scipy_imported() -> None:
    """One with SciPy's functions is loaded where the user has imported them; else it is refused, and the reason given."""
    data = fg.trace(sp.erf)(0.5).to_bytes()
    load = f"import funcgrad as fg; data = {data!r}\ntry: print(fg.program.load(data)(0.5))\nexcept ImportError as e: print(e)"
    assert said(f"import scipy.special\n{load}") == f"{sp.erf(0.5)}\n"
    assert (
        said(load)
        == "scipy.special.erf is needed, and funcgrad never imports SciPy itself. Write `import scipy.special` before this line.\n"
    )
