"""Operators on CUDA tensors give the results, strides, aliases and gradients of torch's CPU operators."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Callable

FLOATS = (torch.float64, torch.float32, torch.bfloat16)
DTYPES = (*FLOATS, torch.int64, torch.complex64, torch.bool)


def contiguous(dtype: torch.dtype) -> torch.Tensor:
    values = torch.arange(1, 25, dtype=torch.float64).sin() * 3
    return (values > 0 if dtype is torch.bool else values.to(dtype)).reshape(4, 6)


LAYOUTS = {
    "contiguous": contiguous,
    "transposed": lambda dtype: contiguous(dtype).t(),
    "strided": lambda dtype: contiguous(dtype)[::2, 1::2],
    "expanded": lambda dtype: contiguous(dtype)[:, :1].expand(4, 6),
    "scalar": lambda dtype: contiguous(dtype)[1, 2],
    "empty": lambda dtype: contiguous(dtype)[:, :0],
}

# Results that compute elements: pointwise, reductions, copies, indexing, several results.
COMPUTING = {
    "add": lambda x: x + x,
    "multiply by a number": lambda x: x * 3,
    "abs": torch.abs,
    "clone": torch.clone,
    "contiguous": lambda x: x.contiguous(),
    "sum": torch.sum,
    "sum over a dimension": lambda x: x.sum(-1) if x.dim() else x.sum(),
    "to float64": lambda x: x.abs().to(torch.float64),
    "equality": lambda x: x == x.flatten()[:1].sum(),
    "where": lambda x: torch.where(x == x, x, torch.zeros((), dtype=x.dtype, device=x.device)),
    "cat": lambda x: torch.cat([x.reshape(-1), x.reshape(-1)]),
    "nonzero": torch.nonzero,
    "mask": lambda x: x[x == x],
    "zeros_like": torch.zeros_like,
    "unique": lambda x: torch.unique(x.abs().to(torch.float32), return_counts=True),
    "flip": lambda x: x.flip(tuple(range(x.dim()))),
    "stack": lambda x: torch.stack([x, x], -1),
}
# Results that share the storage, or not, by the argument's layout.
VIEWS = {
    "transpose": lambda x: x.transpose(0, -1) if x.dim() else x.detach(),
    "slice": lambda x: x[..., 1:] if x.dim() else x.view(1)[:1],
    "reshape": lambda x: x.reshape(-1),
    "contiguous": lambda x: x.contiguous(),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "expand": lambda x: x.expand(2, *x.shape),
    "view as bytes": lambda x: x.contiguous().unsqueeze(-1).view(torch.uint8),
    "unfold": lambda x: x.unfold(0, 2, 1) if x.dim() else x.unsqueeze(0).unfold(0, 1, 1),
    "as_strided": lambda x: x.as_strided((1,), (1,), x.storage_offset()) if x.numel() else x.detach(),
    "split": lambda x: x.split(2, 0)[-1] if x.dim() else x.detach(),
    "diagonal": lambda x: x.diagonal() if x.dim() else x.detach(),
    "to same type": lambda x: x.to(x.dtype),
}


def on_device(host: torch.Tensor) -> torch.Tensor:
    """Return a CUDA tensor with the elements, the strides and the storage offset of a CPU tensor."""
    storage = torch.empty(host.untyped_storage().nbytes(), dtype=torch.uint8)
    storage.set_(host.untyped_storage())
    made = torch.empty(0, dtype=host.dtype, device="cuda")
    return made.set_(storage.cuda().untyped_storage(), host.storage_offset(), host.shape, host.stride())


def outcome(call: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, None] | tuple[None, Exception]:
    """Return the result of a call, or the error that it raises."""
    try:
        return call(), None
    except (RuntimeError, NotImplementedError) as error:
        return None, error


def assert_same(found: object, expected: object) -> None:
    if isinstance(expected, (list, tuple)):
        assert isinstance(found, (list, tuple))
        for each, other in zip(found, expected, strict=True):
            assert_same(each, other)
        return
    assert type(found) is torch.Tensor
    assert isinstance(expected, torch.Tensor)
    assert found.device == torch.device("cuda", 0)
    assert (found.dtype, found.shape, found.stride()) == (expected.dtype, expected.shape, expected.stride())
    torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", COMPUTING)
def test_results_and_strides_are_those_of_the_cpu(name: str, layout: str) -> None:
    compared = 0
    for dtype in DTYPES:
        host = LAYOUTS[layout](dtype)
        expected, error = outcome(partial(COMPUTING[name], host))
        if error is not None:  # complex numbers have no order
            with pytest.raises(type(error)):
                COMPUTING[name](on_device(host))
            continue
        assert_same(COMPUTING[name](on_device(host)), expected)
        compared += 1
    assert compared >= 4


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", VIEWS)
def test_results_share_storage_exactly_if_those_of_the_cpu_do(name: str, layout: str) -> None:
    for dtype in DTYPES:
        host = LAYOUTS[layout](dtype)
        tensor = on_device(host)
        expected, error = outcome(partial(VIEWS[name], host))
        if error is not None:
            with pytest.raises(RuntimeError, match=re.escape(str(error))):
                VIEWS[name](tensor)
            continue
        found_view = VIEWS[name](tensor)
        assert_same(found_view, expected)
        assert found_view.storage_offset() == expected.storage_offset()
        shared = host.untyped_storage().data_ptr() == expected.untyped_storage().data_ptr()
        assert (found_view.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()) is shared


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "expand"])
def test_a_write_through_a_view_changes_the_tensor(name: str) -> None:
    host = contiguous(torch.float32)
    tensor = on_device(host)
    VIEWS[name](host).fill_(7)
    VIEWS[name](tensor).fill_(7)
    assert_same(tensor, host)


IN_PLACE = {
    "add_": lambda x: x.add_(2),
    "mul_ by itself": lambda x: x.mul_(x),
    "fill_": lambda x: x.fill_(3),
    "copy_ from the CPU": lambda x: x.copy_(torch.full(x.shape, 5).to(x.dtype)),
    "copy_ of another type": lambda x: x.copy_(torch.arange(x.shape[-1], device=x.device)),
    "index_put_": lambda x: x.index_put_((torch.tensor([0, 1]),), torch.ones((), dtype=x.dtype, device=x.device)),
    "masked_fill_": lambda x: x.masked_fill_(x == x, 1),
    "transpose_": lambda x: x.transpose_(0, 1),
    "squeeze_": lambda x: x.unsqueeze_(0).squeeze_(0),
    "resize_ smaller": lambda x: x.resize_(2, 3),
    "zero_ of a slice": lambda x: x[1:].zero_(),
    "item assignment": lambda x: x.__setitem__((0, 0), 9),
}


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators_change_the_tensor_itself(name: str, layout: str) -> None:
    for dtype in (torch.float32, torch.int64, torch.bfloat16):
        host = LAYOUTS[layout](dtype)
        tensor = on_device(host)
        address = tensor.data_ptr()
        IN_PLACE[name](host)
        IN_PLACE[name](tensor)
        assert_same(tensor, host)
        assert tensor.data_ptr() == address


OUT = {
    "as large": lambda device: torch.empty(4, 6, device=device),
    "no elements": lambda device: torch.empty(0, device=device),
    "too small": lambda device: torch.empty(3, device=device),
    "too large": lambda device: torch.empty(40, device=device),
    "a slice": lambda device: torch.zeros(8, 6, device=device)[::2],
    "no elements of a larger storage": lambda device: torch.empty(2, device=device)[:0],
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("shape", OUT)
def test_out_arguments_are_written_and_resized(shape: str) -> None:
    host = contiguous(torch.float32)
    expected, out = OUT[shape]("cpu"), OUT[shape]("cuda")
    torch.mul(host, 2, out=expected)
    assert torch.mul(host.cuda(), 2, out=out) is out
    assert_same(out, expected)
    values, indices = OUT[shape]("cuda"), OUT[shape]("cuda").long()
    torch.sort(host.cuda(), 1, out=(values, indices))
    assert_same((values.contiguous(), indices.contiguous()), tuple(torch.sort(host, 1)))


def test_resize_keeps_the_elements() -> None:
    host, tensor = torch.arange(3.0), torch.arange(3.0, device="cuda")
    assert_same(tensor.resize_(2, 4)[0, :3], host)
    assert tensor.resize_(2) is tensor
    assert_same(tensor, host[:2])


GRADIENTS = {
    "pointwise": lambda x: (x.sin() * x).exp(),
    "matmul": lambda x: x @ x.transpose(-1, -2),
    "index": lambda x: x[torch.tensor([1, 0, 1])],
    "layer_norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "softmax": lambda x: x.log_softmax(-1),
    "where": lambda x: torch.where(x > 0, x, -2 * x),
    "views": lambda x: x.t()[1:, ::2].reshape(-1).unfold(0, 2, 1),
    "cumsum": lambda x: x.cumsum(0),
    "max": lambda x: x.max(1).values,
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1),
    "svd": torch.linalg.svdvals,
    "fft": lambda x: torch.fft.rfft(x).abs(),
}


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "strided"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_the_cpu(name: str, layout: str) -> None:
    host = LAYOUTS[layout](torch.float64)
    leaves = host.requires_grad_(), on_device(host.detach()).requires_grad_()
    results = [GRADIENTS[name](leaf) for leaf in leaves]
    for result in results:
        (result * torch.arange(1, result.numel() + 1, device=result.device).reshape(result.shape)).sum().backward()
    assert leaves[1].grad is not None
    torch.testing.assert_close(leaves[1].grad.cpu(), leaves[0].grad, rtol=1e-12, atol=1e-12)
    assert leaves[1].grad.is_cuda


def test_second_derivatives_and_gradcheck() -> None:
    point = torch.linspace(-1, 1, 6, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: (x**3).tanh(), point)
    assert torch.autograd.gradgradcheck(lambda x: (x**3).tanh(), point)


def test_pending_conjugation_and_negation_are_kept() -> None:
    host = contiguous(torch.complex64)
    tensor = on_device(host)
    assert tensor.conj().is_conj()
    assert tensor.conj().imag.is_neg()
    for apply in (lambda x: x.conj().imag + 1, lambda x: x.conj().clone(), lambda x: x.mH, lambda x: x.conj() * x):
        assert_same(apply(tensor).resolve_conj(), apply(host).resolve_conj())
    assert_same(torch.view_as_real(tensor), torch.view_as_real(host))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.uint16, torch.int8])
def test_types_without_a_numpy_or_dlpack_name(dtype: torch.dtype) -> None:
    host = torch.arange(12).reshape(3, 4).to(dtype)
    for each, other in zip(
        (host, host.t(), host[1:, 2:]), (host.cuda(), host.cuda().t(), host.cuda()[1:, 2:]), strict=True
    ):
        assert_same(other.float(), each.float())


def test_several_threads_compute_at_once() -> None:
    def work(seed: int) -> tuple[float, float]:
        x = torch.full((50,), float(seed), device="cuda", requires_grad=True)
        total = (x * x).sum()
        total.backward()
        assert x.grad is not None
        return total.item(), x.grad.sum().item()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(40)))
    assert found == [(50.0 * seed * seed, 100.0 * seed) for seed in range(40)]
