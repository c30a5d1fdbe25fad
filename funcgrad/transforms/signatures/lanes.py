"""The signature of `vmap`.

Its arguments are not checked: a number of one example is an array of all, and the checkers have no word for that. Of the results
that are told, a number becomes an array, and an array stays one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from funcgrad.tensor import Tensor

N = TypeVar("N", bound="float | complex | np.generic")
A = TypeVar(
    "A",
    bound="NDArray[Any] | Tensor | dict[str, NDArray[Any]] | list[NDArray[Any]] | tuple[NDArray[Any], ...]",
)


class Vmap(Protocol):
    """From what one example gives, what all give."""

    @overload
    def __call__(
        self,
        fun: Callable[..., A],
        in_axes: Any = ...,
        out_axes: int = ...,
        axis_size: int | None = ...,
        *,
        on_divergence: Literal["split", "error"] = ...,
    ) -> Callable[..., A]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., N],
        in_axes: Any = ...,
        out_axes: int = ...,
        axis_size: int | None = ...,
        *,
        on_divergence: Literal["split", "error"] = ...,
    ) -> Callable[..., NDArray[Any]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., Any],
        in_axes: Any = ...,
        out_axes: Any = ...,
        axis_size: int | None = ...,
        *,
        on_divergence: Literal["split", "error"] = ...,
    ) -> Any: ...
