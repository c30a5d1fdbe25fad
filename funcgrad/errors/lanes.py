"""Many lanes at once."""

from __future__ import annotations

from funcgrad.errors.base import FuncgradError


class LanesDifferError(FuncgradError, ValueError):
    """A value that differs between the lanes of `vmap` was asked to be one number."""

    def __init__(self, transformation: str, kind: str, place: tuple[str, str]) -> None:
        self.kind = kind
        instead = "Use `np.where` instead of `if`." if kind == "bool" else "Use NumPy functions of the mapped value."
        if kind in ("index", "array"):
            instead = "To read an array at a mapped index, write `fg.tensor(x)[i]`."
        super().__init__(f"{transformation}: {kind}() in {place[0]} ({place[1]}), but the answers of the lanes differ. {instead}")


class EmptyBatchError(FuncgradError, ValueError):
    """A value of an empty batch was asked to be one number."""

    def __init__(self, transformation: str, kind: str, place: tuple[str, str]) -> None:
        self.kind = kind
        super().__init__(f"{transformation}: {kind}() in {place[0]} ({place[1]}), but the batch is empty, so no lane can answer.")


class LaneShapesError(FuncgradError, ValueError):
    """An operation whose result has another shape in each lane."""

    def __init__(self, transformation: str, name: str, first: tuple[int, ...], other: tuple[int, ...]) -> None:
        self.shapes = first, other
        shapes = f"{list(first)} in the first lane, {list(other)} in another"
        super().__init__(f"{transformation}: {name} gives shape {shapes}. All lanes must have one shape: use a mask and `np.where`.")


class LaneResultsError(FuncgradError, ValueError):
    """Lanes that took different paths gave results that do not fit together."""

    def __init__(self, transformation: str, what: str) -> None:
        super().__init__(f"{transformation}: {what}")


class LaneLayoutError(FuncgradError, ValueError):
    """`order="A"` or `"K"` of a mapped value."""

    def __init__(self) -> None:
        super().__init__(
            'order="A" and order="K" ask how an array lies in memory, which a value that vmap maps has lost. Write "C" or "F".'
        )


class BatchAxisError(FuncgradError, ValueError):
    """`in_axes`, `out_axes` or `axis_size` do not fit what they speak of."""

    def __init__(self, transformation: str, what: str) -> None:
        super().__init__(f"{transformation}: {what}")
