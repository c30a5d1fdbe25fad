"""Logistic regression by SciPy's optimiser, given the gradient and the Hessian of a loss in plain NumPy."""

from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import funcgrad as fg

# Each row: 30 measurements of a tumour, then 0 (malignant) or 1 (benign). Every fourth is held out.
table = np.loadtxt(Path(__file__).parent / "data" / "breast_cancer.csv", delimiter=",", skiprows=1)
held_out = np.arange(len(table)) % 4 == 3
train, test = table[~held_out], table[held_out]

# Standardise with what the training rows know, and put a column of ones in front for the intercept.
mean, spread = train[:, :30].mean(axis=0), train[:, :30].std(axis=0)


def features(rows):
    return np.column_stack([np.ones(len(rows)), (rows[:, :30] - mean) / spread])


x, sign = features(train), 2 * train[:, 30] - 1


def loss(w):
    """Mean negative log-likelihood, with an L2 penalty on all weights but the intercept."""
    margin = sign * (x @ w)
    return np.logaddexp(0, -margin).mean() + 0.005 * np.sum(w[1:] ** 2)


result = minimize(
    fun=fg.value_and_grad(loss),
    x0=np.zeros(31),
    jac=True,
    hess=fg.hessian(loss),
    method="trust-exact",
)

right = (features(test) @ result.x > 0) == (test[:, 30] == 1)
print(f"{result.nit} iterations, training loss {result.fun:.6f}, largest slope {np.abs(result.jac).max():.1e}")
print(f"accuracy on {len(right)} held-out tumours: {right.mean():.1%}")
