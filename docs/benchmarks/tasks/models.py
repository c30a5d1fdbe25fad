"""Statistical models: their losses."""

from __future__ import annotations

import numpy as np

from .task import Task

# ---- logistic regression: labels are ±1


def logistic(np, w, b, x, signs):
    return np.mean(np.log(1.0 + np.exp(-signs * (x @ w + b))))


def logistic_by_hand(w, b, x, signs):
    odds = np.exp(-signs * (x @ w + b))
    slope = -signs * odds / (1.0 + odds) / len(x)
    return np.mean(np.log(1.0 + odds)), (slope @ x, np.sum(slope))


def logistic_inputs(rng, n):
    x = rng.normal(size=(n, 100))
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return (rng.normal(size=100) / 10, 0.1), (x, signs)


# ---- softmax regression: labels are one-hot rows


def softmax(np, w, b, x, hot):
    z = x @ w + b
    z = z - np.max(z, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - np.sum(z * hot, axis=1))


def softmax_by_hand(w, b, x, hot):
    z = x @ w + b
    z -= np.max(z, axis=1, keepdims=True)
    weights = np.exp(z)
    total = np.sum(weights, axis=1, keepdims=True)
    slope = (weights / total - hot) / len(x)
    return np.mean(np.log(total[:, 0]) - np.sum(z * hot, axis=1)), (x.T @ slope, slope.sum(axis=0))


def softmax_inputs(rng, n):
    hot = np.eye(10)[rng.integers(0, 10, n)]
    return (rng.normal(size=(50, 10)), rng.normal(size=10)), (rng.normal(size=(n, 50)), hot)


# ---- a network of two hidden layers


def network(np, w1, b1, w2, b2, w3, b3, x, hot):
    h = np.maximum(x @ w1 + b1, 0.0)
    h = np.maximum(h @ w2 + b2, 0.0)
    return softmax(np, w3, b3, h, hot)


def network_by_hand(w1, b1, w2, b2, w3, b3, x, hot):
    one = np.maximum(x @ w1 + b1, 0.0)
    two = np.maximum(one @ w2 + b2, 0.0)
    z = two @ w3 + b3
    z -= np.max(z, axis=1, keepdims=True)
    weights = np.exp(z)
    total = np.sum(weights, axis=1, keepdims=True)
    slope = (weights / total - hot) / len(x)
    value = np.mean(np.log(total[:, 0]) - np.sum(z * hot, axis=1))
    slope2 = (slope @ w3.T) * (two > 0)
    slope1 = (slope2 @ w2.T) * (one > 0)
    gradients = x.T @ slope1, slope1.sum(0), one.T @ slope2, slope2.sum(0), two.T @ slope, slope.sum(0)
    return value, gradients


def network_inputs(rng, n):
    params = []
    for rows, columns in ((784, 512), (512, 256), (256, 10)):
        params += [rng.normal(size=(rows, columns)) * np.sqrt(2 / rows), rng.normal(size=columns) / 10]
    return tuple(params), (rng.normal(size=(n, 784)), np.eye(10)[rng.integers(0, 10, n)])


# ---- a mixture of Gaussians with a Wishart prior; precisions are U Uᵀ, with U = diag(exp q) + the strict upper part of r

STRENGTH, FREEDOM = 0.7, 2.0


def mixture(np, alpha, mu, q, r, x, upper):
    away = x - mu[:, None]
    factor = r * upper
    y = away @ factor + away * np.exp(q)[:, None]
    fit = (alpha + np.sum(q, axis=1))[:, None] - 0.5 * np.sum(y**2, axis=2)
    top = np.max(fit, axis=0)
    likelihood = np.sum(top + np.log(np.sum(np.exp(fit - top), axis=0))) - len(x) * np.log(np.sum(np.exp(alpha)))
    return likelihood - 0.5 * STRENGTH**2 * (np.sum(np.exp(2.0 * q)) + np.sum(factor**2)) + FREEDOM * np.sum(q)


def mixture_by_hand(alpha, mu, q, r, x, upper):
    away = x - mu[:, None]
    factor, scale = r * upper, np.exp(q)
    y = away @ factor + away * scale[:, None]
    fit = (alpha + q.sum(axis=1))[:, None] - 0.5 * np.einsum("knd,knd->kn", y, y)
    top = fit.max(axis=0)
    share = np.exp(fit - top)
    total = share.sum(axis=0)
    share /= total
    prior = np.exp(alpha)
    value = np.sum(top + np.log(total)) - len(x) * np.log(prior.sum())
    value -= 0.5 * STRENGTH**2 * (np.sum(scale**2) + np.sum(factor**2)) - FREEDOM * np.sum(q)
    counts = share.sum(axis=1)
    d_y = -share[:, :, None] * y
    d_alpha = counts - len(x) * prior / prior.sum()
    d_mu = -(d_y.sum(axis=1)[:, None] @ factor.transpose(0, 2, 1))[:, 0] - d_y.sum(axis=1) * scale
    d_q = counts[:, None] + np.einsum("knd,knd->kd", d_y, away) * scale - STRENGTH**2 * scale**2 + FREEDOM
    d_r = (away.transpose(0, 2, 1) @ d_y - STRENGTH**2 * factor) * upper
    return value, (d_alpha, d_mu, d_q, d_r)


def mixture_inputs(rng, n, k=25, d=10):
    params = rng.normal(size=k), rng.random((k, d)), rng.normal(size=(k, d)) / 2, rng.normal(size=(k, d, d)) / 2
    return params, (rng.normal(size=(n, d)), np.triu(np.ones((d, d)), 1))


TASKS = [
    Task("logistic", "logistic regression, 10,000 × 100", logistic, logistic_by_hand, logistic_inputs, 10_000),
    Task("softmax", "softmax regression, 5,000 × 50, 10 classes", softmax, softmax_by_hand, softmax_inputs, 5_000),
    Task("network", "784-512-256-10 network, 128 rows", network, network_by_hand, network_inputs, 128),
    Task("mixture", "25 Gaussians in 10 dimensions, 1,000 points", mixture, mixture_by_hand, mixture_inputs, 1_000),
]
