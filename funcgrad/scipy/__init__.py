"""Twins of the SciPy functions that make plain arrays of their arguments, so that these cannot answer for themselves."""

from funcgrad.scipy import special

__all__ = ["special"]
