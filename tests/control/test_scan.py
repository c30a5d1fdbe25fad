"""`scan` is a Python loop: the same numbers, derivatives and errors, whatever its body does."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import attrs
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors, tree
from funcgrad.borrow import COPY_LIMIT
from tests.control.plain import COMPOSITIONS, MANY, MOVE, ONE, close, loop, same

X = np.array([1.0, 2.0, 3.0])
ROWS = np.array([[0.3, -0.1, 0.7], [0.2, 0.9, -0.4], [-0.5, 0.6, 0.1], [0.8, -0.2, 0.4]])


@attrs.frozen
class Pair:
    h: Any
    c: Any


# ---- values


def running(c: Any, x: Any) -> Any:
    return c * 0.5 + np.sin(x), c * x


@pytest.mark.parametrize("unroll", [1, 2, 3, 7, 50, True, False])
@pytest.mark.parametrize("reverse", [False, True])
def test_values(reverse: bool, unroll: Any) -> None:
    """Numbers are those of the Python loop, bit for bit, in any number of steps at a time and in both directions."""
    xs = np.linspace(-1, 2, 7)
    same(fg.scan(running, 0.5, xs, reverse=reverse, unroll=unroll), loop(running, 0.5, xs, reverse=reverse))
    close(
        fg.grad(lambda x: fg.scan(running, 0.5, x, None, reverse, unroll)[0])(xs),
        fg.grad(lambda x: loop(running, 0.5, x, None, reverse)[0])(xs),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32", "int64", "bool"])
def test_dtypes(dtype: str) -> None:
    """A carry keeps its dtype, and weak numbers in the body stay weak."""
    xs = np.arange(4).astype(dtype)
    f = (lambda c, x: (c ^ x, c & x)) if dtype == "bool" else (lambda c, x: (c * 2 + x, c - x))
    same(fg.scan(f, xs[0], xs), loop(f, xs[0], xs))


@pytest.mark.parametrize("init", [0, 0.0, 0j, False, np.float32(0), np.int8(0)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_first_carry(init: Any, dtype: str) -> None:
    """A Python number takes the dtype that the body makes of it; a NumPy scalar that would change is an error."""
    xs = np.arange(3).astype(dtype)
    f = lambda c, x: (c + x, x)
    expected = loop(f, init, xs)
    if isinstance(init, np.generic) and init.dtype != expected[0].dtype:
        with pytest.raises(errors.CarryError):
            fg.scan(f, init, xs)
    else:
        same(fg.scan(f, init, xs)[0], expected[0])


def test_python_numbers_become_numpy_numbers() -> None:
    """Also where the body runs step by step."""
    for f in (lambda c, _: (c + 1, c), lambda c, _: (c + 1 if c >= 0 else c, c)):
        last, ys = fg.scan(f, 0, None, 3)
        assert last == 3
        np.testing.assert_array_equal(ys, [0, 1, 2])


def test_trees() -> None:
    """Dicts, attrs classes, tuples and None in the carry, in xs and in ys."""

    def f(s: Any, x: Any) -> Any:
        return {"s": Pair(s["s"].h + x["a"], s["s"].c * x["b"][0]), "none": None}, (None, {"y": Pair(s["s"].h, x["a"])})

    init, xs = {"s": Pair(0.0, 1.0), "none": None}, {"a": X, "b": (X,)}
    carry, ys = fg.scan(f, init, xs)
    assert carry == {"s": Pair(6.0, 6.0), "none": None}
    assert ys[0] is None
    np.testing.assert_array_equal(ys[1]["y"].h, [0, 1, 3])
    g = fg.grad(lambda i: fg.scan(f, i, xs)[0]["s"].c)(init)
    assert g == {"s": Pair(0.0, 6.0), "none": None}


def test_tensors() -> None:
    """Tensors in, Tensors out."""
    for init, xs in ((0.0, fg.tensor(X)), (fg.tensor(0.0), X)):
        carry, ys = fg.scan(running, init, xs)
        assert isinstance(carry, fg.Tensor)
        assert isinstance(ys, fg.Tensor)
    assert isinstance(fg.grad(lambda x: fg.scan(running, 0.0, x)[0])(fg.tensor(X)), fg.Tensor)


@pytest.mark.parametrize("checkpoint", [None, 2, fg.Binomial(2)])
def test_no_steps(checkpoint: Any) -> None:
    """The carry comes back, and the ys have a first axis of length 0; so have the gradients."""
    f = lambda c, x: (c * x, {"y": np.stack([c, x])})
    carry, ys = fg.scan(f, 2.0, np.zeros(0), checkpoint=checkpoint)
    assert carry == 2.0
    assert ys["y"].shape == (0, 2)
    g, gx = fg.grad(lambda c, x: fg.scan(f, c, x, checkpoint=checkpoint)[0], (0, 1))(2.0, np.zeros(0))
    assert g == 1.0
    assert gx.shape == (0,)
    assert fg.scan(lambda c, _: (c + 1, c) if c > 0 else (c, c), 0.0, None, 0)[1].shape == (0,)
    np.testing.assert_array_equal(fg.vmap(lambda c: fg.scan(f, c, np.zeros(0))[0])(X), X)


@pytest.mark.parametrize("checkpoint", [None, 1, 2, 50, fg.Binomial(1), fg.Binomial(3)])
def test_one_step(checkpoint: Any) -> None:
    g = fg.grad(lambda c, x: fg.scan(running, c, x, checkpoint=checkpoint)[0], (0, 1))(2.0, X[:1])
    close(g, (0.5, np.cos(X[:1])))


def test_length_and_none() -> None:
    """`length` alone makes a loop; together with xs it must be theirs."""
    same(fg.scan(lambda c, x: (c * 2.0, x), 1.0, None, 5), (np.float64(32.0), None))
    assert fg.scan(lambda c, _: (c, None), 1.0, None, 3) == (1.0, None)
    assert fg.grad(lambda c: fg.scan(lambda c, _: (c, None), c, None, 3, unroll=2)[0])(1.0) == 1.0
    same(fg.scan(running, 0.0, X, 3), fg.scan(running, 0.0, X))
    same(fg.scan(running, 0.0, X, np.int64(3)), fg.scan(running, 0.0, X))


# ---- derivatives


def body(c: Any, x: Any) -> Any:
    h, n = c
    h = np.tanh(h * x + np.roll(h, 1)) + 0.1 * n
    return (h, n + 1), np.sum(h) * x


def composed(x: Any, run: Any = fg.scan, **keywords: Any) -> Any:
    (h, _), ys = run(body, (x, 0), ROWS * x, **keywords)
    return h + ys[1] * ys[3] + run(lambda c, r: (c + np.sin(r * x), c), np.zeros(3), ROWS)[0]


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [None, 2, fg.Binomial(2)], ids=str)
def test_compositions(name: str, reverse: bool, checkpoint: Any) -> None:
    """Carry, xs, ys and what is closed over, under every transformation and pairs of them."""
    g = lambda x: composed(x, lambda f, c, xs, **k: fg.scan(f, c, xs, checkpoint=checkpoint, **k), reverse=reverse)
    close(COMPOSITIONS[name](g), COMPOSITIONS[name](lambda x: composed(x, loop, reverse=reverse)), 1e-9)


def test_complex_gradient() -> None:
    f = lambda run: lambda z: np.real(run(lambda c, _: (c * z + 1j * c, c), 1.0 + 0j, None, 4)[0])
    close(fg.grad(f(fg.scan))(0.3 + 0.4j), fg.grad(f(loop))(0.3 + 0.4j))


def test_single_precision_gradient() -> None:
    """float32 stays float32."""
    g = fg.grad(lambda x: fg.scan(running, np.float32(0.5), x)[0])(X.astype("f"))
    assert g.dtype == np.float32


def test_gradients_inside() -> None:
    """A body may take gradients: gradient descent on a carry, differentiated by what it closes over."""

    def descent(run: Any) -> Any:
        def f(a: Any) -> Any:
            loss = lambda w: np.sum((w * a - X) ** 2)
            return np.sum(run(lambda w, _: (w - 0.05 * fg.grad(loss)(w), loss(w)), np.zeros(3), None, 6)[0])

        return f

    same(descent(fg.scan)(1.5), descent(loop)(1.5))
    close(fg.grad(descent(fg.scan))(1.5), fg.grad(descent(loop))(1.5))
    close(fg.grad(fg.grad(descent(fg.scan)))(1.5), fg.grad(fg.grad(descent(loop)))(1.5))
    close(fg.vmap(descent(fg.scan))(X / 3), np.array([descent(loop)(a) for a in X / 3]))


def test_nan_in_a_gradient_inside() -> None:
    """A gradient that meets a nan is taken again with strong zeros; in a loop, too, and only where it is met."""
    loss = lambda w: np.sum(np.where(w > 0, np.sqrt(w), 0.0))
    f = lambda c, x: (c + fg.grad(loss)(x), None)
    for xs in (np.array([[1.0, 4.0], [0.25, 1.0], [-1.0, 1.0]]), np.array([[1.0, 4.0], [4.0, 1.0]]), np.zeros((3, 2))):
        with np.errstate(all="ignore"):
            close(fg.scan(f, np.zeros(2), xs)[0], loop(f, np.zeros(2), xs)[0])


def test_infinite_partials_behind_a_mask() -> None:
    """sqrt at 0 in a branch that is not taken adds no nan."""
    step = lambda c, x: (c + np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0), None)
    same(fg.grad(lambda x: fg.scan(step, 0.0, x)[0])(np.array([0.0, 4.0])), np.array([0.0, 0.25]))
    careless = lambda c, x: (c + np.where(x > 0, np.sqrt(x), 0.0), None)
    with np.errstate(all="ignore"):
        same(fg.grad(lambda x: fg.scan(careless, 0.0, x)[0])(np.array([0.0, 4.0])), np.array([0.0, 0.25]))


jvp_rule = fg.custom_jvp(np.sin)
jvp_rule.defjvp(lambda primals, tangents: (np.sin(*primals), 7.0 * tangents[0]))
vjp_rule = fg.custom_vjp(np.sin)
vjp_rule.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (7.0 * ct,))


black_box = fg.external(lambda x: np.sin(x), jvp=lambda primals, tangents: 7.0 * tangents[0])


@pytest.mark.parametrize("rule", [jvp_rule, vjp_rule, black_box], ids=["custom_jvp", "custom_vjp", "external"])
def test_custom_rules_inside(rule: Any) -> None:
    """A rule of the user's holds in a body, without a warning."""
    f = lambda x: fg.scan(lambda c, _: (rule(c), c), x, None, 3)[0]
    close(fg.grad(f)(0.5), 343.0)
    close(fg.vmap(fg.grad(f))(X), np.full(3, 343.0))
    close(f(0.5), loop(lambda c, _: (np.sin(c), c), 0.5, None, 3)[0])


def test_checkpoint_inside() -> None:
    block = fg.checkpoint(lambda c, x: np.tanh(np.sin(c) * x + c))
    f = lambda run: lambda x: np.sum(run(lambda c, r: (block(c, r * x), None), x, ROWS)[0])
    close(fg.grad(f(fg.scan))(ONE), fg.grad(f(loop))(ONE))
    close(fg.hessian(f(fg.scan))(ONE), fg.hessian(f(loop))(ONE))


def test_scan_in_scan() -> None:
    def f(run: Any) -> Any:
        inner = lambda c, x: (np.sin(c + x), c * x)
        outer = lambda c, r: (run(inner, c, r)[0], run(inner, c * 0.5, r, reverse=True)[1])
        return lambda x: run(outer, x[0], ROWS * x)

    same(f(fg.scan)(ONE), f(loop)(ONE))
    for d in (fg.jacfwd, fg.jacrev):
        close(d(f(fg.scan))(ONE), d(f(loop))(ONE))
    close(fg.hessian(lambda x: f(fg.scan)(x)[0])(ONE), fg.hessian(lambda x: f(loop)(x)[0])(ONE))


def test_traced_values_closed_over() -> None:
    """At all depths of nesting: by grad, jvp, vmap and all of them."""

    def f(run: Any) -> Any:
        return lambda a: fg.vmap(lambda b: fg.grad(lambda c: run(lambda s, x: (np.sin(s * a + b * x) * c, None), c, X)[0])(0.3))(MOVE)

    close(f(fg.scan)(0.7), f(loop)(0.7))
    close(fg.jacfwd(f(fg.scan))(0.7), fg.jacfwd(f(loop))(0.7))
    close(fg.jacrev(f(fg.scan))(0.7), fg.jacrev(f(loop))(0.7))


# ---- bodies that have no program


def test_bodies_that_look() -> None:
    """`if`, `int` and indices by value run step by step: right, and without a warning."""

    def branching(c: Any, x: Any) -> Any:
        return (c + x, int(x)) if c > 0.5 else (c + 1.0, 2 * int(x))

    table = [np.sin, np.cos, np.tan, np.exp]
    for f in (branching, lambda c, x: (table[int(x)](c), c)):
        same(fg.scan(f, 0.2, X), loop(f, 0.2, X))
        close(fg.grad(lambda a, f=f: fg.scan(f, a, X)[0])(0.2), fg.grad(lambda a, f=f: loop(f, a, X)[0])(0.2))
        close(fg.vmap(lambda a, f=f: fg.scan(f, a, X)[0])(X), np.stack([loop(f, a, X)[0] for a in X]))


def test_bodies_that_raise() -> None:
    """The user's exception, at the step where it comes; what was not reached is not tried."""

    def late(c: Any, x: Any) -> Any:
        if x > 2:
            raise KeyError("late")
        return c + x, c

    with pytest.raises(KeyError, match="late"):
        fg.scan(late, 0.0, X)
    with pytest.raises(ZeroDivisionError):
        fg.scan(lambda c, x: (c + 1 / 0, c), 0.0, X)

    def caught(c: Any, x: Any) -> Any:
        try:
            return c + np.linalg.inv(x * np.ones((2, 2)))[0, 0], c
        except np.linalg.LinAlgError:
            return c + 1.0, c

    same(fg.scan(caught, 0.0, X)[0], np.float64(3.0))


def test_impure_bodies() -> None:
    """A body that computes something else each time runs step by step, with one warning that names the line."""
    rng = np.random.default_rng(0)
    for size in (None, 3):
        with pytest.warns(UserWarning, match=r"something else at each step \(.*test_scan.py:\d+") as caught:
            _, ys = fg.scan(lambda c, x, size=size: (c, rng.normal(size=size) * x), 0.0, X)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert len(np.unique(ys)) == ys.size


@pytest.mark.parametrize("size", [3, COPY_LIMIT])
def test_bodies_that_write(size: int) -> None:
    """Scratch arrays: what counts is what an array holds when it is used, however often it is written to, before or after."""
    kept = np.zeros(size)

    def scratch(c: Any, x: Any) -> Any:
        a = np.zeros(size)
        for k in range(3):
            a[k] = k + 1
            c = c + a * x
        return c, None

    def outer(c: Any, x: Any) -> Any:
        kept[:] = 5.0
        c = c + kept * x
        kept[:] = 0.0
        return c, None

    for f in (scratch, outer):
        same(fg.scan(f, np.zeros(size), X), loop(f, np.zeros(size), X))
        kept[:] = 1.0  # may be written to afterwards


def test_bodies_that_count_in_an_array() -> None:
    """A counter in an array is a change, too: the steps are run, one by one."""
    count = np.zeros(1)

    def f(c: Any, x: Any) -> Any:
        count[0] += 1
        return c + x, count * 1.0

    with pytest.warns(UserWarning, match="something else at each step"):
        _, ys = fg.scan(lambda c, x: (c + x, (f(c, x)[1] + count) * x), 0.0, X)
    steps = np.diff(ys[:, 0] / X)
    np.testing.assert_allclose(steps, [2.0, 2.0])


def test_big_arrays_closed_over() -> None:
    """Arrays over 64 kB are used as they are, and may be written to between calls and after them."""
    big = np.ones(COPY_LIMIT)
    f = lambda c, x: (c + big[:3] * x, None)
    first = fg.scan(f, np.zeros(3), X)[0]
    big[:] = 2.0
    same((first, fg.scan(f, np.zeros(3), X)[0]), (np.full(3, 6.0), np.full(3, 12.0)))
    g = fg.grad(lambda a: np.sum(fg.scan(lambda c, x: (c + big * a * x, None), np.zeros(COPY_LIMIT), X)[0]))(1.0)
    assert g == 12.0 * COPY_LIMIT
    big[:] = 3.0


def test_values_of_a_captured_array_at_the_time_of_use() -> None:
    """Written to between the loop and its pull, a small one was copied."""
    small = X.copy()
    _, pull = fg.vjp(lambda a: fg.scan(lambda c, x: (c + np.sum(small * a) * x, None), 0.0, X)[0], 2.0)
    small[:] = 100.0
    close(pull(1.0), (36.0,))


# ---- what comes out


def test_results_are_ones_own() -> None:
    """Frozen, in memory that is nobody else's; and what was given stays writeable."""
    init, kept, xs = np.zeros(3), np.ones(3), ROWS.copy()
    bodies = [lambda c, x: (c, x), lambda c, x: (kept, kept), lambda c, x: (c, x) if x[0] > 0 else (kept, kept), lambda c, x: (x, c)]
    for f in bodies:
        for y in tree.leaves((fg.scan(f, init, xs), fg.scan(f, init, None, 0) if f is bodies[1] else ())):
            assert not y.flags.writeable
            assert not any(np.shares_memory(y, z) for z in (init, kept, xs))
    assert all(z.flags.writeable for z in (init, kept, xs))


def test_threads() -> None:
    """Eight threads on one function, eight times each."""
    f = fg.value_and_grad(lambda x: np.sum(fg.scan(lambda c, r: (np.tanh(c + r * x), None), x, ROWS)[0]))
    expected = [f(x) for x in MANY]
    found: list[Any] = []

    def work() -> None:
        for _ in range(8):
            found.append([f(x) for x in MANY])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 64
    for values in found:
        same(values, expected)


def test_no_warnings() -> None:
    """Nothing above says anything, unless it must."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.scan(lambda c, x: (c if c > 0 else -c, x), 0.0, X)


# ---- errors


def test_changing_carry() -> None:
    """Both types, by the path in the user's terms."""
    with pytest.raises(errors.CarryError) as caught:
        fg.scan(lambda c, x: ({"h": np.stack([c["h"], x]), "n": 0}, None), {"h": 0.0, "n": 0}, X)
    assert (caught.value.path, caught.value.before, caught.value.after) == ("the carry['h']", "float64", "float64[2]")
    with pytest.raises(errors.CarryError, match=r"scan\(<lambda>\): the carry\[0\] is float32 before the step and float64 after it"):
        fg.scan(lambda c, x: ((c[0] + x, c[1]), None), (np.float32(0), 1), X)
    with pytest.raises(errors.CarryError, match="int64 before the step and float64"):
        fg.scan(lambda c, x: (c + x if x > 1 else c, None), np.int64(0), X)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: fg.scan(lambda c, x: ((c, c), None), 0.0, X), TypeError, "the new carry must have the structure of the old one"),
        (lambda: fg.scan(lambda c, x: c, 0.0, X), TypeError, r"must return a pair \(carry, y\), got float64"),
        (lambda: fg.scan(lambda c, x: (c, "a"), 0.0, X), TypeError, r"output\[1\] must be a number or an array of numbers, got a str"),
        (lambda: fg.scan(lambda c, x: (c, x), {"a": "b"}, X), TypeError, r"init\['a'\] is a str"),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0, {"a": 1.0}), ValueError, r"xs\['a'\] is a single number"),
        (
            lambda: fg.scan(lambda c, x: (c, x), 0.0, {"a": X, "b": X[:2]}),
            ValueError,
            r"xs\['b'\] has 2 along its first axis, xs\['a'\] has 3",
        ),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0, X, 4), ValueError, "xs has 3 along its first axis, length=4"),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0), ValueError, "Pass length"),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0, None, -1), ValueError, "must not be negative"),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0, None, 2.5), TypeError, "length must be a whole number, got float"),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0, X, unroll=0), ValueError, "unroll must be a positive number"),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0, X, unroll="a"), ValueError, "unroll must be a positive number"),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0, X, checkpoint=0), ValueError, "checkpoint must be a positive number"),
        (lambda: fg.scan(lambda c, x: (c, x), 0.0, X, checkpoint=True), ValueError, "checkpoint must be a positive number"),
        (lambda: fg.Binomial(0), ValueError, "Binomial: snapshots must be a positive whole number, got 0"),
        (lambda: fg.Binomial(2, 1.5), ValueError, "Binomial: steps must be a positive whole number, got 1.5"),
    ],
)
def test_mistakes(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert isinstance(caught.value, errors.FuncgradError)


def test_stored_tracers() -> None:
    """A value of the recording that a body stores outside is dead afterwards, and says so."""
    kept: list[Any] = []
    fg.scan(lambda c, x: (c + x, kept.append(c)), 0.0, X)
    with pytest.raises(errors.LeakedTracerError, match=r"scan\(<lambda>\).*Return it"):
        kept[0] + 1


def test_code_that_was_pure_before() -> None:
    """One recording is enough where the same code once gave the same program twice; not where what it met outside is new."""
    rng = np.random.default_rng(0)

    def total(noise: Any, w: Any) -> Any:
        return fg.scan(lambda c, x: (c * w + noise() * x, None), np.zeros(2), np.ones((3, 2)))[0]

    still = np.ones(2)
    for _ in range(3):
        np.testing.assert_array_equal(fg.jacfwd(lambda w: total(lambda: still, w))(1.0), [3.0, 3.0])
    drawn: list[Any] = []

    def noise() -> Any:
        drawn.append(rng.normal(size=2))
        return drawn[-1]

    with pytest.warns(UserWarning, match="something else at each step"):
        found = total(noise, 1.0)
    np.testing.assert_allclose(found, sum(drawn[-3:]))
