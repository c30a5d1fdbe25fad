"""Pytrees."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class UnregisteredContainerError(FuncgradError, TypeError):
    """A subclass of a container: taking it apart could lose what it adds, taking it as a leaf would hide what it holds."""

    def __init__(self, cls: type, base: type, path: str) -> None:
        self.cls, self.base, self.path = cls, base, path
        super().__init__(
            f"flatten: {cls.__name__} at {path or 'the root'} is a subclass of {base.__name__} that is not registered. "
            f"Use `fg.tree.register({cls.__name__}, flatten, unflatten)`, or pass a plain container."
        )


class CyclicTreeError(FuncgradError, ValueError):
    """A container that contains itself."""

    def __init__(self, path: str, ancestor: str) -> None:
        self.path, self.ancestor = path, ancestor
        super().__init__(f"flatten: {path} is the container at {ancestor or 'the root'}, which so contains itself. A tree has no cycles.")


class DeepTreeError(FuncgradError, ValueError):
    """A tree that nests too deep."""

    def __init__(self, path: str, limit: int) -> None:
        self.path, self.limit = path, limit
        super().__init__(f"flatten: more than {limit} levels at {path[:40]}…. Use a flat list of what is nested.")


class UnsetFieldError(FuncgradError, ValueError):
    """A field of a dataclass or attrs object has no value."""

    def __init__(self, cls: type, field: str, path: str) -> None:
        self.cls, self.field, self.path = cls, field, path
        super().__init__(f"flatten: {path}.{field} of {cls.__name__} has no value. Every field needs one, if only None.")


class TreeMismatchError(FuncgradError, ValueError):
    """Trees that should have the same structure differ."""

    def __init__(self, verb: str, position: int, path: str, left: str, right: str) -> None:
        self.path, self.left, self.right = path, left, right
        super().__init__(
            f"{verb}: trees 1 and {position} differ at {path or 'the root'}: {left} ≠ {right}. All trees must have the same structure."
        )


class LeafCountError(FuncgradError, ValueError):
    """Too few or too many leaves for a treedef."""

    def __init__(self, given: int, paths: tuple[str, ...]) -> None:
        self.given, self.expected = given, len(paths)
        self.path = paths[min(given, len(paths) - 1)] if paths else ""
        place = self.path or "the root"
        where = "it has none" if not paths else f"none is left for {place}" if given < len(paths) else f"the last place is {place}"
        super().__init__(f"unflatten: got {given} leaves for a tree of {len(paths)}: {where}. Pass one leaf for each place.")


class TreeRegistrationError(FuncgradError, ValueError):
    """A class that is a container already."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        super().__init__(f"register: {cls.__name__} is a container already. A class is registered once.")
