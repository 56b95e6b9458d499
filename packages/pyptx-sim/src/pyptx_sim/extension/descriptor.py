"""Objects in memory that describe arrays to hardware, and are passed to kernels with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Descriptor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """A kind of descriptors, which `pyptx_sim.Mapped` passes with their arrays.

    `described` is the class of what says how the array is described; `encode(it, address)` returns the bytes, for an
    array at an address of global memory, as threads use it, and raises LaunchError for what cannot be described so.
    `alignment`, in bytes, is what a parameter with such an object by value needs. `offered`, a subclass of `described`
    or that itself, is what users find in `pyptx_sim` by its name; its class method `of(array, *, dtype, …)` describes
    an array that lies densely. `example` is a call of that, as `pyptx sim` takes it behind an array.
    """

    name: str
    described: type
    encode: Callable[[Any, int], bytes]
    alignment: int
    offered: type | None = None
    example: str = ""
