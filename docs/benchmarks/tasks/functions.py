"""Small functions, and the same small function of many numbers."""

from __future__ import annotations

import math

import numpy as np

from .task import Task

# ---- ten operations on one number: what a single operation costs


def scalar(np, x):
    y = np.sin(x) * x
    y = np.exp(-y) + np.cos(y)
    return np.log(1.0 + y * y) / x


def scalar_by_hand(x):
    sine, cosine = math.sin(x), math.cos(x)
    a = sine * x
    da = cosine * x + sine
    e = math.exp(-a)
    y = e + math.cos(a)
    dy = -(e + math.sin(a)) * da
    value = math.log(1.0 + y * y) / x
    return value, ((2.0 * y * dy / (1.0 + y * y) - value) / x,)


# ---- the example of the README


def readme(np, x):
    return np.sin(x) @ x**2


def readme_by_hand(x):
    sine, square = np.sin(x), x * x
    return np.dot(sine, square), (np.cos(x) * square + 2.0 * sine * x,)


# ---- Rosenbrock (1960), summed over neighbours


def rosenbrock(np, x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_by_hand(x):
    left = x[:-1]
    gap = x[1:] - left * left
    rest = 1.0 - left
    out = np.zeros_like(x)
    out[1:] = 200.0 * gap
    out[:-1] -= 400.0 * gap * left + 2.0 * rest
    return 100.0 * np.dot(gap, gap) + np.dot(rest, rest), (out,)


def _bands(x):
    """The Hessian's diagonal, and the one beside it."""
    left = x[:-1]
    middle = np.zeros_like(x)
    middle[1:] = 200.0
    middle[:-1] += 1200.0 * left * left - 400.0 * x[1:] + 2.0
    return middle, -400.0 * left


def rosenbrock_hessian(x):
    middle, beside = _bands(x)
    out = np.diag(middle)
    i = np.arange(len(beside))
    out[i, i + 1] = out[i + 1, i] = beside
    return out


def rosenbrock_product(x, v):
    middle, beside = _bands(x)
    out = middle * v
    out[:-1] += beside * v[1:]
    out[1:] += beside * v[:-1]
    return out


# ---- log-sum-exp


def logsumexp(np, x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def logsumexp_by_hand(x):
    top = np.max(x)
    weights = np.exp(x - top)
    total = np.sum(weights)
    weights /= total
    return top + np.log(total), (weights,)


# ---- European calls (Black and Scholes, 1973), with 1/(1 + exp(-1.702 x)) for the normal distribution function

RATE, SPREAD, SLOPE = 0.03, 0.25, 1.702


def options(np, price, strike, time):
    root = SPREAD * np.sqrt(time)
    up = (np.log(price / strike) + (RATE + SPREAD**2 / 2) * time) / root
    down = up - root
    paid = strike * np.exp(-RATE * time)
    return np.sum(price / (1.0 + np.exp(-SLOPE * up)) - paid / (1.0 + np.exp(-SLOPE * down)))


def options_by_hand(price, strike, time):
    drift = RATE + SPREAD**2 / 2
    root = SPREAD * np.sqrt(time)
    up = (np.log(price / strike) + drift * time) / root
    paid = strike * np.exp(-RATE * time)
    above, below = 1.0 / (1.0 + np.exp(-SLOPE * up)), 1.0 / (1.0 + np.exp(-SLOPE * (up - root)))
    d_up = SLOPE * price * above * (1.0 - above)
    d_down = -SLOPE * paid * below * (1.0 - below)
    d_log = (d_up + d_down) / root
    d_root = -d_down - (d_up + d_down) * up / root
    d_time = d_log * drift + d_root * root / (2.0 * time) + RATE * paid * below
    gradients = above + d_log / price, -(paid * below + d_log) / strike, d_time
    return np.sum(price * above - paid * below), gradients


def _numbers(rng, n):
    return (rng.normal(size=n),), ()


TASKS = [
    Task("scalar", "ten operations on one number", scalar, scalar_by_hand, lambda rng, n: ((0.7,), ()), 1),
    Task("readme", "sin(x) @ x² of 10 numbers", readme, readme_by_hand, _numbers, 10),
    Task("rosenbrock_10", "Rosenbrock's function of 10 numbers", rosenbrock, rosenbrock_by_hand, _numbers, 10),
    Task("rosenbrock_1e3", "of 1,000", rosenbrock, rosenbrock_by_hand, _numbers, 1_000),
    Task("rosenbrock_1e6", "of 1,000,000", rosenbrock, rosenbrock_by_hand, _numbers, 1_000_000),
    Task("rosenbrock_hessian", "its Hessian, of 100", rosenbrock, rosenbrock_hessian, _numbers, 100, ask="hessian"),
    Task("rosenbrock_product", "its Hessian times a vector, of 100,000", rosenbrock, rosenbrock_product,
         lambda rng, n: ((rng.normal(size=n),), (rng.normal(size=n),)), 100_000, ask="product"),
    Task("logsumexp", "log-sum-exp of 1,000,000 numbers", logsumexp, logsumexp_by_hand, _numbers, 1_000_000),
    Task("options", "1,000,000 option prices (Black-Scholes, with a logistic distribution)", options, options_by_hand,
         lambda rng, n: (tuple(rng.uniform([[50], [50], [0.2]], [[150], [150], [2]], (3, n))), ()), 1_000_000),
]  # fmt: skip
