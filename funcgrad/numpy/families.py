"""sinc and i0."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.core import Value
from funcgrad.numpy.bridge import array
from funcgrad.numpy.dispatch import implements
from funcgrad.ops.families import bessel_i
from funcgrad.ops.families import sinc as sinc_of


@implements(np.sinc)
def sinc(x: Any) -> Value:
    return sinc_of(array(x), n=0)


@implements(np.i0)
def i0(x: Any) -> Value:
    return bessel_i(array(x), n=0)
