"""Output tensors of a call: allocation, and checks of `out=`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch

from pyptx_dsl.errors import AlignmentError, DeviceError, DtypeError, LayoutError, ShapeError
from pyptx_torch.devices import BITS, address_of, argument_of, dtype_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Output


def allocate(kernel: str, outputs: Sequence[Output], device: torch.device) -> tuple[torch.Tensor, ...]:
    """Return new, uninitialized tensors of the outputs' shapes and strides, from torch's allocator."""
    return tuple(
        torch.empty_strided(
            output.shape, output.strides, dtype=dtype_of(kernel, output.name, output.dtype), device=device
        )
        for output in outputs
    )


def prototype(kernel: str, output: Output, device: torch.device) -> torch.Tensor:
    """Return a tensor of an output's shape, strides and type without memory, for `torch.empty_like`."""
    (made,) = allocate(kernel, (output,), device)
    made.untyped_storage().resize_(0)
    return made


def as_tuple(returned: object) -> tuple[torch.Tensor, ...]:
    """Return the result of a kernel or operator (None, a tensor or a tuple) as a tuple of tensors."""
    if isinstance(returned, torch.Tensor):
        return (returned,)
    return () if returned is None else cast("tuple[torch.Tensor, ...]", returned)


def check(kernel: str, outputs: Sequence[Output], given: Sequence[torch.Tensor], device: torch.device) -> None:
    """Check the tensors of `out=` against the kernel's outputs; raise a ContractError for the first mismatch."""
    for output, tensor in zip(outputs, given, strict=True):
        _check_one(kernel, output, tensor, device)
    for number, tensor in enumerate(given):
        for before in range(number):
            if _overlap(tensor, given[before]):
                raise LayoutError(
                    f"{kernel}: out= for {outputs[number].name} and out= for {outputs[before].name} overlap in memory",
                    help="pass a separate tensor for each output",
                )


def _check_one(kernel: str, output: Output, tensor: torch.Tensor, device: torch.device) -> None:
    name = f"out= for {output.name}"
    argument = argument_of(kernel, name, tensor)
    if tensor.device != device:
        raise DeviceError(
            f"{kernel}: {name} is on {tensor.device}, but the kernel runs on {device}",
            help=f"allocate the output on the kernel's device: torch.empty(…, device={str(device)!r})",
        )
    wanted = dtype_of(kernel, output.name, output.dtype)
    # For an output of untyped bits (b8 to b64), a tensor may have any dtype of the same width.
    fits = output.dtype in BITS and tensor.element_size() == wanted.itemsize
    if tensor.dtype != wanted and not fits:
        raise DtypeError(f"{kernel}: {name} has dtype {tensor.dtype}, expected {wanted}")
    if len(argument.shape) != len(output.shape) or argument.shape != output.shape:
        raise ShapeError(f"{kernel}: {name} has shape {argument.shape}, expected {output.shape}")
    compared = zip(argument.shape, argument.strides, output.strides, strict=True)
    if 0 not in argument.shape and any(actual != dense for size, actual, dense in compared if size > 1):
        raise LayoutError(
            f"{kernel}: {name} has strides {argument.strides}, expected {output.strides}",
            help="pass a dense tensor",
        )
    if argument.address % output.alignment:
        raise AlignmentError(
            f"{kernel}: {name} starts at address {argument.address:#x}, which is not a multiple of "
            f"{output.alignment} bytes"
        )


def _overlap(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Return whether two dense tensors overlap; tensors without memory do not."""
    low, high = sorted((first, second), key=address_of)
    return bool(address_of(low)) and address_of(low) + low.nbytes > address_of(high) and high.nbytes > 0
