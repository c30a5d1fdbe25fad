"""Python loops of small operations."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from .task import Task

# ---- the Lorenz system (1963), 1,000 Runge-Kutta steps, in its state and its three parameters

STEP = 0.005


def lorenz(np, state, p, steps):
    def rate(s):
        x, y, z = s[0], s[1], s[2]
        return np.stack([p[0] * (y - x), x * (p[1] - z) - y, x * y - p[2] * z])

    for _ in range(steps):
        k1 = rate(state)
        k2 = rate(state + STEP / 2 * k1)
        k3 = rate(state + STEP / 2 * k2)
        k4 = rate(state + STEP * k3)
        state = state + STEP / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.sum(state**2)


def lorenz_by_hand(state, p, steps):
    a, b, c = map(float, p)

    def rate(x, y, z):
        return a * (y - x), x * (b - z) - y, x * y - c * z

    def moved(s, k, h):
        return s[0] + h * k[0], s[1] + h * k[1], s[2] + h * k[2]

    def pulled(s, g):
        """The transposed Jacobian of `rate` at `s`, times `g`; adds to the gradient in the parameters."""
        x, y, z = s
        d[0] += g[0] * (y - x)
        d[1] += g[1] * x
        d[2] -= g[2] * z
        return -a * g[0] + (b - z) * g[1] + y * g[2], a * g[0] - g[1] + x * g[2], -x * g[1] - c * g[2]

    s = tuple(map(float, state))
    path = []
    for _ in range(steps):
        k1 = rate(*s)
        s2 = moved(s, k1, STEP / 2)
        k2 = rate(*s2)
        s3 = moved(s, k2, STEP / 2)
        k3 = rate(*s3)
        s4 = moved(s, k3, STEP)
        k4 = rate(*s4)
        path.append((s, s2, s3, s4))
        s = tuple([u + STEP / 6 * (e + 2.0 * f + 2.0 * g + h) for u, e, f, g, h in zip(s, k1, k2, k3, k4, strict=True)])
    value = s[0] ** 2 + s[1] ** 2 + s[2] ** 2
    d = [0.0, 0.0, 0.0]
    zero = (0.0, 0.0, 0.0)
    g = (2.0 * s[0], 2.0 * s[1], 2.0 * s[2])
    for s1, s2, s3, s4 in reversed(path):
        g4 = pulled(s4, moved(zero, g, STEP / 6))
        g3 = pulled(s3, moved(moved(zero, g, STEP / 3), g4, STEP))
        g2 = pulled(s2, moved(moved(zero, g, STEP / 3), g3, STEP / 2))
        g1 = pulled(s1, moved(moved(zero, g, STEP / 6), g2, STEP / 2))
        g = tuple(map(sum, zip(g, g1, g2, g3, g4, strict=True)))
    return value, (np.array(g), np.array(d))


# ---- a pendulum on a spring, 500 steps, in its place, speed and stiffness: how far it is from the origin all along

PULL, TICK, LENGTH = np.array([0.0, -9.81]), 0.01, 1.0


def pendulum(np, place, speed, stiffness, steps):
    total = 0.0
    for _ in range(steps):
        length = np.sqrt(np.sum(place**2))
        speed = speed + TICK * (PULL - stiffness * (1.0 - LENGTH / length) * place)
        place = place + TICK * speed
        total = total + np.sum(place**2)
    return total


def pendulum_by_hand(place, speed, stiffness, steps):
    (x, y), (u, v) = place.tolist(), speed.tolist()
    total, path = 0.0, []
    for _ in range(steps):
        length = math.sqrt(x * x + y * y)
        strain = 1.0 - LENGTH / length
        path.append((x, y, length, strain))
        u += TICK * (PULL[0] - stiffness * strain * x)
        v += TICK * (PULL[1] - stiffness * strain * y)
        x, y = x + TICK * u, y + TICK * v
        path[-1] += (x, y)
        total += x * x + y * y
    dx = dy = du = dv = dk = 0.0
    for x, y, length, strain, next_x, next_y in reversed(path):
        dx, dy = dx + 2.0 * next_x, dy + 2.0 * next_y
        du, dv = du + TICK * dx, dv + TICK * dy
        along = TICK * (du * x + dv * y)
        dk -= along * strain
        shared = stiffness * along * LENGTH / length**3
        dx -= TICK * du * stiffness * strain + shared * x
        dy -= TICK * dv * stiffness * strain + shared * y
    return total, (np.array([dx, dy]), np.array([du, dv]), dk)


# ---- a character model: LSTM layers with diagonal weights, each character a row of bits, predicting the next


def characters(np, weights, shifts, ends, states, text):
    def sigmoid(x):
        return 1.0 / (1.0 + np.exp(-x))

    hidden, cells = list(states[0]), list(states[1])
    total = 0.0
    for now, following in pairwise(text):
        x = now * ends[0]
        for i in range(len(hidden)):
            w, b = weights[i], shifts[i]
            forget, let_out = sigmoid(x * w[0] + b[0]), sigmoid(x * w[2] + b[2])
            let_in, change = sigmoid(hidden[i] * w[1] + b[1]), np.tanh(hidden[i] * w[3] + b[3])
            cells[i] = cells[i] * forget + let_in * change
            x = hidden[i] = let_out * np.tanh(cells[i])
        guess = x * ends[1] + ends[2]
        total = total + np.sum(following * guess) - np.sum(following) * np.log(2.0 + np.sum(np.exp(guess)))
    return -total / text[1:].size


def characters_by_hand(weights, shifts, ends, states, text):
    layers = len(weights)
    hidden, cells = list(states[0]), list(states[1])
    total, path = 0.0, []
    for now, following in pairwise(text):
        x = now * ends[0]
        for i in range(layers):
            given = np.array([x, hidden[i], x, hidden[i]])
            z = given * weights[i] + shifts[i]
            gates = 1.0 / (1.0 + np.exp(-z[:3]))
            change, before = np.tanh(z[3]), cells[i]
            cells[i] = before * gates[0] + gates[1] * change
            bent = np.tanh(cells[i])
            x = hidden[i] = gates[2] * bent
            path.append((given, gates, change, before, bent))
        guess = x * ends[1] + ends[2]
        likely = np.exp(guess)
        norm = 2.0 + likely.sum()
        total += following @ guess - following.sum() * math.log(norm)
        path.append((now, x, following - following.sum() * likely / norm))
    d_weights, d_shifts, d_ends = np.zeros_like(weights), np.zeros_like(shifts), np.zeros_like(ends)
    d_hidden, d_cells = np.zeros_like(states[0]), np.zeros_like(states[1])
    slopes = np.empty_like(weights[0])
    while path:
        now, x, d_guess = path.pop()
        d_ends[1] += d_guess * x
        d_ends[2] += d_guess
        d_x = d_guess * ends[1]
        for i in reversed(range(layers)):
            given, gates, change, before, bent = path.pop()
            d_out = d_hidden[i] + d_x
            d_cell = d_cells[i] + d_out * gates[2] * (1.0 - bent * bent)
            slopes[0], slopes[1], slopes[2] = d_cell * before, d_cell * change, d_out * bent
            slopes[:3] *= gates * (1.0 - gates)
            slopes[3] = d_cell * gates[1] * (1.0 - change * change)
            d_cells[i] = d_cell * gates[0]
            d_weights[i] += slopes * given
            d_shifts[i] += slopes
            back = slopes * weights[i]
            d_x, d_hidden[i] = back[0] + back[2], back[1] + back[3]
        d_ends[0] += d_x * now
    count = -text[1:].size
    return total / count, (d_weights / count, d_shifts / count, d_ends / count)


def characters_inputs(rng, n, layers=2, bits=14):
    params = rng.normal(size=(layers, 4, bits)), rng.normal(size=(layers, 4, bits)), rng.normal(size=(3, bits))
    return params, (rng.normal(size=(2, layers, bits)), rng.integers(0, 2, (n, bits)).astype(float))


TASKS = [
    Task("lorenz", "1,000 Runge-Kutta steps of the Lorenz system", lorenz, lorenz_by_hand,
         lambda rng, n: ((rng.normal(size=3), np.array([10.0, 28.0, 8.0 / 3.0])), (n,)), 1_000),
    Task("pendulum", "500 steps of a pendulum on a spring", pendulum, pendulum_by_hand,
         lambda rng, n: ((np.array([1.2, 0.1]), rng.normal(size=2), 40.0), (n,)), 500),
    Task("characters", "LSTM, 2 layers, 256 characters of 14 bits", characters, characters_by_hand, characters_inputs, 256),
]  # fmt: skip
