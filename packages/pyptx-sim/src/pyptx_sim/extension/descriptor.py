"""Hardware descriptors of arrays, such as TMA tensor maps, that are passed to kernels together with the arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Descriptor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """A kind of descriptor that `pyptx_sim.WithDescriptor` passes with an array.

    - `described`: class of the objects that specify a descriptor.
    - `encode(it, address)`: returns the descriptor's bytes for an array at a global address of the simulated device. It
      raises LaunchError for an array that the descriptor cannot describe.
    - `alignment`: alignment in bytes of a parameter that passes the descriptor by value.
    - `offered`: subclass of `described`, or that class itself, exported from `pyptx_sim` under its name. The class
      method `offered.of(array, *, dtype, …)` describes a contiguous array.
    - `example`: a call of `of`, as `pyptx sim` accepts it after an array.
    """

    name: str
    described: type
    encode: Callable[[Any, int], bytes]
    alignment: int
    offered: type | None = None
    example: str = ""
