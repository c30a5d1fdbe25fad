"""`Tensor`, a frozen array with NumPy's face, and `Tracer`, the same face inside a traced function."""

from funcgrad.tensor.methods import FUNCTIONS_AS_METHODS, UFUNCS_AS_METHODS
from funcgrad.tensor.tensor import Tensor, of_fresh, summary, tensor, wrap
from funcgrad.tensor.tracer import Tracer, user_frame, user_level

__all__ = [
    "FUNCTIONS_AS_METHODS", "UFUNCS_AS_METHODS", "Tensor", "Tracer", "of_fresh", "summary", "tensor", "user_frame", "user_level",
    "wrap",
]  # fmt: skip
