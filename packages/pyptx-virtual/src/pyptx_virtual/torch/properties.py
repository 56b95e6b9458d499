"""Properties of the virtual device, by the names of `cudaDeviceProp` that torch exports."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_sim.machine.geometry import MOST_WARPS, MULTIPROCESSORS
from pyptx_virtual.device import CLOCK_RATE, MEMORY_BUS_WIDTH, MEMORY_CLOCK_RATE, WARP

if TYPE_CHECKING:
    from pyptx_virtual.device import VirtualDevice

_L2_BYTES = 50 << 20  # of the device that the simulator models, an H200; NVIDIA H200 data sheet
_RESERVED_SHARED = 1 << 10  # shared memory of an SM that CUDA reserves per CTA; CUDA programming guide: "Shared Memory"


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """The class that torch calls `_CudaDeviceProperties`. Sizes are in bytes, rates in kHz, widths in bits."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    max_threads_per_multi_processor: int
    max_threads_per_block: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    uuid: uuid.UUID
    warp_size: int = WARP
    L2_cache_size: int = _L2_BYTES
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    gcnArchName: str = ""  # noqa: N815 - torch's name
    clock_rate: int = CLOCK_RATE
    memory_clock_rate: int = MEMORY_CLOCK_RATE
    memory_bus_width: int = MEMORY_BUS_WIDTH
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0


def properties_of(device: VirtualDevice) -> DeviceProperties:
    """Return the properties of the virtual device."""
    major, minor = device.capability
    row = device.target
    return DeviceProperties(
        name=device.name,
        major=major,
        minor=minor,
        total_memory=device.memory_bytes,
        multi_processor_count=MULTIPROCESSORS,
        max_threads_per_multi_processor=MOST_WARPS * WARP,
        max_threads_per_block=row.threads,
        regs_per_multiprocessor=row.registers_per_block,
        shared_memory_per_block=row.shared_static,
        shared_memory_per_block_optin=row.shared_optin,
        shared_memory_per_multiprocessor=row.shared_optin + _RESERVED_SHARED,
        uuid=uuid.uuid5(uuid.NAMESPACE_OID, device.name),
    )
