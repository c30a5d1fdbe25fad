"""The functions of `scipy.special`: formula sheets of derivatives, and how SciPy's ufuncs are found."""

from funcgrad.ops.special import bessel, error_functions, gamma_functions, information, integrals
from funcgrad.ops.special.family import LINES, PARTS, S, implementation, path_of, primitive

__all__ = ["LINES", "PARTS", "S", "implementation", "path_of", "primitive"]

_ = (bessel, error_functions, gamma_functions, information, integrals)
