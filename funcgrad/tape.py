"""The tape face, for people who think in PyTorch or candle: a `Var` is recorded from its birth, `backward` gives gradients.

It is reverse mode once more, over the same nodes, by an interpreter that never ends. Nothing is ever written: a gradient is
looked up in what `backward` returns, by the id of its Var.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from funcgrad import errors, pytree
from funcgrad.collector import hold_collector, release_collector
from funcgrad.core import Label, Traced, Value, dtype_of, ground, shape_of, tick
from funcgrad.numpy.bridge import bare
from funcgrad.ops.shaping import cast
from funcgrad.tensor import Tensor, summary, user_frame
from funcgrad.transforms import doors
from funcgrad.transforms.arguments import describe
from funcgrad.transforms.derivatives import pull_back
from funcgrad.transforms.linearize import Linearize, LinTracer
from funcgrad.transforms.walk import Node, discover

Id = tuple[str, int]
"""A random token of the process and a count: unique across pickles."""


class Tape(Linearize):
    """Never closed, so it copies what it keeps instead of locking it; and nothing is lost by a look at its values."""

    __slots__ = ()
    looks = True

    def __init__(self, label: Label) -> None:
        super().__init__(label)
        self.borrows = doors.Snapshot()

    def backward(self, x: Traced, ct: Any) -> Gradients:
        return backward(x, ct)


_TAPE = Tape(Label("backward", "loss", "", 0))
"""The tape of every Var made of plain numbers: older than every other interpreter."""

_count = itertools.count(1).__next__
_token = os.urandom(8).hex()


def _new_token() -> None:
    global _token
    _token = os.urandom(8).hex()


if hasattr(os, "register_at_fork"):  # a child counts on from where its parent was
    os.register_at_fork(after_in_child=_new_token)


@attrs.frozen(eq=False)
class _Birth:
    """What the node of a Var remembers of it. (Not the Var itself, which holds the node: the graph has no cycles.)"""

    id: Id
    name: str | None
    value: Value


class Var(Tensor):
    """A Tensor with an id, from which everything is recorded that is computed with it.

    Args:
        data: floats or complex numbers. Copied; of a recorded value, the value alone.
        name: for people to read.

    >>> x = Var(3.0)
    >>> backward(x * x)[x]
    Tensor(6., float64)
    """

    __slots__ = ()

    def __init__(self, data: Any, name: str | None = None) -> None:
        value = _value_of(data)
        tape = _TAPE
        if isinstance(value, Traced):
            frame = user_frame()
            tape = Tape(Label("backward", frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno))
        birth = _Birth((_token, _count()), name, value)
        object.__setattr__(self, "_array", tape.trace(value, (tick(), None, None, None, birth)))

    id = property(lambda self: self._birth.id, doc="What `Gradients` know it by.")
    name = property(lambda self: self._birth.name, doc="What people know it by.")
    _birth = property(lambda self: self._array._node[4])

    @property
    def grad(self) -> Any:
        """Not here: nothing is ever written to a Var."""
        raise errors.NoGradAttributeError

    def set(self, data: Any) -> Var:
        """A new Var of the same name, shape and dtype. Everything computed from this one stays as it is."""
        value = _value_of(data)
        if shape_of(value) != self.shape:
            raise errors.ArgumentError("Var.set", f"the new value must have shape {list(self.shape)}, got {describe(value)}.")
        if dtype_of(value).kind == "c" != self.dtype.kind:
            raise errors.ArgumentTypeError("Var.set", f"the new value is complex, but the Var is {self.dtype}. Take its real part.")
        return Var(cast(value, self.dtype), self.name)

    def backward(self, ct: Any = None) -> Gradients:
        """As `fg.backward(x, ct)`."""
        return backward(self, ct)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        tracer: Any = self._array
        return tracer.__array__(dtype, copy)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Var({name}{summary(np.asarray(ground(self._array)))})"

    def __reduce__(self) -> Any:
        birth = self._birth
        return _restored, (birth.id, birth.name, birth.value)


def _born(tape: Tape, node: Node) -> Var:
    """The Var that a node began with: the same in everything but the Python object."""
    var = object.__new__(Var)
    object.__setattr__(var, "_array", tape.trace(node[4].value, node))
    return var


def _restored(id: Id, name: str | None, value: Value) -> Var:
    """A Var out of a pickle."""
    return _born(_TAPE, (tick(), None, None, None, _Birth(id, name, _frozen(value))))


def _value_of(data: Any) -> Value:
    """The value a Var begins with: frozen, and no value of a tape."""
    data = bare(data)
    if isinstance(data, Tensor):
        data = data._seen()  # type: ignore[attr-defined]
    value = data if isinstance(data, Traced) else _frozen(data)
    if dtype_of(value).kind not in "fc":
        raise errors.InputError("Var", "the data", f"{describe(value)}, which has no derivative", "Pass it as a float.")
    return value


def _frozen(data: Any) -> Value:
    """A read-only array of the machine's byte order, or a scalar, that nobody else can write to."""
    array = np.array(data)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array.flags.writeable = False
    return array[()]


# ---- backward


class Gradients(Mapping[Var, Any]):
    """From each Var that a loss depends on to the gradient, a Tensor of its shape and dtype. A Mapping, frozen, and a pytree."""

    __slots__ = ("_found", "_vars")
    _vars: tuple[Var, ...]
    _found: dict[Id, Any]

    def __init__(self, pairs: Iterable[tuple[Var, Any]]) -> None:
        pairs = tuple(pairs)
        object.__setattr__(self, "_vars", tuple([var for var, _ in pairs]))
        object.__setattr__(self, "_found", {var.id: g for var, g in pairs})

    def __setattr__(self, name: str, value: Any) -> None:
        raise errors.FrozenError("grads.x = v", "Make new gradients: `fg.tree.map(f, grads)`.")

    def __getitem__(self, var: Var) -> Any:
        if not isinstance(var, Var):
            raise errors.NoGradientError(f"{describe(var)}", "Only a Var has a gradient here.")
        try:
            return self._found[var.id]
        except KeyError:
            raise self._missing(var) from None

    def _missing(self, var: Var) -> errors.NoGradientError:
        if any(other.name == var.name for other in self._vars) and var.name is not None:
            why = f"It depends on another Var named {var.name!r}: `set` makes a new one, look up the one it was computed from."
        else:
            why = "If that is meant, use `grads.get(x, default)`."
        return errors.NoGradientError(f"the Var {var.name!r}" if var.name else f"this Var of shape {list(var.shape)}", why)

    def __iter__(self) -> Iterator[Var]:
        return iter(self._vars)

    def __len__(self) -> int:
        return len(self._vars)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "Gradients({" + ", ".join([f"{v!r}: {g!r}" for v, g in self.items()]) + "})"

    def __reduce__(self) -> Any:
        return Gradients, (tuple(self.items()),)


def backward(y: Any, ct: Any = None) -> Gradients:
    """The gradients of `y` in every Var that it was computed from. Nothing is written: call it as often as you like.

    Args:
        y: a real scalar that was computed from at least one Var, or with `ct` any such value.
        ct: the cotangent of `y`, of its shape. 1 for a scalar.

    Raises:
        NotRecordedError: `y` was not computed from a Var.
        OutputError: `y` is no real scalar, and there is no `ct`.

    >>> x = Var([1.0, 2.0])
    >>> backward(np.sum(x**2))[x]
    Tensor([2., 4.], float64[2])
    """
    loss = _recorded(y)
    seed = _seed(loss, ct)
    births = sorted([node for node in discover([loss._node]).values() if node[1] is node[2] is None])
    hold_collector()
    try:
        found = pull_back([(loss._node, seed)], [node[0] for node in births])
    finally:
        release_collector()
    return _gradients(loss._main, births, found)


def _recorded(y: Any) -> Any:
    """The tracer of a tape that `y` is."""
    loss = bare(y)
    if not isinstance(loss, Traced):
        raise errors.NotRecordedError(describe(y))
    if not isinstance(loss._main, Tape):
        loss._main.backward(loss, None)  # which raises
    return loss


def _seed(loss: LinTracer, ct: Any) -> Value:
    """The cotangent that a walk begins with."""
    if ct is not None:
        ct = bare(ct)
        if isinstance(ct, Traced) and ct._main is loss._main:
            rule = "the cotangent is recorded on the same tape. Second derivatives are taken by `fg.grad` of `fg.grad`, or `fg.hvp`."
            raise errors.ArgumentError("backward", rule)
        return doors.beside(loss._main.label, "cotangent", ct, loss, lambda: "the loss")
    if loss._shape:
        instead = "Reduce it (`.sum()`), or pass its cotangent: `fg.backward(y, ct)`."
        raise errors.OutputError("backward", "the loss must be a scalar", describe(loss), instead)
    if loss._dtype.kind == "c":
        instead = "Take its `.real` or `abs`, or pass its cotangent: `fg.backward(y, ct)`."
        raise errors.OutputError("backward", "the loss must be real", describe(loss), instead)
    return loss._dtype.type(1)


def _gradients(tape: Tape, births: Sequence[Node], found: Sequence[Value | None]) -> Gradients:
    """What came out at each Var; two nodes have one id where a Var met its unpickled self, and add up."""
    totals: dict[Id, tuple[Var, Value | None]] = {}
    for node, g in zip(births, found, strict=True):
        var, before = totals.get(node[4].id) or (_born(tape, node), None)
        totals[var.id] = var, g if before is None else before if g is None else before + g
    return Gradients([(var, doors.leave_like(g, var)) for var, g in totals.values()])


@attrs.frozen(eq=False)
class _Ids:
    """The static part of `Gradients` as a pytree: compared by the ids of the Vars, never by their values."""

    vars: tuple[Var, ...]

    def _ids(self) -> tuple[Id, ...]:
        return tuple([var.id for var in self.vars])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ids) and self._ids() == other._ids()

    def __hash__(self) -> int:
        return hash(self._ids())


pytree.register(
    Gradients,
    lambda grads: (grads.values(), _Ids(tuple(grads))),
    lambda ids, leaves: Gradients(zip(ids.vars, leaves, strict=True)),
)
