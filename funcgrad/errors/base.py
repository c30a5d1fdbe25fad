"""The base of all exceptions."""


class FuncgradError(Exception):
    """The base of every exception that funcgrad raises on purpose."""
