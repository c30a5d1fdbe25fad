"""Values as Python objects: operators, truth, writing, sharing memory, threads."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.hard_cases.kit import close, gradient

LARGE = 20_000


@pytest.mark.parametrize("s", [np.float64(3.0), np.float32(3.0), np.int64(3), np.float16(3.0), np.uint8(3), np.array(3.0)])
def test_a_numpy_scalar_on_the_left(s: Any) -> None:
    """It does not swallow the traced value."""
    x = np.array([2.0, 4.0])
    close(gradient(lambda x: np.sum(s * x), x), [3.0, 3.0])
    close(gradient(lambda x: np.sum(s - x), x), [-1.0, -1.0])
    close(gradient(lambda x: np.sum(s / x), x), [-0.75, -3 / 16])
    close(gradient(lambda x: np.sum(s**x), x), np.array([9.0, 81.0]) * math.log(3))
    t = fg.tensor(x)
    for result, expected in ((s + t, [5.0, 7.0]), (s * t, [6.0, 12.0]), (s - t, [1.0, -1.0])):
        assert type(result) is fg.Tensor
        close(result, np.array(expected))


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: 5 - x, -1.0),
        (lambda x: 9 / x, -1.0),
        (lambda x: 2**x, 8 * math.log(2)),
        (lambda x: 10 % x, -3.0),
        (lambda x: 10 // x * x, 3.0),
        (lambda x: -x, -1.0),
        (lambda x: +x, 1.0),
        (lambda x: abs(-2 * x), 2.0),
        (lambda x: x**3, 27.0),
        (lambda x: x**-1, -1 / 9),
        (lambda x: True * x, 1.0),
        (lambda x: pow(x, 2), 6.0),
        (lambda x: divmod(10.0, x)[1], -3.0),
        (lambda x: round(x * 1.0) * x, 3.0),
    ],
)
def test_operators_with_python_numbers(f: Any, slope: float) -> None:
    """On either side, at 3."""
    close(gradient(f, 3.0), slope)


def test_truth() -> None:
    """Of one element its own; of several NumPy's error."""
    assert bool(fg.tensor(-2.0)) is True
    assert bool(fg.tensor([0.0])) is False
    with pytest.raises(ValueError, match="ambiguous"):
        bool(fg.tensor([1.0, 1.0]))
    with pytest.raises(ValueError, match="ambiguous"):
        fg.grad(lambda x: np.sum(x) if x > 0 else 0.0)(np.ones(2))


def test_a_tensor_cannot_be_written_to() -> None:
    """Not by items, attributes, `out=` or `ufunc.at`."""
    t = fg.tensor([1.0, 2.0])

    def item() -> None:
        t[0] = 3.0

    def shape() -> None:
        t.shape = (2, 1)  # type: ignore[misc]

    for write in (item, shape, lambda: np.multiply(t, 2.0, out=t), lambda: np.add.at(t, 0, 1.0), lambda: np.copyto(t, 0.0)):
        with pytest.raises((TypeError, AttributeError, ValueError)):
            write()  # type: ignore[operator]
    close(t, np.array([1.0, 2.0]))


def test_a_tensor_is_not_its_source() -> None:
    """Later writes to the array are not seen, and the array stays writeable."""
    a = np.arange(3.0)
    t, of_view = fg.tensor(a), fg.tensor(a[1:])
    a[:] = -1.0
    close(t, np.array([0.0, 1.0, 2.0]))
    close(of_view, np.array([1.0, 2.0]))


@pytest.mark.parametrize("n", [3, LARGE])
def test_an_input_overwritten_before_the_backward_pass(n: int) -> None:
    """The pullback is that of the old values."""
    x = np.full(n, 2.0)
    _, pull = fg.vjp(lambda x: np.sum(x**3), x)
    x[:] = 100.0
    close(pull(1.0)[0], np.full(n, 12.0))


@pytest.mark.parametrize("n", [3, LARGE])
def test_a_captured_array_overwritten_before_the_backward_pass(n: int) -> None:
    """Either the write is refused, until the pullback dies, or it is not seen."""
    c = np.full(n, 7.0)
    _, pull = fg.vjp(lambda x: np.sum(x * c), np.ones(n))
    if n == LARGE:
        with pytest.raises(ValueError, match="read-only"):
            c[:] = 0.0
    else:
        c[:] = 0.0
    close(pull(1.0)[0], np.full(n, 7.0))
    del pull
    c[:] = 0.0


@pytest.mark.parametrize("f", [lambda x: x, lambda x: x[::-1], lambda x: x.T, lambda x: np.reshape(x, (1, -1)), np.real])
@pytest.mark.parametrize("n", [2, LARGE])
def test_an_output_is_not_the_input(f: Any, n: int) -> None:
    """Writing to the input later does not change what came out."""
    x = np.arange(float(n))
    expected = np.array(f(x))
    outs = [fg.vjp(f, x)[0], fg.jvp(f, (x,), (x,))[0], fg.jvp(f, (x,), (x,))[1], fg.linearize(f, x)[0]]
    outs.append(fg.value_and_grad(lambda x: (np.sum(x), f(x)), has_aux=True)(x)[0][1])
    x[:] = -5.0
    for out in outs:
        close(out, expected)


def test_builtins_over_traced_values() -> None:
    """sum, max, min, sorted, any, all, in, zip, enumerate, reversed, unpacking."""
    close(gradient(lambda x: sum([k * x**k for k in range(4)]), 2.0), 1 + 8 + 36.0)
    close(gradient(lambda v: max(v[0], v[1]) - min(v), np.array([5.0, -1.0])), [1.0, -1.0])
    close(gradient(lambda v: sorted(v)[0] * 2 + sorted(v, reverse=True)[0], np.array([5.0, -1.0, 2.0])), [1.0, 2.0, 0.0])
    close(gradient(lambda v: sum(a * b for a, b in zip(v, reversed(v), strict=True)), np.array([2.0, 3.0])), [6.0, 4.0])
    close(gradient(lambda v: v[0] ** 2 if any(e > 4 for e in v) and 3.0 in v else 0.0, np.array([3.0, 5.0])), [6.0, 0.0])

    def unpacks(v: Any) -> Any:
        first, *rest = v
        return first * sum(k * r for k, r in enumerate(rest))

    close(gradient(unpacks, np.array([2.0, 3.0, 4.0])), [4.0, 0.0, 2.0])


def test_arrays_of_traced_numbers() -> None:
    """`np.array([x, y])` is right, at the price of element by element."""
    close(gradient(lambda x: np.array([x, 3 * x]) @ np.array([2.0, 5.0]), 1.5), 17.0)
    close(gradient(lambda x: np.sum(np.exp(np.array([[x, 2 * x], [x * x, -x]]))), 0.0), 2.0)
    close(gradient(lambda x: np.sum(np.array([[x, 1.0], [2.0, -x]]) @ np.array([[x, 0.0], [1.0, x]])), 3.0), 2.0)


def test_a_ufunc_of_an_array_of_traced_and_plain_numbers() -> None:
    """NumPy looks for a method `exp` of the plain one: loud, since nothing of ours is asked; `np.stack` or `+ 0 * x` help."""
    with pytest.raises(TypeError, match="no callable exp method"):
        fg.grad(lambda x: np.sum(np.exp(np.array([x, 1.0]))))(0.0)
    close(gradient(lambda x: np.sum(np.exp(np.stack([x, 1.0]))), 0.0), 1.0)


def test_a_plain_array_cannot_take_up_a_traced_value() -> None:
    """`a[i] = x`, `a += x` and `out=a` raise; nothing is silently lost."""

    def item(x: Any) -> Any:
        a = np.zeros(2)
        a[0] = x
        return np.sum(a)

    def inplace(x: Any) -> Any:
        a = np.ones(2)
        a += x
        return np.sum(a)

    def out(x: Any) -> Any:
        a = np.ones(2)
        return np.sum(np.multiply(a, x, out=a))

    def copyto(x: Any) -> Any:
        a = np.ones(2)
        np.copyto(a, x)
        return np.sum(a)

    for f in (item, inplace, out, copyto):
        with pytest.raises((TypeError, ValueError)):
            fg.grad(f)(2.0)
        with pytest.raises((TypeError, ValueError)):
            fg.grad(f)(np.ones(2) if f is not item else np.ones(()))


def test_augmented_assignment_rebinds() -> None:
    """The caller's array is untouched, and broadcasting is that of the operator."""
    a = np.full((2, 2), 3.0)

    def f(x: Any) -> Any:
        x *= 2
        x += np.ones((4, 2, 2))
        return x**2

    y, pull = fg.vjp(f, a)
    assert y.shape == (4, 2, 2)
    close(pull(np.ones((4, 2, 2)))[0], np.full((2, 2), 4 * 2 * 2 * 7.0))
    close(a, np.full((2, 2), 3.0))


def test_python_branches() -> None:
    """The branch that is taken is the one that is differentiated."""

    def f(x: Any) -> Any:
        while x > 10:
            x = x / 2
        if x < 0:
            return -3 * x
        return x**2 if np.all(x > 1) else 5 * x

    close([fg.grad(f)(x) for x in (-1.0, 0.5, 2.0, 20.0, 44.0)], [-3.0, 5.0, 4.0, 10.0, 2 * 5.5 / 8])


def test_threads() -> None:
    """Nested gradients in several threads at once do not meet."""
    wrong: list[Any] = []
    start = threading.Barrier(5)

    def work(k: float) -> None:
        start.wait()
        for i in range(40):
            found = fg.grad(fg.grad(lambda x: k * x**4))(1.0 + i)
            if abs(found - 12 * k * (1.0 + i) ** 2) > 1e-9 * found:
                wrong.append((k, i, found))

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(1, 6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
