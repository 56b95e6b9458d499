"""What may be passed to an entry, beside NumPy arrays and numbers."""

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
Value: TypeAlias = "Mapped | Opaque | DeviceArray | Array | Tensor | Number | Composed"
Argument: TypeAlias = "Value | Uninitialised"


@dataclass(slots=True)
class Uninitialised:
    """An array argument whose contents nothing has written yet: a read before a write is a finding.

    `output`: it is this output of a kernel, allocated for the call; an element that is never written is a finding too.
    """

    array: Array | Tensor
    output: Output | None = None


@dataclass(slots=True)
class Mapped:
    """An array and what a descriptor says of it: the argument for a parameter that holds that, or points to it.

    `fresh`: nothing has written the array yet.
    """

    array: Array | Tensor | DeviceArray
    descriptor: object
    fresh: bool = False
