"""torch's own sample inputs of its operators give the results and gradients of the CPU.

The samples are those of torch's tests (`op_db`), about 600 operators. A difference is listed with its reason.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tools.shares import share
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

pytestmark = pytest.mark.scaled

SAMPLES = 2  # per operator and type

NOT_COMPARED = {
    # their elements are not defined
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"),
    # their samples name the device of the result
    *("full_like", "new_full", "new_ones", "new_zeros", "ones_like", "zeros_like"),
    *("rand_like", "randint_like", "randn_like"),
    # their samples read the storage outside of the tensor
    *("as_strided", "as_strided_copy"),
}
OPERATORS = share((op for op in op_db if op.name not in NOT_COMPARED), 8)
REFUSED = {  # the error that torch raises on a GPU, or that of a part which is not available here
    "to_sparse": "layout torch.sparse_coo are not available on the virtual GPU",
    "sparse.sampled_addmm": "'SparseCsrCUDA' backend",
    "sparse.mm": "'SparseCsrCUDA' backend",
    "tensor_split": "to be on cpu, but it's on cuda:0",
}


def transfer(value: object, moved: dict[int, torch.Tensor]) -> Any:
    """Return a structure with its CPU tensors on the device; the same tensor stays the same."""

    def move(each: object) -> object:
        if isinstance(each, torch.device) or each == "cpu":
            return torch.device("cuda")
        if not isinstance(each, torch.Tensor) or each.layout is not torch.strided:
            return each
        if id(each) not in moved:
            moved[id(each)] = with_strides(each.detach()).requires_grad_(each.requires_grad)
        return moved[id(each)]

    return tree_map(move, value)


def with_strides(host: torch.Tensor) -> torch.Tensor:
    """Return a CUDA tensor with the strides of a CPU tensor, if that has no overlapping elements."""
    if host.is_conj() or host.is_neg() or 0 in host.stride():
        return host.cuda()
    return torch.empty_strided(host.shape, host.stride(), dtype=host.dtype, device="cuda").copy_(host)


def outcome(call: Callable[[], object]) -> tuple[object, Exception | None]:
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001 - compared with that of the other device
        return None, error


def tensors(value: object) -> list[torch.Tensor]:
    return [each for each in tree_leaves(value) if isinstance(each, torch.Tensor) and each.layout is torch.strided]


def compare(found: Iterable[torch.Tensor | None], expected: Iterable[torch.Tensor | None]) -> None:
    for each, other in zip(found, expected, strict=True):
        assert (each is None) == (other is None)
        if each is None or other is None:
            continue
        assert (each.dtype, each.shape, each.device.type) == (other.dtype, other.shape, "cuda")
        assert each.stride() == other.stride() or other.numel() < 2
        torch.testing.assert_close(each.cpu(), other, equal_nan=True, rtol=1e-4, atol=1e-4)


def check(op: Any, sample: Any) -> bool:
    """Compare a sample on both devices; return whether the CPU accepts it."""
    inputs, moved = (sample.input, sample.args, sample.kwargs), dict[int, torch.Tensor]()
    on_device = transfer(inputs, moved)
    torch.manual_seed(7)
    expected, cpu_error = outcome(lambda: op(inputs[0], *inputs[1], **inputs[2]))
    torch.manual_seed(7)
    found, error = outcome(lambda: op(on_device[0], *on_device[1], **on_device[2]))
    if cpu_error is not None:
        assert error is not None
        return False
    if error is not None:
        raise error
    compare(tensors(found), tensors(expected))
    leaves = [each for each in tensors(inputs) if each.requires_grad and each.is_leaf]
    results = [each for each in tensors(expected) if each.requires_grad]
    if leaves and results:
        moved_results = [each for each in tensors(found) if each.requires_grad]
        gradients, gradient_error = outcome(lambda: gradients_of(results, leaves))
        if gradient_error is None:
            compare(gradients_of(moved_results, [moved[id(each)] for each in leaves]), gradients)
    return True


def gradients_of(results: list[torch.Tensor], leaves: list[torch.Tensor]) -> Any:
    return torch.autograd.grad(results, leaves, [torch.ones_like(each) for each in results], allow_unused=True)


@pytest.mark.filterwarnings("ignore")  # operators warn of their own deprecation, on both devices
@pytest.mark.parametrize("op", OPERATORS, ids=[f"{op.name}.{op.variant_test_name}".rstrip(".") for op in OPERATORS])
def test_samples_give_the_results_of_the_cpu(op: Any) -> None:
    refused = REFUSED.get(op.name)
    supported = op.supported_dtypes("cpu")
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
        if dtype not in supported:
            continue
        gradients = dtype.is_floating_point and op.supports_autograd
        samples = op.sample_inputs_func(op, "cpu", dtype, gradients)
        if refused is None:
            for sample in islice(samples, SAMPLES):
                check(op, sample)
            continue
        with pytest.raises((RuntimeError, NotImplementedError), match=refused):
            list(map(partial(check, op), samples))
