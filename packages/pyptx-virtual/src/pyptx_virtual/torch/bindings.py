"""The functions and classes of `torch._C` that the Python code of `torch.cuda` calls.

A CPU build of torch lacks them. With them, `torch.cuda` runs unmodified. Its modules test for some of the names when
they are imported, and choose substitutes. These choices are repeated here.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from pyptx_virtual.device import MemoryUse
from pyptx_virtual.torch.graphs import GraphBase, new_pool, refuse_to_synchronize
from pyptx_virtual.torch.mixing import invalid_ordinal
from pyptx_virtual.torch.properties import DeviceProperties, properties_of
from pyptx_virtual.torch.runtime import Nvtx, runtime_of
from pyptx_virtual.torch.streams import EventBase, StreamBase, StreamData, stream_data
from pyptx_virtual.torch.untraced import untraced

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_virtual.device import VirtualDevice
    from pyptx_virtual.torch.random_numbers import RandomNumbers

CUDA_VERSION: Final = (13, 0)
"""CUDA release that torch reports: the first one whose PTX has all targets of the simulator."""

_MENTIONED: Final = re.compile(r"torch\._C\.(_cuda_\w+)\(")

# ruff: noqa: SLF001 - the module is about private names


class _AllocatorState:
    """Type of the states that trees of CUDA graphs save; there are none, but modules of torch import the name."""


class Bindings:
    """The names of `torch._C`, for one virtual device."""

    def __init__(self, device: VirtualDevice, random_numbers: RandomNumbers) -> None:
        self._device = device
        self._random = random_numbers
        self._properties = properties_of(device)
        self._streams = device.streams

    def install(self) -> None:
        """Add the names to `torch._C`, and let `torch.cuda` use them."""
        StreamBase.virtual_device = EventBase.virtual_device = GraphBase.virtual_device = self._device
        names: dict[str, object] = {name: _unavailable(f"torch._C.{name}") for name in _mentioned()}
        names |= self._classes()
        names |= {name: untraced(function) for name, function in self._functions().items()}
        replaced = {id(getattr(torch._C, name)): new for name, new in names.items() if hasattr(torch._C, name)}
        for name, new in names.items():
            setattr(torch._C, name, new)
        torch._C._has_cuda, torch._C._has_cudnn = True, False
        torch._C._set_cudnn_enabled(False)  # noqa: FBT003 - torch's signature
        torch.version.cuda = ".".join(map(str, CUDA_VERSION))
        cuda: Any = torch.cuda
        cuda._cudart = runtime_of(self._device)
        cuda.nvtx._nvtx = Nvtx()
        cuda._CudaDeviceProperties = DeviceProperties
        cuda._exchange_device = torch._C._cuda_exchangeDevice
        cuda._maybe_exchange_device = torch._C._cuda_maybeExchangeDevice
        cuda._is_in_bad_fork = _no
        cuda._get_device_properties = untraced(self._get_properties)
        _replace({**replaced, **_reloaded("torch.cuda.streams"), **_reloaded("torch.cuda.graphs")})

    @staticmethod
    def _classes() -> dict[str, object]:
        return {
            "_CudaStreamBase": StreamBase,
            "_CudaEventBase": EventBase,
            "_CUDAGraph": GraphBase,
            "_CudaDeviceProperties": DeviceProperties,
            "_cuda_CUDAAllocator_AllocatorState": _AllocatorState,
        }

    def _functions(self) -> dict[str, Callable[..., object]]:
        return {**self._device_functions(), **self._stream_functions(), **self._memory_functions()}

    def _device_functions(self) -> dict[str, Callable[..., object]]:
        device = self._device
        return {
            "_cuda_init": self._init,
            "_cuda_isInBadFork": _no,
            "_cuda_getDeviceCount": lambda: 1,
            "_cuda_getDevice": lambda: 0,
            "_cuda_setDevice": _select,
            "_cuda_exchangeDevice": _exchange,
            "_cuda_maybeExchangeDevice": _maybe_exchange,
            "_cuda_canDeviceAccessPeer": lambda *_: False,
            "_cuda_getArchFlags": lambda: f"sm_{device.target.number}",
            "_cuda_getCompiledVersion": lambda: CUDA_VERSION[0] * 1000 + CUDA_VERSION[1] * 10,
            "_cuda_synchronize": self._synchronize,
            "_cuda_set_sync_debug_mode": lambda *_: None,
            "_cuda_get_sync_debug_mode": lambda: 0,
            "_cuda_clearCublasWorkspaces": lambda: None,
            "_cuda_sleep": lambda *_: None,
            "_accelerator_synchronizeDevice": lambda *_: self._synchronize(),
        }

    def _stream_functions(self) -> dict[str, Callable[..., object]]:
        streams = self._streams
        return {
            "_cuda_getCurrentStream": lambda *_: stream_data(streams.current),
            "_cuda_getCurrentRawStream": lambda *_: streams.current.number,
            "_cuda_getDefaultStream": lambda *_: stream_data(streams.find(0)),
            "_cuda_getStreamFromExternal": self._external_stream,
            "_cuda_setStream": self._set_stream,
            "_cuda_isCurrentStreamCapturing": lambda: streams.current.graph is not None,
            "_graph_pool_handle": new_pool,
            "_accelerator_getStream": lambda *_: self._current_stream(),
            "_accelerator_setStream": self._enter_stream,
        }

    def _memory_functions(self) -> dict[str, Callable[..., object]]:
        device = self._device
        return {
            "_cuda_emptyCache": device.reclaim,
            "_host_emptyCache": lambda: None,
            "_cuda_ipc_collect": lambda: None,
            "_cuda_memoryStats": self._memory_stats,
            "_cuda_resetPeakMemoryStats": self._reset_peak,
            "_cuda_resetAccumulatedMemoryStats": self._reset_accumulated,
            "_cuda_getAllocatorBackend": lambda: "native",
            "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
            "_cuda_isHistoryEnabled": _no,
            "_cuda_getMemoryFraction": lambda *_: 1.0,
            "_accelerator_emptyCache": device.reclaim,
            "_accelerator_isAllocatorInitialized": lambda: True,
            "_accelerator_getDeviceStats": self._memory_stats,
            "_accelerator_resetPeakStats": self._reset_peak,
            "_accelerator_resetAccumulatedStats": self._reset_accumulated,
        }

    def _synchronize(self) -> None:
        if self._streams.current.graph is not None:
            refuse_to_synchronize()
        self._device.context.synchronize()

    def _init(self) -> None:
        cuda: Any = torch.cuda
        cuda.default_generators = (self._random.default,)

    def _external_stream(self, number: int, _index: int = 0) -> StreamData:
        return stream_data(self._streams.find(number))

    def _enter_stream(self, stream: torch.Stream) -> None:
        self._set_stream(stream.stream_id)

    def _current_stream(self) -> torch.cuda.Stream:
        number, index, kind = stream_data(self._streams.current)
        return torch.cuda.Stream(stream_id=number, device_index=index, device_type=kind)  # type: ignore[no-untyped-call] # torch has no types

    def _set_stream(self, stream_id: int, device_index: int = 0, device_type: int = 1) -> None:  # noqa: ARG002 - torch's signature
        self._streams.current = self._streams.find(stream_id)

    def _get_properties(self, index: int) -> DeviceProperties:
        if index:
            raise invalid_ordinal()
        return self._properties

    def _memory_stats(self, _index: int = 0) -> dict[str, object]:
        """Return the statistics of torch's allocator; all reserved memory is allocated."""
        self._device.reclaim()
        count, nbytes = _statistic(self._device.allocations), _statistic(self._device.bytes_in_use)
        of_bytes = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
        return {
            **dict.fromkeys(("allocation", "segment", "active"), count),
            **dict.fromkeys(of_bytes, nbytes),
            **dict.fromkeys(("inactive_split", "inactive_split_bytes"), _statistic(MemoryUse())),
            **dict.fromkeys(("oversize_allocations", "oversize_segments"), _statistic(MemoryUse())["all"]),
            "num_alloc_retries": 0,
            "num_ooms": 0,
            "max_split_size": -1,
        }

    def _reset_peak(self, _index: int = 0) -> None:
        self._device.reclaim()
        for use in (self._device.allocations, self._device.bytes_in_use):
            use.peak = use.current

    def _reset_accumulated(self, _index: int = 0) -> None:
        for use in (self._device.allocations, self._device.bytes_in_use):
            use.allocated = use.freed = 0


def _statistic(use: MemoryUse) -> dict[str, dict[str, int]]:
    """Return a counter in the form of torch: by pool of the allocator, with all memory in one pool."""
    values = {"current": use.current, "peak": use.peak, "allocated": use.allocated, "freed": use.freed}
    none = dict.fromkeys(values, 0)
    return {"all": values, "small_pool": values, "large_pool": none}


def _select(index: int) -> None:
    """Check the number of the device that is to be the current one."""
    _exchange(index)


def _exchange(index: int) -> int:
    """Return the former device, after a check of the new one; a negative number selects none."""
    if index > 0:
        raise invalid_ordinal()
    return -1 if index < 0 else 0


def _maybe_exchange(index: int) -> int:
    """Do the same as `_exchange`; torch.compile distinguishes the two functions by their identities."""
    return _exchange(index)


def _no() -> bool:
    return False


def _mentioned() -> set[str]:
    """Return the names of the functions of `torch._C` that the Python code of `torch.cuda` calls."""
    folder = Path(torch.cuda.__file__).parent
    return {name for file in folder.glob("*.py") for name in _MENTIONED.findall(file.read_text(encoding="utf-8"))}


def _unavailable(name: str) -> Callable[..., Any]:
    def refuse(*_: object, **__: object) -> object:
        raise RuntimeError(f"{name} is not available on the virtual GPU")

    return refuse


def _reloaded(name: str) -> dict[int, object]:
    """Define the classes and functions of a module again, with new bases; return them by identity of the former."""
    module = sys.modules[name]
    former = {key: value for key, value in vars(module).items() if getattr(value, "__module__", None) == name}
    importlib.reload(module)
    return {id(old): getattr(module, key) for key, old in former.items()}


def _replace(replaced: dict[int, object]) -> None:
    """Replace objects, given by their identities, in the modules of torch that have imported them."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "torch":
            for key, value in list(vars(module).items()):
                if id(value) in replaced:
                    setattr(module, key, replaced[id(value)])
