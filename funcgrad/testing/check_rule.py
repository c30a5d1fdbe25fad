"""`check_rule`: whether a function's custom rules are linear, agree with each other, with differences, and with single calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import errors
from funcgrad.testing.check_grads import RTOL
from funcgrad.testing.differences import STEPS, richardson
from funcgrad.testing.flat import Leaves, copied, flat, leaves_of, retyped, widened
from funcgrad.transforms.arguments import label_of
from funcgrad.transforms.custom import Custom
from funcgrad.transforms.maps import jvp, vjp
from funcgrad.transforms.vmap import vmap

Map = Callable[[list[Any]], list[Any]]


def check_rule(f: Callable[..., Any], args: Sequence[Any], differences: bool = True, rtol: float | None = None) -> None:
    """Check the custom rules of `f` at `args`: values, linearity, one mode against the other, and against differences.

    A batch rule is compared with single calls, at arguments up to a quarter smaller: all of them batched, and each float alone.

    Args:
        f: made by `custom_jvp`, `custom_vjp` or `external`; its arguments and outputs are pytrees.
        args: the positional arguments, as a tuple or list; floats are differentiated, the rest is left alone.
        differences: False where a rule is not meant to be the derivative; it must be linear all the same.
        rtol: the relative tolerance of the comparison with differences; by default it follows from the dtypes.

    Raises:
        RuleError: says which rule is off, in what, and by which values.

    >>> from funcgrad.transforms.custom import custom_jvp
    >>> f = custom_jvp(lambda x: x**2)
    >>> f.defjvps(lambda t, out, x: 2 * t * x)
    >>> check_rule(f, (3.0,))
    """
    label = label_of("check_rule", f)
    if not isinstance(args, (tuple, list)):
        raise errors.ArgumentTypeError(str(label), f"args must be a tuple or list of arguments, got a {type(args).__name__}. Write (x,).")
    given = leaves_of(tuple(args), "args")
    out = leaves_of(f(*given.treedef.unflatten([copied(x) for x in given.all])), "out")
    if not given.places or not out.places:
        raise errors.ArgumentTypeError(str(label), "no argument or no output is a float, so there is nothing to check.")
    check = _Check(label.function, given, out, flat(f, given, out.places))
    if isinstance(f, Custom) and f.has_batch:
        check.batches()
    push, pull = check.forward(), check.reverse()
    t, ct = check.random(given, 1), check.random(out, 2)
    if push is not None:
        check.linear("jvp rule", push, t, check.random(given, 3))
        check.adjoint(push(t), pull(ct), t, ct)
    check.linear("vjp rule", pull, ct, check.random(out, 4))
    if differences:
        check.differences(push, pull, t, ct, rtol)


class _Check:
    def __init__(self, name: str, given: Leaves, out: Leaves, call: Callable[..., list[Any]]) -> None:
        self.name, self.given, self.out, self.call = name, given, out, call
        self.x = [copied(x) for x in given.floats]
        dtypes = [np.asarray(x).real.dtype for x in [*given.floats, *out.floats]]
        self.dtype = max(dtypes, key=lambda dtype: float(np.finfo(dtype).eps))
        self.tol = min(1e5 * float(np.finfo(self.dtype).eps), 0.05)

    def random(self, leaves: Leaves, seed: int) -> list[Any]:
        rng = np.random.default_rng(seed)
        return [retyped(np.asarray(rng.uniform(0.5, 1.5, np.shape(x))).astype(np.asarray(x).dtype), x) for x in leaves.floats]

    def same(self, what: str, found: Sequence[Any], expected: Sequence[Any], rtol: float) -> None:
        """Equal within `rtol` of the largest number among them."""
        pairs = [(widened(a), widened(b)) for a, b in zip(found, expected, strict=True)]
        scale = max([float(np.max(np.abs(b), initial=0.0)) for _, b in pairs])
        for a, b in pairs:
            wrong = ~np.isclose(a, b, rtol=0.0, atol=rtol * scale + 1e-300, equal_nan=True)
            if wrong.any():
                k = int(np.argmax(wrong))
                raise errors.RuleError(self.name, what, (a.flat[k].item(), b.flat[k].item()))

    def batches(self) -> None:
        """The batch rule, which decides where nothing but lanes is traced, against the stack of single calls."""
        sizes = np.array([1.0, 0.875, 0.75])
        lanes = [[retyped(widened(x).astype(np.asarray(x).dtype) * np.asarray(x).dtype.type(s), x) for x in self.x] for s in sizes]
        every = range(len(self.x))
        for which in [set(every), *[{k} for k in every if len(self.x) > 1]]:
            single = zip(*[self.call(*[lane[k] if k in which else self.x[k] for k in every]) for lane in lanes], strict=True)
            stacks = [np.stack([np.asarray(lane[k]) for lane in lanes]) if k in which else self.x[k] for k in every]
            found = vmap(lambda *x: tuple(self.call(*x)), tuple([0 if k in which else None for k in every]))(*stacks)
            for y, lanes_of_y in zip(found, single, strict=True):
                stack = np.stack([np.asarray(a) for a in lanes_of_y])
                if np.shape(y) != stack.shape:
                    what = "the batch rule gives shape {} in each lane, a single call {}"
                    raise errors.RuleError(self.name, what, (list(np.shape(y)[1:]), list(stack.shape[1:])))
                self.same("the batch rule gives {}, a single call {}", [y], [stack], self.tol)

    def forward(self) -> Map | None:
        """The jvp rule, as a map of tangents; None where there is only a vjp rule."""
        try:
            value, _ = jvp(self.call, self.x, self.random(self.given, 1))
        except errors.NoRuleError:
            return None
        self.same("the output of the jvp rule is {}, that of the function {}", value, self.out.floats, self.tol)
        return lambda t: jvp(self.call, self.x, t)[1]

    def reverse(self) -> Map:
        value, pull = vjp(self.call, *self.x)
        self.same("the output of the vjp rule is {}, that of the function {}", value, self.out.floats, self.tol)
        return lambda ct: list(pull(ct))

    def linear(self, rule: str, apply: Map, u: list[Any], v: list[Any]) -> None:
        """`apply(2u - 5v) = 2 apply(u) - 5 apply(v)`, coefficients that clipping and absolute values do not survive."""
        mixed = [2 * a - 5 * b for a, b in zip(u, v, strict=True)]
        expected = [2 * widened(a) - 5 * widened(b) for a, b in zip(apply(u), apply(v), strict=True)]
        self.same(f"the {rule} is not linear: at a combination it gives {{}}, combined results are {{}}", apply(mixed), expected, self.tol)

    def adjoint(self, moved: Sequence[Any], pulled: Sequence[Any], t: list[Any], ct: list[Any]) -> None:
        """⟨ct, J t⟩ = ⟨Jᵀ ct, t⟩."""
        what = "the modes differ: a cotangent times a pushed tangent is {} by forward mode, {} by reverse mode"
        self.same(what, [_dot(ct, moved)], [_dot(pulled, t)], self.tol)

    def differences(self, push: Map | None, pull: Map, t: list[Any], ct: list[Any], rtol: float | None) -> None:
        tol = (RTOL.get(self.dtype, 1e-6)) if rtol is None else rtol
        step = STEPS.get(self.dtype, 2.0**-6)
        wide = [widened(x) for x in self.x]
        shaped = lambda x: [np.asarray(y) for y in self.call(*[retyped(a, like) for a, like in zip(x, self.x, strict=True)])]
        expected, _ = richardson(shaped, wide, [widened(a) for a in t], step)
        if push is not None:
            self.same("the tangent is {} by the jvp rule, {} by differences", push(t), expected, tol)
        what = "a cotangent times a pushed tangent is {} by the vjp rule, {} by differences"
        self.same(what, [_dot(pull(ct), t)], [_dot(ct, expected)], tol)


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """⟨a, b⟩ over the reals, without conjugation."""
    return np.sum([np.sum(widened(x) * widened(y)).real for x, y in zip(a, b, strict=True)])
