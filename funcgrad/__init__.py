"""Exact derivatives of plain NumPy code: functional, immutable, composable."""

from funcgrad import pytree as tree
from funcgrad.tape import Gradients, Var, backward
from funcgrad.tensor import Tensor, tensor
from funcgrad.transforms.derivatives import grad, value_and_grad
from funcgrad.transforms.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from funcgrad.transforms.maps import jvp, linear_transpose, linearize, stop_gradient, vjp

__all__ = [
    "Gradients",
    "Tensor",
    "Var",
    "backward",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linear_transpose",
    "linearize",
    "stop_gradient",
    "tensor",
    "tree",
    "value_and_grad",
    "vjp",
]
