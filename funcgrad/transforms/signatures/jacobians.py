"""The signatures of the Jacobians: arguments as those of the function.

The blocks are `Any`: a tree of outputs whose leaves are trees of inputs, of which a scalar by a scalar is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, overload

from funcgrad.transforms.signatures.words import First, No, Nums, O, P, T, X, Yes


class Jacobian(Protocol):
    """`jacfwd` and `hessian`."""

    @overload
    def __call__(
        self,
        fun: First[T, P, O],
        argnums: int | Nums = ...,
        has_aux: No = ...,
        holomorphic: bool = ...,
        *,
        chunk_size: int | None = ...,
    ) -> First[T, P, Any]: ...
    @overload
    def __call__(
        self,
        fun: First[T, P, tuple[O, X]],
        argnums: int | Nums = ...,
        *,
        has_aux: Yes,
        holomorphic: bool = ...,
        chunk_size: int | None = ...,
    ) -> First[T, P, tuple[Any, X]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., Any],
        argnums: int | Nums,
        has_aux: bool,
        holomorphic: bool = ...,
        *,
        chunk_size: int | None = ...,
    ) -> Callable[..., Any]: ...


class Jacrev(Protocol):
    """`jacrev`."""

    @overload
    def __call__(
        self,
        fun: First[T, P, O],
        argnums: int | Nums = ...,
        has_aux: No = ...,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        chunk_size: int | None = ...,
    ) -> First[T, P, Any]: ...
    @overload
    def __call__(
        self,
        fun: First[T, P, tuple[O, X]],
        argnums: int | Nums = ...,
        *,
        has_aux: Yes,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        chunk_size: int | None = ...,
    ) -> First[T, P, tuple[Any, X]]: ...
    @overload
    def __call__(
        self,
        fun: Callable[..., Any],
        argnums: int | Nums,
        has_aux: bool,
        holomorphic: bool = ...,
        allow_int: bool = ...,
        *,
        chunk_size: int | None = ...,
    ) -> Callable[..., Any]: ...
