"""Bessel and Airy functions. Sources: DLMF chapters 9 and 10.

The slope in the argument is a difference of neighbours in the order, which has no 0/0 at 0. None is known in the order. What is scaled by
e^-|Re z| or e^-|Im z| is no analytic function, and is for real numbers alone.
"""

from __future__ import annotations

from typing import Any

from funcgrad import errors
from funcgrad.core import Value, dtype_of
from funcgrad.ops.elementwise import sign
from funcgrad.ops.special.family import S, fixed, parts, special


def _real(function: str, z: Value) -> None:
    """Only real numbers have a slope here."""
    if dtype_of(z).kind == "c":
        raise errors.MissingPartialError(f"scipy.special.{function} of complex numbers", "z")


# ---- the second kind of exponentials: I and K


def _ive(t: Value, v: Any, z: Value, out: Value) -> Value:
    _real("ive", z)
    return t * (0.5 * (S.ive(v - 1, z) + S.ive(v + 1, z)) - sign(z) * out)


special("i0", lambda t, x: t * S.i1(x), source="DLMF 10.29.3")
special("i1", lambda t, x: t * (0.5 * (S.i0(x) + S.iv(2.0, x))), source="DLMF 10.29.1")
special("i0e", lambda t, x, out: t * (S.i1e(x) - sign(x) * out), source="DLMF 10.29.3")
special("i1e", lambda t, x, out: t * (0.5 * (S.i0e(x) + S.ive(2.0, x)) - sign(x) * out), source="DLMF 10.29.1")
special("iv", fixed("iv", "v"), lambda t, x, y: t * (0.5 * (S.iv(x - 1, y) + S.iv(x + 1, y))), source="DLMF 10.29.1")
special("ive", fixed("ive", "v"), lambda t, x, y, out: _ive(t, x, y, out), source="DLMF 10.29.1")
special("k0", lambda t, x: t * -S.k1(x), source="DLMF 10.29.3")
special("k1", lambda t, x: t * (-0.5 * (S.k0(x) + S.kv(2.0, x))), source="DLMF 10.29.1")
special("k0e", lambda t, x, out: t * (out - S.k1e(x)), source="DLMF 10.29.3")
special("k1e", lambda t, x, out: t * (out - 0.5 * (S.k0e(x) + S.kve(2.0, x))), source="DLMF 10.29.1")
special("kn", fixed("kn", "n"), lambda t, x, y: t * (-0.5 * (S.kv(x - 1.0, y) + S.kv(x + 1.0, y))), source="DLMF 10.29.1")
special("kv", fixed("kv", "v"), lambda t, x, y: t * (-0.5 * (S.kv(x - 1, y) + S.kv(x + 1, y))), source="DLMF 10.29.1")
special("kve", fixed("kve", "v"), lambda t, x, y, out: t * (out - 0.5 * (S.kve(x - 1, y) + S.kve(x + 1, y))), source="DLMF 10.29.1")

# ---- J and Y


def _jve(t: Value, v: Any, z: Value) -> Value:
    _real("jve", z)
    return t * (0.5 * (S.jve(v - 1, z) - S.jve(v + 1, z)))


def _yve(t: Value, v: Any, z: Value) -> Value:
    _real("yve", z)
    return t * (0.5 * (S.yve(v - 1, z) - S.yve(v + 1, z)))


special("j0", lambda t, x: t * -S.j1(x), source="DLMF 10.6.3")
special("j1", lambda t, x: t * (0.5 * (S.j0(x) - S.jv(2.0, x))), source="DLMF 10.6.1")
special("jv", fixed("jv", "v"), lambda t, x, y: t * (0.5 * (S.jv(x - 1, y) - S.jv(x + 1, y))), source="DLMF 10.6.1")
special("jve", fixed("jve", "v"), lambda t, x, y: _jve(t, x, y), source="DLMF 10.6.1")
special("y0", lambda t, x: t * -S.y1(x), source="DLMF 10.6.3")
special("y1", lambda t, x: t * (0.5 * (S.y0(x) - S.yv(2.0, x))), source="DLMF 10.6.1")
special("yn", fixed("yn", "n"), lambda t, x, y: t * (0.5 * (S.yv(x - 1.0, y) - S.yv(x + 1.0, y))), source="DLMF 10.6.1")
special("yv", fixed("yv", "v"), lambda t, x, y: t * (0.5 * (S.yv(x - 1, y) - S.yv(x + 1, y))), source="DLMF 10.6.1")
special("yve", fixed("yve", "v"), lambda t, x, y: _yve(t, x, y), source="DLMF 10.6.1")

# ---- Airy: Ai, Ai', Bi, Bi', where Ai'' = z Ai

parts(
    "airy",
    lambda t, x: t * S.airy_1(x),
    lambda t, x: t * (x * S.airy_0(x)),
    lambda t, x: t * S.airy_3(x),
    lambda t, x: t * (x * S.airy_2(x)),
    source="DLMF 9.2.1",
)
