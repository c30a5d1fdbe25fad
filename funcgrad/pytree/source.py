"""Source text and what its names stand for: of generated code, and of code to be read in messages."""

from __future__ import annotations

from typing import Any


class Source:
    """Generated code: a function `generated`, and what its names stand for."""

    text = ""

    def __init__(self, **values: Any) -> None:
        self.values = values
        self._names: dict[int, str] = {}

    def name(self, hint: str, value: Any) -> str:
        """The name of a value: always the same for the same object."""
        if id(value) not in self._names:
            name = "_" + "".join([c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in hint[:30]])
            while name in self.values:
                name += "_"
            self.values[name] = value
            self._names[id(value)] = name
        return self._names[id(value)]

    def key(self, key: Any) -> str:
        return self.name(f"key_{key}" if type(key) in (str, int) else "key", key)

    def static(self, value: Any) -> str:
        return self.name("static", value)

    def is_a(self, t: str, cls: type) -> str:
        """A statement that returns None unless `t` is of exactly this class."""
        return f"if type({t}) is not {self.name(cls.__name__, cls)}: return None"

    def is_static(self, found: str, value: Any) -> str:
        """A statement that returns None unless `found` is exactly this value."""
        return f"if {found} is not {self.static(value)} and not exact({found}, {self.static(value)}): return None"

    def compile(self) -> Any:
        exec(compile(self.text, "<funcgrad.pytree>", "exec"), self.values)  # the text is ours: users' objects enter by name only
        return self.values["generated"]


class Readable(Source):
    """Every name is what a reader would call it."""

    def name(self, hint: str, value: Any) -> str:
        return hint

    def key(self, key: Any) -> str:
        return repr(key)

    def static(self, value: Any) -> str:
        return repr(value)


def tuple_of(names: list[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"
