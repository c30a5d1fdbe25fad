"""NumPy's names as compositions of primitives, and the tables behind NumPy's two protocols."""

from funcgrad.numpy import calculus, contraction, creation, indexing, joining, linalg, ordering, reductions, shaping, ufuncs

__all__ = ["calculus", "contraction", "creation", "indexing", "joining", "linalg", "ordering", "reductions", "shaping", "ufuncs"]
