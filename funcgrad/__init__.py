"""Exact derivatives of plain NumPy code: functional, immutable, composable."""

import importlib
from typing import TYPE_CHECKING, Any

from funcgrad import tree
from funcgrad.buffer import buffer
from funcgrad.tape import Gradients, Var, backward
from funcgrad.tensor import Tensor, tensor
from funcgrad.transforms.custom import custom_jvp, custom_vjp, custom_vmap
from funcgrad.transforms.derivatives import grad, value_and_grad
from funcgrad.transforms.external import external
from funcgrad.transforms.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from funcgrad.transforms.maps import jvp, linear_transpose, linearize, stop_gradient, vjp
from funcgrad.transforms.vmap import vmap

if TYPE_CHECKING:
    from funcgrad import nn, ode, program, scipy, testing
    from funcgrad.control.cond import cond, switch
    from funcgrad.control.fixed_point import fixed_point
    from funcgrad.control.linear_solve import custom_linear_solve
    from funcgrad.control.maps import associative_scan, map
    from funcgrad.control.root import custom_root
    from funcgrad.control.scan import scan
    from funcgrad.control.schedules import Binomial
    from funcgrad.control.while_loop import fori_loop, while_loop
    from funcgrad.program import Program
    from funcgrad.transforms.checkpoint import checkpoint, checkpoint_name, checkpoint_policies
    from funcgrad.transforms.jit import disable_jit, jit
    from funcgrad.transforms.trace import trace

__all__ = [
    "Binomial",
    "Gradients",
    "Program",
    "Tensor",
    "Var",
    "associative_scan",
    "backward",
    "buffer",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "cond",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "custom_vmap",
    "disable_jit",
    "external",
    "fixed_point",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "map",
    "nn",
    "ode",
    "program",
    "scan",
    "scipy",
    "stop_gradient",
    "switch",
    "tensor",
    "testing",
    "trace",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


_ROOMS = ("nn", "ode", "program", "scipy", "testing")

_LATER = {
    "control.cond": "cond switch",
    "control.fixed_point": "fixed_point",
    "control.linear_solve": "custom_linear_solve",
    "control.maps": "associative_scan map",
    "control.root": "custom_root",
    "control.scan": "scan",
    "control.schedules": "Binomial",
    "control.while_loop": "fori_loop while_loop",
    "program": "Program",
    "transforms.checkpoint": "checkpoint checkpoint_name checkpoint_policies",
    "transforms.jit": "disable_jit jit",
    "transforms.trace": "trace",
}
"""Names that are imported when they are first asked for: programs need half as long to start where they use none of them."""

_HOMES = {name: room for room, names in _LATER.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"funcgrad.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'funcgrad' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"funcgrad.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
