"""Geometry and linear algebra."""

from __future__ import annotations

import numpy as np

from .task import Task

# ---- k-means: the sum of squared distances to the nearest of the centres


def kmeans(np, centres, points):
    squares = np.sum(points**2, axis=1)[:, None] + np.sum(centres**2, axis=1) - 2.0 * (points @ centres.T)
    return np.sum(np.min(squares, axis=1))


def kmeans_by_hand(centres, points):
    partial = np.einsum("kd,kd->k", centres, centres) - 2.0 * (points @ centres.T)
    nearest = partial.argmin(axis=1)
    away = centres[nearest] - points
    sums = [np.bincount(nearest, column, len(centres)) for column in away.T]
    return np.vdot(away, away), (2.0 * np.stack(sums, axis=1),)


def kmeans_inputs(rng, n):
    return (rng.normal(size=(100, 8)),), (rng.normal(size=(n, 8)),)


# ---- a Gaussian process: minus the log likelihood in the logarithms of its lengths, variance and noise


def process(np, lengths, variance, noise, x, y):
    z = x * np.exp(-lengths)
    norms = np.sum(z**2, axis=1)
    kernel = np.exp(variance - 0.5 * (norms[:, None] + norms - 2.0 * (z @ z.T)))
    lower = np.linalg.cholesky(kernel + np.exp(noise) * np.eye(len(y)))
    return 0.5 * np.sum(np.linalg.solve(lower, y) ** 2) + np.sum(np.log(np.diag(lower)))


def process_by_hand(lengths, variance, noise, x, y):
    z = x * np.exp(-lengths)
    norms = np.einsum("nd,nd->n", z, z)
    kernel = np.exp(variance - 0.5 * (norms[:, None] + norms - 2.0 * (z @ z.T)))
    lower = np.linalg.cholesky(kernel + np.exp(noise) * np.eye(len(y)))
    half = np.linalg.inv(lower)
    inverse = half.T @ half
    solved = inverse @ y
    d_kernel = 0.5 * (inverse - np.outer(solved, solved))
    d_squares = -0.5 * d_kernel * kernel
    d_z = 4.0 * (d_squares.sum(axis=1)[:, None] * z - d_squares @ z)
    value = 0.5 * (y @ solved) + np.log(lower.diagonal()).sum()
    return value, (-np.sum(d_z * z, axis=0), -2.0 * d_squares.sum(), np.exp(noise) * np.trace(d_kernel))


def process_inputs(rng, n):
    x = rng.normal(size=(n, 5))
    return (rng.normal(size=5) / 4, 0.3, -1.0), (x, np.sin(x.sum(axis=1)) + rng.normal(size=n) / 4)


# ---- least squares: the prediction error on new rows, in the penalty for each column


def ridge(np, penalties, x, y, new_x, new_y):
    w = np.linalg.solve(x.T @ x + np.diag(np.exp(penalties)), x.T @ y)
    return np.sum((new_x @ w - new_y) ** 2)


def ridge_by_hand(penalties, x, y, new_x, new_y):
    scale = np.exp(penalties)
    matrix = x.T @ x
    matrix[np.diag_indices_from(matrix)] += scale
    w = np.linalg.solve(matrix, x.T @ y)
    error = new_x @ w - new_y
    return error @ error, (-scale * w * np.linalg.solve(matrix, 2.0 * (error @ new_x)),)


def ridge_inputs(rng, n):
    x, new_x, w = rng.normal(size=(2 * n, n)), rng.normal(size=(n, n)), rng.normal(size=n)
    return (rng.normal(size=n),), (x, x @ w + rng.normal(size=2 * n), new_x, new_x @ w)


TASKS = [
    Task("kmeans", "k-means, 100 centres, 10,000 × 8", kmeans, kmeans_by_hand, kmeans_inputs, 10_000),
    Task("process", "Gaussian process, 500 points (Cholesky)", process, process_by_hand, process_inputs, 500),
    Task("ridge", "ridge regression through `solve`, 300 columns", ridge, ridge_by_hand, ridge_inputs, 300),
]
