"""Exact derivatives of plain NumPy code: functional, immutable, composable."""

from funcgrad.tensor import Tensor, tensor
from funcgrad.transforms.derivatives import grad, jvp, value_and_grad, vjp

__all__ = ["Tensor", "grad", "jvp", "tensor", "value_and_grad", "vjp"]
