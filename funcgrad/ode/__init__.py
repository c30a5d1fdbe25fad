"""Ordinary differential equations, with derivatives by whatever they depend on."""

from funcgrad.ode.dense import Solution
from funcgrad.ode.face import odeint, solve

__all__ = ["Solution", "odeint", "solve"]
