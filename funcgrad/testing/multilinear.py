"""Derivatives of any order as multilinear maps: compared on random vectors, and searched for an entry that is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import errors
from funcgrad.testing.differences import LEVELS, Array, derivative, inside, moved
from funcgrad.testing.flat import Space, pairing, retyped, widened
from funcgrad.transforms.maps import jvp, vjp

MODES = {"fwd": "forward", "rev": "reverse"}


@attrs.frozen(eq=False)
class Check:
    """Derivatives of order n are multilinear in n directions and a cotangent: two such maps are equal where they are on random vectors.

    And where they differ, they do so on one half of the coordinates of each vector at least: halving finds an entry that is wrong.
    """

    name: str
    f: Callable[..., list[Any]]
    x: list[Any]
    inputs: Space
    outputs: Space
    rtol: float
    atol: float | None
    step: float

    def run(self, chain: tuple[str, ...]) -> None:
        """Compare the derivative by these modes, the innermost first, leaf by leaf."""
        inner = [self.inputs.whole() for _ in chain[1:]]
        for i, j in itertools.product(range(len(self.inputs.likes)), range(len(self.outputs.likes))):
            if self.inputs.sizes[i] and self.outputs.sizes[j]:
                vectors = [self.outputs.within(j), *inner, self.inputs.within(i)]
                found, expected, tolerance, _ = self.both(chain, vectors)
                if not abs(found - expected) <= tolerance:
                    self.blame(chain, vectors)

    def both(self, chain: tuple[str, ...], vectors: Sequence[Array]) -> tuple[float, float, float, str]:
        """The number by the chain of modes, by differences of the chain without its last; how far apart they may be; and by what."""
        g, space, slot = self.partial(chain[:-1], vectors)
        v, ct = self.inputs.leaves(vectors[-1]), space.leaves(slot)
        found = _number(chain[-1], g, self.x, ct, v)
        wide = [widened(a) for a in self.x]
        run, plain = self.widely(g), self.widely(self.f)
        step = inside(plain, wide, v, self.step)
        slopes, by = derivative(run, wide, v, step)
        size = sum([float(np.sum(abs(c) * abs(s))) for c, s in zip(ct, slopes, strict=True)])
        return found, pairing(ct, slopes), self.rtol * size + self.noise(run, wide, v, ct, step), by

    def widely(self, g: Callable[..., Any]) -> Callable[..., Any]:
        """`g` of a list of arrays that may have more digits than those it is meant for."""
        return lambda arrays: g(*[retyped(a, like) for a, like in zip(arrays, self.x, strict=True)])

    def noise(self, run: Callable[..., Any], x: list[Array], v: list[Array], ct: Sequence[Array], step: float) -> float:
        """What rounding does to differences of values at `x` and around it, where they may be larger by far."""
        with np.errstate(all="ignore"):
            values = [y for h in (0.0, step / 2**LEVELS, -step / 2**LEVELS) for y in run(moved(x, v, h))]
        eps = max([float(np.finfo(np.asarray(y).dtype).eps) for y in values])
        largest = max([float(np.max(abs(np.asarray(y)), initial=0.0)) for y in values])
        atol = 50 * eps * largest * 2**LEVELS / step if self.atol is None else self.atol
        return atol * sum([float(np.sum(abs(c))) for c in ct])

    def partial(self, chain: Sequence[str], vectors: Sequence[Array]) -> tuple[Callable[..., Any], Space, Array]:
        """The function that the modes of `chain` make of `f`, and what its output is paired with."""
        g, space, slot = self.f, self.outputs, vectors[0]
        for mode, v in zip(chain, vectors[1:], strict=False):
            if mode == "fwd":
                g = _pushed(g, self.inputs.leaves(v))
            else:
                g, space, slot = _pulled(g, space.leaves(slot)), self.inputs, v
        return g, space, slot

    def blame(self, chain: tuple[str, ...], vectors: list[Array]) -> None:
        """Halve each vector down to one coordinate where the two sides differ, and raise."""
        for k in reversed(range(len(vectors))):
            at = np.flatnonzero(vectors[k])
            while len(at) > 1:
                halves = [at[: len(at) // 2], at[len(at) // 2 :]]
                at = max(halves, key=lambda half: self.gap(chain, [*vectors[:k], _only(vectors[k], half), *vectors[k + 1 :]]))
            vectors = [*vectors[:k], (np.arange(len(vectors[k])) == at[0]).astype(float), *vectors[k + 1 :]]
        out, *directions = [int(np.argmax(v)) for v in vectors]
        found, expected, _, by = self.both(chain, vectors)
        path = "∂".join([self.inputs.name(k) for k in directions])
        mode = " over ".join([MODES[m] for m in reversed(chain)]) + (" mode" if len(chain) == 1 else "")
        values = (float(f"{found:.10g}"), float(f"{expected:.10g}"))
        verdict = self.verdict(chain, vectors)
        raise errors.WrongDerivativeError(self.name, path, self.outputs.name(out), mode, len(chain), values, by, verdict)

    def gap(self, chain: tuple[str, ...], vectors: list[Array]) -> float:
        found, expected, _, _ = self.both(chain, vectors)
        return float(np.nan_to_num(abs(found - expected), nan=np.inf))

    def verdict(self, chain: tuple[str, ...], vectors: list[Array]) -> str:
        """Which side is off, by what the other mode says."""
        mine, other = chain[-1], "rev" if chain[-1] == "fwd" else "fwd"
        try:
            found, expected, tolerance, _ = self.both((*chain[:-1], other), vectors)
        except Exception:  # the other mode may be what has no rule
            return f"The rule of an operation in {MODES[mine]} mode is wrong."
        if abs(found - expected) <= tolerance:
            return f"{MODES[other].capitalize()} mode agrees with differences: the {MODES[mine]} side of a rule is off."
        return "Both modes are off: a derivative rule is wrong, or the function is not smooth here."


def _only(v: Array, at: Array) -> Array:
    out = np.zeros_like(v)
    out[at] = v[at]
    return out


def _number(mode: str, g: Callable[..., Any], x: list[Any], ct: list[Array], v: list[Array]) -> float:
    return pairing(ct, _pushed(g, v)(*x)) if mode == "fwd" else pairing(v, _pulled(g, ct)(*x))


def _pushed(g: Callable[..., Any], v: list[Array]) -> Callable[..., list[Any]]:
    return lambda *x: list(jvp(g, x, v)[1])


def _pulled(g: Callable[..., Any], ct: list[Array]) -> Callable[..., list[Any]]:
    return lambda *x: list(vjp(g, *x)[1](ct))
