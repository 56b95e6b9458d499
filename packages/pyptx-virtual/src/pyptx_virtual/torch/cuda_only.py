"""Operators that torch implements for CUDA only, and that its own functions call for CUDA tensors.

Each function has the formula that torch uses for CPU tensors. Source of signatures: `native_functions.yaml`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_virtual.torch.schemas import Overload

# ruff: noqa: SLF001 - operators have these names

_aten: Final[Any] = torch.ops.aten

Tensor = torch.Tensor


def depthwise_convolution(
    input: Tensor,  # noqa: A002 - torch's name
    weight: Tensor,
    kernel_size: Sequence[int],  # noqa: ARG001 - the last dimensions of `weight`
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """Return a convolution in which each channel is a group of its own."""
    on_cpu = (each if each is None else each.cpu() for each in (input, weight, bias))
    rank, groups = len(stride), input.shape[1]
    result: Tensor = _aten.convolution(*on_cpu, stride, padding, dilation, False, [0] * rank, groups)  # noqa: FBT003 - not transposed
    return result.to(input.device)


def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cell: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the hidden state, the cell state, and the activated gates for `lstm_cell_backward`."""
    sums = _with_bias(input_gates, input_bias) + _with_bias(hidden_gates, hidden_bias)
    in_gate, forget, candidate, out_gate = sums.chunk(4, 1)
    in_gate, forget, candidate, out_gate = in_gate.sigmoid(), forget.sigmoid(), candidate.tanh(), out_gate.sigmoid()
    new_cell = forget * cell + in_gate * candidate
    return out_gate * new_cell.tanh(), new_cell, torch.cat([in_gate, forget, candidate, out_gate], 1)


def lstm_cell_backward(
    grad_hidden: Tensor | None,
    grad_cell: Tensor | None,
    cell: Tensor,
    new_cell: Tensor,
    gates: Tensor,
    has_bias: bool,  # noqa: FBT001 - torch's signature
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return the gradients of the gates, of the former cell state, and of both biases."""
    if grad_hidden is None and grad_cell is None:
        return None, None, None
    in_gate, forget, candidate, out_gate = gates.chunk(4, 1)
    squashed = new_cell.tanh()
    grad_hidden = torch.zeros_like(new_cell) if grad_hidden is None else grad_hidden
    grad_new = grad_hidden * out_gate * (1 - squashed * squashed)
    grad_new = grad_new if grad_cell is None else grad_new + grad_cell
    grad_gates = torch.cat(
        [
            grad_new * candidate * in_gate * (1 - in_gate),
            grad_new * cell * forget * (1 - forget),
            grad_new * in_gate * (1 - candidate * candidate),
            grad_hidden * squashed * out_gate * (1 - out_gate),
        ],
        1,
    )
    return grad_gates, grad_new * forget, grad_gates.sum(0) if has_bias else None


def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hidden: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the hidden state, and the values that `gru_cell_backward` needs."""
    in_reset, in_update, in_new = _with_bias(input_gates, input_bias).chunk(3, 1)
    hidden_reset, hidden_update, hidden_new = _with_bias(hidden_gates, hidden_bias).chunk(3, 1)
    reset, update = (in_reset + hidden_reset).sigmoid(), (in_update + hidden_update).sigmoid()
    new = (in_new + reset * hidden_new).tanh()
    return new + update * (hidden - new), torch.cat([reset, update, new, hidden, hidden_new], 1)


def gru_cell_backward(
    grad_hidden: Tensor,
    workspace: Tensor,
    has_bias: bool,  # noqa: FBT001 - torch's signature
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Return the gradients of input gates, hidden gates, the former hidden state, input bias and hidden bias."""
    reset, update, new, hidden, hidden_new = workspace.chunk(5, 1)
    grad_new = grad_hidden * (1 - update) * (1 - new * new)
    grad_update = grad_hidden * (hidden - new) * update * (1 - update)
    grad_reset = grad_new * hidden_new * reset * (1 - reset)
    grad_input = torch.cat([grad_reset, grad_update, grad_new], 1)
    grad_of_hidden = torch.cat([grad_reset, grad_update, grad_new * reset], 1)
    grad_former = grad_hidden * update
    if not has_bias:
        return grad_input, grad_of_hidden, grad_former, None, None
    return grad_input, grad_of_hidden, grad_former, grad_input.sum(0), grad_of_hidden.sum(0)


def matmul_of_type(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """Multiply matrices with accumulators and results of the type `dtype`."""
    return torch.matmul(left.to(dtype), right.to(dtype))


def _with_bias(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


CUDA_ONLY: Final[dict[Overload, Callable[..., object]]] = {
    _aten._conv_depthwise2d.default: depthwise_convolution,
    _aten.conv_depthwise3d.default: depthwise_convolution,
    _aten._thnn_fused_lstm_cell.default: lstm_cell,
    _aten._thnn_fused_lstm_cell_backward_impl.default: lstm_cell_backward,
    _aten._thnn_fused_gru_cell.default: gru_cell,
    _aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,
    _aten.mm.dtype: matmul_of_type,
    _aten.bmm.dtype: matmul_of_type,
}
"""The operators, with their implementations."""
