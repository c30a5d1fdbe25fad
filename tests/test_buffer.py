"""`fg.buffer`: what is written and read is what NumPy's assignments would have made, and so are the derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors
from funcgrad.buffer import SLACK, Buffer
from tests.ops.kit import arr

X = arr(6)


def filled(a: Any, write: Callable[[Any], None]) -> Any:
    """An ndarray or a buffer after it was written to."""
    write(a)
    return a.freeze() if isinstance(a, Buffer) else a


# ---- programs: statements of NumPy on an array `a` of shape (4, 3), which read `x` of shape (6,)

STATEMENTS: dict[str, Callable[[Any, Any], None]] = {}


def statement(text: str) -> None:
    code = compile(text, "<statement>", "exec")
    STATEMENTS[text] = lambda a, x: exec(code, {"a": a, "x": x, "np": np})


for _text in (
    "a[0, 1] = x[0]",
    "a[-1, -1] = x[1] * a[0, 1]",
    "a[2] = x[:3]",
    "a[1:, 0] = x[3:]",
    "a[:, 2] = x[4] * 2",
    "a[...] = x[5] + a[...]",
    "a[::2] = x.reshape(2, 3)",
    "a[::-2, 1:] = x[:4].reshape(2, 2)",
    "a[[0, 0, 3], [1, 1, 2]] = x[:3]",
    "a[[3, 1]] = x.reshape(2, 3) * a[[1, 0]]",
    "a[np.eye(4, 3, dtype=bool)] = x[::2]",
    "a[np.array([True, False, True, False])] = x[0]",
    "a[2, 2] += x[2]",
    "a[1] += x[1] * a[1]",
    "a[[0, 0], [0, 0]] += x[2]",
    "a[1, 1] *= a[0, 1] + x[3]",
    "a[0] = 7.0",
    "a[3] = [1.0, 2.0, 3.0]",
    "a[2] = [x[0], 0.0, x[1]]",
    "a[0:0] = x[0]",
    "a[1] = x[None, None, :3]",
    "a[2, 1:] -= np.sum(a[:, 0]) * x[:2]",
    "a[:, 1] = a[:, 0] * a[:, 2]",
    "a[1:3, 1:] = a[0:2, :2]",
    "a[0] = a[3] @ np.ones((3, 3))",
    "a[None, 0] = x[3:]",
    "a[3, ...] = x[1]",
):
    statement(_text)


def program(seed: int) -> Callable[[Any, Any], None]:
    """Some statements, in a random order, some of them twice."""
    chosen = np.random.default_rng(seed).choice(np.array([*STATEMENTS], object), 12)

    def run(a: Any, x: Any) -> None:
        for text in chosen:
            STATEMENTS[text](a, x)

    return run


def slopes(run: Callable[[Any, Any], None], x: Any) -> Any:
    """The Jacobian of what NumPy leaves in an ndarray, by complex steps: the statements are polynomials."""
    rows = []
    for k in range(x.size):
        a = np.zeros((4, 3), complex)
        run(a, x + 1e-30j * (np.arange(x.size) == k))
        rows.append(a.imag / 1e-30)
    return np.stack(rows, -1)


@pytest.mark.parametrize("run", [*STATEMENTS.values(), *map(program, range(40))], ids=[*STATEMENTS, *map(str, range(40))])
def test_programs_of_writes_and_reads(run: Callable[[Any, Any], None]) -> None:
    """Values are NumPy's, bit for bit, traced and plain; both modes are the complex step's."""
    expected = filled(np.zeros((4, 3)), lambda a: run(a, X))

    def f(x: Any) -> Any:
        return filled(fg.buffer((4, 3)), lambda a: run(a, x))

    plain = f(X)
    assert type(plain) is fg.Tensor
    np.testing.assert_array_equal(plain, expected)
    np.testing.assert_array_equal(fg.vjp(f, X)[0], expected)
    by_steps = slopes(run, X)
    for jacobian in (fg.jacrev, fg.jacfwd):
        np.testing.assert_allclose(jacobian(f)(X), by_steps, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_second_order(seed: int) -> None:
    """Every order of the two modes gives one Hessian, and it is that of differences."""
    run = program(seed)

    def f(x: Any) -> Any:
        return np.sum(np.sin(filled(fg.buffer((4, 3)), lambda a: run(a, x))))

    x = X / 4
    g = fg.grad(f)
    h = [jac(inner(f))(x) for jac in (fg.jacfwd, fg.jacrev) for inner in (fg.jacfwd, fg.grad)]
    for other in h[1:]:
        np.testing.assert_allclose(other, h[0], rtol=1e-9, atol=1e-9)
    step = 1e-5
    by_differences = np.stack([(g(x + step * e) - g(x - step * e)) / (2 * step) for e in np.eye(6)])
    np.testing.assert_allclose(h[0], by_differences, rtol=1e-5, atol=1e-6)


# ---- what is written where


def test_the_last_write_wins() -> None:
    """The derivative goes to the value that stays, also where a plain value covers a traced one."""

    def f(x: Any) -> Any:
        buf = fg.buffer(3)
        buf[:] = x[0]
        buf[1:] = x[1]
        buf[2] = 5.0
        return buf.freeze()

    np.testing.assert_array_equal(fg.jacobian(f)(X), np.eye(3, 6) * [[1], [1], [0]])


def test_augmented_assignment_accumulates() -> None:
    """Statement by statement, as in NumPy; an index that names an element twice in one statement adds once."""

    def f(x: Any) -> Any:
        buf = fg.buffer(2)
        for _ in range(3):
            buf[0] += x
        buf[[1, 1]] += x
        return buf.freeze()

    np.testing.assert_array_equal(fg.jacobian(f)(2.0), [3.0, 1.0])


def test_a_read_keeps_its_value() -> None:
    """What was read does not change when the buffer does."""
    buf = fg.buffer(3)
    buf[:] = 1.0
    part = buf[:2]
    buf[:] = 2.0
    np.testing.assert_array_equal(part, [1.0, 1.0])
    with pytest.raises(errors.FrozenError):
        part[0] = 3.0


def test_a_read_of_one_write_is_that_value() -> None:
    """Nothing is computed for it, so the usual loop costs what its operations cost."""

    def f(x: Any) -> Any:
        buf = fg.buffer((2, 3))
        buf[0] = x
        assert buf[0] is x
        buf[1, 2] = y = np.sum(x)
        assert buf[1, 2] is y
        return buf[0, 0]

    np.testing.assert_array_equal(fg.grad(f)(np.ones(3)), [1.0, 0.0, 0.0])


def test_several_transformations_write() -> None:
    """Tracers of nested transformations meet in one buffer."""

    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            buf = fg.buffer(4)
            buf[0], buf[1], buf[2] = x, y, x * y
            buf[3] = buf[0] * buf[2]
            return np.sum(buf.freeze() ** 2)

        return fg.grad(inner)(3.0)

    # ∂/∂y of x² + y² + x²y² + x⁴y² is 2y (1 + x² + x⁴)
    assert outer(2.0) == 6.0 * (1 + 4 + 16)
    assert fg.grad(outer)(2.0) == 6.0 * (2 * 2.0 + 4 * 2.0**3)
    assert fg.jvp(outer, (2.0,), (1.0,))[1] == 6.0 * (2 * 2.0 + 4 * 2.0**3)


def test_a_tape_writes() -> None:
    """Vars may be written as well."""
    v = fg.Var([1.0, 2.0])
    buf = fg.buffer(3)
    buf[1:] = v
    np.testing.assert_array_equal(fg.backward(np.sum(buf.freeze() ** 2))[v], [2.0, 4.0])


# ---- shapes and dtypes


@pytest.mark.parametrize("shape", [(), 3, (0,), (2, 0), (1, 2, 3)])
def test_shapes(shape: Any) -> None:
    """Zeros at first, also of no axes or no elements; what is traced keeps the shape."""
    zeros = np.zeros(shape)
    buf = fg.buffer(shape)
    assert (buf.shape, buf.ndim, buf.size, buf.dtype) == (zeros.shape, zeros.ndim, zeros.size, zeros.dtype)
    np.testing.assert_array_equal(buf[...], zeros)

    def f(x: Any) -> Any:
        buf = fg.buffer(shape)
        buf[...] = x
        assert np.shape(buf[...]) == np.shape(buf[()]) == zeros.shape
        return buf.freeze()

    np.testing.assert_array_equal(fg.jvp(f, (2.0,), (3.0,)), [zeros + 2.0, zeros + 3.0])


def test_float32_stays_float32() -> None:
    """Written values are rounded to the dtype of the buffer; the gradient has that of the input."""

    def f(x: Any) -> Any:
        buf = fg.buffer(2, np.float32)
        buf[0] = x[0]
        buf[1] = np.float64(0.1)
        out = buf.freeze()
        assert out.dtype == np.float32
        return np.sum(out)

    value, g = fg.value_and_grad(f)(np.array([0.1]))
    assert value == np.float32(0.1) + np.float32(0.1)
    assert g.dtype == np.float64


def test_complex_numbers() -> None:
    """In a complex buffer; in a real one they raise, traced or not."""

    def f(z: Any) -> Any:
        buf = fg.buffer(2, complex)
        buf[0] = z
        buf[1] = 1.0
        return np.sum(buf.freeze() ** 2)

    assert fg.grad(f, holomorphic=True)(1 + 2j) == 2 + 4j
    for z in (1j, np.complex64(1j), np.array([1j, 2j])):
        with pytest.raises(errors.ArgumentTypeError, match="does not fit into float64"):
            fg.buffer(2)[:] = z
    with pytest.raises(errors.ArgumentTypeError, match=r"fg\.buffer\(shape, np\.complex128\)"):
        fg.vjp(lambda z: fg.buffer(2).__setitem__(0, z), 1j)


def test_whole_numbers() -> None:
    """A plain float is cut off, as by NumPy; a traced one raises, since its derivative would be lost."""
    buf = fg.buffer(2, int)
    buf[0] = 2.7
    assert buf[0] == 2
    with pytest.raises(errors.ArgumentTypeError, match="does not fit into int64"):
        fg.grad(lambda x: fg.buffer(2, int).__setitem__(0, x))(1.0)


def test_only_numbers() -> None:
    """Not strings or objects."""
    with pytest.raises(errors.ArgumentTypeError, match="holds numbers"):
        fg.buffer(2, object)


# ---- what is refused


@pytest.mark.parametrize("traced", [False, True])
def test_numpys_errors(traced: bool) -> None:
    """Out of range and of the wrong shape: as NumPy, and nothing is written."""

    def f(x: Any) -> Any:
        v = x if traced else X
        buf = fg.buffer(3)
        buf[0] = v[0]
        for index, value in ((3, v[0]), (-4, v[0]), ([0, 3], v[1]), ((0, 0), v[0])):
            with pytest.raises(IndexError):
                buf[index] = value
            with pytest.raises(IndexError):
                buf[index]
        for index, value in ((slice(0, 2), v[:3]), (0, v[:2]), ([0, 1], v[:3])):
            with pytest.raises(ValueError):
                buf[index] = value
        np.testing.assert_array_equal(fg.stop_gradient(buf[...]), [X[0], 0.0, 0.0])
        return buf.freeze()[0]

    np.testing.assert_array_equal(fg.grad(f)(X) if traced else f(X) * 0, np.eye(6)[0] if traced else 0.0)


def test_freezing_ends_it() -> None:
    """Whatever is done with it later raises, and says what to do."""
    buf = fg.buffer(2)
    out = buf.freeze()
    assert type(out) is fg.Tensor
    for use in (lambda: buf.__setitem__(0, 1.0), lambda: buf[0], buf.freeze, lambda: len(buf), lambda: buf.shape):
        with pytest.raises(errors.EndedBufferError, match=r"buf\.freeze\(\)"):
            use()
    assert repr(buf) == "Buffer(frozen)"


def test_numpy_functions_say_to_read_it() -> None:
    """A buffer is no array: it changes."""
    buf = fg.buffer(2)
    for use in (lambda: np.sum(buf), lambda: np.sin(buf), lambda: np.asarray(buf), lambda: np.ones(2) + buf, lambda: np.ones(2) @ buf):
        with pytest.raises(errors.ArgumentTypeError, match=r"buf\[\.\.\.\]"):
            use()
    with pytest.raises(errors.ArgumentTypeError, match=r"buf\[\.\.\.\]"):
        fg.grad(lambda x: np.sum(x + buf))(np.ones(2))


def test_a_traced_value_does_not_survive_in_it() -> None:
    """A buffer that outlives the function is no way out of it."""
    buf = fg.buffer(2)

    def f(x: Any) -> Any:
        buf[0] = x
        return x * 2

    assert fg.grad(f)(1.0) == 2.0
    with pytest.raises(errors.LeakedTracerError, match="after it ended"):
        buf.freeze()


def test_it_can_be_looked_at() -> None:
    """Iterated, counted and printed."""
    buf = fg.buffer(2)
    buf[1] = 3.0
    assert (len(buf), list(buf), repr(buf)) == (2, [0.0, 3.0], "Buffer([0., 3.], float64[2])")

    def f(x: Any) -> Any:
        buf[0] = x
        assert repr(buf) == "Buffer(traced, float64[2])"
        return sum(buf)

    assert fg.grad(f)(1.0) == 1.0


# ---- cost


def count_of(x: Any) -> int:
    """How many nodes lead to a traced value."""
    from funcgrad.transforms.walk import discover

    return len(discover([x._node]))


def test_nodes_are_linear_in_the_writes() -> None:
    """Ten times the writes grow ten times the nodes, not a hundred times the work."""

    def f(x: Any, n: int) -> Any:
        buf = fg.buffer(n)
        buf[0] = x
        for i in range(1, n):
            buf[i] = np.sin(buf[i - 1])
        out = np.sum(buf.freeze())
        counts.append(count_of(out))
        return out

    counts: list[int] = []
    for n in (100, 1000):
        fg.grad(f)(0.5, n)
    assert counts[1] <= 10 * counts[0]


def test_what_was_overwritten_is_forgotten() -> None:
    """A long loop over one buffer keeps no more values alive than a few times its size."""

    def f(x: Any) -> Any:
        buf = fg.buffer(8)
        for i in range(5000):
            buf[i % 8] = x * i
        assert len(buf._writes) <= 8 + SLACK * (8 + SLACK) + 1
        return np.sum(buf.freeze())

    assert fg.grad(f)(1.0) == sum(range(4992, 5000))
