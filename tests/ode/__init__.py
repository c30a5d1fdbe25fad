"""Differential equations: values against closed forms and SciPy, derivatives against sensitivities known by formula."""
