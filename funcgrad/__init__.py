"""Exact derivatives of plain NumPy code: functional, immutable, composable."""

import importlib
from typing import TYPE_CHECKING, Any

from funcgrad import program, tree
from funcgrad.buffer import buffer
from funcgrad.program import Program
from funcgrad.tape import Gradients, Var, backward
from funcgrad.tensor import Tensor, tensor
from funcgrad.transforms.checkpoint import checkpoint, checkpoint_name, checkpoint_policies
from funcgrad.transforms.custom import custom_jvp, custom_vjp
from funcgrad.transforms.derivatives import grad, value_and_grad
from funcgrad.transforms.external import external
from funcgrad.transforms.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from funcgrad.transforms.maps import jvp, linear_transpose, linearize, stop_gradient, vjp
from funcgrad.transforms.trace import trace
from funcgrad.transforms.vmap import vmap

if TYPE_CHECKING:
    from funcgrad import nn, testing

__all__ = [
    "Gradients",
    "Program",
    "Tensor",
    "Var",
    "backward",
    "buffer",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "custom_jvp",
    "custom_vjp",
    "external",
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
    "program",
    "stop_gradient",
    "tensor",
    "testing",
    "trace",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    """`fg.nn` and `fg.testing` are imported when they are first asked for: most programs need neither."""
    if name in ("nn", "testing"):
        return importlib.import_module(f"funcgrad.{name}")
    raise AttributeError(f"module 'funcgrad' has no attribute {name!r}")
