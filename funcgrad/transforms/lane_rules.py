"""The body and the rules of a call with custom rules, in all lanes at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from funcgrad import pytree
from funcgrad.core import Traced, Value
from funcgrad.numpy.bridge import bare
from funcgrad.pytree.prefix import leaves_or_none
from funcgrad.transforms.alike import STANDS
from funcgrad.transforms.arguments import kind_of
from funcgrad.transforms.batch import Batch
from funcgrad.transforms.calls import sealed
from funcgrad.transforms.closures import replaced
from funcgrad.transforms.lanes import Lanes, Marks, total_of_lanes
from funcgrad.transforms.rule_results import cotangents, pair

if TYPE_CHECKING:
    from funcgrad.transforms.rules import RuleCall, Rules


@attrs.frozen(eq=False)
class LaneRules:
    """Trees of arguments have a batch axis where `mapped` says so.

    What the call closes over in these lanes (`closed`) is an operand more of all that runs in lanes. (A container, so that the values
    of older interpreters are found in it.)
    """

    call: RuleCall
    lanes: Lanes
    mapped: list[bool]
    closed: list[Traced] = attrs.field(metadata=STANDS)
    values: list[Value]

    @classmethod
    def of(cls, call: RuleCall, m: Batch, mapped: list[bool]) -> LaneRules:
        closed = call.closed_over_of(m)
        return cls(call, Lanes(m, call.name), mapped, closed, [m.value_of(x) for x in closed])

    def rules(self) -> Rules:
        own = self.call.rules
        jvps = own.jvps and tuple([r and functools.partial(self.part, k) for k, r in enumerate(own.jvps)])
        body = functools.update_wrapper(lambda *args: self.body(*args), own.f, updated=())  # errors name its parameters
        return attrs.evolve(
            own, f=body, jvp=own.jvp and self.jvp, jvps=jvps, fwd=own.fwd and self.fwd, bwd=own.bwd and self.bwd, batch=None
        )

    def run(self, fun: Callable[[RuleCall, list[Any]], Any], leaves: Sequence[Any], mapped: Sequence[bool], how: Any = Lanes.run) -> Any:
        """What `fun` gives in lanes of its own, of the call that closes over their values."""
        n = len(leaves)

        def run(given: list[Any]) -> Any:
            return fun(replaced(self.call, self.closed, given[n:]) if self.closed else self.call, given[:n])

        return how(self.lanes, run, [*leaves, *self.values], [*mapped, *[True] * len(self.values)])

    def moving(self, args: Sequence[Any]) -> list[Any]:
        """The leaves of the arguments that are differentiated."""
        return pytree.leaves(tuple([x for k, x in enumerate(args) if k not in self.call.static]))

    def body(self, *args: Any) -> Any:
        if self.closed or not self.call.has_batch:
            return self.run(lambda call, leaves: call.rules.f(*_given(call, leaves)), self.moving(args), self.mapped)
        with sealed(self.lanes.m, self.call.name):
            outs, marks, treedef = self.call.batched(self.lanes.size, self.mapped, list(map(bare, self.moving(args))))
        return treedef.unflatten([self.lanes.whole(y, yes) for y, yes in zip(outs, marks, strict=True)])

    def jvp(self, *args: Any) -> Any:
        *_, primals, tangents = args
        n = len(self.mapped)

        def fun(call: RuleCall, leaves: list[Any]) -> Any:
            assert call.rules.jvp is not None
            return call.rules.jvp(*call.first, call.in_def.unflatten(leaves[:n]), call.in_def.unflatten(leaves[n:]))

        moves = leaves_or_none("jvp rule", self.call.in_def, tangents)
        return self.run(fun, [*pytree.leaves(primals), *moves], self.mapped * 2)

    def part(self, k: int, tangent: Any, out: Any, *primals: Any) -> Any:
        """What the k-th of several jvp rules gives."""
        children = self.call.in_def.children
        start = sum([child.num_leaves for child in children[:k]])
        child = children[k]
        n = child.num_leaves
        outs, out_def = pytree.flatten(out)
        numbers = [bool(kind_of(y)) for y in outs]
        end = n + len(outs)

        def fun(call: RuleCall, leaves: list[Any]) -> Any:
            rule = call.rules.jvps[k]  # type: ignore[index]
            assert rule is not None
            return rule(child.unflatten(leaves[:n]), out_def.unflatten(leaves[n:end]), *call.in_def.unflatten(leaves[end:]))

        leaves = [*leaves_or_none("jvp rule", child, tangent), *outs, *pytree.leaves(primals)]
        return self.run(fun, leaves, [*self.mapped[start : start + n], *numbers, *self.mapped])

    def fwd(self, *args: Any) -> Any:
        """The residuals go with the marks of those that have a batch axis."""

        def fun(call: RuleCall, leaves: list[Any]) -> Any:
            assert call.rules.fwd is not None
            return pair(call.rules, "fwd rule", call.rules.fwd(*_given(call, leaves)), "output, residuals")

        return self.run(fun, self.moving(args), self.mapped, Lanes.run_marked)

    def bwd(self, *args: Any) -> Any:
        """A cotangent of what all lanes share is the sum over the lanes."""
        *_, (leaves, marks), ct = args
        assert isinstance(marks, Marks)
        cts, ct_def = pytree.flatten(ct)
        n = len(leaves)

        def fun(call: RuleCall, given: list[Any]) -> Any:
            assert call.rules.bwd is not None
            return cotangents(call, call.rules.bwd(*call.first, marks.treedef.unflatten(given[:n]), ct_def.unflatten(given[n:])))

        found = self.run(fun, [*leaves, *cts], [*marks.mapped, *[bool(kind_of(c)) for c in cts]])
        sums = [g if g is None or yes else total_of_lanes(g) for g, yes in zip(found, self.mapped, strict=True)]
        return self.call.in_def.unflatten(sums)


def _given(call: RuleCall, leaves: Sequence[Any]) -> list[Any]:
    return call.arguments(call.in_def.unflatten(leaves))
