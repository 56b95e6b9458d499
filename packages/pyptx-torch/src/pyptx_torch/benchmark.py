"""Times of a kernel on a GPU, with CUDA events. CUDA driver API: "Event Management".

Inputs are random; only their values come from torch. Each timed launch follows a memset that is longer than the time in
which the host submits the launch, so that the device is busy and the events enclose the kernel only.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from math import prod
from typing import TYPE_CHECKING, Final, cast

import torch

from pyptx_dsl.errors import DeviceError
from pyptx_dsl.kernels.images import image_of
from pyptx_ir.plugins.timings import Timings
from pyptx_launch import LaunchError, Module, driver, libcuda, plan_for
from pyptx_torch.devices import argument_of, dtype_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Launchable, Output, Specialization
    from pyptx_launch import Plan

WARM_UP: Final = 5
"""Number of untimed launches."""

_DEVICE: Final = 0  # ordinal of the measured device; CUDA_VISIBLE_DEVICES selects another one
_STREAM: Final = 0  # the default stream
_TIMED: Final = 0  # CUevent_flags: CU_EVENT_DEFAULT, with timing
_L2_BYTES: Final = 38  # CUdevice_attribute: CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
_CACHES: Final = 2  # bytes of a memset, as a multiple of the size of the L2 cache
_LARGEST: Final = 100  # exclusive bound of random integers, as in `pyptx sim`


def measure(
    kernel: Launchable[Declaration],
    inputs: Sequence[tuple[str, str, tuple[int, ...]]],
    keywords: Mapping[str, object],
    runs: int,
) -> Timings:
    """Launch a kernel on random `inputs` (name, PTX element type and shape of each) and time `runs` launches.

    Raises:
        DeviceError: there is no GPU, or the driver reports an error.

    """
    reason = driver.reason()
    if reason is not None:
        raise DeviceError(f"{kernel.name} cannot be measured: {reason}", where="")
    generator = torch.Generator().manual_seed(0)
    tensors = [_random(kernel.name, name, dtype, shape, generator) for name, dtype, shape in inputs]
    arguments = [argument_of(kernel.name, name, tensor) for (name, *_), tensor in zip(inputs, tensors, strict=True)]
    special = kernel.specialize(arguments, keywords)
    try:
        return _measured(special, tensors, runs)
    except LaunchError as error:
        raise DeviceError(f"{kernel.name} cannot be measured: {error}", where="") from error


def _random(kernel: str, name: str, ptx: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Return normally distributed numbers or small integers, as `pyptx sim` does; for packed types, random bits."""
    dtype = dtype_of(kernel, name, ptx)
    if not dtype.is_floating_point:
        return torch.randint(0, 2 if dtype is torch.bool else _LARGEST, shape, generator=generator).to(dtype)
    if dtype is getattr(torch, "float4_e2m1fn_x2", None):
        return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8).view(dtype)
    return torch.randn(shape, generator=generator).to(dtype)


def _measured(special: Specialization, tensors: Sequence[torch.Tensor], runs: int) -> Timings:
    device = driver.device(_DEVICE)
    with _current_device(), ExitStack() as memory:
        module = Module(image_of(special, device.target))
        plan = plan_for(special, module, device.multiprocessors)
        sizes = [*(tensor.nbytes for tensor in tensors), *map(_size_of, special.outputs)]
        addresses = [memory.enter_context(_allocated(size)) for size in sizes]
        for address, tensor in zip(addresses, tensors, strict=False):
            if tensor.nbytes:
                libcuda.call("cuMemcpyHtoD", address, tensor.data_ptr(), tensor.nbytes)
        flushed = _CACHES * libcuda.number(
            "cuDeviceGetAttribute", libcuda.constant("CUdevice_attribute", _L2_BYTES), _DEVICE
        )
        seconds = tuple(_timed(plan, addresses, memory.enter_context(_allocated(flushed)), flushed, runs))
    packages = {name: version(name) for name in ("pyptx-dsl", "pyptx-torch", "torch")}
    versions = {"CUDA driver": ".".join(map(str, driver.version())), **packages}
    return Timings(seconds, sum(sizes), flushed, device.name, device.target, versions)


def _timed(plan: Plan, addresses: Sequence[int], other: int, size: int, runs: int) -> Iterator[float]:
    """Yield the seconds of each launch; each follows a memset of `size` bytes at `other`."""
    with ExitStack() as events:
        pairs = [(events.enter_context(_event()), events.enter_context(_event())) for _ in range(WARM_UP + runs)]
        for begin, end in pairs:
            libcuda.call("cuMemsetD8Async", other, 0, size, _STREAM)
            libcuda.call("cuEventRecord", begin, _STREAM)
            plan.launch(addresses, _STREAM, _DEVICE)
            libcuda.call("cuEventRecord", end, _STREAM)
        libcuda.call("cuStreamSynchronize", _STREAM, doing="waiting for the launches")
        for begin, end in pairs[WARM_UP:]:
            (milliseconds,) = libcuda.call("cuEventElapsedTime", begin, end)
            yield cast("float", milliseconds) / 1e3


@contextmanager
def _event() -> Generator[int]:
    """Create an event with timing for the body."""
    event = libcuda.number("cuEventCreate", _TIMED)
    try:
        yield event
    finally:
        _release("cuEventDestroy", event)


def _size_of(output: Output) -> int:
    """Return the bytes of an output's dense array."""
    return prod(output.shape) * dtype_of("", output.name, output.dtype).itemsize


@contextmanager
def _current_device() -> Generator[None]:
    """Make the device's primary context current for the body."""
    context = libcuda.number("cuDevicePrimaryCtxRetain", _DEVICE)
    try:
        with libcuda.current_context(context):
            yield
    finally:
        _release("cuDevicePrimaryCtxRelease", _DEVICE)


@contextmanager
def _allocated(size: int) -> Generator[int]:
    """Allocate device memory for the body; return its address."""
    address = libcuda.number("cuMemAlloc", max(size, 1), doing=f"allocating {size:,} bytes")
    try:
        yield address
    finally:
        _release("cuMemFree", address)


def _release(function: str, handle: int) -> None:
    """Free a resource; after a fault of the kernel each driver call fails, and only the first error is of interest."""
    with suppress(LaunchError):
        libcuda.call(function, handle)
