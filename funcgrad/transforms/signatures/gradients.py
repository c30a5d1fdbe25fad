"""The signatures of `grad` and `value_and_grad`: the type of a gradient is that of its argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, overload

from funcgrad.transforms.signatures.words import First, Names, No, Nums, One, P, R, S, Second, T, Third, Two, V, X, Yes, Zero


class Grad(Protocol):
    """`gradient`, or `(gradient, aux)`: for argument 0, 1 or 2, for the first two or three, then for the rest."""

    @overload
    def __call__(
        self,
        fun: First[T, P, V],
        argnums: Zero = ...,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> First[T, P, T]: ...
    @overload
    def __call__(
        self,
        fun: Second[S, T, P, V],
        argnums: One,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Second[S, T, P, T]: ...
    @overload
    def __call__(
        self,
        fun: Third[R, S, T, P, V],
        argnums: Two,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Third[R, S, T, P, T]: ...
    @overload
    def __call__(
        self,
        fun: Second[S, T, P, V],
        argnums: tuple[Zero, One],
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Second[S, T, P, tuple[S, T]]: ...
    @overload
    def __call__(
        self,
        fun: Third[R, S, T, P, V],
        argnums: tuple[Zero, One, Two],
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Third[R, S, T, P, tuple[R, S, T]]: ...
    @overload
    def __call__(
        self,
        fun: First[T, P, tuple[V, X]],
        argnums: Zero = ...,
        *,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        argnames: None = ...,
    ) -> First[T, P, tuple[T, X]]: ...
    @overload
    def __call__(
        self,
        fun: Second[S, T, P, tuple[V, X]],
        argnums: One,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Second[S, T, P, tuple[T, X]]: ...
    @overload
    def __call__(
        self,
        fun: Third[R, S, T, P, tuple[V, X]],
        argnums: Two,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Third[R, S, T, P, tuple[T, X]]: ...
    @overload
    def __call__(
        self,
        fun: Second[S, T, P, tuple[V, X]],
        argnums: tuple[Zero, One],
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Second[S, T, P, tuple[tuple[S, T], X]]: ...
    @overload
    def __call__(
        self,
        fun: Third[R, S, T, P, tuple[V, X]],
        argnums: tuple[Zero, One, Two],
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Third[R, S, T, P, tuple[tuple[R, S, T], X]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., V],
        argnums: Nums,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Callable[..., tuple[Any, ...]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., tuple[V, X]],
        argnums: Nums,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Callable[..., tuple[tuple[Any, ...], X]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., Any],
        argnums: int | Nums,
        has_aux: bool = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., Any],
        argnums: int | Nums | None = ...,
        has_aux: bool = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: Names,
    ) -> Callable[..., Any]: ...


class ValueAndGrad(Protocol):
    """`(value, gradient)`, or `((value, aux), gradient)`."""

    @overload
    def __call__(
        self,
        fun: First[T, P, V],
        argnums: Zero = ...,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> First[T, P, tuple[V, T]]: ...
    @overload
    def __call__(
        self,
        fun: Second[S, T, P, V],
        argnums: One,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Second[S, T, P, tuple[V, T]]: ...
    @overload
    def __call__(
        self,
        fun: Third[R, S, T, P, V],
        argnums: Two,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Third[R, S, T, P, tuple[V, T]]: ...
    @overload
    def __call__(
        self,
        fun: Second[S, T, P, V],
        argnums: tuple[Zero, One],
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Second[S, T, P, tuple[V, tuple[S, T]]]: ...
    @overload
    def __call__(
        self,
        fun: Third[R, S, T, P, V],
        argnums: tuple[Zero, One, Two],
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Third[R, S, T, P, tuple[V, tuple[R, S, T]]]: ...
    @overload
    def __call__(
        self,
        fun: First[T, P, tuple[V, X]],
        argnums: Zero = ...,
        *,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        argnames: None = ...,
    ) -> First[T, P, tuple[tuple[V, X], T]]: ...
    @overload
    def __call__(
        self,
        fun: Second[S, T, P, tuple[V, X]],
        argnums: One,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Second[S, T, P, tuple[tuple[V, X], T]]: ...
    @overload
    def __call__(
        self,
        fun: Third[R, S, T, P, tuple[V, X]],
        argnums: Two,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Third[R, S, T, P, tuple[tuple[V, X], T]]: ...
    @overload
    def __call__(
        self,
        fun: Second[S, T, P, tuple[V, X]],
        argnums: tuple[Zero, One],
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Second[S, T, P, tuple[tuple[V, X], tuple[S, T]]]: ...
    @overload
    def __call__(
        self,
        fun: Third[R, S, T, P, tuple[V, X]],
        argnums: tuple[Zero, One, Two],
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Third[R, S, T, P, tuple[tuple[V, X], tuple[R, S, T]]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., V],
        argnums: Nums,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Callable[..., tuple[V, tuple[Any, ...]]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., tuple[V, X]],
        argnums: Nums,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Callable[..., tuple[tuple[V, X], tuple[Any, ...]]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., Any],
        argnums: int | Nums,
        has_aux: bool = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: None = ...,
    ) -> Any: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., Any],
        argnums: int | Nums | None = ...,
        has_aux: bool = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        argnames: Names,
    ) -> Callable[..., Any]: ...
