"""A function of trees made flat: a list of float leaves in, a list of float leaves out, each with its path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import pytree
from funcgrad.tensor import Tensor, tensor
from funcgrad.testing.differences import Array
from funcgrad.transforms.arguments import kind_of


@attrs.frozen(eq=False)
class Leaves:
    """The float leaves of a tree, beside those that have no derivative."""

    treedef: pytree.TreeDef
    all: tuple[Any, ...]
    places: tuple[int, ...]
    root: str

    @property
    def floats(self) -> list[Any]:
        return [self.all[i] for i in self.places]

    @property
    def paths(self) -> list[str]:
        return [self.root + self.treedef.paths[i] for i in self.places]

    def tree(self, floats: Sequence[Any]) -> Any:
        """The tree with other floats."""
        leaves = list(self.all)
        for i, x in zip(self.places, floats, strict=True):
            leaves[i] = x
        return self.treedef.unflatten(leaves)


def leaves_of(tree: Any, root: str) -> Leaves:
    found, treedef = pytree.flatten(tree)
    return Leaves(treedef, tuple(found), tuple([i for i, x in enumerate(found) if is_float(x)]), root)


def is_float(x: Any) -> bool:
    return kind_of(x) in ("f", "c")


def copied(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def widened(x: Any) -> Array:
    """A leaf as an array of at least double precision."""
    a = np.asarray(x)
    return a.astype(np.result_type(a, np.float64))


def retyped(array: Array, like: Any) -> Any:
    """An array as what `like` is: a Tensor, an ndarray, or a number."""
    return tensor(array) if isinstance(like, Tensor) else array if isinstance(like, np.ndarray) else array[()]


def flat(f: Callable[..., Any], args: Leaves, places: tuple[int, ...]) -> Callable[..., list[Any]]:
    """`f` from float leaves of its arguments to the leaves of its output at `places`."""

    def call(*floats: Any) -> list[Any]:
        out = pytree.leaves(f(*args.tree(floats)))
        return [out[i] for i in places]

    return call


@attrs.frozen(eq=False)
class Space:
    """The real coordinates of a list of float leaves: one per element, two per complex element.

    In a `dual` space the second stands for what `⟨c, z⟩ = Re Σ c z` makes of it: `c = -i` gives the imaginary part.
    """

    paths: tuple[str, ...]
    likes: tuple[Array, ...]
    dual: bool

    @property
    def sizes(self) -> list[int]:
        return [a.size * (1 + np.iscomplexobj(a)) for a in self.likes]

    def leaves(self, c: Array) -> list[Array]:
        """The leaves with these coordinates."""
        parts = np.split(c, np.cumsum(self.sizes)[:-1])
        return [self._leaf(part, a) for part, a in zip(parts, self.likes, strict=True)]

    def _leaf(self, c: Array, like: Array) -> Array:
        if np.iscomplexobj(like):
            c = c[: like.size] + (-1j if self.dual else 1j) * c[like.size :]
        return c.reshape(like.shape)

    def name(self, k: int) -> str:
        """The coordinate in the user's words: `args[0]['w'][2, 1]`."""
        leaf = 0
        while k >= self.sizes[leaf]:
            k -= self.sizes[leaf]
            leaf += 1
        like = self.likes[leaf]
        part = "" if not np.iscomplexobj(like) else ".real" if k < like.size else ".imag"
        return self.paths[leaf] + index_of(k % like.size, like.shape) + part

    def within(self, leaf: int) -> Array:
        """Random coordinates of one leaf, zeros for the others."""
        ends = np.cumsum([0, *self.sizes])
        c = np.zeros(int(ends[-1]))
        c[ends[leaf] : ends[leaf + 1]] = random(self.sizes[leaf])
        return c

    def whole(self) -> Array:
        return random(sum(self.sizes))


def index_of(k: int, shape: tuple[int, ...]) -> str:
    return f"[{', '.join(str(int(i)) for i in np.unravel_index(k, shape))}]" if shape else ""


def random(n: int) -> Array:
    """Numbers in ±[½, 1]: none is lost in another's shadow. The same in every run."""
    rng = np.random.default_rng(n)
    numbers: Array = rng.uniform(0.5, 1.0, n) * rng.choice([-1.0, 1.0], n)
    return numbers


def pairing(a: Sequence[Array], b: Sequence[Any]) -> float:
    """⟨a, b⟩ = Re Σ a b, without conjugation."""
    return float(sum([np.sum((p * np.asarray(q)).real, dtype=np.float64) for p, q in zip(a, b, strict=True)]))
