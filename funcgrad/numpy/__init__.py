"""NumPy's names as compositions of primitives, and the tables behind NumPy's two protocols."""

import importlib

for _topic in ("ufuncs", "reductions", "shaping", "joining", "creation", "indexing", "ordering", "calculus", "contraction", "linalg"):
    importlib.import_module(f"funcgrad.numpy.{_topic}")
