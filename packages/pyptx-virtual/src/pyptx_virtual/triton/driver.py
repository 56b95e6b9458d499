"""Triton's driver interface on the virtual device. Verified with Triton 3.2, 3.4, 3.6, 3.7 and 3.9."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# Triton has no types, and need not be installed where types are checked.

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.compiler import CompiledKernel

from pyptx_sim.machine.geometry import MULTIPROCESSORS
from pyptx_virtual.device import CLOCK_RATE, MEMORY_BUS_WIDTH, MEMORY_CLOCK_RATE, WARP
from pyptx_virtual.triton.launcher import Launcher, signature_of
from pyptx_virtual.triton.tuning import benchmark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyptx_virtual.device import VirtualDevice

_UNKNOWN_COUNT: Final = 0  # of registers and of spills: ptxas does not run
_READS_THREADS: Final = "n_max_threads" in CompiledKernel._init_handles.__code__.co_names  # noqa: SLF001 - no public way


class Utilities:
    """What Triton calls `driver.active.utils`: properties of the device, and loading of binaries."""

    def __init__(self, device: VirtualDevice) -> None:
        self._device = device

    def get_device_properties(self, _index: int) -> Mapping[str, int]:
        """Return properties by Triton's names."""
        row = self._device.target
        return {
            "max_shared_mem": row.shared_optin,
            "max_num_regs": row.registers_per_block,
            "multiprocessor_count": MULTIPROCESSORS,
            "warpSize": WARP,
            "sm_clock_rate": CLOCK_RATE,
            "mem_clock_rate": MEMORY_CLOCK_RATE,
            "mem_bus_width": MEMORY_BUS_WIDTH,
        }

    def load_binary(self, name: str, ptx: bytes, _shared: int, _device: int) -> tuple[object, ...]:
        """Return a module, the function that the launcher receives, and counts of registers, spills and threads.

        Triton 3.2 reads no number of threads.
        """
        loaded = (name, ptx.decode(), _UNKNOWN_COUNT, _UNKNOWN_COUNT)
        return (*loaded, self._device.target.threads) if _READS_THREADS else loaded

    def unload_module(self, _module: object) -> None:
        """Do nothing: modules stay in device memory until the process exits."""


class VirtualDriver(DriverBase):
    """Triton's active driver: kernels are compiled for the target of the virtual device, and launched on it."""

    def __init__(self, device: VirtualDevice) -> None:
        """Drive `device`."""
        self.device = device
        self.utils = Utilities(self.device)

    @classmethod
    def is_active(cls) -> bool:
        """Return that Triton may use this driver."""
        return True

    def launcher_cls(self, source: Any, metadata: Any) -> Launcher:  # noqa: ANN401 - Triton's
        """Return the launcher of a compiled kernel."""
        return Launcher(self.device, signature_of(source), metadata)

    def get_current_device(self) -> int:
        """Return the index of the only device."""
        return 0

    def set_current_device(self, index: int) -> None:
        """Raise ValueError for any other device than 0."""
        if index:
            raise ValueError(f"invalid device {index}: the virtual GPU is device 0")

    def get_current_stream(self, _device: int | None = None) -> int:
        """Return the handle of the calling thread's current stream."""
        return self.device.streams.current.number

    def get_device_capability(self, _device: int | None = None) -> tuple[int, int]:
        """Return the compute capability of the target."""
        return self.device.capability

    def get_current_target(self) -> Any:  # noqa: ANN401 - GPUTarget
        """Return the target for which kernels are compiled, a `GPUTarget`."""
        return GPUTarget("cuda", self.device.target.number, WARP)

    def get_active_torch_device(self) -> Any:  # noqa: ANN401 - torch.device
        """Return torch's device of the tensors that kernels get: the CPU without the door for torch."""
        import torch

        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def get_device_interface(self) -> Any:  # noqa: ANN401 - a module of torch
        """Return torch's module for that device."""
        torch: Any = sys.modules["torch"]
        return torch.cuda if torch.cuda.is_available() else torch.cpu

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Return Triton's type unchanged: no C++ launcher is generated."""
        return ty

    def get_benchmarker(self) -> Callable[..., Any]:
        """Return the function that autotuners call to time a kernel, which runs the kernel once."""
        return benchmark

    def get_empty_cache_for_benchmark(self) -> Any:  # noqa: ANN401 - torch.Tensor
        """Return an empty tensor: the simulator has no L2 cache to flush."""
        import torch

        return torch.empty(0, dtype=torch.int32, device=self.get_active_torch_device())

    def clear_cache(self, cache: object) -> None:
        """Do nothing, for the same reason."""
