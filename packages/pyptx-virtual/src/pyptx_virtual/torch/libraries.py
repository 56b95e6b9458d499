"""Typed interface of `torch.library.Library`, through which kernels are registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_virtual.torch.schemas import Overload


class Library(Protocol):
    """Kernels of one namespace of operators, which are registered as long as the library exists."""

    def impl(
        self, operator: Overload | str, kernel: Callable[..., object], key: str, *, allow_override: bool = False
    ) -> None:
        """Register the kernel of an operator for a dispatch key."""
        ...

    def fallback(self, kernel: Callable[..., object], key: str) -> None:
        """Register the kernel of all operators without one for a dispatch key; the operator is its first argument."""
        ...


def new_library(namespace: str) -> Library:
    """Return a library of kernels for the operators of a namespace; `_` is every namespace."""
    return cast("Library", torch.library.Library(namespace, "IMPL"))  # type: ignore[no-untyped-call] # torch has no types
