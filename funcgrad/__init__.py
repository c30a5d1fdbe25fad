"""Exact derivatives of plain NumPy code: functional, immutable, composable."""

import importlib
from typing import Any

from funcgrad import nn, tree
from funcgrad.buffer import buffer
from funcgrad.tape import Gradients, Var, backward
from funcgrad.tensor import Tensor, tensor
from funcgrad.transforms.derivatives import grad, value_and_grad
from funcgrad.transforms.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from funcgrad.transforms.maps import jvp, linear_transpose, linearize, stop_gradient, vjp
from funcgrad.transforms.vmap import vmap

__all__ = [
    "Gradients",
    "Tensor",
    "Var",
    "backward",
    "buffer",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "nn",
    "stop_gradient",
    "tensor",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    """`fg.testing` is imported when it is first asked for: programs do not need it."""
    if name == "testing":
        return importlib.import_module("funcgrad.testing")
    raise AttributeError(f"module 'funcgrad' has no attribute {name!r}")
