"""Short programs as people write them for NumPy and SciPy: each has the gradient that differences have."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import funcgrad as fg
from funcgrad import errors
from funcgrad.testing import check_grads

rng = np.random.default_rng(0)


def checked(f: Callable[..., Any], *args: Any) -> None:
    """Both modes, up to second order, against differences; the types of values and gradients; and that nothing else warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_grads(f, args)
        value, gradient = fg.value_and_grad(f)(*args)
    assert type(value) is type(f(*args))
    assert type(gradient) is type(args[0])


# ---- learning

INPUTS, LABELS = rng.normal(size=(12, 4)), rng.integers(0, 3, 12)


def test_network_of_a_class_with_params() -> None:
    """Layers in `self.params`, put back whatever happens."""

    class Net:
        def __init__(self) -> None:
            self.params = [rng.normal(size=(4, 5)) / 2, rng.normal(size=(5, 3)) / 2]

        def scores(self, x: Any) -> Any:
            for w in self.params[:-1]:
                x = np.log1p(np.exp(x @ w))
            return x @ self.params[-1]

        def loss(self, params: Any) -> Any:
            before, self.params = self.params, params
            try:
                s = self.scores(INPUTS)
                s -= s.max(axis=1, keepdims=True)
                return -np.mean(s[np.arange(12), LABELS] - np.log(np.exp(s).sum(axis=1)))
            finally:
                self.params = before

    net = Net()
    checked(net.loss, net.params)


def test_causal_attention_with_infinite_masks() -> None:
    """`-inf` in scores that the softmax turns into zeros, and an augmented division."""
    tokens, mask = np.array([[1, 2, 3, 4], [4, 3, 0, 0]]), np.tril(np.ones((4, 4), dtype=bool))

    def loss(p: Any) -> Any:
        x = p["embedding"][tokens]
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
        scores = np.where(mask, (x @ p["q"]) @ np.swapaxes(x @ p["k"], -1, -2), -np.inf)
        a = np.exp(scores - scores.max(-1, keepdims=True))
        a /= a.sum(-1, keepdims=True)
        logits = (a @ x) @ p["embedding"].T
        logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        return -np.take_along_axis(logs[:, :-1], tokens[:, 1:, None], axis=-1).mean()

    p = {"embedding": rng.normal(size=(5, 4)), "q": rng.normal(size=(4, 4)) / 4, "k": rng.normal(size=(4, 4)) / 4}
    value, gradient = fg.value_and_grad(loss)(p)
    assert np.isfinite(value)
    direction = {k: rng.normal(size=v.shape) for k, v in p.items()}
    h = 1e-5
    up, down = (loss({k: v + s * direction[k] for k, v in p.items()}) for s in (h, -h))
    assert sum(np.sum(gradient[k] * direction[k]) for k in p) == pytest.approx((up - down) / (2 * h), rel=1e-6)


def test_two_convolutions_by_sliding_windows() -> None:
    """`sliding_window_view` of what the first layer computed."""
    images = np.sin(np.arange(2 * 49.0)).reshape(2, 1, 7, 7)

    def convolved(x: Any, kernels: Any) -> Any:
        windows = sliding_window_view(x, (3, 3), axis=(2, 3))
        return np.einsum("nchwij,kcij->nkhw", windows, kernels)

    checked(
        lambda p: np.mean(convolved(np.tanh(convolved(images, p[0])), p[1]) ** 2),
        (rng.normal(size=(2, 1, 3, 3)), rng.normal(size=(1, 2, 3, 3))),
    )


def test_strides_are_refused() -> None:
    """Strides that are right for the plain array would read elsewhere in an object array: an error, with what to write instead."""
    for x in (np.arange(6.0), np.arange(6.0, dtype=np.float32)):
        with pytest.raises(errors.MissingRuleError, match="sliding_window_view"):
            fg.grad(lambda t, x=x: np.sum(as_strided(t, (4, 3), 2 * x.strides) ** 2))(x)
        with pytest.raises(AttributeError, match="sliding_window_view"):
            fg.grad(lambda t: np.sum(as_strided(t, (4, 3), 2 * t.strides) ** 2))(x)
        checked(lambda t: np.sum(sliding_window_view(t, 3) ** 2), x)
    assert not hasattr(fg.tensor(1.0), "strides")


def test_moving_statistics_by_sliding_windows() -> None:
    """Mean, spread and median of each window of a series."""

    def f(x: Any) -> Any:
        w = sliding_window_view(x, 4)
        return np.var(w.mean(axis=-1)) + np.std(w, axis=-1).sum() + np.median(w, axis=1) @ np.arange(7)

    checked(f, rng.normal(size=10))


def test_mean_over_a_list_of_losses() -> None:
    """`np.mean`, `var`, `std`, `median` and `average` of a list of traced numbers, and of an array made of it."""

    def losses(w: Any) -> list[Any]:
        return [np.log1p(np.exp(-(x @ w))) for x in INPUTS]

    for reduce in (np.mean, np.var, np.std, np.median, np.average, lambda v: np.array(v).mean(), lambda v: np.array(v).std(ddof=1)):
        f = lambda w, reduce=reduce: reduce(losses(w))
        g = lambda w, reduce=reduce: reduce(np.stack(losses(w)))
        w = np.array([0.1, -0.2, 0.3, 0.4])
        np.testing.assert_allclose(fg.grad(f)(w), fg.grad(g)(w), rtol=1e-12)
        np.testing.assert_allclose(fg.hessian(f)(w), fg.hessian(g)(w), rtol=1e-11, atol=1e-14)


def test_dot_method_of_a_data_matrix() -> None:
    """`X.dot(w)` of older code: right, though element by element, and `.mean()` of what it gives."""
    f = lambda w: (np.log(1 + np.exp(-INPUTS.dot(w)))).mean() + 0.5 * w.dot(w)
    checked(f, np.array([0.1, -0.2, 0.3, 0.4]))


# ---- simulation


def test_trajectory_in_a_list() -> None:
    """States appended to a list and compared, as an array, with a measured curve."""

    def misfit(p: Any) -> Any:
        x, v, xs = 1.0, 0.0, []
        for _ in range(20):
            x, v = x + 0.1 * v, v - 0.1 * (p[1] * x + p[0] * v)
            xs.append(x)
        return np.mean((np.array(xs) - np.cos(np.arange(20) * 0.1)) ** 2)

    checked(misfit, np.array([0.3, 2.0]))


def test_adaptive_steps_with_while() -> None:
    """The step size follows an error that is looked at by `float` of a stopped value; the path taken is differentiated."""

    def f(p: Any) -> Any:
        t, y, h = 0.0, np.array([1.0, 0.5]), 0.1
        while t < 1.0:
            h = min(h, 1.0 - t)
            k1 = -p[0] * y
            k2 = -p[0] * (y + h * k1) + p[1] * np.sin(t + h)
            t, y = t + h, y + h * (k1 + k2) / 2
            error = float(fg.stop_gradient(np.max(np.abs(k2 - k1))))
            h *= 0.5 if error > 0.4 else 1.5
        return y @ y

    checked(f, np.array([1.0, 0.2]))


def test_option_by_own_erf() -> None:
    """Black and Scholes with a series for erf, in Python floats: the Greeks are Python floats."""

    def price(s: float, k: float, t: float, r: float, sigma: float) -> Any:
        def cumulative(x: Any) -> Any:
            u = 1 / (1 + 0.3275911 * np.abs(x) / math.sqrt(2))
            tail = ((((1.061405429 * u - 1.453152027) * u + 1.421413741) * u - 0.284496736) * u + 0.254829592) * u
            return 0.5 * (1 + np.sign(x) * (1 - tail * np.exp(-x * x / 2)))

        d = (np.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * np.sqrt(t))
        return s * cumulative(d) - k * np.exp(-r * t) * cumulative(d - sigma * np.sqrt(t))

    greeks = fg.grad(price, argnums=(0, 1, 2, 3, 4))(100.0, 105.0, 0.5, 0.01, 0.2)
    assert [type(g) for g in greeks] == [float] * 5
    for i, g in enumerate(greeks):
        up, down = ([100.0, 105.0, 0.5, 0.01, 0.2] for _ in range(2))
        up[i] += 1e-5
        down[i] -= 1e-5
        assert g == pytest.approx((price(*up) - price(*down)) / 2e-5, rel=1e-6)


def test_rotation_by_block_and_by_array() -> None:
    """`np.array` of traced numbers multiplies; what `np.block` makes of the same lists can be inverted as well."""

    def rows(e: Any) -> list[list[Any]]:
        c, s = np.cos(e), np.sin(e)
        return [[c[0], -s[0], 0.0], [s[0], c[0], e[1]], [0, s[1], 1]]

    v = np.array([1.0, 2.0, 3.0])
    checked(lambda e: (np.array(rows(e)) @ v)[1] ** 2 + np.array(rows(e)).T.dot(v).sum(), np.array([0.3, 0.7]))
    checked(lambda e: np.linalg.det(np.block(rows(e))) + np.linalg.solve(np.block(rows(e)), v) @ v, np.array([0.3, 0.7]))


# ---- habits of Python code


def test_looking_at_values() -> None:
    """Formatting old and new, rounding to integers, assertions, and the assertions of `np.testing`."""
    seen = []

    def f(x: Any) -> Any:
        seen.append("%.3f %d %5.1e" % (x[0], x[1], x[0]) + f" {x[0]:.3f} {x.sum():g}" + " %(v)6.2f" % {"v": x[2]})  # noqa: UP031
        assert (math.floor(x[1]), math.ceil(x[1]), math.trunc(x[1]), round(x[1]), int(x[1])) == (1, 2, 1, 2, 1)
        assert x.shape == (3,)
        assert np.all(np.isfinite(x)), x
        np.testing.assert_allclose(x**2, x * x)
        np.testing.assert_array_less(x, 10)
        np.testing.assert_almost_equal(x[0], 0.5)
        np.testing.assert_approx_equal(x[0], 0.5)
        with pytest.raises(AssertionError, match="Mismatched elements"):
            np.testing.assert_allclose(x, 2 * x)
        return np.sum(x**2)

    x = np.array([0.5, 1.75, -1.0])
    np.testing.assert_array_equal(fg.grad(f)(x), 2 * x)
    assert seen == ["0.500 1 5.0e-01 0.500 1.25  -1.00"]
    np.testing.assert_array_equal(fg.hessian(f)(x), 2 * np.eye(3))


def test_floor_of_an_object_array() -> None:
    """`np.floor`, `ceil` and `trunc` of `np.array([x, …])` ask each element, and are constant."""
    f = lambda x: np.sum(np.array([x[0], x[1]]) * np.floor(np.array([x[0], x[1]])) + np.ceil(np.array([x[0], x[1]])))
    np.testing.assert_array_equal(fg.grad(f)(np.array([1.5, 2.5])), [1.0, 2.0])


def test_memory_of_intermediate_results() -> None:
    """Recursion under `lru_cache`, by integers."""

    def legendre(x: Any) -> Any:
        @functools.lru_cache
        def p(n: int) -> Any:
            return 1.0 if n == 0 else x if n == 1 else ((2 * n - 1) * x * p(n - 1) - (n - 1) * p(n - 2)) / n

        return p(7)

    assert fg.grad(legendre)(0.7) == pytest.approx(np.polynomial.Legendre.basis(7).deriv()(0.7))


def test_loops_over_rows_and_names() -> None:
    """Rows, unpacking, zip, generators, sorted, min and max, a defaultdict of sums, and augmented assignment."""

    def f(a: Any) -> Any:
        total, by_name = 0.0, defaultdict(float)
        for name, row in zip("xyx", a, strict=True):
            first, *_, last = row
            total += first * last
            by_name[name] += sum(v**2 for v in row if v > 0)
        ranked = sorted(a[:, 0])
        y = a.copy()
        y *= 2
        y -= 0.5
        return total + by_name["x"] * by_name["y"] + ranked[0] * max(a[1]) + min(a[2]) + np.r_[y[0], 1.0].prod()

    checked(f, rng.normal(size=(3, 4)))


class Vector:
    """A class of the user's own, of which NumPy knows nothing."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, k: Any) -> Vector:
        return Vector(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __matmul__(self, other: Vector) -> Any:
        return self.x * other.x + self.y * other.y


def test_numbers_times_own_vectors() -> None:
    """`k * vector` asks the vector, as it does where k is a Python float, in every interpreter and for a Tensor."""

    def energy(p: Any) -> Any:
        v = p[2] * Vector(p[0], 1.0) + Vector(p[1], p[0]) * p[2]
        return 0.5 * (v @ v)

    checked(energy, np.array([1.0, 0.5, 0.25]))
    checked(lambda k: (k * Vector(1.0, 2.0)) @ Vector(k, k), 0.5)
    assert (fg.tensor(2.0) * Vector(1.0, 2.0)).y == 4.0
    with pytest.raises(TypeError, match="unsupported operand"):
        fg.grad(lambda k: k + Vector(1.0, 2.0))(1.0)
    with pytest.raises(TypeError, match="unsupported operand"):
        fg.grad(lambda k: k * None)(1.0)


# ---- property tests


@pytest.mark.parametrize("x", [1e-96, 1e-20, -1e-12, 0.0])
def test_check_grads_near_a_stationary_point(x: float) -> None:
    """Differences know nothing of a slope that is smaller than their rounding: that is no mistake of a rule."""
    check_grads(lambda x: np.tanh(x) @ x.T, (np.full((2, 2), x),))


def test_check_grads_near_the_end_of_a_domain() -> None:
    """Steps shrink until `f` is finite on both sides."""
    check_grads(lambda p: np.log(p["C"]) + np.sqrt(p["L"]) + p["R"], ({"C": 1e-6, "L": 1e-3, "R": 50.0},))


def test_rooms_that_most_programs_need_not_load_later() -> None:
    """Programs, control flow, `jit` and the solvers double the time to start, so they come when they are asked for."""
    code = "import funcgrad, sys; print([m for m in sys.modules if m in ('funcgrad.program', 'funcgrad.control')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
    for name in fg.__all__:
        assert getattr(fg, name) is not None


def test_jit_loads_what_its_calls_need() -> None:
    """The first two calls record: code is generated at the next one, and text, drawings and data come when they are asked for."""
    code = """
import sys, numpy as np, funcgrad as fg
f = fg.jit(fg.grad(lambda x: np.sum(np.sin(x[1:]) * x[:-1])))
x = np.ones(3)
rooms = "codegen passes tiles standalone stats graph show saving loading check"
def loaded(): print(*[m for m in rooms.split() if f"funcgrad.program.{m}" in sys.modules], sep=",")
f(x), f(x); loaded()
f(x); loaded()
print(fg.program.load(f.lower(x).to_bytes())(x).tolist() == f(x).tolist())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split("\n")[:3] == ["", "codegen,passes,tiles", "True"]
