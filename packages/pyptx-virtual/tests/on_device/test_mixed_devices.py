"""Calls with tensors on several devices, or on a device that does not exist, raise torch's errors."""

from __future__ import annotations

import pytest
import torch

SAME = "Expected all tensors to be on the same device"
X = torch.arange(6.0, device="cuda").reshape(2, 3)
H = torch.ones(2, 3)

REFUSED = {
    "add": lambda: X + H,
    "add, CUDA second": lambda: H + X,
    "in place": lambda: X.clone().add_(H),
    "mm": lambda: X @ H.t(),
    "mm with a CPU result": lambda: torch.mm(X, X.t(), out=torch.empty(2, 2)),
    "cat": lambda: torch.cat([X, H]),
    "linear": lambda: torch.nn.functional.linear(X, H),
    "gather": lambda: X.gather(0, torch.zeros(1, 3, dtype=torch.long)),
    "embedding": lambda: torch.nn.functional.embedding(torch.tensor([0]), X),
    "index_select": lambda: X.index_select(0, torch.tensor([0])),
    "layer_norm": lambda: torch.nn.functional.layer_norm(X, (3,), torch.ones(3)),
    "where": lambda: torch.where(X > 0, X, H),
    "foreach": lambda: torch._foreach_add([X], [H]),
}
ACCEPTED = {
    "scalar tensor": (lambda: X + torch.tensor(2.0), lambda x: x + 2),
    "scalar tensor first": (lambda: torch.tensor(2.0) * X, lambda x: 2 * x),
    "where with a scalar tensor": (
        lambda: torch.where(X > 1, X, torch.tensor(0.0)),
        lambda x: torch.where(x > 1, x, 0),
    ),
    "index on the CPU": (lambda: X[torch.tensor([1, 0])], lambda x: x[[1, 0]]),
    "mask on the CPU": (lambda: X[torch.tensor([True, False])], lambda x: x[:1]),
    "copy from the CPU": (lambda: X.clone().copy_(H), lambda _: H),
    "copy to the CPU": (lambda: torch.empty(2, 3).copy_(X).cuda(), lambda x: x),
    "masked_fill with a scalar tensor": (
        lambda: X.masked_fill(X > 1, torch.tensor(9.0)),
        lambda x: x.masked_fill(x > 1, 9),
    ),
    "clamp with a scalar tensor": (lambda: X.clamp(max=torch.tensor(2.0)), lambda x: x.clamp(max=2)),
}
OTHER_DEVICE = {
    "empty": lambda: torch.empty(2, device="cuda:1"),
    "ones": lambda: torch.ones(2, device="cuda:1"),
    "to": lambda: H.to("cuda:1"),
    "cuda to cuda": lambda: X.to("cuda:1"),
    "set_device": lambda: torch.cuda.set_device(1),
    "module": lambda: torch.nn.Linear(2, 2).cuda(3),
    "storage": lambda: torch.UntypedStorage(4, device="cuda:1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tensors_of_several_devices_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=SAME):
        REFUSED[name]()


@pytest.mark.parametrize("name", ACCEPTED)
def test_cpu_tensors_that_torch_accepts_are_accepted(name: str) -> None:
    call, expected = ACCEPTED[name]
    found = call()
    assert found.is_cuda
    torch.testing.assert_close(found.cpu(), expected(X.cpu()), rtol=0, atol=0)


@pytest.mark.parametrize("name", OTHER_DEVICE)
def test_a_device_other_than_number_0_is_the_error_of_cuda(name: str) -> None:
    with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device ordinal"):
        OTHER_DEVICE[name]()


def test_properties_of_another_device_are_refused() -> None:
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.get_device_properties(1)


def test_numpy_refuses_device_memory() -> None:
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        X.numpy()


def test_pinning_device_memory_is_refused() -> None:
    for call in (
        X.pin_memory,
        lambda: torch.empty(2, device="cuda", pin_memory=True),
        lambda: torch.ones(2, device="cuda", pin_memory=True),
    ):
        with pytest.raises(RuntimeError, match=r"can be pinned|cannot pin"):
            call()


def test_an_operator_with_a_cpu_kernel_only_is_refused() -> None:
    library = torch.library.Library("pyptx_test", "FRAGMENT")
    library.define("on_cpu(Tensor x) -> Tensor")
    library.impl("on_cpu", torch.clone, "CPU")
    assert torch.ops.pyptx_test.on_cpu(H).equal(H)
    with pytest.raises(NotImplementedError, match=r"Could not run 'pyptx_test::on_cpu'.*'CUDA' backend"):
        torch.ops.pyptx_test.on_cpu(X)


def test_a_cuda_kernel_of_a_library_is_called_with_cuda_tensors() -> None:
    library = torch.library.Library("pyptx_test", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2 if x.is_cuda else x, "CUDA")
    assert torch.ops.pyptx_test.twice(X).equal(X + X)


UNAVAILABLE = {
    "torch._C._cuda_memorySnapshot": torch.cuda.memory._snapshot,
    "torch._C._cuda_cudaCachingAllocator_raw_alloc": lambda: torch.cuda.caching_allocator_alloc(64),
    "torch.UntypedStorage.resize_": lambda: X.clone().untyped_storage().resize_(1 << 10),
    "shared with other processes": lambda: torch.multiprocessing.reductions.reduce_tensor(X),
    "layout torch.sparse_coo": X.to_sparse,
    "interprocess": lambda: torch.cuda.Event(interprocess=True),
}


@pytest.mark.parametrize("name", UNAVAILABLE)
def test_functions_that_are_not_available_say_so(name: str) -> None:
    with pytest.raises(RuntimeError) as found:
        UNAVAILABLE[name]()
    assert name in str(found.value)
    assert "virtual GPU" in str(found.value)
