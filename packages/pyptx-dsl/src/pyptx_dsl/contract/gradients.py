"""Errors for torch tensors that need autograd or transforms on the simulator, and updates of their version counters.

No framework is imported: a program that has a tensor has imported torch.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pyptx_dsl.contract.arrays import TORCH, kind_of
from pyptx_dsl.errors import GradientError, LayoutError, RuntimeMissingError
from pyptx_ir.origins import install_command

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_tensors(kernel: str, named: Iterable[tuple[str, object]]) -> None:
    """Raise GradientError for a tensor whose gradient would be lost, LayoutError for a tensor without dense memory.

    Raises RuntimeMissingError in a torch.func transform (vmap), and while torch records a program, which would store
    the results as constants.
    """
    for name, value in named:
        if kind_of(value) is not TORCH:
            continue
        tensor: Any = value
        if tensor.layout is not sys.modules["torch"].strided:
            raise LayoutError(f"{kernel}: {name} is a {tensor.layout} tensor", help=f"pass {name}.to_dense()")
        if _is_differentiated(tensor):
            raise GradientError(
                f"{kernel}: {name} requires a gradient, but the simulator does not compute gradients",
                help=f"pass {name}.detach(), or call it under torch.no_grad(); gradients need pyptx-torch and a "
                "pyptx.differentiable_kernel",
            )
        if sys.modules["torch"]._C._functorch.is_functorch_wrapped_tensor(tensor):  # noqa: SLF001  torch has no other name
            raise RuntimeMissingError(
                f"{kernel}: {name} is a tensor of torch.vmap or torch.func, which the simulator does not "
                "support without pyptx-torch",
                help=f"{install_command('torch')} and call the kernel; or call it for each example and use torch.stack",
            )
        if _is_recording():
            raise RuntimeMissingError(
                f"{kernel}: torch is recording a program, which cannot contain a call of the simulator "
                "without pyptx-torch",
                help=f"{install_command('torch')} to record the kernel as an operator, and call the kernel",
            )
        if tensor.numel() and not tensor.untyped_storage().nbytes():
            raise LayoutError(
                f"{kernel}: {name} has no memory: its storage was freed", help="allocate the tensor before the call"
            )


def count_versions(written: Iterable[object]) -> None:
    """Increment the version of written tensors, so that autograd detects writes to tensors that it saved."""
    for value in written:
        tensor: Any = value
        if kind_of(value) is TORCH and not tensor.is_inference():
            sys.modules["torch"].autograd.graph.increment_version(tensor)


def _is_recording() -> bool:
    """Return whether torch.jit.trace or make_fx is recording torch operations."""
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return sys.modules["torch"].jit.is_tracing() or (proxies is not None and proxies.get_proxy_mode() is not None)


def _is_differentiated(tensor: Any) -> bool:  # noqa: ANN401 - torch is never imported
    """Return whether autograd tracks a tensor, in reverse or in forward mode."""
    torch = sys.modules["torch"]
    if torch.is_grad_enabled() and tensor.requires_grad:
        return True
    return torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None
