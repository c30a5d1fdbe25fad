"""SciPy's ufuncs as primitives: each is made from its line in a formula sheet when it first appears.

SciPy is never imported here. Where one of its ufuncs meets a traced value, the user has imported it, and it is in `sys.modules`; so are
the others that its derivative needs, as attributes of `S`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import attrs
import numpy as np

from funcgrad import errors
from funcgrad.core import Primitive, Value, bind, dtype_of
from funcgrad.ops.kinds import BY_UFUNC, PRIMITIVES, elementwise

HOMES = ("scipy.special", "scipy.special._ufuncs")
"""Where SciPy has its ufuncs; the second one has those without a public name as well, such as the one behind `zeta`."""


PUBLIC = {"_zeta": "zeta", "_riemann_zeta": "zeta"}
"""The public names of ufuncs that are called by a Python function."""


@attrs.frozen(eq=False)
class Line:
    """What a formula sheet says of a function: its derivative, and where that is written."""

    rules: tuple[Callable[..., Value] | None, ...]
    source: str
    part: int | None = None  # which of the ufunc's several outputs
    of: str = ""  # the ufunc, where the function is a part of one


LINES: dict[str, Line] = {}
"""The functions that have a rule, by the name of their primitive."""

PARTS: dict[str, tuple[str, ...]] = {}
"""The primitives of a ufunc with several outputs."""

_making = threading.RLock()


def special(name: str, *rules: Callable[..., Value] | None, source: str) -> None:
    """A line of a formula sheet: per argument how its partial scales a `t`, as in `elementwise`."""
    LINES[name_of(name)] = Line(rules, source, of=name)


def parts(name: str, *rules: Callable[..., Value], source: str) -> None:
    """A function of one argument with several outputs: each is a map of its own, with a rule of its own."""
    PARTS[name] = tuple([f"{name}_{k}" for k in range(len(rules))])
    LINES.update({f"{name}_{k}": Line((rule,), source, k, name) for k, rule in enumerate(rules)})


def name_of(name: str) -> str:
    """The name of the primitive, which is SciPy's, unless NumPy has a ufunc of that name."""
    return f"special_{name}" if isinstance(getattr(np, name, None), np.ufunc) else name


def fixed(function: str, argument: str) -> Callable[..., Any]:
    """The rule of an argument in which no derivative is known."""

    def refuse(t: Value) -> NoReturn:
        raise errors.MissingPartialError(f"scipy.special.{function}", argument)

    return refuse


# ---- found


def ufunc_named(name: str) -> np.ufunc | None:
    """SciPy's ufunc of this name, where SciPy has been imported."""
    for home in HOMES:
        found = getattr(sys.modules.get(home), name, None)
        if isinstance(found, np.ufunc):
            return found
    return None


def path_of(ufunc: Any) -> str | None:
    """Where a user finds one of SciPy's ufuncs: `scipy.special.erf`."""
    name = str(getattr(ufunc, "__name__", None))
    return f"{HOMES[0]}.{PUBLIC.get(name, name)}" if isinstance(ufunc, np.ufunc) and ufunc_named(name) is ufunc else None


def primitive(name: str) -> Primitive | None:
    """The primitive of this name; None where no formula sheet has it, or SciPy is not there."""
    found = PRIMITIVES.get(name)
    if found is not None or name not in LINES:
        return found
    line = LINES[name]
    ufunc = ufunc_named(line.of)
    if ufunc is None:
        return None
    with _making:
        if name not in PRIMITIVES:
            elementwise(ufunc if line.part is None else _part(ufunc, line.part), *line.rules, name=name)
    return PRIMITIVES[name]


def _part(ufunc: np.ufunc, k: int) -> Callable[[Any], Any]:
    return lambda x: ufunc(x)[k]


def implementation(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """What a ufunc means on traced values; None where it is none of SciPy's that has a rule."""
    found = BY_UFUNC.get(ufunc)
    if found is not None:
        return found
    name = ufunc.__name__
    if ufunc_named(name) is not ufunc:
        return None
    if name in PARTS:
        return lambda x: tuple([getattr(S, part)(x) for part in PARTS[name]])
    return primitive(name_of(name))


class _Family:
    """SciPy's functions, for rules: `S.jv(2.0, x)`.

    Python's numbers take the precision of the last operand: the loops of some ufuncs begin with float64, so that NumPy would choose that.
    """

    def __getattr__(self, name: str) -> Callable[..., Value]:
        found = primitive(name_of(name))
        if found is None:
            raise errors.NoSciPyError(f"scipy.special.{name}")

        def apply(*args: Value) -> Value:
            number = np.finfo(dtype_of(args[-1])).dtype.type
            return bind(found, [number(a) if type(a) in (float, int) else a for a in args[:-1]] + [args[-1]], {})

        setattr(self, name, apply)
        return apply


S = _Family()
