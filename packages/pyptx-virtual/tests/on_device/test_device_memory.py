"""The bytes of CUDA tensors are device memory of the simulator, with their initialization and their lifetime."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

if TYPE_CHECKING:
    from pyptx_virtual import VirtualDevice

COPY = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 target, .param .u64 source)
{
    .reg .u32 %r<3>;
    .reg .u64 %rd<4>;
    ld.param.u64 %rd1, [target];
    ld.param.u64 %rd2, [source];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.u32 %r2, [%rd2];
    st.global.u32 [%rd1], %r2;
    ret;
}
"""


def initialized(device: VirtualDevice, tensor: torch.Tensor) -> list[bool]:
    """Return whether each element of a one-dimensional tensor is initialized."""
    size = tensor.itemsize
    mask = device.context.memory.initialized(tensor.untyped_storage().data_ptr(), tensor.untyped_storage().nbytes())
    starts = [(tensor.storage_offset() + index * tensor.stride(0)) * size for index in range(len(tensor))]
    return [bool((mask[start : start + size] == 0xFF).all()) for start in starts]


def copied_by_kernel(device: VirtualDevice, source: torch.Tensor) -> tuple[torch.Tensor, set[str]]:
    """Return a copy made by a launch with a CTA of one thread per element, and the rules of its findings."""
    target = torch.empty_like(source)
    launch = device.context.launch(
        COPY, entry="copy", grid=1, block=len(source), args=[np.uint64(target.data_ptr()), np.uint64(source.data_ptr())]
    )
    device.context.synchronize()
    assert launch.result is not None
    return target, {finding.rule for finding in launch.result.findings}


def test_the_address_of_a_tensor_is_that_of_its_device_memory(device: VirtualDevice) -> None:
    tensor = torch.arange(8, dtype=torch.int32, device="cuda")
    memory = device.context.memory
    assert memory.allocation(tensor.data_ptr()) == (tensor.data_ptr(), 32)
    assert memory.bytes(tensor.data_ptr(), 32).view(np.int32).tolist() == list(range(8))
    memory.bytes(tensor.data_ptr(), 4).view(np.int32)[0] = 77
    assert tensor[0].item() == 77
    assert tensor[2:].data_ptr() == tensor.data_ptr() + 8


def test_a_launch_reads_and_writes_tensors(device: VirtualDevice) -> None:
    source = torch.arange(32, dtype=torch.int32, device="cuda") * 3
    target, rules = copied_by_kernel(device, source)
    assert rules == set()
    assert target.tolist() == source.tolist()


def test_a_read_of_uninitialized_elements_is_a_finding(device: VirtualDevice) -> None:
    source = torch.empty(32, dtype=torch.int32, device="cuda")
    source[:31] = 1
    _, rules = copied_by_kernel(device, source)
    assert rules == {"uninitialized-memory"}


def test_a_read_of_a_freed_tensor_is_a_finding(device: VirtualDevice) -> None:
    source, view = torch.ones(32, dtype=torch.int32, device="cuda"), torch.ones(1, device="cuda")
    address = source.data_ptr()
    del source, view
    target = torch.empty(32, dtype=torch.int32, device="cuda")
    launch = device.context.launch(
        COPY, entry="copy", grid=1, block=32, args=[np.uint64(target.data_ptr()), np.uint64(address)]
    )
    device.context.synchronize()
    assert launch.result is not None
    assert {finding.rule for finding in launch.result.findings} == {"out-of-bounds"}


UNINITIALIZED = {
    "empty": lambda: torch.empty(8, device="cuda"),
    "empty_like": lambda: torch.empty_like(torch.ones(8, device="cuda")),
    "new_empty": lambda: torch.ones(2, device="cuda").new_empty(8),
    "empty_strided": lambda: torch.empty_strided((8,), (1,), device="cuda"),
    "empty in a context": lambda: torch.ones(8, device="cuda").new_empty(8, dtype=torch.int64),
    "float8": lambda: torch.empty(8, dtype=torch.float8_e4m3fn, device="cuda"),
}


@pytest.mark.parametrize("name", UNINITIALIZED)
def test_empty_tensors_are_uninitialized(name: str, device: VirtualDevice) -> None:
    assert initialized(device, UNINITIALIZED[name]()) == [False] * 8


WRITES = {
    "whole": lambda x: x.fill_(1),
    "strided": lambda x: x[::3].fill_(1),
    "slice": lambda x: x[2:5].copy_(torch.ones(3)),
    "element": lambda x: x.__setitem__(4, 1),
    "out": lambda x: torch.add(torch.ones(4, device="cuda"), 1, out=x[4:]),
    "complex part": lambda x: x.view(torch.complex64 if x.itemsize == 4 else torch.complex128)[1:2].fill_(1),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", WRITES)
def test_exactly_the_elements_that_an_operator_writes_become_initialized(
    name: str, dtype: torch.dtype, device: VirtualDevice
) -> None:
    tensor = torch.empty(8, dtype=dtype, device="cuda")
    reference = torch.zeros(8, dtype=dtype)
    if name == "out":
        WRITES[name](tensor) if dtype is torch.float32 else WRITES["slice"](tensor)
        reference[slice(4, 8) if dtype is torch.float32 else slice(2, 5)] = 1
    elif name == "complex part":
        WRITES[name](tensor)
        reference[2:4] = 1
    else:
        WRITES[name](tensor)
        WRITES[name](reference)
    assert initialized(device, tensor) == (reference != 0).tolist()


def test_memory_is_freed_with_the_last_tensor_of_a_storage(device: VirtualDevice) -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    tensor = torch.empty(1000, dtype=torch.uint8, device="cuda")
    view = tensor[10:]
    assert torch.cuda.memory_allocated() == before + 1000
    del tensor
    assert torch.cuda.memory_allocated() == before + 1000
    address = view.untyped_storage().data_ptr()
    del view
    assert torch.cuda.memory_allocated() == before
    assert device.context.memory.allocation(address) is None


def test_memory_is_freed_while_an_exception_is_raised_and_in_other_threads() -> None:
    gc.collect()
    before = torch.cuda.memory_allocated()

    def fail() -> None:
        kept = torch.ones(100, device="cuda")
        raise KeyError(len(kept))

    with pytest.raises(KeyError, match="100"):
        fail()
    cell = [torch.ones(100, device="cuda")]
    thread = threading.Thread(target=cell.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_statistics_count_allocations() -> None:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    tensors = [torch.empty(256, device="cuda") for _ in range(4)]
    assert torch.cuda.memory_allocated() == before + 4096
    del tensors
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() == before + 4096
    free, total = torch.cuda.mem_get_info()
    assert total - free == before
    assert total == torch.cuda.get_device_properties().total_memory
    assert "Allocated memory" in torch.cuda.memory_summary()


def test_too_large_an_allocation_is_torchs_error_and_leaves_the_device_usable() -> None:
    with pytest.raises(
        torch.cuda.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate 1099511627776 bytes"
    ):
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_freed_addresses_are_used_again_after_more_than_the_memory_was_allocated() -> None:
    for _ in range(80):
        torch.empty(64 << 20, dtype=torch.uint8, device="cuda")


def test_storages_are_exchanged_without_a_copy() -> None:
    tensor = torch.arange(6.0, device="cuda")
    received = torch.from_dlpack(tensor[2:])
    assert received.data_ptr() == tensor.data_ptr() + 8
    received.add_(1)
    assert tensor.tolist() == [0, 1, 3, 4, 5, 6]
    assert tensor.__cuda_array_interface__["data"][0] == tensor.data_ptr()
