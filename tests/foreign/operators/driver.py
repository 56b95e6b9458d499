"""A driver for `triton.runtime` that runs the PTX of kernels on the simulator, with CPU tensors as arguments."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.autotuner import Autotuner

from pyptx_sim import Finding, run
from pyptx_sim.readers import from_triton

H100 = {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32}


class SimulatorDriver:
    """Triton's active driver; `schedule` are options of later launches, `findings` those of all launches so far."""

    def __init__(self, capability: int = 90) -> None:
        self.capability, self.schedule, self.findings = capability, dict[str, Any](), list[Finding]()
        self.utils = SimpleNamespace(  # Triton passes its machine code, here PTX, to the launcher
            load_binary=lambda _name, ptx, _shared, _device: (None, ptx.decode(), 32, 0, 1024),
            get_device_properties=lambda _device: H100,
            unload_module=lambda _module: None,
        )
        self.is_active = lambda: True
        self.get_current_device = lambda: 0
        self.set_current_device = lambda _device: None
        self.get_current_stream = lambda _device=None: 0
        self.get_device_capability = lambda _device=None: divmod(capability, 10)
        self.get_current_target = lambda: GPUTarget("cuda", capability, 32)
        self.get_active_torch_device = lambda: torch.device("cpu")
        self.get_device_interface = lambda: torch.cpu
        self.map_python_to_cpp_type = str
        self.get_benchmarker = lambda: lambda *_, **__: [0.0, 0.0, 0.0]  # never timed: one configuration per kernel
        CUDABackend.make_cubin = lambda _self, ptx, *_: ptx.encode()
        Autotuner.prune_configs = lambda tuner, _arguments: [min(tuner.configs, key=_size)]
        triton.runtime.driver.set_active(self)
        torch.cuda.get_device_capability, torch.cuda.get_device_name = self.get_device_capability, lambda *_: "H100"

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        """Return the function that Triton calls to launch a kernel."""

        def launch(x: int, y: int, z: int, _stream: int, ptx: str, *arguments: Any) -> None:
            kernel = SimpleNamespace(asm={"ptx": ptx}, metadata=metadata, src=source)
            given = zip(arguments[4:], source.signature.values(), strict=True)
            launched = from_triton(kernel, (x, y, z), [each for each, kind in given if kind != "constexpr"])
            self.findings += run(ptx, launched, **self.schedule).findings

        return launch


def _size(config: Any) -> tuple[float, int]:
    extents = [extent for extent in config.kwargs.values() if isinstance(extent, int) and extent > 0]
    return math.prod(extents), config.num_stages or 1
