"""A network in plain NumPy learns to read handwritten digits; funcgrad supplies the gradient of its loss."""

from pathlib import Path
from time import perf_counter

import attrs
import numpy as np

import funcgrad as fg

# Each row: an 8×8 image as 64 integers from 0 to 16, then the digit. The last 360 rows are by other writers, and wait for the end.
table = np.loadtxt(Path(__file__).parent / "data" / "digits.csv.gz", delimiter=",")
images, digits = table[:, :64] / 16, table[:, 64].astype(int)
train_images, train_digits = images[:-360], digits[:-360]
test_images, test_digits = images[-360:], digits[-360:]


@attrs.frozen
class Network:
    w1: np.ndarray
    b1: np.ndarray
    w2: np.ndarray
    b2: np.ndarray


def scores(net, images):
    hidden = np.tanh(images @ net.w1 + net.b1)
    return hidden @ net.w2 + net.b2


def loss(net, images, digits):
    """Mean cross-entropy, plus a small weight decay."""
    z = scores(net, images)
    z = z - z.max(axis=1, keepdims=True)
    log_probability = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    decay = np.sum(net.w1**2) + np.sum(net.w2**2)
    return -log_probability[np.arange(len(digits)), digits].mean() + 5e-4 * decay


value_and_grad = fg.value_and_grad(loss)  # (net, images, digits) -> (number, Network)

rng = np.random.default_rng(0)
net = Network(rng.normal(0, 0.12, (64, 64)), np.zeros(64), rng.normal(0, 0.12, (64, 10)), np.zeros(10))


# 1. Is it the gradient? Along any direction it must agree with a difference quotient of the plain loss.


def dot(a, b):
    return sum(np.vdot(x, y) for x, y in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True))


def shifted(net, step, direction):
    return fg.tree.map(lambda p, d: p + step * d, net, direction)


_, gradient = value_and_grad(net, train_images, train_digits)
direction = fg.tree.map(lambda p: rng.normal(size=p.shape), net)
ahead, behind = (loss(shifted(net, step, direction), train_images, train_digits) for step in (1e-6, -1e-6))
print(f"slope along a random direction: {dot(gradient, direction):+.8f} by the gradient")
print(f"                                {(ahead - behind) / 2e-6:+.8f} by differences")


# 2. Train: stochastic gradient descent with momentum, every step a new Network.

EPOCHS, BATCH, MOMENTUM = 30, 32, 0.9
velocity = fg.tree.map(np.zeros_like, net)
start = perf_counter()
for epoch in range(EPOCHS):
    rate = 0.1 * (1 + np.cos(np.pi * epoch / EPOCHS))  # from 0.2 down to 0
    losses = []
    for rows in np.array_split(rng.permutation(len(train_digits)), len(train_digits) // BATCH):
        value, gradient = value_and_grad(net, train_images[rows], train_digits[rows])
        velocity = fg.tree.map(lambda v, g: MOMENTUM * v + g, velocity, gradient)
        net = shifted(net, -rate, velocity)
        losses.append(value)
    if epoch % 5 == 0 or epoch == EPOCHS - 1:
        print(f"epoch {epoch + 1:2}: training loss {np.mean(losses):.4f}, {perf_counter() - start:4.1f} s")


# 3. Read the digits of writers it has never seen.

right = scores(net, test_images).argmax(axis=1) == test_digits
print(f"accuracy on {len(right)} held-out digits: {right.mean():.1%}")
