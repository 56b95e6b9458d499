"""`Uninitialized` and `WithDescriptor`: arguments of an entry other than NumPy arrays and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Mapping, Sequence

    import numpy as np

    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.arrays import Tensor
    from pyptx_sim.memory import DeviceArray
    from pyptx_sim.operation import Array
    from pyptx_sim.textures import Opaque

Raw: TypeAlias = "bytes | bytearray | memoryview | ctypes.Structure | ctypes.Union | ctypes.Array[Any] | np.void"
Number: TypeAlias = "int | float | bool | np.generic"
Composed: TypeAlias = "Raw | Sequence[Argument] | Mapping[str, Argument]"
Value: TypeAlias = "WithDescriptor | Opaque | DeviceArray | Array | Tensor | Number | Composed"
Argument: TypeAlias = "Value | Uninitialized"


@dataclass(slots=True)
class Uninitialized:
    """An array argument with undefined contents: a kernel's read of an unwritten element is a finding.

    `output`: the kernel output for which the array was allocated; an element that is never written is then a finding.
    """

    array: Array | Tensor
    output: Output | None = None


@dataclass(slots=True)
class WithDescriptor:
    """An array and the descriptor for it: the argument for a parameter that contains or points to a descriptor.

    `uninitialized`: the array has no defined contents yet.
    """

    array: Array | Tensor | DeviceArray
    descriptor: object
    uninitialized: bool = False
