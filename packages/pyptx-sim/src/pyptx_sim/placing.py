"""Placement of arrays and descriptors in simulated global memory, and the bytes of parameters that point to them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from pyptx_sim.arrays import is_cpu_array, span_of
from pyptx_sim.errors import LaunchError
from pyptx_sim.extension.registry import descriptor_of
from pyptx_sim.machine.memory.buffers import Buffer
from pyptx_sim.machine.memory.texels import Level, Texels
from pyptx_sim.memory import DeviceArray, check_dtype
from pyptx_sim.numerics.sampling import Sampler
from pyptx_sim.program.windows import GLOBAL_WINDOW
from pyptx_sim.regions import Placed, next_place
from pyptx_sim.structures import StructureMember, raw_member, scalar_member, structure
from pyptx_sim.textures import Surface, Texture, extents_of, texels_of
from pyptx_sim.values import Uninitialized, WithDescriptor

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.arrays import Tensor
    from pyptx_sim.device_memory import DeviceMemory
    from pyptx_sim.extension.descriptor import Descriptor
    from pyptx_sim.machine.memory.texels import Bound
    from pyptx_sim.operation import Array
    from pyptx_sim.regions import Regions
    from pyptx_sim.textures import Opaque
    from pyptx_sim.values import Argument

_POINTER: Final = struct.Struct("<Q")
# First handle of a texture, sampler or surface: handles are outside the address ranges of all state spaces.
_FIRST_HANDLE: Final = 0x7000_0000_0000
_HANDLE_STRIDE: Final = 32


@dataclass(slots=True)
class Placing:
    """Layout of global memory up to offset `end`: `placed` arrays in `regions`, and `_buffers`.

    A region is a copy of host memory. `_buffers` are the bounds of module variables and descriptors. `descriptors` are
    the descriptors that parameters point to, with their offsets. `memory` is the device memory that is below these
    arrays, `views` are arrays of the launches in it. `handles` maps handles to textures, surfaces and samplers.
    """

    end: int
    regions: Regions
    placed: list[Placed]
    _buffers: list[Buffer]
    memory: DeviceMemory | None = None
    views: list[Buffer] = field(default_factory=list[Buffer])
    descriptors: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    handles: dict[int, Bound] = field(default_factory=dict[int, "Bound"])

    @property
    def buffers(self) -> list[Buffer]:
        """Bounds of the allocations in global memory: module variables, descriptors and regions of arrays."""
        return [*self._buffers, *(region.buffer() for region in self.regions if region.views)]

    def array(
        self,
        given: Array | Tensor | DeviceArray,
        what: str,
        name: str,
        *,
        fresh: bool = False,
        output: Output | None = None,
    ) -> int:
        """Return the global address for an array; arrays that overlap on the host also overlap in global memory."""
        if isinstance(given, DeviceArray):
            return given.address
        if isinstance(given, np.ndarray):
            check_dtype(given, name)
        host = span_of(given)
        resident = None if self.memory is None else self.memory.device_address(host.low)
        if resident is not None:
            start = resident - GLOBAL_WINDOW
            self.views.append(Buffer(start, start + host.size, what))
            return resident
        region = self.regions.of(host, name)
        self.end = region.place(self.end)
        start = region.at(host)
        if not region.views or not any(each.covers(host, fresh=fresh or region.fixed) for each in region.views):
            written = np.zeros(host.size, np.uint8) if fresh else None
            made = Placed(host, start, name, what, written, output, shared=region.fixed)
            self.placed.append(made)
            if not region.fixed:
                region.add(made)
        return GLOBAL_WINDOW + start

    def descriptor(self, value: WithDescriptor, what: str, name: str) -> tuple[Descriptor, bytes]:
        """Place the array of `value` in global memory; return its kind of descriptor, and the descriptor's bytes."""
        kind = descriptor_of(type(value.descriptor))
        if kind is None:
            described = type(value.descriptor).__name__
            raise LaunchError(
                f"no plugin provides descriptor {described}",
                help="install the package of the kernel's architecture",
            )
        address = self.array(value.array, f"the tensor of {what}", name, fresh=value.uninitialized)
        return kind, kind.encode(value.descriptor, address)

    def point_to(self, descriptor: bytes, what: str) -> bytes:
        """Place a descriptor's bytes in global memory, and return their address as the bytes of a pointer."""
        start, end = self.end, self.end + len(descriptor)
        self.descriptors.append((start, descriptor))
        self._buffers.append(Buffer(start, end, what))
        self.end = next_place(end)
        return _POINTER.pack(GLOBAL_WINDOW + start)

    def bound(self, value: Opaque, what: str, name: str) -> Bound:
        """Place a texture's or surface's arrays in global memory, return their `Texels`; return a sampler unchanged."""
        if isinstance(value, Sampler):
            return value
        arrays = tuple(map(texels_of, (value.array, *(value.levels if isinstance(value, Texture) else ()))))
        found = [extents_of(array, value.geometry) for array in arrays]
        starts = [self.array(array, f"the texels of {what}", name) - GLOBAL_WINDOW for array in arrays]
        levels = [Level(start, extents) for start, (_, extents, _) in zip(starts, found, strict=True)]
        (slices, _, channels), *_ = found
        first = value.array.array if isinstance(value.array, DeviceArray) else value.array
        texels = Texels(what, value.geometry, tuple(levels), slices, channels, first.dtype, writeable=True)
        if isinstance(value, Surface):
            return texels
        return replace(texels, sampler=value.sampler, normalized_float=value.normalized_float, writeable=False)

    def handle(self, value: Opaque, what: str, name: str) -> bytes:
        """Return the bytes of a new 64-bit handle of a texture, sampler or surface."""
        number = _FIRST_HANDLE + _HANDLE_STRIDE * len(self.handles)
        self.handles[number] = self.bound(value, what, name)
        return _POINTER.pack(number)

    def member(self, value: Argument, what: str, name: str) -> StructureMember:
        """Return a value as a member of a C structure: an array as a pointer, a descriptor by value."""
        raw = raw_member(value)
        if raw is not None:
            return raw
        if isinstance(value, WithDescriptor):
            kind, data = self.descriptor(value, what, name)
            return StructureMember(data, kind.alignment, kind.name)
        if isinstance(value, Texture | Surface | Sampler):
            return StructureMember(self.handle(value, what, name), _POINTER.size, "handle")
        if isinstance(value, Mapping):
            return structure([self.member(each, f"{what}.{key}", key) for key, each in value.items()])
        if isinstance(value, tuple | list):
            each_what = [f"{what}[{number}]" for number in range(len(value))]
            return structure([self.member(each, at, at) for each, at in zip(value, each_what, strict=True)])
        if is_pointer(value):
            return StructureMember(self.pointer(value, what, name), _POINTER.size, "pointer")
        return scalar_member(value, what)

    def pointer(self, value: object, what: str, name: str) -> bytes:
        """Place an array in global memory, and return the bytes of a pointer to the array."""
        if isinstance(value, Uninitialized):
            return _POINTER.pack(self.array(value.array, what, name, fresh=True, output=value.output))
        return _POINTER.pack(self.array(cast("Array | DeviceArray", value), what, name))


def is_pointer(value: object) -> bool:
    """Return whether a value is passed to kernels as a pointer: an array, or a CPU tensor of torch."""
    return isinstance(value, DeviceArray | Uninitialized) or is_cpu_array(value)
